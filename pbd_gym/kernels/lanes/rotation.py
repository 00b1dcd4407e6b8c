"""Rotation of a deformation: the proper rotation nearest to a 3x3 matrix, for each lane.

The work is some 600 operations on about 30 numbers, too much for LLVM to keep as a chain of Warp's vector operations:
measured, 16 lanes then took longer than 16 times one lane. As C++ on Clang's vector types it is over 15 times faster,
and the same text serves CUDA, where a lane is a plain number.
"""

import functools
from typing import Any, no_type_check

import numpy as np
import warp as wp

from pbd_gym.formulas import Function, Matrix, stop_gradient
from pbd_gym.kernels.lanes.wide import Wide
from pbd_gym.kernels.native import MODULE_OPTIONS, lanes_type

_SQUARINGS = {wp.float32: 10, wp.float64: 14}
"""Squarings of the 4x4 matrix: its eigenvalues are raised to the power 2^10 or 2^14."""


def rotation_code(scalar: Any, squarings: int | None = None) -> str:
    """Return C++ statements that take a matrix ``a00 ... a22`` to its rotation ``r00 ... r22``.

    Args:
        scalar: ``wp.float32`` or ``wp.float64``.
        squarings: an even number; more are needed where two singular values may be small beside the first, see below.

    R is the proper rotation (det +1) with the largest ``R : A``, hence the smallest ``|A - R|``, of any 3x3 matrix A.
    Entries are of type V, see :mod:`pbd_gym.kernels.lanes.snippets`.

    For a unit quaternion q, ``R(q) : A = q . N q`` with a symmetric trace-free 4x4 matrix N whose eigenvalues are
    ``s1 + s2 + s3``, ``s1 - s2 - s3``, ... for the singular values s of A, of which the smallest has the sign of det A
    (Horn 1987, doi:10.1364/JOSAA.4.000629). The wanted q belongs to the largest. It is found by squaring
    ``N + sqrt(3) |A| I``, which has no negative eigenvalue, again and again at unit trace: this converges to the
    projection on the eigenvectors of the largest eigenvalue, and its column with the largest diagonal is q. Nothing
    depends on a start value, a flat or inverted A needs no case of its own, and where several rotations are equally
    near (rank one, say, or a zero matrix, which gives I) the projection still holds one of them.

    Eigenvectors of the next eigenvalue l2 are damped by ``((l2 + r) / (l1 + r))^(2^k)``, with ``r = sqrt(3) |A|`` and
    k squarings. What rounding leaves is of the order ``eps |A| / (s2 + s3)``, as for any method.
    """
    return _ROTATION.replace("SQUARINGS", str((squarings or _SQUARINGS[scalar]) // 2))


_ROTATION = """
V r00, r01, r02, r10, r11, r12, r20, r21, r22;
{
    const V size = pbd::root(
        a00 * a00 + a01 * a01 + a02 * a02 + a10 * a10 + a11 * a11 + a12 * a12 + a20 * a20 + a21 * a21 + a22 * a22);
    const V scale = T(0.14433756729740643) / pbd::at_least(size, 1e-18);  // 1 / (4 sqrt 3): unit trace
    V ww = T(0.25) + (a00 + a11 + a22) * scale;
    V xx = T(0.25) + (a00 - a11 - a22) * scale;
    V yy = T(0.25) + (a11 - a00 - a22) * scale;
    V zz = T(0.25) + (a22 - a00 - a11) * scale;
    V wx = (a21 - a12) * scale;
    V wy = (a02 - a20) * scale;
    V wz = (a10 - a01) * scale;
    V xy = (a01 + a10) * scale;
    V xz = (a02 + a20) * scale;
    V yz = (a12 + a21) * scale;
#define SQUARE { \\
        const V wx2 = wx * wx, wy2 = wy * wy, wz2 = wz * wz, xy2 = xy * xy, xz2 = xz * xz, yz2 = yz * yz; \\
        const V nwx = wx * (ww + xx) + wy * xy + wz * xz; \\
        const V nwy = wy * (ww + yy) + wx * xy + wz * yz; \\
        const V nwz = wz * (ww + zz) + wx * xz + wy * yz; \\
        const V nxy = xy * (xx + yy) + wx * wy + xz * yz; \\
        const V nxz = xz * (xx + zz) + wx * wz + xy * yz; \\
        const V nyz = yz * (yy + zz) + wy * wz + xy * xz; \\
        ww = ww * ww + wx2 + wy2 + wz2; \\
        xx = xx * xx + wx2 + xy2 + xz2; \\
        yy = yy * yy + wy2 + xy2 + yz2; \\
        zz = zz * zz + wz2 + xz2 + yz2; \\
        wx = nwx; wy = nwy; wz = nwz; xy = nxy; xz = nxz; yz = nyz; \\
    }
    for (int round = 0; round < SQUARINGS; ++round) {
        // The square of a 4x4 matrix of unit trace has a trace of at least 1/4, the square of that 1/64.
        SQUARE
        SQUARE
        const V grow = T(1) / (ww + xx + yy + zz);
        ww *= grow; wx *= grow; wy *= grow; wz *= grow; xx *= grow;
        xy *= grow; xz *= grow; yy *= grow; yz *= grow; zz *= grow;
    }
#undef SQUARE
    // The column with the largest diagonal; w wins a draw, so that a zero matrix gives the identity.
    V qw = ww, qx = wx, qy = wy, qz = wz, best = ww;
    auto more = xx > best;
    qw = more ? wx : qw; qx = more ? xx : qx; qy = more ? xy : qy; qz = more ? xz : qz; best = more ? xx : best;
    more = yy > best;
    qw = more ? wy : qw; qx = more ? xy : qx; qy = more ? yy : qy; qz = more ? yz : qz; best = more ? yy : best;
    more = zz > best;
    qw = more ? wz : qw; qx = more ? xz : qx; qy = more ? yz : qy; qz = more ? zz : qz;
    // R of q / |q|: every product of two components is scaled by 2 / |q|^2, and no root is needed.
    const V two = T(2) / (qw * qw + qx * qx + qy * qy + qz * qz);
    const V sx = two * qx, sy = two * qy, sz = two * qz;
    r00 = T(1) - sy * qy - sz * qz; r01 = sx * qy - sz * qw; r02 = sx * qz + sy * qw;
    r10 = sx * qy + sz * qw; r11 = T(1) - sx * qx - sz * qz; r12 = sy * qz - sx * qw;
    r20 = sx * qz - sy * qw; r21 = sy * qz + sx * qw; r22 = T(1) - sx * qx - sy * qy;
}
"""


def _evaluate(*entries: Any) -> tuple[Any, ...]:
    """Return the entries of the rotation in NumPy; of complex numbers its analytic continuation from det > 0.

    Newton's iteration for the polar decomposition (Higham 1986, doi:10.1137/0907079), without conjugation.
    """
    matrix = np.stack(np.broadcast_arrays(*entries), axis=-1).reshape(-1, 3, 3)
    for _ in range(60):
        matrix = 0.5 * (matrix + np.linalg.inv(matrix).swapaxes(-1, -2))
    return tuple(matrix.reshape(-1, 9).T)


_ENTRIES = [f"{row}{column}" for row in range(3) for column in range(3)]
_FUNCTION = Function(
    "rotation",
    tuple(f"a{name}" for name in _ENTRIES),
    tuple(f"r{name}" for name in _ENTRIES),
    lambda precision: rotation_code(wp.float64 if precision == "float64" else wp.float32),
    _evaluate,
)


def nearest_rotation(matrix: Matrix) -> Matrix:
    """Return the rotation of a traced matrix as in :func:`rotation_code`, as one that does not change with it.

    As it minimises ``|A - R|`` and maximises ``R : A``, its change drops out of the gradient of either.
    """
    entries = [stop_gradient(entry) for entry in _FUNCTION(*matrix.entries)]
    return Matrix(tuple(tuple(entries[3 * row : 3 * row + 3]) for row in range(3)))


@functools.cache
def make_rotate(wide: Wide) -> Any:
    """Build a kernel that takes matrices to their rotations, for those who want nothing else.

    Its arguments are two arrays of shape (n, 9), entries row by row and one vector of lanes each, the second for the
    results; a launch has n threads. See :func:`rotation_code`.
    """
    vec: Any = wide.vec
    names = [f"{row}{column}" for row in range(3) for column in range(3)]
    code = "".join(
        [
            f"using L = {lanes_type(wide.lanes, wide.scalar)};\nusing T = typename L::T;\nusing V = typename L::V;\n",
            "constexpr int LANES = L::LANES;\nfor (int lane = 0; lane < L::ROUNDS; ++lane) {\nPBD_CONTRACT_ON\n",
            "const T* const in = (const T*)matrices.data;\nT* const out = (T*)rotations.data;\n",
            *(f"const V a{name} = L::load(in + {i} * LANES, lane);\n" for i, name in enumerate(names)),
            rotation_code(wide.scalar),
            *(f"L::store(out + {i} * LANES, lane, r{name});\n" for i, name in enumerate(names)),
            "}\n",
        ]
    )

    @wp.func_native(code)
    def rotate_one(matrices: wp.array1d[vec], rotations: wp.array1d[vec]) -> None: ...

    @wp.kernel(module="unique", module_options=MODULE_OPTIONS, enable_backward=False)
    @no_type_check
    def rotate(matrices: wp.array2d[vec], rotations: wp.array2d[vec]):
        i = wp.tid()
        rotate_one(matrices[i], rotations[i])

    return rotate

"""Rotation of a deformation: the proper rotation nearest to a 3x3 matrix, for each lane (``native/rotation.h``).

The work is some 600 operations on about 30 numbers, too much for LLVM to keep as a chain of Warp's vector operations:
measured, 16 lanes then took longer than 16 times one lane. As C++ on Clang's vector types it is over 15 times faster,
and the same text serves CUDA, where a lane is a plain number.
"""

import functools
from itertools import product
from typing import Any, no_type_check

import numpy as np
import warp as wp

from pbd_gym.formulas import Function, Matrix, stop_gradient
from pbd_gym.kernels.lanes.wide import Wide
from pbd_gym.kernels.native import MODULE_OPTIONS, call, lanes_type

_SQUARINGS = {wp.float32: 10, wp.float64: 14}
"""Number of squarings of the 4x4 matrix: its eigenvalues are raised to the power 2^10 or 2^14."""
SQUARINGS_OF_MANY = {wp.float32: 14, wp.float64: 18}
"""The same for a set of particles; more than for a tetrahedron, because a long rod has two small singular values."""


def _rotation_text(precision: str) -> str:
    """Return C++ statements that compute the rotation ``r00 ... r22`` of a matrix ``a00 ... a22``, all of type V."""
    squarings = _SQUARINGS[wp.float64 if precision == "float64" else wp.float32]
    rows = ", ".join("{" + ", ".join(f"a{row}{column}" for column in range(3)) + "}" for row in range(3))
    found = (f"r{name} = turn.{row}.{axis}" for name, (row, axis) in zip(_ENTRIES, product("abc", "xyz"), strict=True))
    return f"const auto turn = pbd::nearest_rotation<{squarings}>(pbd::Mat3<V>{{{rows}}});\nconst V {', '.join(found)};"


def _evaluate(*entries: Any) -> tuple[Any, ...]:
    """Return the entries of the rotation in NumPy; for complex numbers its analytic continuation from det > 0.

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
    _rotation_text,
    _evaluate,
)


def nearest_rotation(matrix: Matrix) -> Matrix:
    """Return the proper rotation nearest to a traced matrix, as a constant under differentiation.

    Since it minimises ``|A - R|`` and maximises ``R : A``, its change drops out of the gradient of either.
    """
    entries = [stop_gradient(entry) for entry in _FUNCTION(*matrix.entries)]
    return Matrix(tuple(tuple(entries[3 * row : 3 * row + 3]) for row in range(3)))


@functools.cache
def make_rotate(wide: Wide) -> Any:
    """Build a kernel that computes only the rotations of matrices.

    Its arguments are two arrays of shape (n, 9), entries row by row and one vector of lanes each, the second for the
    results; a launch has n threads.
    """
    vec: Any = wide.vec
    lanes = lanes_type(wide.lanes, wide.scalar)
    code = call("rotate", lanes, _SQUARINGS[wide.scalar], arguments="matrices, rotations")

    @wp.func_native(code)
    def rotate_one(matrices: wp.array1d[vec], rotations: wp.array1d[vec]) -> None: ...

    @wp.kernel(module="unique", module_options=MODULE_OPTIONS, enable_backward=False)
    @no_type_check
    def rotate(matrices: wp.array2d[vec], rotations: wp.array2d[vec]):
        i = wp.tid()
        rotate_one(matrices[i], rotations[i])

    return rotate

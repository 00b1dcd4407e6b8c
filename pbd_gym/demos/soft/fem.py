"""Finite elements in the plane: triangles of three elastic materials under explicit integration. NumPy, float64.

With rest edges ``Dm`` and edges ``Ds`` of a triangle as columns, ``F = Ds Dm^-1`` is its deformation gradient; a
material turns it into the first Piola-Kirchhoff stress P(F), and ``-A P Dm^-T`` are the forces on two corners: Sifakis,
Barbic 2012, FEM simulation of 3D deformable solids, doi:10.1145/2343483.2343501, here in the plane.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from pbd_gym.demos.cloth.sheet import SPACING
from pbd_gym.demos.demo import Demo, History
from pbd_gym.demos.options import Options, option
from pbd_gym.rendering import Frame, Picker
from pbd_gym.rendering.colors import Coloring
from pbd_gym.runtime.checks import finite

THIN = 0.05
"""Share of its rest area that a flatter neo-Hookean triangle is treated as having: its energy is undefined at 0."""

Stress = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]


def lame(young_modulus: ArrayLike, poisson_ratio: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """Return Lame's mu and lambda [Pa] for plane strain, in the shape of the arguments."""
    young, ratio = np.asarray(young_modulus, dtype=np.float64), np.asarray(poisson_ratio, dtype=np.float64)
    return young / (2.0 * (1.0 + ratio)), young * ratio / ((1.0 + ratio) * (1.0 - 2.0 * ratio))


def gradients(corners: np.ndarray, rest_inverse: np.ndarray) -> np.ndarray:
    """Return F of triangles with corners (m, 3, 2) [m] and inverse rest edges (m, 2, 2) [1/m], shape (m, 2, 2)."""
    return _edges(corners) @ rest_inverse


def green_strain(gradient: np.ndarray) -> np.ndarray:
    """Return ``(F^T F - I) / 2``, shape (m, 2, 2)."""
    return 0.5 * (_transposed(gradient) @ gradient - np.eye(2))


def cauchy_strain(gradient: np.ndarray) -> np.ndarray:
    """Return ``(F + F^T) / 2 - I``, the strain of small displacements, shape (m, 2, 2)."""
    return 0.5 * (gradient + _transposed(gradient)) - np.eye(2)


def rotations(gradient: np.ndarray) -> np.ndarray:
    """Return the proper rotation nearest to F, shape (m, 2, 2); the identity where all are equally near."""
    cosine, sine = gradient[:, 0, 0] + gradient[:, 1, 1], gradient[:, 1, 0] - gradient[:, 0, 1]
    length = np.hypot(cosine, sine)
    cosine = np.where(length > 0, cosine, 1.0) / np.where(length > 0, length, 1.0)
    sine = sine / np.where(length > 0, length, 1.0)
    return np.stack([np.stack([cosine, -sine], axis=1), np.stack([sine, cosine], axis=1)], axis=1)


def stvk(gradient: np.ndarray, mu: np.ndarray, lam: np.ndarray) -> np.ndarray:
    """Return ``P = F (2 mu E + lambda tr(E) I)`` with the Green strain E: St. Venant-Kirchhoff. (m, 2, 2) [Pa]."""
    strain = green_strain(gradient)
    return gradient @ (2.0 * _wide(mu) * strain + _wide(lam * _trace(strain)) * np.eye(2))


def corotated(gradient: np.ndarray, mu: np.ndarray, lam: np.ndarray) -> np.ndarray:
    """Return ``P = 2 mu (F - R) + lambda tr(R^T F - I) R`` with the rotation R of F: corotated. (m, 2, 2) [Pa]."""
    turn = rotations(gradient)
    stretch = _trace(_transposed(turn) @ gradient) - 2.0
    return 2.0 * _wide(mu) * (gradient - turn) + _wide(lam * stretch) * turn


def neo_hookean(gradient: np.ndarray, mu: np.ndarray, lam: np.ndarray) -> np.ndarray:
    """Return ``P = mu (F - F^-T) + lambda log(J) F^-T`` with ``J = det F``, kept above THIN. Shape (m, 2, 2) [Pa]."""
    area = np.maximum(np.linalg.det(gradient), THIN)
    cofactor = gradient[:, ::-1, ::-1] * np.array([[1.0, -1.0], [-1.0, 1.0]])
    inverse = cofactor / _wide(area)
    return _wide(mu) * (gradient - inverse) + _wide(lam * np.log(area)) * inverse


MATERIALS: dict[str, Stress] = {"StVK": stvk, "corotated": corotated, "neo-Hookean": neo_hookean}
"""Stress functions by the name that is shown."""


class TriangleBody:
    """An elastic sheet in the plane, advanced by symplectic Euler.

    Args:
        positions: rest positions [m], shape (n, 2).
        triangles: corners, counter-clockwise or not, shape (m, 3), int.
        fixed: particles that cannot move.
        stress: one of :data:`MATERIALS`.
        young_modulus: [Pa] (of a sheet one metre thick).
        poisson_ratio: below 1/2.
        density: mass per area [kg/m^2].
        gravity: acceleration [m/s^2], shape (2,).
        damping: share of the velocity lost per step.

    Raises:
        ValueError: for a number out of its range, a wrong shape, or a triangle without area.
    """

    def __init__(
        self,
        positions: ArrayLike,
        triangles: ArrayLike,
        fixed: ArrayLike,
        stress: Stress,
        young_modulus: float = 5e5,
        poisson_ratio: float = 0.3,
        density: float = 500.0,
        gravity: ArrayLike = (0.0, -9.81),
        damping: float = 0.0,
    ) -> None:
        rest = np.array(positions, dtype=np.float64)
        if rest.ndim != 2 or rest.shape[1] != 2 or not np.isfinite(rest).all():
            raise ValueError(f"positions must be finite and of shape (n, 2), got {rest.shape}")
        if not (0 < young_modulus < np.inf and -1 < poisson_ratio < 0.5 and 0 < density < np.inf and 0 <= damping < 1):
            raise ValueError("young_modulus, poisson_ratio, density or damping is out of range")
        self.triangles = np.asarray(triangles, dtype=np.int64).reshape(-1, 3)
        edges = _edges(rest[self.triangles])
        self.area = 0.5 * np.abs(np.linalg.det(edges))
        """[m^2], shape (m,)."""
        if (self.area <= 0).any():
            raise ValueError(f"triangle {int(np.argmin(self.area))} has no area")
        self.rest_inverse = np.linalg.inv(edges)
        self.stress = stress
        self.mu, self.lam = lame(np.full(len(edges), young_modulus), poisson_ratio)
        self.gravity = finite("gravity", np.asarray(gravity, dtype=np.float64), (2,))
        self.damping = damping
        self.mass = density / 3.0 * np.bincount(self.triangles.ravel(), np.repeat(self.area, 3), len(rest))
        """Mass of each particle, a third of each adjoining triangle [kg], shape (n,)."""
        self.free = np.ones(len(rest), dtype=bool)
        self.free[np.asarray(fixed, dtype=np.int64)] = False
        self.positions = rest
        """[m], shape (n, 2)."""
        self.velocities = np.zeros_like(rest)
        """[m/s], shape (n, 2)."""

    def forces(self) -> np.ndarray:
        """Return the elastic force on each particle [N], shape (n, 2)."""
        gradient = gradients(self.positions[self.triangles], self.rest_inverse)
        pull = -_wide(self.area) * self.stress(gradient, self.mu, self.lam) @ _transposed(self.rest_inverse)
        corner = np.stack([-pull.sum(axis=2), pull[:, :, 0], pull[:, :, 1]], axis=1)
        flat, count = self.triangles.ravel(), len(self.positions)
        return np.stack([np.bincount(flat, corner[..., axis].ravel(), count) for axis in range(2)], axis=1)

    def von_mises(self) -> np.ndarray:
        """Return the von Mises stress at each particle, the area-weighted mean of its triangles [Pa], shape (n,).

        It is that of the Cauchy stress ``P F^T / det F``, ``sqrt(s11^2 - s11 s22 + s22^2 + 3 s12^2)``.
        """
        gradient = gradients(self.positions[self.triangles], self.rest_inverse)
        area = np.linalg.det(gradient)
        area = np.where(np.abs(area) < THIN, np.copysign(THIN, area), area)
        cauchy = self.stress(gradient, self.mu, self.lam) @ _transposed(gradient) / _wide(area)
        first, second, shear = cauchy[:, 0, 0], cauchy[:, 1, 1], cauchy[:, 0, 1]
        each = np.sqrt(first**2 - first * second + second**2 + 3.0 * shear**2)
        flat, count = self.triangles.ravel(), len(self.positions)
        whole: np.ndarray = np.bincount(flat, np.repeat(self.area * each, 3), count)
        return whole / np.bincount(flat, np.repeat(self.area, 3), count)

    def step(self, dt: float) -> None:
        """Advance by ``dt`` seconds. Fixed particles keep their place."""
        change = dt * (self.gravity + self.forces() / self.mass[:, None])
        self.velocities = np.where(self.free[:, None], (self.velocities + change) * (1.0 - self.damping), 0.0)
        self.positions = self.positions + dt * self.velocities


def _edges(corners: np.ndarray) -> np.ndarray:
    """Return two edges as columns, shape (m, 2, 2)."""
    return np.stack([corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]], axis=2)


def _transposed(matrices: np.ndarray) -> np.ndarray:
    return np.swapaxes(matrices, 1, 2)


def _trace(matrices: np.ndarray) -> np.ndarray:
    return np.trace(matrices, axis1=1, axis2=2)


def _wide(numbers: np.ndarray) -> np.ndarray:
    """Return one number per matrix so that it multiplies all of its entries, shape (m, 1, 1)."""
    return np.asarray(numbers)[..., None, None]


@dataclass(frozen=True)
class FEMOptions(Options):
    """Numbers that the sheets share."""

    columns: int = option(10, "particles along the width", low=2, high=60)
    rows: int = option(6, "particles along the height", low=2, high=60)
    young_modulus: float = option(5e4, "stiffness E [Pa, of a sheet one metre thick]", low=1e2, high=1e9)
    poisson_ratio: float = option(0.3, "Poisson's ratio: narrowing when stretched", low=0.0, high=0.49, step=0.05)
    density: float = option(500.0, "mass per area [kg/m^2]", low=1.0, high=1e5)
    gravity: float = option(-9.81, "vertical acceleration [m/s^2]", low=-100.0, high=100.0, step=1.0)
    color: str = option("sides", "meaning of colours: the two sides, or the stress", choices=("sides", "stress"))
    damping: float = option(0.001, "share of the velocity lost per step", low=0.0, high=0.1, step=0.001)
    time_step: float = option(0.001, "time step of the integration [s]", low=1e-4, high=0.02)


def mesh(width: int, height: int) -> tuple[np.ndarray, np.ndarray]:
    """Return a sheet whose upper edge is centred on the origin: positions (n, 2) [m] and triangles (m, 3)."""
    y, x = np.meshgrid(-SPACING * np.arange(height), SPACING * np.arange(width), indexing="ij")
    index = np.arange(width * height).reshape(height, width)
    a, b, c, d = (corner.ravel() for corner in (index[:-1, :-1], index[:-1, 1:], index[1:, :-1], index[1:, 1:]))
    # Diagonals alternate, so that the sheet does not lean to one side.
    row, column = np.divmod(np.arange(len(a)), width - 1)
    falls = ((row + column) % 2 == 0)[:, None, None]
    one, two = np.stack([[a, d, b], [d, a, c]]).transpose(2, 0, 1), np.stack([[a, c, b], [d, b, c]]).transpose(2, 0, 1)
    return np.stack([x - x.mean(), y], axis=-1).reshape(-1, 2), np.where(falls, one, two).reshape(-1, 3)


class FEMDemo(Demo[FEMOptions]):
    """Three elastic sheets in the plane side by side, modelled by finite elements under explicit integration.

    The classical way: the deformation gradient of each triangle, the stress of its material, forces on its corners, a
    step of symplectic Euler. The sheets hang alike under a small load. Press `c` to crush them: St. Venant-Kirchhoff
    yields under compression and may stay folded; the corotated and the neo-Hookean sheets recover. A time step too long
    for the stiffness makes all of them explode; `materials` shows the same materials as XPBD constraints.

    Sifakis, Barbic 2012: FEM simulation of 3D deformable solids, doi:10.1145/2343483.2343501. The sheets are those of
    RWTH's physics-simulation tutorial, whose trajectories they reproduce with `--young-modulus 5e5`.
    """

    deeds = (("c", "crush the sheets", "crush"),)
    original = FEMOptions(young_modulus=5e5)
    flat = True
    rebuilt = ("columns", "rows")

    def reset(self) -> None:
        """Restart with the current options."""
        super().reset()
        self.history = History(*MATERIALS)
        self._load()
        self._measure()

    def _load(self) -> None:
        options = self.options
        positions, self.triangles = mesh(options.columns, options.rows)
        self.fixed = np.array([0, options.columns - 1])
        self.bodies = [
            TriangleBody(
                positions, self.triangles, self.fixed, stress, options.young_modulus, options.poisson_ratio,
                options.density, (0.0, options.gravity), options.damping,
            )
            for stress in MATERIALS.values()
        ]  # fmt: skip
        self.count = len(positions)
        apart = SPACING * (options.columns + 1)
        self.offsets = apart * np.array([-1.0, 0.0, 1.0])
        """Places where the sheets hang [m]."""
        self.substeps = max(1, round(1.0 / self.fps / options.time_step))

    def adapt(self) -> None:
        """Apply changed options without moving the sheets."""
        old = self.bodies
        self._load()
        for body, previous in zip(self.bodies, old, strict=True):
            body.positions, body.velocities = previous.positions, previous.velocities

    def step(self) -> None:
        """Advance by one frame; the held particle follows the hand in as many equal steps."""
        with np.errstate(over="ignore", invalid="ignore"):  # an explosion is something to be seen here
            for _ in range(self.substeps):
                if self.held is not None:
                    sheet, particle = divmod(self.held, self.count)
                    self.bodies[sheet].positions[particle] += self._pull[:2] / self.substeps
                for body in self.bodies:
                    body.step(self.options.time_step)
        self.let_pass(self.substeps * self.options.time_step)
        self._measure()

    def _measure(self) -> None:
        self.history.add(self.time, *(body.positions[:, 1].min() for body in self.bodies))

    def crush(self) -> None:
        """Compress every sheet to 0.4 of its height."""
        for body in self.bodies:
            free = body.free[:, None]
            body.positions = np.where(free, body.positions * [1.0, 0.4], body.positions)
            body.velocities = np.zeros_like(body.velocities)

    @property
    def exploded(self) -> bool:
        """Return whether positions have diverged."""
        return not all(bool((np.abs(body.positions) < 1e3).all()) for body in self.bodies)

    def positions(self) -> np.ndarray:
        """Return the particles of all sheets [m], shape (3 n, 3)."""
        positions = [body.positions + np.array([x, 0.0]) for body, x in zip(self.bodies, self.offsets, strict=True)]
        return np.pad(np.concatenate(positions), ((0, 0), (0, 1)))

    def hold(self, particle: int | None) -> None:
        """Hold a particle in the hand; None releases it."""
        self.held = particle
        for body in self.bodies:
            body.free[:] = True
            body.free[self.fixed] = False
        if particle is not None:
            self.bodies[particle // self.count].free[particle % self.count] = False

    def perform(self) -> None:
        """Crush the sheets if nobody else does."""
        if abs(self.time - 2.0) < 0.5 / self.fps:
            self.crush()

    def frame(self, caption: str = "") -> Frame:
        """Return the frame to draw."""
        here = self.positions()
        steps = self.count * np.arange(len(self.bodies))
        labels = [(np.array([x, 0.25, 0.0]), name) for x, name in zip(self.offsets, MATERIALS, strict=True)]
        hand = [] if self.held is None or self.exploded else [Picker(here[self.held], 0.06, True)]
        stress = np.concatenate([body.von_mises() for body in self.bodies])
        top = 0.2 * self.options.young_modulus
        coloring = Coloring("stress (von Mises) [kPa]", 1e-3 * stress, 0.0, 1e-3 * top)
        return Frame(
            here,
            (steps[:, None, None] + self.triangles).reshape(-1, 3),
            pinned=(steps[:, None] + self.fixed).ravel(),
            pickers=hand,
            labels=labels,
            coloring=coloring if self.options.color == "stress" else None,
            panels=[self.history.panel("lowest point [m]")],
            caption=caption,
        )

    @property
    def view_box(self) -> tuple[np.ndarray, np.ndarray]:
        """Lower and upper corner of the initial view [m], shape (3,) each."""
        reach = 1.6 * SPACING * (self.options.columns + 1)
        return np.array([-reach, -1.4 * reach, -0.1]), np.array([reach, 0.6 * reach, 0.1])

    def readout(self) -> str:
        """Return the time and the sag of each sheet."""
        if self.exploded:
            return "exploded: press r to start again"
        down = [f"{name} {body.positions[:, 1].min():.2f}" for name, body in zip(MATERIALS, self.bodies, strict=True)]
        size = f"{self.count} particles and {len(self.triangles)} triangles each"
        return f"{super().readout()}   lowest point: {'   '.join(down)} m\n{size}"

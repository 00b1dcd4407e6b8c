"""Three elastic sheets in the plane side by side, of finite elements under explicit integration.

The classical way: the deformation gradient of each triangle, the stress of its material, forces on its corners, a step
of symplectic Euler. The sheets hang alike under a small load. Press `c` to crush them: St. Venant-Kirchhoff gives way
under compression and may stay folded, the corotated and the neo-Hookean ones come back. A time step too long for the
stiffness makes all explode; `materials` shows the same materials as XPBD constraints.

Sifakis, Barbic 2012: FEM simulation of 3D deformable solids, doi:10.1145/2343483.2343501. The sheets are those of
RWTH's physics-simulation tutorial, whose trajectories they reproduce with `--young-modulus 5e5`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pbd_gym.demos.cloth.sheet import SPACING
from pbd_gym.demos.demo import Demo
from pbd_gym.demos.history import History
from pbd_gym.demos.options import Options, option
from pbd_gym.demos.soft.triangles import MATERIALS, TriangleBody
from pbd_gym.rendering import Frame, Picker
from pbd_gym.rendering.colormaps import Coloring


@dataclass(frozen=True)
class FEMOptions(Options):
    """Numbers that the sheets share."""

    width: int = option(10, "particles along the width", low=2, high=60)
    height: int = option(6, "particles along the height", low=2, high=60)
    young_modulus: float = option(5e4, "stiffness E [Pa, of a sheet one metre thick]", low=1e2, high=1e9)
    poisson_ratio: float = option(0.3, "how much they narrow when stretched", low=0.0, high=0.49, step=0.05)
    density: float = option(500.0, "mass per area [kg/m^2]", low=1.0, high=1e5)
    gravity: float = option(-9.81, "vertical acceleration [m/s^2]", low=-100.0, high=100.0, step=1.0)
    color: str = option("sides", "what colours tell: nothing, or the stress", choices=("sides", "stress"))
    damping: float = option(0.001, "share of the velocity lost per step", low=0.0, high=0.1, step=0.001)
    time_step: float = option(0.001, "of the integration [s]", low=1e-4, high=0.02)


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


class FEMDemo(Demo):
    """Three sheets, each fixed at its two upper corners."""

    options_type = FEMOptions
    original = FEMOptions(young_modulus=5e5)
    options: FEMOptions
    flat = True

    def __init__(self, options: Options | None = None) -> None:
        super().__init__(options)
        self.keys["c"] = ("crush the sheets", self.crush)

    def reset(self) -> None:
        """Go back to the start, with the options as they are now."""
        self.time = 0.0
        self.held = None
        self.history = History(*MATERIALS)
        self._load()
        self._measure()

    def _load(self) -> None:
        options = self.options
        positions, self.triangles = mesh(options.width, options.height)
        self.fixed = np.array([0, options.width - 1])
        self.bodies = [
            TriangleBody(
                positions, self.triangles, self.fixed, stress, options.young_modulus, options.poisson_ratio,
                options.density, (0.0, options.gravity), options.damping,
            )
            for stress in MATERIALS.values()
        ]  # fmt: skip
        self.count = len(positions)
        apart = SPACING * (options.width + 1)
        self.offsets = apart * np.array([-1.0, 0.0, 1.0])
        """Where the sheets hang [m]."""
        self.substeps = max(1, round(1.0 / self.fps / options.time_step))
        self._pull = np.zeros(3)

    def change(self, options: Options) -> None:
        """Go on with other options from where the sheets are, if they have as many particles."""
        assert isinstance(options, FEMOptions)
        before, self.options = self.options, options
        if self.exploded or (before.width, before.height) != (options.width, options.height):
            self.reset()
            return
        old = self.bodies
        self._load()
        for body, previous in zip(self.bodies, old, strict=True):
            body.positions, body.velocities = previous.positions, previous.velocities

    def step(self) -> None:
        """Advance by one frame; what is held follows the hand in as many equal steps."""
        with np.errstate(over="ignore", invalid="ignore"):  # an explosion is something to be seen here
            for _ in range(self.substeps):
                if self.held is not None:
                    sheet, particle = divmod(self.held, self.count)
                    self.bodies[sheet].positions[particle] += self._pull[:2] / self.substeps
                for body in self.bodies:
                    body.step(self.options.time_step)
        self._pull = np.zeros(3)
        self.time += self.substeps * self.options.time_step
        self._measure()

    def _measure(self) -> None:
        self.history.add(self.time, *(body.positions[:, 1].min() for body in self.bodies))

    def crush(self) -> None:
        """Press every sheet together to 0.4 of its height."""
        for body in self.bodies:
            free = body.free[:, None]
            body.positions = np.where(free, body.positions * [1.0, 0.4], body.positions)
            body.velocities = np.zeros_like(body.velocities)

    @property
    def exploded(self) -> bool:
        """Whether positions have gone beyond all bounds."""
        return not all(bool((np.abs(body.positions) < 1e3).all()) for body in self.bodies)

    def positions(self) -> np.ndarray:
        """Return the particles of all sheets [m], shape (3 n, 3)."""
        positions = [body.positions + np.array([x, 0.0]) for body, x in zip(self.bodies, self.offsets, strict=True)]
        return np.pad(np.concatenate(positions), ((0, 0), (0, 1)))

    def hold(self, particle: int | None) -> None:
        """Put a particle into the hand; None opens the hand."""
        self.held = particle
        for body in self.bodies:
            body.free[:] = True
            body.free[self.fixed] = False
        if particle is not None:
            self.bodies[particle // self.count].free[particle % self.count] = False

    def move(self, pull: np.ndarray) -> None:
        """Move the hand by ``pull`` [m], shape (3,), during the next step."""
        self._pull = pull

    def perform(self) -> None:
        """Crush the sheets when nobody else does."""
        if abs(self.time - 2.0) < 0.5 / self.fps:
            self.crush()

    def frame(self, caption: str = "") -> Frame:
        """Return what there is to see."""
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
        """Lower and upper corner of what is shown at first [m], shape (3,) each."""
        reach = 1.6 * SPACING * (self.options.width + 1)
        return np.array([-reach, -1.4 * reach, -0.1]), np.array([reach, 0.6 * reach, 0.1])

    def readout(self) -> str:
        """Return the time and how far each sheet hangs down."""
        if self.exploded:
            return "exploded: press r to start again"
        down = [f"{name} {body.positions[:, 1].min():.2f}" for name, body in zip(MATERIALS, self.bodies, strict=True)]
        size = f"{self.count} particles and {len(self.triangles)} triangles each"
        return f"{super().readout()}   lowest point: {'   '.join(down)} m\n{size}"

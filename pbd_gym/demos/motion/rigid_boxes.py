"""Rigid boxes on a floor, by impulses, by penalty forces, or by both.

An impulse changes velocities at once, so that a vertex that enters leaves with a share of its speed, the restitution:
`p = -(1 + e) u_n / (1/m + (r x n)^2 / I)`. A penalty force is a spring, soft or stiff: it needs depth to push, and
short steps to be stiff. Impulses alone do not see how deep a body is, penalties alone do not know restitution. Switch
either off and see. A box that lands flat touches with two vertices, whose impulses depend on each other: solved
together, it bounces flat; one after the other, as in the original (`quirks original`), it leaves turning. Drag boxes;
`t` turns them.

Baraff 1989: Analytical methods for dynamic simulation of non-penetrating rigid bodies, doi:10.1145/74334.74356; Catto
2005: Iterative dynamics with temporal coherence, Game Developers Conference. The boxes are those of RWTH's
physics-simulation tutorial, whose trajectories they reproduce with `--quirks original --penalty on`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pbd_gym.demos.history import History
from pbd_gym.demos.motion.box_contacts import Box, Floor
from pbd_gym.demos.options import Options, option, switch
from pbd_gym.demos.plane import PlaneDemo, raised
from pbd_gym.rendering import PALETTE, Frame

COUNT = 5
APART = 3.0
"""Distance of the boxes [m]."""
HEIGHT = 5.0
"""That they fall from [m]."""
TURN = 2.0
"""Angular velocity that a key gives to them [rad/s]."""


@dataclass(frozen=True)
class BoxOptions(Options):
    """Numbers of the contacts."""

    impulses: str = switch(True, "whether vertices that enter bounce by impulses")
    penalty: str = switch(False, "whether springs push vertices out")
    stiffness: float = option(100.0, "of these springs [N/m]", low=0.0, high=1e5)
    restitution: float = option(0.5, "share of the speed that an impact gives back", low=0.0, high=1.0, step=0.1)
    friction: float = option(0.02, "Coulomb's coefficient", low=0.0, high=2.0, step=0.02)
    gravity: float = option(-9.81, "vertical acceleration [m/s^2]", low=-50.0, high=50.0, step=1.0)
    time_step: float = option(0.005, "of a step [s]", low=5e-4, high=0.04)
    quirks: str = option("mended", "mended, or as in the original program", choices=("mended", "original"))
    seed: int = option(1, "of the angles at the start", low=0, high=10**6)


class RigidBoxesDemo(PlaneDemo):
    """Five boxes in a row."""

    options_type = BoxOptions
    limits: ClassVar[tuple[tuple[float, float], tuple[float, float]]] = ((-15.0, 0.0), (15.0, 15.0))
    max_pull = 0.6
    options: BoxOptions

    def __init__(self, options: Options | None = None) -> None:
        super().__init__(options)
        self.keys = {"t": ("turn the boxes", self.turn)}

    def reset(self) -> None:
        """Go back to the start, with the options as they are now."""
        options = self.options
        super().reset()
        angles = np.pi * np.random.default_rng(options.seed).random(COUNT)
        self.boxes = [
            Box(place, angle, original=options.quirks == "original")
            for place, angle in zip(self.handles, angles, strict=True)
        ]
        self.history = History("energy")
        self._measure()

    def start(self) -> np.ndarray:
        """Return where the boxes are at first [m], shape (5, 2)."""
        return np.array([[APART * (j - COUNT // 2), HEIGHT] for j in range(COUNT)])

    def change(self, options: Options) -> None:
        """Go on with other numbers; with other angles start again."""
        assert isinstance(options, BoxOptions)
        before, self.options = self.options, options
        if before.seed != options.seed or not np.isfinite(self.handles).all():
            self.reset()
        for box in self.boxes:
            box.original = options.quirks == "original"

    @property
    def floor(self) -> Floor:
        """Return how the floor answers."""
        options = self.options
        return Floor(
            options.impulses == "on", options.penalty == "on", options.stiffness, options.restitution, options.friction
        )

    def turn(self) -> None:
        """Give every box an angular velocity."""
        for box in self.boxes:
            box.spin += TURN

    def step(self) -> None:
        """Advance by one frame; a box that is held goes where the hand goes."""
        pull, before = self._pull, self.handles.copy()
        super().step()
        steps = max(1, round(1.0 / self.fps / self.options.time_step))
        with np.errstate(all="ignore"):  # what explodes is something to be seen here
            for k, box in enumerate(self.boxes):
                for n in range(steps):
                    if k == self.held:
                        share = (n + 1) / steps
                        box.position = before[k] + share * (self.handles[k] - before[k])
                        box.velocity = pull * self.fps
                    elif np.isfinite(box.position).all():
                        box.step(self.options.time_step, self.options.gravity, self.floor)
                if k != self.held:
                    self.handles[k] = box.position
        self._measure()

    def _measure(self) -> None:
        self.history.add(self.time, sum(box.energy(self.options.gravity) for box in self.boxes))

    def perform(self) -> None:
        """Turn the boxes after a while."""
        if round(self.time * self.fps) == 3 * self.fps:
            self.turn()

    def frame(self, caption: str = "") -> Frame:
        """Return what there is to see."""
        outlines = []
        for k, box in enumerate(self.boxes):
            corners = box.position + box.arms()
            outlines.append((raised(corners[[0, 1, 2, 3, 0]]), PALETTE[k]))
        ground = (np.array([[-15.0, 0.0, 0.0], [15.0, 0.0, 0.0]]), (90, 98, 118))
        return Frame(
            self.positions(), colors=np.array(PALETTE[:COUNT]), line_radius=0.15, polylines=[ground, *outlines],
            panels=[self.history.panel("energy [J]")], caption=caption,
        )  # fmt: skip

    @property
    def view_box(self) -> tuple[np.ndarray, np.ndarray]:
        """Lower and upper corner of what is shown at first [m], shape (3,) each."""
        return np.array([-8.0, -7.0, -0.1]), np.array([8.0, 7.5, 0.1])

    def readout(self) -> str:
        """Return the time, and how deep the deepest vertex is."""
        lowest = min(float(box.position[1] + box.arms()[:, 1].min()) for box in self.boxes)
        energy = sum(box.energy(self.options.gravity) for box in self.boxes)
        return f"{super().readout()}   energy {energy:.2f} J   deepest {1000 * max(-lowest, 0.0):.1f} mm"

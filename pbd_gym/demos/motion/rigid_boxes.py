"""Rigid boxes in the plane that touch a floor: impulses, penalty forces, friction. NumPy, float64."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pbd_gym.demos.demo import History, clear_box
from pbd_gym.demos.options import Options, option, switch
from pbd_gym.demos.plane import PlaneDemo, raised
from pbd_gym.rendering import PALETTE, Frame

NORMAL = np.array([0.0, 1.0])
SLIP = 1e-4
"""Slip speed below which the original does not normalise the direction of friction [m/s]."""
SWEEPS = 60
"""Largest number of sweeps over the contacts of a body."""
AGREED = 1e-13
"""Change of an impulse at which sweeps end [N s]."""
DEPTH = 2e-3
"""Depth that a vertex may keep in the floor where nothing else pushes it out [m]."""


@dataclass(frozen=True)
class Floor:
    """Response of the floor.

    Raises:
        ValueError: for a number out of its range.
    """

    impulses: bool = True
    """Whether velocities of vertices that enter the floor are reversed at once."""
    penalty: bool = True
    """Whether a spring pushes out vertices inside the floor."""
    stiffness: float = 100.0
    """Stiffness of that spring [N/m]."""
    restitution: float = 0.5
    """Share of the speed that an impact gives back."""
    friction: float = 0.02
    """Coulomb's coefficient."""

    def __post_init__(self) -> None:
        if not (0.0 <= self.stiffness < np.inf and 0.0 <= self.restitution <= 1.0 and 0.0 <= self.friction < np.inf):
            raise ValueError(f"a floor needs stiffness and friction >= 0 and a restitution from 0 to 1, got {self}")


class Box:
    """A box, y is up and the floor is y = 0.

    Args:
        center: [m], shape (2,).
        angle: counter-clockwise [rad].
        size: length and width [m].
        mass: [kg].
        original: whether to reproduce the program that this is modelled on: it solves one vertex after the other, so
        that a box that lands flat leaves spinning; lets bodies sink that only impulses hold; uses the velocity before
        the impulse for the friction of the spring; and lets friction reverse a slip.
    """

    def __init__(
        self,
        center: np.ndarray,
        angle: float,
        size: tuple[float, float] = (2.0, 1.0),
        mass: float = 1.0,
        original: bool = False,
    ) -> None:
        self.position, self.velocity = np.array(center, dtype=np.float64), np.zeros(2)
        """Position [m] and velocity [m/s] of the centre, shape (2,)."""
        self.angle, self.spin = float(angle), 0.0
        """[rad], [rad/s]"""
        self.mass, self.inertia = mass, mass * (size[0] ** 2 + size[1] ** 2) / 12.0
        """[kg], [kg m^2]"""
        self.original = original
        self.corners = 0.5 * np.array([[-1, -1], [-1, 1], [1, 1], [1, -1]]) * size
        """Corners in the frame of the box [m], shape (4, 2)."""

    def arms(self) -> np.ndarray:
        """Return the vertices relative to the centre [m], shape (4, 2)."""
        cosine, sine = np.cos(self.angle), np.sin(self.angle)
        found: np.ndarray = self.corners @ np.array([[cosine, sine], [-sine, cosine]])
        return found

    def energy(self, gravity: float) -> float:
        """Return kinetic energy and potential energy above the floor [J]."""
        moving = 0.5 * self.mass * float(self.velocity @ self.velocity) + 0.5 * self.inertia * self.spin**2
        return moving - self.mass * gravity * float(self.position[1])

    def step(self, dt: float, gravity: float, floor: Floor) -> None:
        """Advance by ``dt`` seconds: contacts, then symplectic Euler."""
        arms = self.arms()
        touching = arms[self.position[1] + arms[:, 1] < 0.0]
        force, torque = (self._original if self.original else self._mended)(touching, floor, 2.0 * abs(gravity) * dt)
        self.velocity = self.velocity + dt * (force / self.mass + [0.0, gravity])
        self.position = self.position + dt * self.velocity
        self.spin += dt * torque / self.inertia
        self.angle += dt * self.spin
        if floor.impulses and not floor.penalty and not self.original:
            self.position[1] += max(-DEPTH - self.position[1] - self.arms()[:, 1].min(), 0.0)

    def _speed(self, arm: np.ndarray) -> np.ndarray:
        found: np.ndarray = self.velocity + self.spin * np.array([-arm[1], arm[0]])
        return found

    def _push(self, impulse: np.ndarray, arm: np.ndarray) -> None:
        self.velocity = self.velocity + impulse / self.mass
        self.spin += float(_cross(arm, impulse)) / self.inertia

    def _weight(self, arm: np.ndarray, direction: np.ndarray) -> float:
        """Return the change of a vertex's speed along a direction by a unit impulse along it [1/kg]."""
        return 1.0 / self.mass + float(_cross(arm, direction)) ** 2 / self.inertia

    def _penalty(self, arm: np.ndarray, floor: Floor, along: np.ndarray) -> tuple[np.ndarray, float]:
        """Return the spring force at a vertex with its friction against ``along`` [N], and its torque [N m]."""
        push = -floor.stiffness * (self.position[1] + arm[1]) * NORMAL
        force = push - floor.friction * float(np.linalg.norm(push)) * along
        return force, float(_cross(arm, force))

    def _original(self, arms: np.ndarray, floor: Floor, rest: float) -> tuple[np.ndarray, float]:
        """Solve one vertex after the other. Returns the force and the torque of the springs."""
        force, torque = np.zeros(2), 0.0
        for arm in arms:
            speed = self._speed(arm)
            along = speed - (speed @ NORMAL) * NORMAL
            if np.linalg.norm(along) > SLIP:
                along = along / np.linalg.norm(along)
            impulse = -(1.0 + floor.restitution) * (speed @ NORMAL) / self._weight(arm, NORMAL) * NORMAL
            impulse = impulse - floor.friction * np.linalg.norm(impulse) * along
            if impulse @ NORMAL > 0.0 and floor.impulses:
                self._push(impulse, arm)
            if floor.penalty:
                pushed, turned = self._penalty(arm, floor, along)
                force, torque = force + pushed, torque + turned
        return force, torque

    def _mended(self, arms: np.ndarray, floor: Floor, rest: float) -> tuple[np.ndarray, float]:
        """Solve all vertices together. Returns the force and the torque of the springs.

        Args:
            arms: the vertices in the floor [m], shape (k, 2).
            floor: response of the floor.
            rest: speed below which nothing bounces [m/s]: that of two steps of free fall.
        """
        if floor.impulses:
            self._solve(arms, floor, rest)
        force, torque = np.zeros(2), 0.0
        for arm in arms if floor.penalty else ():
            speed = self._speed(arm)
            if not (floor.impulses and speed[1] > rest):
                slip = np.array([np.sign(speed[0]), 0.0]) * min(1.0, abs(speed[0]) / max(rest, SLIP))
                pushed, turned = self._penalty(arm, floor, slip)
                force, torque = force + pushed, torque + turned
        return force, torque

    def _solve(self, arms: np.ndarray, floor: Floor, rest: float) -> None:
        """Find impulses after which every vertex leaves with its restitution, by projected Gauss-Seidel sweeps.

        Impulses only push, and friction is at most the coefficient times the push: Catto 2005, Iterative dynamics with
        temporal coherence, Game Developers Conference.
        """
        vx, vy, spin = float(self.velocity[0]), float(self.velocity[1]), self.spin
        light, turns = 1.0 / self.mass, 1.0 / self.inertia
        places = [(float(x), float(y)) for x, y in arms]
        speeds = [vy + spin * x for x, _ in places]
        wanted = [-floor.restitution * speed if speed < -rest else 0.0 for speed in speeds]
        pushes, frictions = [0.0] * len(places), [0.0] * len(places)
        for _ in range(SWEEPS if places else 0):
            largest = 0.0
            for k, (x, y) in enumerate(places):  # plain numbers: arrays of two would take ten times as long
                before = pushes[k]
                pushes[k] = max(before + (wanted[k] - vy - spin * x) / (light + turns * x * x), 0.0)
                change = pushes[k] - before
                vy, spin = vy + light * change, spin + turns * x * change
                bound, old = floor.friction * pushes[k], frictions[k]
                frictions[k] = min(max(old + (spin * y - vx) / (light + turns * y * y), -bound), bound)
                slip = frictions[k] - old
                vx, spin = vx + light * slip, spin - turns * y * slip
                largest = max(largest, abs(change), abs(slip))
            if largest < AGREED:
                break
        self.velocity, self.spin = np.array([vx, vy]), spin


def _cross(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    found: np.ndarray = a[0] * b[1] - a[1] * b[0]
    return found


COUNT = 5
APART = 3.0
"""Distance between the boxes [m]."""
HEIGHT = 5.0
"""Height from which the boxes fall [m]."""
TURN = 2.0
"""Angular velocity that a key gives them [rad/s]."""


@dataclass(frozen=True)
class BoxOptions(Options):
    """Numbers of the contacts."""

    impulses: str = switch(True, "whether vertices that enter bounce by impulses")
    penalty: str = switch(False, "whether springs push vertices out")
    stiffness: float = option(100.0, "stiffness of these springs [N/m]", low=0.0, high=1e5)
    restitution: float = option(0.5, "share of the speed that an impact gives back", low=0.0, high=1.0, step=0.1)
    friction: float = option(0.02, "Coulomb's coefficient", low=0.0, high=2.0, step=0.02)
    gravity: float = option(-9.81, "vertical acceleration [m/s^2]", low=-50.0, high=50.0, step=1.0)
    time_step: float = option(0.005, "time step [s]", low=5e-4, high=0.04)
    quirks: str = option("mended", "corrected (mended), or as in the original program", choices=("mended", "original"))
    seed: int = option(1, "seed of the angles at the start", low=0, high=10**6)


class RigidBoxesDemo(PlaneDemo[BoxOptions]):
    """Rigid boxes on a floor, by impulses, by penalty forces, or by both.

    An impulse changes velocities at once, so that a vertex that enters leaves with a share of its speed, the
    restitution: `p = -(1 + e) u_n / (1/m + (r x n)^2 / I)`. A penalty force is a spring, soft or stiff: it needs depth
    to push, and short steps to be stiff. Impulses alone ignore penetration depth; penalties alone ignore restitution.
    Switch either off and see. A box that lands flat touches with two vertices, whose impulses depend on each other:
    solved together, it bounces flat; one after the other, as in the original (`quirks original`), it leaves spinning.
    Drag boxes; `t` turns them.

    Baraff 1989: Analytical methods for dynamic simulation of non-penetrating rigid bodies, doi:10.1145/74334.74356;
    Catto 2005: Iterative dynamics with temporal coherence, Game Developers Conference. The boxes are those of RWTH's
    physics-simulation tutorial, whose trajectories they reproduce with `--quirks original --penalty on`.
    """

    deeds = (("t", "turn the boxes", "turn"),)
    limits = ((-15.0, 0.0), (15.0, 15.0))
    rebuilt = ("seed",)
    max_pull = 0.6

    def reset(self) -> None:
        """Restart with the current options."""
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
        """Return the initial places of the boxes [m], shape (5, 2)."""
        return np.array([[APART * (j - COUNT // 2), HEIGHT] for j in range(COUNT)])

    def adapt(self) -> None:
        """Apply changed numbers."""
        for box in self.boxes:
            box.original = self.options.quirks == "original"

    @property
    def exploded(self) -> bool:
        """Return whether a box has diverged."""
        return not np.isfinite(self.handles).all()

    @property
    def view_box(self) -> tuple[np.ndarray, np.ndarray]:
        """Lower and upper corner of the initial view [m], shape (3,) each."""
        return clear_box((-8.2, -0.4, -0.1), (8.2, HEIGHT + 1.0, 0.1))

    @property
    def floor(self) -> Floor:
        """Return the response of the floor."""
        options = self.options
        return Floor(
            options.impulses == "on", options.penalty == "on", options.stiffness, options.restitution, options.friction
        )

    def turn(self) -> None:
        """Give every box an angular velocity."""
        for box in self.boxes:
            box.spin += TURN

    def step(self) -> None:
        """Advance by one frame; a held box follows the hand."""
        pull, before = self._pull[:2], self.handles.copy()
        super().step()
        steps = max(1, round(1.0 / self.fps / self.options.time_step))
        with np.errstate(all="ignore"):  # explosions are meant to be seen here
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
        """Return the frame to draw."""
        outlines = []
        for k, box in enumerate(self.boxes):
            corners = box.position + box.arms()
            outlines.append((raised(corners[[0, 1, 2, 3, 0]]), PALETTE[k]))
        ground = (np.array([[-15.0, 0.0, 0.0], [15.0, 0.0, 0.0]]), (90, 98, 118))
        return Frame(
            self.positions(), colors=np.array(PALETTE[:COUNT]), line_radius=0.15, polylines=[ground, *outlines],
            panels=[self.history.panel("energy [J]")], caption=caption,
        )  # fmt: skip

    def readout(self) -> str:
        """Return the time and the depth of the deepest vertex."""
        lowest = min(float(box.position[1] + box.arms()[:, 1].min()) for box in self.boxes)
        energy = sum(box.energy(self.options.gravity) for box in self.boxes)
        return f"{super().readout()}   energy {energy:.2f} J   deepest {1000 * max(-lowest, 0.0):.1f} mm"

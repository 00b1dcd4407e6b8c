"""A chain, a cup of marbles, and a ball that swings against it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pbd_gym.colliders import Plane
from pbd_gym.colliders.solid import matrix_of
from pbd_gym.demos.options import Options, option
from pbd_gym.demos.scene_demo import SceneDemo
from pbd_gym.geometry.tetmeshes import ball, torus
from pbd_gym.geometry.trimeshes import revolution
from pbd_gym.scene.rigid_bodies import RigidBody
from pbd_gym.scene.scene import Scene

ROPE, BALL = 0.42, 0.04
"""Length of the rope and radius of the ball [m]."""
HOOK = np.array([0.0, 0.56, 0.0])
"""Place from which the rope hangs [m]."""
PITCH = 0.076
"""Distance between the middles of rings [m]."""
CHAIN = np.array([-0.28, 0.62, 0.0])
"""Place of the first ring [m]."""


@dataclass(frozen=True)
class RigidOptions(Options):
    """Numbers of the bodies."""

    rings: int = option(6, "rings of the chain", low=1, high=7)
    marbles: int = option(4, "marbles in the cup", low=0, high=6)
    angle: float = option(75.0, "angle by which the ball is pulled back [degrees]", low=0.0, high=90.0, step=5.0)
    ball_density: float = option(2000.0, "mass per volume of the ball [kg/m^3]", low=100.0, high=2e4, step=500.0)
    cup_density: float = option(1200.0, "mass per volume of the cup [kg/m^3]", low=100.0, high=2e4, step=200.0)
    friction: float = option(0.5, "friction of the floor", low=0.0, high=2.0, step=0.1)
    gravity: float = option(-9.81, "vertical acceleration [m/s^2]", low=-100.0, high=100.0, step=1.0)
    time_step: float = option(0.001, "time step of the solver [s]", low=1e-4, high=0.01)
    damping: float = option(0.0, "rate at which velocities fade [1/s]", low=0.0, high=50.0, step=0.5)


class RigidDemo(SceneDemo[RigidOptions]):
    """Rigid bodies in the engine: a ball on a rope knocks a cup of marbles over, beside a chain of rings.

    Each body is a set of balls beneath its surface that move as one. A push on a ball pushes the body at that point, so
    rope, rings, marbles and hand need no special rules. Rings carry each other by contacts alone. The ball hangs on its
    rope by a joint, a point that both share. The key `k` swings the ball again; drag a marble out of the cup.

    Mueller et al. 2020: Detailed rigid body simulation with extended position based dynamics, doi:10.1111/cgf.14105;
    Macklin et al. 2014: Unified particle physics for real-time applications, doi:10.1145/2601097.2601152.
    """

    box = ((-0.36, 0.0, -0.2), (0.5, 0.66, 0.2))
    deeds = (("k", "swing the ball again", "swing"),)
    rebuilt = ("rings", "marbles", "angle")

    def build(self) -> Scene:
        """Return the scene, with one grip for the hand."""
        options = self.options
        scene = Scene(gravity=(0.0, options.gravity, 0.0), grip_count=1)
        scene.add_collider(Plane(friction=options.friction))
        upright = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]])
        across = np.array([[0.0, -1.0, 0.0], [0.0, 0.0, -1.0], [1.0, 0.0, 0.0]])
        ring = torus(0.05, 0.012, 20, 1)
        for k in range(options.rings):
            place = CHAIN - (0.0, PITCH * k, 0.0)
            body = scene.add_rigid_body(ring, 2000.0, 0.012, position=place, rotation=(upright, across)[k % 2])
            if k == 0:
                scene.pin(body.samples)
        profile = [(0.0, 0.0), (0.03, 0.0), (0.045, 0.12)]
        self.cup = scene.add_rigid_body(
            revolution(profile, 20), options.cup_density, 0.012, thickness=0.01, position=(0.0, 0.005, 0.0)
        )
        for k in range(options.marbles):
            place = np.array([0.008 * (-1) ** k, 0.03 + 0.026 * k, 0.008 * (-1) ** (k // 2)])
            scene.add_rigid_body(ball(0.013, 2), 2500.0, 0.009, position=place)
        tilt = np.radians(options.angle)
        down = np.array([np.sin(tilt), -np.cos(tilt), 0.0])
        self.rope = scene.add_rope(HOOK + np.linspace(0.0, ROPE, 18)[:, None] * down, lines=True)
        scene.pin(self.rope[:1])
        self.ball: RigidBody = scene.add_rigid_body(
            ball(BALL, 3), options.ball_density, 0.02, position=HOOK + (ROPE + BALL) * down
        )
        scene.add_joint(self.ball, int(self.rope[-1]), HOOK + ROPE * down)
        return scene

    def swing(self) -> None:
        """Pull the ball back again, with its rope, and release it."""
        swinging = np.concatenate([self.rope, self.ball.indices])
        positions, velocities = self.positions(), self.velocities()
        positions[swinging], velocities[swinging] = self.scene.positions[swinging], 0.0
        self.state.set_positions(positions)
        self.state.set_velocities(velocities)

    def lean(self) -> float:
        """Return the tilt of the cup [degrees]."""
        turn = matrix_of(self.state.get_rigid_poses()[0, self.cup.index, 3:])
        return float(np.degrees(np.arccos(np.clip(turn[1, 1], -1.0, 1.0))))

    def readout(self) -> str:
        """Return the time and the tilt of the cup."""
        return f"{super().readout()}   the cup leans by {self.lean():.0f} degrees"

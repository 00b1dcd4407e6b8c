"""What the rope tasks of the suite share: a rope on the ground, two pickers, and how to tangle it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from pbd_gym.colliders import Plane
from pbd_gym.envs.core.actions import Hands
from pbd_gym.envs.core.experts import box_share
from pbd_gym.envs.core.manipulation import ManipulationConfig, ManipulationVectorEnv
from pbd_gym.envs.core.start_bank import Handler
from pbd_gym.envs.core.validation import check_numbers
from pbd_gym.materials.materials import RopeMaterial
from pbd_gym.scene.scene import Scene


@dataclass(frozen=True)
class RopeTaskConfig(ManipulationConfig):
    """Numbers of the rope tasks; each can be given to ``gym.make``. Sizes are SoftGym's."""

    particles: int = 41
    """Along the rope."""
    rope_length: float = 0.5
    """[m]"""
    substeps: int = 48
    """Simulation steps per action."""
    density: float = 0.1
    """Mass per length [kg/m]."""
    stretch_compliance: float = 1e-6
    """Of the segments [m/N]."""
    bend_compliance: float = 0.02
    """Of constraints that skip a particle [m/N]."""
    friction: float = 1.0
    """Coulomb coefficient of the ground."""
    self_friction: float = 0.3
    """Coulomb coefficient of the rope on itself."""
    reach: float = 0.05
    """Distance from which a picker grasps [m]."""

    def __post_init__(self) -> None:
        check_numbers(
            self,
            positive=(
                "rope_length", "density", "ctrl_dt", "max_step", "reach", "substeps", "starts", "success_at",
            ),
        )  # fmt: skip
        if self.particles < 5:
            raise ValueError(f"particles must be at least 5, got {self.particles}")

    @property
    def spacing(self) -> float:
        """Distance of neighbouring particles [m]."""
        return self.rope_length / (self.particles - 1)

    @property
    def radius(self) -> float:
        """Half the thickness of the rope [m]."""
        return 0.35 * self.spacing


class RopeTaskVectorEnv(ManipulationVectorEnv):
    """Batch of a task with a rope on the ground."""

    config: RopeTaskConfig
    config_type = RopeTaskConfig
    keypoint_count = 10
    """Observed particles, as in SoftGym."""

    def make_scene(self) -> Scene:
        """Return a scene with the rope, straight, above the ground."""
        config = self.config
        scene = Scene(contact_radius=config.radius)
        scene.add_collider(Plane(friction=config.friction))
        material = RopeMaterial(config.density, config.stretch_compliance, config.bend_compliance)
        rope = scene.add_rope(self.rope_points(), material)
        scene.add_particle_contacts(rope, config.radius, config.self_friction)
        return scene

    def rope_points(self) -> np.ndarray:
        """*Task*, may be left as it is: return the straight rope [m], shape (n, 3); on the ground along x."""
        points = np.zeros((self.config.particles, 3))
        points[:, 0] = np.linspace(-0.5, 0.5, self.config.particles) * self.config.rope_length
        points[:, 1] = self.config.radius
        return points

    def build(self, config: Any) -> tuple[Scene, Hands, np.ndarray, np.ndarray]:
        last, extent = config.particles - 1, 0.7 * config.rope_length
        hands = Hands(
            particles=(0, last),
            corners=(0, last),
            reach=config.reach,
            max_step=config.max_step,
            lower=(-extent, config.radius, -extent),
            upper=(extent, 0.6 * config.rope_length, extent),
            holding=False,
        )
        return self.make_scene(), hands, self.keypoints(), self.keypoints()[: self.goal_count]

    goal_count = 0
    """*Task*: how many of the keypoints, from the first on, have goals."""

    def keypoints(self) -> np.ndarray:
        """Return the observed particles, spread evenly over the rope with both ends, shape (<= 10,)."""
        return np.unique(np.linspace(0, self.config.particles - 1, self.keypoint_count).round().astype(np.int32))

    @property
    def view_box(self) -> tuple[np.ndarray, np.ndarray]:
        half = 0.5 * self.config.rope_length
        return np.array([-half, 0.0, -half]), np.array([half, 0.2 * half, half])

    def draw_starts(self, rng: np.random.Generator) -> np.ndarray:
        return self.tangled(rng, self.config.starts, 4)

    def tangled(self, rng: np.random.Generator, count: int, times: int) -> np.ndarray:
        """Return ropes after random pick-and-places, with their middle above the origin [m], shape (count, n, 3).

        As SoftGym makes them: a random particle is lifted, carried off and dropped, four times over.
        """
        config = self.config
        handler = Handler(
            self.scene, np.repeat(self.scene.positions[None], count, axis=0), config.substeps, config.ctrl_dt, 1.0,
            str(self.model.device.alias),
        )  # fmt: skip
        for _ in range(times):
            held = np.full((count, self.scene.grip_count), -1)
            held[:, 0] = rng.integers(config.particles, size=count)
            handler.grasp(held)
            lift = np.zeros((count, self.scene.grip_count, 3))
            lift[:, 0, 1] = config.rope_length * rng.uniform(0.1, 0.3, count)
            carry, angle = np.zeros_like(lift), rng.uniform(0.0, 2.0 * np.pi, count)
            carry[:, 0] = np.stack([np.cos(angle), np.zeros(count), np.sin(angle)], axis=1)
            carry *= config.rope_length * rng.uniform(0.3, 0.8, count)[:, None, None]
            handler.move(lift, 4)
            handler.move(carry, 8)
            handler.move(-0.8 * lift, 4)
            handler.grasp(np.full_like(held, -1))
            handler.rest(8)
        handler.rest(8)
        shapes = handler.positions()
        shapes[..., [0, 2]] -= shapes[..., [0, 2]].mean(axis=1, keepdims=True)
        return shapes

    # --- for experts --------------------------------------------------------------------------------------------------

    def grips(self) -> np.ndarray:
        """Return where the agent's grips are [m], shape (num_envs, grips, 3)."""
        return self.state.grip_positions.numpy()[: self.num_envs, : self.actions.grip_count]

    def held(self) -> np.ndarray:
        """Return what the agent's grips hold, -1 for nothing, shape (num_envs, grips)."""
        return self.state.held.numpy()[: self.num_envs, : self.actions.grip_count]

    def reach_for(self, targets: np.ndarray, closed: np.ndarray) -> np.ndarray:
        """Return the action that brings pickers to places as fast as they can, in a straight line.

        Args:
            targets: where [m], shape (num_envs, grips, 3).
            closed: whether they grasp or hold, bool, shape (num_envs, grips).

        Returns:
            Shape (num_envs, size), float32.
        """
        if self.action_mode == "pick_place":
            move = np.stack([box_share(self, env, places) for env, places in enumerate(targets)])
        else:
            move = (targets - self.grips()) / self.config.max_step
            move /= np.maximum(np.abs(move).max(axis=2, keepdims=True), 1.0)
        grip = np.where(closed, 1.0, -1.0)
        return np.concatenate([move, grip[..., None]], axis=2).reshape(self.num_envs, -1).astype(np.float32)

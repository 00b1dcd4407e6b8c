"""Hands that ask for what a rigid body cannot do: it goes as far as it can, and is in their grasp again afterwards."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from pbd_gym import Capsule, Model, Plane, Scene, Solver
from pbd_gym.geometry import box

SIDE, BALL, STEP = 0.1, 0.025, 0.02
DOWN, UP = np.array((0.0, -0.01, 0.0)), np.array((0.0, 0.01, 0.0))


class Grasp:
    """A block over the ground, or high above it, that hands hold.

    Args:
        height: of its centre above the ground [m].
        held: particles.
        gravity: [m/s^2].
    """

    def __init__(self, height: float, held: list[int], gravity: float = 9.81) -> None:
        scene = Scene(grip_count=2, gravity=(0.0, -gravity, 0.0))
        body = scene.add_rigid_body(box((1, 1, 1), (SIDE,) * 3), 300.0, 0.05, BALL, position=(0.0, height, 0.0))
        scene.add_collider(Plane(friction=0.5))
        self.rest, self.held, self.samples = scene.positions.copy(), held, body.samples
        self.solver = Solver(Model(scene, 1), substeps=8, quiet=True)
        self.state, self.control = self.solver.state(), self.solver.control()
        self.state.hold([held + [-1] * (2 - len(held))])

    def move(self, steps: int, *ways: np.ndarray) -> float:
        """Move each hand by a way in each step; return the largest speed of what is not held afterwards [m/s]."""
        for _ in range(steps):
            self.control.move([list(ways) + [np.zeros(3)] * (2 - len(ways))])
            self.solver.step(self.state, self.control, STEP)
        free = np.setdiff1d(self.samples, self.held)
        return float(np.linalg.norm(self.state.get_velocities()[0][free], axis=1).max())

    @property
    def free(self) -> np.ndarray:
        """Places of the balls that are not held [m], shape (n, 3)."""
        return self.state.get_positions()[0][np.setdiff1d(self.samples, self.held)]

    def off(self) -> float:
        """How far what is held is from its place in the body at most [m]."""
        x, free = self.state.get_positions()[0], np.setdiff1d(self.samples, self.held)
        return max(
            float(
                np.abs(
                    np.linalg.norm(x[k] - x[free], axis=1) - np.linalg.norm(self.rest[k] - self.rest[free], axis=1)
                ).max()
            )
            for k in self.held
        )


def sample(place: tuple[float, float, float], height: float) -> int:
    """Return the ball that is nearest to a place, from the centre of the block."""
    grasp = Grasp(height, [])
    return int(grasp.samples[np.linalg.norm(grasp.rest[grasp.samples] - (0.0, height, 0.0) - place, axis=1).argmin()])


@pytest.mark.parametrize("place", [(0.0, 0.0, 0.0), (0.05, 0.05, 0.05)])
def test_a_hand_does_not_press_a_block_into_the_ground(place: tuple[float, float, float]) -> None:
    """The block stays above the ground and is not shaken; where the hand comes back, it has it as before."""
    grasp = Grasp(0.09, [sample(place, 0.09)])
    assert grasp.move(25, DOWN) < 3.0
    assert grasp.free[:, 1].min() > 0.5 * BALL
    assert grasp.off() > 0.1
    grasp.move(60, UP)
    assert grasp.move(10) < 1.5
    assert grasp.off() < 1e-3


def test_hands_that_go_apart_have_the_block_between_them() -> None:
    """Its centre is in the middle, and it points from one hand to the other, at four times the distance too."""
    one, two = sample((-0.025, -0.025, -0.025), 1.0), sample((0.025, -0.025, 0.025), 1.0)
    grasp = Grasp(1.0, [one, two], gravity=0.0)
    across = grasp.rest[two] - grasp.rest[one]
    grasp.move(20, -0.075 * across, 0.075 * across)
    assert grasp.move(20) < 0.5
    hands = grasp.state.get_positions()[0][[one, two]]
    assert np.linalg.norm(hands[1] - hands[0]) > 3.9 * np.linalg.norm(across)
    # Their midpoint is as far from every ball as that of what they hold.
    free = np.setdiff1d(grasp.samples, grasp.held)
    middle = grasp.rest[[one, two]].mean(axis=0)
    assert_allclose(
        np.linalg.norm(grasp.free - hands.mean(axis=0), axis=1),
        np.linalg.norm(grasp.rest[free] - middle, axis=1),
        atol=1e-3,
    )
    # Balls in the order of how far along the line they were.
    along = (hands[1] - hands[0]) / np.linalg.norm(hands[1] - hands[0])
    assert_allclose(
        (grasp.free - hands.mean(axis=0)) @ along,
        (grasp.rest[free] - middle) @ (across / np.linalg.norm(across)),
        atol=2e-3,
    )
    grasp.move(20, 0.075 * across, -0.075 * across)
    grasp.move(10)
    assert grasp.off() < 1e-3


def test_the_far_end_of_a_beam_in_a_hand_stays_above_the_ground() -> None:
    """Guards the reach of a body, which is from the middle of its mesh and not from the hand."""
    scene = Scene(grip_count=1)
    body = scene.add_rigid_body(box((1, 1, 8), (0.06, 0.06, 0.5)), 300.0, 0.05, 0.025, position=(0.0, 0.4, 0.0))
    scene.add_collider(Plane(friction=0.5))
    solver = Solver(Model(scene, 1), substeps=8, quiet=True)
    state, control = solver.state(), solver.control()
    state.hold([[int(body.samples[scene.positions[body.samples][:, 2].argmin()])]])
    for _ in range(40):
        solver.step(state, control, STEP)
    heights = state.get_positions()[0][body.vertices][:, 1]
    assert -5e-3 < heights.min() < 1e-3  # a corner lies on it
    assert heights.max() > 0.1


def test_what_pushes_a_held_block_aside_does_not_fling_it() -> None:
    """Guards hands that draw at what is pushed out of them: it gathered speed, up to 42 times that of the rod.

    Rods go into the place of a block that is held in its middle, at four speeds, and stay there.
    """
    scene = Scene(grip_count=1)
    body = scene.add_rigid_body(box((1, 1, 1), (SIDE,) * 3), 300.0, 0.05, BALL, position=(0.0, 1.0, 0.0))
    rod = scene.add_collider(Capsule((0.4, 1.0, -0.1), (0.4, 1.0, 0.1), 0.01, friction=0.5), moving=True)
    solver = Solver(Model(scene, 4, lanes=1), substeps=20, quiet=True)
    state, control = solver.state(), solver.control()
    middle = scene.positions[body.samples] - (0.0, 1.0, 0.0)
    state.hold(np.full((4, 1), body.samples[np.linalg.norm(middle, axis=1).argmin()]))
    pace, gone, fastest = np.array([0.4, 0.5, 0.7, 1.0]), np.zeros(4), np.zeros(4)
    for _ in range(60):
        way = np.where(gone < 0.38, pace * STEP, 0.0)
        gone += way
        control.move_collider(rod, np.outer(way, [-1.0, 0.0, 0.0]))
        solver.step(state, control, STEP)
        fastest = np.maximum(fastest, np.linalg.norm(state.get_velocities()[:, body.samples], axis=2).max(axis=1))
    assert (fastest < 3.0 * pace).all(), fastest

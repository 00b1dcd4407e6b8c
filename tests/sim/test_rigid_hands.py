"""Hands that ask for what a rigid body cannot do: it goes as far as it can, and is in their grasp again afterwards."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from pbd_gym import Capsule, Model, Plane, Scene, Solver
from pbd_gym.geometry import box
from tests.sim.grasps import corners

SIDE, BALL, STEP, DENSITY, G = 0.1, 0.025, 0.02, 300.0, 9.81
MASS = DENSITY * SIDE**3
DOWN, UP = np.array((0.0, -0.01, 0.0)), np.array((0.0, 0.01, 0.0))
KERNEL = {"wrenches": True, "grip_forces": True}
"""Options that all scenes over a ground share, so that they share a kernel."""
TIME, DRAWN = 5e-3, 0.5
"""Time constant of hands away from what they hold [s], and the speed at which they draw at it, at most [m/s]."""


def strongest(speed: np.ndarray | float, substeps: int) -> np.ndarray | float:
    """Return the largest force of a hand that moves at a speed [m/s] against what is in the way [N]."""
    h = STEP / substeps
    return MASS * (speed + DRAWN) * (2.0 / TIME + h / TIME**2)


class Grasp:
    """A block over the ground, or high above it, that hands hold.

    Args:
        height: of its centre above the ground [m].
        held: particles.
        gravity: [m/s^2].
        substeps: of a step.
        num_envs: blocks.
    """

    def __init__(
        self, height: float, held: list[int], gravity: float = G, substeps: int = 8, num_envs: int = 1
    ) -> None:
        scene = Scene(grip_count=2, gravity=(0.0, -gravity, 0.0))
        body = scene.add_rigid_body(box((1, 1, 1), (SIDE,) * 3), DENSITY, 0.05, BALL, position=(0.0, height, 0.0))
        scene.add_collider(Plane(friction=0.5))
        self.rest, self.held, self.samples = scene.positions.copy(), held, body.samples
        model = Model(scene, num_envs, lanes=1)
        self.solver = Solver(model, substeps=substeps, quiet=True, **KERNEL)
        self.state, self.control = self.solver.state(), self.solver.control()
        self.state.hold([held + [-1] * (2 - len(held))] * num_envs)

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


@pytest.mark.parametrize("substeps", [8, 20])
def test_a_hand_presses_with_a_force_that_rises_with_the_gap(substeps: int) -> None:
    """M d / s^2 at rest, whatever the substep; on the way the damper's as well, and never more than the hand is strong.

    Guards that no impulse is lost: what the ground takes is what the hand and the weight put in.
    """
    grasp = Grasp(0.06, [sample((0.0, 0.0, 0.0), 0.06)], substeps=substeps)
    speed, pressed, pulled = 0.1, [], []
    for k in range(40):
        grasp.move(1, 0.2 * DOWN if k < 6 else 0.0 * DOWN)
        pressed.append(-grasp.state.get_wrenches()[0, 0, 1])
        pulled.append(grasp.state.get_grip_forces()[0, 0, 1])
    gap = 6 * speed * STEP - 0.01
    assert_allclose(pressed[-1], MASS * gap / TIME**2, rtol=0.02)
    most = MASS * (gap / TIME**2 + 2.0 * speed / TIME)
    assert most > strongest(speed, substeps) / 4.0
    assert max(pressed) < 1.05 * most
    assert_allclose(sum(pressed), sum(pulled) + 40 * MASS * G, rtol=1e-3)


@pytest.mark.parametrize("substeps", [8, 20])
def test_two_hands_at_random_do_not_fling_a_block(substeps: int) -> None:
    """Near the ground and into it, it is hardly faster than hands and falling make it.

    Guards blocks that are pressed out of the ground, and balls that meet a hand of their own body.
    """
    count, pace, rng = 8, 0.01, np.random.default_rng(0)
    grasp = Grasp(0.09, [], substeps=substeps, num_envs=count)
    held = np.array([grasp.samples[rng.choice(len(grasp.samples), 2, replace=False)] for _ in range(count)])
    grasp.state.hold(held)
    low, high = SIDE * np.array((-1.0, -0.2, -1.0)), SIDE * np.array((1.0, 1.2, 1.0))
    places, goals, fastest, hardest = grasp.rest[held], rng.uniform(low, high, (count, 2, 3)), 0.0, 0.0
    for _ in range(80):
        left = np.linalg.norm(goals - places, axis=2, keepdims=True)
        arrived = left[..., 0] < pace
        goals[arrived] = rng.uniform(low, high, (int(arrived.sum()), 3))
        ways = (goals - places) * np.minimum(1.0, pace / np.maximum(left, 1e-9))
        ways *= np.minimum(1.0, pace / np.linalg.norm(ways, axis=2, keepdims=True))
        places = places + ways
        grasp.control.move(ways)
        grasp.solver.step(grasp.state, grasp.control, STEP)
        fastest = max(fastest, np.linalg.norm(grasp.state.get_velocities()[:, grasp.samples], axis=2).max())
        hardest = max(hardest, np.linalg.norm(grasp.state.get_wrenches()[:, 0, :3], axis=1).max())
    assert fastest < 2.0 * pace / STEP + np.sqrt(2.0 * G * SIDE)
    assert hardest < 1.05 * 2.0 * strongest(pace / STEP, substeps)


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
    solver = Solver(Model(scene, 1), substeps=8, quiet=True, **KERNEL)
    state, control = solver.state(), solver.control()
    state.hold([[int(body.samples[scene.positions[body.samples][:, 2].argmin()])]])
    for _ in range(40):
        solver.step(state, control, STEP)
    heights = state.get_positions()[0][body.vertices][:, 1]
    assert -5e-3 < heights.min() < 1e-3  # a corner lies on it
    assert heights.max() > 0.1


def test_what_pushes_a_held_block_aside_does_not_fling_it() -> None:
    """Guards hands that draw at what is pushed out of them: it gathered speed, up to 42 times that of the rod.

    Rods go into the place of a block that is held in its middle, at four speeds, and stay there. Each is pressed by no
    more than the hand, where it met a thousand blocks.
    """
    scene = Scene(grip_count=1)
    body = scene.add_rigid_body(box((1, 1, 1), (SIDE,) * 3), DENSITY, 0.05, BALL, position=(0.0, 1.0, 0.0))
    rod = scene.add_collider(Capsule((0.4, 1.0, -0.1), (0.4, 1.0, 0.1), 0.01, friction=0.5), moving=True)
    solver = Solver(Model(scene, 4, lanes=1), substeps=20, quiet=True, wrenches=True)
    state, control = solver.state(), solver.control()
    middle = scene.positions[body.samples] - (0.0, 1.0, 0.0)
    state.hold(np.full((4, 1), body.samples[np.linalg.norm(middle, axis=1).argmin()]))
    pace = np.array([0.4, 0.5, 0.7, 1.0])
    gone, fastest, hardest = np.zeros(4), np.zeros(4), np.zeros(4)
    for _ in range(60):
        way = np.where(gone < 0.38, pace * STEP, 0.0)
        gone += way
        control.move_collider(rod, np.outer(way, [-1.0, 0.0, 0.0]))
        solver.step(state, control, STEP)
        fastest = np.maximum(fastest, np.linalg.norm(state.get_velocities()[:, body.samples], axis=2).max(axis=1))
        hardest = np.maximum(hardest, np.linalg.norm(state.get_wrenches()[:, 0, :3], axis=1))
    assert (fastest < 2.0 * pace).all(), fastest
    assert (hardest < 1.05 * strongest(pace, 20)).all(), hardest


@pytest.mark.parametrize("substeps", [8, 40])
def test_a_hand_presses_the_same_through_another_block(substeps: int) -> None:
    """Guards held bodies against others: one pressed 1 cm too far sank by that into a block on the ground at 40
    substeps, and pressed eight times as hard as on the ground itself.
    """
    block, forces = box((2, 2, 2), (SIDE,) * 3), []
    for lies in (True, False):
        scene = Scene(grip_count=4)
        scene.add_collider(Plane(friction=0.5))
        other = scene.add_rigid_body(block, DENSITY, position=(0.0 if lies else 0.4, 0.05, 0.0))
        held = scene.add_rigid_body(block, DENSITY, position=(0.0, 0.17 if lies else 0.07, 0.0))
        solver = Solver(Model(scene), substeps=substeps, quiet=True, **KERNEL)
        state, control = solver.state(), solver.control()
        state.hold([corners(scene, held, 1, 1.0)])
        for step in range(60):
            control.move(np.tile([0.0, -0.001 if step < 30 else 0.0, 0.0], (1, 4, 1)))
            solver.step(state, control, STEP)
        heights = state.get_rigid_poses()[0, :, 1]
        assert_allclose(heights, [0.05, 0.15 if lies else 0.05], atol=5e-4)
        grips = float(state.get_grip_forces()[0, :, 1].sum())
        ground = -float(state.get_wrenches()[0, 0, 1])
        assert_allclose(ground, grips + (held.mass + other.mass) * G, rtol=0.02)
        forces.append(grips)
    assert forces[0] == pytest.approx(forces[1], rel=0.03)


def test_plates_in_hands_lift_what_they_press_hard_enough() -> None:
    """Guards the force of plates in hands on a block between them: 1.3 kN at 8 substeps and 8.9 kN at 40, 0.05 mm too
    near.

    It is the same at both, in proportion to how much too near they are, and decides on lifting by Coulomb's law.
    """
    squeezed = np.zeros((2, 2))
    for column, substeps in enumerate((8, 40)):
        for row, near in enumerate((5e-5, 5e-4)):
            scene = Scene(grip_count=8)
            scene.add_collider(Plane())
            block = scene.add_rigid_body(box((2, 2, 2), (SIDE,) * 3), 1000.0, position=(0.0, 0.05, 0.0))
            plates = [
                scene.add_rigid_body(box((1, 2, 2), (0.02, SIDE, SIDE)), 1000.0, position=(side * 0.065, 0.06, 0.0))
                for side in (1.0, -1.0)
            ]
            solver = Solver(Model(scene), substeps=substeps, quiet=True, **KERNEL)
            state, control = solver.state(), solver.control()
            state.hold([corners(scene, plates[0], 0, 1.0) + corners(scene, plates[1], 0, -1.0)])
            together = np.repeat([[-(0.005 + near) / 20, 0.0, 0.0], [(0.005 + near) / 20, 0.0, 0.0]], 4, axis=0)
            for motion in [together] * 20 + [np.zeros((8, 3))] * 20:
                control.move(motion[None])
                solver.step(state, control, STEP)
            squeezed[row, column] = state.get_grip_forces()[0, :4, 0].sum()
            for step in range(60):
                control.move(np.tile([0.0, 0.005 if step < 40 else 0.0, 0.0], (1, 8, 1)))
                solver.step(state, control, STEP)
            lifts = 2.0 * 0.5 * abs(squeezed[row, column]) > block.mass * G
            assert lifts == (row == 1)
            assert state.get_rigid_poses()[0, 0, 1] == pytest.approx(0.25 if lifts else 0.05, abs=0.01)
    assert_allclose(squeezed[:, 0], squeezed[:, 1], rtol=0.03)
    assert squeezed[1, 0] / squeezed[0, 0] == pytest.approx(10.0, rel=0.05)


@pytest.mark.parametrize("way", ["arc", "line"])
def test_a_hand_opens_a_door(way: str) -> None:
    """Guards hands on what a hinge holds too: along the very arc of the handle the hand felt 0.9 kN at 8 substeps
    and 5 kN at 40, and 500 kN along a line that leaves it; now next to nothing, and what its spring gives.
    """
    pulled = []
    for substeps in (8, 40):
        scene = Scene(grip_count=1, gravity=(0.0, 0.0, 0.0))
        scene.add_collider(Plane(offset=-1.0))
        door = scene.add_rigid_body(box((4, 4, 1), (0.4, 0.6, 0.03)), DENSITY, position=(0.2, 0.3, 0.0))
        scene.add_joint(door, None, (0.0, 0.3, 0.0), axis=(0.0, 1.0, 0.0))
        handle = np.array([0.4, 0.3, 0.015])
        held = door.vertices[np.linalg.norm(scene.positions[door.vertices] - handle, axis=1).argmin()]
        x, y, z = scene.positions[held]
        turns = np.arctan2(z, x) + 0.5 * np.pi * np.minimum(np.arange(81) / 60, 1.0)
        arc = np.stack([np.hypot(x, z) * np.cos(turns), np.full(81, y), np.hypot(x, z) * np.sin(turns)], axis=1)
        path = arc if way == "arc" else np.array([x, y, z]) + np.outer(np.minimum(np.arange(81), 60), [0.0, 0.0, 0.003])
        solver = Solver(Model(scene), substeps=substeps, quiet=True, **KERNEL)
        state, control = solver.state(), solver.control()
        state.hold([[held]])
        felt = []
        for ways in np.diff(path, axis=0):
            control.move(ways[None, None])
            solver.step(state, control, STEP)
            felt.append(float(np.linalg.norm(state.get_grip_forces()[0, 0])))
        pose = state.get_rigid_poses()[0, door.index]
        yaw = 2.0 * np.arctan2(pose[4], pose[6])
        axis = pose[:3] - 0.2 * np.array([np.cos(yaw), 0.0, -np.sin(yaw)])
        assert_allclose(axis, [0.0, 0.3, 0.0], atol=1e-3)
        if way == "arc":
            assert np.degrees(yaw) == pytest.approx(-90.0, abs=0.5)
            assert np.median(felt[10:60]) < 3.0
            assert felt[-1] < 0.2
        else:
            assert np.degrees(yaw) == pytest.approx(-np.degrees(np.arctan2(0.18, 0.4)), abs=3.0)
        pulled.append(felt[-1])
    if way == "line":
        assert 100.0 < pulled[1] < pulled[0] < 1.25 * pulled[1]

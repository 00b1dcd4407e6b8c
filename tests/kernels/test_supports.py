"""Lines over colliders: rods carry them with a capstan's friction, without stretching, and edges let them slide."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from pbd_gym import Fabric, Model, Scene, Solver
from pbd_gym.colliders import Box, Capsule
from pbd_gym.materials.materials import RopeMaterial

RADIUS, SPACING, ARMS, DENSITY = 0.05, 0.01, 20, 1.0


FRICTION = 0.3
"""Of rope and rod: half a turn about it holds exp(0.3 pi) = 2.57 times the weight at the other end, and what the rope
on it weighs makes that 2.84."""


def hung(ratio: float, load: float = 1.0) -> tuple[Scene, np.ndarray]:
    """Return a rope over a rod with weights at its ends, so heavy that one side pulls so many times as much.

    The other side weighs twice as much as the rope there, times ``load``.
    """
    scene = Scene()
    scene.add_collider(Capsule((0.0, 0.0, -1.0), (0.0, 0.0, 1.0), RADIUS, friction=FRICTION))
    reach = RADIUS + scene.contact_radius
    angles = np.linspace(np.pi, 0.0, round(np.pi * reach / SPACING) + 1)
    down = -SPACING * np.arange(1, ARMS + 1)
    sides = [np.stack((np.full(ARMS, x), down, np.zeros(ARMS)), 1) for x in (-reach, reach)]
    arc = reach * np.stack((np.cos(angles), np.sin(angles), np.zeros_like(angles)), 1)
    points = np.concatenate((sides[0][::-1], arc, sides[1]))
    rope = scene.add_rope(points, RopeMaterial(density=DENSITY, stretch_compliance=0.0), lines=True)
    arm = ARMS * SPACING * DENSITY
    scene.inv_mass[rope[[0, -1]]] = 1.0 / (2.0 * load * arm * np.array([1.0, ratio]) - arm)
    return scene, rope


@pytest.fixture(scope="module")
def ends() -> dict[float, tuple[float, float]]:
    """How far the heavier end sinks in a second [m], and the longest segment then [rest lengths], by ratio of pulls."""
    found = {}
    for ratio in (1.0, 2.56, 3.12):
        scene, rope = hung(ratio)
        rest = np.linalg.norm(np.diff(scene.positions[rope], axis=0), axis=1)
        model = Model(scene, num_envs=2, device="cpu")
        solver = Solver(model, substeps=10)
        state, control = solver.state(), solver.control()
        for _ in range(60):
            solver.step(state, control, 1 / 60)
        places = state.get_positions()[:, rope]
        np.testing.assert_array_equal(places[0], places[1])
        length = np.linalg.norm(np.diff(places[0], axis=0), axis=1) / rest
        found[ratio] = float(scene.positions[rope[-1], 1] - places[0, -1, 1]), float(length.max())
    return found


def test_a_loaded_rope_keeps_its_length_over_a_rod(ends: dict[float, tuple[float, float]]) -> None:
    """Guards lines that know of supports: else the weights pull a rope into the rod, and it stays 0.6 % too long."""
    assert ends[1.0][1] < 1.002


def test_a_rod_holds_what_a_capstan_holds(ends: dict[float, tuple[float, float]]) -> None:
    """Guards friction under tension, Euler and Eytelwein's exp(mu theta): what presses a rope on a rod counts.

    The rope was made of chords, and is 0.3 mm too short for the rod.
    """
    assert abs(ends[1.0][0]) < 3e-4
    assert ends[2.56][0] < 5e-4
    assert ends[3.12][0] > 0.05


def test_a_pull_beyond_what_substeps_stand_is_said() -> None:
    """Guards silence about ropes round rods that stretch and fly off, and the number of substeps that is named.

    With it the rope slides as it should: the heavier weight falls with g (3.5 - b) / (3.5 + b), b = exp(0.3 pi).
    """
    scene, rope = hung(3.5, 200.0)
    rest = np.linalg.norm(np.diff(scene.positions[rope], axis=0), axis=1)
    model = Model(scene)

    def slide(substeps: int) -> tuple[float, float, list[str]]:
        solver = Solver(model, substeps)
        state, control = solver.state(), solver.control()
        longest = 0.0
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            for _ in range(24):
                solver.step(state, control, 1 / 60)
                places = state.get_positions()[0, rope]
                longest = max(longest, float((np.linalg.norm(np.diff(places, axis=0), axis=1) / rest).max()))
        sinks = float(scene.positions[rope[-1], 1] - places[-1, 1])
        return sinks, longest, [str(w.message) for w in said if "goes round a collider" in str(w.message)]

    _, _, said = slide(10)
    assert len(said) == 1
    wanted = int(said[0].split("substeps=")[1].split()[0])
    assert 15 < wanted < 60
    sinks, longest, said = slide(wanted)
    belt = np.exp(FRICTION * np.pi)
    np.testing.assert_allclose(sinks, 0.5 * 9.81 * (3.5 - belt) / (3.5 + belt) * (24 / 60) ** 2, rtol=0.1)
    assert longest < 1.02
    assert not said


def test_a_towel_does_not_lock_on_the_edges_of_a_box() -> None:
    """Guards friction round edges: a chord that pulls straight into a face held it, and the towel stretched by 33 %."""
    fabric = Fabric.preset("towel")
    scene = Scene(contact_radius=fabric.thickness / 2)
    towel = scene.add_cloth(16, 16, (0.4, 0.4), fabric, position=(0.0, 0.8, 0.0), lines=True, tethers=True)
    scene.pin(towel.corners[:2])
    box = scene.add_collider(Box((0.0, 0.6, -0.06), (0.05, 0.05, 0.05), friction=0.5), moving=True)
    solver = Solver(Model(scene, num_envs=2, device="cpu"), substeps=32, damping=1.0)
    state, control = solver.state(), solver.control()
    control.move_collider(box, (0.0, 0.0, 0.004))
    worst = 0.0
    for _ in range(88):
        solver.step(state, control, 0.02)
        places = state.get_positions()
        threads = [np.diff(places[0, towel.indices], axis=axis) for axis in (0, 1)]
        lengths = np.concatenate([np.linalg.norm(thread, axis=-1).ravel() for thread in threads])
        worst = max(worst, float(np.percentile(lengths, 99)) * 15 / 0.4 - 1.0)
    np.testing.assert_array_equal(places[0], places[1])
    assert worst < 0.05

"""A constraint kind from outside the package: ten lines, and a scene that uses it."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from pbd_gym import Model, Scene, Solver
from pbd_gym.constraints import Kind, Residual, kinds, register
from pbd_gym.formulas import Number, Vec3, norm

from .helpers import NO_GRAVITY


def prepare(
    positions: np.ndarray, indices: np.ndarray, compliance: float = 0.0, anchor: Any = (0.0, 0.0, 0.0)
) -> dict[str, np.ndarray]:
    count = len(indices)
    return {"anchor": np.broadcast_to(anchor, (count, 3)), "compliance": np.full(count, compliance)}


def leash(x: Sequence[Vec3], anchor: Vec3) -> Residual:
    """``C(x) = |x_0 - a|`` [m]."""
    length = norm(x[0] - anchor)
    return Residual(length, scale=length)


def plain_leash(x: Sequence[Vec3], anchor: Vec3) -> Number:
    return norm(x[0] - anchor)


def twice_the_leash(x: Sequence[Vec3], anchor: Vec3) -> Number:
    return 2.0 * norm(x[0] - anchor)


def new_kind(formula: Callable[..., Any], **options: Any) -> Kind:
    """A kind of a name that no other test has."""
    return Kind(f"leash_{uuid.uuid4().hex}", 1, prepare, {"anchor": (3,)}, formula, **options)


def pulled(kind: Kind, lanes: int = 1) -> np.ndarray:
    """Where two particles, one of them at its anchor, are after a step of 1 s with a compliance of 1 m/N."""
    scene = Scene(gravity=NO_GRAVITY)
    particles = scene.add_particles([[1.0, 2.0, 2.0], [0.0, 0.0, 0.0]], [1.0, 1.0])
    scene.add_constraints(kind.name, particles[:, None], compliance=1.0)
    solver = Solver(Model(scene, num_envs=lanes, dtype="float64", lanes=lanes), substeps=1)
    state = solver.state()
    solver.step(state, solver.control(), 1.0)
    return state.get_positions()


@pytest.mark.parametrize("lanes", [1, 4])
@pytest.mark.parametrize("formula", [leash, plain_leash])
def test_a_registered_kind_can_be_used(formula: Callable[..., Any], lanes: int) -> None:
    """Guards the way in: w = alpha = 1, so half of the length is left; and at C = 0 there is no NaN."""
    found = pulled(register(new_kind(formula)), lanes)
    assert_allclose(found, np.broadcast_to([[0.5, 1.0, 1.0], [0.0, 0.0, 0.0]], (lanes, 2, 3)), atol=1e-14)


def test_kinds_are_told_apart() -> None:
    """Guards kernel caches: two kinds that differ in nothing but their formula have kernels of their own."""
    once, twice = (pulled(register(new_kind(formula)))[0, 0] for formula in (leash, twice_the_leash))
    assert_allclose(once, [0.5, 1.0, 1.0], atol=1e-14)
    assert_allclose(twice, [0.2, 0.4, 0.4], atol=1e-14)  # 2 |x| * 2 / (4 + 1)


def test_a_name_is_taken_once() -> None:
    """Guards other people's kinds, and the package's own."""
    kind = register(new_kind(leash))
    for taken in (kind, Kind(kind.name, 1, prepare, {"anchor": (3,)}, plain_leash), kinds()["distance"]):
        with pytest.raises(ValueError, match="already"):
            register(taken)
    assert kinds()[kind.name] is kind


def test_wrong_formulas_are_named_at_once() -> None:
    """Guards authors: what is wrong is said when the kind is made or registered, not by the C++ compiler."""

    def branches(x: Sequence[Vec3], anchor: Vec3) -> Number:
        return x[0].x if x[0].x > anchor.x else anchor.x

    def unknown(x: Sequence[Vec3], stiffness: Number) -> Number:
        return stiffness * x[0].x

    def nothing(x: Sequence[Vec3], anchor: Vec3) -> None:
        return None

    with pytest.raises(TypeError, match="where instead of 'if'"):
        register(new_kind(branches))
    with pytest.raises(ValueError, match="'stiffness', which is not one of anchor, size"):
        new_kind(unknown)
    with pytest.raises(TypeError, match="must return a number"):
        register(new_kind(nothing))
    with pytest.raises(ValueError, match="identifier"):
        Kind("a leash", 1, prepare, {"anchor": (3,)}, leash)
    with pytest.raises(ValueError, match="a width and a formula"):
        Kind("a_leash", 1, prepare, {"anchor": (3,)})
    with pytest.raises(ValueError, match="cannot be called 'share'"):
        Kind("a_leash", 1, prepare, {"share": (3,)}, leash)


@pytest.mark.parametrize(
    ("found", "message"),
    [
        ({"anchor": np.zeros((1, 3))}, "must return compliance, anchor, got anchor"),
        ({"anchor": np.zeros((1, 2)), "compliance": np.zeros(1)}, r"anchor of leash_\w+ must have the shape \(1, 3\)"),
        ({"anchor": np.zeros((1, 3)), "compliance": 0.0}, r"compliance of leash_\w+ must have the shape \(1,\)"),
    ],
)
def test_numbers_that_do_not_fit_are_named(found: dict[str, Any], message: str) -> None:
    """Guards kernels: they would read beyond an array that is missing or too short."""
    kind = replace(new_kind(leash), prepare=lambda positions, indices: found)
    scene = Scene(gravity=NO_GRAVITY)
    scene.add_particles([[1.0, 2.0, 2.0]], 1.0)
    register(kind)
    with pytest.raises(ValueError, match=message):
        scene.add_constraints(kind.name, [[0]])


def test_the_kind_of_contributing_works() -> None:
    """Guards the example in docs/custom_constraints.md: it runs as it stands, and does what it says."""
    text = (Path(__file__).parents[2] / "docs" / "custom_constraints.md").read_text()
    (example,) = (part.split("```")[0] for part in text.split("```python\n")[1:] if "def on_sphere" in part)
    exec(example, {})
    scene = Scene(gravity=NO_GRAVITY)
    scene.add_particles([[1.0, 2.0, 2.0], [0.0, 0.5, 0.0]], [1.0, 3.0])
    scene.add_constraints("on_sphere", [[0], [1]], radius=2.0)
    solver = Solver(Model(scene, dtype="float64"), substeps=1)
    state = solver.state()
    solver.step(state, solver.control(), 0.01)
    assert_allclose(np.linalg.norm(state.get_positions()[0], axis=1), 2.0, rtol=1e-12)

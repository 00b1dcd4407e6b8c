"""Bad input to scenes, models and solvers: one clear error at once, and the scene as it was before."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from pbd_gym.colliders import Plane, Sphere
from pbd_gym.geometry.tetmeshes import box
from pbd_gym.materials.materials import ClothMaterial
from pbd_gym.scene.scene import Scene
from pbd_gym.sim.model import Model
from pbd_gym.sim.solver import Solver

NAN, INF = float("nan"), float("inf")
CUBE = box((1, 1, 1), (0.1, 0.1, 0.1))


def small_scene() -> Scene:
    scene = Scene(grip_count=2)
    cloth = scene.add_cloth(3, 3, lines=False)
    scene.pin(cloth.corners[0])
    scene.add_collider(Plane())
    return scene


def snapshot(scene: Scene) -> list[Any]:
    """Everything a scene holds, as plain copies."""
    batches = [
        (name, [part.tolist() for part in batch.indices], {k: [p.tolist() for p in v] for k, v in batch.values.items()})
        for name, batch in scene.constraints.items()
    ]
    arrays = (scene.positions, scene.velocities, scene.inv_mass, scene.triangles, scene.lines, scene.gravity)
    return [[array.tolist() for array in arrays], list(scene.colliders), batches, scene.grip_count]


CUBE = box((1, 1, 1), (0.1, 0.1, 0.1))
SCENE_ERRORS: dict[str, tuple[Callable[[Scene], object], str]] = {
    "cloth without rows": (lambda s: s.add_cloth(0, 4, lines=False), "2 x 2"),
    "cloth of one column": (lambda s: s.add_cloth(4, 1, lines=False), "2 x 2"),
    "cloth of size zero": (lambda s: s.add_cloth(3, 3, size=(0.0, 1.0), lines=False), "size"),
    "cloth of size NaN": (lambda s: s.add_cloth(3, 3, size=(1.0, NAN), lines=False), "size"),
    "cloth at NaN": (lambda s: s.add_cloth(3, 3, position=(0.0, NAN, 0.0), lines=False), "position"),
    "cloth with 2D position": (lambda s: s.add_cloth(3, 3, position=(0.0, 0.0), lines=False), "position"),
    "cloth with 2x2 rotation": (lambda s: s.add_cloth(3, 3, rotation=np.eye(2), lines=False), "rotation"),
    "cloth that a rotation makes larger": (
        lambda s: s.add_cloth(3, 3, rotation=2.0 * np.eye(3), lines=False),
        "rotation",
    ),
    "solid that a rotation shears": (lambda s: s.add_soft_body(CUBE, rotation=np.eye(3) + np.eye(3, k=1)), "rotation"),
    "particles at NaN": (lambda s: s.add_particles([[0.0, NAN, 0.0]], 1.0), "positions"),
    "particles in 2D": (lambda s: s.add_particles([[0.0, 1.0]], 1.0), "positions"),
    "massless particles": (lambda s: s.add_particles([[0.0, 1.0, 0.0]], 0.0), "mass"),
    "particles of negative mass": (lambda s: s.add_particles(np.zeros((2, 3)), [1.0, -1.0]), "mass"),
    "particles of infinite mass": (lambda s: s.add_particles(np.zeros((2, 3)), INF), "mass"),
    "constraint to itself": (lambda s: s.add_distance_constraints([[1, 1]]), "different"),
    "constraint out of range": (lambda s: s.add_distance_constraints([[0, 9]]), "0 to 8"),
    "constraint below zero": (lambda s: s.add_distance_constraints([[0, -1]]), "0 to 8"),
    "constraint of three": (lambda s: s.add_distance_constraints([[0, 1, 2]]), "shape"),
    "constraint of floats": (lambda s: s.add_distance_constraints([[0.0, 1.0]]), "integers"),
    "negative compliance": (lambda s: s.add_distance_constraints([[0, 1]], -1e-9), "compliance"),
    "NaN compliance": (lambda s: s.add_distance_constraints([[0, 1]], NAN), "compliance"),
    "negative rest length": (lambda s: s.add_distance_constraints([[0, 1]], 0.0, -0.1), "rest_length"),
    "pin out of range": (lambda s: s.pin([9]), "0 to 8"),
    "pin of floats": (lambda s: s.pin([1.0]), "integers"),
}


@pytest.mark.parametrize(("act", "words"), SCENE_ERRORS.values(), ids=SCENE_ERRORS.keys())
def test_scene_refuses(act: Callable[[Scene], object], words: str) -> None:
    """Guards the checks of a scene, and that each comes before anything is changed."""
    scene = small_scene()
    before = snapshot(scene)
    with pytest.raises(ValueError, match=words):
        act(scene)
    assert snapshot(scene) == before


@pytest.mark.parametrize("velocity", [NAN, INF])
def test_particles_with_bad_velocities_leave_the_scene_alone(velocity: float) -> None:
    """Guards the order in `add_particles`: a refused velocity must not leave particles without one."""
    scene = small_scene()
    before = snapshot(scene)
    with pytest.raises(ValueError, match="velocities"):
        scene.add_particles([[0.0, 1.0, 0.0]], 1.0, velocity)
    assert snapshot(scene) == before


UNNAMED = "the message is NumPy's (operands could not be broadcast) and does not name the argument"


@pytest.mark.parametrize(
    ("act", "words"),
    [
        (lambda s: s.add_particles(np.zeros((2, 3)), [1.0, 1.0, 1.0]), "mass"),
        (lambda s: s.add_particles(np.zeros((2, 3)), 1.0, np.zeros((3, 3))), "velocities"),
        (lambda s: s.add_distance_constraints([[0, 1]], [0.0, 0.0]), "compliance"),
        (lambda s: s.add_distance_constraints([[0, 1]], 0.0, [0.1, 0.1]), "rest_length"),
    ],
)
def test_scene_names_what_has_another_count(act: Callable[[Scene], object], words: str) -> None:
    """Guards the message: it must say which argument has the wrong shape."""
    with pytest.raises(ValueError, match=words):
        act(small_scene())


def test_scene_refuses_what_is_no_collider() -> None:
    scene = small_scene()
    before = snapshot(scene)
    with pytest.raises(TypeError, match="collider"):
        scene.add_collider("floor")  # type: ignore[arg-type]
    assert snapshot(scene) == before


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: ClothMaterial(density=0.0), "density"),
        (lambda: ClothMaterial(density=NAN), "density"),
        (lambda: ClothMaterial(stretch_compliance=-1e-6), "stretch_compliance"),
        (lambda: ClothMaterial(shear_compliance=INF), "shear_compliance"),
        (lambda: ClothMaterial(bend_compliance=-1.0), "bend_compliance"),
        (lambda: Plane((0.0, 0.0, 0.0)), "normal"),
        (lambda: Plane((0.0, NAN, 0.0)), "normal"),
        (lambda: Plane(offset=INF), "offset"),
        (lambda: Plane(friction=-0.1), "friction"),
        (lambda: Sphere((0.0, 0.0, 0.0), 0.0), "radius"),
        (lambda: Sphere((0.0, NAN, 0.0), 1.0), "center"),
        (lambda: Sphere((0.0, 0.0, 0.0), 1.0, friction=-0.5), "friction"),
        (lambda: Scene(gravity=(0.0, NAN, 0.0)), "gravity"),
        (lambda: Scene(gravity=(0.0, -9.81)), "gravity"),
        (lambda: Scene(contact_radius=-1.0), "contact_radius"),
        (lambda: Scene(contact_radius=NAN), "contact_radius"),
        (lambda: Scene(grip_count=-1), "grip_count"),
        (lambda: Model(Scene()), "no particles"),
        (lambda: Model(small_scene(), num_envs=0), "num_envs"),
        (lambda: Model(small_scene(), order="random"), "order"),  # type: ignore[arg-type]
        (lambda: Model(small_scene(), dtype="float16"), "dtype"),  # type: ignore[arg-type]
        (lambda: Model(small_scene(), lanes=2), "lanes"),
        (lambda: Model(small_scene(), lanes=0), "lanes"),
        (lambda: Solver(Model(small_scene()), substeps=0), "substeps"),
        (lambda: Solver(Model(small_scene()), iterations=0), "iterations"),
        (lambda: Solver(Model(small_scene()), damping=-1.0), "damping"),
        (lambda: Solver(Model(small_scene()), damping=NAN), "damping"),
    ],
)
def test_constructors_refuse(make: Callable[[], object], words: str) -> None:
    """Guards the checks of everything that is made once, and that the message names what is wrong."""
    with pytest.raises(ValueError, match=words):
        make()


@pytest.mark.parametrize("lanes", [1, 16])
def test_too_many_environments_for_the_memory(lanes: int) -> None:
    """Guards the check of the memory: it comes before any array is made, and says what is needed and what is free."""
    with pytest.raises(MemoryError, match=r"needs .* GiB but .* GiB are free"):
        Solver(Model(small_scene(), num_envs=10**9, lanes=lanes)).state()


def test_colliders_come_before_the_model() -> None:
    """Guards against an obstacle that is drawn, and that nothing collides with."""
    scene = Scene()
    scene.add_particles([(0.0, 1.0, 0.0)], 1.0)
    solver = Solver(Model(scene))
    state, control = solver.state(), solver.control()
    scene.add_collider(Plane())
    with pytest.raises(ValueError, match=r"before Model\(scene\)"):
        solver.step(state, control, 0.1)
    assert state.get_positions()[0, 0, 1] == 1.0

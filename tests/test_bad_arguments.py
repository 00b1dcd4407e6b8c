"""What users hand to public constructors and methods: bad values of every argument give one error that names it."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from pbd_gym.colliders import Box, Capsule, Cylinder, Plane, Sphere
from pbd_gym.envs.cloth.carry import ClothVectorEnv
from pbd_gym.geometry.tetmeshes import box
from pbd_gym.geometry.trimeshes import trimesh
from pbd_gym.materials.fabrics import Cord, Fabric
from pbd_gym.materials.materials import ClothMaterial, Plasticity, RopeMaterial, ShapeMaterial, SoftMaterial
from pbd_gym.rendering.camera import Camera
from pbd_gym.scene.scene import Scene
from pbd_gym.sim.model import Model
from pbd_gym.sim.solver import Solver
from tests.envs.helpers import SMALL, assert_same, make_vec

SCALARS: list[Any] = ["1", "x", [1.0, 2.0], {}, object(), 1j, float("nan"), 1e300]
"""Of no use for any number."""
FACTORS = [value for value in SCALARS if value != [1.0, 2.0]]
"""Of no use for a number that each environment has: two of them have two."""
COUNTS: list[Any] = ["1", [1], 1.5, None, True, 0, -1, 2**31, 2**32 + 3]
"""Of no use for any count."""
ARRAYS: list[Any] = ["abc", ["1", "2", "3"], [1.0, None, 3.0], [[1.0], [1.0, 2.0]], 1e300, float("nan"), {}]
"""Of no use for any point."""
POINTS = [[0.0, 0.0, 0.0], [0.0, 0.1, 0.0], [0.0, 0.2, 0.0]]
CUBE = box((1, 1, 1), (0.1, 0.1, 0.1))
TRIANGLE = trimesh([[0, 0, 0], [1, 0, 0], [0, 0, 1]], [[0, 1, 2]])
FABRIC = {"density": 0.1, "young_modulus": 1e6, "thickness": 1e-3}


def scene() -> Scene:
    made = Scene(grip_count=1)
    made.add_cloth(3, 3, lines=False)
    made.add_collider(Plane(), moving=True)
    return made


def solver() -> Solver:
    return Solver(Model(scene(), num_envs=2, lanes=4))


def keep(*names: str) -> Callable[[Any], dict[str, Any]]:
    """Return what reads the numbers that a refusal must leave alone."""
    return lambda thing: {name: np.array(getattr(thing, name)) for name in names}


CONSTRUCTORS: dict[str, tuple[Callable[..., Any], dict[str, list[Any]]]] = {
    "Scene": (Scene, {"gravity": ARRAYS, "contact_radius": SCALARS, "grip_count": [*COUNTS[:5], -1, 2**32 + 3]}),
    "Model": (lambda **k: Model(scene(), **k), {"num_envs": COUNTS, "threads": COUNTS, "lanes": ["4", [4], 4.0, 0, 5]}),
    "Solver": (
        lambda **k: Solver(Model(scene()), **k),
        {
            "substeps": [value for value in COUNTS if value is not None],
            "iterations": COUNTS,
            "threads": [value for value in COUNTS if value is not None],
            "damping": [*SCALARS, -1.0],
            "max_speed": ["1", [1.0], float("nan"), 0.0],
            "relaxation": ["1", [1.0], None, float("nan"), 0.0],
            "chebyshev": ["0.5", [0.5], None, float("nan"), 1.0],
        },
    ),
    "Plane": (Plane, {"normal": [*ARRAYS, (0, 0, 0)], "offset": SCALARS, "friction": SCALARS, "restitution": [2, "1"]}),
    "Sphere": (
        lambda **k: Sphere(**{"center": (0, 0, 0), "radius": 1.0, **k}),
        {"center": ARRAYS, "radius": [*SCALARS, 0.0], "friction": [*SCALARS, -1.0], "static_friction": SCALARS},
    ),
    "Box": (
        lambda **k: Box(**{"center": (0, 0, 0), "half_extents": (1, 1, 1), **k}),
        {"center": ARRAYS, "surface_velocity": [*ARRAYS, (0.5, 0.0)]},
    ),
    "Capsule": (
        lambda **k: Capsule(**{"start": (0, 0, 0), "end": (0, 1, 0), "radius": 0.1, **k}),
        {"start": ARRAYS, "end": ARRAYS, "radius": SCALARS},
    ),
    "Cylinder": (
        lambda **k: Cylinder(**{"start": (0, 0, 0), "end": (0, 1, 0), "radius": 0.1, **k}),
        {"start": ARRAYS, "end": ARRAYS, "radius": SCALARS},
    ),
    "ClothMaterial": (
        ClothMaterial,
        {
            "density": [*SCALARS, 0.0],
            "stretch_compliance": SCALARS,
            "bend_compliance": SCALARS,
            "bending": ["x", 3],
            "thickness": [*SCALARS, 0.0],
        },
    ),
    "RopeMaterial": (RopeMaterial, {"density": [*SCALARS, 0], "stretch_compliance": SCALARS}),
    "SoftMaterial": (
        SoftMaterial,
        {"density": SCALARS, "young_modulus": SCALARS, "poisson_ratio": SCALARS, "plasticity": [3, "clay"]},
    ),
    "ShapeMaterial": (ShapeMaterial, {"density": SCALARS, "compliance": [*SCALARS, -1.0], "damping_time": SCALARS}),
    "Plasticity": (Plasticity, {"yield_strain": SCALARS, "creep_rate": SCALARS, "max_strain": [*SCALARS, 1.0]}),
    "Fabric": (lambda **k: Fabric(**{**FABRIC, **k}), {"density": SCALARS, "poisson_ratio": SCALARS, "thickness": [0]}),
    "Cord": (lambda **k: Cord(**{"density": 1.0, "young_modulus": 1.0, "radius": 1.0, **k}), {"radius": SCALARS}),
    "Camera": (Camera, {"target": ARRAYS, "distance": SCALARS, "yaw": SCALARS, "pitch": SCALARS, "fov": SCALARS}),
    "environment": (
        lambda **k: ClothVectorEnv(**{**SMALL, **k}),
        {
            "num_envs": COUNTS,
            "max_episode_steps": [value for value in COUNTS if value not in (None, -1)],
            "threads": [value for value in COUNTS if value is not None],
            "substeps": [value for value in COUNTS if value is not None],
            "rows": COUNTS,
            "goal_steps": COUNTS,
            "side": SCALARS,
            "friction": SCALARS,
            "density": SCALARS,
            "goal_shift": ["abc", 3, (1.0, 2.0), (1.0, 2.0, "3"), None],
            "self_collision": ["no", 1, None],
            "settle_time": [1e30],
            "hand": ["no", 1],
            "wrenches": ["no", 1, None],
            "randomize": [3, "size", {"size": (1,)}, {"size": 1}, {"size": ("1", "2")}, {"size": (1, 2, 3)}],
            "pixels": [3, "rgb"],
            "render_options": [3, "fast", {"size": "big"}, {"size": 2**40}, {"size": (64, 1.5)}, {"shadows": "no"}],
        },
    ),
    "pixels": (
        lambda **k: ClothVectorEnv(**SMALL, obs_mode="rgb", pixels=k),
        {"size": ["64", 64.5, 0, 2**32, (1, 2, 3)], "far": SCALARS, "zoom": [*SCALARS, 1.0], "cameras": ["x", 3]},
    ),
}
CASES = [(kind, name) for kind, (_, arguments) in CONSTRUCTORS.items() for name in arguments]


@pytest.mark.parametrize(("kind", "name"), CASES)
def test_constructors(kind: str, name: str) -> None:
    """Guards everything that is made once: what is wrong is named, whatever it is."""
    make, arguments = CONSTRUCTORS[kind]
    words = {
        "rows": "rows|particles",
        "half_extents": "half extents",
        "render_options": "render_options|size|shadows",
    }.get(name, name)
    for value in arguments[name]:
        with pytest.raises((TypeError, ValueError), match=words):
            pytest.fail(f"{kind}({name}={value!r}) gives {make(**{name: value})!r}")


METHODS: dict[str, tuple[Callable[[Scene, Any], Any], list[Any], str]] = {
    "material of a cloth": (
        lambda s, v: s.add_cloth(3, 3, material=v, lines=False),
        [3, 0, "silk", RopeMaterial()],
        "material",
    ),
    "material of a rope": (
        lambda s, v: s.add_rope(POINTS, v, lines=False),
        [3, 0, "hemp", ClothMaterial()],
        "material",
    ),
    "material of a garment": (
        lambda s, v: s.add_garment(TRIANGLE, v, lines=False),
        [3, 0, "silk", SoftMaterial()],
        "material",
    ),
    "material of a solid": (lambda s, v: s.add_soft_body(CUBE, v), [3, 0, "rubber", ShapeMaterial()], "material"),
    "material of shapes": (lambda s, v: s.add_shape_matching(CUBE, v), [3, 0, "rubber", SoftMaterial()], "material"),
    "mesh of a garment": (lambda s, v: s.add_garment(v, lines=False), [3, None, "shirt.obj", CUBE, POINTS], "mesh"),
    "mesh of a solid": (lambda s, v: s.add_soft_body(v), [3, None, "bunny.obj", TRIANGLE, POINTS], "mesh"),
    "points of a body": (lambda s, v: s.add_shape_matching(v, mass=1.0), [3, None, "x", TRIANGLE], "body"),
    "rows": (lambda s, v: s.add_cloth(v, 3, lines=False), COUNTS, "rows|particles"),
    "columns": (lambda s, v: s.add_cloth(3, v, lines=False), COUNTS, "columns|particles"),
    "rows and columns": (lambda s, v: s.add_cloth(v, v, lines=False), [2**16], "columns"),
    "size": (
        lambda s, v: s.add_cloth(3, 3, size=v, lines=False),
        [1.0, "ab", (1.0, "1"), None, (1, 2, 3), (1, 1e300)],
        "size",
    ),
    "place": (lambda s, v: s.add_cloth(3, 3, position=v, lines=False), ARRAYS, "position"),
    "turn": (lambda s, v: s.add_cloth(3, 3, rotation=v, lines=False), ARRAYS, "rotation"),
    "points": (lambda s, v: s.add_rope(v, lines=False), ARRAYS, "points"),
    "positions": (lambda s, v: s.add_particles(v, 1.0), [*ARRAYS, [[1e30, 0, 0]]], "positions"),
    "mass": (lambda s, v: s.add_particles(POINTS, v), [*SCALARS, 0.0, 1e-40], "mass"),
    "velocities": (lambda s, v: s.add_particles(POINTS, 1.0, v), [*SCALARS, 1e30], "velocities"),
    "dimension": (lambda s, v: s.add_particles(POINTS, 1.0, dimension=v), ["1", 1.0, None, -1, 4], "dimension"),
    "compliance": (lambda s, v: s.add_distance_constraints([[0, 1]], v), [*SCALARS, -1.0], "compliance"),
    "rest length": (lambda s, v: s.add_distance_constraints([[0, 1]], 0.0, v), SCALARS, "rest_length"),
    "damping time": (lambda s, v: s.add_constraints("distance", [[0, 1]], v), SCALARS, "damping_time"),
    "label": (lambda s, v: s.add_distance_constraints([[0, 1]], label=v), [3, ["a"], b"a"], "label"),
    "indices": (lambda s, v: s.add_distance_constraints(v), ["ab", [[0, "1"]], [[0], [1, 2]], [[0, 2**40]]], "indices"),
    "pins": (lambda s, v: s.pin(v), ["0", [None], [2**40], [True]], "indices"),
    "radius": (lambda s, v: s.add_particle_contacts([0, 1], v), [*SCALARS, 0.0], "radius"),
    "friction": (lambda s, v: s.add_particle_contacts([0, 1], 0.1, v), [*SCALARS, -1.0, 1e9], "friction"),
    "slack": (lambda s, v: s.add_tethers([0], slack=v), [*SCALARS, -1.0], "slack"),
    "collider": (lambda s, v: s.add_collider(v), [3, None, "floor", CUBE], "collider"),
    "moving": (lambda s, v: s.add_collider(Plane(), v), ["no", 1, None], "moving"),
}


@pytest.mark.parametrize("name", METHODS)
def test_scene(name: str) -> None:
    """Guards the methods of a scene, which is as it was after an error."""
    act, values, words = METHODS[name]
    made = scene()
    look = keep("positions", "velocities", "inv_mass", "mass", "triangles", "lines", "colliders", "labels")
    before = look(made) | {"constraints": np.array(sum(len(b.labels) for b in made.constraints.values()))}
    for value in values:
        with pytest.raises((TypeError, ValueError), match=words):
            pytest.fail(f"{name}: {value!r} gives {act(made, value)!r}")
        after = look(made) | {"constraints": np.array(sum(len(b.labels) for b in made.constraints.values()))}
        assert after.keys() == before.keys() and all(np.array_equal(after[k], before[k]) for k in before), value


RUNNING: dict[str, tuple[Callable[[Any, Any, Any], Any], list[Any], str]] = {
    "set_positions": (lambda s, c, v: s.set_positions(v), [*ARRAYS, 1e30], "positions"),
    "set_velocities": (lambda s, c, v: s.set_velocities(v), [*ARRAYS, 1e30], "velocities"),
    "set_memory": (lambda s, c, v: s.set_memory(v), ["a", None, [[1.0, 2.0]]], "memory"),
    "origin": (lambda s, c, v: s.set_pose(0, v), [*ARRAYS, 1e30], "origin"),
    "orientation": (lambda s, c, v: s.set_pose(0, None, v), [*ARRAYS, [0, 0, 0, 0]], "orientation"),
    "collider": (lambda s, c, v: s.set_pose(v), ["0", 0.0, [0], None, -1, 1], "collider"),
    "gravity": (lambda s, c, v: s.set_parameters(gravity=v), [*ARRAYS, 1e30], "gravity"),
    "size": (lambda s, c, v: s.set_parameters(size=v), [*FACTORS, 0.0], "size"),
    "stiffness": (lambda s, c, v: s.set_parameters(stiffness={"stretch": v}), [*FACTORS, 0.0], "stiffness"),
    "hold": (lambda s, c, v: s.hold(v), ["0", None, [[0.0]], [[True]], [[2**40]], [[0], [0, 1]]], "held"),
    "set_pinned": (lambda s, c, v: s.set_pinned(v), ["0", 1, [1.0], [[True], [True, False]]], "pinned"),
    "load": (lambda s, c, v: s.load(v), [None, 3, [], "x"], "saved state"),
    "motion": (lambda s, c, v: c.move(v), [*ARRAYS, 1e30], "motion"),
    "displacement": (lambda s, c, v: c.move_collider(0, v), [*ARRAYS, 1e30], "displacement"),
    "rotation": (lambda s, c, v: c.move_collider(0, 0.0, v), [*ARRAYS, 1e30], "rotation"),
}


@pytest.mark.parametrize("name", RUNNING)
def test_state_and_control(name: str) -> None:
    """Guards what is changed while a batch runs: after an error it is as it was, bit for bit."""
    act, values, words = RUNNING[name]
    made = solver()
    state, control = made.state(), made.control()
    before = {**state.save(), "motion": control.motion.numpy().copy()}
    for value in values:
        with pytest.raises((TypeError, ValueError), match=words):
            pytest.fail(f"{name}: {value!r} gives {act(state, control, value)!r}")
        assert_same({**state.save(), "motion": control.motion.numpy()}, before)


@pytest.mark.parametrize("ctrl_dt", ["0.1", None, [0.1], True, 1e-300, 1e300])
def test_time_step(ctrl_dt: Any) -> None:
    made = solver()
    with pytest.raises((TypeError, ValueError), match="ctrl_dt"):
        made.step(made.state(), made.control(), ctrl_dt)


@pytest.mark.parametrize("what", [3, None, "scene"])
def test_models_of_something_else(what: Any) -> None:
    for make, words in ((Model, "scene"), (Solver, "model")):
        with pytest.raises(TypeError, match=words):
            make(what)


@pytest.mark.parametrize("seed", [1.5, "1", [1.9, 2], ["1", "2"], [True, False], True, (1, 2.0), 2**200, {}])
def test_seeds(seed: Any) -> None:
    """Guards random streams: 1.9 is no seed, and not the same as 1."""
    env = make_vec(2)
    env.reset(seed=0)
    before = env.get_state()
    with pytest.raises((TypeError, ValueError), match="seed"):
        env.reset(seed=seed)
    assert_same(env.get_state(), before)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ([1], "options"),
        ("split", "options"),
        ({"parameters": 3}, "parameters"),
        ({"parameters": {"size": "1"}}, "size"),
        ({"variation": "0"}, "variation"),
        ({"variation": [0, 0.5]}, "variation"),
        ({"variation": 2**40}, "variation"),
        ({"split": ["train"]}, "split"),
    ],
)
def test_reset_options(options: Any, words: str) -> None:
    env = make_vec(2, randomize={"size": (0.9, 1.1)})
    env.reset(seed=0)
    before = env.get_state()
    with pytest.raises((TypeError, ValueError), match=words):
        env.reset(options=options)
    assert_same(env.get_state(), before)

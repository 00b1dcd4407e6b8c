"""Every kernel compiles for CUDA without a GPU, through the NVRTC that Warp brings along."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import warp as wp

from pbd_gym.colliders import SHAPES, grid, plane, sphere
from pbd_gym.constraints import KINDS
from pbd_gym.kernels.contacts import passages
from pbd_gym.kernels.data import parameters as parameter_columns
from pbd_gym.kernels.data.colliders import Part, table_type
from pbd_gym.kernels.data.options import FluidOptions, SweepOptions
from pbd_gym.kernels.grips import holding, slipping
from pbd_gym.kernels.lanes.rotation import make_rotate
from pbd_gym.kernels.lanes.wide import wide
from pbd_gym.kernels.native import MODULE_OPTIONS
from pbd_gym.kernels.step import make_step
from pbd_gym.rendering.batched import backdrops
from pbd_gym.rendering.batched.pixels import Images, make_draw
from tests import tiers
from tests.kernels.cuda import check_compiles

ARCHITECTURES = {1: 80, 4: 90}
"""A100, and H100 or H200: which of them code of so many lanes is compiled for. All of it is C++ for either."""
SCALARS = (wp.float32, wp.float64)
PLAIN = SweepOptions(compensated=True)
SWEEPING = SweepOptions(
    keep_lambda=True, damped=tuple(kind.name for kind in KINDS), symmetric=True, chebyshev=True, shared=64, varied=True
)
FULL = replace(SWEEPING, particle_contacts=True, surfaces=True, anchors=12, waits=True)
JACOBI = SweepOptions(keep_lambda=True, jacobi=True, grip_forces=True, forces=True, wind=True)
GATHERING = replace(JACOBI, particle_contacts=True, bouncy=True, anchors=12, rigid=True, leans=True)
FLUID = SweepOptions(
    fluid=FluidOptions(1, boundary=True, cohesion=True, vorticity=True, flow=True),
    varied=True,
    rigid=True,
    wrenches=True,
)
# The compiler's time grows faster than the kernel, so kinds are compiled a few at a time: four kernels of five take 10
# seconds where one of nineteen takes 70. For the same reason, contacts and tethers, which know nothing of kinds, are
# compiled without any. Between them the variants have each kind with each of the ways to sweep, with one lane and four,
# and in both precisions, but not all of these with one another; ``tests/bench/machine_code.py`` has plain sweeps in
# float32. Of what knows nothing of kinds, FULL has both lane counts and precisions here and as binaries; GATHERING is
# its contacts and tethers with the corrections of JACOBI, and the rigid bodies of FLUID.
PARTS_OF_KINDS = [KINDS[k::4] for k in range(4)]
VARIANTS = [
    (4, wp.float64, GATHERING, ()),
    (1, wp.float64, FULL, ()),
    (4, wp.float32, FULL, ()),
    *((1, wp.float64, PLAIN, some) for some in PARTS_OF_KINDS),
    *((1, wp.float32, JACOBI, some) for some in PARTS_OF_KINDS),
    *((4, wp.float32, SWEEPING, some) for some in PARTS_OF_KINDS),
]


def layout_kernels() -> ModuleType:
    """Give the generic kernels of `layout` the types that states have; without them there is nothing to compile."""
    for scalar in SCALARS:
        weights: dict[str, Any] = {
            "free_inv_mass": wp.array(dtype=scalar, ndim=3),
            "inv_mass": wp.array(dtype=scalar, ndim=3),
            "velocities": wp.array(dtype=scalar, ndim=4),
        }
        wp.overload(holding.hold, weights)
    return holding


def slipping_kernels() -> ModuleType:
    """Do the same for `slipping`."""
    for scalar in SCALARS:
        weights, moves = wp.array(dtype=scalar, ndim=3), wp.array(dtype=scalar, ndim=4)
        given = {"limits": wp.array(dtype=scalar, ndim=1), "forces": weights, "free_inv_mass": weights}
        wp.overload(slipping.slip, {**given, "inv_mass": weights, "velocities": moves})
    return slipping


def passages_kernels() -> ModuleType:
    """Do the same for `passages`."""
    for scalar in SCALARS:
        places = {name: wp.array(dtype=scalar, ndim=4) for name in ("positions", "started")}
        for kernel in (passages.note_start, passages.find_boxes, passages.count_particles, passages.count_segments):
            wp.overload(kernel, places)
    return passages


def parameters_kernels() -> ModuleType:
    """Do the same for `parameters`."""
    for scalar in SCALARS:
        lanes = wp.array(dtype=scalar, ndim=3)
        base = {"base_inv_mass": wp.array(dtype=scalar, ndim=1)}
        wp.overload(
            parameter_columns.update_inv_mass, {**base, "rows": lanes, "free_inv_mass": lanes, "inv_mass": lanes}
        )
    return parameter_columns


MODULES: list[Callable[[], ModuleType]] = [
    layout_kernels,
    slipping_kernels,
    passages_kernels,
    lambda: grid,
    parameters_kernels,
    lambda: backdrops,
]
"""Modules with kernels besides the step: a function each that returns the module (`lambda: module` if not generic)."""


@pytest.mark.parametrize(("lanes", "scalar", "options", "kinds"), VARIANTS)
def test_step_compiles(lanes: int, scalar: Any, options: SweepOptions, kinds: Any, tmp_path: Path) -> None:
    """Guards what only CUDA compiles: barriers, native snippets, and C++ that NVRTC is stricter about than Clang."""
    kernel = make_step(lanes, scalar, options, kinds)
    check_compiles(kernel.module, tmp_path, ["step"], ARCHITECTURES[lanes])


def test_binaries_of_the_step(tmp_path: Path) -> None:
    """Guards what the assembler refuses, such as too much shared memory, with every option.

    For an A100, which has less of it than an H100: ``tests/bench/test_machine_code.py`` has binaries for both.
    """
    architecture = ARCHITECTURES[1]
    module = make_step(1, wp.float32, FULL, ()).module
    with tiers.for_cuda(module):
        wp.compile_aot_module(module, device=None, arch=[architecture], use_ptx=False, module_dir=str(tmp_path))
    (path,) = tmp_path.glob(f"*.sm{architecture}.cubin")
    content = path.read_bytes()
    assert content[:4] == b"\x7fELF"
    assert b"step" in content


@pytest.mark.parametrize("parts", [(Part(sphere, True, True), Part(sphere, False)), (Part(plane, True),)], ids=len)
def test_contacts_compile(parts: Any, tmp_path: Path) -> None:
    """Guards the contact loop, at rest and moved, restitution, a belt, and lines over curved shapes and balls."""
    curved = any(part.shape.SWEPT for part in parts)
    options = SweepOptions(supports=curved, leans=curved, particle_contacts=curved, bouncy=curved)
    lines = tuple(kind for kind in KINDS if kind.chain)
    check_compiles(make_step(1, wp.float32, options, lines, parts, True).module, tmp_path, ["step"], 90)


def test_fluids_compile(tmp_path: Path) -> None:
    """Guards the phases of fluids and rigid bodies, beside a collider that moves and has a belt.

    It is a plane, since spheres, which are swept, take the compiler twice as long.
    """
    kernel = make_step(1, wp.float32, FLUID, (), (Part(plane, True, True),))
    check_compiles(kernel.module, tmp_path, ["step"], 90)


@pytest.mark.parametrize("lanes", [1, 4])
@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.__name__.rsplit(".")[-1])
def test_distances_compile(shape: Any, lanes: int, tmp_path: Path) -> None:
    """Guards what each shape brings to it."""
    numbers = wide(lanes, wp.float64)
    table, vec = table_type(numbers.scalar), numbers.vec
    distance, normal = shape.make_distance(numbers)

    @wp.kernel(module="unique", module_options=MODULE_OPTIONS, enable_backward=False)
    def measure(colliders: table, points: wp.array2d[vec], found: wp.array2d[vec]):
        i = wp.tid()
        found[i, 0] = distance(colliders, i, points[i, 0], points[i, 1], points[i, 2])
        nx, ny, nz = normal(colliders, i, points[i, 0], points[i, 1], points[i, 2])
        found[i, 1] = nx
        found[i, 2] = ny
        found[i, 3] = nz

    check_compiles(measure.module, tmp_path, ["measure"], ARCHITECTURES[lanes])


@pytest.mark.parametrize("prepare", MODULES, ids=lambda prepare: prepare.__name__)
def test_module_compiles(prepare: Callable[[], ModuleType], tmp_path: Path) -> None:
    """Guards the other kernels likewise."""
    module = wp.get_module(prepare().__name__)
    assert module.kernels
    check_compiles(module, tmp_path, list(module.kernels), 80)


@pytest.mark.parametrize("lanes", [1, 4])
def test_rotations_compile(lanes: int, tmp_path: Path) -> None:
    """Guards what `pbd-gym bench rotations` runs."""
    check_compiles(make_rotate(wide(lanes, wp.float32)).module, tmp_path, ["rotate"], ARCHITECTURES[lanes])


@pytest.mark.parametrize("images", [(True, False, False), (False, True, False), (True, True, True, True)])
def test_pictures_compile(images: tuple[bool, ...], tmp_path: Path) -> None:
    """Guards the rasteriser, whose threads own tiles on a GPU."""
    check_compiles(make_draw(Images(*images)).module, tmp_path, ["draw"], 90)


@pytest.mark.parametrize(("kinds", "shapes"), [(KINDS[:1] * 3, ()), (KINDS[:1], SHAPES[:1] * 3)])
def test_three_kinds_can_be_chained(kinds: tuple[Any, ...], shapes: tuple[Any, ...], tmp_path: Path) -> None:
    """Guards the promise that a kind or shape is added by naming it: three in a row must compile."""
    kernel = make_step(1, wp.float32, PLAIN, kinds, tuple(Part(shape, False) for shape in shapes))
    check_compiles(kernel.module, tmp_path, ["step"], 90)

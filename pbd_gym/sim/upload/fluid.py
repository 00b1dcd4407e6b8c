"""Upload of fluids: the table that kernels read, and the scratch memory of a batch."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import warp as wp

from pbd_gym.kernels.data.fluid import CHUNK, PLANE, PLANES, scratch_type
from pbd_gym.kernels.data.options import FluidOptions
from pbd_gym.runtime.checks import INT32_MAX
from pbd_gym.runtime.devices import free_memory
from pbd_gym.scene.base import BaseScene
from pbd_gym.scene.fluids import Fluid
from pbd_gym.scene.wet_bodies import wet_rows, wet_solids, yielding
from pbd_gym.sim.upload.arrays import fill

# Cohesion of two neighbours at a distance of q support radii; the largest is 1.
_q = (np.arange(20000) + 0.5) / 20000
_bump = 64.0 * (1.0 - _q) ** 3 * _q**3
_pull = np.where(_q > 0.5, _bump, 2.0 * _bump - 1.0)
# Surface energy per squared density of particles, for a largest force of 1 and a support radius of 1, by dimension: see
# :func:`cohesion`.
_COST = {2: float((_pull * _q**3).mean()) / 3.0, 3: np.pi / 8.0 * float((_pull * _q**4).mean())}


def cohesion(fluid: Fluid) -> float:
    """Return the largest acceleration between two neighbours [m/s^2], for the surface tension of a fluid.

    A surface cuts the pairs across it: it costs ``pi / 8 n^2 int F(r) r^4 dr`` per area, for a force F between two of n
    particles per volume (Kirkwood, Buff 1949, doi:10.1063/1.1747248, for even densities). In a plane a line costs ``1 /
    3 n^2 int F(r) r^3 dr`` per length: parting two halves takes twice that, the sum over pairs of their potential.
    """
    dimension, support = fluid.dimension, fluid.smoothing.support
    across = _COST[dimension] * fluid.material.density * support ** (dimension + 2) / fluid.spacing**dimension
    return fluid.material.surface_tension / across


def softness(fluid: Fluid) -> float:
    """Return the term added to the squared gradient of a density [1/m^2].

    It is never 0, since a lone particle has no gradient to divide by.
    """
    return max(fluid.material.regularization, 1e-6) * fluid.smoothing.rest_gradient


FALL = 0.03
"""Fall in a substep, h^2 g in spacings, from which a fluid boils around solids: 5.5 ms for a spacing of 1 cm."""


def longest_substep(scene: BaseScene) -> float:
    """Return the substep [s] up to which rigid bodies in a fluid float as deep as they are heavy; inf without any."""
    if scene.fluid is None or not np.any(scene.gravity) or not wet_rows(scene):
        return float("inf")
    return float(np.sqrt(FALL * scene.fluid.spacing / np.linalg.norm(scene.gravity)))


def fluid_options(fluid: Fluid, in_blocks: bool) -> FluidOptions:
    """Return the compile-time options of a kernel.

    Args:
        fluid: fluid of the scene.
        in_blocks: whether a block of threads serves a group.
    """
    return FluidOptions(
        width=1 if in_blocks else CHUNK,
        boundary=len(fluid.boundary) > 0,
        cohesion=fluid.material.surface_tension > 0.0,
        vorticity=fluid.material.vorticity > 0.0,
        flow=fluid.depot is not None,
    )


def fill_fluid(table: Any, scene: BaseScene, colliders: Any, device: Any, column: int, remembered: int) -> None:
    """Fill the table of a fluid.

    Args:
        table: see :func:`pbd_gym.kernels.data.fluid.table_type`.
        scene: scene of one environment, with a fluid.
        colliders: the table of all colliders.
        device: target device.
        column: first of the :data:`pbd_gym.kernels.data.fluid.COLUMNS` parameters of fluids.
        remembered: offset of the nozzles' memory.
    """
    fluid = scene.fluid
    assert fluid is not None
    material, smoothing = fluid.material, fluid.smoothing
    solids = wet_solids(scene)
    sites = [np.insert(one.sites, [3], [*one.direction, one.speed], axis=1) for one in fluid.emitters]
    fill(
        table,
        device,
        members=fluid.indices,
        boundary=fluid.boundary,
        volumes=solids.volumes,
        lightest=fluid.lightest,
        yielding=yielding(scene),
        solid=solids.number,
        solids=len(solids.bulk),
        bulk=solids.bulk,
        open=solids.around,
        depot=[] if fluid.depot is None else fluid.depot,
        sites=np.concatenate([np.zeros((0, 7)), *sites]),
        nozzles=np.repeat(np.arange(len(sites)), [len(part) for part in sites]),
        remembered=remembered,
        drains=np.reshape(fluid.drains, (-1, 6)),
        wall_terms=smoothing.wall_terms(),
        wall_moments=smoothing.wall_moments().ravel(),
        radius=0.5 * fluid.spacing,
        support=smoothing.support,
        amplitude=smoothing.amplitude,
        slope=smoothing.slope,
        softness=softness(fluid),
        clamp=material.clamp,
        xsph=material.xsph,
        vorticity=material.vorticity,
        thinning=2.0 * material.viscosity / (material.density * smoothing.spread),
        cohesion=cohesion(fluid),
        # Walls are considered from farther away than a particle can move in a substep.
        farthest=fluid.spacing,
        reach=smoothing.support + 0.5 * fluid.spacing,
        mass=fluid.particle_mass,
        dimension=fluid.dimension,
        column=column,
        sweeps=material.iterations,
        capacity=fluid.capacity,
        wet_capacity=fluid.wet_capacity,
        # Room for a heap eight times as long along each axis as it is, particles side by side; 4^3 to 32^3 cells.
        bits=int(np.clip(round(np.log2(max(4 * len(fluid.indices), 2)) / 3.0), 2, 5)),
    )
    # A copy of a struct writes to the memory of the original until it is a field of another.
    table.colliders = copy.copy(colliders)
    table.colliders.contact_radius = 0.5 * fluid.spacing
    surfaces = colliders.surfaces.numpy()
    surfaces[:, :2] *= material.wall_friction
    table.colliders.surfaces = wp.array(surfaces, dtype=colliders.surfaces.dtype, device=device)


def _check_lists(model: Any, entries: int) -> None:
    """Check the longest arrays in advance, since an allocation that fails may end the process.

    Args:
        model: model with a fluid.
        entries: number of entries in the neighbour lists of an environment.
    """
    fluid, free = model.scene.fluid, free_memory(model.device)
    slopes = wp.types.type_size_in_bytes(model.scalar) * len(fluid.indices) * fluid.capacity
    needed = model.group_count * (4 * entries + slopes)
    most = f"more than can be numbered ({INT32_MAX:,})" if entries > INT32_MAX else ""
    if free is not None and needed > free:
        most = f"{needed / 2**30:.1f} GiB, and {free / 2**30:.1f} GiB are free on {model.device}"
    if most:
        samples = f" and {fluid.wet_capacity:,} samples of other bodies" if len(fluid.boundary) else ""
        raise MemoryError(
            f"neighbours of {len(fluid.indices):,} fluid particles, up to {fluid.capacity:,}{samples} each, take "
            f"{most}: see Scene.set_fluid_capacity"
        )


def fluid_scratch(model: Any) -> Any:
    """Allocate the scratch memory of fluids; minimal without fluid.

    Raises:
        MemoryError: if lists of neighbours do not fit into the free memory, or are too long to be indexed.
    """
    scratch = scratch_type(model.scalar)()
    fluid, groups = model.scene.fluid, model.group_count
    if fluid is None:
        return scratch
    table = model.data.fluid
    n, b, capacity = len(fluid.indices), len(fluid.boundary), fluid.capacity
    scalar, cells = model.scalar, 2 ** (3 * table.bits)
    lists = (n + b) * capacity + (n * fluid.wet_capacity if b else 0)
    _check_lists(model, lists)
    scratch.rows = wp.zeros((groups, 3, 4 * (n + b + 2)), dtype=scalar)
    scratch.spots = wp.zeros((groups, 3, n + b + 4 * CHUNK), dtype=scalar)
    scratch.order = wp.zeros((groups, n + b), dtype=wp.int32)
    scratch.cells = wp.zeros((groups, n + b + 2 * (cells + 1)), dtype=wp.int32)
    scratch.near = wp.zeros((groups, lists), dtype=wp.int32)
    scratch.lengths = wp.zeros((groups, 3 * n + b), dtype=wp.int32)
    scratch.slopes = wp.zeros((groups, n * capacity), dtype=scalar)
    scratch.stress = wp.zeros((groups, 8 * (n + 1) if b else 0), dtype=scalar)
    solids = table.solids
    scratch.lift = wp.zeros((groups, 8 * b + 6 * solids if solids else 0), dtype=scalar)
    scratch.planes = wp.zeros((groups, n * PLANES * PLANE if model.parts else 0), dtype=scalar)
    scratch.mobility = wp.zeros((groups, n + b + 1), dtype=scalar)
    scratch.active = wp.zeros(groups, dtype=wp.int32)
    scratch.inside = wp.full((groups, n), 1, dtype=wp.int32)
    scratch.leaving = wp.zeros((groups, table.sites.shape[0]), dtype=wp.int32)
    scratch.overflow = wp.zeros((groups, 2), dtype=wp.int32)
    scratch.density = wp.zeros((groups, n), dtype=scalar)
    return scratch

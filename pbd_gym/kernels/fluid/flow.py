"""Fluid particles that come and go: emitters, drains, and the depot where inactive particles are parked.

An inactive particle is at exactly the place of the depot, so positions tell which particles are active.

Each place of a nozzle remembers the distance until its next particle: so the flow is right for every speed and step,
even with several particles per substep, each put where it would be had it left on time.
"""

import functools
from typing import Any, no_type_check

import warp as wp

from pbd_gym.kernels.data.colliders import Part
from pbd_gym.kernels.data.fluid import scratch_type
from pbd_gym.kernels.data.group import body_type, substep_type
from pbd_gym.kernels.data.options import SweepOptions
from pbd_gym.kernels.data.step import control_type
from pbd_gym.kernels.fluid.walls import make_stop_at_all
from pbd_gym.kernels.lanes.wide import Wide, barrier

NEAREST = 1.6
"""Distance, in radii, that a particle keeps from others when it comes out: where a jet slows down, the one before is
less than two away.
"""
EARLY = 1e-3
"""Tolerance for rounding, in spacings, by which a particle may be early; half of that for its offset."""


@functools.cache
def _make_ahead(wide: Wide, data: Any) -> Any:
    """Build the function for the point at some distance [m] in front of a nozzle's place.

    Args:
        wide: one lane, and the precision.
        data: the struct of the whole model.
    """
    scalar = wide.scalar

    @wp.func
    @no_type_check
    def ahead(model: data, site: int, axis: int, way: scalar):
        return model.fluid.sites[site, axis] + way * model.fluid.sites[site, axis + 3]

    return ahead


@functools.cache
def _make_count_leaving(wide: Wide, data: Any) -> Any:
    """Build the function for the number of particles that leave a place in a substep, if enough are parked.

    Args:
        wide: one lane, and the precision.
        data: the struct of the whole model.
    """
    scalar, body_, scratch_ = wide.scalar, body_type(wide.vec), scratch_type(wide.scalar)
    ahead = _make_ahead(wide, data)

    @wp.func
    @no_type_check
    def has_room(model: data, body: body_, fluid: scratch_, group: int, x: scalar, y: scalar, z: scalar):
        """Return whether no particle is near a place at the start of the substep."""
        least = scalar(NEAREST) * model.fluid.radius
        for n in range(model.fluid.members.shape[0]):
            if fluid.inside[group, n] > 0:
                i = model.fluid.members[n]
                dx = body.previous[i, 0][0] - x
                dy = body.previous[i, 1][0] - y
                dz = body.previous[i, 2][0] - z
                if dx * dx + dy * dy + dz * dz < least * least:
                    return False
        return True

    @wp.func
    @no_type_check
    def count_leaving(model: data, body: body_, fluid: scratch_, opening: scalar, group: int, site: int):
        """Return how many particles leave a nozzle's place in this substep, if enough are parked."""
        count = int(0)
        if opening > scalar(0.0):
            spacing = scalar(2.0) * model.fluid.radius
            way = -body.memory[model.fluid.remembered + site][0]
            while way >= -scalar(EARLY) * spacing and count < model.fluid.members.shape[0]:
                x = ahead(model, site, 0, way)
                y = ahead(model, site, 1, way)
                z = ahead(model, site, 2, way)
                if not has_room(model, body, fluid, group, x, y, z):
                    return count
                count += 1
                way -= spacing
        return count

    return count_leaving


@functools.cache
def _make_emit(wide: Wide, data: Any, parts: tuple[Part, ...], wait: Any) -> Any:
    """Build the function that releases parked particles.

    Args:
        wide: one lane, and the precision.
        data: the struct of the whole model.
        parts: colliders by shape and by whether they move.
        wait: function that puts a particle into the depot.
    """
    vec, scalar = wide.vec, wide.scalar
    body_, scratch_, control_ = body_type(vec), scratch_type(scalar), control_type(vec)
    substep_ = substep_type(vec)
    stop, ahead = make_stop_at_all(wide, parts), _make_ahead(wide, data)

    @wp.func
    @no_type_check
    def clear_of_new(model: data, body: body_, first: int, end: int, nozzle: int, fluid: scratch_, group: int, i: int):
        """Return whether particle i is clear of those that have just left other nozzles."""
        least = scalar(NEAREST) * model.fluid.radius
        for n in range(first, end):
            if fluid.inside[group, n] > 1 and fluid.inside[group, n] != 2 + nozzle:
                other = model.fluid.members[n]
                dx = body.previous[i, 0][0] - body.previous[other, 0][0]
                dy = body.previous[i, 1][0] - body.previous[other, 1][0]
                dz = body.previous[i, 2][0] - body.previous[other, 2][0]
                if dx * dx + dy * dy + dz * dz < least * least:
                    return False
        return True

    @wp.func
    @no_type_check
    def put(model: data, body: body_, i: int, site: int, way: scalar, step: scalar):
        """Put particle i at some distance [m] in front of a place, and a step [m] further.

        Return whether it can get there.
        """
        for axis in range(3):
            body.previous[i, axis] = vec(model.fluid.sites[site, axis])
            body.x[i, axis] = vec(ahead(model, site, axis, way))
        if wp.static(stop is not None):
            stop(model.fluid.colliders, body, i)
        there = True
        for axis in range(3):
            shift = body.x[i, axis][0] - ahead(model, site, axis, way)
            if wp.abs(shift) > scalar(EARLY) * model.fluid.radius:
                there = False
            body.previous[i, axis] = body.x[i, axis]
            body.x[i, axis] = vec(ahead(model, site, axis, way + step))
        return there

    @wp.func
    @no_type_check
    def emit(model: data, body: body_, fluid: scratch_, control: control_, now: substep_, group: int):
        """Release parked particles, each a spacing behind the one before it."""
        n = int(0)
        first = int(-1)
        count = model.fluid.members.shape[0]
        sites = model.fluid.sites.shape[0]
        spacing = scalar(2.0) * model.fluid.radius
        for site in range(sites):
            nozzle = model.fluid.nozzles[site]
            opening = control.emission[group, nozzle]
            if opening > scalar(0.0):
                step = now.h * opening * model.fluid.sites[site, 6]
                left = body.memory[model.fluid.remembered + site][0]
                for _ in range(fluid.leaving[group, site]):
                    while n < count and fluid.inside[group, n] > 0:
                        n += 1
                    if n == count:
                        break
                    i = model.fluid.members[n]
                    clear = put(model, body, i, site, wp.max(-left, scalar(0.0)), step)
                    if first < 0:
                        first = n
                    if model.fluid.nozzles[sites - 1] > 0:
                        if not clear_of_new(model, body, first, n, nozzle, fluid, group, i):
                            clear = False
                    if not clear:
                        wait(model, body, i)
                        break
                    fluid.inside[group, n] = 2 + nozzle
                    left += spacing
                if left > scalar(EARLY) * spacing:
                    left -= step
                else:  # there was no room, or none waits
                    left = scalar(0.0)
                body.memory[model.fluid.remembered + site] = vec(left)

    return emit


@functools.cache
def make_flow(wide: Wide, options: SweepOptions, data: Any, parts: tuple[Part, ...]) -> Any:
    """Build the function that records which particles are active, drains some, and releases others.

    It uses positions at the start of the substep, and corrects the predictions of particles that come and go.

    Args:
        wide: one lane, and the precision.
        options: options that the kernel is compiled for.
        data: the struct of the whole model.
        parts: colliders by shape and by whether they move.
    """
    assert options.fluid is not None
    vec, scalar = wide.vec, wide.scalar
    body_, scratch_, control_ = body_type(vec), scratch_type(scalar), control_type(vec)
    substep_ = substep_type(vec)
    has_flow, count_leaving = options.fluid.flow, _make_count_leaving(wide, data)

    @wp.func
    @no_type_check
    def waits(model: data, body: body_, i: int):
        """Return whether a particle is in the depot or in a drain."""
        found = True
        for axis in range(3):
            if body.previous[i, axis][0] != model.fluid.depot[axis]:
                found = False
        for k in range(model.fluid.drains.shape[0]):
            within = True
            for axis in range(3):
                place = body.previous[i, axis][0]
                if place < model.fluid.drains[k, axis] or place > model.fluid.drains[k, axis + 3]:
                    within = False
            if within:
                found = True
        return found

    @wp.func
    @no_type_check
    def wait(model: data, body: body_, i: int):
        """Put a particle into the depot."""
        for axis in range(3):
            body.previous[i, axis] = vec(model.fluid.depot[axis])
            body.x[i, axis] = body.previous[i, axis]

    emit = _make_emit(wide, data, parts, wait)

    @wp.func
    @no_type_check
    def flow(
        model: data, body: body_, fluid: scratch_, control: control_, now: substep_, group: int, thread: int,
        thread_count: int,
    ):  # fmt: skip
        if wp.static(has_flow):
            for n in range(thread, model.fluid.members.shape[0], thread_count):
                i = model.fluid.members[n]
                fluid.inside[group, n] = 1
                if waits(model, body, i):
                    fluid.inside[group, n] = 0
                    wait(model, body, i)
            barrier()
            for site in range(thread, model.fluid.sites.shape[0], thread_count):
                opening = control.emission[group, model.fluid.nozzles[site]]
                fluid.leaving[group, site] = count_leaving(model, body, fluid, opening, group, site)
            barrier()
            if thread == 0:
                emit(model, body, fluid, control, now, group)
            barrier()

    return flow

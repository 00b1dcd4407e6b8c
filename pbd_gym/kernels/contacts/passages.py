"""Passages: particles that went through triangles, and segments of ropes through one another, within a control step.

Contacts keep bodies apart and :mod:`pbd_gym.kernels.contacts.particles` counts the edges that are through a surface at
the end of a step. What is fast is beyond it by then. So the places before and after a step are compared: a particle and
a triangle, or two segments, go on straight lines in between, and are in one plane where a polynomial of the third
degree in time is zero. They pass if they meet there, an odd number of times in all: continuous collision detection,
Provot 1997 (Collision and self-collision handling in cloth model dedicated to design garments,
doi:10.1007/978-3-7091-6874-5_13).

These are kernels of their own, around those of a step. Bodies and pairs whose boxes, swept, do not meet are left out.
"""

from typing import Any, no_type_check

import warp as wp

wp.set_module_options({"enable_backward": False})

INTERVALS = wp.constant(4)
"""Number of intervals of a step, each searched for a change of sign. Two changes in one interval count as no passage.
"""
HALVINGS = wp.constant(30)
"""Number of bisections of an interval that locate the time of a change of sign."""


@wp.func
@no_type_check
def place(positions: wp.array4d[Any], slot: int, particle: int, lanes: int):
    """Return the place of a particle [m], in float64, since it is nearly cancelled by subtraction."""
    group = slot // lanes
    lane = slot % lanes
    return wp.vec3d(
        wp.float64(positions[group, particle, 0, lane]),
        wp.float64(positions[group, particle, 1, lane]),
        wp.float64(positions[group, particle, 2, lane]),
    )


@wp.func
@no_type_check
def apart(low: wp.vec3d, high: wp.vec3d, other_low: wp.vec3d, other_high: wp.vec3d):
    """Return whether two boxes do not meet; boxes that are not finite count as apart."""
    meets = bool(True)
    for axis in range(3):
        if not (low[axis] <= other_high[axis] and other_low[axis] <= high[axis]):
            meets = False
    return not meets


@wp.func
@no_type_check
def volume(t: wp.float64, u: wp.vec3d, du: wp.vec3d, v: wp.vec3d, dv: wp.vec3d, w: wp.vec3d, dw: wp.vec3d):
    """Return the volume between three vectors at a time, each of which changes at a constant rate."""
    return wp.dot(wp.cross(u + t * du, v + t * dv), w + t * dw)


@wp.func
@no_type_check
def time_of_change(k: int, u: wp.vec3d, du: wp.vec3d, v: wp.vec3d, dv: wp.vec3d, w: wp.vec3d, dw: wp.vec3d):
    """Return the time in interval k at which the volume changes sign, -1 if it does not."""
    early = wp.float64(k) / wp.float64(INTERVALS)
    late = wp.float64(k + 1) / wp.float64(INTERVALS)
    first = volume(early, u, du, v, dv, w, dw) > wp.float64(0.0)
    if first == (volume(late, u, du, v, dv, w, dw) > wp.float64(0.0)):
        return wp.float64(-1.0)
    for _halving in range(HALVINGS):
        middle = wp.float64(0.5) * (early + late)
        if (volume(middle, u, du, v, dv, w, dw) > wp.float64(0.0)) == first:
            early = middle
        else:
            late = middle
    return wp.float64(0.5) * (early + late)


@wp.func
@no_type_check
def in_triangle(p: wp.vec3d, u: wp.vec3d, v: wp.vec3d):
    """Return whether a point in the plane of the triangle of the origin, u and v lies inside it."""
    normal = wp.cross(u, v)
    area = wp.dot(normal, normal)
    a = wp.dot(wp.cross(p, v), normal)
    b = wp.dot(wp.cross(u, p), normal)
    return area > wp.float64(0.0) and a >= wp.float64(0.0) and b >= wp.float64(0.0) and a + b <= area


@wp.func
@no_type_check
def cross_each_other(d: wp.vec3d, u: wp.vec3d, v: wp.vec3d):
    """Return whether two segments in one plane cross: one from the origin along u, one from d along v."""
    normal = wp.cross(u, v)
    square = wp.dot(normal, normal)
    a = wp.dot(wp.cross(d, v), normal)
    b = wp.dot(wp.cross(d, u), normal)
    none = wp.float64(0.0)
    return square > none and a >= none and a <= square and b >= none and b <= square


@wp.kernel
@no_type_check
def note_start(positions: wp.array4d[Any], first: int, started: wp.array4d[Any]):
    """Store the particles' places before a step."""
    group, i = wp.tid()
    for axis in range(3):
        for lane in range(positions.shape[3]):
            started[first + group, i, axis, lane] = positions[first + group, i, axis, lane]


@wp.kernel
@no_type_check
def find_boxes(
    positions: wp.array4d[Any], started: wp.array4d[Any], first: int, lanes: int, members: wp.array[wp.int32],
    bounds: wp.array[wp.int32], boxes: wp.array3d[wp.vec3d], passed: wp.array[wp.int32],
):  # fmt: skip
    """Find the box swept by each body in each environment, and reset the counts."""
    row, body = wp.tid()
    slot = first + row
    low = wp.vec3d(wp.float64(1e30), wp.float64(1e30), wp.float64(1e30))
    high = -low
    for j in range(bounds[body], bounds[body + 1]):
        before = place(started, slot, members[j], lanes)
        now = place(positions, slot, members[j], lanes)
        low = wp.min(low, wp.min(before, now))
        high = wp.max(high, wp.max(before, now))
    boxes[slot, body, 0] = low
    boxes[slot, body, 1] = high
    if body == 0:
        passed[slot] = 0


@wp.kernel
@no_type_check
def count_particles(
    positions: wp.array4d[Any], started: wp.array4d[Any], first: int, lanes: int, members: wp.array[wp.int32],
    bounds: wp.array[wp.int32], owner: wp.array[wp.int32], corners: wp.array2d[wp.int32], fans: wp.array[wp.int32],
    boxes: wp.array3d[wp.vec3d], passed: wp.array[wp.int32],
):  # fmt: skip
    """Count the particles of each environment that have gone through the surface of another body.

    Args:
        positions: [m], shape (groups, n, 3, lanes).
        started: those before the step.
        first: environment of the launch.
        lanes: of a group.
        members: particles, body by body, shape (k,).
        bounds: first of each body, and the end, shape (b + 1,).
        owner: body of each, shape (k,).
        corners: particles of triangles, body by body, shape (t, 3).
        fans: first of the triangles of each body, and the end, shape (b + 1,).
        boxes: that each body has swept.
        passed: how many, shape (slots,).
    """
    row, j = wp.tid()
    slot = first + row
    before = place(started, slot, members[j], lanes)
    now = place(positions, slot, members[j], lanes)
    low = wp.min(before, now)
    high = wp.max(before, now)
    crossings = int(0)
    for body in range(bounds.shape[0] - 1):
        if body == owner[j] or fans[body] == fans[body + 1]:
            continue
        if apart(low, high, boxes[slot, body, 0], boxes[slot, body, 1]):
            continue
        for f in range(fans[body], fans[body + 1]):
            a = place(started, slot, corners[f, 0], lanes)
            b = place(started, slot, corners[f, 1], lanes)
            c = place(started, slot, corners[f, 2], lanes)
            a1 = place(positions, slot, corners[f, 0], lanes)
            b1 = place(positions, slot, corners[f, 1], lanes)
            c1 = place(positions, slot, corners[f, 2], lanes)
            least = wp.min(wp.min(wp.min(a, b), wp.min(c, a1)), wp.min(b1, c1))
            most = wp.max(wp.max(wp.max(a, b), wp.max(c, a1)), wp.max(b1, c1))
            if apart(low, high, least, most):
                continue
            u = b - a
            v = c - a
            p = before - a
            du = (b1 - a1) - u
            dv = (c1 - a1) - v
            dp = (now - a1) - p
            for k in range(INTERVALS):
                t = time_of_change(k, u, du, v, dv, p, dp)
                if t >= wp.float64(0.0) and in_triangle(p + t * dp, u + t * du, v + t * dv):
                    if volume(wp.float64(k + 1) / wp.float64(INTERVALS), u, du, v, dv, p, dp) > wp.float64(0.0):
                        crossings += 1
                    else:
                        crossings -= 1
    if crossings != 0:
        wp.atomic_add(passed, slot, 1)


@wp.kernel
@no_type_check
def count_segments(
    positions: wp.array4d[Any], started: wp.array4d[Any], first: int, lanes: int, ends: wp.array2d[wp.int32],
    owner: wp.array[wp.int32], boxes: wp.array3d[wp.vec3d], passed: wp.array[wp.int32],
):  # fmt: skip
    """Count the pairs of segments of each environment that have gone through each other.

    Args:
        positions: [m], shape (groups, n, 3, lanes).
        started: those before the step.
        first: environment of the launch.
        lanes: of a group.
        ends: particles of segments, shape (s, 2).
        owner: body of each, shape (s,).
        boxes: that each body has swept.
        passed: how many, shape (slots,).
    """
    row, j = wp.tid()
    slot = first + row
    a = place(started, slot, ends[j, 0], lanes)
    b = place(started, slot, ends[j, 1], lanes)
    a1 = place(positions, slot, ends[j, 0], lanes)
    b1 = place(positions, slot, ends[j, 1], lanes)
    low = wp.min(wp.min(a, b), wp.min(a1, b1))
    high = wp.max(wp.max(a, b), wp.max(a1, b1))
    u = b - a
    du = (b1 - a1) - u
    crossings = int(0)
    for other in range(j + 1, ends.shape[0]):
        if ends[j, 0] == ends[other, 0] or ends[j, 0] == ends[other, 1]:
            continue
        if ends[j, 1] == ends[other, 0] or ends[j, 1] == ends[other, 1]:
            continue
        if owner[j] != owner[other] and apart(low, high, boxes[slot, owner[other], 0], boxes[slot, owner[other], 1]):
            continue
        c = place(started, slot, ends[other, 0], lanes)
        d = place(started, slot, ends[other, 1], lanes)
        c1 = place(positions, slot, ends[other, 0], lanes)
        d1 = place(positions, slot, ends[other, 1], lanes)
        if apart(low, high, wp.min(wp.min(c, d), wp.min(c1, d1)), wp.max(wp.max(c, d), wp.max(c1, d1))):
            continue
        v = d - c
        w = c - a
        dv = (d1 - c1) - v
        dw = (c1 - a1) - w
        met = int(0)
        for k in range(INTERVALS):
            t = time_of_change(k, u, du, v, dv, w, dw)
            if t >= wp.float64(0.0) and cross_each_other(w + t * dw, u + t * du, v + t * dv):
                met += 1
        crossings += met % 2
    if crossings > 0:
        wp.atomic_add(passed, slot, crossings)

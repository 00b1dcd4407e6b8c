"""Poses of moving colliders during a step, interpolated over the substeps."""

import functools
from typing import Any, NamedTuple, no_type_check

import warp as wp

from pbd_gym.kernels.data.colliders import table_type
from pbd_gym.kernels.data.step import control_type, settings_type, state_type
from pbd_gym.kernels.lanes.wide import Wide

FRAMES = 24
"""Length of a moving collider's row in a substep: origin (3) [m] and rotation by rows (9) at its end, then at its
start.
"""


class PoseMotion(NamedTuple):
    """Warp functions that move the colliders of one group by the displacement and rotation in ``collider_motion``."""

    place: Any
    """Function that advances frames to the end of a number of substeps; the previous frames become the substep's start.
    """
    arrive: Any
    """Function that advances poses to the end of the step."""


@functools.cache
def make_pose_motion(wide: Wide) -> PoseMotion:
    """Build both functions of :class:`PoseMotion`."""
    scalar, lanes = wide.scalar, wide.lanes
    table, state_, control_ = table_type(scalar), state_type(wide.vec), control_type(wide.vec)
    settings_ = settings_type(scalar)

    @wp.func
    @no_type_check
    def turn(pose: wp.array1d[scalar], motion: wp.array1d[scalar], share: scalar):
        """Return the orientation (x, y, z, w) after a share of the rotation vector, in the axes of the world.

        The angular velocity is constant, so the share goes into the angle. Without rotation no bit changes.
        """
        bx = pose[3]
        by = pose[4]
        bz = pose[5]
        bw = pose[6]
        angle = wp.sqrt(motion[3] * motion[3] + motion[4] * motion[4] + motion[5] * motion[5])
        half = share * scalar(0.5)
        if angle > scalar(0.0):
            s = wp.sin(angle * half) / angle
            ax = motion[3] * s
            ay = motion[4] * s
            az = motion[5] * s
            aw = wp.cos(angle * half)
            qx = aw * bx + ax * bw + ay * bz - az * by
            qy = aw * by - ax * bz + ay * bw + az * bx
            qz = aw * bz + ax * by - ay * bx + az * bw
            qw = aw * bw - ax * bx - ay * by - az * bz
            shrink = scalar(1.0) / wp.sqrt(qx * qx + qy * qy + qz * qz + qw * qw)
            bx = qx * shrink
            by = qy * shrink
            bz = qz * shrink
            bw = qw * shrink
        return bx, by, bz, bw

    @wp.func
    @no_type_check
    def place(
        colliders: table,
        state: state_,
        control: control_,
        settings: settings_,
        group: int,
        finished: int,
        thread: int,
        thread_count: int,
    ):
        poses = state.poses
        motion = control.collider_motion
        frames = state.frames[group]
        frames_scalar = state.frames_scalar[group]
        share = scalar(finished) / scalar(settings.substeps)
        one = scalar(1.0)
        two = scalar(2.0)
        for k in range(thread, colliders.pose.shape[0], thread_count):
            slot = colliders.pose[k]
            for entry in range(12):
                frames[k, entry + 12] = frames[k, entry]
            for lane in range(int(wp.static(lanes))):
                env = group * wp.static(lanes) + lane
                for axis in range(3):
                    frames_scalar[k, axis, lane] = poses[env, slot, axis] + share * motion[env, slot, axis]
                x, y, z, w = turn(poses[env, slot], motion[env, slot], share)
                frames_scalar[k, 3, lane] = one - two * (y * y + z * z)
                frames_scalar[k, 4, lane] = two * (x * y - z * w)
                frames_scalar[k, 5, lane] = two * (x * z + y * w)
                frames_scalar[k, 6, lane] = two * (x * y + z * w)
                frames_scalar[k, 7, lane] = one - two * (x * x + z * z)
                frames_scalar[k, 8, lane] = two * (y * z - x * w)
                frames_scalar[k, 9, lane] = two * (x * z - y * w)
                frames_scalar[k, 10, lane] = two * (y * z + x * w)
                frames_scalar[k, 11, lane] = one - two * (x * x + y * y)

    @wp.func
    @no_type_check
    def arrive(
        colliders: table,
        state: state_,
        control: control_,
        group: int,
        thread: int,
        thread_count: int,
    ):
        poses = state.poses
        motion = control.collider_motion
        for k in range(thread, colliders.pose.shape[0], thread_count):
            slot = colliders.pose[k]
            for lane in range(int(wp.static(lanes))):
                env = group * wp.static(lanes) + lane
                x, y, z, w = turn(poses[env, slot], motion[env, slot], scalar(1.0))
                for axis in range(3):
                    poses[env, slot, axis] = poses[env, slot, axis] + motion[env, slot, axis]
                poses[env, slot, 3] = x
                poses[env, slot, 4] = y
                poses[env, slot, 5] = z
                poses[env, slot, 6] = w

    return PoseMotion(place, arrive)

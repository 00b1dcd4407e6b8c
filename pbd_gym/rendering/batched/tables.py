"""Tables that the kernels of the rasteriser read and write, and the meaning of their columns."""

import warp as wp

from pbd_gym.rendering.colors import (
    BACK,
    FLOOR,
    FLOOR_DARK,
    FLOOR_LINE,
    FRONT,
    GLASS,
    GOAL,
    GOAL_REACHED,
    PICKER_HOLDING,
    PICKER_OPEN,
    PICKER_RING,
    ROPE,
    ROPE_DARK,
    SKY_BOTTOM,
    SKY_TOP,
    SOLID,
    WATER,
)

PALETTE = {
    "sky_top": SKY_TOP,
    "sky_bottom": SKY_BOTTOM,
    "floor": FLOOR,
    "floor_dark": FLOOR_DARK,
    "floor_line": FLOOR_LINE,
    "front": FRONT,
    "back": BACK,
    "rope": ROPE,
    "rope_dark": ROPE_DARK,
    "solid": SOLID,
    "solid_inside": SOLID,
    "picker_open": PICKER_OPEN,
    "picker_holding": PICKER_HOLDING,
    "picker_ring": PICKER_RING,
    "goal": GOAL,
    "goal_reached": GOAL_REACHED,
    "water": WATER,
    "glass": GLASS,
}
"""Colours by name, red, green and blue from 0 to 255, in the order of a palette's rows; a back follows its front."""


def palette_row(name: str) -> int:
    """Return the row of a colour in a palette."""
    return list(PALETTE).index(name)


EYE, RIGHT, UP, FORWARD = (wp.constant(k) for k in range(4))
LIGHT = wp.constant(4)
"""Unit direction to the light, in the axes of the camera."""
TARGET = wp.constant(5)
LENS = wp.constant(6)
"""Focal length [pixels], distance to the target [m], length of the ground's cells [m]."""
CAMERA = 7
"""Vectors of a camera: place and axes in the world, then what the constants above say."""

PARTICLE, COLLIDER, GRIP = (wp.constant(k) for k in range(3))
"""Where the place of a vertex comes from."""


@wp.struct
class Shapes:
    """What there is to draw in every environment: vertices, and what is made of them."""

    source: wp.array1d[wp.int32]
    """PARTICLE, COLLIDER or GRIP, shape (v,)."""
    index: wp.array1d[wp.int32]
    """Particle, pose (-1 for a collider that stands still) or grip, shape (v,)."""
    offset: wp.array1d[wp.vec3]
    """Of vertices of colliders from the origin of the pose, or of the world [m], shape (v,)."""
    ring_start: wp.array1d[wp.int32]
    """First entry of each vertex in ``ring``, and the end, shape (v + 1,)."""
    ring: wp.array2d[wp.int32]
    """The other two corners of every triangle at a vertex, in its sense of rotation, shape (3 t, 2)."""
    triangles: wp.array2d[wp.int32]
    """Vertices, shape (t, 3)."""
    triangle_color: wp.array1d[wp.int32]
    """Palette row of the front, before that of the back, shape (t,)."""
    triangle_label: wp.array1d[wp.int32]
    opacity: wp.array1d[float]
    """Of each triangle, shape (t,)."""
    opaque_count: int
    """How many are opaque; the others, of glass, follow them."""
    rounds: wp.array2d[wp.int32]
    """Vertices at the ends of capsules, twice the same for a ball, shape (r, 2)."""
    round_radius: wp.array1d[float]
    """[m], shape (r,)."""
    round_color: wp.array1d[wp.int32]
    round_label: wp.array1d[wp.int32]
    round_grip: wp.array1d[wp.int32]
    """Grip that is drawn, -1 for anything else, shape (r,)."""
    hand: int
    """Grip that is drawn only while it holds something, -1 for none."""
    planes: wp.array2d[float]
    """Normal (3) and offset [m] of each plane as it was added, shape (p, 4)."""
    plane_pose: wp.array1d[wp.int32]
    """Its pose, -1 if it stands still, shape (p,)."""
    plane_label: wp.array1d[wp.int32]
    goal_particles: wp.array1d[wp.int32]
    goal_radius: float
    """[m]"""
    goal_label: int


@wp.struct
class Scratch:
    """Memory of a picture while it is drawn."""

    points: wp.array2d[wp.vec3]
    """Vertices in the axes of the camera: right, up, forward [m], shape (pictures, v)."""
    vertex_light: wp.array2d[wp.vec4]
    """Brightness and gloss of the front, then of the back, shape (pictures, v)."""
    edges: wp.array3d[wp.vec3]
    """Edge functions of triangles, shape (pictures, t, 3)."""
    boxes: wp.array2d[wp.vec4i]
    """First column and row, and those after the last, of triangles and capsules, shape (pictures, t + r)."""
    radii: wp.array2d[float]
    """Of capsules, no thinner than a pixel [m], shape (pictures, r)."""
    nearness: wp.array3d[float]
    """One over the depth of each pixel [1/m], 0 for the sky, shape (pictures, height, width)."""
    cover: wp.array3d[float]
    """1 where something is above the ground that is seen, else 0, shape (pictures, height, width)."""
    blurred: wp.array3d[float]
    """The same, blurred along the rows, shape (pictures, height, width)."""
    dark_box: wp.array2d[wp.int32]
    """First column and row, and those after the last, where ``cover`` may not be 0, shape (pictures, 4)."""


@wp.struct
class Backdrop:
    """What stands behind everything, kept while camera, planes and colours stay the same."""

    drawn_for: wp.array2d[float]
    """Numbers that it was drawn for, shape (rows, count)."""
    color: wp.array4d[wp.uint8]
    """Shape (rows, height, width, 3)."""
    nearness: wp.array3d[float]
    """[1/m], shape (rows, height, width)."""
    label: wp.array3d[wp.uint8]
    """Shape (rows, height, width)."""


@wp.struct
class Canvas:
    """Pictures, the cameras of an environment side by side in the channels; what is not asked for is empty."""

    rgb: wp.array4d[wp.uint8]
    """Shape (num_envs, height, width, 3 cameras)."""
    depth: wp.array4d[float]
    """[m], shape (num_envs, height, width, cameras)."""
    segmentation: wp.array4d[wp.uint8]
    """Shape (num_envs, height, width, cameras)."""

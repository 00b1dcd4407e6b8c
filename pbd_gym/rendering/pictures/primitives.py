"""Inputs of the kernels that draw a frame: triangles, balls and tubes, and the picture."""

import warp as wp

SMOOTH, LINE_0, LINE_1, LINE_2 = (wp.constant(k) for k in range(4))
"""Columns of a triangle's kinds: whether its mesh is smooth; lines along its edges, see
:mod:`pbd_gym.rendering.pictures.shapes`.
"""


@wp.struct
class Primitives:
    """Primitives to draw, in the axes of the camera: right, up and forward [m]. Arrays may be longer than used."""

    points: wp.array1d[wp.vec3]
    """Vertices, shape (v,)."""
    normals: wp.array1d[wp.vec3]
    """Normals at the vertices, shape (v,)."""
    front: wp.array1d[wp.vec3]
    """Colours of the side where corners run counter-clockwise, at the vertices, shape (v,)."""
    back: wp.array1d[wp.vec3]
    """Colours of the other side, shape (v,)."""
    corners: wp.array2d[wp.int32]
    """Vertices of triangles, shape (t, 3)."""
    kinds: wp.array2d[wp.int32]
    """Columns as defined above, shape (t, 4)."""
    triangle_count: int
    """Number of triangles."""
    ends: wp.array2d[wp.vec3]
    """Ends of tubes, the same twice for balls, shape (r, 2)."""
    radii: wp.array1d[float]
    """[m], shape (r,)."""
    colors: wp.array2d[wp.vec3]
    """Colours at both ends, shape (r, 2)."""
    rims: wp.array1d[wp.vec3]
    """Colour of the outline, negative for none, shape (r,)."""
    round_count: int
    """Number of balls and tubes."""


@wp.struct
class View:
    """Parameters of the picture."""

    width: int
    height: int
    samples: int
    """Points along each side of a pixel."""
    focal: float
    """[pixels]"""
    light: wp.vec3
    """Unit direction to the light."""
    up: wp.vec3
    """Unit direction upwards."""
    edges: int
    """Whether lines are drawn."""
    wireframe: int
    """Whether only lines are drawn."""
    line_strength: float
    """Darkness of the cells' lines, from 0 to 1."""


@wp.struct
class Visible:
    """Visible primitive at each point of a picture. Only the part within ``box`` is written."""

    boxes: wp.array1d[wp.vec4i]
    """Bounds of triangles, then of rounds: first column and row, and the ends (exclusive), shape (t + r,)."""
    box: wp.array1d[wp.int32]
    """Bounds of the part of the picture where something may be seen, in pixels, shape (4,)."""
    coefficients: wp.array2d[float]
    """Inputs of :mod:`pbd_gym.rendering.pictures.triangle_colors`, shape (t, COEFFICIENTS)."""
    sides: wp.array1d[wp.int32]
    """Visible side of triangles: 1 for the front of a smooth mesh, 2 for its back, 0 for others, shape (t,)."""
    primitive: wp.array2d[wp.int32]
    """Nearest primitive, -1 for none: triangles are numbered from 0, rounds after them. Shape (points, stride)."""
    nearness: wp.array2d[float]
    """One over the depth of the nearest primitive, or of the ground [1/m], shape (points, stride)."""

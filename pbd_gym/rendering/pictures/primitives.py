"""What the kernels that draw a frame take: triangles, balls and tubes, and the picture."""

import warp as wp

SMOOTH, LINE_0, LINE_1, LINE_2 = (wp.constant(k) for k in range(4))
"""Columns of a triangle's kinds: whether its mesh is smooth; what is drawn along its edges, by
:mod:`pbd_gym.rendering.pictures.shapes`."""


@wp.struct
class Primitives:
    """What is to be drawn, in the axes of the camera: right, up and forward [m]. Arrays may be longer than is used."""

    points: wp.array1d[wp.vec3]
    """Vertices, shape (v,)."""
    normals: wp.array1d[wp.vec3]
    """At the vertices, shape (v,)."""
    front: wp.array1d[wp.vec3]
    """Colours of the side where corners run counter-clockwise, at the vertices, shape (v,)."""
    back: wp.array1d[wp.vec3]
    """Colours of the other side, shape (v,)."""
    corners: wp.array2d[wp.int32]
    """Vertices of triangles, shape (t, 3)."""
    kinds: wp.array2d[wp.int32]
    """What the columns mean is said above, shape (t, 4)."""
    triangle_count: int
    """How many triangles there are."""
    ends: wp.array2d[wp.vec3]
    """Of tubes, twice the same for balls, shape (r, 2)."""
    radii: wp.array1d[float]
    """[m], shape (r,)."""
    colors: wp.array2d[wp.vec3]
    """At both ends, shape (r, 2)."""
    rims: wp.array1d[wp.vec3]
    """Colour of the outline, negative for none, shape (r,)."""
    round_count: int
    """How many balls and tubes there are."""


@wp.struct
class View:
    """The picture."""

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
    """Whether only they are."""
    line_strength: float
    """How dark the lines of cells are, from 0 to 1."""


@wp.struct
class Visible:
    """What is seen at each point of a picture. Only the part within ``box`` is written."""

    boxes: wp.array1d[wp.vec4i]
    """Where triangles and then rounds may be seen: first column and row, and those after the last, shape (t + r,)."""
    box: wp.array1d[wp.int32]
    """The part of the picture where something may be seen, likewise but in pixels, shape (4,)."""
    coefficients: wp.array2d[float]
    """Inputs of :mod:`pbd_gym.rendering.pictures.triangle_colors`, shape (t, COEFFICIENTS)."""
    sides: wp.array1d[wp.int32]
    """Of triangles: 1 where the front of a smooth mesh is seen, 2 for its back, 0 for any other, shape (t,)."""
    primitive: wp.array2d[wp.int32]
    """The nearest primitive, -1 for none: triangles are numbered from 0, rounds after them. Shape (points, stride)."""
    nearness: wp.array2d[float]
    """One over the depth of the nearest primitive, or of the ground [1/m], shape (points, stride)."""

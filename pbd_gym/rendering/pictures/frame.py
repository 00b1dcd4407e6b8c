"""Contents and style of a picture of one environment at one moment, in plain NumPy: the renderer's whole input."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal, get_args

import numpy as np

from pbd_gym.rendering.colors import Color, Coloring
from pbd_gym.rendering.pictures.overlay import Panel
from pbd_gym.runtime.checks import image_size, switch


@dataclass(frozen=True)
class Raster:
    """A rectangle of the plane z = 0, cut into cells of one colour each.

    Raises:
        ValueError: unless the corners are pairs of finite numbers, lower < upper, and the colours of shape (r, c, 3).
    """

    lower: tuple[float, float]
    """Lower left corner [m]."""
    upper: tuple[float, float]
    """Upper right corner [m]."""
    colors: np.ndarray
    """Red, green and blue of the cells, 0 to 255, shape (rows, columns, 3), uint8; the lowest row comes first."""

    def __post_init__(self) -> None:
        corners = np.array([self.lower, self.upper], dtype=np.float64)
        if corners.shape != (2, 2) or not np.isfinite(corners).all() or not (corners[0] < corners[1]).all():
            raise ValueError(f"a raster needs two finite corners, lower < upper, got {self.lower} and {self.upper}")
        colors = np.asarray(self.colors)
        if colors.ndim != 3 or colors.shape[2] != 3 or 0 in colors.shape or colors.dtype != np.uint8:
            raise ValueError(f"a raster needs uint8 colours (rows, columns, 3), got {colors.dtype} {colors.shape}")


ColorBy = Literal["sides", "stretch", "velocity", "contact"]
Water = Literal["surface", "balls"]


@dataclass(frozen=True)
class Style:
    """Style in which frames are drawn.

    Raises:
        TypeError: for a switch that is neither True nor False.
        ValueError: for an unknown kind of water.
    """

    antialias: bool = True
    """Sample four points of each pixel instead of one."""
    edges: bool = True
    """Draw the cells of meshes, and the borders of cloths."""
    wireframe: bool = False
    """Draw meshes as transparent wireframes."""
    shadows: bool = True
    """Draw soft shadows on the ground below everything."""
    water: Water = "surface"
    """Draw fluids as one surface that light passes through, or as balls; as balls too in wireframes, and where colours
    show numbers.
    """

    def __post_init__(self) -> None:
        for about in fields(Style):
            if about.name != "water":
                switch(about.name, getattr(self, about.name))
        if self.water not in get_args(Water):
            raise ValueError(f"water must be one of {get_args(Water)}, got {self.water!r}")


@dataclass(frozen=True)
class RenderOptions(Style):
    """Value of ``gym.make(..., render_options={...})``: the style, and what is shown.

    Raises:
        ValueError: for a picture without pixels or an unknown colouring.
        TypeError: for a switch that is neither True nor False, a size that is not whole, or an invalid camera.
    """

    size: int | tuple[int, int] = 512
    """Width and height [pixels], or one number for both."""
    color_by: ColorBy = "sides"
    """Meaning of colours: the two sides of a cloth, or stretch [%], speed [m/s] or contact of each particle."""
    camera: Any = None
    """A :class:`pbd_gym.rendering.Camera` or a dict of its arguments; by default one that suits the task."""

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "size", image_size(self.size))
        if self.color_by not in get_args(ColorBy):
            raise ValueError(f"color_by must be one of {get_args(ColorBy)}, got {self.color_by!r}")
        if self.camera is not None:
            from pbd_gym.rendering.camera import Camera

            camera = Camera(**self.camera) if isinstance(self.camera, dict) else self.camera
            if not isinstance(camera, Camera):
                raise TypeError(
                    f"a camera is a pbd_gym.rendering.Camera or a dict of its arguments, got {self.camera!r}"
                )
            object.__setattr__(self, "camera", camera)


@dataclass(frozen=True)
class Picker:
    """A hand that holds a particle, drawn as a ball or as two fingers that reach down from above.

    Raises:
        ValueError: unless the position is 3 numbers and the radius positive and finite.
    """

    position: np.ndarray
    """Centre [m], shape (3,)."""
    radius: float = 0.02
    """Radius [m]."""
    holding: bool = False
    """Whether it holds a particle."""
    gripper: bool = False
    """Whether it is drawn with two fingers, which close around the position."""

    def __post_init__(self) -> None:
        _check_ball(self, "position", "radius", "a picker")


@dataclass(frozen=True)
class Goal:
    """A place to be reached.

    Raises:
        ValueError: unless the position is 3 numbers and the radius positive and finite.
    """

    position: np.ndarray
    """Centre [m], shape (3,)."""
    radius: float = 0.05
    """Distance that counts as reached [m]."""
    reached: bool = False
    """Whether it has been reached."""

    def __post_init__(self) -> None:
        _check_ball(self, "position", "radius", "a goal")


@dataclass(frozen=True)
class Frame:
    """A snapshot of one environment: y is up, lengths are in metres, and only the positions are needed.

    Arrays of the right type are kept, not copied. Particles in no triangle and no line are drawn as small balls.
    Elements that are not finite are not drawn.

    Raises:
        ValueError: if a shape, an index, a normal or a radius is wrong, or a solid is not convex.
    """

    positions: np.ndarray
    """Particles [m], shape (n, 3), float64."""
    triangles: np.ndarray = field(default_factory=lambda: np.zeros((0, 3), np.int64))
    """Particle indices, shape (t, 3), int64; the front is where the corners run counter-clockwise."""
    sharp_edges: np.ndarray = field(default_factory=lambda: np.zeros((0, 2), np.int64))
    """Particle indices of the triangles' edges that are drawn sharp, not rounded, shape (e, 2), int64."""
    lines: np.ndarray = field(default_factory=lambda: np.zeros((0, 2), np.int64))
    """Particle indices of rope segments, shape (m, 2), int64."""
    planes: Sequence[tuple[Any, float]] = ()
    """Half-spaces as (normal, offset): n . x = offset on the surface, more outside. Normals need not have length 1."""
    spheres: Sequence[tuple[Any, float]] = ()
    """Solid balls as (centre [m], radius [m])."""
    solids: Sequence[tuple[Any, Any]] = ()
    """Convex solids as (vertices [m], shape (v, 3); triangles, shape (t, 3), counter-clockwise seen from outside)."""
    meshes: Sequence[tuple[Any, Any]] = ()
    """Closed solids of any shape, in the format of ``solids``."""
    glass: Sequence[tuple[Any, Any, float]] = ()
    """Transparent convex solids as (vertices, triangles, opacity of a face: above 0 and up to 1)."""
    pickers: Sequence[Picker] = ()
    """Hands."""
    goals: Sequence[Goal] = ()
    """Goals."""
    pinned: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int64))
    """Indices of the particles that cannot move, shape (k,), int64."""
    caption: str = ""
    """Text in the corner; may have several lines."""
    line_radius: float = 0.012
    """Radius of rope segments and of lone particles [m]."""
    beads: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int64))
    """Indices of the particles that are always drawn as balls, shape (b,), int64."""
    bead_radius: float = 0.03
    """Radius of these balls [m]."""
    hidden: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int64))
    """Indices of the particles that are not drawn, shape (k,), int64."""
    drops: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int64))
    """Indices of the particles of a fluid, shape (d,), int64."""
    drop_radius: float = 0.01
    """Radius of the fluid particles [m]."""
    colors: np.ndarray = field(default_factory=lambda: np.zeros((0, 3), np.int64))
    """Red, green and blue of lone particles and ends of ropes, 0 to 255, shape (n, 3), int64; empty for the default."""
    coloring: Coloring | None = None
    """Colours of meshes, ropes and particles that replace the usual ones."""
    polylines: Sequence[tuple[Any, Color]] = ()
    """Thin lines over everything, as (points [m], shape (k, 3); colour): traces, paths."""
    labels: Sequence[tuple[Any, str]] = ()
    """Text at points of the scene, as (position [m], shape (3,); text)."""
    panels: Sequence[Panel] = ()
    """Curves along the lower edge."""
    rasters: Sequence[Raster] = ()
    """Coloured cells in the plane z = 0, behind everything."""

    def __post_init__(self) -> None:
        positions = _array("positions", self.positions, (-1, 3), np.float64)
        _set(self, "positions", positions)
        for name, shape in (
            ("triangles", (-1, 3)),
            ("sharp_edges", (-1, 2)),
            ("lines", (-1, 2)),
            ("pinned", (-1,)),
            ("beads", (-1,)),
            ("drops", (-1,)),
            ("hidden", (-1,)),
        ):
            index = _array(name, getattr(self, name), shape, np.int64)
            if index.size and not (index.min() >= 0 and index.max() < len(positions)):
                raise ValueError(f"{name} must index the {len(positions)} positions, got {index.min()}..{index.max()}")
            _set(self, name, index)
        _set(self, "colors", _array("colors", self.colors, (-1, 3), np.int64))
        if len(self.colors) and (
            self.colors.shape != positions.shape or not ((self.colors >= 0) & (self.colors <= 255)).all()
        ):
            raise ValueError(f"colors must be 0 to 255 for each of the {len(positions)} positions")
        if self.coloring is not None and len(self.coloring.values) != len(positions):
            raise ValueError(f"coloring needs {len(positions)} values, got {len(self.coloring.values)}")
        _set(self, "polylines", [(_array("a polyline", p, (-1, 3), np.float64), c) for p, c in self.polylines])
        _set(self, "labels", [(_array("a label's position", p, (3,), np.float64), text) for p, text in self.labels])
        _set(self, "planes", [_plane(*p) for p in self.planes])
        _set(self, "spheres", [(_array("a sphere's centre", c, (3,), np.float64), float(r)) for c, r in self.spheres])
        _set(self, "solids", [_solid(*s) for s in self.solids])
        _set(self, "glass", [(*_solid(v, t), _opacity(share)) for v, t, share in self.glass])
        _set(self, "meshes", [_mesh(*s) for s in self.meshes])
        for radius in (self.line_radius, self.bead_radius, self.drop_radius, *(r for _, r in self.spheres)):
            if not (np.isfinite(radius) and radius > 0):
                raise ValueError(f"radii must be positive and finite, got {radius}")


FAR = 1e6
"""Distance from the origin beyond which nothing is drawn [m]: only an exploded simulation reaches it."""


def drawable(frame: Frame) -> Frame:
    """Return the frame without elements that are not finite or beyond :data:`FAR`.

    Positions become NaN, bodies are omitted.
    """
    near = np.abs(frame.positions) < FAR
    kept: dict[str, Any] = {
        "spheres": [(c, r) for c, r in frame.spheres if _is_near(c, r)],
        "solids": [(v, t) for v, t in frame.solids if (np.abs(v) < FAR).all()],
        "glass": [each for each in frame.glass if (np.abs(each[0]) < FAR).all()],
        "meshes": [(v, t) for v, t in frame.meshes if (np.abs(v) < FAR).all()],
        "pickers": [p for p in frame.pickers if _is_near(p.position, p.radius)],
        "goals": [g for g in frame.goals if _is_near(g.position, g.radius)],
        "planes": [(n, offset) for n, offset in frame.planes if abs(offset) < FAR],
    }
    changed = {name: value for name, value in kept.items() if len(value) < len(getattr(frame, name))}
    if not near.all():
        changed["positions"] = np.where(near.all(axis=1)[:, None], frame.positions, np.nan)
    return replace(frame, **changed) if changed else frame


_JUMP = 0.5  # an object that moves farther than this between two frames [m] was teleported


def between(before: Frame, after: Frame, share: float) -> Frame:
    """Return the frame interpolated linearly between two frames of the same objects.

    Objects that are in only one of them, or moved too far, are taken from the second.

    Args:
        before, after: the frames.
        share: share of the way, from 0 to 1.
    """

    def on_the_way(old: np.ndarray, new: np.ndarray, axis: int | None = None) -> np.ndarray:
        """Return the interpolation between arrays of points. Without an axis all move together, or none."""
        if np.shape(old) != np.shape(new):
            return new
        moved = (np.abs(new - old) < _JUMP).all(axis=axis, keepdims=True)  # not for NaN either
        return np.where(moved, old + share * np.where(moved, new - old, 0.0), new)

    def pairs(name: str) -> list[tuple[Any, Any]]:
        old, new = getattr(before, name), getattr(after, name)
        return list(zip(old, new, strict=True)) if len(old) == len(new) else [(item, item) for item in new]

    coloring = after.coloring
    if coloring is not None and before.coloring is not None and before.coloring.title == coloring.title:
        old_values, values = before.coloring.values, coloring.values
        if len(old_values) == len(values):
            coloring = replace(coloring, values=old_values + share * (values - old_values))
    return replace(
        after,
        positions=on_the_way(before.positions, after.positions, axis=1),
        coloring=coloring,
        spheres=[(on_the_way(old[0], new[0]), new[1]) for old, new in pairs("spheres")],
        solids=[(on_the_way(old[0], new[0]), new[1]) for old, new in pairs("solids")],
        glass=[(on_the_way(old[0], new[0]), *new[1:]) for old, new in pairs("glass")],
        meshes=[(on_the_way(old[0], new[0]), new[1]) for old, new in pairs("meshes")],
        pickers=[replace(new, position=on_the_way(old.position, new.position)) for old, new in pairs("pickers")],
    )


def _is_near(center: np.ndarray, radius: float) -> bool:
    return bool((np.abs(center) < FAR).all() and radius < FAR)


def _set(instance: object, name: str, value: object) -> None:
    object.__setattr__(instance, name, value)  # the dataclasses are frozen for their users, not for their constructors


def _array(name: str, value: Any, shape: tuple[int, ...], dtype: type) -> np.ndarray:
    """Return ``value`` as an array of ``shape``, where -1 stands for any length; an empty one fits every shape."""
    array = np.asarray(value)
    if array.size == 0 and -1 in shape:
        return np.zeros([max(n, 0) for n in shape], dtype)
    if array.ndim != len(shape) or any(want not in (-1, got) for want, got in zip(shape, array.shape, strict=True)):
        wanted = str(tuple("any" if n < 0 else n for n in shape)).replace("'", "")
        raise ValueError(f"{name} must have shape {wanted}, got {array.shape}")
    if array.dtype.kind not in ("iu" if dtype is np.int64 else "iuf"):
        raise ValueError(f"{name} must hold {'whole ' if dtype is np.int64 else ''}numbers, got {array.dtype}")
    return array.astype(dtype, copy=False)


def _plane(normal: Any, offset: float) -> tuple[np.ndarray, float]:
    vector = _array("a plane's normal", normal, (3,), np.float64)
    length = float(np.linalg.norm(vector))
    if not (np.isfinite(length) and length > 0 and np.isfinite(offset)):
        raise ValueError(f"a plane needs a finite offset and a finite normal other than zero, got {vector}, {offset}")
    return vector / length, float(offset) / length


def _mesh(vertices: Any, triangles: Any) -> tuple[np.ndarray, np.ndarray]:
    points = _array("a solid's vertices", vertices, (-1, 3), np.float64)
    faces = _array("a solid's triangles", triangles, (-1, 3), np.int64)
    if len(faces) < 4 or faces.min() < 0 or faces.max() >= len(points):
        raise ValueError(f"a solid needs at least 4 triangles that index its {len(points)} vertices")
    return points, faces


def _opacity(share: float) -> float:
    if not 0.0 < share <= 1.0:
        raise ValueError(f"an opacity must be above 0 and up to 1, got {share}")
    return float(share)


def _solid(vertices: Any, triangles: Any) -> tuple[np.ndarray, np.ndarray]:
    points, faces = _mesh(vertices, triangles)
    if (np.abs(points) < FAR).all():  # others are not drawn
        a, b, c = points[faces].swapaxes(0, 1)
        normals = np.cross(b - a, c - a)
        slack = 1e-6 * float(np.ptp(points, axis=0).max()) * np.linalg.norm(normals, axis=1)
        if ((normals @ points.T).max(axis=1) > (normals * a).sum(axis=1) + slack + 1e-12).any():
            raise ValueError("a solid must be convex, with triangles that run counter-clockwise seen from outside")
    return points, faces


def _check_ball(instance: Any, center: str, radius: str, what: str) -> None:
    _set(instance, center, _array(f"{what}'s {center}", getattr(instance, center), (3,), np.float64))
    value = float(getattr(instance, radius))
    if not (np.isfinite(value) and value > 0):
        raise ValueError(f"{what}'s radius must be positive and finite, got {value}")

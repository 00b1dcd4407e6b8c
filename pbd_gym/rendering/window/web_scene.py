"""A frame as nodes of a page in a browser."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from pbd_gym.rendering.backdrop import tangents
from pbd_gym.rendering.camera import Camera, Size
from pbd_gym.rendering.colors import BACK, FLOOR, FRONT, GOAL, GOAL_REACHED, SOLID
from pbd_gym.rendering.pictures.frame import FAR, Frame
from pbd_gym.rendering.pictures.painter import surface_of
from pbd_gym.rendering.pictures.panels import draw_panels
from pbd_gym.rendering.pictures.shapes import rounds
from pbd_gym.runtime.extras import load_optional


class WebScene:
    """Adds nodes to viser's scene, and changes them from frame to frame. Labels of points are left out.

    Args:
        server: viser's.
        drag: told of what the left button does to meshes, ropes and particles.
        click: told of clicks on them with Shift.
    """

    def __init__(self, server: Any, drag: Callable[[Any], Any], click: Callable[[Any], Any]) -> None:
        self._scene, self._gui, self._drag, self._click = server.scene, server.gui, drag, click
        sphere = load_optional("trimesh", "for a page", "web").creation.icosphere(2, 1.0)
        self._ball = {"vertices": np.array(sphere.vertices), "faces": np.array(sphere.faces)}
        self._nodes: dict[str, tuple[Any, Any]] = {}
        self._plot: Any = None

    def draw(self, frame: Frame, camera: Camera, size: Size) -> None:
        """Show a :func:`pbd_gym.rendering.pictures.frame.drawable` frame, with marks as large as they are to be seen.

        Args:
            frame: what there is.
            camera: where it is seen from.
            size: width and height of the picture [pixels].
        """
        self._seen: set[str] = set()
        finite = np.isfinite(frame.positions).all(axis=1)
        points, faces = np.where(finite[:, None], frame.positions, 0.0), frame.triangles
        cloth = {"vertices": points, "faces": faces[finite[faces].all(axis=1)]}
        for side, color in (("front", FRONT), ("back", BACK)):
            self._put(f"cloth {side}", "mesh_simple", len(cloth["faces"]), **cloth, side=side, color=color)
        for k, (corners, sides) in enumerate([*frame.solids, *frame.meshes]):
            solid = {"vertices": corners, "faces": sides, "flat_shading": True, "color": SOLID}
            self._put(f"solid {k}", "mesh_simple", len(sides), **solid)
        for k, (normal, offset) in enumerate(frame.planes):
            first, second = (3.0 * camera.distance * axis for axis in tangents(normal))
            middle = camera.target + (offset - normal @ camera.target) * normal
            corners = middle + np.stack([-first - second, first - second, first + second, second - first])
            plane = {"vertices": corners, "faces": np.array([[0, 1, 2], [0, 2, 3]]), "side": "double", "color": FLOOR}
            self._put(f"plane {k}", "mesh_simple", 2, **plane)
        if frame.coloring is not None:  # a mesh has one colour here: its particles show the others
            frame = replace(frame, beads=np.arange(len(points)), bead_radius=0.004 * camera.distance)
        found = rounds(frame, camera, size)
        goals = [(g.position, g.radius, GOAL_REACHED if g.reached else GOAL) for g in frame.goals]
        self._balls("balls", found.ends[:, 0], found.radii, found.colors[:, 0])
        self._balls("goals", *([part[k] for part in goals] for k in range(3)), opacity=0.2)
        # Lines of one node are of one thickness: tubes that differ by less than a tenth or so go together.
        long, thickness = (found.ends[:, 0] != found.ends[:, 1]).any(axis=1), np.round(5.0 * np.log2(found.radii))
        for k, similar in enumerate(np.unique(thickness[long])):
            tubes = long & (thickness == similar)
            self._lines(f"tubes {k}", found.ends[tubes], found.colors[tubes], 2.0 * found.radii[tubes].mean())
        for k, (line, color) in enumerate(frame.polylines):
            pairs = np.stack([line[:-1], line[1:]], axis=1)
            pairs = pairs[(np.abs(pairs) < FAR).all(axis=(1, 2))]
            self._lines(f"line {k}", pairs, np.broadcast_to(color, pairs.shape), 0.003 * camera.distance)
        for k, raster in enumerate(frame.rasters):
            lower, upper = np.array(raster.lower), np.array(raster.upper)
            (width, height), middle = upper - lower, (*(lower + upper) / 2, 0.0)
            self._put(f"raster {k}", "image", raster.colors.shape, image=raster.colors[::-1], position=middle,
                      render_width=float(width), render_height=float(height))  # fmt: skip
        if frame.panels:
            picture = np.full((240, 480, 3), 255, np.uint8)
            draw_panels(surface_of(picture), frame.panels)
            self._plot = self._plot or self._gui.add_image(picture)
            self._plot.image = picture
        for name in self._nodes.keys() - self._seen:
            self._remove(name)

    def _balls(self, name: str, centers: Any, radii: Any, colors: Any, **props: Any) -> None:
        count = len(centers)
        props |= {"batched_positions": np.reshape(centers, (count, 3)), "batched_scales": np.reshape(radii, count)}
        props |= {"batched_wxyzs": np.tile([1.0, 0, 0, 0], (count, 1)), "batched_colors": np.uint8(colors)}
        self._put(name, "batched_meshes_simple", count, **self._ball, **props)

    def _lines(self, name: str, pairs: np.ndarray, colors: np.ndarray, width: float) -> None:
        self._put(name, "line_segments", len(pairs), points=pairs, colors=np.uint8(colors), thickness=float(width))

    def _put(self, name: str, kind: str, count: Any, **props: Any) -> None:
        """Add a node to the page, or give the one of a name other numbers; a node of another ``count`` is made anew."""
        if count == 0:
            return
        self._seen.add(name)
        if name in self._nodes and self._nodes[name][1] != count:
            self._remove(name)
        if name not in self._nodes:
            node = getattr(self._scene, f"add_{kind}")(f"/{name}", **props)
            self._nodes[name] = node, count
            if name.startswith(("cloth", "balls")):
                node.on_drag("left")(self._drag)
                node.on_click(modifier="shift")(self._click)
            return
        node, _ = self._nodes[name]
        for key, value in props.items():
            old = getattr(node, key)
            if not np.array_equal(old, np.asarray(value, old.dtype) if isinstance(old, np.ndarray) else value):
                setattr(node, key, value)

    def _remove(self, name: str) -> None:
        self._nodes.pop(name)[0].remove()

"""Page in a browser that replaces the window on machines without a display, through viser."""

from __future__ import annotations

import queue
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from pbd_gym.rendering.camera import Camera, Size
from pbd_gym.rendering.colors import BACK, FRONT, GOAL, GOAL_REACHED, SOLID
from pbd_gym.rendering.pictures.frame import FAR, Frame, drawable
from pbd_gym.rendering.pictures.overlay import draw_panels
from pbd_gym.rendering.pictures.painter import surface_of
from pbd_gym.rendering.pictures.shapes import rounds
from pbd_gym.rendering.window.dials import Dial
from pbd_gym.rendering.window.viewer import Viewer
from pbd_gym.rendering.window.web_controls import Control
from pbd_gym.rendering.window.web_surfaces import ground, weave
from pbd_gym.runtime.extras import load_optional


class WebScene:
    """Adds nodes to viser's scene, and changes them from frame to frame. Labels of points are omitted.

    Args:
        server: viser's server.
        drag: function called when the left button drags meshes, ropes or particles.
        click: function called on Shift-clicks on them.
    """

    def __init__(self, server: Any, drag: Callable[[Any], Any], click: Callable[[Any], Any]) -> None:
        self._scene, self._gui, self._drag, self._click = server.scene, server.gui, drag, click
        sphere = load_optional("trimesh", "for a page", "web").creation.icosphere(2, 1.0)
        self._ball = {"vertices": np.array(sphere.vertices), "faces": np.array(sphere.faces)}
        self._nodes: dict[str, tuple[Any, Any]] = {}
        self._plot: Any = None

    def draw(self, frame: Frame, camera: Camera, size: Size) -> None:
        """Show a :func:`pbd_gym.rendering.pictures.frame.drawable` frame, with marks of constant size in the picture.

        Args:
            frame: frame to show.
            camera: camera that sees it.
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
        pairs, shades = weave(frame.positions, faces[finite[faces].all(axis=1)], camera, size)
        self._lines("weave", pairs, np.repeat(shades[:, None], 2, axis=1), 0.0016 * camera.distance)
        for k, (normal, offset) in enumerate(frame.planes):
            if normal @ camera.eye() > offset:  # seen from inside, a half-space would hide everything
                self._put(f"ground {k}", "image", "ground", **ground(normal, offset, camera))
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
        """Add a node to the page, or update the one of that name; a node with a different ``count`` is recreated."""
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
            new = np.asarray(value, old.dtype) if isinstance(old, np.ndarray) else value
            if new is not old and not np.array_equal(old, new):
                setattr(node, key, value)

    def _remove(self, name: str) -> None:
        self._nodes.pop(name)[0].remove()


PORT = 8080
READ_EVERY = 0.25
"""Time between changes of the read-outs [s]."""
HELP = (
    "Drag a particle with the left button; a click with Shift pins it or sets it free. Drag the ground to turn, with "
    "the right button to move; the wheel zooms. Numbers act at once, and those that need other kernels once these are "
    "compiled (...). A click on a panel's title folds it."
)
_ONLY_WINDOW = ("s", "v", "p", "w", "0", "h", "e", "q")
"""Keys of a window that need no button on the page."""


class Page:
    """Serves a page on which one person watches and manipulates a viewer's simulation.

    The viewer's own window stays closed.

    Args:
        viewer: viewer whose simulation is shown.
        port: port of the page; the next free one if it is taken.

    Raises:
        ImportError: without viser.
    """

    def __init__(self, viewer: Viewer, port: int = PORT) -> None:
        viser = load_optional("viser", "for a page", "web")
        self.viewer = viewer
        self._server = viser.ViserServer("127.0.0.1", port, label=viewer.renderer.title, verbose=False)
        self._gui = self._server.gui
        self._scene = WebScene(self._server, self._dragged, self._clicked)
        self._events: queue.SimpleQueue[Callable[[], object]] = queue.SimpleQueue()
        self._dials: dict[str, Dial] = {}
        self._controls: dict[str, Control] = {}
        self._read_at = -np.inf
        self._server.scene.set_up_direction("+y")
        view, camera = self._server.initial_camera, viewer.camera
        view.position, view.look_at, view.fov = camera.eye(), camera.target, camera.fov
        self._server.on_client_connect(lambda client: client.camera.on_update(self._see))
        self._deeds = {text: deed for key, (text, deed) in viewer.keys.items() if text and key not in _ONLY_WINDOW}
        self._text = self._gui.add_markdown("")
        self._gui.add_button_group("", list(self._deeds)).on_click(self._press)
        self._dial_folder = self._gui.add_folder("numbers")
        with self._gui.add_folder("measured", expand_by_default=False):
            self._measured = self._gui.add_markdown("")
        with self._gui.add_folder("mouse", expand_by_default=False):
            self._gui.add_markdown(HELP)
        if viewer.theory():
            with self._gui.add_folder("equations", expand_by_default=False):  # a panel beside would cover a phone
                self.theory = self._gui.add_markdown(viewer.theory(page=True))
        viewer.help = True  # removes the hint at a key from the read-outs

    def run(self) -> None:
        """Serve until interrupted by Ctrl-C. Time stands still while nobody is connected."""
        print("open the page in a browser; Ctrl-C ends it")
        try:
            while not self.viewer.renderer.closed:
                start = time.perf_counter()
                if self._server.get_clients():
                    self.tick()
                wanted = 1.0 / self.viewer.fps if self.viewer.fps > 0.0 else 0.0
                time.sleep(max(wanted - (time.perf_counter() - start), 0.001))
        except KeyboardInterrupt:
            pass
        finally:
            self.close()

    def close(self) -> None:
        """Stop serving."""
        self._server.stop()
        self.viewer.close()

    def tick(self) -> None:
        """Carry out requests from the page, show the frame, and simulate one step unless paused."""
        while not self._events.empty():
            self._events.get()()
        with self._server.atomic():
            self._scene.draw(drawable(self.viewer.frame("")), self.viewer.camera, self.viewer.size)
            if time.perf_counter() - self._read_at >= READ_EVERY:
                self._read()
                self._read_at = time.perf_counter()
        self.viewer.turn_waiting()
        self.viewer.go_on()

    def _read(self) -> None:
        viewer = self.viewer
        first, *rest = viewer.text(dialled=False).splitlines()
        verdict = viewer.words.verdict[0] if viewer.words.verdict else ""
        self._text.content = f"{first}\n\n{viewer.message or verdict or next(filter(None, rest), '')}"
        self._measured.content = "\n\n".join(line for line in rest if line)
        dials = {dial.name: dial for dial in viewer.dials()}
        if dials.keys() != self._dials.keys():
            while self._controls:
                self._controls.popitem()[1].remove()
            with self._dial_folder:
                self._controls = {name: Control(self._gui, dial, self._turned) for name, dial in dials.items()}
        self._dials = dials
        for name, dial in dials.items():
            self._controls[name].show(dial, viewer.waiting.get(name))

    # Callbacks run in other threads, so they only leave messages.

    def _press(self, event: Any) -> None:
        self._events.put(self._deeds[event.target.value])

    def _turned(self, name: str, value: Any) -> None:
        self._events.put(lambda: self.viewer.turn(self._dials[name], value))

    async def _dragged(self, event: Any) -> None:
        start, end = event.start_screen_pos, np.array(event.end_position)
        self._events.put(lambda: self._drag(event.phase, self._pixel(start), end))

    def _drag(self, phase: str, start: tuple[int, int], end: np.ndarray) -> None:
        if phase == "start":
            self.viewer.grab(start)
        self.viewer.lead = None if phase == "end" else end
        if phase == "end":
            self.viewer.release()

    async def _clicked(self, event: Any) -> None:
        self._events.put(lambda: self.viewer.toggle(self._pixel(event.screen_pos)))

    def _pixel(self, place: tuple[float, float]) -> tuple[int, int]:
        width, height = self.viewer.size
        return round(place[0] * width), round(place[1] * height)

    async def _see(self, camera: Any) -> None:
        """Move the camera to the browser's view."""
        away, size = np.array(camera.position) - camera.look_at, (camera.image_width, camera.image_height)
        distance = max(float(np.linalg.norm(away)), 1e-6)
        fov = 2.0 * np.arctan(np.tan(camera.fov / 2.0) * min(1.0, size[0] / size[1]))  # across the shorter side
        yaw, pitch = np.arctan2(away[0], away[2]), np.arcsin(away[1] / distance)
        seen = Camera(np.array(camera.look_at), distance, float(yaw), float(pitch), float(fov))

        def look() -> None:
            vars(self.viewer.camera).update(vars(seen))
            self.viewer.size = size

        self._events.put(look)

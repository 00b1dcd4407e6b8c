"""The same as a window, on a page in a browser: for machines without a display, through viser."""

from __future__ import annotations

import queue
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from pbd_gym.rendering.camera import Camera
from pbd_gym.rendering.pictures.frame import drawable
from pbd_gym.rendering.window.dials import Dial
from pbd_gym.rendering.window.viewer import Viewer
from pbd_gym.rendering.window.web_scene import WebScene
from pbd_gym.runtime.extras import load_optional

PORT = 8080
READ_EVERY = 0.25
"""Read-outs change this often [s]."""
HELP = "Drag a particle with the left button; a click with Shift pins it or sets it free. Drag the ground to turn."
_ONLY_WINDOW = ("s", "v", "p", "w", "0", "h", "q")
"""Keys of a window that need no button here."""


class Page:
    """Serves a page on which one person watches and handles what a viewer simulates.

    The viewer's own window stays closed.

    Args:
        viewer: what is simulated.
        port: of the page; the next one that is free if it is taken.

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
        self._sliders: dict[str, Any] = {}
        self._text = self._gui.add_markdown(HELP)
        self._read_at = -np.inf
        self._server.scene.set_up_direction("+y")
        view, camera = self._server.initial_camera, viewer.camera
        view.position, view.look_at, view.fov = camera.eye(), camera.target, camera.fov
        self._server.on_client_connect(lambda client: client.camera.on_update(self._see))
        self._deeds = {text: deed for key, (text, deed) in viewer.keys.items() if text and key not in _ONLY_WINDOW}
        self._gui.add_button_group("", list(self._deeds)).on_click(self._press)
        viewer.help = True  # which takes the hint at a key out of the read-outs

    def run(self) -> None:
        """Serve until interrupted by Ctrl-C. Time stands still while nobody looks."""
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
        """Do what was asked for on the page, show what there is, and simulate one frame unless paused."""
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
        verdict = viewer.words.verdict[0] if viewer.words.verdict else ""
        self._text.content = "\n\n".join(line for line in [*viewer.text().splitlines(), verdict, HELP] if line)
        dials = {dial.name: dial for dial in viewer.dials()}
        if dials.keys() != self._dials.keys():
            while self._sliders:
                self._sliders.popitem()[1].remove()
            self._sliders = {name: self._slider(dial) for name, dial in dials.items()}
        self._dials = dials
        for name, dial in dials.items():
            slider, waits = self._sliders[name], name in viewer.waiting
            slider.label = f"{dial.text(viewer.waiting[name])} ..." if waits else dial.text()
            if not waits and abs(slider.value - dial.fraction()) > 0.5 / max(dial.stops, 1):
                slider.value = dial.fraction()

    def _slider(self, dial: Dial) -> Any:
        slider = self._gui.add_slider(dial.text(), 0.0, 1.0, 1.0 / max(dial.stops, 1), dial.fraction())
        slider.on_update(lambda event: self._slid(event, dial.name))
        return slider

    # Callbacks run in other threads, so that they only leave word.

    def _press(self, event: Any) -> None:
        self._events.put(self._deeds[event.target.value])

    def _slid(self, event: Any, name: str) -> None:
        if event.client_id is not None:  # not what the page itself has set
            dial, value = self._dials[name], self._dials[name].value_at(float(event.target.value))
            self._events.put(lambda: self.viewer.turn(dial, value))

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
        """Look from where the browser looks."""
        away, size = np.array(camera.position) - camera.look_at, (camera.image_width, camera.image_height)
        distance = max(float(np.linalg.norm(away)), 1e-6)
        fov = 2.0 * np.arctan(np.tan(camera.fov / 2.0) * min(1.0, size[0] / size[1]))  # across the shorter side
        yaw, pitch = np.arctan2(away[0], away[2]), np.arcsin(away[1] / distance)
        seen = Camera(np.array(camera.look_at), distance, float(yaw), float(pitch), float(fov))

        def look() -> None:
            vars(self.viewer.camera).update(vars(seen))
            self.viewer.size = size

        self._events.put(look)

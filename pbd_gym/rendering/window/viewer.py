"""Window on a simulation: a person moves the camera, drags particles, changes dials and presses keys."""

from __future__ import annotations

import copy
import time
from abc import abstractmethod
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from pbd_gym.rendering.camera import Camera, Size
from pbd_gym.rendering.pictures.frame import Frame, between
from pbd_gym.rendering.pictures.images import Recorder
from pbd_gym.rendering.pictures.overlay import caption_corner, draw_caption, make_font, make_paper
from pbd_gym.rendering.pictures.renderer import Renderer
from pbd_gym.rendering.window.dials import MISSING, PANEL, WIDTH, Dial, SliderPanel, sliders_available
from pbd_gym.rendering.window.handling import Handling, Mouse

if TYPE_CHECKING:
    import pygame

READ_EVERY = 0.1
"""Time between changes of the read-outs [s]: nobody reads faster, and computing energies may take longer than drawing.
"""
SMOOTH = 60.0
"""Pictures per second that look smooth."""
_LARGEST = 26  # height of the font [pixels]
_SUCCESS, _FAILURE = (30, 132, 78), (120, 76, 60)


class Pace:
    """Recent durations of steps and pictures [s]."""

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        """Discard the measurements."""
        self._steps: deque[float] = deque(maxlen=15)
        self._pictures: deque[float] = deque(maxlen=15)
        self._ends: deque[float] = deque(maxlen=30)

    def stepped(self, seconds: float) -> None:
        """Record the duration of a step."""
        self._steps.append(seconds)

    def drawn(self, seconds: float) -> None:
        """Record the processor time of the picture that has just been shown."""
        self._pictures.append(seconds)
        self._ends.append(time.perf_counter())

    def text(self) -> str:
        """Return both in words, each once it has been measured."""
        found = f"   step {1e3 * float(np.median(self._steps)):.2f} ms" if self._steps else ""
        if len(self._ends) > 1:
            found += f"   {(len(self._ends) - 1) / max(self._ends[-1] - self._ends[0], 1e-9):.0f} pictures/s"
        return found

    def pictures_per_step(self, fps: float) -> int:
        """Return how many pictures per step there is time for at ``fps`` steps per second, as far as they look
        smoother.
        """
        if fps <= 0.0 or not self._pictures or not self._steps:
            return 1
        room = 0.9 / fps - float(np.median(self._steps))
        return max(1, min(round(SMOOTH / fps), int(room / max(float(np.median(self._pictures)), 1e-6))))


class Words:
    """Texts of a window, rebuilt when something has happened and ten times a second."""

    def __init__(self) -> None:
        self.every = READ_EVERY
        """Time between readings [s]."""
        self.verdict: tuple[str, bool] | None = None
        """Text in the middle of the picture, and whether it is good news."""
        self._text = ""
        self._time = -np.inf

    def outdate(self) -> None:
        """Make the next picture read again."""
        self._time = -np.inf

    def due(self) -> bool:
        """Return whether it is time to read numbers."""
        return time.perf_counter() - self._time >= self.every

    def read(self, text: Callable[[], str]) -> None:
        """Read the numbers."""
        self._text, self._time = text(), time.perf_counter()

    def corner(self, size: Size) -> Size:
        """Return the extent of the words in a picture's upper left corner [pixels]."""
        return caption_corner(size, self._text, _share(size))

    def draw(self, picture: pygame.Surface, help_text: str) -> None:
        """Write into a picture; if there is no room for both, the help hides the numbers."""
        size = picture.get_size()
        above = self.corner(size)[1]
        if not help_text or above + caption_corner(size, help_text, _share(size))[1] < size[1]:
            draw_caption(picture, self._text, _share(size))
        draw_caption(picture, help_text, _share(size), low=True)
        if self.verdict is not None and not help_text:
            text, good = self.verdict
            word = make_font(picture, 14).render(text, True, (255, 255, 255))
            width, height = word.get_width() + 2 * word.get_height(), 2 * word.get_height()
            paper = make_paper(width, height, height // 2, (*(_SUCCESS if good else _FAILURE), 225))
            paper.blit(word, (word.get_height(), height // 4))
            picture.blit(paper, ((size[0] - width) // 2, max(above + height // 4, size[1] // 5)))


def listed(keys: Mapping[str, tuple[str, object]]) -> list[str]:
    """Return the keys' descriptions as lines of four; keys without a description are omitted."""
    words = [f"{key}: {text}" for key, (text, _) in keys.items() if text]
    return ["    ".join(words[i : i + 4]) for i in range(0, len(words), 4)]


def _share(size: Size) -> int:
    return max(32, round(min(size) / _LARGEST))


SLOWEST = 16
"""Largest factor of slow motion."""
SMALLEST = 160
"""Smallest width and height of the picture in a shrunken window [pixels]."""


class _Picture(Renderer):
    """A renderer that lets the viewer add texts and the panel before a picture is shown."""

    def __init__(self, viewer: Viewer, size: Size, title: str, fps: float) -> None:
        super().__init__("human", size, title, fps)
        self._viewer = viewer

    def _present(self, picture: pygame.Surface) -> None:
        super()._present(self._viewer.complete(picture))

    def resize(self, size: Size) -> None:
        """Adopt the size of a resized window, for the picture and the panel beside it."""
        self._viewer.resize(size)


class Viewer(Handling):
    """Draws, handles events and steps until the window is closed. Subclasses define the simulation.

    Args:
        title: title of the window, and stem of files saved from it.
        size: width and height of the picture [pixels].
        fps: steps per second; 0 does not wait. :meth:`run` shows pictures between them, as far as there is time.
        camera: camera to start with; the mouse moves it.
        sliders: whether the panel of sliders is shown at first; it needs pygame-menu.

    Raises:
        ImportError: without pygame.
        ValueError: for a size without pixels.
    """

    def __init__(self, title: str, size: Size, fps: float, camera: Camera, sliders: bool = True) -> None:
        self.renderer: Renderer = _Picture(self, size, title, fps)
        self.recorder = Recorder(title.removeprefix("pbd-gym demo "), fps or 30)
        super().__init__(camera, size)
        self._first_camera = copy.deepcopy(camera)
        self.fps = fps
        self.paused = False
        self.help = False
        self.explains = False
        """Whether :meth:`theory` is shown."""
        self.slow = 1
        """Pictures per step; those between two steps show interpolated states."""
        self.waiting: dict[str, Any] = {}
        """Values, by dial name, that are set once their kernels are ready."""
        self.keys: dict[str, tuple[str, Callable[[], object]]] = {
            "space": ("pause", lambda: self._switch("paused")),
            "n": ("one step", self.step_once),
            ",": ("slower", lambda: self._pace(2)),
            ".": ("faster", lambda: self._pace(1)),
            "r": ("reset", self._restart),
            "s": ("save a picture", self._save),
            "v": ("start or stop a film", self._film),
            "p": ("sliders", self._show_panel),
            "w": ("wireframe", self._wire),
            "0": ("camera back", self._look_back),
            "h": ("this help", lambda: self._switch("help")),
            "q": ("quit", self.renderer.close),
        }
        """Keys, by pygame's name: a description and a function."""
        self._sliders = sliders and sliders_available()
        self._panel: SliderPanel | None = None
        self._single = False
        self._ticks = 0
        self._between = 1  # pictures per step at full speed
        self._shown = 0
        self._before: Frame | None = None
        self.pace, self.words = Pace(), Words()
        self._whole: pygame.Surface | None = None
        self._last: pygame.Surface | None = None

    # --- what is simulated --------------------------------------------------------------------------------------------

    @abstractmethod
    def frame(self, caption: str) -> Frame:
        """Return the frame to draw."""

    @abstractmethod
    def advance(self, pull: np.ndarray) -> None:
        """Simulate one frame, in which the hand moves by ``pull`` [m], shape (3,)."""

    @abstractmethod
    def restart(self) -> None:
        """Go back to the start."""

    @abstractmethod
    def caption(self) -> str:
        """Return the read-outs; time per step, state and hints are added to them."""

    def readings(self) -> str:
        """Return the read-outs without the values of the dials, for a page that shows these elsewhere."""
        return self.caption()

    def dials(self) -> Sequence[Dial]:
        """Return the dials that the panel shows."""
        return ()

    def theory(self, page: bool = False) -> str:
        """Return what is computed: formulas, symbols, algorithm and source, in lines or as Markdown for a page."""
        return ""

    def more_help(self) -> str:
        """Return further lines of help."""
        return ""

    def take_key(self, key: str, text: str) -> bool:
        """Handle a key, given pygame's name and the text that it types; return whether it was used as input."""
        return False

    # --- running ------------------------------------------------------------------------------------------------------

    def run(self) -> None:
        """Run until the window is closed, with pictures between the steps where these are few.

        Raises:
            DisplayError: if there is no display.
        """
        try:
            while not self.renderer.closed:
                if not self.paused and self._ticks % (self.slow * self._between) == 0:
                    self._between = self.pace.pictures_per_step(self.fps)
                    self.renderer.fps = self.fps * self._between
                self.tick()
        finally:
            self.close()

    def close(self) -> None:
        """Close the window, and write any film being recorded. May be called again."""
        if self.recorder.running:
            self._film()
            print(self.message)
        self.renderer.close()

    def tick(self) -> None:
        """Draw, handle events, and simulate one frame unless paused."""
        self.look()
        self.go_on()

    def go_on(self) -> None:
        """Simulate one frame if it is due."""
        if self.due():
            start = time.perf_counter()
            self.advance(self.pull())
            self.pace.stepped(time.perf_counter() - start)

    def look(self) -> None:
        """Draw, and handle events."""
        start = time.thread_time()
        due = self.words.due()
        if self._panel is not None and not (self._panel.alive and (not due or self._panel.fits(self.dials()))):
            self._panel = None  # a dial may change which there are
        if due:
            self.words.read(self.text)
            if self._panel is not None:
                self._panel.read(self.waiting)
        moment = self._moment()
        self.renderer.draw(moment, self.camera, self.words.corner(self.size))
        if self.renderer.closed:
            return
        events = self.renderer.events
        if self._sliders:
            if self._panel is None:  # it needs a window to be there
                self._panel = SliderPanel(self.dials(), *self.size)
            events, wanted = self._panel.react(events)
            for dial, value in wanted:
                self.turn(dial, value)
        for event in events:
            self._react(event)
            for normal, offset in moment.planes:
                self.camera.stay_above(normal, offset)
        self.turn_waiting()
        self.pace.drawn(time.thread_time() - start)

    def resize(self, size: Size) -> None:
        """Adopt a new size of the window [pixels]."""
        width = size[0] - (WIDTH if self._sliders else 0)
        self.size = self.renderer.size = (max(width, SMALLEST), max(size[1], SMALLEST))
        self._panel = None
        self.words.outdate()

    def turn(self, dial: Dial, value: Any) -> None:
        """Set a dial; if kernels must be compiled first, set it later and continue until then."""
        self.waiting.pop(dial.name, None)
        self.words.outdate()
        try:
            if dial.read() == value:
                return
            if dial.ready(value):
                dial.turn(value)
            else:
                self.waiting[dial.name] = value
        except ValueError as error:
            self.message = str(error)

    def turn_waiting(self) -> None:
        """Set the dials whose kernels have become ready."""
        for dial in self.dials() if self.waiting else ():
            if dial.name in self.waiting:
                self.turn(dial, self.waiting[dial.name])

    def due(self) -> bool:
        """Return whether a step is due: the window is open and not paused."""
        if self._single:
            self._ticks = -1  # the picture after a single step shows all of it
        elif not self.paused:
            self._ticks += 1
        pictures = self.slow * self._between
        waits = self.paused or self._ticks % pictures != 0
        due = not self.renderer.closed and (self._single or not waits)
        self._single = self._single and not due
        if due:
            self._before = self.frame("") if pictures > 1 else None
        return due

    def forget(self) -> None:
        """Do not interpolate from the last state, since nothing moved from there to here."""
        self._before = None

    def _moment(self) -> Frame:
        """Return the frame to draw now: with several pictures per step, an interpolation of the last two states."""
        frame = self.frame("")
        if self._before is None:
            return frame
        pictures = self.slow * self._between
        return between(self._before, frame, (self._ticks % pictures + 1) / pictures)

    def complete(self, picture: pygame.Surface) -> pygame.Surface:
        """Return the window's contents: the picture with its texts, and the panel beside it."""
        import pygame

        self._last = picture.copy()
        self._shown += 1
        if self.recorder.running and self._shown % self._between == 0:
            self.recorder.add(picture)
            if self.recorder.full:
                self._film()
        self.words.draw(picture, self.help_text() if self.help else self.theory() if self.explains else "")
        if not self._sliders:
            return picture
        width, height = picture.get_size()
        size = width + WIDTH, height
        if self._whole is None or self._whole.get_size() != size:
            self._whole, self._panel = pygame.Surface(size, depth=32), None
        self._whole.blit(picture, (0, 0))
        if self._panel is None:
            self._whole.fill(PANEL, (width, 0, WIDTH, height))
        else:
            self._panel.draw(self._whole)
        return self._whole

    def help_text(self) -> str:
        """Return the help on the mouse and the keys."""
        return "\n".join([Mouse.HELP, *listed(self.keys), self.more_help()]).rstrip()

    def text(self, dialled: bool = True) -> str:
        """Return the read-outs with the additions; the values of the dials are among them if ``dialled``."""
        state = "   paused" if self.paused else f"   {self.slow} times slower" if self.slow > 1 else ""
        state += "   compiling ..." if self.waiting else ""
        state += "   filming" if self.recorder.running else ""
        state += "" if self.help else "   h: help"
        first, *rest = (self.caption() if dialled else self.readings()).split("\n")
        return "\n".join([f"{first}{self.pace.text()}{state}", *rest, self.message])

    # --- keys ---------------------------------------------------------------------------------------------------------

    def step_once(self) -> None:
        """Pause, and simulate one frame."""
        self.paused = self._single = True

    def _react(self, event: Any) -> None:
        import pygame

        if event.type == pygame.KEYDOWN:
            self.words.outdate()
            key = pygame.key.name(event.key)
            if self.take_key(key, getattr(event, "unicode", "")):
                return
            self.keys.get("q" if key == "escape" else key, ("", lambda: None))[1]()
        else:
            self.mouse.react(event)
            if event.type != pygame.MOUSEMOTION:
                self.words.outdate()

    def _switch(self, name: str) -> None:
        setattr(self, name, not getattr(self, name))

    def _pace(self, slower: int) -> None:
        self.slow = min(self.slow * 2, SLOWEST) if slower > 1 else max(self.slow // 2, 1)

    def _wire(self) -> None:
        self.renderer.style = replace(self.renderer.style, wireframe=not self.renderer.style.wireframe)

    def look_from(self, camera: Camera) -> None:
        """Change the camera, and make it the one that the key 0 returns to."""
        self._first_camera = copy.deepcopy(camera)
        self._look_back()

    def _look_back(self) -> None:
        self.camera.__dict__.update(copy.deepcopy(self._first_camera).__dict__)

    def _show_panel(self) -> None:
        if not sliders_available():
            self.message = MISSING
            return
        self._sliders, self._panel, self._whole = not self._sliders, None, None

    def _restart(self) -> None:
        self.release()
        self.forget()
        self.message = ""
        self.restart()

    def _save(self) -> None:
        """Save the current picture, without texts, under the next free name in this folder."""
        if self._last is not None:
            self.message = self.recorder.try_snap(self._last)

    def _film(self) -> None:
        if self.recorder.running:
            self.message = self.recorder.try_stop()
        else:
            self.recorder.start()

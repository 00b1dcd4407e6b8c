"""The window of a demonstration: the mouse drags, the arrow keys change options, letters do what the demo says."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import numpy as np

from pbd_gym.demos.demo import Demo
from pbd_gym.demos.options import changed, shown
from pbd_gym.render import Frame, Renderer, save_png
from pbd_gym.render.viewer import MOUSE_HELP, Viewer


class DemoWindow(Viewer):
    """Shows a demonstration until it is closed.

    Args:
        name: of the demonstration, which names the window and the pictures it saves.
        demo: what is shown.
        size: width and height [pixels].

    Raises:
        ImportError: without pygame.
    """

    def __init__(self, name: str, demo: Demo, size: tuple[int, int] = (800, 800)) -> None:
        super().__init__(f"pbd-gym demo {name}", size, demo.fps, demo.camera(size))
        self.name = name
        self.demo = demo
        self.max_pull = demo.max_pull
        self.names = [f.name for f in fields(demo.options)]
        self.chosen = 0
        """Place of the option that the left and right arrows change."""
        self.said = ""
        """What is told beside the numbers: the picture that was saved, the value that was refused."""
        self.keys |= {
            "up": lambda: self._choose(-1), "down": lambda: self._choose(1),
            "left": lambda: self._change(-1), "right": lambda: self._change(1),
            "n": self.step_once, "s": self.save,
        }  # fmt: skip
        self.keys |= {key: deed for key, (_, deed) in demo.keys.items()}

    def frame(self, caption: str) -> Frame:
        """Return what is to be drawn."""
        return self.demo.frame(caption)

    def positions(self) -> np.ndarray:
        """Return the particles that the mouse can take [m], shape (n, 3)."""
        return self.demo.positions()

    def hold(self, particle: int | None) -> None:
        """Put a particle into the person's hand; None opens the hand."""
        self.demo.hold(particle)

    def advance(self, pull: np.ndarray) -> None:
        """Simulate one frame, in which the hand moves by ``pull`` [m], shape (3,)."""
        self.demo.point(*self.camera.ray(self.mouse, self.size))
        if self.grabbed is not None:
            self.demo.move(pull)
        self.demo.step()

    def restart(self) -> None:
        """Go back to the start."""
        self.demo.reset()
        self.said = ""

    def caption(self) -> str:
        """Return the numbers."""
        chosen = self.names[self.chosen] if self.names else None
        state = "   paused" if self.paused else ""
        return "\n".join([shown(self.demo.options, chosen), self.demo.readout() + state, self.said])

    def help_text(self) -> str:
        """Return what the mouse and the keys do."""
        own = [f"{key}: {words}" for key, (words, _) in self.demo.keys.items()]
        values = "up, down: choose a number    left, right: change it\n" * bool(self.names)
        lines = ["space: pause    n: one step    s: save a picture    r: reset", "    ".join(own)]
        return f"{MOUSE_HELP}\n{values}" + "\n".join(lines) + "\nh: hide this help    q: quit"

    def save(self) -> None:
        """Write the picture as it is now to the first free file NAME-0001.png, NAME-0002.png, ... of this folder."""
        number = 1
        while (path := Path(f"{self.name}-{number:04}.png")).exists():
            number += 1
        picture = Renderer(size=self.size).draw(self.frame(""), self.camera)
        assert picture is not None  # only a window returns none
        try:
            save_png(path, picture)
        except OSError as error:  # a folder that cannot be written to: no reason to close the window
            self.said = f"not saved: {error}"
        else:
            self.said = f"saved {path}"

    def _choose(self, direction: int) -> None:
        if self.names:
            self.chosen = (self.chosen + direction) % len(self.names)

    def _change(self, direction: int) -> None:
        if not self.names:
            return
        self.release()
        self.said = ""
        before = self.demo.options
        try:
            self.demo.change(changed(before, self.names[self.chosen], direction))
        except ValueError as error:  # two options that do not go together
            self.said = str(error)
            self.demo.options = before
            self.demo.reset()

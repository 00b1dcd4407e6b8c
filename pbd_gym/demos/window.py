"""Window of a demonstration: the mouse drags, the arrow keys change options, letters run the demo's own keys."""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np

from pbd_gym.demos.demo import Demo
from pbd_gym.demos.options import changed, shown
from pbd_gym.demos.theory import THEORIES, plain, source_of
from pbd_gym.rendering import Frame
from pbd_gym.rendering.window.dials import Dial
from pbd_gym.rendering.window.viewer import Viewer


class DemoWindow(Viewer):
    """Shows a demonstration until it is closed.

    Args:
        name: name of the demonstration, used for the window and saved pictures.
        demo: demonstration to show.
        size: width and height [pixels].

    Raises:
        ImportError: without pygame.
    """

    def __init__(self, name: str, demo: Demo, size: tuple[int, int] = (800, 800)) -> None:
        super().__init__(f"pbd-gym demo {name}", size, demo.fps, demo.camera(size))
        self.demo = demo
        self.max_pull = demo.max_pull
        self.names = [f.name for f in fields(demo.options)]
        self.chosen = 0
        """Index of the option that the left and right arrows change."""
        self.typed: str | None = None
        """Text being typed for the chosen option; None if none."""
        self.keys |= {
            "return": ("", self._begin_typing),
            "up": ("", lambda: self._choose(-1)), "down": ("", lambda: self._choose(1)),
            "left": ("", lambda: self._change(-1)), "right": ("", lambda: self._change(1)),
        }  # fmt: skip
        self._theory = {page: self._find_theory(name, page) for page in (False, True)}
        if self._theory[False]:
            self.keys["e"] = ("equations", lambda: self._switch("explains"))
        self.keys |= demo.keys
        if "o" in demo.keys:
            self.keys["o"] = (demo.keys["o"][0], self._be_original)

    def frame(self, caption: str) -> Frame:
        """Return the frame to draw."""
        return self.demo.frame(caption)

    def positions(self) -> np.ndarray:
        """Return the particles that the mouse can take [m], shape (n, 3)."""
        return self.demo.positions()

    def hold(self, particle: int | None) -> None:
        """Put a particle into the person's hand; None opens the hand."""
        self.demo.hold(particle)

    def pull(self) -> np.ndarray:
        """Return the vector to the mouse, limited to a hand's movement in a frame [m], shape (3,)."""
        if self.grabbed is not None and self.demo.held is None:
            self.grabbed = None  # it has restarted since, perhaps with fewer particles: a slider had to wait, say
        return super().pull()

    def advance(self, pull: np.ndarray) -> None:
        """Simulate one frame, in which the hand moves by ``pull`` [m], shape (3,)."""
        self.demo.point(*self.camera.ray(self.mouse.position, self.size))
        if self.grabbed is not None:
            self.demo.move(pull)
        self.demo.step()

    def restart(self) -> None:
        """Go back to the start."""
        self.demo.reset()

    def caption(self) -> str:
        """Return the numbers to show."""
        chosen = self.names[self.chosen] if self.names else None
        lines = [self.readings(), shown(self.demo.options, chosen)]
        if self.typed is not None:
            lines.append(
                f"{self.names[self.chosen].replace('_', ' ')}: {self.typed}_   return: set it, escape: leave it"
            )
        return "\n".join(line for line in lines if line)

    def readings(self) -> str:
        """Return the measured numbers alone."""
        return "\n".join(line for line in (self.demo.readout(), self.demo.measures()) if line)

    def pin(self, row: int) -> str:
        """Fix a particle, or release it. Returns a message."""
        return self.demo.pin(row)

    def dials(self) -> list[Dial]:
        """Return the numbers that the sliders change."""
        return self.demo.dials()

    def theory(self, page: bool = False) -> str:
        """Return formulas, symbols, algorithm and source, in lines or as Markdown for a page."""
        return self._theory[page]

    def _find_theory(self, name: str, page: bool) -> str:
        theory, source = THEORIES.get(name), source_of(type(self.demo))
        if theory is None:
            return ""
        return theory.markdown(source) if page else plain(theory.text(source))

    def more_help(self) -> str:
        """Return help lines that only this window has."""
        return "up, down: choose a number    left, right: change it    return: type it" if self.names else ""

    def take_key(self, key: str, text: str) -> bool:
        """Handle keys while a value is being typed; return whether the key was used."""
        if self.typed is None:
            return False
        if key in ("return", "enter"):
            value, self.typed = self.typed, None
            self._set(value.strip())
        elif key == "escape":
            self.typed = None
        elif key == "backspace":
            self.typed = self.typed[:-1]
        else:
            self.typed += text if text.isprintable() else ""
        return True

    def _be_original(self) -> None:
        """Restart with the original's numbers, which may change its size."""
        self.release()
        self.demo.be_original()
        self.look_from(self.demo.camera(self.size))

    def _begin_typing(self) -> None:
        if self.names:
            self.message = ""
            self.typed = ""

    def _set(self, text: str) -> None:
        """Set the chosen option to a typed value."""
        self.release()
        dial, name = self.demo.dials()[self.chosen], self.names[self.chosen]
        try:
            value = type(dial.read())(text)
            replace(self.demo.options, **{name: value})  # says what is wrong with it before anything starts
            self.turn(dial, value)
        except ValueError as error:
            self.message = str(error)

    def _choose(self, direction: int) -> None:
        if self.names:
            self.chosen = (self.chosen + direction) % len(self.names)

    def _change(self, direction: int) -> None:
        if not self.names:
            return
        self.release()
        self.message = ""
        dial, name = self.demo.dials()[self.chosen], self.names[self.chosen]
        try:
            options = replace(self.demo.options, **{name: self.waiting.get(dial.name, dial.read())})
            self.turn(dial, getattr(changed(options, name, direction), name))
        except ValueError as error:  # two options that do not go together
            self.message = str(error)

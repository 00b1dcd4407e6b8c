"""Theory of the demonstrations: complete, and shown by the help, the window and the page."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pygame
import pytest

from pbd_gym.cli import main
from pbd_gym.demos import DEMOS, find
from pbd_gym.demos.theory import THEORIES, WIDTH, plain, source_of
from pbd_gym.demos.window import DemoWindow
from pbd_gym.rendering.pictures.overlay import make_font
from tests.screen import screen


def test_every_demonstration_has_formula_symbols_algorithm_and_source() -> None:
    assert list(THEORIES) == [entry.name for entry in DEMOS]
    for name, theory in THEORIES.items():
        source = source_of(find(name))
        assert "=" in theory.formula or "←" in theory.formula, name
        assert len(theory.algorithm.splitlines()) >= 2 or name == "sph-kernels", name
        assert re.search(r"\b(19|20)\d\d\b", source), name
        assert max(map(len, theory.text(source).splitlines())) <= WIDTH, name
        explained = theory.symbols + theory.formula.replace(" ", "")
        for letter in re.findall(r"[α-ω]", theory.formula):
            assert letter in theory.symbols or f"{letter}=" in explained or f"Δ{letter}" in explained, (name, letter)


def test_the_windows_font_has_every_sign() -> None:
    """A missing glyph is drawn as a box, the same for all."""
    pygame.font.init()
    text = plain("".join(theory.text(source_of(find(name))) for name, theory in THEORIES.items()))
    for font in (make_font(pygame.Surface((400, 400)), 16), pygame.font.Font(None, 24)):
        assert missing(font, text) == []


def missing(font: Any, text: str) -> list[str]:
    """Return the signs of a text that a font draws as it draws one that no font has."""

    def drawn(sign: str) -> Any:
        picture = font.render(sign, True, (0, 0, 0))
        return picture.get_size(), pygame.image.tobytes(picture, "RGBA")

    return [sign for sign in set(text) - {"\n"} if drawn(sign) == drawn("\uffff")]


def test_help_and_window_show_the_formula(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in (["demo", "--help"], ["demo", "heat", "--help"]):
        with pytest.raises(SystemExit):
            main(arguments)
        assert "T ← T + r (Σ T of 4 neighbours − 4T),  r = D h / Δx²" in capsys.readouterr().out
    window = DemoWindow("barycentric", find("barycentric")(), (400, 400))
    window.paused = True
    window.tick()
    before = screen()
    for shown in (True, False):
        pygame.event.post(pygame.event.Event(pygame.KEYDOWN, key=pygame.K_e))
        window.tick()
        window.tick()
        changed = (screen() != before).any(axis=2)[:, :400]
        assert (np.mean(changed[250:]) > 0.3) == shown
    window.close()

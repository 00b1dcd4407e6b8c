"""How frames are drawn."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Literal, get_args

from pbd_gym.runtime.checks import image_size, switch

Coloring = Literal["sides", "stretch", "velocity", "contact"]


@dataclass(frozen=True)
class Style:
    """How frames are drawn.

    Raises:
        TypeError: for a switch that is neither True nor False.
    """

    antialias: bool = True
    """Look at four points of each pixel, not one."""
    edges: bool = True
    """Draw the cells of meshes, and the borders of cloths."""
    wireframe: bool = False
    """Draw meshes as lines that one sees through."""
    shadows: bool = True
    """Darken the ground below everything, softly."""

    def __post_init__(self) -> None:
        for field in fields(Style):
            switch(field.name, getattr(self, field.name))


@dataclass(frozen=True)
class RenderOptions(Style):
    """What ``gym.make(..., render_options={...})`` takes: the style, and what is shown.

    Raises:
        ValueError: for a picture without pixels or an unknown colouring.
        TypeError: for a switch that is neither True nor False, a size that is not whole, or a camera that is none.
    """

    size: int | tuple[int, int] = 512
    """Width and height [pixels], or one number for both."""
    color_by: Coloring = "sides"
    """What colours tell: the two sides of a cloth, or stretch [%], speed [m/s] or contact of each particle."""
    camera: Any = None
    """A :class:`pbd_gym.rendering.Camera` or a dict of its arguments; by default one that suits the task."""

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "size", image_size(self.size))
        if self.color_by not in get_args(Coloring):
            raise ValueError(f"color_by must be one of {get_args(Coloring)}, got {self.color_by!r}")
        if self.camera is not None:
            from pbd_gym.rendering.camera import Camera

            camera = Camera(**self.camera) if isinstance(self.camera, dict) else self.camera
            if not isinstance(camera, Camera):
                raise TypeError(
                    f"a camera is a pbd_gym.rendering.Camera or a dict of its arguments, got {self.camera!r}"
                )
            object.__setattr__(self, "camera", camera)

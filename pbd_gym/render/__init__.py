"""Pictures of cloth, ropes and soft bodies, drawn in software; pygame is imported only when needed."""

from pbd_gym.render.camera import Camera
from pbd_gym.render.coloring import Coloring
from pbd_gym.render.frame import Frame, Goal, Picker
from pbd_gym.render.images import save_gif, save_png, tile
from pbd_gym.render.options import RenderOptions, Style
from pbd_gym.render.overlay import PALETTE, Curve, Panel
from pbd_gym.render.renderer import Renderer

__all__ = [
    "PALETTE",
    "Camera",
    "Coloring",
    "Curve",
    "Frame",
    "Goal",
    "Panel",
    "Picker",
    "RenderOptions",
    "Renderer",
    "Style",
    "save_gif",
    "save_png",
    "tile",
]

"""Pictures of cloth, ropes and soft bodies, drawn in software; pygame is imported only when needed."""

from pbd_gym.rendering.camera import Camera
from pbd_gym.rendering.colormaps import Coloring
from pbd_gym.rendering.pictures.frame import Frame, Goal, Picker
from pbd_gym.rendering.pictures.images import save_gif, save_png, tile
from pbd_gym.rendering.pictures.options import RenderOptions, Style
from pbd_gym.rendering.pictures.overlay import PALETTE
from pbd_gym.rendering.pictures.panels import Curve, Panel
from pbd_gym.rendering.pictures.renderer import Renderer

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

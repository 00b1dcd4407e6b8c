"""Pictures of cloth, ropes and soft bodies, drawn in software with pygame, which is imported only when it is needed."""

from pbd_gym.render.camera import Camera
from pbd_gym.render.frame import Frame, Goal, Picker
from pbd_gym.render.images import save_gif, save_png, tile
from pbd_gym.render.overlay import PALETTE, Curve, Panel
from pbd_gym.render.renderer import Renderer

__all__ = ["PALETTE", "Camera", "Curve", "Frame", "Goal", "Panel", "Picker", "Renderer", "save_gif", "save_png", "tile"]

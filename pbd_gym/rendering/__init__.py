"""Pictures of cloth, ropes and soft bodies, drawn in software; pygame is imported only when needed.

Cameras, colours and the backdrop are shared by pictures for people (:mod:`pbd_gym.rendering.pictures`) and to those for
agents (:mod:`pbd_gym.rendering.batched`).
"""

from typing import TYPE_CHECKING

from pbd_gym.runtime.lazy import public_names

if TYPE_CHECKING:
    from pbd_gym.rendering.camera import Camera as Camera
    from pbd_gym.rendering.colors import Coloring as Coloring
    from pbd_gym.rendering.pictures.frame import Frame as Frame
    from pbd_gym.rendering.pictures.frame import Goal as Goal
    from pbd_gym.rendering.pictures.frame import Picker as Picker
    from pbd_gym.rendering.pictures.frame import Raster as Raster
    from pbd_gym.rendering.pictures.frame import RenderOptions as RenderOptions
    from pbd_gym.rendering.pictures.frame import Style as Style
    from pbd_gym.rendering.pictures.images import save_gif as save_gif
    from pbd_gym.rendering.pictures.images import save_png as save_png
    from pbd_gym.rendering.pictures.images import tile as tile
    from pbd_gym.rendering.pictures.overlay import PALETTE as PALETTE
    from pbd_gym.rendering.pictures.overlay import Curve as Curve
    from pbd_gym.rendering.pictures.overlay import Panel as Panel
    from pbd_gym.rendering.pictures.renderer import Renderer as Renderer

if not TYPE_CHECKING:
    __getattr__, __dir__, __all__ = public_names(__name__)

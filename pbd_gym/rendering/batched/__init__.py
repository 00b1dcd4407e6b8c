"""Pictures of whole batches for agents, drawn by Warp kernels without a graphics API."""

from pbd_gym.rendering.batched.rasterizer import Rasterizer

__all__ = ["Rasterizer"]

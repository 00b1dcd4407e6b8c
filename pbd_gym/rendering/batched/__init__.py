"""Pictures of whole batches, drawn by Warp kernels without a graphics API: what agents see."""

from pbd_gym.rendering.batched.rasterizer import Rasterizer

__all__ = ["Rasterizer"]

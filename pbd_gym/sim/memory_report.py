"""How much memory a batch would take, and how many environments fit, before anything of it is allocated.

One group of lanes is made and its arrays are counted; the batch has so many of them.
"""

from __future__ import annotations

from typing import Any, Literal

from pbd_gym.runtime.blocks import choose_block_dim
from pbd_gym.runtime.checks import whole
from pbd_gym.runtime.devices import find_device
from pbd_gym.runtime.threads import default_threads
from pbd_gym.scene.scene import Scene
from pbd_gym.sim.memory_usage import MemoryReport, count_memory
from pbd_gym.sim.model import Model, choose_lanes
from pbd_gym.sim.solver import Solver


def memory_report(
    scene: Scene,
    num_envs: int = 1,
    device: str = "cpu",
    dtype: Literal["float32", "float64"] = "float32",
    lanes: int | None = None,
    **options: Any,
) -> MemoryReport:
    """Say what a batch of a scene would take, without making it.

    Args:
        scene: what one environment holds.
        num_envs: how many of them.
        device: Warp device.
        dtype: as for :class:`pbd_gym.sim.model.Model`.
        lanes: environments per group, as the model chooses by default.
        **options: of :class:`pbd_gym.sim.solver.Solver`: several iterations, Jacobi and Chebyshev need more.

    Raises:
        ValueError: as model and solver do.
    """
    num_envs = whole("num_envs", num_envs, 1)
    found = find_device(device)
    in_blocks = found.is_cuda or choose_block_dim(found) > 1
    lanes = choose_lanes(num_envs, default_threads(), in_blocks) if lanes is None else lanes
    model = Model(scene, lanes, device, dtype, lanes=lanes)
    solver = Solver(model, **options)
    return count_memory(model, num_envs, solver.state(), solver.control())

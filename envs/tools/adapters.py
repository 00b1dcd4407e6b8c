"""What batches must be to pass under the interfaces of other libraries."""

from __future__ import annotations

from typing import Literal

from gymnasium.vector import AutoresetMode

from pbd_gym.envs.core.base.vector_env import TaskVectorEnv


def check_batch(batch: TaskVectorEnv, mode: AutoresetMode, output: Literal["numpy", "torch"] | None = None) -> None:
    """Refuse a batch that an adapter cannot pass on.

    Args:
        batch: batched environment.
        mode: autoreset mode that it must have.
        output: output that it must have; None for either.

    Raises:
        ValueError: for a different autoreset mode or output.
    """
    found = "numpy" if batch.outputs.torch is None else "torch"
    if batch.autoreset_mode is not mode or output not in (None, found):
        needed = f"autoreset_mode={mode.value!r}" + (f" and output={output!r}" if output else "")
        raise ValueError(f"the adapter needs {needed}")

"""Images of samples under the symmetries of a task, which agents learn from in addition to the samples.

Agents then need fewer samples, and can handle goals of which they have seen only mirror images. In reinforcement
learning: Mittal et al. 2024, "Symmetry considerations for learning task symmetric robot policies".
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from pbd_gym.training.symmetry.row_maps import stacked_maps


class Images:
    """Random images of samples, as tensors: each sample under one of the symmetries, or unchanged.

    Args:
        batch: environments of a task with symmetries.
        device: device of the tensors.

    Raises:
        ValueError: as :func:`pbd_gym.training.symmetry.row_maps.row_maps` does.
    """

    def __init__(self, batch: Any, device: torch.device) -> None:
        maps = [(one.index, one.sign) for one in stacked_maps(batch)]
        self.index, self.sign = (
            [torch.as_tensor(part, device=device) for part in parts] for parts in zip(*maps, strict=True)
        )

    def __call__(self, observations: Tensor, actions: Tensor, random: torch.Generator) -> tuple[Tensor, Tensor]:
        """Return images of some samples, shape (samples, size) each."""
        index, sign = self.index, self.sign
        chosen = torch.randint(len(index[0]), observations.shape[:1], generator=random, device=observations.device)
        seen = observations.gather(1, index[0][chosen]) * sign[0][chosen]
        return seen, actions.gather(1, index[1][chosen]) * sign[1][chosen]

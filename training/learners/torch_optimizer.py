"""Adam as the learners in torch use it: a gradient step can be recorded, its rate set, its moments saved."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn


def make_adam(parameters: list[nn.Parameter], rate: float, beta2: float, device: torch.device) -> torch.optim.Adam:
    """Return an optimizer.

    Args:
        parameters: what it changes.
        rate: learning rate at first.
        beta2: decay rate of its mean of squared gradients.
        device: of the parameters.
    """
    # Fused, a step of Adam is one call rather than a dozen for each layer. In a graph its rate has to be a tensor.
    on_gpu = device.type == "cuda"
    first: Any = torch.tensor(rate, device=device) if on_gpu else rate
    return torch.optim.Adam(parameters, first, (0.9, beta2), eps=1e-5, fused=True, capturable=on_gpu)


def set_rate(adam: torch.optim.Adam, rate: float) -> None:
    """Set the learning rate, in place where a recording reads it."""
    for group in adam.param_groups:
        if isinstance(group["lr"], Tensor):
            group["lr"].fill_(rate)
        else:
            group["lr"] = rate


def moments(adam: torch.optim.Adam) -> dict[str, Any]:
    """Return a copy of the optimizer's state, for its ``load_state_dict``."""
    found = adam.state_dict()
    state = {k: {name: value.clone() for name, value in each.items()} for k, each in found["state"].items()}
    return {**found, "state": state}


def weights(module: nn.Module) -> dict[str, Tensor]:
    """Return a copy of the parameters and buffers of a module."""
    return {name: value.clone() for name, value in module.state_dict().items()}

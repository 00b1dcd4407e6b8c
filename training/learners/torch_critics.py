"""Critics of soft actor-critic: several networks of one shape, worked out side by side."""

from __future__ import annotations

from itertools import pairwise

import torch
from torch import Tensor, nn


class Critics(nn.Module):
    """Perceptrons that rate an action in a state, each with weights of its own, in one product of matrices a layer.

    Rectifiers stand between the layers, after a layer normalisation without weights if that is asked for: it bounds
    values of actions that the replay buffer does not hold (Ball et al. 2023, arXiv:2302.02948, section 4.2).

    Args:
        inputs: numbers of a state and an action.
        hidden: sizes of the hidden layers.
        normalised: whether these are normalised.
        count: networks.
    """

    def __init__(self, inputs: int, hidden: tuple[int, ...], normalised: bool, count: int = 2) -> None:
        super().__init__()
        self.normalised = normalised
        self.weights, self.biases = nn.ParameterList(), nn.ParameterList()
        for before, after in pairwise([inputs, *hidden, 1]):
            bound = before**-0.5  # as torch's linear layers begin
            for parts, shape in ((self.weights, (count, before, after)), (self.biases, (count, 1, after))):
                parts.append(nn.Parameter((2.0 * torch.rand(shape) - 1.0) * bound))

    def forward(self, states: Tensor, actions: Tensor, frozen: bool = False) -> Tensor:
        """Return the values of actions, shape (count, batch).

        Args:
            states: standardised observations, shape (batch, observations).
            actions: from -1 to 1, shape (batch, actions).
            frozen: whether gradients pass by the weights, and reach the actions alone.
        """
        x = torch.cat([states, actions], dim=1).expand(len(self.weights[0]), -1, -1)
        for k, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            if k:
                x = (nn.functional.layer_norm(x, x.shape[-1:]) if self.normalised else x).relu_()
            x = torch.baddbmm(bias.detach(), x, weight.detach()) if frozen else torch.baddbmm(bias, x, weight)
        return x.squeeze(-1)

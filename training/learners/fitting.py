"""Fits of small networks to demonstrated actions: the part that cloning and imitation share."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from pbd_gym.runtime.checks import whole
from pbd_gym.training.agents.perceptrons import BETWEEN, arrays_of, linear_layers, set_layers
from pbd_gym.training.agents.pointing import MORE, Pointing
from pbd_gym.training.agents.policies import MLPPolicy
from pbd_gym.training.settings.algorithms import Activation
from pbd_gym.training.settings.imitation import FitArgs
from pbd_gym.training.symmetry.canonical import Canonical
from pbd_gym.training.symmetry.images import Images

LEAST_SPREAD = 1e-3
"""Smallest standard deviation by which observations are divided, so that constants are not magnified."""
LIMIT = 5.0
"""Limit to which standardised observations are clipped: there are no demonstrations beyond."""


def new_network(inputs: int, hidden: tuple[int, ...], outputs: int, activation: Activation) -> nn.Sequential:
    """Return a network with the activation after each hidden layer."""
    layers: list[nn.Module] = []
    for before, after in pairwise([inputs, *hidden, outputs]):
        layers += [nn.Linear(before, after), BETWEEN[activation]()]
    return nn.Sequential(*layers[:-1])


def miss(outputs: Tensor, actions: Tensor) -> Tensor:
    """Return the mean squared error of outputs that are clipped to [-1, 1] when they act, one number.

    An output beyond a limit does as well as one at it, so a network need not bend to stop there, and an agent that is
    fitted to what it does itself stays as it is.
    """
    beyond = ((actions >= 1.0) & (outputs > 1.0)) | ((actions <= -1.0) & (outputs < -1.0))
    return torch.where(beyond, 0.0, outputs - actions).square().mean()


def aim(outputs: Tensor, lessons: Tensor, pointing: Pointing) -> Tensor:
    """Return the loss of outputs against lessons of :class:`pbd_gym.training.agents.pointing.Pointing`, one number."""
    rows, meant = outputs.view(-1, pointing.outputs), lessons.view(-1, 1 + MORE)
    scores, grips, motion = rows.split([pointing.targets, 1, MORE - 1], dim=1)
    choice = nn.functional.cross_entropy(scores, meant[:, 0].long())
    closed = nn.functional.binary_cross_entropy_with_logits(grips[:, 0], meant[:, 1])
    off = motion - meant[:, 2:]
    if pointing.full_speed:
        return choice + closed + (off[:, 1] ** 2).mean()
    # The speed of a hand that stays is undefined.
    goes = torch.stack([meant[:, 0] > 0.0, torch.ones_like(meant[:, 0])], dim=1)
    return choice + closed + ((off * goes) ** 2).mean()


def fit(
    observations: np.ndarray,
    actions: np.ndarray,
    args: FitArgs,
    scale: tuple[np.ndarray, np.ndarray],
    start: MLPPolicy | None = None,
    images: Images | None = None,
    pointing: Pointing | None = None,
) -> nn.Sequential:
    """Return a network fitted to map standardised observations to actions, by :func:`miss`, on the CPU.

    If hands point, it is fitted to choose their targets, by the cross entropy, and to close them.

    It begins with the weights of ``start``, or new ones.

    Args:
        observations: shape (steps, size), float32.
        actions: shape (steps, actions), float32.
        args: settings of the fit.
        scale: mean and standard deviation that observations are standardised by, shape (size,) each.
        start: policy to start from, of the shape given by ``args``; None for a new one.
        images: if given, on the device of ``args``, each epoch shows a random image of each step.
        pointing: meaning of the outputs if hands point.

    Raises:
        ValueError: for no epochs, or empty batches.
    """
    whole("epochs", args.epochs, 1), whole("batch_size", args.batch_size, 1)
    torch.manual_seed(args.seed)
    device = torch.device(args.device)
    x = torch.as_tensor(observations, device=device)
    y = torch.as_tensor(actions if pointing is None else pointing.lessons(observations, actions), device=device)
    mean, spread = (torch.as_tensor(part, dtype=x.dtype, device=device) for part in scale)
    random = torch.Generator(device).manual_seed(args.seed)
    outputs = y.shape[1] if pointing is None else len(pointing.hands) * pointing.outputs
    network = new_network(x.shape[1], args.hidden, outputs, args.activation)
    if start is not None:
        set_layers(linear_layers(network, BETWEEN[args.activation]), start)
    network.to(device)
    steps = args.epochs * (-(-len(x) // args.batch_size))
    optimizer = torch.optim.Adam(network.parameters(), args.learning_rate, fused=True)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
    for epoch in range(args.epochs):
        total = torch.zeros((), dtype=torch.float64, device=device)
        for rows in torch.randperm(len(x), device=device).split(args.batch_size):
            seen, done = images(x[rows], y[rows], random) if images else (x[rows], y[rows])
            noise = args.jitter * torch.randn(len(rows), x.shape[1], device=device)
            features = ((seen - mean) / spread).clamp(-LIMIT, LIMIT) + noise
            found = network(features)
            loss = miss(found, done) if pointing is None else aim(found, done, pointing)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
            total += loss.detach() * len(rows)
        if epoch % 10 == 9 or epoch == args.epochs - 1:
            print(
                f"epoch {epoch + 1:4}   {'mean squared error' if pointing is None else 'loss'} {total / len(x):.4f}",
                flush=True,
            )
    return network.cpu()


def fitted_policy(
    env_id: str,
    env_kwargs: dict[str, Any],
    observations: np.ndarray,
    actions: np.ndarray,
    args: FitArgs,
    start: MLPPolicy | None = None,
    images: Images | None = None,
    canonical: Canonical | None = None,
    pointing: Pointing | None = None,
) -> MLPPolicy:
    """Return a policy fitted to actions.

    Args:
        env_id: environment of the actions.
        env_kwargs: its arguments.
        observations: shape (steps, size), float32.
        actions: shape (steps, actions), float32.
        args: settings of the fit.
        start: policy to start from, which has seen some of the data before; observations are standardised as for it.
        images: if given, it also learns from images of the steps under the symmetries of the task.
        canonical: if given, it acts in canonical images.
        pointing: if given, its hands point.
    """
    if canonical is not None:
        chosen = canonical.choose(observations)
        observations, actions = canonical.observations(observations, chosen), canonical.actions(actions, chosen)
    if start is not None:
        mean, spread = start.mean, start.spread
    else:
        seen = observations
        if images is not None:
            device = torch.device(args.device)
            random = torch.Generator(device).manual_seed(args.seed)
            shown, done = (torch.as_tensor(one, device=device) for one in (observations, actions))
            seen = images(shown, done, random)[0].numpy(force=True)
        mean, spread = seen.mean(axis=0), np.maximum(seen.std(axis=0), LEAST_SPREAD)
    network = fit(observations, actions, args, (mean, spread), start, images, pointing)
    layers = arrays_of(linear_layers(network, BETWEEN[args.activation]))
    return MLPPolicy(
        env_id, env_kwargs, *layers, mean, spread, LIMIT,
        activation=args.activation, canonical=canonical, pointing=pointing,
    )  # fmt: skip

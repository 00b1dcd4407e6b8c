"""Canonical images of tensors: what :class:`Canonical` does to arrays, on the device where observations are."""

from __future__ import annotations

import torch
from torch import Tensor

from pbd_gym.training.symmetry.canonical import REACH, Canonical


class CanonicalTensors:
    """Canonical images, with nothing that waits for the device.

    Args:
        canonical: the images.
        device: of observations and actions.
    """

    def __init__(self, canonical: Canonical, device: torch.device) -> None:
        def numbers(array: object, dtype: torch.dtype) -> Tensor:
            return torch.as_tensor(array, device=device).to(dtype)

        self._seen_index = numbers(canonical.seen_index, torch.int64)
        self._seen_sign = numbers(canonical.seen_sign, torch.float32)
        self._done_index = numbers(canonical.done_index, torch.int64)
        self._done_sign = numbers(canonical.done_sign, torch.float32)
        self._terms = list(zip(canonical.terms.tolist(), canonical.weights.tolist(), strict=True))
        self._places = canonical.places.tolist()

    def choose(self, observations: Tensor) -> Tensor:
        """Return the index of the canonical image, int64, shape (num_envs,), for observations (num_envs, size)."""
        # In double precision, as for arrays: images that are nearly as good must not change places.
        images = observations.double()[:, self._seen_index] * self._seen_sign
        score = images.new_zeros(images.shape[:2])
        for (first, second), weight in self._terms:
            for axis in range(3):
                value = images[:, :, first + axis]
                if second >= 0:
                    value = value - images[:, :, second + axis]
                score += weight * value * value
        return score.argmax(dim=-1)

    def observations(self, observations: Tensor, chosen: Tensor) -> Tensor:
        """Return images of observations, with the nearness of hands, shape (num_envs, canonical.size)."""
        image = observations.gather(1, self._seen_index[chosen]) * self._seen_sign[chosen]
        parts = [image]
        for place, more, hand in self._places:
            away = image[:, place : place + 3]
            if more >= 0:
                away = away + image[:, more : more + 3]
            if hand >= 0:
                away = away - image[:, hand : hand + 3]
            parts.append((away / REACH).clamp(-1.0, 1.0))
        return torch.cat(parts, dim=1)

    def actions_back(self, images: Tensor, chosen: Tensor) -> Tensor:
        """Return the actions that have these images, shape (num_envs, actions)."""
        return torch.empty_like(images).scatter_(1, self._done_index[chosen], images * self._done_sign[chosen])

"""Canonical images of equivalent situations: an agent that acts in them has 16 times less to learn about a towel.

It sees the canonical image of a situation, and its action there is transformed back. So in the mirror image of a
situation it does exactly the mirror image of its action, even if a goal was only seen mirrored during training. Kaba et
al. 2023, "Equivariance with learned canonicalization functions", arXiv:2211.06489; here the canonical image is not
learned but defined.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from pbd_gym.training.symmetry.columns import shown_columns
from pbd_gym.training.symmetry.row_maps import stacked, stacked_maps

HALVED = 0.5
"""Ratio of the weight of each keypoint's distance from its goal to that of the previous keypoint."""
REACH = 0.03
"""Distance at which a hand's neighbourhood counts as far away [m]."""
NEARER = 0.05
"""Ratio of the weight of hand 0's distance from keypoint 0 to that of the keypoint from its goal."""


@dataclass(frozen=True)
class Canonical:
    """Choice of an observation's canonical image, and the transformation of its actions back to the world.

    It is the image whose sum of ``weights[k]`` times the square of vector ``terms[k, 0]``, less vector ``terms[k, 1]``,
    is highest. After the image an agent may see the vectors from hands to nearby points: each coordinate from -1 to 1,
    which correspond to :data:`REACH`. Hands grasp within millimetres, on a towel of half a metre.
    """

    seen_index: np.ndarray
    """Source index in an observation of each number of an image, shape (images, size), int."""
    seen_sign: np.ndarray
    """Signs of these, 1 or -1, shape (images, size), int."""
    done_index: np.ndarray
    """Source index in an action of each number of its image, shape (images, actions), int."""
    done_sign: np.ndarray
    """Signs of these, 1 or -1, shape (images, actions), int."""
    terms: np.ndarray
    """First columns of three-component vectors in an observation, shape (terms, 2), int; the second is -1 for the zero
    vector.
    """
    weights: np.ndarray
    """Shape (terms,), float32."""
    places: np.ndarray
    """Places that something may be near, shape (places, 3), int: columns of a vector, of one that is added, and of the
    hand that is there, or whose position is subtracted; -1 for the zero vector.
    """

    @property
    def size(self) -> int:
        """Number of values that an agent sees."""
        return self.seen_index.shape[1] + 3 * len(self.places)

    def choose(self, observations: np.ndarray) -> np.ndarray:
        """Return the index of the canonical image, int, shape (...), for observations of shape (..., size)."""
        x = np.asarray(observations, dtype=np.float64)
        score = np.zeros((*x.shape[:-1], len(self.seen_index)))
        for (first, second), weight in zip(self.terms.tolist(), self.weights.tolist(), strict=True):
            for axis in range(3):
                value = x[..., self.seen_index[:, first + axis]] * self.seen_sign[:, first + axis]
                if second >= 0:
                    value = value - x[..., self.seen_index[:, second + axis]] * self.seen_sign[:, second + axis]
                score += weight * value * value
        return np.asarray(score.argmax(axis=-1))

    def observations(self, observations: np.ndarray, chosen: np.ndarray) -> np.ndarray:
        """Return images of observations of shape (..., size), with the nearness of hands, shape (..., self.size)."""
        image = np.take_along_axis(observations, self.seen_index[chosen], -1) * self.seen_sign[chosen]
        parts = [image]
        for place, more, hand in self.places.tolist():
            away = image[..., place : place + 3]
            if more >= 0:
                away = away + image[..., more : more + 3]
            if hand >= 0:
                away = away - image[..., hand : hand + 3]
            parts.append(np.clip(away / REACH, -1.0, 1.0))
        return np.concatenate(parts, axis=-1, dtype=observations.dtype)

    def actions(self, actions: np.ndarray, chosen: np.ndarray) -> np.ndarray:
        """Return images of actions, shape (..., actions)."""
        moved = np.take_along_axis(actions, self.done_index[chosen], -1)
        return np.asarray(moved * self.done_sign[chosen], dtype=actions.dtype)

    def actions_back(self, images: np.ndarray, chosen: np.ndarray) -> np.ndarray:
        """Return the actions that have these images, shape (..., actions)."""
        found = np.empty_like(images)
        np.put_along_axis(found, self.done_index[chosen], images * self.done_sign[chosen], -1)
        return found


def check_canonical(canonical: Canonical, size: int, actions: int) -> None:
    """Check the canonical images in a file.

    Args:
        canonical: images in the file. size: size of an observation. actions: size of an action.

    Raises:
        ValueError: for arrays that do not fit together, or an invalid image.
    """
    images, terms, places = (
        len(np.atleast_1d(part)) for part in (canonical.seen_index, canonical.weights, canonical.places)
    )
    observations = size - 3 * places
    for name, count in (("seen", observations), ("done", actions)):
        index, sign = (getattr(canonical, f"{name}_{what}") for what in ("index", "sign"))
        if index.shape != (images, count) or not (np.sort(index, axis=1) == np.arange(count)).all():
            raise ValueError(f"canonical {name}_index must hold 0 to {count - 1} once in each of {images} rows")
        if sign.shape != index.shape or not (np.abs(sign) == 1).all():
            raise ValueError(f"canonical {name}_sign must be -1 or 1, with shape {index.shape}")
    if canonical.weights.shape != (terms,) or not np.isfinite(canonical.weights).all():
        raise ValueError("canonical weights must be finite numbers in a row")
    for name, shape in (("terms", (terms, 2)), ("places", (places, 3))):
        columns = getattr(canonical, name)
        if columns.shape != shape or columns.dtype.kind != "i":
            raise ValueError(f"canonical {name} must be columns, with shape {shape}, got {columns.shape}")
        low = np.where(np.arange(shape[1]) > 0, -1, 0)  # all but the first vector may be none
        if (columns < low).any() or (columns >= observations - 2).any():
            raise ValueError(f"canonical {name} must be columns of vectors of three numbers in an observation")


def canonical_images(batch: Any, turned: bool = True) -> Canonical:
    """Return the canonical images of a task: keypoints that come first are farthest from their goals.

    Hands are shown near to keypoints and to the goals of these, and keypoints near to their own. With
    ``obs_mode="memory"`` the keypoints are those at the time when the hands last grasped or released something: until
    they do so again the image does not change. Hand 0 is the one now nearer to the first keypoint.

    Args:
        batch: environments of a task with symmetries and with goals.
        turned: whether to transform; otherwise the agent sees the world as it is, and the nearness of hands. Then the
        task needs no symmetries.

    Raises:
        ValueError: for a task without them, and as :func:`pbd_gym.training.symmetry.row_maps.row_maps` does.
    """
    sizes = (batch.observations.size, batch.actions.size)
    of_observations, of_actions = stacked_maps(batch) if turned else map(stacked, sizes)
    columns = shown_columns(batch)
    if not columns.offsets:
        raise ValueError(f"{batch.spec.id} shows no goals, which determine the canonical image")
    offsets = columns.offsets.values()
    terms = [(columns.remembered + offset, -1, HALVED**k) for k, offset in enumerate(offsets)]
    if len(columns.hands) > 1:
        terms.append((columns.hands[0], 0, -NEARER))
    near = [(point, -1) for point in columns.points.values()]
    near += [(columns.points[one], offset) for one, offset in columns.offsets.items() if one in columns.points]
    places = [(*vectors, hand) for hand in columns.hands for vectors in near]
    places += [(offset, -1, -1) for offset in offsets]
    *vectors_of_terms, weights = zip(*terms, strict=True)
    return Canonical(
        of_observations.index.astype(np.int16), of_observations.sign.astype(np.int8),
        of_actions.index.astype(np.int16), of_actions.sign.astype(np.int8),
        np.array(vectors_of_terms, dtype=np.int16).T.copy(), np.array(weights, dtype=np.float32),
        np.array(places, dtype=np.int16).reshape(-1, 3),
    )  # fmt: skip

"""Checks of arguments: what passes, what is refused, and what errors say."""

from typing import Any

import numpy as np
import pytest

from pbd_gym.runtime.checks import finite, image_size, integers, number, shaped, whole

NOT_NUMBERS: list[Any] = ["1", None, True, [1], (1, 2), {}, 1j, np.array([1.0]), object()]


@pytest.mark.parametrize("value", [*NOT_NUMBERS, 1.5, np.float32(1.0)])
def test_whole_refuses(value: Any) -> None:
    with pytest.raises(TypeError, match="rows must be a whole number"):
        whole("rows", value, 0)


def test_whole_is_bounded() -> None:
    """Guards 32 bits: 2**32 + 3 would count as 3."""
    assert whole("rows", np.int64(2**31 - 1), 0) == 2**31 - 1
    for value, words in ((2**31, "at most 2147483647"), (2**32 + 3, "at most"), (-1, "at least 0")):
        with pytest.raises(ValueError, match=f"rows must be {words}"):
            whole("rows", value, 0)


@pytest.mark.parametrize("value", NOT_NUMBERS)
def test_number_refuses(value: Any) -> None:
    with pytest.raises(TypeError, match="mass must be a number"):
        number("mass", value)


@pytest.mark.parametrize("value", [3, 3.0, np.float32(3.0), np.int8(3), np.array(3.0)])
def test_number_takes(value: Any) -> None:
    found = number("mass", value)
    assert type(found) is float and found == 3.0


@pytest.mark.parametrize(
    ("value", "bounds", "words"),
    [
        (np.nan, {}, "must be finite, got nan"),
        (-np.inf, {}, "must be finite, got -inf"),
        (1e300, {}, "must be finite"),
        (-1, {"least": 0.0}, "finite and not negative, got -1"),
        (2.0, {"most": 1.0}, "at most 1, got 2"),
        (0.0, {"positive": True}, "finite and above zero, got 0"),
        (np.nan, {"positive": True}, "finite and above zero, got nan"),
    ],
)
def test_number_is_bounded(value: float, bounds: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=f"mass must be .*{words.removeprefix('must be ')}"):
        number("mass", value, **bounds)


@pytest.mark.parametrize("value", ["1.5", None, [None, 1.0], [True], 1j, ["1", "2"]])
def test_arrays_of_numbers_only(value: Any) -> None:
    """Guards against NumPy's kindness, which reads numbers from strings and NaN from None."""
    with pytest.raises(TypeError, match="mass must be real numbers"):
        finite("mass", value, (2,))


@pytest.mark.parametrize("value", [np.nan, [1.0, np.inf], 1e300, [[1.0], [1.0, 2.0]], np.zeros(3)])
def test_arrays_are_finite_and_fit(value: Any) -> None:
    with pytest.raises(ValueError, match="mass must"):
        finite("mass", value, (2,))


def test_shapes() -> None:
    given = np.ones((4, 3))
    found = shaped("points", given, (-1, 3))
    found[...] = 0.0
    assert (given == 1.0).all()  # a copy
    for wrong in (np.ones((4, 2)), np.ones(3), 1.0):
        with pytest.raises(ValueError, match=r"points must have shape \(-1, 3\)"):
            shaped("points", wrong, (-1, 3))


@pytest.mark.parametrize("value", [[1.0], [True], None, "1", [[1], [1, 2]], [2**31], [-(2**31) - 1]])
def test_integers_refuses(value: Any) -> None:
    with pytest.raises(ValueError, match="rows must be"):
        integers("rows", value)


def test_picture_sizes() -> None:
    assert image_size(64) == (64, 64) and image_size([np.int64(32), 64]) == (32, 64)
    for wrong in (0, (64, -1), (1, 2, 3), 10**9):
        with pytest.raises(ValueError, match="size"):
            image_size(wrong)
    for bad in ("64", 64.0, (64, "64"), None, True):
        with pytest.raises(TypeError, match="size"):
            image_size(bad)

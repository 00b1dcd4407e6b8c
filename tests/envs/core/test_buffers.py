"""What experts read, where each read is a transfer from a GPU."""

from __future__ import annotations

import numpy as np
import warp as wp

from pbd_gym.envs.core.data.buffers import Buffers


def test_still_buffers_are_fetched_once() -> None:
    """Guards scripts on a GPU, which look at one environment after the other: of what is written they see the new."""
    buffers = Buffers(3, wp.get_device("cpu"))
    buffers.add("one")
    buffers._views.clear()  # as on CUDA, where arrays have no views
    assert buffers.peek("one") is not buffers.peek("one")
    with buffers.still():
        first = buffers.peek("one")
        with buffers.still():
            assert buffers.peek("one") is first
        assert buffers.peek("one") is first
        buffers.write("one", [1.0, 2.0, 3.0])
        np.testing.assert_array_equal(buffers.peek("one"), [1.0, 2.0, 3.0])
    assert buffers.peek("one") is not buffers.peek("one")

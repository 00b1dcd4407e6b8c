"""Recordings: work on fixed tensors and arrays, launched from Python once and replayed from then on.

On a GPU a launch takes Python longer than many a kernel runs. What a CUDA graph replays, torch's kernels and Warp's
alike, Python launches only once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import warp as wp

WARM = 2
"""Calls before the one that is recorded. They load kernels, and libraries choose theirs."""


class Recording:
    """A function that becomes a CUDA graph when it is called for the third time; on a CPU it stays a function.

    It takes and returns nothing. It reads and writes tensors and Warp arrays that stay where they are, and must not
    wait for the device, nor depend on what Python alone knows and changes from call to call: a replay does the same
    launches on the same memory. Random numbers are to be drawn before.

    Args:
        function: what is done.
        device: of the work, a ``torch.device``.
    """

    def __init__(self, function: Callable[[], None], device: Any) -> None:
        self.function, self.device = function, device
        self._calls = 0
        self._graph: Any = None

    def __call__(self) -> None:
        """Do the work."""
        if self.device.type != "cuda":
            self.function()
            return
        if self._graph is None and self._calls >= WARM:
            self._graph = self._record()
        if self._graph is not None:
            self._graph.replay()
            return
        self._calls += 1
        with _own_stream(self.device):
            self.function()

    def _record(self) -> Any:
        import torch

        graph = torch.cuda.CUDAGraph()
        stream = torch.cuda.Stream(self.device)
        # Warp sees that the stream is being captured, and puts its launches into the graph too. While it is, neither
        # may wait for other streams.
        warp_too = wp.ScopedStream(wp.stream_from_torch(stream), sync_enter=False)
        with torch.cuda.device(self.device), torch.cuda.graph(graph, stream=stream), warp_too:
            self.function()
        return graph


@contextmanager
def _own_stream(device: Any) -> Iterator[None]:
    """Let torch and Warp work on one stream that is not the default one, as what is recorded does."""
    import torch

    stream = torch.cuda.Stream(device)
    before = torch.cuda.current_stream(device)
    stream.wait_stream(before)
    with torch.cuda.stream(stream), wp.ScopedStream(wp.stream_from_torch(stream), sync_exit=True):
        yield
    before.wait_stream(stream)

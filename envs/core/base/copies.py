"""Environments that pickle and deep-copy in the middle of an episode."""

from __future__ import annotations

from typing import Any

_KEPT = (
    *("spec", "closed", "np_random", "_np_random_seed"),
    *("action_space", "observation_space", "single_action_space", "single_observation_space"),
)
"""What an environment keeps besides its arguments and its state: who made it, and its streams of random numbers."""


class Copied:
    """An environment that is copied by being made anew from its arguments and put into the same state.

    A copy goes on as the original does, bit for bit, on the same device. What belongs to this process stays behind:
    device memory, prepared launches and windows. A subclass that keeps more between steps adds it to what
    :meth:`__getstate__` returns, and takes it back in :meth:`__setstate__`.
    """

    _arguments: tuple[tuple[Any, ...], dict[str, Any]]

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        made = super().__new__(cls)
        made._arguments = args, kwargs
        return made

    def save_episode(self) -> Any:
        """Return everything that the episode's future depends on, None before the first reset."""
        raise NotImplementedError

    def load_episode(self, saved: Any) -> None:
        """Take back what :meth:`save_episode` returned, if that is not None."""
        raise NotImplementedError

    def __getstate__(self) -> dict[str, Any]:
        # Reading np_random seeds it if that has not happened: the copy then begins the same first episode.
        kept = {name: getattr(self, name) for name in _KEPT if hasattr(self, name)}
        return {"arguments": self._arguments, "kept": kept, "episode": self.save_episode()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        args, kwargs = self._arguments = state["arguments"]
        type(self).__init__(self, *args, **kwargs)
        for name, value in state["kept"].items():
            setattr(self, name, value)
        self.load_episode(state["episode"])

"""Outputs of a batch: observations, rewards and masked infos, as NumPy arrays or torch tensors."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from pbd_gym.envs.core.data.buffers import Buffers

_RESULTS = {
    "performance": np.float32,
    "normalized_performance": np.float32,
    "is_success": np.bool_,
    "diverged": np.bool_,
}
_CONTACTS = {"contact_overflow": np.int32}
_PIERCINGS = {"piercings": np.int32}
_INVERTED = {"inverted": np.int32}
_FLUID = {"fluid_overflow": np.int32}
_WRENCHES = {"wrenches": np.float32}
_PASSAGES = {"passages": np.int32}


def row(observation: Any, env: Any) -> Any:
    """Return the observation of one environment, from an array or a dict of arrays."""
    return {k: v[env] for k, v in observation.items()} if isinstance(observation, dict) else observation[env]


def plain(values: Any) -> Any:
    """Return one number as a Python number, or a copy of an array of several."""
    return values.item() if values.ndim == 0 else values.copy()


def _named(prefix: str, columns: dict[str, int]) -> dict[str, int]:
    return {f"{prefix}/{name}": column for name, column in columns.items()}


class Outputs:
    """Reads results from the buffers, each time into fresh arrays.

    Args:
        buffers: buffers of the results.
        term_names: names of the reward terms, in the order of the columns of ``terms``.
        names: buffers of an observation; several make a dict.
        output: ``"numpy"`` or ``"torch"``.
        contacts: whether particles collide, so that lost contacts are reported.
        piercings: whether edges that go through surfaces are counted.
        solids: whether there are tetrahedra, so that inverted ones are counted. fluid: whether there is fluid, so that
        overflowing neighbours are reported. wrenches: whether forces and torques on colliders are reported, the only
        entry with several numbers. passages: whether passages through cloth and ropes within an action are counted.
        parameters: name and column of each parameter that differs between environments. conditions: flags of the
        conditions for success, if there are more than being at the goal.
    """

    def __init__(
        self,
        buffers: Buffers,
        term_names: tuple[str, ...],
        names: tuple[str, ...],
        output: Literal["numpy", "torch"],
        contacts: bool,
        piercings: bool,
        solids: bool,
        fluid: bool,
        wrenches: bool,
        passages: bool,
        parameters: dict[str, int],
        conditions: tuple[str, ...] = (),
    ) -> None:
        self.buffers = buffers
        self.names = names
        terms = {name: column for column, name in enumerate(term_names)}
        self._columns = {"terms": _named("reward_terms", terms), "parameters": _named("parameters", parameters)}
        """Column of each info, by its name, in a buffer that holds several."""
        flags = dict.fromkeys(conditions, np.bool_)
        optional = (
            (contacts, _CONTACTS), (piercings, _PIERCINGS), (solids, _INVERTED), (fluid, _FLUID), (wrenches, _WRENCHES),
            (passages, _PASSAGES),
        )  # fmt: skip
        found = {name: dtype for there, names in optional if there for name, dtype in names.items()}
        self.results = {**_RESULTS, **flags, **found}
        """Names and dtypes of the results with their own buffers."""
        self.info_names = (*self.results, *self._columns["terms"], *self._columns["parameters"])
        """Names of everything reported for every environment."""
        self.torch: Any = None
        self.waits = True
        """Whether the host waits for the device to see which episodes ended; tensors on CUDA need not."""
        self.everyone: Any = np.ones(buffers.num_envs, dtype=bool)
        """Mask of all environments."""
        if output == "torch":
            import torch

            self.torch = torch
            if buffers.device.is_cuda:
                self.go_on()

    def go_on(self) -> None:
        """Stop waiting for the device: masks become tensors, and entries are present even if a mask is empty."""
        self.waits = False
        self.everyone = self._mask(np.ones(self.buffers.num_envs, dtype=bool))

    def flags(self, name: str) -> Any:
        """Return a buffer as a mask, bool, shape (num_envs,)."""
        return self.buffers.peek(name).astype(bool) if self.waits else self.buffers.tensor(name) != 0

    def array(self, name: str, dtype: Any) -> Any:
        """Return one buffer in the requested dtype (a NumPy scalar type)."""
        if self.torch is None:
            return self.buffers.peek(name).astype(dtype)
        # NumPy's names and torch's are the same but for this one.
        kind = getattr(self.torch, {"bool_": "bool"}.get(dtype.__name__, dtype.__name__))
        return self.buffers.tensor(name).to(kind, copy=True)

    def observation(self) -> Any:
        """Return the observations of all environments: an array (num_envs, ...), or a dict of several by name."""
        read = self.buffers.read if self.torch is None else self.buffers.torch
        if len(self.names) == 1:
            return read(self.names[0])
        return {name: read(name) for name in self.names}

    def info(self, shown: np.ndarray, stepped: np.ndarray) -> dict[str, Any]:
        """Return results by name, with ``_name`` masks as in Gymnasium's vector environments.

        If the host does not wait for the device, all masks are one tensor, since copying it for each would take time.

        Args:
            shown: environments that report something, bool, shape (num_envs,).
            stepped: those among them that have taken a step, bool, shape (num_envs,); the reward terms of others are 0.
        """
        info: dict[str, Any] = {}
        for key, dtype in self.results.items():
            info[key] = self._blank(self.array(key, dtype), shown)
        for (buffer, columns), filled in zip(self._columns.items(), (stepped, shown), strict=True):
            if columns:  # contiguous, since not every library takes a view with strides
                table = self._blank(self.array(buffer, np.float32), filled).T
                rows = np.ascontiguousarray(table) if self.torch is None else table.contiguous()
                info |= {name: rows[column] for name, column in columns.items()}
        if self.waits:
            return info | {f"_{key}": self._mask(shown) for key in info}
        return info | dict.fromkeys([f"_{key}" for key in info], self._mask(shown))

    def final(self, ended: np.ndarray) -> dict[str, Any]:
        """Return ``final_obs`` and ``final_info`` of episodes that have just ended, with their masks.

        In NumPy ``final_obs`` is an object array with None for the others, as in Gymnasium; in torch it is the
        observation of the whole batch before the reset.
        """
        observation = self.observation()
        if self.torch is None:
            rows = np.full(len(ended), None, dtype=object)
            for env in np.flatnonzero(ended):
                rows[env] = row(observation, env)
            observation = rows
        return {
            "final_obs": observation,
            "_final_obs": self._mask(ended),
            "final_info": self.info(ended, ended),
            "_final_info": self._mask(ended),
        }

    def single_info(self, stepped: bool) -> dict[str, Any]:
        """Return the info of a batch of one, as Python numbers and, for several values, as fresh arrays."""
        peek = self.buffers.peek
        info: dict[str, Any] = {key: plain(peek(key)[0].astype(dtype)) for key, dtype in self.results.items()}
        for (buffer, columns), filled in zip(self._columns.items(), (stepped, True), strict=True):
            numbers = peek(buffer)[0]
            info |= {name: float(numbers[column]) if filled else 0.0 for name, column in columns.items()}
        return info

    def _blank(self, values: Any, shown: Any) -> Any:
        """Return values with zeros in the hidden rows."""
        if shown is self.everyone:
            return values
        if not self.waits:
            rows = shown.reshape(-1, *[1] * (values.ndim - 1))
            return self.torch.where(rows, values, self.torch.zeros_like(values))
        if not shown.all():
            values[~self._mask(shown)] = 0
        return values

    def _mask(self, mask: Any) -> Any:
        if self.torch is None:
            return mask.copy()
        if isinstance(mask, self.torch.Tensor):
            return mask.clone()
        return self.torch.as_tensor(mask, device=str(self.buffers.device).replace("cpu:0", "cpu")).clone()

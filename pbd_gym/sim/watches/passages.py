"""Detection of passages through surfaces and ropes within a control step: the bodies checked, and the launches."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import warp as wp

from pbd_gym.kernels.contacts import passages as kernels
from pbd_gym.sim.watches.bodies import find_bodies


class Passages:
    """Counts particles that go through the surface of another body, and rope segments that go through each other.

    Args:
        model: model of the batch.
    """

    def __init__(self, model: Any) -> None:
        scene, self._model = model.scene, model
        bodies = find_bodies(scene)
        owner = bodies.owners(scene.particle_count)
        corners = np.concatenate(
            [np.zeros((0, 3), dtype=np.int64), *(group.indices[group.triangles] for group in scene.particle_contacts)]
        )
        corners = corners[np.argsort(owner[corners[:, 0]], kind="stable")]
        ends = bodies.rope_ends(scene)
        self.watching = bool((len(corners) and bodies.count > 1) or len(ends) > 2)
        """Whether passages are possible: there is a surface and another body, or a rope."""
        self._through = bool(len(corners) and bodies.count > 1)
        starts = [part.start for part in bodies.parts] + [len(bodies.members)]
        arrays = {
            "members": bodies.members,
            "bounds": starts,
            "owner": owner[bodies.members],
            "corners": corners,
            "fans": np.searchsorted(owner[corners[:, 0]], np.arange(bodies.count + 1)),
            "ends": ends,
            "sides": owner[ends[:, 0]],
        }
        with wp.ScopedDevice(model.device):
            given = {
                name: wp.array(np.asarray(array, dtype=np.int32), dtype=wp.int32) for name, array in arrays.items()
            }
            self._arrays: dict[str, Any] = given if self.watching else {}
            slots = model.group_count * model.lanes
            self._boxes = wp.zeros((slots, bodies.count if self.watching else 0, 2), dtype=wp.vec3d)

    def begin(self, state: Any, first: int, count: int) -> Iterator[Any]:
        """Yield the launch that precedes a step.

        Args:
            state: state of the batch.
            first: first group of the launch.
            count: number of groups.
        """
        if self.watching:
            given = [state.positions_scalar, first, state.started]
            yield self._launch(kernels.note_start, (count, self._model.particle_count), given)

    def end(self, state: Any, first: int, count: int) -> Iterator[Any]:
        """Yield the launches that follow a step, with the same arguments."""
        if not self.watching:
            return
        a, lanes = self._arrays, self._model.lanes
        places, rows = [state.positions_scalar, state.started, first * lanes, lanes], count * lanes
        bodies = (rows, len(a["bounds"]) - 1)
        yield self._launch(kernels.find_boxes, bodies, [*places, a["members"], a["bounds"], self._boxes, state.passed])
        if self._through:
            given = [a[name] for name in ("members", "bounds", "owner", "corners", "fans")]
            particles = (rows, len(a["members"]))
            yield self._launch(kernels.count_particles, particles, [*places, *given, self._boxes, state.passed])
        if len(a["ends"]) > 2:
            given = [a["ends"], a["sides"], self._boxes, state.passed]
            yield self._launch(kernels.count_segments, (rows, len(a["ends"])), [*places, *given])

    def _launch(self, kernel: Any, dim: tuple[int, ...], inputs: list[Any]) -> Any:
        return wp.launch(kernel, dim=dim, inputs=inputs, device=self._model.device, record_cmd=True)

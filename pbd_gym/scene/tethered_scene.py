"""Tethers of a scene: to pins that are known beforehand, and to whatever is held or pinned later."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from pbd_gym.constraints.tether import attachments
from pbd_gym.geometry.paths import unfolded_links
from pbd_gym.geometry.trimeshes import TriMesh, groups
from pbd_gym.runtime.checks import number, shaped
from pbd_gym.scene.fluid_scene import FluidScene
from pbd_gym.scene.tethered_body import TetheredBody


class TetheredScene(FluidScene):
    """A scene in which bodies can be tethered; see :class:`pbd_gym.scene.scene.Scene`."""

    def add_grip_tethers(
        self,
        particles: ArrayLike,
        edges: ArrayLike | None = None,
        pattern: ArrayLike | None = None,
        slack: float = 0.0,
    ) -> None:
        """Keep a body together round whatever holds it: grips, from the step on in which they close, and pins.

        No particle of the body gets farther from a particle of it that is held or pinned than the way along the body
        at rest, times the size of the environment, unless a collider catches it. It may come nearer. Where two hands
        are farther apart than the body between them, all tethers of that environment grow in proportion: it stretches
        evenly, to a few percent, and nothing tears. The hands then also feel what tethers carry: more than the
        material pulls with by itself.

        It costs next to nothing while nothing is held; otherwise a few operations for each particle and anchor in every
        iteration. Of more than eight pins, the eight have tethers that are farthest from one another; for pins that
        never change :meth:`add_tethers` is an alternative. The order of constraints in an iteration is: these, then
        constraints by kind, lines last, and these again where hands are too far apart by more than a percent.

        Args:
            particles: the body, shape (k,), int, one number after the other, as builders return them.
            edges: pairs of its particles along which the material reaches, shape (m, 2), int; by default those of the
                distance constraints and lines.
            pattern: places in its pattern [m], shape (k, 2), if that is flat and convex: the way between two particles
                is then a straight line in it. Otherwise ways are the shortest ones along edges, in a table of k x k
                numbers that all environments share.
            slack: how much longer than the way a tether is, as a share of it; not negative.

        Raises:
            TypeError: for anything but numbers.
            ValueError: for particles that do not exist, do not follow one another or have tethers already, edges that
                leave the body, a body in several pieces, one of more than 8,192 particles without a pattern, a pattern
                of another shape, or a slack that is negative or not finite.
        """
        number("slack", slack, 0.0)
        members = self._check_indices(np.reshape(particles, (-1, 1)), 1)[:, 0]
        count = len(members)
        if not count or (np.diff(members) != 1).any():
            raise ValueError("particles of a tethered body must be numbers that follow one another, at least one")
        first = int(members[0])
        for body in self.tethered_bodies:
            if first < body.first + body.count and body.first < first + count:
                raise ValueError(f"particles {max(first, body.first)} and on have tethers already")
        if edges is None:
            pairs, lengths = self._lengths()
            inside = ((pairs >= first) & (pairs < first + count)).all(axis=1)
            pairs, lengths = pairs[inside], lengths[inside]
        else:
            pairs = self._check_indices(edges, 2)
            if len(pairs) and (pairs.min() < first or pairs.max() >= first + count):
                raise ValueError("edges of a tethered body must join two of its own particles")
            lengths = np.linalg.norm(self.positions[pairs[:, 0]] - self.positions[pairs[:, 1]], axis=1)
        places = None if pattern is None else shaped("pattern", pattern, (count, 2))
        at_rest = self.positions[members].copy()
        self.tethered_bodies.append(TetheredBody(first, at_rest, pairs - first, lengths, places, float(slack)))

    def _tethered_mesh(self, mesh: TriMesh) -> list[TetheredBody]:
        """Return the body that a mesh will be, so that what is wrong with it shows before anything is added."""
        edges = mesh.edges()
        lengths = np.linalg.norm(mesh.positions[edges[:, 0]] - mesh.positions[edges[:, 1]], axis=1)
        links, across = unfolded_links(mesh.positions, mesh.hinges())
        edges, lengths = np.concatenate([edges, links]), np.concatenate([lengths, across])
        return [TetheredBody(self.particle_count, mesh.positions, edges, lengths)]

    def add_tethers(
        self,
        anchors: ArrayLike | None = None,
        edges: ArrayLike | None = None,
        slack: float = 0.0,
        compliance: ArrayLike = 0.0,
    ) -> np.ndarray:
        """Keep particles as near to where they hang as the material allows, however few iterations there are.

        Each particle gets a tether to the nearest anchor of each group of neighbouring anchors that it hangs on; see
        :mod:`pbd_gym.constraints.tether`. Add what is to be tethered first, and pin it.

        Args:
            anchors: particles that are fixed, shape (a,), int; by default all that are pinned.
            edges: pairs of particles along which the material reaches, shape (m, 2), int; their length is that now.
                By default those of the distance constraints and lines, with their rest lengths.
            slack: how much longer than the way along the material a tether is, as a share of it; not negative.
            compliance: inverse stiffness of the tethers [m/N]; 0 is rigid.

        Returns:
            Anchor and particle of each tether, shape (k, 2), int32.

        Raises:
            ValueError: for particles that do not exist, no anchor, one that is named and that no edge leads from, no
                edges, edges that are named and that no way joins to an anchor, or a slack that is negative or not
                finite.
        """
        number("slack", slack, 0.0)
        fixed = np.flatnonzero(self.inv_mass == 0) if anchors is None else np.asarray(anchors)
        fixed = self._check_indices(np.reshape(fixed, (-1, 1)), 1)[:, 0]
        if not len(fixed):
            raise ValueError("tethers need anchors: pin particles first, or name some")
        if edges is None:
            pairs, lengths = self._lengths()
        else:
            pairs = self._check_indices(edges, 2)
            lengths = np.linalg.norm(self.positions[pairs[:, 0]] - self.positions[pairs[:, 1]], axis=1)
        if anchors is not None:
            joined = np.unique(pairs)
            apart = fixed[~np.isin(fixed, joined)]
            if len(apart):
                raise ValueError(
                    f"the cloth is cut at anchor {apart[0]}: no edge leads from it, so nothing can hang on it"
                )
        if edges is not None:
            piece = groups(self.particle_count, pairs)
            loose = pairs[~np.isin(piece[pairs[:, 0]], piece[fixed])]
            if len(loose):
                raise ValueError(f"no anchor holds the edge {tuple(loose[0].tolist())}: no way along edges leads there")
        found, ways = attachments(self.particle_count, pairs, lengths, fixed)
        if len(found):
            self.add_constraints("tether", found, compliance=compliance, rest_length=(1.0 + slack) * ways)
        return found

    def _lengths(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the pairs of particles that the material keeps at a length, shape (m, 2), and the lengths [m]."""
        pairs, lengths = [np.zeros((0, 2), dtype=np.int32)], [np.zeros(0)]
        if "distance" in self.constraints:
            batch = self.constraints["distance"]
            pairs, lengths = [*pairs, *batch.indices], [*lengths, *batch.values["rest_length"]]
        if "line" in self.constraints:
            batch = self.constraints["line"]
            ends = np.cumsum([len(line) for line in batch.indices]) - 1
            pairs += [np.stack([line[:-1], line[1:]], axis=1) for line in batch.indices]
            lengths.append(np.delete(np.concatenate(batch.values["rest_length"]), ends))
        found = np.concatenate(pairs)
        if not len(found):
            raise ValueError("tethers need edges: add distance constraints or lines first, or name edges")
        return found, np.concatenate(lengths)

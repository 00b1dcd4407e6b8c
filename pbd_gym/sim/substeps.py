"""Number of substeps that the bodies of a scene need.

One sweep per substep solves the constraints one after another, each for the motion left by those before it. Let a body
rest under forces f along its constraints. Each substep moves particles by gravity and the sweep takes them back, so
constraint j meets ``C_j + h^2 sum_(i >= j) A_ji f_i``, with ``A = J M^-1 J^T`` and the sum over those still to come,
itself included. It responds with ``h^2 (A_jj + compliance_j / h^2) f_j``. Hence

    C_j = -compliance_j f_j + h^2 sum_(i > j) A_ji f_i .

Where forces vary smoothly, all of ``A f`` is small, and half of its off-diagonal part is still to come. The body
therefore hangs as if every compliance were larger by ``h^2 w_j / 2``, with ``w_j = A_jj``, the sum of ``|grad C_j|^2 /
m`` over its particles. The solver subtracts this from the compliance, as far as there is any
(``Solver(compensate=True)``, and where substeps suffice): up to ``h^2 w / 2 = compliance`` forces and periods
are those of the material, and beyond that the body is as soft as ``h^2 w / 2``. A particle that a constraint shares
with no other of its kind has nothing still to come, and does not count.

That error sets the limits:

* **softening** ``h^2 w / (2 compliance)``: the share by which one sweep makes the body softer than its material, before
  compensation. For threads of flexural rigidity D, mass w per area and spacing l it is ``3 D h^2 / (w l^4)``. Where it
  is a fifth, springs are right to 0.2 %, and tetrahedra, which are lighter in corners than inside, to 1 or 2 %.
* **plates**: contacts act after the sweep. A body pressed by a plate is moved into it by the sweep, and less is left to
  resist with. This softens solids too, more so with fewer layers between two plates: by about
  ``3 / layers`` of their softening.
* **stretch**: bodies so stiff that their stretch is invisible, such as the threads of a weave, may be softened far
  more. A body of length L with particles l apart that hangs by one end lengthens by ``h^2 g L / (2 l^2)``, on average,
  whatever it weighs.

Damping does not move a body at rest: it comes after the sweep, constraint by constraint, each for the velocities left
by those before it. By the same argument it is weaker than its nominal value by ``1 / (1 + h tau w / (2 compliance))``,
tau being the damping time (:func:`damping_limit`).

Lines solve a whole thread at once: nothing inside them is still to come, and they need no more substeps. The diagonals
of a weave whose threads are lines carry no weight, so their softening is invisible; but they resist a pull along the
bias.

Both limits apply if forces must be those of the material. If looks are enough, the laxer one suffices
(``forces=False``). A rigid constraint has no force to get right: it only has to keep its length.

Hands that drag cloth past other layers faster than about 0.4 m/s need more: in a substep, the held particle must not go
far into the thickness of a layer, or it comes out on the other side.

docs/accuracy.md shows measurements. XPBD: Macklin et al. 2016, doi:10.1145/2994258.2994272; one sweep per substep:
Macklin et al. 2019, doi:10.1145/3309486.3340247.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from pbd_gym.constraints import kinds
from pbd_gym.constraints.kind import Kind
from pbd_gym.constraints.tether import geodesics
from pbd_gym.geometry.trimeshes import groups
from pbd_gym.kernels.native import constant
from pbd_gym.runtime.checks import instance, number, switch
from pbd_gym.scene.scene import Scene
from pbd_gym.sim.traced import TracedKind
from pbd_gym.sim.upload.contacts import may_lean

LONGEST = 2.5e-3
"""Longest substep of any body [s]: contacts and fast motion require it."""
SHORTEST = 5e-5
"""Shortest substep that bodies can require [s]: the effect of a shorter one is lost in float32's rounding."""
SOFTENING = 0.2
"""Share by which one sweep may soften a body before compensation."""
PLATES = 0.0075
"""Share by which one sweep may soften solids pressed between two colliders, for each layer of their elements: 2 %
softer then.
"""
SOFTER = 0.1
"""Share by which a body may be softer than its material before a solver warns."""
WEAKENING = 0.25
"""Share by which damping may be weaker than its damping time implies."""
STRETCH = 0.025
"""Largest mean lengthening of a body that hangs by one end."""
YIELD = constant("YIELD")
"""Largest ``h^2 g n / l`` of a rope with lines that collides, n particles l apart: what hangs over another yields to
more.
"""
ADVANCE = 0.2
"""Share of a thickness that fast hands may move in a substep."""
_JITTER = 1e-3
"""Perturbation of a constraint's rest shape, as a share of its extent, since some have no gradient at rest."""


@dataclass(frozen=True)
class SubstepLimit:
    """Longest substeps for some constraints of a body."""

    kind: str
    label: str
    """One of the scene's stiffness labels."""
    particle: int
    """First particle of the body."""
    softening: float
    """Longest substep by softening [s]; infinite if nothing softens."""
    stretch: float
    """Longest substep by stretch [s]; 0 for constraints that keep no lengths, infinite if lines carry the weight."""

    @property
    def longest(self) -> float:
        """Longest substep with which it looks right [s]: meeting one of the two is enough."""
        return max(self.softening, self.stretch)

    @property
    def exact(self) -> float:
        """Longest substep with which its forces are right too [s]; as :attr:`longest` if nothing is compliant."""
        return self.softening if self.softening > 0.0 else self.longest


def substep_limits(scene: Scene, softening: float = SOFTENING, stretch: float = STRETCH) -> list[SubstepLimit]:
    """Return the substep limits of each body, strictest first; see the module.

    Particles that constraints connect are one body. Shape matching, contacts and other one-sided constraints do not
    count. Tetrahedra count as pressed between plates if there are colliders. Numbers are those of the scene: an
    environment whose particles are lighter or whose material is stiffer by a factor needs more substeps by the root of
    that factor.

    Args:
        scene: scene with the bodies.
        softening: share by which a body may be softer than its material, above 0.
        stretch: largest mean lengthening of a body that hangs by one end, above 0.

    Raises:
        TypeError: for anything but a scene, or anything but numbers.
        ValueError: for a number that is not above zero.
    """
    instance("scene", scene, Scene)
    number("softening", softening, positive=True)
    number("stretch", stretch, positive=True)
    known = kinds()
    body, extents = _bodies(scene)
    lines = [line for name, batch in scene.constraints.items() if known[name].chain for line in batch.indices]
    lined = {int(body[line[0]]) for line in lines}
    along = _keys(np.concatenate([np.zeros((0, 2), int), *(np.stack([line[:-2], line[2:]], 1) for line in lines)]))
    gravity = float(np.linalg.norm(scene.gravity))
    found = []
    for name, batch in scene.constraints.items():
        kind = known[name]
        if kind.formula is None or kind.one_sided:
            continue
        indices = np.concatenate(batch.indices)
        values = {key: np.concatenate(parts) for key, parts in batch.values.items()}
        weights, labels = _weights(scene, kind, indices, values), np.concatenate(batch.labels)
        part = np.unique(np.stack([body[indices[:, 0]], labels]), axis=1, return_inverse=True)
        for k, (particle, label) in enumerate(part[0].T.tolist()):
            chosen = part[1].ravel() == k
            with np.errstate(divide="ignore"):
                share = float((weights[chosen] / values["compliance"][chosen]).mean())
            allowed = softening
            if scene.colliders and name.startswith("tet_"):
                allowed = min(softening, PLATES * _layers(scene.positions[indices[chosen]]))
            soft = math.sqrt(2.0 * allowed / share) if share > 0.0 else math.inf
            hangs = 0.0
            crosses = particle in lined and not np.isin(_keys(indices[chosen]), along).any()
            if "rest_length" in values and (gravity == 0.0 or crosses):
                hangs = math.inf
            elif "rest_length" in values:
                length = float(values["rest_length"][chosen].mean())
                hangs = length * math.sqrt(2.0 * stretch / (gravity * max(extents[particle], length)))
            found.append(SubstepLimit(name, scene.labels[label], particle, soft, hangs))
    return sorted(found, key=lambda limit: limit.longest)


def damping_limit(scene: Scene, weakening: float = WEAKENING) -> float:
    """Return the longest substep [s] with which damping is as strong as its damping times imply; see the module.

    It is infinite where nothing is damped. Lines, clusters and one-sided constraints do not count.

    Args:
        scene: scene with the bodies.
        weakening: share by which it may be weaker, above 0 and below 1.
    """
    known, longest = kinds(), math.inf
    for name, batch in scene.constraints.items():
        values = {key: np.concatenate(parts) for key, parts in batch.values.items()}
        chosen = (values["damping_time"] > 0.0) & (values["compliance"] > 0.0)
        if known[name].formula is None or known[name].one_sided or not chosen.any():
            continue
        indices, values = np.concatenate(batch.indices)[chosen], {key: value[chosen] for key, value in values.items()}
        rate = _weights(scene, known[name], indices, values) * values["damping_time"] / values["compliance"]
        longest = min(longest, 2.0 * weakening / (1.0 - weakening) / float(rate.mean()))
    return longest


def hanging_limit(scene: Scene) -> float:
    """Return the longest substep [s] with which ropes that collide carry their own weight where they hang over another.

    The two ends of a rope of n particles of mass m pull by ``n m g / 2`` each at the one on which it hangs. Lines that
    lean on others yield where ``h^2 f / (m l)``, over both sides of a particle, is above :data:`YIELD`
    (:mod:`pbd_gym.kernels.contacts.leans`). Only ropes with lines do so, and only where there are no surfaces.

    Args:
        scene: scene with the ropes.
    """
    known, gravity, longest = kinds(), float(np.linalg.norm(scene.gravity)), math.inf
    lines = [line for name, batch in scene.constraints.items() if known[name].chain for line in batch.indices]
    lines = [line for line in lines if len(line) > 2]
    if gravity == 0.0 or not may_lean(scene, lines):
        return longest
    for line in lines:
        lengths = np.linalg.norm(np.diff(scene.positions[line], axis=0), axis=1)
        mass = scene.mass[line]
        # m l / (n m g), for n particles of mass m: the square of a time.
        square = float(np.median(mass) * lengths.mean() / mass.sum()) / gravity
        if square > 0.0:
            longest = min(longest, math.sqrt(YIELD * square))
    return longest


def needed_substeps(
    scene: Scene,
    ctrl_dt: float,
    softening: float = SOFTENING,
    stretch: float = STRETCH,
    longest: float = LONGEST,
    speed: float = 0.0,
    forces: bool = True,
) -> int:
    """Return the number of substeps of a control step that makes bodies behave the same at every resolution.

    :class:`pbd_gym.sim.solver.Solver` uses this number by default, for one iteration. :func:`substep_limits` shows
    which body requires it, and explains the numbers. Bodies never require a substep shorter than :data:`SHORTEST`.

    Args:
        scene: scene with the bodies.
        ctrl_dt: length of the control step [s].
        softening: share by which a body may be softer than its material, above 0.
        stretch: largest mean lengthening of a body that hangs by one end, above 0.
        longest: longest substep that suits contacts [s].
        speed: speed of hands that drag held particles past other layers without getting through them [m/s], from 0: in
            a substep they move by :data:`ADVANCE` of the thinnest surface or ball of the scene.
        forces: whether pulled and squeezed bodies must respond with the forces of their material; if not, bodies only
            have to look right.

    Raises:
        TypeError: for anything but a scene, or anything but numbers.
        ValueError: for a number that is not above zero, or a negative speed.
    """
    number("ctrl_dt", ctrl_dt, positive=True)
    number("longest", longest, positive=True)
    number("speed", speed, 0.0)
    found = substep_limits(scene, softening, stretch)
    bodies = [limit.exact if switch("forces", forces) else limit.longest for limit in found]
    limits = [longest, *(max(limit, SHORTEST) for limit in [*bodies, damping_limit(scene), hanging_limit(scene)])]
    if speed > 0.0:
        limits += [ADVANCE * 2.0 * group.radius / speed for group in scene.particle_contacts]
    return max(1, math.ceil(ctrl_dt / min(limits) * (1.0 - 1e-9)))


def softer_than_material(scene: Scene, h: float, compensated: bool = True) -> tuple[float, str]:
    """Return the share by which the softest bodies of a scene are softer than their material, and their label.

    Args:
        scene: scene with the bodies.
        h: substep [s] with one sweep.
        compensated: whether the solver compensates softening.
    """
    known, most, label = kinds(), 0.0, ""
    for name, batch in scene.constraints.items():
        kind = known[name]
        if kind.formula is None or kind.one_sided:
            continue
        indices = np.concatenate(batch.indices)
        values = {key: np.concatenate(parts) for key, parts in batch.values.items()}
        labels, compliant = np.concatenate(batch.labels), values["compliance"] > 0.0
        share = np.zeros(len(indices))
        softening = 0.5 * h * h * _weights(scene, kind, indices, values)
        np.divide(softening, values["compliance"], out=share, where=compliant)
        if compensated:
            share = np.maximum(share - 1.0, 0.0)
        for place in np.unique(labels[compliant]):
            found = float(share[compliant & (labels == place)].mean())
            if found > most:
                most, label = found, scene.labels[place]
    return most, label


def _layers(corners: np.ndarray) -> float:
    """Return the number of elements across a body, at least 1, from their corners, shape (m, k, 3)."""
    extent = (corners.max(axis=(0, 1)) - corners.min(axis=(0, 1))).min()
    edges = np.linalg.norm(corners[:, 1:] - corners[:, :1], axis=2)
    return max(1.0, float(extent / edges.min(axis=1).mean()))


def _weights(scene: Scene, kind: Kind, indices: np.ndarray, values: dict[str, np.ndarray]) -> np.ndarray:
    """Return ``w = sum |grad C|^2 / m`` of constraints [C^2 s^2/J], shape (m,), treating all particles as free."""
    points = scene.positions[indices]
    extent = np.linalg.norm(points - points.mean(axis=1, keepdims=True), axis=2).max(axis=1)
    extent[extent == 0.0] = 1.0  # constraints of one particle
    # Any direction will do: a bend's gradient, say, has the same length in every direction.
    jitter = np.random.default_rng(0).uniform(-_JITTER, _JITTER, points.shape)
    slopes = TracedKind(kind, values).gradients(points + extent[:, None, None] * jitter)
    return np.asarray(((slopes**2).sum(axis=2) / scene.mass[indices]).sum(axis=1))


def _keys(pairs: np.ndarray) -> np.ndarray:
    """Return a number for the first and last particle of each row, in any order, shape (m,), int64."""
    low, high = np.sort(pairs[:, [0, -1]].astype(np.int64), axis=1).T
    return (low << 32) + high


def _bodies(scene: Scene) -> tuple[np.ndarray, dict[int, float]]:
    """Return the first particle of each particle's body, shape (n,), and the length of each body [m]."""
    pairs = [np.zeros((0, 2), dtype=np.int64)]
    for batch in scene.constraints.values():
        for members in batch.indices:
            rows = np.atleast_2d(members)
            pairs.append(np.stack([rows[:, :-1], rows[:, 1:]], axis=2).reshape(-1, 2))
    edges = np.concatenate(pairs)
    lengths = np.linalg.norm(scene.positions[edges[:, 0]] - scene.positions[edges[:, 1]], axis=1)
    body = groups(scene.particle_count, edges)
    extents = {}
    for first in np.unique(body[edges[:, 0]]).tolist():
        # From anywhere to the farthest particle, and from there to the one farthest from it.
        ways, _ = geodesics(scene.particle_count, edges, lengths, [first])
        end = int(np.argmax(np.where(np.isfinite(ways), ways, -1.0)))
        ways, _ = geodesics(scene.particle_count, edges, lengths, [end])
        extents[first] = float(ways[np.isfinite(ways)].max())
    return body, extents

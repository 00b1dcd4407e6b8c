"""Solver: advances a batch by extended position-based dynamics (XPBD)."""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import warp as wp

from pbd_gym.kernels.colliders.response import RELIEF_SPEED
from pbd_gym.kernels.contacts.leans import contact_rounds
from pbd_gym.kernels.data.options import SweepOptions
from pbd_gym.kernels.data.step import Launch, settings_type
from pbd_gym.kernels.grips.slipping import slip
from pbd_gym.kernels.step import make_step
from pbd_gym.runtime.checks import FARTHEST, LARGEST, instance, number, real, switch, whole
from pbd_gym.runtime.compilation import AHEAD, compiling_once, with_blocks
from pbd_gym.runtime.devices import CUDA_BLOCK_DIMS, ONE_AT_A_TIME
from pbd_gym.runtime.threads import default_threads, run_together
from pbd_gym.sim.control import Control
from pbd_gym.sim.launch_plan import Piece, Replay, Schedule, by_color, choose_schedule, one_launch
from pbd_gym.sim.model import Model
from pbd_gym.sim.packing import Packed, packs
from pbd_gym.sim.state import State
from pbd_gym.sim.state_arrays import Room
from pbd_gym.sim.substeps import SOFTENING, SOFTER, needed_substeps, softer_than_material
from pbd_gym.sim.upload.double import Pair, double_control, double_model, double_state, record_casts, rounding
from pbd_gym.sim.upload.fluid import longest_substep
from pbd_gym.sim.watches.bounds import far_away, farthest
from pbd_gym.sim.watches.passages import Passages
from pbd_gym.sim.watches.passing import PassingWatch
from pbd_gym.sim.watches.piercings import PiercingWatch
from pbd_gym.sim.watches.pulls import PullWatch
from pbd_gym.sim.watches.rods import RodWatch
from pbd_gym.sim.watches.speeds import SpeedWatch
from pbd_gym.sim.watches.walls import WallWatch

# Static shared memory of a CUDA block, 48 KiB, minus the contact search's share.
_SHARED_BYTES = 40 * 1024

ROUNDING = 0.02
"""Largest share of gravity's displacement in a substep that float32 may round off a position."""
WARNED = 0.05
"""Share above which a warning is given."""
FAR = 100.0
"""Distance at which control steps use float64, whatever their length [m]."""
LOOKS = 32
"""Number of control steps between checks of the distances."""

Method = Literal["gauss-seidel", "symmetric", "jacobi"]


def check_method(
    iterations: int = 1, method: Method = "gauss-seidel", relaxation: float = 1.0, chebyshev: float = 0.0
) -> None:
    """Check the arguments of :class:`Solver` that need no model.

    Raises:
        ValueError: if a number is out of its range, or ``method`` is unknown.
        TypeError: if a count is not a whole number, or another argument is not a number.
    """
    whole("iterations", iterations, 1)
    if method not in ("gauss-seidel", "symmetric", "jacobi"):
        raise ValueError(f"method must be 'gauss-seidel', 'symmetric' or 'jacobi', got {method!r}")
    if not 0.0 < real("relaxation", relaxation) < 2.0:
        raise ValueError(f"relaxation must be above 0 and below 2, got {relaxation}")
    if relaxation != 1.0 and method != "jacobi":
        raise ValueError("relaxation is for method='jacobi'")
    if not 0.0 <= real("chebyshev", chebyshev) < 1.0:
        raise ValueError(f"chebyshev must be at least 0 and below 1, got {chebyshev}")


class Solver:
    """XPBD with small steps: many substeps of one iteration each, or fewer with several iterations.

    Each substep predicts positions under gravity, sweeps every constraint Gauss-Seidel fashion, resolves contacts, and
    takes velocities from the change of position. Multipliers start at zero once per substep, so the stiffness does not
    depend on the number of iterations.

    References:
        Macklin, Mueller, Chentanez 2016, XPBD, doi:10.1145/2994258.2994272
        Macklin et al. 2019, Small steps in physics simulation, doi:10.1145/3309486.3340247
        Wang 2015, A Chebyshev semi-iterative approach for accelerating projective and position-based dynamics,
        doi:10.1145/2816795.2818063
        Tonge, Benevolenski, Voroshilov 2012, Mass splitting for jitter-free parallel rigid body simulation,
        doi:10.1145/2185520.2185601

    Args:
        model: model of the batch.
        substeps: steps that a control step is divided into; by default as many as the bodies of the scene need for the
            ``ctrl_dt`` of a step to respond with the forces of their material
            (:func:`pbd_gym.sim.substeps.needed_substeps`).
        iterations: sweeps per substep.
        method: type of iteration: ``"gauss-seidel"`` applies each correction immediately; ``"symmetric"`` does too, and
            sweeps backwards in every second iteration; ``"jacobi"`` applies all corrections together, each reduced to
            the share that the mass of its particles allows. Particles pinned in the scene lend no mass: one with many
            stiff constraints can diverge when ``set_pinned(False)`` frees it; the other methods are not affected.
        relaxation: factor of Jacobi's corrections, above 0 and below 2: under-relaxation below 1 converges more slowly,
            and more safely where constraints are strongly non-linear.
        chebyshev: estimate of the spectral radius of the iteration, at least 0 and below 1: the larger it is, the more
            iterations are extrapolated; 0 means not at all. Too large a number diverges.
        damping: rate at which free particles lose velocity [1/s].
        max_speed: speed above which an environment counts as diverged, by default 1000 m/s.
        far: distance from the origin above which it counts as diverged [m], up to 1e6: something has left the scene. By
            default 3 m and ten times as far as the scene reaches (:func:`pbd_gym.sim.watches.bounds.far_away`).
        threads: CPU threads to spread the groups over; see :func:`pbd_gym.runtime.threads.default_threads`. Blocks of
            threads on a CPU take turns on one.
        schedule: ``"block"`` lets one thread block of a GPU do a whole control step of a group; ``"colors"`` makes a
            launch of many blocks for each colour of constraints, for a few huge environments; by default chosen by
            :func:`pbd_gym.sim.launch_plan.choose_schedule`. The results are the same to the bit.
        grip_forces: whether to sum the forces at grips, for :meth:`State.get_grip_forces` and
            :meth:`Control.set_force_limit`.
        contact_forces: whether to sum the contact forces on particles, for :meth:`State.get_contact_forces`.
        wrenches: whether to sum the force and torque on each collider, for :meth:`State.get_wrenches`.
        piercings: whether to count edges that go through surfaces in spite of contacts, for
            :meth:`State.get_piercings`. Crumpled towels of 16 x 16 particles take a fifth more time with it, finer ones
            less.
        sleep: whether environments of cloth that collides sleep while they are at rest and held by nothing: they keep
            their places, to the bit, and take hardly any time, until something can move them
            (:mod:`pbd_gym.kernels.motion.sleeping`). Without effect for other scenes, with ``contact_forces``,
            ``wrenches`` or ``schedule="colors"``, and in float64 inside.
        hands_wait: whether hands wait for cloth or rope that does not follow because something else holds it: where a
            thread that they hold would be stretched by more than 5.5 %, they move on along it at 0.2 m/s at most, and
            across it as commanded (``native/tethers.h``). Hands that keep pulling pull cloth through itself. Without
            effect on cloth without threads, such as garments, and with ``schedule="colors"``.
        passages: whether to count particles that pass through surfaces of other bodies, and ropes through ropes, within
            a control step, for :meth:`State.get_passages`.
        double: whether control steps of a model in float32 work in float64 inside. It takes two to three times as long.
            By default they do so where float32 would round off more than :data:`ROUNDING` of gravity's displacement in
            a substep: with the scene within 1 m of the origin at substeps below 0.6 ms, within 10 m at those below 2.2
            ms. Only the initial scene counts, not later positions.
        compensate: whether the softening of bodies by a single sweep is subtracted from their compliance, so that
            forces are those of the material at fewer substeps; see :mod:`pbd_gym.sim.substeps`. By default on if
            ``substeps`` is omitted, or at least what :func:`pbd_gym.sim.substeps.needed_substeps` asks for; with fewer
            it is plain XPBD. Several iterations and other methods soften less, and are not compensated.
        quiet: whether to suppress the warnings when bodies are softer than their material at the given substeps, and
            when these are too long for the tension of lines wrapped round colliders, each with the sufficient number
            of substeps; and those when edges go through surfaces (``piercings``), ropes through ropes, particles into
            soft bodies, or bodies through colliders. Otherwise the first such step warns.

    Raises:
        ValueError: if a number is out of its range, ``method`` or ``schedule`` are unknown, ``wrenches`` come without a
            collider, or ``grip_forces``, ``contact_forces`` or ``wrenches`` with ``chebyshev``: extrapolated
            corrections have no meaningful sum. Likewise rigid bodies and ``chebyshev``.
        TypeError: if a count is not a whole number, another argument is not a number, or ``model`` is not a model.
    """

    def __init__(
        self,
        model: Model,
        substeps: int | None = None,
        iterations: int = 1,
        damping: float = 0.0,
        max_speed: float | None = None,
        threads: int | None = None,
        method: Method = "gauss-seidel",
        relaxation: float = 1.0,
        chebyshev: float = 0.0,
        schedule: Schedule | None = None,
        grip_forces: bool = False,
        contact_forces: bool = False,
        wrenches: bool = False,
        piercings: bool = True,
        sleep: bool = False,
        hands_wait: bool = False,
        passages: bool = False,
        far: float | None = None,
        double: bool | None = None,
        compensate: bool | None = None,
        quiet: bool = False,
    ) -> None:
        if schedule not in (None, "block", "colors"):
            raise ValueError(f"schedule must be 'block', 'colors' or None, got {schedule!r}")
        check_method(iterations, method, relaxation, chebyshev)
        if switch("grip_forces", grip_forces) and chebyshev > 0.0:
            raise ValueError("grip_forces cannot be summed with chebyshev above 0")
        if switch("contact_forces", contact_forces) and chebyshev > 0.0:
            raise ValueError("contact_forces cannot be summed with chebyshev above 0")
        if switch("wrenches", wrenches) and chebyshev > 0.0:
            raise ValueError("wrenches cannot be summed with chebyshev above 0")
        if wrenches and not instance("model", model, Model).collider_count:
            raise ValueError("wrenches=True needs a collider: the scene of the model has none")
        if chebyshev > 0.0 and instance("model", model, Model).has_rigid:
            raise ValueError("chebyshev must be 0 with rigid bodies: their particles are not independent unknowns")
        self.model = instance("model", model, Model)
        self.substeps = 0 if substeps is None else whole("substeps", substeps, 1)
        """Substeps of a control step; if not given, those of the last step, or 0 before it."""
        self._given = substeps is not None
        self._quiet = switch("quiet", quiet)
        self.iterations = whole("iterations", iterations, 1)
        self.damping = number("damping", damping, 0.0)
        self.max_speed = model.scene.meter * 1e3 if max_speed is None else real("max_speed", max_speed)
        if not self.max_speed > 0.0:
            raise ValueError(f"max_speed must be above zero, got {max_speed}")
        self.far = far_away(model) if far is None else number("far", far, most=FARTHEST, positive=True)
        """Distance from the origin beyond which an environment counts as diverged [m]."""
        threads = default_threads() if threads is None else whole("threads", threads, 1)
        self.threads = 1 if model.in_blocks else min(threads, model.group_count)
        self.method = method
        self.compensate = None if compensate is None else switch("compensate", compensate)
        """Whether the softening of bodies by a sweep is compensated; None if that depends on the substeps."""
        self._suffice = not self._given
        self._needed: dict[float, int] = {}
        self.relaxation = relaxation
        self.chebyshev = chebyshev
        self.schedule: Schedule = schedule or choose_schedule(model)
        self.piercings = switch("piercings", piercings) and model.has_surfaces
        """Whether edges that go through surfaces are counted."""
        can_sleep = model.can_sleep and self.schedule == "block" and not (contact_forces or wrenches)
        self.sleep = switch("sleep", sleep) and can_sleep
        """Whether environments at rest sleep."""
        self.packs = True
        """Whether those that are awake share lanes with one another; for comparisons."""
        self.hands_wait = switch("hands_wait", hands_wait) and model.anchor_room > 0 and self.schedule == "block"
        """Whether hands wait where the cloth that they hold does not follow."""
        self.passages = switch("passages", passages)
        """Whether passages through surfaces and ropes within a control step are counted."""
        self._passages = Passages(model) if self.passages else None
        self.double = None if double is None else switch("double", double)
        """Whether steps work in float64; None if that depends on their length."""
        self._reach, self._gravity = farthest(model), float(np.linalg.norm(model.scene.gravity))
        self._doubled = False
        self._twins: tuple[Any, ...] = ()
        self.copies = 0, 0
        """Launches of each thread that copy to float64 before a control step, and back after it."""
        self._steps = 0
        self._told_of_rounding = False
        by_block = self.schedule == "block"
        self.options = SweepOptions(
            keep_lambda=self.iterations > 1,
            compensated=self._compensated(self.iterations),
            damped=model.damped,
            longest_line=model.longest_line,
            supports=model.has_supports,
            leans=model.has_leans,
            jacobi=method == "jacobi",
            symmetric=method == "symmetric",
            chebyshev=chebyshev > 0.0,
            particle_contacts=model.contact_count > 0,
            surfaces=model.has_surfaces,
            bouncy=model.is_bouncy,
            packed=by_block and is_packed(model, method),
            shared=shared_particles(model) if model.in_blocks and by_block else 0,
            wide_block=model.thread_count if model.device.is_cuda and model.thread_count == CUDA_BLOCK_DIMS[1] else 0,
            anchors=model.anchor_room,
            grip_forces=grip_forces and model.grip_count > 0,
            rigid=model.has_rigid,
            solids=model.has_solids,
            contact_forces=contact_forces,
            wrenches=wrenches,
            sleep=self.sleep,
            waits=self.hands_wait,
            fluid=model.fluid_options,
        )
        self._turn: AbstractContextManager[Any] = (
            ONE_AT_A_TIME if model.in_blocks and not model.device.is_cuda else nullcontext()
        )
        self._speeds, self._pulls = SpeedWatch(model), PullWatch(model, quiet)
        self._pierced = PiercingWatch(model, self.piercings, quiet)
        self._followed = PassingWatch(model, quiet), WallWatch(model, quiet), RodWatch(model, quiet)
        self._launches: list[Replay] = []
        self._launched_for: tuple[Any, ...] = ()

    def set_steps(self, *, substeps: int | None = None, iterations: int | None = None) -> None:
        """Change the step counts; omitted ones stay. A change of ``iterations`` may compile another kernel.

        Raises:
            ValueError: for a number below 1 or beyond 32 bits. The solver is then unchanged.
            TypeError: for a number that is not whole.
        """
        if substeps is not None:
            whole("substeps", substeps, 1)
        if iterations is not None:
            self.iterations = whole("iterations", iterations, 1)
        if substeps is not None:
            self.substeps, self._given, self._suffice = int(substeps), True, False
        self.options = replace(
            self.options, keep_lambda=self.iterations > 1, compensated=self._compensated(self.iterations)
        )
        self._launched_for = ()

    def ready(self, varied: bool, iterations: int | None = None, wind: bool = False, forces: bool = False) -> bool:
        """Return whether the kernel that a step would need is compiled.

        If not, it is compiled in the background: other steps may go on meanwhile, and a later call tells when it is
        done.

        Args:
            varied: whether some environment has parameters of its own, see :meth:`State.set_parameters`.
            iterations: as in :meth:`set_steps`.
            wind: whether there is wind, see :meth:`Control.set_wind`.
            forces: whether there are forces, see :meth:`Control.set_forces`.

        Raises:
            Exception: errors of the compiler.
        """
        iterations = self.iterations if iterations is None else iterations
        options = replace(self.options, keep_lambda=iterations > 1, compensated=self._compensated(iterations))
        kernel = self._kernel(replace(options, varied=varied, wind=wind, forces=forces))
        return AHEAD.ready(kernel, self.model.device.alias, self.model.thread_count)

    def _compensated(self, iterations: int) -> bool:
        """Whether a sweep subtracts its softening from the compliance."""
        wanted = self._suffice if self.compensate is None else self.compensate
        return wanted and iterations == 1 and self.method == "gauss-seidel" and self.chebyshev == 0.0

    def _settle_substeps(self, ctrl_dt: float) -> None:
        """Take as many substeps as bodies need, if none were given, and find out whether those given suffice."""
        if self._given and self.compensate is not None:
            return
        if ctrl_dt not in self._needed:
            self._needed[ctrl_dt] = needed_substeps(self.model.scene, ctrl_dt)
        if not self._given:
            self.substeps = self._needed[ctrl_dt]
        self._suffice = self.substeps >= self._needed[ctrl_dt]
        self.options = replace(self.options, compensated=self._compensated(self.iterations))

    def _kernel(self, options: SweepOptions) -> Any:
        model = self.model
        scalar = wp.float64 if self._doubled else model.scalar
        if self._doubled:
            shared = shared_particles(model, itemsize=8) if options.shared else 0
            options = replace(options, shared=shared, sleep=False)  # places are rounded at the end of a step
        return make_step(model.lanes, scalar, options, model.kinds, model.parts, model.bouncing)

    def works_in_double(self, ctrl_dt: float) -> bool:
        """Return whether control steps of a given length [s] are computed in float64."""
        if self.model.dtype == np.float64 or self.double is not None:
            return self.model.dtype == np.float64 or bool(self.double)
        return rounding(self._reach, ctrl_dt / self.substeps, self._gravity) > ROUNDING

    def state(self) -> State:
        """Create a state for this solver, at the scene's positions.

        Raises:
            MemoryError: if the batch would not fit into the free memory.
        """
        return State(self.model, self._room)

    @property
    def _room(self) -> Room:
        """Optional data for which a state needs memory."""
        on = self.options
        return Room(
            on.keep_lambda, on.jacobi, on.chebyshev, on.packed, on.grip_forces, on.contact_forces, on.wrenches,
            on.sleep, self.passages,
        )  # fmt: skip

    def control(self) -> Control:
        """Create a control that moves nothing."""
        return Control(self.model)

    def step(self, state: State, control: Control, ctrl_dt: float) -> None:
        """Advance every environment by ``ctrl_dt`` seconds, in place.

        Held particles move along a straight line by ``control.motion`` and end exactly there. Forces and wind of
        the control act in every substep. On a CPU, the first step in which a fluid's neighbour lists overflow warns,
        and so does the first before which bodies are about to collide faster than the substeps can resolve; the warning
        says how many would suffice (:mod:`pbd_gym.sim.watches.speeds`).

        Raises:
            TypeError: if ``ctrl_dt`` is not a number, or state or control have the wrong type.
            ValueError: if ``ctrl_dt`` is not from 1e-9 s to 1e6 s, state or control belong to another model, or a
            collider was added to the scene after the model was made, with which nothing would collide; or if hands have
            a force limit and the solver does not sum ``grip_forces``.
        """
        if len(self.model.scene.colliders) != self.model.collider_count:
            raise ValueError("the scene's colliders changed after its Model was made: add them before Model(scene)")
        asked = control.has_forces, control.has_wind, control.has_force_limit
        key = (state, control, ctrl_dt, state.parameters.varied, state.pins.shape, self.packs, *asked)
        if self._launched_for != key:  # recorded launches are replayed in a microsecond or two
            self._launches = self._record(state, control, ctrl_dt)
            self._launched_for = key
        state.has_multipliers, state.has_grip_forces = self.options.keep_lambda, self.options.grip_forces
        state.has_force_limit = control.has_force_limit
        state.has_piercings = self.piercings or not self.model.has_surfaces
        state.has_passages = self.passages
        state.wrench_scale = self.substeps / float(ctrl_dt) ** 2 if self.options.wrenches else 0.0
        state.contact_scale = self.substeps / float(ctrl_dt) ** 2 if self.options.contact_forces else 0.0
        if self._speeds.watching:
            self._speeds.look(state, float(ctrl_dt), self.substeps)
        for watch in [each for each in self._followed if each.watching]:
            watch.begin(state)
        with self._turn:
            run_together([replay.launch for replay in self._launches])
        if self._pulls.watching:
            twin, arrays = (self._twins[0], self._twins[1]) if self._doubled else (self.model, state)
            self._pulls.look(state, arrays, twin, float(ctrl_dt), self.substeps)
        for outcome in [each for each in (self._pierced, *self._followed) if each.watching]:
            outcome.look(state, float(ctrl_dt), self.substeps)
        state.warn_of_fluid_overflow()
        if self._steps % LOOKS == 0 and self.model.device.is_cpu:
            self._warn_of_rounding(state, float(ctrl_dt))
        self._steps += 1

    def _warn_of_rounding(self, state: State, ctrl_dt: float) -> None:
        """Warn once if positions are so far from the origin that float32 spoils their motion."""
        if self._told_of_rounding or self.model.dtype == np.float64:
            return
        # In float64 positions are rounded once, at the end of a control step.
        h = ctrl_dt if self._doubled else ctrl_dt / self.substeps
        sound = state.diverged.numpy()[: self.model.num_envs] == 0
        reach = float(np.abs(state.get_positions()[sound]).max(initial=0.0))
        share = rounding(reach, h, self._gravity)
        ulp, reach = np.spacing(np.float32(reach)) / self.model.scene.meter, reach / self.model.scene.meter
        if share > WARNED and (not self._doubled or reach > FAR):
            self._told_of_rounding = True
            way = "move the scene to the origin" if self._doubled else "use Solver(double=True)"
            warnings.warn(
                f"particles are {reach:.3g} m from the origin, where float32 rounds positions by {ulp:.2g} m: "
                f"{share:.0%} of what gravity makes of them in {h * 1e3:.3g} ms. Motion is off by about that; {way}",
                RuntimeWarning,
                stacklevel=3,
            )

    def recorded(self) -> list[Any]:
        """Return the launches of the last step one by one, thread by thread."""
        return [launch for replay in self._launches for launch in replay.launches]

    def _shares(self) -> list[tuple[int, int]]:
        """First group and number of groups of each thread."""
        edges = np.linspace(0, self.model.group_count, self.threads + 1).astype(int)
        return [(int(a), int(b - a)) for a, b in itertools.pairwise(edges)]

    def _record(self, state: State, control: Control, ctrl_dt: float) -> list[Replay]:
        """Compile the kernels of a step, and record its launches, those of each thread."""
        model, on_device = self.model, (self.model.device.alias, self.model.thread_count)
        if state.model is not model or control.model is not model:
            raise ValueError("state and control must be of the solver's own model")
        if control.has_force_limit and not self.options.grip_forces and model.grip_count:
            raise ValueError("force_limit of hands needs Solver(grip_forces=True), which sums the forces at them")
        number("ctrl_dt", ctrl_dt, 1e-9, LARGEST)
        self._settle_substeps(float(ctrl_dt))
        if self._given and not self._quiet:
            self._warn_of_buoyancy(ctrl_dt)
            self._warn_of_softness(ctrl_dt)
        h = ctrl_dt / self.substeps
        self._doubled = self.works_in_double(ctrl_dt) and model.dtype == np.float32
        state.make_room(self._room)
        varied, forces, wind = state.parameters.varied, control.has_forces, control.has_wind
        options = replace(self.options, varied=varied, forces=forces, wind=wind)
        kinds = [kind.name for kind in model.kinds]
        made_of = model.lanes, model.dtype, options, kinds, model.parts, model.bouncing
        with compiling_once(*made_of, *on_device), with_blocks(model.thread_count):
            kernel = self._kernel(options)
            inputs = [model.data, model.colliders, self._settings(h), control.data(), state.data()]
            before: list[Pair] = []
            after: list[Pair] = []
            if self._doubled:
                twin = double_model(model)
                arrays, before, after = double_state(state, twin)
                moves, given = double_control(control, twin)
                before = [*before, *given]
                inputs = [twin.data, twin.colliders, self._settings(h), moves, arrays.data()]
                self._twins = twin, arrays, moves  # launches know addresses only
            self.copies = (sum(pair[0].size > 0 for pair in before), sum(pair[0].size > 0 for pair in after))
            replays = [
                Replay(
                    model.device,
                    [
                        *(self._passages.begin(state, *share) if self._passages else ()),
                        *record_casts(before, *share, model.group_count, False),
                        *self._record_pieces(kernel, options, inputs, state, control, *share),
                        *record_casts(after, *share, model.group_count, True),
                        *self._record_slips(state, control, *share),
                        *(self._passages.end(state, *share) if self._passages else ()),
                    ],
                )
                for share in self._shares()
            ]
        AHEAD.note(kernel, *on_device)
        return replays

    def _record_pieces(
        self,
        kernel: Any,
        options: SweepOptions,
        inputs: list[Any],
        state: State,
        control: Control,
        first: int,
        count: int,
    ) -> list[Any]:
        """Return the launches of the step kernel; environments that are awake share lanes where some can sleep."""
        pieces = [self._record_piece(kernel, piece, inputs, first, count) for piece in self._pieces(options)]
        if self.packs and packs(self.model, self.sleep and not self._doubled, count):
            return [Packed(pieces, state, control, first, count)]
        return pieces

    def _record_slips(self, state: State, control: Control, first: int, count: int) -> Iterator[Any]:
        """Yield the launch that opens grips which were too weak, if any can be."""
        model = self.model
        if control.has_force_limit and model.grip_count:
            yield wp.launch(
                slip,
                dim=count * model.lanes,
                inputs=[
                    first * model.lanes, control.force_limits, state.grip_forces, state.free_inv_mass_scalar,
                    model.lanes, state.held, state.inv_mass_scalar, state.velocities_scalar, state.slipped,
                ],
                device=model.device,
                record_cmd=True,
            )  # fmt: skip

    def _warn_of_buoyancy(self, ctrl_dt: float) -> None:
        """Warn where substeps are too long for rigid bodies in a fluid."""
        h, longest = ctrl_dt / self.substeps, longest_substep(self.model.scene)
        if h > longest:
            warnings.warn(
                f"rigid bodies in a fluid may sink or float too low with substeps of {h * 1e3:.3g} ms: around them it "
                f"is calm up to {longest * 1e3:.3g} ms, {int(np.ceil(ctrl_dt / longest))} substeps of {ctrl_dt:.4g} s",
                RuntimeWarning,
                stacklevel=4,
            )

    def _warn_of_softness(self, ctrl_dt: float) -> None:
        """Warn once where bodies are softer than their material: for plain sweeps, whose softening is known."""
        if self.iterations > 1 or self.method != "gauss-seidel" or self.chebyshev > 0.0:
            return
        self._quiet = True
        scene = self.model.scene
        softer, label = softer_than_material(scene, ctrl_dt / self.substeps, self.options.compensated)
        if softer <= SOFTER:
            return
        compensated = self.options.compensated or self.compensate is None  # with as many as are needed
        needed = needed_substeps(scene, ctrl_dt, SOFTENING if compensated else SOFTER)
        left, _ = softer_than_material(scene, ctrl_dt / needed, compensated)
        way = "Solver without substeps takes them" if compensated else "compensate=True needs fewer"
        cure = f"{needed} substeps would do ({way})"
        if left > 2.0 * SOFTER:  # bodies require no substep shorter than floats allow
            left, _ = softer_than_material(scene, ctrl_dt / needed)
            cure = f"{needed} substeps and compensate=True would do"
            if left > SOFTER:
                cure = f"even {needed} substeps leave {left:.0%}: lines=True, or fewer or heavier particles, would do"
        warnings.warn(
            f"constraints {label!r} are softer than their material by {softer:.0%} with {self.substeps} substeps of "
            f"{ctrl_dt:.4g} s: what is pulled or squeezed answers with less force; {cure}; "
            "quiet=True says nothing",
            RuntimeWarning,
            stacklevel=4,
        )

    def _pieces(self, options: SweepOptions) -> Iterator[Piece]:
        if self.schedule == "block":
            return one_launch(self.model, self.substeps, self.iterations, self.piercings)
        return by_color(self.model, self.substeps, self.iterations, options, self.piercings)

    def _settings(self, h: float) -> Any:
        """Return the kernel's settings of this solver, for substeps of h seconds."""
        settings = settings_type(wp.float64 if self._doubled else self.model.scalar)()
        settings.substeps, settings.iterations, settings.h = self.substeps, self.iterations, h
        settings.velocity_factor, settings.max_speed = math.exp(-self.damping * h), self.max_speed
        settings.far = self.far
        settings.relaxation, settings.spectral_radius = self.relaxation, self.chebyshev
        rounds = self.iterations * (2 if self.options.surfaces else 1)
        settings.meter = self.model.scene.meter
        leaves = RELIEF_SPEED * settings.meter * h
        settings.relief = leaves / rounds if self.model.kinds else LARGEST  # particles alone are not strained
        settings.parting = leaves / (self.iterations * contact_rounds(self.options))
        settings.fall = self._gravity * h * h
        return settings

    def _record_piece(self, kernel: Any, piece: Piece, inputs: list[Any], first: int, count: int) -> Any:
        launch: Any = Launch()
        launch.first_group, launch.thread_count, launch.phases = first, piece.threads, int(piece.phases)
        launch.first_substep, launch.last_substep = piece.substeps
        launch.first_iteration, launch.last_iteration = piece.iterations
        launch.color = piece.color
        return wp.launch(
            kernel,
            dim=(count, piece.threads),
            block_dim=self.model.thread_count,
            device=self.model.device,
            record_cmd=True,
            inputs=[launch, *inputs],
        )


def shared_particles(model: Model, itemsize: int | None = None) -> int:
    """Return the particle count if the positions and weights of a group fit into a block's shared memory, otherwise 0.

    Args:
        model: model of the particles.
        itemsize: size of a number [bytes]; by default that of the model's.
    """
    needed = 7 * model.particle_count * model.lanes * (itemsize or model.dtype.itemsize)
    return model.particle_count if needed <= _SHARED_BYTES else 0


def is_packed(model: Model, method: Method) -> bool:
    """Return whether a lone environment's constraints share the vector units: if one thread projects by colours."""
    return model.lanes == 1 and not model.in_blocks and model.order == "colored" and method != "jacobi"

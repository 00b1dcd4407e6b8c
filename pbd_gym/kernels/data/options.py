"""Compile-time options of a step kernel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class FluidOptions:
    """Compile-time options of a kernel for a scene with fluid."""

    width: int
    """Number of particles whose distances from a collider are computed at once: 1 in blocks of threads."""
    boundary: bool = False
    """Whether other bodies interact with the fluid."""
    cohesion: bool = False
    """Whether neighbours attract each other."""
    vorticity: bool = False
    """Whether eddies are sustained."""
    flow: bool = False
    """Whether particles enter and leave."""


@dataclass(frozen=True)
class SweepOptions:
    """Compile-time options of a kernel; features that are off cost nothing."""

    keep_lambda: bool = False
    """Whether multipliers are stored: more than one iteration needs them."""
    compensated: bool = False
    """Whether the softening of constraints by a single sweep is subtracted from their compliance."""
    damped: tuple[str, ...] = ()
    """Names of the kinds with a damped constraint."""
    jacobi: bool = False
    """Whether corrections are gathered and applied after the sweep instead of immediately."""
    symmetric: bool = False
    """Whether every second iteration sweeps backwards."""
    chebyshev: bool = False
    """Whether iterations are extrapolated."""
    particle_contacts: bool = False
    """Whether particles collide with each other."""
    surfaces: bool = False
    """Whether some of them are discs of a surface."""
    bouncy: bool = False
    """Whether some of them have a restitution."""
    packed: bool = False
    """Whether positions are stored with their particle's weight, in rows of four numbers; for one lane on a CPU. The
    constraints of a colour then share the vector units.
    """
    shared: int = 0
    """Number of particles whose positions and weights fit into a CUDA block's shared memory; 0 leaves them in global
    memory.
    """
    wide_block: int = 0
    """Threads of a CUDA block so large that two of them share all registers; 0 for a smaller one."""
    varied: bool = False
    """Whether environments differ in their parameters."""
    longest_line: int = 32
    """Capacity of a line, in segments."""
    supports: bool = False
    """Whether lines know which of their particles are carried by curved colliders."""
    leans: bool = False
    """Whether lines know the contact directions of their particles."""
    anchors: int = 0
    """Capacity for grips and pins with tethers; 0 without tethers to them."""
    grip_forces: bool = False
    """Whether forces at grips are summed."""
    contact_forces: bool = False
    """Whether forces of contacts are summed."""
    wrenches: bool = False
    """Whether forces and torques on colliders are summed."""
    forces: bool = False
    """Whether external forces act on particles."""
    wind: bool = False
    """Whether air flows past triangles."""
    rigid: bool = False
    """Whether there are rigid bodies."""
    sleep: bool = False
    """Whether environments at rest keep their places."""
    waits: bool = False
    """Whether hands wait where the cloth that they hold does not follow."""
    solids: bool = False
    """Whether there are tetrahedra to check for inversion."""
    fluid: FluidOptions | None = None
    """Options of the fluid, if there is one."""

    @property
    def registers(self) -> dict[str, Any]:
        """Arguments of ``wp.kernel`` that leave registers for another block beside a wide one."""
        return {"launch_bounds": (self.wide_block, 2)} if self.wide_block else {}

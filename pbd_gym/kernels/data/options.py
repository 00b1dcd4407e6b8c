"""What a step kernel is compiled for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class FluidOptions:
    """What a kernel is compiled for in a scene with fluid."""

    width: int
    """Particles whose distances from a collider are worked out at once: 1 in blocks of threads."""
    boundary: bool = False
    """Whether other bodies are wet."""
    cohesion: bool = False
    """Whether neighbours attract each other."""
    vorticity: bool = False
    """Whether eddies are kept alive."""
    flow: bool = False
    """Whether particles come and go."""


@dataclass(frozen=True)
class SweepOptions:
    """What a kernel is compiled for; everything else costs nothing."""

    keep_lambda: bool = False
    """Whether multipliers are stored: more than one iteration needs them."""
    compensated: bool = False
    """Whether what one sweep softens constraints by is taken off their compliance."""
    damped: tuple[str, ...] = ()
    """Names of the kinds of which some constraint has a damping time."""
    jacobi: bool = False
    """Whether corrections are gathered and applied after the sweep, instead of at once."""
    symmetric: bool = False
    """Whether every second iteration sweeps backwards."""
    chebyshev: bool = False
    """Whether iterations are extrapolated."""
    particle_contacts: bool = False
    """Whether particles collide with one another."""
    surfaces: bool = False
    """Whether some of them are discs of a surface."""
    packed: bool = False
    """Whether positions have their particle's weight beside them, in rows of four numbers; for one lane on a CPU. The
    constraints of a colour then share the vector units."""
    shared: int = 0
    """Particles for whose positions and weights a CUDA block has shared memory; 0 leaves them in global memory."""
    wide_block: int = 0
    """Threads of a CUDA block that has so many that two of them share all registers; 0 for one of fewer."""
    varied: bool = False
    """Whether environments differ in their parameters."""
    longest_line: int = 32
    """Segments for which there is room in a line."""
    supports: bool = False
    """Whether lines know which of their particles curved colliders carry."""
    leans: bool = False
    """Whether lines know where contacts with other particles push theirs."""
    anchors: int = 0
    """Grips and pins for whose tethers there is room; 0 where there are no tethers to them."""
    grip_forces: bool = False
    """Whether forces at grips are summed."""
    contact_forces: bool = False
    """Whether forces of contacts are summed."""
    wrenches: bool = False
    """Whether forces and torques on colliders are summed."""
    forces: bool = False
    """Whether forces act on particles from outside."""
    wind: bool = False
    """Whether air flows past triangles."""
    rigid: bool = False
    """Whether there are rigid bodies."""
    solids: bool = False
    """Whether there are tetrahedra, to be counted where they are inverted."""
    fluid: FluidOptions | None = None
    """What is there of fluid, if any."""

    @property
    def registers(self) -> dict[str, Any]:
        """Arguments of ``wp.kernel`` that leave registers for another block beside a wide one."""
        return {"launch_bounds": (self.wide_block, 2)} if self.wide_block else {}

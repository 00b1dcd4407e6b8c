"""What a fluid is made of."""

from __future__ import annotations

from dataclasses import dataclass

from pbd_gym.materials.materials import check_positive
from pbd_gym.runtime.checks import number, whole

MOST_ITERATIONS = 1000


@dataclass(frozen=True)
class FluidMaterial:
    """A liquid, by position-based fluids: Macklin, Mueller 2013, doi:10.1145/2461912.2461984. Defaults to water.

    Raises:
        TypeError: for anything but numbers.
        ValueError: if a number is out of its range.
    """

    density: float = 1000.0
    """Mass per volume at rest [kg/m^3]; in a plane per area, times a depth of one metre."""
    viscosity: float = 1e-3
    """Dynamic viscosity [Pa s]: water 1e-3, oil 0.1, honey 10. It acts between particles, and at walls. A substep h
    evens out so much at most: with a spacing s, about ``density s^2 / h`` is as viscous as it gets. That is 80 Pa s for
    1000 kg/m^3, 20 mm and 5 ms, and a quarter of it in half the spacing."""
    xsph: float = 0.02
    """Share of the differences of velocity between neighbours that every substep evens out besides, 0 to 1: it keeps
    particles from jittering. Schechter, Bridson 2012, doi:10.1145/2185520.2185557."""
    surface_tension: float = 0.0
    """How strongly neighbours attract each other [N/m]; about the surface tension, 0.072 of water, where particles are
    as small as drops. In a plane a line pulls so much per metre of depth. Cohesion of Akinci et al. 2013,
    doi:10.1145/2508363.2508395."""
    vorticity: float = 0.0
    """How strongly eddies are kept alive [m/s]: vorticity confinement, eq. 16 of Macklin and Mueller."""
    clamp: float = 0.0
    """Least value of the density constraint ``density / rest density - 1``, not above 0. At 0 particles push each other
    apart and never pull. Below 0 a free surface pulls together, and soon boils."""
    regularization: float = 0.2
    """How soft a density constraint is, as a share of its squared gradient at rest; not negative. The more, the calmer
    and the more compressible."""
    iterations: int = 4
    """Sweeps over the density constraints in every iteration of the solver."""

    def __post_init__(self) -> None:
        check_positive(self, ["density"])
        for name in ("viscosity", "surface_tension", "vorticity", "regularization"):
            number(f"FluidMaterial.{name}", getattr(self, name), 0.0)
        number("FluidMaterial.xsph", self.xsph, 0.0, 1.0)
        number("FluidMaterial.clamp", self.clamp, -1.0, 0.0)
        whole("FluidMaterial.iterations", self.iterations, 1, MOST_ITERATIONS)

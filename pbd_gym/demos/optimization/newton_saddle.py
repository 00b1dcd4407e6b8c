"""Newton's method near a saddle: why the Hessian is clamped before it is inverted.

`-H^-1 g` goes to where the gradient is zero, and a saddle is such a place: between the two minima of `(x^2-1)^2+y^2/2`
the curvature along x is negative, and dividing by it turns downhill into uphill. Raising the eigenvalues of H to a
smallest one, `max(lambda, eps)`, makes every step one that leads down; with a line search it then ends in a minimum,
and near that, where no eigenvalue is raised any more, it is Newton's method again. The arrows are the eigenvectors of H
at the start, red where the curvature is negative. A large eps is safe and slow. Drag the start to and fro across x =
0.577, where the curvature changes sign.

Nocedal, Wright 2006: Numerical optimization, doi:10.1007/978-0-387-40065-5, section 3.4; Teran et al. 2005: Robust
quasistatic finite elements and flesh simulation, doi:10.1145/1073368.1073394, who clamp in this way for elasticity.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from pbd_gym.demos.optimization.iterates import typed
from pbd_gym.demos.optimization.newton import newton_step
from pbd_gym.demos.optimization.newton_plane import SurfaceDemo, SurfaceOptions, Way
from pbd_gym.demos.options import option
from pbd_gym.rendering import PALETTE, Frame
from pbd_gym.rendering.colors import Color

ARROW = 0.16
"""How long an eigenvector is drawn [m]."""
COLORS: tuple[Color, Color] = (PALETTE[0], (206, 54, 58))
"""Of eigenvectors whose curvature is positive, and negative."""


@dataclass(frozen=True)
class SaddleOptions(SurfaceOptions):
    """The saddle, and what is done about it."""

    function: str = typed("(x^2-1)^2+y^2/2", "x^4/4-x*y+y^4/4", "cos(x)*cos(y)", variables="x, y")
    smallest: float = option(0.5, "curvature to which lower ones are raised", low=1e-3, high=100.0)
    steps: int = option(10, "how many are done", low=1, high=50)
    width: float = option(2.0, "half of that of the picture, in units of x and y", low=0.5, high=10.0, step=0.5)


class SaddleDemo(SurfaceDemo):
    """Plain steps, which find the saddle, and clamped ones, which find a minimum."""

    options_type = SaddleOptions
    options: SaddleOptions

    def ways(self) -> dict[str, Way]:
        """Return the methods by name."""
        clamped = partial(newton_step, smallest=self.options.smallest)
        return {"plain": (newton_step, None), "clamped": (clamped, self.options.line_search())}

    def first(self) -> tuple[float, float]:
        """Return the start at first."""
        return (0.1, 1.0) if self.options.function == "(x^2-1)^2+y^2/2" else (0.6, 0.3)

    def iterate(self) -> None:
        """Do the steps from the start."""
        super().iterate()
        hessian = self.f.derivatives(self.x0)[2]
        if not np.isfinite(hessian).all():
            hessian = np.zeros((2, 2))
        self.curvatures, self.directions = np.linalg.eigh(hessian)
        """Eigenvalues of the Hessian at the start, shape (2,), and its eigenvectors, as columns, shape (2, 2)."""

    def frame(self, caption: str = "") -> Frame:
        """Return what there is to see: the landscape, the ways so far, and the eigenvectors at the start."""
        shown = super().frame(caption)
        (middle,) = self.positions()
        arrows = []
        for curvature, direction in zip(self.curvatures, self.directions.T, strict=True):
            along = ARROW * np.array([*direction, 0.0])
            arrows.append((np.array([middle - along, middle + along]), COLORS[int(curvature < 0.0)]))
        return replace(shown, polylines=[*shown.polylines, *arrows])

    def readout(self) -> str:
        """Return where each has got to, and the curvatures at the start."""
        low, high = self.curvatures
        return f"{super().readout()}   curvatures {low:.3g}, {high:.3g}"

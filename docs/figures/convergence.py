"""Draw docs/convergence.png and docs/budget.png: ``python -m docs.figures.convergence`` from the root of a clone.

The yardstick is Newton's method on the same step of implicit Euler, and the exact motion of the same particles and
springs by an eighth-order Runge-Kutta method; both are in tests/sim and share no code with the engine.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from pbd_gym import Model, Scene, SoftMaterial, Solver
from pbd_gym.geometry.tetmeshes import box
from tests.sim.exact import exact_motion
from tests.sim.newton import ImplicitEuler

DOCS = Path(__file__).parent.parent
CTRL_DT = 1 / 60
"""Control step [s]."""
COUNTS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)
ORANGE, GREEN, BLUE, RED, GREY = "#d1701f", "#3a8f3a", "#2a6fbb", "#b03a48", "#888888"


def cloth() -> Scene:
    """A sheet of 12 x 12 particles of the default material, laid flat and held at two corners."""
    scene = Scene()
    flat = [[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]]
    scene.pin(scene.add_cloth(12, 12, (0.5, 0.5), rotation=flat, lines=False).corners[:2])
    return scene


def rope() -> Scene:
    """A rope of 21 particles of the default material, laid flat and held at one end."""
    scene = Scene()
    scene.pin(scene.add_rope(np.linspace([0, 0, 0], [0.5, 0, 0], 21), lines=False)[:1])
    return scene


def beam() -> Scene:
    """A beam of stable neo-Hookean tetrahedra, clamped at one end."""
    scene = Scene()
    scene.add_soft_body(box((6, 2, 2), (0.3, 0.1, 0.1)), SoftMaterial(1000.0, 1e5, 0.45))
    scene.pin(np.flatnonzero(scene.positions[:, 0] < -0.149))
    return scene


SCENES: dict[str, Callable[[], Scene]] = {
    "cloth, 12 x 12 particles": cloth,
    "rope, 21 particles": rope,
    "soft beam, 120 tetrahedra": beam,
}


def advance(
    scene: Scene, x: np.ndarray, v: np.ndarray, steps: int, ctrl_dt: float, order: Any = "colored", **options: Any
) -> np.ndarray:
    """Positions after some control steps of the engine, in double precision."""
    solver = Solver(Model(scene, dtype="float64", order=order), **{"compensate": False, "quiet": True, **options})
    state, control = solver.state(), solver.control()
    state.set_positions(x)
    state.set_velocities(v)
    for _ in range(steps):
        solver.step(state, control, ctrl_dt)
    return state.get_positions()[0]


def swung(scene: Scene, seconds: float, h: float) -> tuple[np.ndarray, np.ndarray]:
    """Positions and velocities after a while of implicit Euler from rest."""
    x, v = scene.positions, scene.velocities
    for _ in range(round(seconds / h)):
        before, x = x, ImplicitEuler(scene, x, v, h).solve()[0]
        v = (x - before) / h
    return x, v


def spectral_radius(scene: Scene, x: np.ndarray, v: np.ndarray, h: float) -> float:
    """How much of a Jacobi iteration's change is left in the next, late in a step."""
    late = [advance(scene, x, v, 1, h, substeps=1, iterations=n, method="jacobi") for n in (400, 401, 402)]
    return float(np.linalg.norm(late[2] - late[1]) / np.linalg.norm(late[1] - late[0]))


def rms(difference: np.ndarray) -> float:
    """Root mean square distance [m]."""
    return float(np.sqrt((difference**2).sum(1).mean()))


def draw_iterations(plt: Any) -> None:
    """Error of one step against the number of iterations, for every solver choice."""
    from matplotlib.ticker import NullFormatter

    h = CTRL_DT / 10
    figure, panels = plt.subplots(1, 3, figsize=(11, 3.6), dpi=90, layout="constrained")
    for axes, (name, make) in zip(panels, SCENES.items(), strict=True):
        scene = make()
        x, v = swung(scene, 0.1, h)
        step = ImplicitEuler(scene, x, v, h)
        wanted, _ = step.solve()
        scale = rms(wanted - step.predicted)
        radius = spectral_radius(scene, x, v, h)
        choices: dict[str, tuple[str, str, dict[str, Any]]] = {
            "Gauss-Seidel, coloured": (BLUE, "-", {}),
            "Gauss-Seidel, given order": (BLUE, ":", {"order": "given"}),
            "symmetric": (GREEN, "-", {"method": "symmetric"}),
            "Jacobi": (GREY, "-", {"method": "jacobi"}),
            "Jacobi, relaxation 0.7": (GREY, ":", {"method": "jacobi", "relaxation": 0.7}),
            "Jacobi, Chebyshev": (ORANGE, "-", {"method": "jacobi", "chebyshev": min(radius, 0.9999)}),
        }
        for label, (color, style, options) in choices.items():
            found = [advance(scene, x, v, 1, h, substeps=1, iterations=n, **options) for n in COUNTS]
            axes.loglog(COUNTS, [rms(y - wanted) / scale for y in found], style, color=color, label=label)
        axes.set(title=f"{name}\n(spectral radius {radius:.4f})", xlabel="iterations")
        axes.yaxis.set_minor_formatter(NullFormatter())
        axes.grid(alpha=0.3)
    panels[0].set_ylabel("distance to Newton's solution\nover what elastic forces move")
    panels[0].legend(frameon=False, fontsize=7, loc="lower left")
    figure.savefig(DOCS / "convergence.png")


def draw_budget(plt: Any) -> None:
    """Error of a fifth of a second against sweeps per control step, spent as substeps or as iterations."""
    budget, steps = COUNTS[:9], 12
    figure, panels = plt.subplots(1, 3, figsize=(11, 3.6), dpi=90, layout="constrained")
    for axes, (name, make) in zip(panels, SCENES.items(), strict=True):
        scene = make()
        x, v = scene.positions, scene.velocities
        wanted, _ = exact_motion(scene, x, v, steps * CTRL_DT)
        spent: dict[str, tuple[str, Callable[[int], dict[str, int]]]] = {
            "n substeps of 1 iteration": (BLUE, lambda n: {"substeps": n, "iterations": 1}),
            "1 substep of n iterations": (RED, lambda n: {"substeps": 1, "iterations": n}),
        }
        for label, (color, options) in spent.items():
            found = [advance(scene, x, v, steps, CTRL_DT, **options(n)) for n in budget]
            axes.loglog(budget, [rms(y - wanted) for y in found], color=color, label=label)
        implicit = rms(swung(scene, steps * CTRL_DT, CTRL_DT)[0] - wanted)
        axes.axhline(implicit, color=GREY, linestyle="--", label="Newton, 1 step of implicit Euler")
        axes.set(title=name, xlabel="sweeps per control step of 1/60 s")
        axes.grid(alpha=0.3)
    panels[0].set_ylabel("distance to the exact motion\nafter 0.2 s [m]")
    panels[0].legend(frameon=False, fontsize=7, loc="lower left")
    figure.savefig(DOCS / "budget.png")


def main() -> None:
    """Draw both figures."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    draw_iterations(plt)
    draw_budget(plt)


if __name__ == "__main__":
    main()

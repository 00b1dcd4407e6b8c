"""Extended position-based dynamics (XPBD) in plain NumPy: a cloth held by two corners swings down.

    python docs/xpbd_in_numpy.py    # draws docs/xpbd_in_numpy.png, with matplotlib

A body is a set of particles, and its elasticity a set of *constraints*: functions C(x) of the positions that are 0 at
rest. Each has a *compliance* alpha, the inverse of a stiffness, and stands for the energy C^2 / (2 alpha). A step of
implicit Euler under these energies is found by giving every constraint an unknown, its *multiplier* lambda, such that
C + (alpha / h^2) lambda = 0: the constraint's force is lambda / h^2 along the gradient of C. XPBD looks for the
multipliers one constraint at a time. Equation numbers are those of

* Macklin, Mueller, Chentanez 2016, XPBD: position-based simulation of compliant constrained dynamics,
  doi:10.1145/2994258.2994272
* Macklin et al. 2019, Small steps in physics simulation, doi:10.1145/3309486.3340247: divide a step into *substeps*
  rather than iterate more, because the error of a step shrinks with its length.

The engine finds the same positions in float64; tests/docs/test_xpbd_in_numpy.py compares them.
"""

from pathlib import Path

import numpy as np

GRAVITY = np.array([0.0, -9.81, 0.0])  # [m/s^2]; y is up
DENSITY = 0.2  # [kg/m^2]
STRETCH, SHEAR, BEND = 1e-2, 5e-2, 5e-1  # compliances [m/N]: stiff along the threads, softer the other ways


class Cloth:
    """A square sheet of ``rows`` x ``columns`` particles, flat in the plane y = 0."""

    def __init__(self, rows: int = 12, columns: int = 12, size: float = 0.5) -> None:
        i = np.arange(rows * columns).reshape(rows, columns)  # index of the particle in row r, column c
        z, x = np.meshgrid(np.linspace(0.0, size, rows), np.linspace(-size / 2, size / 2, columns), indexing="ij")
        self.x = np.stack([x, np.zeros_like(x), z], axis=-1).reshape(-1, 3)  # positions [m], shape (n, 3)
        self.v = np.zeros_like(self.x)  # velocities [m/s]
        # A cell of the sheet gives a quarter of its mass to each of its corners. Pinned: infinite mass, w = 1/m = 0.
        row, column = (np.r_[0.5, np.ones(count - 2), 0.5] for count in (rows, columns))
        mass = DENSITY * np.outer(row, column).ravel() * size**2 / ((rows - 1) * (columns - 1))
        self.w = 1.0 / mass
        self.w[i[0, [0, -1]]] = 0.0
        # Every constraint is a spring between two particles. Threads resist stretch, diagonals of the cells resist
        # shear, and springs across three particles in a row resist bending.
        springs = [
            (i[:, :-1], i[:, 1:], STRETCH),
            (i[:-1], i[1:], STRETCH),
            (i[:-1, :-1], i[1:, 1:], SHEAR),
            (i[:-1, 1:], i[1:, :-1], SHEAR),
            (i[:, :-2], i[:, 2:], BEND),
            (i[:-2], i[2:], BEND),
        ]
        self.pairs = np.concatenate([np.stack([a.ravel(), b.ravel()], axis=1) for a, b, _ in springs])
        self.alpha = np.concatenate([np.full(a.size, alpha) for a, _, alpha in springs])
        self.rest = np.linalg.norm(self.x[self.pairs[:, 1]] - self.x[self.pairs[:, 0]], axis=1)
        self.colors = colored(self.pairs, len(self.x))


def colored(pairs: np.ndarray, particle_count: int) -> list[np.ndarray]:
    """Sort constraints into colours: each takes the first colour that neither of its particles has yet.

    Gauss-Seidel lets each constraint see what the one before it did. Constraints of one colour share no particle, so
    they can be solved at once, here by one NumPy expression, on a GPU by many threads, and the result is the same.
    """
    colors = np.zeros(len(pairs), dtype=int)
    taken: list[set[int]] = [set() for _ in range(particle_count)]
    for constraint, (a, b) in enumerate(pairs):
        color = next(c for c in range(len(pairs)) if c not in taken[a] | taken[b])
        colors[constraint] = color
        taken[a].add(color)
        taken[b].add(color)
    return [np.flatnonzero(colors == c) for c in range(colors.max() + 1)]


def project(cloth: Cloth, color: np.ndarray, lam: np.ndarray, h: float) -> None:
    """Solve the constraints of one colour, once: move their particles, and note the multipliers.

    C(x) = |x_b - x_a| - rest [m]; its gradient is the unit vector n from a to b at b, and -n at a.
    """
    x, w = cloth.x, cloth.w
    a, b = cloth.pairs[color].T
    d = x[b] - x[a]
    length = np.linalg.norm(d, axis=1)
    c = length - cloth.rest[color]
    alpha = cloth.alpha[color] / h**2  # compliance over a step
    step = (-c - alpha * lam[color]) / (w[a] + w[b] + alpha)  # eq. 18: change of lambda
    lam[color] += step
    n = d / length[:, None]
    x[a] -= (w[a] * step)[:, None] * n  # eq. 17: w times gradient times change of lambda
    x[b] += (w[b] * step)[:, None] * n


def advance(cloth: Cloth, dt: float, substeps: int = 5, iterations: int = 4, keep: bool = True) -> None:
    """Advance a cloth by ``dt`` seconds: algorithm 1 of 2016, in the substeps of 2019."""
    h = dt / substeps
    free = (cloth.w > 0)[:, None]
    for _ in range(substeps):
        before = cloth.x
        cloth.v = cloth.v + h * GRAVITY * free
        cloth.x = before + h * cloth.v  # where particles would go without constraints
        lam = np.zeros(len(cloth.pairs))  # zero once in a substep, not in every iteration
        for _ in range(iterations):
            if not keep:  # a mistake, to show what the multipliers are for: a spring forgets the force it has
                lam[:] = 0.0
            for color in cloth.colors:
                project(cloth, color, lam, h)
        cloth.v = (cloth.x - before) / h


def simulate(frames: int = 120, dt: float = 1 / 60, **options: int) -> np.ndarray:
    """Return the positions of a cloth at the start and after each frame [m], shape (frames + 1, n, 3)."""
    cloth = Cloth()
    positions = [cloth.x]
    for _ in range(frames):
        advance(cloth, dt, **options)
        positions.append(cloth.x)
    return np.stack(positions)


def draw(path: Path) -> None:
    """Draw the cloth at four moments, and its stretch over the number of iterations, into a PNG file."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 2.6), dpi=100, layout="constrained")
    positions = simulate(27)
    for panel, frame in enumerate((0, 9, 18, 27)):
        axes = figure.add_subplot(1, 5, panel + 1, projection="3d", proj_type="ortho")
        sheet = positions[frame].reshape(12, 12, 3)
        for thread in (*sheet, *sheet.swapaxes(0, 1)):
            axes.plot(*thread[:, [2, 0, 1]].T, color="#2a6fbb", linewidth=0.8)
        axes.plot(*sheet[0, [0, -1]][:, [2, 0, 1]].T, "o", color="#d1701f", markersize=5)
        axes.set(xlim=(-0.4, 0.5), ylim=(-0.45, 0.45), zlim=(-0.7, 0.2), title=f"{frame / 60:.2f} s")
        axes.set_box_aspect((1, 1, 1), zoom=1.4)
        axes.view_init(elev=14, azim=-62)
        axes.set_axis_off()
    counts = (1, 2, 4, 8, 16)
    axes = figure.add_subplot(1, 5, 5)
    for keep, label in ((True, "multipliers kept"), (False, "forgotten")):
        ends = [simulate(18, iterations=count, keep=keep)[-1] for count in counts]
        sides = [np.linalg.norm(np.diff(x.reshape(12, 12, 3)[:, 0], axis=0), axis=1).sum() for x in ends]
        axes.plot(range(5), 100 * (np.array(sides) / 0.5 - 1), "o-", label=label)
    axes.set(title="stretch of a side at 0.30 s", xlabel="iterations", ylabel="%", ylim=(0, None))
    axes.set_xticks(range(5), counts)
    axes.legend(frameon=False)
    figure.savefig(path)


if __name__ == "__main__":
    draw(Path(__file__).with_suffix(".png"))

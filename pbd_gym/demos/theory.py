"""Theory of the demonstrations in words that a terminal, a window and a page can all show."""

from __future__ import annotations

import inspect
import textwrap
from dataclasses import dataclass

WIDTH = 66
"""Longest line that the window has room for [characters]."""

PLAIN = str.maketrans(
    {"ᵢ": "_i", "ⱼ": "_j", "ₖ": "_k", "ₙ": "_n", "ₜ": "_t", "₀": "_0", "₁": "_1", "₂": "_2", "₃": "_3", "ᵀ": "^T",
     "⁻": "^-", "′": "'", "″": "''", "←": "=", "∇": "grad ", "∫": "integral of ", "⌊": "floor(", "⌋": ")", "⟨": "<",
     "⟩": ">"}
)  # fmt: skip
"""Words for signs that the window's font lacks."""


@dataclass(frozen=True)
class Theory:
    """Theory of a demonstration. Its source is the last paragraph of the demonstration's docstring."""

    formula: str
    """Formulas, one a line."""
    symbols: str
    """Meaning of the symbols, with units."""
    algorithm: str
    """Actions of a step, one a line."""

    def text(self, source: str = "", width: int = WIDTH) -> str:
        """Return formulas, symbols, algorithm and source in lines of at most ``width`` characters."""
        steps = [f"{number}. {line}" for number, line in enumerate(self.algorithm.splitlines(), 1)]
        parts = [self.formula.splitlines(), [f"with {self.symbols}"], steps, [source] if source else []]
        wrapped = [textwrap.wrap(line, width, subsequent_indent="   ") for part in parts for line in part]
        return "\n".join(line for lines in wrapped for line in lines)

    def markdown(self, source: str = "") -> str:
        """Return the same for a page."""
        steps = "\n".join(f"{number}. {line}" for number, line in enumerate(self.algorithm.splitlines(), 1))
        code = "\n".join(line for text in self.formula.splitlines() for line in textwrap.wrap(text, 36))
        return f"```\n{code}\n```\n\n{self.symbols}.\n\n**In each step**\n\n{steps}\n\n**Source**\n\n{source}"


def plain(text: str) -> str:
    """Return a text without the signs that the window's font lacks: indices as ``_i``, a gradient as ``grad``."""
    return text.translate(PLAIN).replace("_i_j", "_ij")


def source_of(kind: type) -> str:
    """Return the last paragraph of a class's docstring, where its sources are named, in one line."""
    return " ".join((inspect.getdoc(kind) or "").split("\n\n")[-1].replace("`", "").split())


_EDGES = "C = |xᵢ − xⱼ| − l: stretch of an edge of rest length l [m]; n: its direction; w: inverse masses [1/kg]"
_SUMS = "m/ρ: area of a sample [m²]; W: smoothing kernel [1/m²]; f: the function"

THEORIES = {
    "cloth": Theory(
        "Δλ = −(C + a λ) / (wᵢ + wⱼ + a),  a = α / h²\nΔxᵢ = wᵢ n Δλ,  Δxⱼ = −wⱼ n Δλ",
        f"{_EDGES}; λ: multiplier [kg m], 0 at first; α = 1/k: compliance [m/N]; h: time step [s]",
        "move: v ← v + h g, x ← x + h v\ncorrect each edge in turn; repeat as often as iterations say\n"
        "move what touches the ground or itself apart\ntake v from how far each particle moved",
    ),
    "pbd-cloth": Theory(
        "Δxᵢ = −wᵢ C n / (wᵢ + wⱼ),  Δxⱼ = +wⱼ C n / (wᵢ + wⱼ)",
        _EDGES,
        "move: v ← v + h g, x ← x + h v\nbring each edge to its length in turn; repeat as often as iterations say\n"
        "take v from how far each particle moved",
    ),
    "mass-spring": Theory(
        "f = −(k C + c (vᵢ − vⱼ)·n) n\nv ← v + h (g + f/m);  x ← x + h v",
        f"{_EDGES}; k: stiffness [N/m]; c: damping [N s/m]; m: mass [kg]; h: time step [s]; explicit Euler moves with "
        "the old v. Stable while h (h + 2c/k) < 4/ω², ω² = 8k/m",
        "add up the forces of all springs\nchange velocities, then positions",
    ),
    "impulses": Theory(
        "p = −C(x + h v) n / (h (wᵢ + wⱼ))\nthen p = −(v·n) n / (wᵢ + wⱼ)",
        f"{_EDGES}; p: impulse on the first end [N s], opposite on the other; v: relative velocity [m/s]; h: time step "
        "[s]",
        "add gravity to velocities\nchange them by impulses until edges will have their lengths after the step\n"
        "move: x ← x + h v\nremove velocities along edges in the same way",
    ),
    "yardsticks": Theory(
        "M (x − y) / h² + Jᵀ λ = 0,  λ = C(x) / α",
        "M: masses [kg]; y = x + h v + h² g: where particles would go alone [m]; J: gradient of the stretch C [m]; "
        "λ: tension [N]; α: compliance [m/N]; h: time step [s]",
        "predict y\nsolve the linearised equations of all rods at once\nrepeat until no force is unbalanced\n"
        "take v from how far each particle moved",
    ),
    "soft-body": Theory(
        "C = |xᵢ − xⱼ| − l for edges,  C = V − V₀ for tetrahedra\nΔλ = −(C + a λ) / (Σ w |∇C|² + a),  Δx = w ∇C Δλ",
        "l, V₀: length [m] and volume [m³] at rest; w: inverse masses [1/kg]; a = α/h² with the compliance α of the "
        "moduli and the step h [s]; λ: multiplier, 0 at first",
        "move under gravity\ncorrect edges and volumes in turn\nmove what is below the floor up\n"
        "take v from how far each particle moved",
    ),
    "shape-matching": Theory(
        "min over R, t of Σ m |R q + t − x|²\nx ← x + s (R q + t − x)",
        "q: place in the rest shape [m]; R, t: rotation and translation; m: mass [kg]; s: share, the stiffness",
        "move under gravity\nfit R, from a polar decomposition, and t\nmove each particle a share of the way\n"
        "take v from how far each particle moved",
    ),
    "region-shape-matching": Theory(
        "min over R, t of Σ m |R q + t − x|² in every region\nx ← mean of R q + t over the regions of a particle",
        "q: place in the rest shape [m]; R, t: rotation and translation of a region; m: mass [kg]",
        "move under gravity\nfit R and t of each region\nmove each particle to the mean of its goals\n"
        "take v from how far each particle moved",
    ),
    "materials": Theory(
        "C = √(2Ψ(F)),  α = 1/V\nStVK: Ψ = μ |E|² + λ tr(E)²/2,  E = (FᵀF − I)/2",
        "F: deformation gradient; Ψ: energy per volume [J/m³]; V: volume of a tetrahedron [m³]; μ, λ: Lamé's constants "
        "[Pa]; corotated and stable neo-Hookean have Ψ of their own",
        "move under gravity\ncorrect each tetrahedron by XPBD in turn\ntake v from how far each particle moved",
    ),
    "fem": Theory(
        "F = D Dm⁻¹,  f = −A P(F) Dm⁻ᵀ\nv ← v + h (g + f/m);  x ← x + h v",
        "D, Dm: edges of a triangle now and at rest, as columns [m]; P: stress of the material [Pa]; A: rest area "
        "[m²]; f: forces on two corners [N], the third gets the opposite; h: time step [s]",
        "find F, then P, of each triangle\nadd up the forces at the particles\nchange velocities, then positions",
    ),
    "deformation": Theory(
        "F = D Dm⁻¹\nGreen: E = (FᵀF − I)/2;  Cauchy: ε = (F + Fᵀ)/2 − I",
        "D, Dm: edges of the triangle now and at rest, as columns [m]; F: deformation gradient",
        "take edges now and at rest\nfind F, both strains, and its singular values, the principal stretches",
    ),
    "throw": Theory(
        "xₙ = x₀ + n h v₀ + c h² a\nc = n(n−1)/2 explicit, n(n+1)/2 symplectic, n²/2 RK2 and exact",
        "x₀, v₀: start [m] and velocity [m/s]; a: acceleration [m/s²]; h: time step [s]; n: number of steps",
        "explicit: x ← x + h v, v ← v + h a\nsymplectic: v first, then x\nRK2: x ← x + h (v + h a/2)",
    ),
    "spring-damper": Theory(
        "f = −(k (|x| − l) + c v·n) n\nimplicit: (I − h² K/m) Δv = (h/m) (f + h K v)",
        "k: stiffness [N/m]; c: damping [N s/m]; l: rest length [m]; n = x/|x|; K = ∂f/∂x [N/m]; h: time step [s]",
        "find the force\nexplicit Euler moves with the old velocity, symplectic Euler with the new one\n"
        "RK2 takes both from the middle of the step, implicit Euler from its end",
    ),
    "integrators": Theory(
        "x″ = −ω² x for a spring, −ω² sin x for a pendulum",
        "x: displacement [m] or angle [rad]; ω: angular frequency [rad/s]; energy E = x′²/2 + ω² x²/2, or "
        "ω² (1 − cos x) in place of the second term",
        "explicit Euler takes both slopes at the start of the step\nsymplectic Euler moves with the new velocity\n"
        "implicit Euler takes both slopes at the end, by Newton's method\nRK2 takes both in the middle",
    ),
    "double-pendulum": Theory(
        "C₁ = |x₁| − l₁ = 0,  C₂ = |x₂ − x₁| − l₂ = 0\nΔx = −w C n / Σw",
        "x: bobs seen from the hook [m]; l: lengths [m]; w: inverse masses [1/kg], 0 for the hook; n: direction of a "
        "rod",
        "move: v ← v + h g, x ← x + h v\nbring both rods to their lengths in turn\ntake v from how far each bob moved",
    ),
    "fountain": Theory(
        "x ← x + v t + g t²/2,  v ← v + g t\nbounce: vₙ ← −e vₙ;  |Δvₜ| ≤ μ |Δvₙ|",
        "g: gravity [m/s²]; t: time until the next contact or frame [s]; vₙ, vₜ: velocity along and across the normal "
        "[m/s]; e: restitution; μ: friction",
        "emit as many particles as the rate says\nmove them, and let them bounce at solids\n"
        "remove those older than their lifetime",
    ),
    "rotating-bodies": Theory(
        "v ← v + h g;  x ← x + h v;  α ← α + h ω",
        "x, v: position [m] and velocity [m/s]; α, ω: angle [rad] and angular velocity [rad/s]; h: time step [s]",
        "release bodies at the emitter\nmove and turn them\nremove those older than their lifetime",
    ),
    "rigid": Theory(
        "p = (K₁ + K₂)⁻¹ d,  K = E/M − [r] I⁻¹ [r]\nΔx = p/M,  Δφ = I⁻¹ (r × p)",
        "d: what a point is to move [m]; r: from the centre to the point [m]; [r]: matrix of the cross product; E: "
        "unit matrix; M, I: mass [kg] and inertia [kg m²]; p: impulse times time [kg m]",
        "move and turn bodies freely\npush balls that overlap, and joints, by p\n"
        "take velocity and angular velocity from how far bodies moved and turned",
    ),
    "rigid-boxes": Theory(
        "impulse: p = −(1 + e) uₙ / (1/m + (r × n)²/I),  |pₜ| ≤ μ p\npenalty: f = k d n",
        "e: restitution; uₙ: velocity of a corner along the normal n [m/s]; r: from the centre to it [m]; m, I: mass "
        "[kg] and inertia [kg m²]; μ: friction; d: depth [m]; k: stiffness [N/m]",
        "find the corners that are inside\nadd penalty forces and gravity to velocities\n"
        "change them by impulses until no corner moves in\nmove and turn the boxes",
    ),
    "sph-fluids": Theory(
        "ρᵢ = Σ m Wᵢⱼ,  aᵢ = −Σ m (pᵢ/ρᵢ² + pⱼ/ρⱼ²) ∇Wᵢⱼ\nWCSPH: p = k ((ρ/ρ₀)^γ − 1)\n"
        "PBF: λ = −C / (Σ|∇C|² + ε),  C = max(ρ/ρ₀ − 1, 0)\nIISPH, DFSPH: p with ρ = ρ₀ after the step",
        "ρ: density [kg/m²], at rest ρ₀; W: smoothing kernel; p: pressure; k: stiffness; γ: exponent; λ: multiplier "
        "that moves particles by Σ m (λᵢ + λⱼ) ∇W / ρ₀; ε: softening",
        "find neighbours and densities\nfind pressures, or PBF's corrections, by iterations\n"
        "move by them, gravity and viscosity\nDFSPH: remove divergence from velocities, too",
    ),
    "dam-break": Theory(
        "C = max(ρ/ρ₀ − 1, 0),  λ = −C / (Σ|∇C|² + ε)\nΔxᵢ = (m/ρ₀) Σ (λᵢ + λⱼ) ∇Wᵢⱼ",
        "ρ: density, a sum over neighbours [kg/m³]; ρ₀: that at rest; W: Wendland's kernel C2 [1/m³]; m: mass [kg]; "
        "ε: softening",
        "move under gravity\nfind neighbours\ncorrect densities, walls counted as water behind them, and repeat\n"
        "take v from how far each particle moved\neven out velocities of neighbours (XSPH)",
    ),
    "sph-kernels": Theory(
        "W = a f(|r|/h),  ∇W = a f′(|r|/h) r / (h |r|)\n∫ W = 1,  W(−r) = W(r),  W ≥ 0,  W = 0 beyond the support",
        "r: from a particle [m]; h: smoothing length [m]; a: norm [1/m²]; f: cubic or quintic spline, or Wendland's C2",
        "evaluate W and its derivatives at the particle that is dragged",
    ),
    "sph-approximation": Theory(
        "⟨f⟩(x) = Σ (m/ρ) fⱼ W(x − xⱼ)\nShepard: divided by Σ (m/ρ) W(x − xⱼ)",
        _SUMS,
        "sample f\nadd up what is near each point of the line\nnormalise, if asked to\ncompare with f",
    ),
    "sph-gradient": Theory(
        "⟨∇f⟩(x) = Σ (m/ρ) (fⱼ − f(x)) L ∇W(x − xⱼ)\nL⁻¹ = Σ (m/ρ) ∇W (xⱼ − x)ᵀ,  or L = I uncorrected",
        _SUMS,
        "sample f\nadd up L⁻¹ and the differences at each point of the line\ncompare with ∇f",
    ),
    "heat": Theory(
        "∂T/∂t = D ∇²T\nT ← T + r (Σ T of 4 neighbours − 4T),  r = D h / Δx²",
        "T: temperature; D: diffusivity [cells²/s]; h: time step [s]; Δx: width of a cell; stable while r ≤ 1/4",
        "add up the differences to the neighbours\nadd r times that to each cell; the border stays",
    ),
    "newton-roots": Theory(
        "x ← x − f(x) / f′(x)",
        "f: the function; f′: its slope. Near a simple root the error is squared by each step",
        "draw the tangent at x\ngo to its zero",
    ),
    "newton-minimum": Theory(
        "x ← x − s f′(x) / f″(x)\ns = 1, τ, τ², … until f(x + s d) ≤ f(x) + c s f′(x) d",
        "d = −f′/f″: direction; s: length of the step; τ: factor and c: share of the line search",
        "fit a parabola with slope and curvature\nraise a curvature below the minimum, if asked to\n"
        "shorten the step until f falls enough",
    ),
    "newton-plane": Theory(
        "Δx = −s H⁻¹ g;  steepest descent: Δx = −s g",
        "g: gradient; H: Hessian; s = 1, τ, τ², … until f falls by a share c of what the slope promises",
        "find g and H\nsolve for the direction\nshorten the step until f falls enough",
    ),
    "newton-saddle": Theory(
        "H = Σ max(λₖ, ε) vₖ vₖᵀ\nΔx = −s H⁻¹ g",
        "λ, v: eigenvalues and eigenvectors of the Hessian H; ε: least curvature; g: gradient; s: length of the step",
        "find g and H\nraise eigenvalues below ε to it\nsolve for the direction\nshorten the step until f falls enough",
    ),
    "sdf": Theory(
        "x ← x + max(r − d(x), 0) n,  n = ∇d",
        "d: signed distance of a solid, negative inside [m]; n: normal; r: radius of a particle [m]",
        "move under gravity\nmove what is too deep out along the normal\nhold back its slip by friction\n"
        "take v from how far each particle moved",
    ),
    "sdf-field": Theory(
        "ball: d = |x − c| − r\nbox: d = min(max dₖ, 0) + |max(d, 0)| − t,  dₖ = |xₖ − cₖ| − sₖ/2\n"
        "closest point: x − d n,  n = ∇d",
        "c: centre [m]; r: radius [m]; s: sides [m]; t: rounding [m]",
        "evaluate d at every pixel\nstep from the query point to the surface by −d n",
    ),
    "barycentric": Theory(
        "x = λ₁ a + λ₂ b + λ₃ c,  λ₁ + λ₂ + λ₃ = 1\nλ₁ = area(x, b, c) / area(a, b, c), and so on",
        "a, b, c: corners [m]; λ: weights; areas have a sign, that of the order of their corners",
        "find the areas\ninterpolate the colours of the corners by λ",
    ),
    "neighbours": Theory(
        "cell(x) = ⌊x / r⌋;  neighbours: |xᵢ − xⱼ| < r",
        "r: search radius and width of a cell [m]",
        "sort particles into cells\ncheck those of the 27 cells around a particle, in place of all",
    ),
}
"""Theory of every demonstration, by its name."""

"""The dense reward of each id as one displayed equation: weights from its task, measures as formulas from a table."""

from __future__ import annotations

import importlib
from typing import Any, NamedTuple

from pbd_gym.envs.core.data.modes import Modes
from pbd_gym.envs.core.parts.reaching import ReachingScore
from pbd_gym.registry import Entry

EFFORT = r"\frac{1}{m}\sum_{j=1}^{m}a_j^2"
"""Mean square of the m numbers of an action."""


class Measured(NamedTuple):
    """Measures of a class of environments."""

    formulas: dict[str, str]
    """TeX of each measure by the name of its reward term, without weight and sign."""
    symbols: str
    """Meaning of the symbols, in Markdown."""


def mean(inner: str, count: str = "n", below: str = "i") -> str:
    """Return TeX for a mean over particles."""
    return rf"\frac{{1}}{{{count}}}\sum_{{{below}}}{inner}"


DISTANCE = mean(r"\lVert\mathbf{x}_i-\mathbf{g}_i\rVert")
FOLD = Measured(
    {
        "gap": mean(r"\lVert\mathbf{u}_i-\mathbf{l}_i\rVert"),
        "fixation": mean(r"\lVert\mathbf{l}_i-\mathbf{g}_i\rVert"),
    },
    r"$\mathbf{u}_i$ is a particle of the half that is folded over, $\mathbf{l}_i$ the particle on which it must lie, "
    r"and $\mathbf{g}_i$ the target of the latter [m]",
)
TARGETS = Measured(
    {"distance": DISTANCE}, r"$\mathbf{x}_i$ is the position of particle $i$ and $\mathbf{g}_i$ its target [m]"
)
REACHED = Measured(
    {
        "distance": r"\frac{1}{n\,\ell}\sum_{i}d_i",
        "near": mean("c_i"),
        "rest": mean(r"c_i\,\lVert\mathbf{v}_i\rVert"),
    },
    "",
)
AMOUNT = Measured(
    {"amount": r"\frac{\lvert N_{\text{poured}}-\lfloor qN\rfloor\rvert}{N}"},
    r"$N_{\text{poured}}$ of the $N$ particles are in the other cup, and $q$ is the share to pour",
)
FLATTEN = Measured(
    {"coverage": r"\operatorname{area}\Bigl(\bigcup_{i}D_i\Bigr)"},
    "$D_i$ is the disc that particle $i$ covers, seen from above; areas are in m²",
)
STRAIGHT = Measured(
    {"error": r"\lvert\lVert\mathbf{x}_n-\mathbf{x}_1\rVert-L\rvert"},
    r"$\mathbf{x}_1$ and $\mathbf{x}_n$ are the ends of the rope and $L$ is its length [m]",
)
MEASURED = {
    "ClothVectorEnv": REACHED,
    "RopeVectorEnv": REACHED,
    "SoftVectorEnv": REACHED,
    "PendulumVectorEnv": REACHED,
    "ClothFlattenVectorEnv": FLATTEN,
    "ClothFlattenPickPlaceVectorEnv": FLATTEN,
    "ClothFoldVectorEnv": FOLD,
    "ClothFoldDiagonalVectorEnv": FOLD,
    "ClothFoldDropVectorEnv": FOLD,
    "ClothFoldCrumpledVectorEnv": FOLD,
    "ClothDropVectorEnv": TARGETS,
    "ClothUnfoldVectorEnv": TARGETS,
    "ClothHangVectorEnv": TARGETS,
    "ClothFoldTwiceVectorEnv": TARGETS,
    "ClothHangThreeVectorEnv": TARGETS,
    "ClothClutterVectorEnv": TARGETS,
    "ClothFoldCrumpledPictureVectorEnv": FOLD,
    "TShirtFoldVectorEnv": TARGETS,
    "ManipulationVectorEnv": Measured(
        {
            "fold": mean(r"\lVert\mathbf{x}_i-\mathbf{g}_i\rVert", r"\lvert F\rvert", r"i\in F"),
            "fixation": mean(r"\lVert\mathbf{x}_i-\mathbf{g}_i\rVert", r"\lvert R\rvert", r"i\in R"),
        },
        r"$F$ are the particles that are folded over (all of them if the goal is flat), $R$ the others, "
        r"$\mathbf{x}_i$ positions and $\mathbf{g}_i$ targets [m]",
    ),
    "RopeStraightenVectorEnv": STRAIGHT,
    "RopeUntieVectorEnv": STRAIGHT,
    "RopeTieVectorEnv": Measured(
        {"knot": r"\begin{cases}1&v_2=1\\ \min(c,2)/3&\text{else}\end{cases}"},
        r"$c$ counts the crossings of the rope with itself, and $v_2$ is 1 for the overhand knot",
    ),
    "RopeShapeVectorEnv": Measured(
        {"distance": r"\min_{\pi}\," + mean(r"\lVert\mathbf{x}_i-\mathbf{g}_{\pi(i)}\rVert")},
        r"$\mathbf{x}_i$ are the $n=10$ points of the rope, $\mathbf{g}_i$ the points of the letter [m], and $\pi$ any "
        "way to pair them",
    ),
    "RopePushVectorEnv": Measured(
        {"distance": DISTANCE}, r"$\mathbf{x}_i$ is one of the $n=10$ points and $\mathbf{g}_i$ its goal [m]"
    ),
    "RopeWhipVectorEnv": Measured(
        {"distance": r"\min_{s\le t}\,\lVert\mathbf{x}(s)-\mathbf{g}\rVert"},
        r"$\mathbf{x}(s)$ is the tip at a time $s$ of the episode until now, and $\mathbf{g}$ the goal [m]",
    ),
    "SoftLiftVectorEnv": Measured(
        {
            "distance": r"\lVert\mathbf{x}-\mathbf{g}\rVert",
            "near": mean(r"\lVert\mathbf{p}_k-\mathbf{x}\rVert", "2", "k"),
        },
        r"$\mathbf{x}$ is the middle of the ball, $\mathbf{g}$ its goal and $\mathbf{p}_k$ the middle of a plate [m]",
    ),
    "SoftPushVectorEnv": Measured(
        {"distance": r"\lVert\mathbf{x}-\mathbf{g}\rVert"},
        r"$\mathbf{x}$ is the middle of the block and $\mathbf{g}$ its goal [m]",
    ),
    "SoftShapeVectorEnv": Measured(
        {"distance": DISTANCE}, r"$\mathbf{x}_i$ is a point of the bar and $\mathbf{g}_i$ its goal [m]"
    ),
    "PassWaterVectorEnv": Measured(
        {"spilled": r"\Bigl(1-\frac{N_{\text{in}}}{N}\Bigr)", "distance": r"\lvert x-g\rvert"},
        r"$N_{\text{in}}$ of the $N$ particles of water are in the cup, $x$ is its place and $g$ its goal [m]",
    ),
    "PourWaterVectorEnv": Measured(
        {"poured": r"\frac{N_{\text{poured}}}{N}"},
        r"$N_{\text{poured}}$ of the $N$ particles are in the other cup",
    ),
    "PourWaterAmountVectorEnv": AMOUNT,
    "PourLineVectorEnv": AMOUNT,
    "PourSoupVectorEnv": Measured(
        {"soup": r"\frac{S_{\text{poured}}}{S}", "tofu": r"\frac{T_{\text{poured}}}{T}"},
        r"$S$ counts the particles of soup, $T$ those of tofu; the poured ones are in the other bowl",
    ),
}  # fmt: skip
"""Measures by the name of the batched class."""


def built(entry: Entry, **numbers: Any) -> tuple[Any, Any]:
    """Return the configuration of an id, and its task, which is not simulated.

    Args:
        entry: row of the registry.
        numbers: fields of its configuration, such as a smaller size.
    """
    module, name = entry.vector.split(":")
    kind: Any = getattr(importlib.import_module(module), name)
    mode = entry.kwargs.get("action_mode", kind.action_modes[0])
    config = kind.config_type(**numbers)
    return config, kind.task_type(config, Modes(mode))


def weights_of(config: Any, task: Any) -> dict[str, float]:
    """Return the weight of each reward term with its sign: ``effort`` is the last."""
    score = task.score
    if isinstance(score, ReachingScore):
        signs = (-1.0, 1.0, -1.0, -1.0)
        return {n: s * w for n, s, w in zip(score.term_names, signs, score.weights, strict=True)}
    weights = {measure.name: measure.weight for measure in score.measures}
    return {**weights, "effort": -config.effort_weight}


def equation(entry: Entry, config: Any, task: Any) -> str:
    """Return the dense reward of an id in TeX. Terms whose weight is 0 are left out."""
    formulas = {**MEASURED[entry.vector.split(":")[1]].formulas, "effort": EFFORT}
    text = "r ="
    for name, weight in weights_of(config, task).items():
        if weight:
            sign = "-" if weight < 0.0 else "" if text == "r =" else "+"
            factor = "" if abs(weight) == 1.0 else rf"{abs(weight):g}\,"
            # Not \underbrace: without a font for mathematics browsers draw it across the term.
            text += rf" {sign}\underset{{\text{{{name}}}}}{{{factor}{formulas[name]}}}"
    return text


def symbols(entry: Entry, config: Any, task: Any) -> str:
    """Return what the symbols of the equation of an id mean, in Markdown."""
    text = MEASURED[entry.vector.split(":")[1]].symbols
    if isinstance(task.score, ReachingScore):
        text = (
            rf"$d_i=\lVert\mathbf{{x}}_i-\mathbf{{g}}_i\rVert$ is the distance of goal particle $i$, one of "
            rf"{len(task.goal_particles)}, from its goal [m], $c_i=1/(1+(d_i/\rho)^2)$ with "
            rf"$\rho={task.score.goal_radius:g}$ m, $\ell={config.length:g}$ m the length of the object, and "
            rf"$\mathbf{{v}}_i$ the particle's velocity [m/s]"
        )
    if weights_of(config, task)["effort"]:
        return rf"{text}; $a_j$ are the $m$ numbers of the action."
    return f"{text}. `effort_weight` (0 by default) subtracts the mean square of the action."


def displayed(entry: Entry) -> str:
    """Return the equation of an id, displayed, and its symbols."""
    config, task = built(entry)
    return f"$$\n{equation(entry, config, task)}\n$$\n\nHere {symbols(entry, config, task)}"

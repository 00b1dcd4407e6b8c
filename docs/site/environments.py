"""One page an environment: what its class says, what the registry knows, its film, measured results and commands."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import re
import shutil
from pathlib import Path
from typing import Any

from docs.figures.results import NAMES, cost, performance, rows_of, runs_of, spaced, success
from docs.site import rewards
from docs.site.links import ROOT
from pbd_gym.envs.core.data.presets import preset_names
from pbd_gym.registry import ENTRIES, Entry

DOCS = ROOT / "docs"
KINDS = {"Cloth": "cloth", "Ropes": "rope", "Soft bodies": "soft", "Water": "water", "Pendulum": "pendulum"}
"""Headings of the index, and where the classes of each stand."""
CONFIG = "Every number below can be given to `gym.make` and `gym.make_vec`."


def write_pages(folder: Path) -> None:
    """Write environments/ID.md for every id, and the page that lists them."""
    place = folder / "environments"
    place.mkdir()
    for entry in ENTRIES:
        shutil.copyfile(DOCS / "gallery" / f"{entry.id}.gif", place / f"{entry.id}.gif")
        curve = DOCS / "results" / f"{entry.id}.png"
        if curve.is_file():
            shutil.copyfile(curve, place / curve.name)
        (place / f"{entry.id}.md").write_text(page(entry))
    tree = "\n".join(["```{toctree}", ":hidden:", "", *(entry.id for entry in ENTRIES), "```"])
    (place / "index.md").write_text(f"# All environments\n\n{cards()}\n\n{tree}\n")


def cards() -> str:
    """Return a card with a film for each id, under a heading for each kind of object."""
    text = ""
    for heading, kind in KINDS.items():
        entries = [entry for entry in ENTRIES if entry.vector.startswith(f"pbd_gym.envs.{kind}")]
        text += f"\n## {heading}\n\n````{{container}} cards\n" + "\n".join(map(card, entries)) + "````\n"
    return text


def card(entry: Entry) -> str:
    """Return the card of an id: its film and its id, which lead to its page, and what an agent has to do."""
    return (
        f"```{{container}} card\n[![{entry.id}: {entry.summary}]({entry.id}.gif)]({entry.id}.md)\n\n"
        f"[`{entry.id}`]({entry.id}.md)\n\n{entry.summary}\n```\n"
    )


def task_of(entry: Entry) -> Any:
    """Return the batched class of an id."""
    module, name = entry.vector.split(":")
    return getattr(importlib.import_module(module), name)


def page(entry: Entry) -> str:
    """Return the page of an id."""
    task = task_of(entry)
    summary, text = sections(task)
    parts = [
        f"# {entry.id}\n\n{summary}",
        f"![{entry.id}: {entry.summary}]({entry.id}.gif)",
        begun(entry),
        facts(entry, task, text),
        changed(entry),
        text.replace("## Rewards\n", f"## Rewards\n\n{rewards.displayed(entry)}\n"),
        f"## Numbers of the task\n\n{CONFIG}\n\n{configuration(task.config_type)}",
        f"## Results\n\n{results(entry)}",
        f"## Commands\n\n{commands(entry)}",
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def sections(task: Any) -> tuple[str, str]:
    """Return the first paragraph of a task's docstring, and its sections in Markdown."""
    text = inspect.cleandoc(task.__doc__ or "")
    text = re.sub(r":(\w+):`~?([^`]+)`", r"{py:\1}`\2`", text)
    text = re.sub(r"^%", r"\\%", text, flags=re.MULTILINE)  # at the start of a line it would begin a comment
    summary, _, rest = text.partition("\n\n")
    return summary, rest


def begun(entry: Entry) -> str:
    """Return what makes an environment, trains an agent and shows it; each block has a button that copies it."""
    made = f"import gymnasium as gym\nimport pbd_gym\n\nenvs = gym.make_vec({entry.id!r}, num_envs=16)"
    typed = f"pbd-gym train {entry.id} --out runs/{entry.id}\npbd-gym enjoy runs/{entry.id}/model.npz"
    return f"```python\n{made.replace(chr(39), chr(34))}\n```\n\n```bash\n{typed}\n```"


def facts(entry: Entry, task: Any, text: str) -> str:
    """Return the table at the head of a page."""
    action, observation = (space_in(text, name) for name in ("Action Space", "Observation Space"))
    names = [point.split(":")[1] for point in (entry.single, entry.vector)]
    presets = preset_names(task.presets, entry.kwargs.get("action_mode"))
    rows = {
        "actions": f"`{action}`, `action_mode={entry.kwargs.get('action_mode', task.action_modes[0])!r}`",
        "observations": f"`{observation}`, `obs_mode={task.obs_modes[0]!r}`",
        "other modes": ", ".join(f"`{mode!r}`" for mode in (*task.action_modes[1:], *task.obs_modes[1:])),
        "episode": f"{entry.max_episode_steps} steps",
        "presets": ", ".join(f"`{name!r}`" for name in presets),
        "classes": ", ".join(f"{{py:class}}`pbd_gym.envs.{name}`" for name in names),
    }
    lines = [f"| {name} | {value} |" for name, value in rows.items() if value]
    return "\n".join(["| | |", "|---|---|", *lines])


def space_in(text: str, heading: str) -> str:
    """Return the first space that a section of a docstring names.

    Raises:
        ValueError: if it names none.
    """
    section = re.split(r"^## ", text.split(f"## {heading}\n")[1], maxsplit=1, flags=re.MULTILINE)[0]
    found = re.search(r"`(Box\([^`]*\))`", section)
    if found is None:
        raise ValueError(f"no space in the section {heading!r}")
    return found[1]


def changed(entry: Entry) -> str:
    """Return what an id that stands for arguments of another says about them."""
    if not entry.kwargs:
        return ""
    arguments = ", ".join(f"{name}={value!r}" for name, value in entry.kwargs.items())
    plain = next((other.id for other in ENTRIES if other.vector == entry.vector and not other.kwargs), None)
    if plain is None:
        return f"Its class is made with `{arguments}`."
    return f"It is [`{plain}`]({plain}.md) with `{arguments}`; what follows describes both."


def configuration(config: type) -> str:
    """Return a table of the fields of a configuration, their defaults and what they say."""
    from sphinx.pycode import ModuleAnalyzer

    said: dict[str, str] = {}
    for base in reversed(config.__mro__[:-1]):
        analyzer = ModuleAnalyzer.for_module(base.__module__)
        for (owner, name), lines in analyzer.find_attr_docs().items():
            if owner == base.__name__:
                said[name] = " ".join(lines).strip()
    rows = []
    for field in dataclasses.fields(config):
        value: Any = field.default
        if field.default_factory is not dataclasses.MISSING:
            value = field.default_factory()
        words = re.sub(r":\w+:`~?([^`]+)`", r"`\1`", said.get(field.name, "")).replace("``", "`").replace("|", r"\|")
        default = "" if value is dataclasses.MISSING else f"`{value!r}`"
        rows.append(f"| `{field.name}` | {default} | {words} |")
    return "\n".join(["| name | default | |", "|---|---|---|", *rows])


def results(entry: Entry) -> str:
    """Return what agents reach, from the files in docs/results, and the learning curve."""
    rows = []
    for row in rows_of("baselines.csv"):
        if row["id"] == entry.id:
            rows += [("random actions", "", row["random"], "")]
            rows += [("scripted expert", spaced(row["expert_success"]), row["expert"], "")]
    for row in rows_of("cem.csv"):
        if row["id"] == entry.id:
            rows.append(("planner (CEM)", success([row]), performance([row]), f"{row['episodes']} episodes"))
    for method, name in NAMES.items():
        runs = runs_of(entry.id, method)
        if runs:
            rows.append((name, success(runs), performance(runs), cost(runs)))
    lines = [f"| {' | '.join(row)} |" for row in rows if row[2]]
    if not lines:
        return "Not measured yet."
    table = "\n".join(["| agent | success | normalised performance | |", "|---|---|---|---|", *lines])
    text = f"{table}\n\n[How this was measured](../results.md)."
    if (DOCS / "results" / f"{entry.id}.png").is_file():
        text += f"\n\n![learning curves of {entry.id}]({entry.id}.png)"
    return text


def commands(entry: Entry) -> str:
    """Return what else can be typed."""
    has_agent = (ROOT / "training" / "checkpoints" / f"{entry.id}.npz").is_file()
    has_expert = any(row["id"] == entry.id and row["expert"] for row in rows_of("baselines.csv"))
    lines = [f"pbd-gym play {entry.id}             # a window: drag it yourself"]
    if has_agent:
        lines.append(f"pbd-gym enjoy {entry.id}            # watch the agent that comes with the package")
    if has_expert:
        lines.append(f"pbd-gym play {entry.id} --policy expert")
        lines.append(f"pbd-gym record {entry.id} --out {entry.id}.gif")
    lines.append(f"pbd-gym plan {entry.id}")
    return "\n".join(["```bash", *lines, "```"])

"""Words: docstrings begin with a noun or a verb, and no text reads as if it were translated."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
PARTS = ("pbd_gym", "envs", "training")
MOST = 10
"""Findings in all: a rule with no exception would only make people write around it."""
PREPOSITIONS = (
    "about above across after against along among around as at before behind below beneath beside between beyond by "
    "down during for from in inside into near of off on onto out outside over per since through to toward towards "
    "under until up upon with within without"
)
QUESTIONS = "how what when where which who whose why"
BAD_STARTS = re.compile(rf"(?:{'|'.join((PREPOSITIONS + ' ' + QUESTIONS).split())})\b(?![-.])", re.IGNORECASE)
"""How docstrings do not begin. "In-place ..." and "OFF, the format" do: see :func:`starts_badly`."""
TRANSLATED = re.compile(
    r"\b(?:"
    + "|".join(
        (
            "anew",
            "goes? on with",
            "gone on with",
            "gripper",
            "in their stead",
            "is of no (?:use|concern)",
            "it is the other way about",
            "lets? go of",
            r"(?:is|are) no (?:bool|dataclass|dict|identifier|mapping|mesh|model|scene|sequence|string)s?",
            r"(?:is|are) no numbers?",
            "of before",
            "say of each",
            "some more does",
            "takes? hold of",
            "that (?:is|are) not there",
            "that (?:is|are) none",
            "the more (?:it|they) \\w+, the",
            "time and again",
            "what is asked for",
            "what (?:is|are|was|were) (?:gripped|held|pinned)",
            "what there is",
            "which it may do",
        )
    )
    + r")\b",
    re.IGNORECASE,
)
"""Phrases that had been translated word by word; each has a usual way to say it."""
ALLOWED = ("gripper=", "gripper:", ".gripper", "_gripper")
"""A field of :class:`pbd_gym.rendering.pictures.frame.Picker`; in prose, hands are hands."""


def source_files() -> Iterator[Path]:
    """Yield the package's Python files, each once."""
    for part in PARTS:
        for path in sorted((ROOT / part).rglob("*.py")):
            if not any(parent.is_symlink() for parent in path.parents):
                yield path


def docstrings(body: list[ast.stmt]) -> Iterator[ast.Constant]:
    """Yield the strings that stand alone: docstrings of modules, classes and functions, and those below attributes."""
    for node in body:
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield node.value
        for block in ("body", "orelse"):
            yield from docstrings(getattr(node, block, []))


def starts_badly(text: str) -> bool:
    """Return whether a docstring begins with a preposition or a question word; names in capitals do not count."""
    first = text.lstrip()
    return bool(BAD_STARTS.match(first)) and not first.split()[0].strip(",:").isupper()


def findings(source: str) -> list[str]:
    """Return what is wrong with the words of a file: beginnings of docstrings, and phrases anywhere in its text."""
    found = [
        f"{doc.lineno}: {str(doc.value).lstrip()[:60]!r}"
        for doc in docstrings(ast.parse(source).body)
        if starts_badly(str(doc.value))
    ]
    prose = re.sub(r"\s*\n\s*(?:# )?", " ", source)
    for match in TRANSLATED.finditer(prose):
        around = prose[max(match.start() - 1, 0) : match.end() + 1]
        if not any(name in around for name in ALLOWED):
            found.append(repr(prose[max(match.start() - 30, 0) : match.end() + 30]))
    return found


def test_docstrings_begin_with_a_noun_or_a_verb_and_nothing_reads_as_translated() -> None:
    found = [f"{path.relative_to(ROOT)}: {each}" for path in source_files() for each in findings(path.read_text())]
    assert len(found) <= MOST, "\n".join(found)


def test_bad_words_are_found() -> None:
    assert findings('"""Of its axis above the ground [m]."""\n')
    assert findings('x = 1\n"""What makes hands let go."""\n')
    assert findings("def f():\n    '''how far it goes'''\n")
    assert findings('"""Make it.\n\n    The lists are made\n    anew.\n"""\n')
    assert findings("x = 1  # a tether that is none\n")
    assert findings('raise TypeError("options are no mapping")\n')
    assert findings('"""Close the gripper."""\n')
    assert not findings('"""OFF, the format of Geomview."""\nx = 1\n"""In-place sum of the forces [N]."""\n')
    assert not findings("Picker(p, 0.02, True, gripper=False)\n")


def broken_off(source: str) -> list[str]:
    """Return first paragraphs that end within a sentence: indexes of names and search results show these alone."""
    parts = [inspect.cleandoc(str(doc.value)).partition("\n\n") for doc in docstrings(ast.parse(source).body)]
    return [first[-60:] for first, _, rest in parts if first.endswith((":", ";")) and re.match(r"[A-Za-z`]+ ", rest)]


def test_first_paragraphs_end_with_a_sentence() -> None:
    found = [f"{path.relative_to(ROOT)}: {each}" for path in source_files() for each in broken_off(path.read_text())]
    assert found == []
    assert broken_off('def f():\n    """Whether a point is in a cup:\n\n    below its rim.\n    """\n')
    assert not broken_off('"""Train an agent.\n\nFor example PPO.\n"""\n')


def run_together(source: str) -> list[str]:
    """Return the arguments whose entry under ``Args:`` does not begin a line: readers look for them there."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.FunctionDef | ast.ClassDef):
            continue
        text = ast.get_docstring(node) or ""
        entries = text.partition("Args:\n")[2].partition("\n\n")[0]
        function = node
        if isinstance(node, ast.ClassDef):  # what it is made of stands in its own docstring
            made = [each for each in node.body if isinstance(each, ast.FunctionDef) and each.name == "__init__"]
            function = made[0] if made else None
        if function is not None:
            arguments = function.args
            names = [each.arg for each in arguments.posonlyargs + arguments.args + arguments.kwonlyargs]
            found += [name for name in names if re.search(rf"[.;] {name}: ", entries)]
    return found


def test_each_argument_begins_a_line() -> None:
    found = [f"{path.relative_to(ROOT)}: {each}" for path in source_files() for each in run_together(path.read_text())]
    assert found == []
    assert run_together('def f(a, b):\n    """Add.\n\n    Args:\n        a: one. b: other.\n    """\n') == ["b"]

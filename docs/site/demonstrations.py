"""One page a demonstration: its film, its equation from docs/demonstrations.md, its docstring, and its options."""

from __future__ import annotations

import dataclasses
import inspect
import re
import shutil
from pathlib import Path

from docs.site.links import ROOT
from pbd_gym.demos import DEMOS, Entry, find

DOCS = ROOT / "docs"


def write_pages(folder: Path) -> None:
    """Write demos/NAME.md for every demonstration, and the page that lists them."""
    place = folder / "demos"
    place.mkdir()
    rows = equations()
    for entry in DEMOS:
        shutil.copyfile(DOCS / "gallery" / f"{entry.name}.gif", place / f"{entry.name}.gif")
        (place / f"{entry.name}.md").write_text(page(entry, rows[entry.name]))
    listed = "\n".join(f"| [`{entry.name}`]({entry.name}.md) | {entry.summary} |" for entry in DEMOS)
    names = "\n".join(entry.name for entry in DEMOS)
    (place / "index.md").write_text(
        f"# All demonstrations\n\n| name | what there is to see |\n|---|---|\n{listed}\n\n"
        f"```{{toctree}}\n:hidden:\n\n{names}\n```\n"
    )


def equations() -> dict[str, str]:
    """Return what each demonstration computes, from the tables of docs/demonstrations.md."""
    text = (DOCS / "demonstrations.md").read_text()
    rows = re.findall(r"^\| `([\w-]+)`[^|]*\|(.*)\|\s*$", text, re.MULTILINE)
    names = {entry.name for entry in DEMOS}
    return {name: computes.strip().replace(r"\|", "|") for name, computes in rows if name in names}


def page(entry: Entry, computes: str) -> str:
    """Return the page of a demonstration."""
    about = inspect.getdoc(find(entry.name))
    return f"""# {entry.name}

{entry.summary[0].upper()}{entry.summary[1:]}.

![{entry.name}: {entry.summary}]({entry.name}.gif)

It computes: {computes}

```bash
pbd-gym demo {entry.name}                          # a window
pbd-gym demo {entry.name} --help                   # its options
pbd-gym demo {entry.name} --out {entry.name}.gif   # a film, without a display
```

```{{eval-rst}}
{about}
```

## Options

{options(entry)}
"""


def options(entry: Entry) -> str:
    """Return a table of the options of a demonstration: default, range and meaning."""
    rows = []
    for field in dataclasses.fields(find(entry.name).options_type):
        about = field.metadata
        allowed = ", ".join(f"`{choice}`" for choice in about["choices"])
        if not about["choices"] and not isinstance(field.default, str):
            allowed = " to ".join(f"{bound:g}" for bound in (about["low"], about["high"]))
        text = about["text"].replace("|", r"\|")
        rows.append(f"| `--{field.name.replace('_', '-')}` | `{field.default}` | {allowed} | {text} |")
    return "\n".join(["| option | default | values | |", "|---|---|---|---|", *rows])

"""``python -m docs.site [FOLDER]``: build the site, by default in runs/site."""

from __future__ import annotations

import sys
from pathlib import Path

from docs.site.build import build

if __name__ == "__main__":
    out = Path(sys.argv[1] if len(sys.argv) > 1 else "runs/site")
    code = build(out)
    print(f"{out / 'html' / 'index.html'}")
    sys.exit(code)

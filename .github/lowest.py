"""Print the lowest versions that pyproject.toml allows for the dependencies of the package, as constraints of pip."""

import sys
from pathlib import Path

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
for needed in project["dependencies"]:
    name, _, bounds = needed.partition(">=")
    print(f"{name}=={bounds.partition(',')[0]}")

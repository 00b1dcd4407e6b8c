"""C++ of the kernels: template headers, and their use from Warp functions.

The body of a ``wp.func_native`` stands within a function, where there are no templates. So the C++ is in headers, at
the scope of the module: ``@wp.kernel(module="unique", module_options=MODULE_OPTIONS)``, or
``wp.set_module_options(MODULE_OPTIONS)`` for all kernels of a Python module. A native function is one :func:`call`.
Choices made when a kernel is built are template arguments.
"""

import functools
import re
from pathlib import Path
from typing import Any

import warp as wp

FOLDER = Path(__file__).parent
"""Folder of the headers."""
_NATIVE = {wp.float32: "float", wp.float64: "double"}
"""C++ name of a scalar type."""
_DEFINED = f"#define PBD_CPU_BLOCKS {int(hasattr(wp.config, 'enable_cpu_blocks'))}\n"  # 0: Warp 1.18

MODULE_OPTIONS: dict[str, Any] = {
    "extra_build_options": wp.ModuleBuildOptions(
        # Included by its full path: with a search folder, Clang would not share Warp's precompiled header, which takes
        # longer than most kernels, with modules that have no options. NVRTC finds nested includes only this way.
        extra_cpu_preamble=f'{_DEFINED}#include "{FOLDER.as_posix()}/pbd.h"\n',
        extra_cuda_include_dirs=[FOLDER],
        extra_cuda_preamble=f'{_DEFINED}#include "pbd.h"\n',
        extra_build_dependencies=sorted(FOLDER.glob("*.h")),
    )
}
"""Options of a Warp module whose kernels call functions of the headers."""


def scalar_name(scalar: Any) -> str:
    """Return the C++ name of ``wp.float32`` or ``wp.float64``."""
    return _NATIVE[scalar]


def precision(scalar: Any) -> str:
    """Return ``"float32"`` or ``"float64"`` for a Warp scalar type."""
    return "float64" if scalar is wp.float64 else "float32"


def lanes_type(lanes: int, scalar: Any) -> str:
    """Return the C++ name of ``pbd::Lanes`` for a lane count and ``wp.float32`` or ``wp.float64``."""
    return f"pbd::Lanes<{scalar_name(scalar)}, {lanes}>"


def call(function: str, *template: Any, arguments: str) -> str:
    """Return the C++ statement that calls a function template of the headers.

    Args:
        function: name in the namespace ``pbd``.
        *template: its template arguments: types by their C++ names, bools and ints; C++17 takes no floats.
        arguments: its arguments, by their names in the Warp function.
    """
    written = (str(int(each)) if isinstance(each, bool) else str(each) for each in template)
    return f"pbd::{function}<{', '.join(written)}>({arguments});"


@functools.cache
def constant(name: str) -> float:
    """Return a number that a header defines as ``constexpr double NAME = ...;`` or ``constexpr int``.

    Raises:
        KeyError: for a name that no header defines.
    """
    for path in sorted(FOLDER.glob("*.h")):
        found = re.search(rf"^constexpr (?:double|int) {name} = ([^;]+);", path.read_text(), re.MULTILINE)
        if found:
            return float(found[1])
    raise KeyError(name)

"""One precompiled header of Warp's for all processes of a test run.

Warp makes the header anew in every process and thread, for each level of optimisation and each size of a block: 3 s and
more, longer than many a kernel takes. Here it is kept beside the compiled kernels. Clang checks that it fits, and Warp
makes it again, or compiles without, where it does not; so results cannot depend on it. CUDA's stays as it is.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import warp as wp


def share() -> None:
    """Keep it from now on, where this version of Warp has what that takes (none of it is public)."""
    from warp._src import context

    if hasattr(context.Runtime, "get_clang_pch_dir"):
        context.Runtime.get_clang_pch_dir = _folder


def _folder(runtime: Any) -> str | None:
    if runtime.llvm is None:
        return None
    folder = Path(str(wp.config.kernel_cache_dir)) / "precompiled_headers"
    folder.mkdir(parents=True, exist_ok=True)
    return str(folder)

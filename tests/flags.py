"""Compiler flags of a test run: less is copied into where it is called.

Warp asks LLVM to inline functions up to a cost of 9000, and up to 3000 where a call is rare. With LLVM's own limits a
step takes the compiler a tenth to a third less time and runs up to a third longer, with the same bits
(``kernels/test_cpu_blocks.py``). Tests wait for the compiler.
"""

from __future__ import annotations

import warp as wp

USERS: str | None = wp.config.cpu_compiler_flags
"""What kernels are compiled with outside of tests."""
_LIMITS = {"-inline-threshold": 225, "-inline-cold-callsite-threshold": 45}


def quick() -> str | None:
    """Return Warp's flags with LLVM's own limits of inlining; each by its number, since LLVM remembers the last one."""
    if USERS is None:
        return None
    kept = [flag for flag in USERS.split() if not any(flag.startswith(f"-mllvm={name}=") for name in _LIMITS)]
    return " ".join([*kept, *(f"-mllvm={name}={limit}" for name, limit in _LIMITS.items())])


def share() -> None:
    """Compile with them from now on."""
    wp.config.cpu_compiler_flags = quick()

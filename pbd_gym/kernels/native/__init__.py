"""C++ that kernels are made of: headers of templates over the type of a number, and how a function calls into them.

The headers in this folder are included at the scope of every module whose kernels call :func:`native` functions: a
step passes :data:`MODULE_OPTIONS` to ``wp.kernel``, a module of kernels to ``wp.set_module_options``. There templates
may stand, which the body of a native function may not hold. ``pbd.h`` includes them all.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import warp as wp

FOLDER = Path(__file__).parent
"""Where the headers are."""


def native(code: str) -> Callable[[Any], Any]:
    """Return the decorator that makes a Warp function of C++ statements.

    It is ``wp.func_native`` for stubs that a type checker is told to leave alone by ``@typing.no_type_check``: Warp
    would find no return type in those.

    Args:
        code: body of the function, in the names of its arguments.
    """

    def decorate(stub: Any) -> Any:
        stub.__dict__.pop("__no_type_check__", None)
        return wp.func_native(code)(stub)

    return decorate

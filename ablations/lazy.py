"""A package's public names, imported on first use, so that a command line does not wait for modules it never uses."""

import ast
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any


def attached(file: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """`__getattr__`, `__dir__` and `__all__` of the package with this file: what it imports `if TYPE_CHECKING`."""
    block = next(node for node in ast.parse(Path(file).read_text(encoding="utf-8")).body if isinstance(node, ast.If))
    froms = [node for node in block.body if isinstance(node, ast.ImportFrom)]
    homes = {each.name: str(node.module) for node in froms for each in node.names}

    def get(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {Path(file).parent.name!r} has no attribute {name!r}")
        module = import_module(homes[name])
        return getattr(module, name) if hasattr(module, name) else import_module(f"{homes[name]}.{name}")

    return get, lambda: sorted({*homes, "__version__"}), sorted(homes)

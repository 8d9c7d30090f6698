"""How `python -m tricks` and `python -m ablations` begin."""

import sys
from importlib import import_module


def start(module: str) -> int:
    """Run `main` of a module; returns its exit status. The import stands inside: Ctrl-C during it is one line, too."""
    try:
        status: int = import_module(module).main()
        return status
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130

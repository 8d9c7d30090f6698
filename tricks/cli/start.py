"""Entry point of `python -m tricks` and `python -m ablations`."""

import sys
from importlib import import_module


def start(module: str) -> int:
    """Import a module and run its `main`; returns the exit status. Ctrl-C prints one line, even during the import."""
    try:
        status: int = import_module(module).main()
        return status
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130

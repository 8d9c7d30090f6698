"""Optional packages, installed by an extra of pyproject.toml and imported on first use."""

import importlib
from types import ModuleType

from tricks.errors import InputError


def extra(name: str, package: str) -> ModuleType:
    """Import a package of the extra `name`. Raises InputError, naming the extra, if that fails."""
    try:
        return importlib.import_module(package)
    except ImportError as error:
        reason = " ".join(str(error).split())
        raise InputError(f'cannot import {package} ({reason}); install it with: pip install -e ".[{name}]"') from error

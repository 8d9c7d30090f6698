"""Optional packages, installed by an extra of pyproject.toml and imported on first use."""

import importlib
from types import ModuleType

from tricks.errors import InputError, said


def extra(name: str, package: str) -> ModuleType:
    """Import a package of the extra `name`. Raises InputError, naming the extra, if that fails."""
    try:
        return importlib.import_module(package)
    except ImportError as error:
        raise InputError(
            f'cannot import {package} ({said(error)}); install it with: pip install -e ".[{name}]"'
        ) from error

"""Packages that an extra of pyproject.toml brings; imported only when something needs them."""

import importlib
from types import ModuleType

from tricks.errors import InputError


def extra(name: str, package: str) -> ModuleType:
    """The package that the extra `name` brings. Raises InputError that names the extra if it cannot be imported."""
    try:
        return importlib.import_module(package)
    except ImportError as error:
        reason = " ".join(str(error).split())
        raise InputError(f'cannot import {package} ({reason}); install it with: pip install -e ".[{name}]"') from error

"""What this project is called where packages are installed, its versions, and what `--version` prints."""

import platform

__version__ = "0.3.0"
DISTRIBUTION = "ppo-tricks"
ALGORITHM = 9  # raise it when a change to the library, or to a default, changes curves: old results then don't count
PLACEHOLDER = "OWNER"  # stands for the repository's owner in addresses; release.yml refuses to publish it
BENEATH = ("torch", "numpy", "numba", "gymnasium")


def version_line() -> str:
    """`ppo-tricks 0.3.0 (Python 3.11.9, torch 2.8.0, ...)`: what belongs in a report of a fault."""
    found = [f"{name} {installed(name) or 'missing'}" for name in BENEATH]
    line = f"{DISTRIBUTION} {__version__} ({', '.join([f'Python {platform.python_version()}', *found])})"
    return f"{line}, not released: its links lead to the placeholder {PLACEHOLDER}" if unreleased() else line


def unreleased() -> bool:
    """Whether the installed package's addresses still name no repository. False where it is not installed."""
    from importlib.metadata import PackageNotFoundError, metadata

    try:
        return any(f"/{PLACEHOLDER}/" in each for each in metadata(DISTRIBUTION).get_all("Project-URL", []))
    except PackageNotFoundError:
        return False


def installed(name: str) -> str | None:
    """The version of an installed distribution, without importing it; None if there is none."""
    from importlib.metadata import PackageNotFoundError, version  # a quarter of what `--help` would wait for

    try:
        return version(name)
    except PackageNotFoundError:
        return None

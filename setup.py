"""What pyproject.toml cannot say: on the index's page, the README's relative links lead to the repository."""

import re
from pathlib import Path

from setuptools import setup

ROOT = Path(__file__).parent
PICTURES = (".png", ".gif", ".svg")


def absolute(text: str, repository: str, tag: str) -> str:
    """The text with its relative links and pictures as addresses in the repository, at this tag."""

    def address(found: re.Match[str]) -> str:
        target = found[1]
        if re.match(r"[a-z]+:|#", target):
            return found[0]
        return f"]({repository}/{'raw' if target.endswith(PICTURES) else 'blob'}/{tag}/{target})"

    return re.sub(r"\]\(([^)\s]+)\)", address, text)


def described() -> str:
    """The README for the index, with the address and the version that pyproject.toml and tricks/version.py name."""
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    version = (ROOT / "tricks" / "version.py").read_text(encoding="utf-8")
    (repository,) = re.findall(r'^Homepage = "(.+)"$', project, re.MULTILINE)
    (number,) = re.findall(r'^__version__ = "(.+)"$', version, re.MULTILINE)
    return absolute((ROOT / "README.md").read_text(encoding="utf-8"), repository, f"v{number}")


setup(long_description=described(), long_description_content_type="text/markdown")

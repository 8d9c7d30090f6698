"""The wheel of a copy of the clone, made once for all processes, and an environment with neither it nor the clone."""

import os
import shutil
import site
import subprocess
import sys
import venv
from collections.abc import Callable
from pathlib import Path

import pytest
from filelock import FileLock
from support.pages import ROOT


def once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], object]) -> Path:
    """A folder with this name that `make` has filled. The first process to ask does it, and the others wait for that.

    Whoever finds that it failed tries again, and so fails with the reason.
    """
    own = factory.getbasetemp()
    common = own.parent if "PYTEST_XDIST_WORKER" in os.environ else own
    folder = common / name
    with FileLock(common / f"{name}.lock"):
        if not folder.exists():
            work = factory.mktemp("once") / name
            make(work)
            work.rename(folder)
    return folder


PARTS = ("pyproject.toml", "setup.py", "README.md", "LICENSE", "tricks", "ablations", "chapters", "tests")
OWN = ("ppo_tricks-", "__editable__", "_editable_")  # how the clone's own installation begins its files' names


def built(factory: pytest.TempPathFactory) -> Path:
    """The wheel, made once a session. Building one needs the setuptools that pyproject.toml names."""
    pytest.importorskip("setuptools", minversion="77")
    (path,) = once(factory, "wheel", _build).glob("*.whl")
    return path


def _build(folder: Path) -> None:
    folder.mkdir()
    ignored = shutil.ignore_patterns("__pycache__", "*.ipynb")
    for name in PARTS:
        source = ROOT / name
        shutil.copytree(source, folder / name, ignore=ignored) if source.is_dir() else shutil.copy(source, folder)
    build = "from setuptools import build_meta; build_meta.build_wheel('.')"
    subprocess.run([sys.executable, "-c", build], cwd=folder, check=True, capture_output=True)


def environment(folder: Path, without: tuple[str, ...] = ()) -> Path:
    """The Python of a new environment that sees all packages of this one except for ours and those `without`.

    The packages are linked and not installed, so that this takes a second.
    """
    links = folder / "packages"
    links.mkdir(parents=True)
    for packages in map(Path, site.getsitepackages()):
        for path in packages.iterdir() if packages.is_dir() else ():
            if not path.name.startswith((*OWN, *without)) and path.suffix != ".pth":
                (links / path.name).symlink_to(path)
    venv.create(folder / "venv", symlinks=os.name != "nt")
    (own,) = (folder / "venv").rglob("site-packages")
    (own / "linked.pth").write_text(f"{links}\n", encoding="utf-8")
    return folder / "venv" / ("Scripts/python.exe" if os.name == "nt" else "bin/python")

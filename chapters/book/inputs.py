"""What the outputs of a notebook were made from, and whether it has changed since: by a digest in the notebook.

The digest covers the notebook's code, the sources that it imports, however indirectly, and the stored results that
these read. It covers no text, and no other package. A stop of the two hours has a digest of its code alone: its outputs
are the chapters' own.
"""

import hashlib
import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from tricks.ladder import FILES, PRESETS

ROOT = Path(__file__).parents[2]
KEY = "inputs"  # in a notebook's metadata
CANARIES = "a1_qr_signs", "a2_storing_rows"  # always executed: they take seconds, and the second trains
ALONG = {  # what a file reads, or imports by name, without an import statement
    "tricks/fast/dispatch.py": "tricks/fast/*.py",
    "tricks/loop.py": "tricks/fused/*.py",
    "tricks/reading/listing.py": "tricks/loop.py",
    "ablations/question/designs.py": "ablations/findings/our_*.py ablations/findings/trials.*",
    "ablations/question/story.py": "ablations/findings/stories.py",
    "ablations/findings/claims.py": "ablations/findings/claims.csv",
    "ablations/analysis/records.py": "ablations/results/*.csv*",
    "ablations/training/rates.py": "ablations/*.csv",
}
IMPORT = re.compile(r"^ *(?:from ([\w.]+) import (\([^)]*\)|.*)|import (.*))", re.M)
WORLD = re.compile(r'(?:\bid=f?"|"tricks/)(?:tricks/)?([A-Za-z]+)')


def digest(notebook: Any, root: Path = ROOT) -> str:
    """The digest of what the notebook's outputs would be made from now."""
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    code = "\n".join("".join(c["source"]) for c in cells if "set-up" not in c["metadata"].get("tags", []))
    stop = notebook["metadata"].get("jupytext") == {"formats": "ipynb"}
    read = () if stop else sorted(reach(code, root))
    return hashlib.sha256("\n".join([code, *map(_content, read)]).encode()).hexdigest()[:16]


def is_stale(path: Path, root: Path = ROOT) -> bool:
    """Whether a stored notebook's inputs have changed since its outputs were made."""
    notebook = json.loads(path.read_text(encoding="utf-8"))
    return bool(notebook["metadata"].get(KEY) != digest(notebook, root))


def due(path: Path, root: Path = ROOT) -> bool:
    """Whether the tests execute a notebook."""
    return path.stem in CANARIES or is_stale(path, root)


def reach(code: str, root: Path = ROOT) -> set[Path]:
    """The files that a chapter's code depends on, without those of tricks and worlds that it never names."""
    of_tricks = {root / "tricks" / f"{file}.py": flag for flag, file in FILES.items()}
    worlds = {file: WORLD.findall(_text(file)) for file in root.glob("tricks/worlds/*.py")}
    ours = _reach(code, root, {*of_tricks, *worlds})
    text = "\n".join([code, *(_text(file) for file in ours if root / "chapters" in file.parents)])
    words = set(re.findall(r"\w+", text))
    said = {name.lower() for name in re.findall(r"""\b[A-Z]+\b|(?<=["'])\w+""", text)}
    on = words.union(*(PRESETS[name].on for name in said & {*PRESETS}))
    off = {root / "tricks" / f"{file}.py" for file in {*FILES.values()} - {FILES[flag] for flag in on & {*FILES}}}
    return _reach(code, root, off | {file for file, ids in worlds.items() if ids and not any(id in text for id in ids)})


def _reach(code: str, root: Path, off: set[Path]) -> set[Path]:
    """What is reached if no file outside the chapters reaches these."""
    found, todo = set[Path](), _imported(code, root)
    while todo:
        if (file := todo.pop()) not in found:
            found.add(file)
            todo += _beyond(file, root) if root / "chapters" in file.parents else _beyond(file, root) - off
    return found


@cache
def _beyond(file: Path, root: Path) -> frozenset[Path]:
    """What one file reaches at once."""
    along = ALONG.get(file.relative_to(root).as_posix(), "").split()
    imported = _imported(_text(file), root) if file.suffix == ".py" else ()
    return frozenset(imported).union(*(root.glob(pattern) for pattern in along))


def _imported(code: str, root: Path) -> list[Path]:
    return [home for module, name in _imports(code) for home in _home(module, name, root)]


def _imports(code: str) -> Iterator[tuple[str, str]]:
    """Module and name of each import, wherever it is; the name is empty for a whole module."""
    for module, names, whole in IMPORT.findall(code):
        yield from ((module, name) for name in re.findall(r"\w+", re.sub(r"#.*| as \w+", "", names)))
        yield from ((name, "") for name in re.findall(r"[\w.]+", whole))


@cache
def _home(module: str, name: str, root: Path) -> frozenset[Path]:
    """The file that defines a name. A package's `__init__` is looked through: much of what it imports is not meant."""
    file, package = root / f"{module.replace('.', '/')}.py", root / module.replace(".", "/") / "__init__.py"
    if file.is_file() or not package.is_file():
        return frozenset({file} if file.is_file() else ())
    if inner := name and _home(f"{module}.{name}", "", root):
        return frozenset(inner)
    homes = [_home(other, name, root) for other, exported in _imports(_text(package)) if name and exported == name]
    return homes[0] if homes else frozenset({package})


@cache
def _text(file: Path) -> str:
    return file.read_text(encoding="utf-8")


@cache
def _content(file: Path) -> str:
    return f"{file.name} {hashlib.sha256(file.read_bytes()).hexdigest()}"

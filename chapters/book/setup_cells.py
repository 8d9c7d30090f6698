"""What every stored notebook has in addition to its script: badges that open it in a browser, and a set-up cell.

The set-up cell installs the package where it is missing. It is stored unexecuted, so the counts of all others stay.
"""

import tomllib
from pathlib import Path
from urllib.parse import quote

import jupytext
import nbformat
from nbformat import NotebookNode

from chapters.book.evidence import with_evidence
from tricks.version import DISTRIBUTION, PLACEHOLDER, __version__

TAG = "set-up"
EXTRAS = {"23_atari": ("atari", "ale_py")}  # a chapter that needs more than the package: the extra, a module of it
COLAB = "[![Open in Colab](https://colab.research.google.com/assets/colab-badge.svg)]({})"
BINDER = "[![Open in Binder](https://mybinder.org/badge_logo.svg)]({})"
CODE = """# @title Set-up: installs what is missing, and keeps the PyTorch that is there
try:
    import {modules}
except ImportError:{notice}
    import importlib.metadata
    import importlib.util
    import subprocess
    import sys

    def install(*what):
        subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", *what], check=True)
        importlib.invalidate_caches()

    if importlib.util.find_spec("torch"):
        install("--no-deps", "{name}=={version}")
        needs = importlib.metadata.requires("{name}")
        wanted = [need.split("; extra")[0] for need in needs if {kept}]
        install(*(need for need in wanted if not need.startswith("torch")))
    else:
        install("{asked}=={version}", "--extra-index-url", "https://download.pytorch.org/whl/cpu")"""
NOTICE = """
    print("{name} {version} is not released, and the badges lead nowhere. From a clone: pip install -e .")"""


def homepage() -> str:
    """Where the repository is, as pyproject.toml says."""
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return str(project["urls"]["Homepage"])


def badges(name: str) -> str:
    """Links that open a chapter, as this version has it, in Colab and in Binder."""
    where, path = "/".join(homepage().split("/")[-2:]), f"chapters/{name}.ipynb"
    colab = f"https://colab.research.google.com/github/{where}/blob/v{__version__}/{path}"
    binder = f"https://mybinder.org/v2/gh/{where}/v{__version__}?labpath={quote(path, safe='')}"
    return f"{COLAB.format(colab)} {BINDER.format(binder)}"


def code(name: str) -> str:
    """The code of a chapter's set-up cell."""
    asked, modules, kept = DISTRIBUTION, "chapters.book", '"extra" not in need'
    if name in EXTRAS:
        extra, module = EXTRAS[name]
        asked, modules = f"{DISTRIBUTION}[{extra}]", f"{module}, chapters.book"
        kept = f"""'extra == "{extra}"' in need or "extra" not in need"""
    notice = NOTICE.format(name=DISTRIBUTION, version=__version__) if PLACEHOLDER in homepage() else ""
    return CODE.format(name=DISTRIBUTION, version=__version__, asked=asked, modules=modules, kept=kept, notice=notice)


def with_setup(notebook: NotebookNode, name: str) -> NotebookNode:
    """The notebook with the badges on top and the set-up cell, folded, before its first code. Other cells stay."""
    found = without_setup(notebook)
    first = next((k for k, cell in enumerate(found.cells) if cell.cell_type == "code"), len(found.cells))
    folded = {"tags": [TAG], "jupyter": {"source_hidden": True}, "cellView": "form"}  # in Jupyter, and in Colab
    setup = nbformat.v4.new_code_cell(code(name), id=f"{name}-setup", metadata=folded)
    top = nbformat.v4.new_markdown_cell(badges(name), id=f"{name}-badges", metadata={"tags": [TAG]})
    found.cells = [top, *found.cells[:first], setup, *found.cells[first:]]
    return found


def without_setup(notebook: NotebookNode) -> NotebookNode:
    """The notebook as its script has it."""
    found = nbformat.from_dict(notebook)
    found.cells = [cell for cell in found.cells if TAG not in cell.metadata.get("tags", [])]
    return found


def stored(path: Path) -> NotebookNode:
    """A stored notebook as its script has it: without the badges and the set-up cell."""
    return without_setup(jupytext.read(path))


def write(path: Path, notebook: NotebookNode) -> None:
    """Store a chapter's notebook, with badges and set-up cell."""
    jupytext.write(with_setup(notebook, path.stem), path)


def main() -> int:
    """Write badges, set-up cell, and the card's evidence into every stored notebook again, without running it.

    Returns the exit status.
    """
    for path in sorted(Path(__file__).parents[1].glob("*.ipynb")):
        notebook = jupytext.read(path)
        for cell in notebook.cells:
            cell.source = with_evidence(cell.source, path.stem)  # only a card changes
        write(path, notebook)
        if (script := path.with_suffix(".py")).exists():
            text = script.read_text(encoding="utf-8")
            script.write_text(with_evidence(text, path.stem, "# "), encoding="utf-8")
    return 0

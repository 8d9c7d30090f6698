"""Notebooks as students hand them in: stored chapters with cells changed, added, or gone."""

import json
from pathlib import Path

from support.pages import ROOT, blocks_of

RIGHT = """def my_slope(ratio, advantage, epsilon):
    enough = (advantage > 0) & (ratio > 1 + epsilon) | (advantage < 0) & (ratio < 1 - epsilon)
    return torch.where(enough, 0.0, advantage)


check_slope(my_slope)"""
CHECK = "\n\ncheck_slope(my_slope)"
WRONG = RIGHT.replace("(advantage > 0) & ", "").replace("(advantage < 0) & ", "").removesuffix(CHECK)
PAGE = Path(__file__).with_name("hostile.md").read_text(encoding="utf-8")
HOSTILE = {part.partition("\n")[0]: "".join(blocks_of("python", part)) for part in PAGE.split("\n## ")[1:]}


def handed_in(path: Path, answer: str = "", added: tuple[str, ...] = (), name: str = "03_clip") -> Path:
    """Chapter 3 with this answer to exercise 1, and with cells added at the end. A cell that begins with # is text."""
    notebook = json.loads((ROOT / "chapters" / f"{name}.ipynb").read_text(encoding="utf-8"))
    for cell in notebook["cells"]:
        if answer and "def my_slope" in "".join(cell["source"]):
            cell["source"] = answer.splitlines(keepends=True)
    for source in added:
        notebook["cells"].append({"cell_type": "markdown" if source.startswith("#") else "code", "source": source})
    path.write_text(json.dumps(notebook), encoding="utf-8")
    return path


def cells(*code: str, name: str = "03_clip") -> list[tuple[int, str]]:
    """The code cells of chapter 3, with these added; each with its number in the notebook."""
    notebook = json.loads((ROOT / "chapters" / f"{name}.ipynb").read_text(encoding="utf-8"))
    found = [(k, "".join(cell["source"])) for k, cell in enumerate(notebook["cells"], 1) if cell["cell_type"] == "code"]
    return found + list(enumerate(code, start=len(notebook["cells"]) + 1))

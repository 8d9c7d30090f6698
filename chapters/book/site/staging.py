"""Sphinx's sources, made from the repository: chapters with foldable cells, the docs, and the code they link to."""

import re
import shutil
from collections.abc import Iterable
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from chapters.book import clips
from chapters.book.build import CHAPTERS, names, number, parts, title
from chapters.book.setup_cells import stored
from chapters.book.site import atlas, playing, reference
from chapters.book.site.growing import origins
from chapters.book.site.rungs import has_trick, rung_of
from chapters.book.two_hours import STOPS
from tricks.ladder import COLORS, LADDER

ROOT = CHAPTERS.parent
STATIC = Path(__file__).parent / "static"
PARTS = {"CONTRIBUTING.md": ROOT / "docs" / "internal"}  # where a page's parts are, if not in a folder of its name
DOCS = [*sorted((ROOT / "docs").rglob("*.md")), ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"]
LINK = re.compile(r"\[([^\]]+)\]\(([^)#\s:]+)(#[^)\s]*)?\)")  # `[text](path#place)`, but no URL
MECHANISM = re.compile(r"<!-- mechanism: (\w+) -->")
# the tricks of mechanisms with names of their own
OF = {"ratios": "clip", "walk": "orthogonal_init", "leash": "ppg", "annealing": "lr_anneal"}
CHART = "<p>To print: <a href='_static/wall-chart.pdf'>PPO on one page</a> (PDF).</p>"
FRONT = """<p class="front-says">Proximal policy optimization (PPO) is REINFORCE, the plainest way to learn from reward,
and a list of tricks. Here each trick is a switch. Ten agents learn to balance a pole before your eyes, alike in
everything but their luck: turn off <code>clip</code> and see what becomes of them.</p>

<p class="front-links"><a href="chapters/t1_reinforce.html">Two hours: from REINFORCE to the core of PPO</a>
<a href="#chapters">All chapters</a> <a href="atlas.html">The atlas: should I use it?</a>
<a href="docs/notation.html">Notation and terms</a></p>"""
CARD = "## At a glance"
ORPHAN = "---\norphan: true\nnosearch: true\n---\n\n"  # a page outside the table of contents, and of the search


def stage(folder: Path) -> None:
    """Write the sources into an empty folder, laid out as the repository is."""
    linked: set[Path] = set()
    for name in names():
        path = CHAPTERS / f"{name}.ipynb"
        notebook = filmed(covered(stored(path)), rung_of(name) if has_trick(name) else "")
        playing.add(notebook, name[3:])
        _write(notebook, path, folder, linked)
    for stop in STOPS:
        path = CHAPTERS / f"{stop.name}.ipynb"
        notebook = covered(stored(path))
        if stop.plays:
            small = f"{playing.place(stop.plays)}\n\n{playing.scripts('../')}"
            notebook.cells.insert(-1, nbformat.v4.new_markdown_cell(small))
        _write(notebook, path, folder, linked)
    for path in DOCS:
        _place(folder, path).write_text(_relinked(path.read_text(encoding="utf-8"), path, linked), encoding="utf-8")
    for path in linked:
        if path.suffix == ".py":
            page = _place(folder, path.with_name(f"{path.name}.md"))
            code = path.read_text(encoding="utf-8")
            head = f"# {path.relative_to(ROOT).as_posix()}\n\n"
            page.write_text(f"{ORPHAN}{head}````python\n{code}````\n", encoding="utf-8")
        elif path.suffix == ".md":
            text = path.read_text(encoding="utf-8")
            head = "" if text.startswith("# ") else f"# {path.relative_to(ROOT).as_posix()}\n\n"
            _place(folder, path).write_text(f"{ORPHAN}{head}{text}", encoding="utf-8")
        else:
            shutil.copyfile(path, _place(folder, path))
    (folder / "chapters" / "ppo.md").write_text(whole_ppo(), encoding="utf-8")
    (folder / "atlas.md").write_text(atlas.PAGE, encoding="utf-8")
    (folder / "playground.md").write_text(playing.page(), encoding="utf-8")
    for name, text in reference.pages().items():
        _place(folder, ROOT / reference.FOLDER / f"{name}.md").write_text(text, encoding="utf-8")
    (folder / "index.md").write_text(front_page(), encoding="utf-8")


def _write(notebook: NotebookNode, path: Path, folder: Path, linked: set[Path]) -> None:
    """Write the notebook at `path` of the repository into the sources, with the site's links and moving figures."""
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            cell.source = MECHANISM.sub(_mechanism, _relinked(cell.source, path, linked))
    _place(folder, path).write_text(nbformat.writes(notebook), encoding="utf-8")


def _place(folder: Path, path: Path) -> Path:
    """Where a file of the repository goes in the sources; its folder is made."""
    place = folder / path.relative_to(ROOT)
    place.parent.mkdir(parents=True, exist_ok=True)
    return place


def covered(notebook: NotebookNode) -> NotebookNode:
    """Cover what comes of the cells tagged `predict`: a reader guesses before the outcome is shown."""
    for cell in notebook.cells:
        if "predict" in cell.metadata.get("tags", []):
            cell.metadata.tags.append("hide-output")
    return notebook


def filmed(notebook: NotebookNode, rung: str) -> NotebookNode:
    """Show how an agent of this rung behaves: above the card, and with the exercise's bug where that is trained."""
    if film := clips.figure(rung):
        card = next(k for k, cell in enumerate(notebook.cells) if cell.source.startswith(CARD))
        notebook.cells.insert(card, nbformat.v4.new_markdown_cell(film))
    bugs = [k for k, cell in enumerate(notebook.cells) if cell.cell_type == "code" and "with planted(" in cell.source]
    if bugs and (film := clips.figure(f"{rung}_bug")):
        notebook.cells.insert(bugs[-1] + 1, nbformat.v4.new_markdown_cell(film))
    return notebook


def _relinked(text: str, page: Path, linked: set[Path]) -> str:
    """Links as they are in the site. Files of the repository that are linked are added to `linked`."""

    def target(match: re.Match[str]) -> str:
        text, place = match[1], match[3] or ""
        path = (page.parent / match[2]).resolve()
        if path in (ROOT / "README.md", CHAPTERS / "README.md"):
            return f"[{text}]({'../' * (len(page.relative_to(ROOT).parts) - 1)}index.md)"
        if path.is_dir():
            return text
        if not path.is_file():
            raise ValueError(f"{page.relative_to(ROOT)} links to {match[2]}, which does not exist")
        if path.suffix != ".ipynb" and path not in DOCS:
            linked.add(path)
        return f"[{text}]({match[2]}.md)" if path.suffix == ".py" else f"[{text}]({match[2]}{place})"

    return LINK.sub(target, text)


def _mechanism(match: re.Match[str]) -> str:
    """The place of a moving figure, in the color of its trick."""
    name = match[1]
    if not (STATIC / "mechanisms" / f"{name}.js").is_file():
        raise ValueError(f"there is no mechanism {name}")
    place = f'<figure class="mechanism" id="mechanism-{name}" style="--color: {COLORS[OF.get(name, name)]}"></figure>'
    return playing.raw(f'{place}\n<script defer src="../_static/mechanisms/{name}.js"></script>')


def whole_ppo() -> str:
    """The page after chapter 4: the whole loop, each line with the chapter that brought it."""
    rows, before, homes = [], "reinforce", {name[3:]: name for name in names()}
    for text, trick in origins(LADDER[: LADDER.index("gae") + 1]):
        label = f"<a class='brought' href='{homes[trick]}.html'>{trick}</a>" if trick != before else ""
        before = trick
        rows.append(f"<span class='loop-line' data-brought='{trick}'>{label}{text or ' '}</span>")
    code = "".join(rows)
    return f"""# The core of PPO

*Five chapters in, the loop has PPO's objective and its advantages. Here is all of it.*

REINFORCE, a baseline, several epochs per batch, the clip, and GAE. One thing still differs from the algorithm of
Schulman et al. 2017: they learn from [segments](13_segments.ipynb) of equal length, and this loop plays whole episodes.
The names on the left are the chapters that brought the lines. Everything that follows in this book adds a few lines to
this page, or replaces some.

{playing.raw(f"<div class='highlight whole'><pre>{code}</pre></div>")}

To get these lines as a file that runs without this package, with its nets, its optimizer, and its environments:

```sh
python -m tricks export gae > my_ppo.py
```
"""


def front_page() -> str:
    """The map of the book: a card for each chapter."""
    cards, tree = "", _tree("Two hours to the core of PPO, and on to GRPO", [f"chapters/{stop.name}" for stop in STOPS])
    for part, chapters in parts().items():
        cards += f"<h2>{part}</h2>\n<div class='cards'>\n"
        for name in chapters:
            (heading, question), picture = title(name), f"<img src='_static/thumbnails/{name}.png' alt=''>"
            says = f"{picture}<b>{number(name)}. {heading}</b><i>{question}</i>"
            cards += f"<a class='card' href='chapters/{name}.html'>{says}</a>\n"
        cards += "</div>\n"
        pages = [f"chapters/{name}" for name in chapters]
        if "chapters/04_gae" in pages:
            pages.insert(1 + pages.index("chapters/04_gae"), "chapters/ppo")
        tree += _tree(part, pages)
    tree += _tree("Try it", ["playground", "atlas"])
    for want, paths in documentation().items():
        tree += _tree(want.capitalize(), (path.relative_to(ROOT).with_suffix("").as_posix() for path in paths))
    tree += _tree("Reference", (f"{reference.FOLDER}/{name}" for name in reference.pages()))
    html = playing.raw(f"<div id='chapters'></div>\n{cards}{CHART}")
    return f"# What makes PPO work\n\n{FRONT}\n\n{playing.large()}\n\n{html}\n\n{tree}"


def documentation() -> dict[str, list[Path]]:
    """The pages beside the chapters by what one wants to do, as the README's table has them.

    A page in parts is followed by its parts: results.md by those in results/, CONTRIBUTING.md by docs/internal/.
    """
    table = (ROOT / "README.md").read_text(encoding="utf-8").split("## Documentation\n")[1]
    found: dict[str, list[Path]] = {}
    for want, cell in re.findall(r"^\| (\w+) \| (.*) \|$", table, re.MULTILINE):
        pages = [ROOT / path for _, path, _ in LINK.findall(cell) if path != "chapters/README.md"]
        folders = {page: PARTS.get(page.name, page.with_suffix("")) for page in pages}
        found[want] = [part for page in pages for part in (page, *sorted(folders[page].glob("*.md")))]
    return found


def _tree(caption: str, pages: Iterable[str]) -> str:
    return f"```{{toctree}}\n:hidden:\n:caption: {caption}\n\n" + "\n".join(pages) + "\n```\n\n"

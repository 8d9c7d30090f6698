"""A Sphinx extension: pages show their rung, outcomes are revealed with their comments, docstrings are Markdown.

Pictures have the text alternatives that the notebooks store, and the search page has every page's text.
"""

import base64
import hashlib
import json
import re
from itertools import takewhile
from pathlib import Path
from typing import Any

import nbformat
from docutils import nodes
from myst_nb.sphinx_ import HideCodeCellNode
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform

from chapters.book.alternative import plain
from chapters.book.build import CHAPTERS, names
from chapters.book.site.reference import as_rst, leave_out, of_fields
from chapters.book.site.rungs import has_trick, rung_of

PNG = "image/png"
TEXTS = "search-texts.js"
TASKS = ("Exercise ", "Predict.", "Question.", "Solutions:")


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the extension."""
    app.setup_extension("sphinx.ext.autodoc")
    app.connect("autodoc-process-docstring", as_rst)
    app.connect("autodoc-process-signature", of_fields)
    app.connect("autodoc-skip-member", leave_out)
    app.connect("html-page-context", say_rung)
    texts = Texts()
    app.connect("html-page-context", texts.keep)
    app.connect("build-finished", texts.write)
    app.add_post_transform(DescribeFigures)
    app.add_post_transform(RevealTogether)
    app.add_post_transform(ExplainTerms)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def say_rung(app: Sphinx, page: str, template: str, context: dict[str, Any], tree: object) -> None:
    """Put the rung into the page's head; pages that are not chapters have none."""
    name = page.removeprefix("chapters/")
    if name in names():
        own = "yes" if has_trick(name) else "no"
        meta = f'<meta name="rung" content="{rung_of(name)}" data-trick="{own}">'
        context["metatags"] = context.get("metatags", "") + meta


class Texts:
    """What every page says, for the excerpts of the search page: a page opened from a folder may not read others."""

    def __init__(self) -> None:
        self.said: dict[str, str] = {}

    def keep(self, app: Sphinx, page: str, template: str, context: dict[str, Any], tree: nodes.document | None) -> None:
        """Keep a page's text. The search page, and only that, loads all texts."""
        if page == "search":
            for script in (TEXTS, "search.js"):
                app.add_js_file(script, defer="defer")
        elif tree is not None and "nosearch" not in app.env.metadata[page]:
            self.said[page] = text_of(tree)

    def write(self, app: Sphinx, error: Exception | None) -> None:
        """Write all texts as a script."""
        if error is None:
            script = f"window.TEXTS = {json.dumps(self.said)};\n"
            (Path(app.outdir) / "_static" / TEXTS).write_text(script, encoding="utf-8")


def text_of(tree: nodes.document) -> str:
    """A page's words without its title, and after them its code."""
    title = next(iter(tree.findall(nodes.title)), None)
    texts = [text for text in tree.findall(nodes.Text) if not isinstance(text.parent, nodes.raw | nodes.math_block)]
    texts = [text for text in texts if text.parent is not title]
    texts.sort(key=lambda text: isinstance(text.parent, nodes.literal_block))
    return " ".join(" ".join(plain(text) if isinstance(text.parent, nodes.math) else text for text in texts).split())


class DescribeFigures(SphinxPostTransform):
    """Give a notebook's pictures the text alternatives that are stored with them. MyST-NB names files by content."""

    default_priority = 200
    formats = ("html",)

    def run(self, **_: Any) -> None:
        path = Path(self.env.doc2path(self.env.docname))
        if path.suffix == ".ipynb":
            said = alternatives(nbformat.read(path, as_version=4))
            for picture in self.document.findall(nodes.image):
                picture["alt"] = said.get(Path(picture["uri"]).stem, picture.get("alt", ""))


def alternatives(notebook: nbformat.NotebookNode) -> dict[str, str]:
    """The text alternatives of a notebook's pictures, by the digests of these."""
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    drawn = [(each.data[PNG], each.metadata.get(PNG, {})) for each in outputs if PNG in each.get("data", {})]
    return {hashlib.sha256(base64.b64decode(picture)).hexdigest(): about.get("alt", "") for picture, about in drawn}


class RevealTogether(SphinxPostTransform):
    """Put what follows a covered outcome, up to the next heading, cell, or task, into its box."""

    default_priority = 200  # after MyST-NB has made the boxes
    formats = ("html",)

    def run(self, **_: Any) -> None:
        for box in self.document.findall(HideCodeCellNode):
            if "below-input" in box["classes"]:
                box["prompt_show"], box["prompt_hide"] = "Reveal the outcome", "Hide the outcome"
                page = box.parent.parent
                for node in [*takewhile(_comments, page[page.index(box.parent) + 1 :])]:
                    page.remove(node)
                    box += node


def _comments(node: nodes.Node) -> bool:
    """Whether a node goes on about the outcome above it."""
    if isinstance(node, nodes.section) or (isinstance(node, nodes.container) and node.get("nb_element") == "cell_code"):
        return False
    return not node.astext().startswith(TASKS)


def said_in_notation(row: str) -> list[tuple[str, str]]:
    """The rows of docs/notation.md of this form: what each is about, and what it says."""
    page = (CHAPTERS.parent / "docs" / "notation.md").read_text(encoding="utf-8")
    return re.findall(row, page, re.MULTILINE)


def letters() -> dict[str, str]:
    """What docs/notation.md says of each letter in a shape."""
    return {letter: said.replace("`", "") for letter, said in said_in_notation(r"^\| `(\w)` \| (.+) \|$")}


def explained() -> dict[str, str]:
    """What docs/notation.md says of each symbol, without its dollars, and of each term."""
    found = dict[str, str]()
    for row, said in said_in_notation(r"^\| (.+?) \| (.+) \| \[\d+\]"):
        terms, meanings = row.split(", "), plain(said).split("; ")
        pairs = zip(terms, meanings, strict=True) if len(terms) == len(meanings) else ((x, plain(said)) for x in terms)
        found |= {name.strip("$"): meaning for name, meaning in pairs}
    return found


class ExplainTerms(SphinxPostTransform):
    """Let a chapter's first use of a term or symbol say on hover what docs/notation.md says of it."""

    default_priority = 300
    formats = ("html",)

    def run(self, **_: Any) -> None:
        if self.env.docname.removeprefix("chapters/") not in names():
            return
        texts = [text for text in self.document.findall(nodes.Text) if isinstance(text.parent, nodes.paragraph)]
        symbols = [node for node in self.document.findall(nodes.math) if isinstance(node.parent, nodes.paragraph)]
        for name, said in explained().items():
            if found := next((node for node in symbols if node.astext() == name), None):
                found.parent.replace(found, nodes.abbreviation("", "", found.deepcopy(), explanation=said))
                continue
            for k, text in enumerate(texts):
                if use := re.search(rf"\b{re.escape(name)}s?\b", text, re.IGNORECASE):
                    before, after = nodes.Text(text[: use.start()]), nodes.Text(text[use.end() :])
                    word = nodes.abbreviation("", use[0], explanation=said)
                    text.parent.replace(text, [before, word, after])
                    texts[k : k + 1] = [before, after]
                    break

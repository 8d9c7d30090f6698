"""A Sphinx extension: pages show their rung, outcomes are revealed with their comments, docstrings are Markdown."""

from itertools import takewhile
from typing import Any

from docutils import nodes
from myst_nb.sphinx_ import HideCodeCellNode
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform

from chapters.book.build import names
from chapters.book.site.reference import as_rst, leave_out, of_fields
from chapters.book.site.rungs import has_trick, rung_of

TASKS = ("Exercise ", "Predict.", "Question.", "Solutions:")


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the extension."""
    app.setup_extension("sphinx.ext.autodoc")
    app.connect("autodoc-process-docstring", as_rst)
    app.connect("autodoc-process-signature", of_fields)
    app.connect("autodoc-skip-member", leave_out)
    app.connect("html-page-context", say_rung)
    app.add_post_transform(RevealTogether)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def say_rung(app: Sphinx, page: str, template: str, context: dict[str, Any], tree: object) -> None:
    """Put the rung into the page's head; pages that are not chapters have none."""
    name = page.removeprefix("chapters/")
    if name in names():
        own = "yes" if has_trick(name) else "no"
        meta = f'<meta name="rung" content="{rung_of(name)}" data-trick="{own}">'
        context["metatags"] = context.get("metatags", "") + meta


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

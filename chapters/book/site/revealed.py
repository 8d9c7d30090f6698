"""A Sphinx extension: what the text says about a covered outcome is revealed with it."""

from itertools import takewhile
from typing import Any

from docutils import nodes
from myst_nb.sphinx_ import HideCodeCellNode
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform

TASKS = ("Exercise ", "Predict.", "Question.", "Solutions:")


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the extension."""
    app.add_post_transform(RevealTogether)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


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

"""`python -m chapters slides [NAME ...]`: one HTML file per chapter, with everything it needs inside."""

import html
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from nbconvert.filters.markdown_mistune import markdown2html_mistune
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_by_name

from ablations import style
from chapters.book.build import CHAPTERS, known
from chapters.book.site.rungs import has_trick, rung_of
from chapters.book.slides.outline import Slide, outline
from tricks.cli.shell import POSITIONAL
from tricks.core.extras import extra
from tricks.ladder import COLORS

STATIC = Path(__file__).parent / "static"
MATHJAX = """MathJax = {tex: {inlineMath: [["$", "$"]], processEscapes: true}, options: {enableMenu: false},
  startup: {pageReady: () => MathJax.startup.defaultPageReady().then(window.fit)}};"""


@dataclass(frozen=True)
class SlidesOptions:
    """Of which chapters, and where they go."""

    chapters: Annotated[tuple[str, ...], POSITIONAL] = ()
    """Chapters such as 03_clip. Default: all."""
    out: Path = CHAPTERS.parent / "slides"
    """Folder for the files, one per chapter."""


def main(chosen: SlidesOptions) -> int:
    """Write the slides. Returns the exit status. Raises InputError for an unknown chapter."""
    asked = known(chosen.chapters)
    package = Path(str(extra("site", "sphinx-mathjax-offline").__file__)).parent
    # the script that sets formulas as pictures, which need no fonts
    mathjax = (package / "static" / "mathjax" / "tex-svg.js").read_text(encoding="utf-8")
    chosen.out.mkdir(parents=True, exist_ok=True)
    for name in asked:
        path = chosen.out / f"{name}.html"
        slides = outline(name)
        path.write_text(deck(name, slides, mathjax), encoding="utf-8")
        print(f"wrote {path}: {len(slides)} slides")
    return 0


def deck(name: str, slides: Sequence[Slide], mathjax: str) -> str:
    """The file of a chapter's slides."""
    color = COLORS.get(rung_of(name), style.INK) if has_trick(name) else style.INK
    css = (STATIC / "deck.css").read_text(encoding="utf-8") + HtmlFormatter(style="default").get_style_defs(".lines")
    shown = "\n".join(
        f'<section class="{each.kind}" id="{k}">{_body(each)}</section>' for k, each in enumerate(slides, 1)
    )
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>{html.escape(slides[0].heading)}</title>
<style>:root {{ --trick: {color}; }}
{css}</style>
</head>
<body>
<main>
{shown}
</main>
<script>{(STATIC / "deck.js").read_text(encoding="utf-8")}</script>
<script>{MATHJAX}</script>
<script>{mathjax}</script>
</body>
</html>
"""


def _body(slide: Slide) -> str:
    """What stands on a slide."""
    heading, below = f"<h1>{_inline(slide.heading)}</h1>", f'<div class="below">{_text(slide.below)}</div>'
    if slide.kind == "title":
        return f'{heading}<p class="question">{_inline(slide.body)}</p>{below}'
    lead = below if slide.below else ""
    if slide.kind == "figure":
        picture = f'<img alt="{html.escape(slide.heading)}" src="data:image/png;base64,{slide.body.strip()}">'
        printed = f"<pre>{html.escape(slide.printed)}</pre>" if slide.printed else ""
        content = f"{picture}{printed}{below}"
    elif slide.kind == "code":
        language, *code = slide.body.removeprefix("```").splitlines()[:-1]
        lexer = get_lexer_by_name(language, stripnl=False)
        lines = highlight("\n".join(code), lexer, HtmlFormatter(nowrap=True)).splitlines()
        shown = "\n".join(lines[k] for k in slide.rows)
        content = f'{lead}<div class="lines"><pre>{shown}</pre></div>'
    else:
        content = lead + _text(slide.body)
    return f'{heading}<div class="fit"><div>{content}</div></div>'


def _text(markdown: str) -> str:
    return str(markdown2html_mistune(markdown))


def _inline(markdown: str) -> str:
    """A heading's text; the number that it may begin with is not a list's."""
    return _text(re.sub(r"^(\w+)\. ", r"\1\\. ", markdown)).strip().removeprefix("<p>").removesuffix("</p>")

"""A chapter as slides: its question, and then picture by picture, equation by equation, what its notebook holds.

Running text and what is folded are left to the notebook. A section that has nothing else begins as its text does.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from nbformat import NotebookNode

from chapters.book.build import CHAPTERS, number, title
from chapters.book.setup_cells import stored

END = "## Exercises"
CODE_LINES, EQUATIONS, PRINTED_LINES, PRINTED_WIDTH, CAPTION_WORDS, WORDS = 26, 3, 4, 115, 30, 80  # at most
SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z$*`\"(])")
EXERCISE = r"\*\*(Exercise \d+: [^*]+?)\.?\*\*\s*(.+)"
KEY_WORDS = 6  # a shorter bold phrase is a term
PREDICT = "**Predict.**"
OPENING = "opening"  # the kind of a slide that stays if its section has no other
MARKDOWN = "text/markdown"  # of outputs: code, tables, and captions, which begin with *


@dataclass(frozen=True)
class Slide:
    """One slide. `kind` is how it is set: `title`, `text`, `equation`, `code`, `figure`, or `table`."""

    kind: str
    heading: str
    body: str
    """Markdown; of a figure, its PNG in base64; of code, all of a fenced block."""
    below: str = ""
    """Markdown below a figure, or above an equation or code."""
    printed: str = ""
    """What the cell of a figure printed."""
    rows: range = range(0)
    """The lines of the code that this slide shows."""


def outline(name: str) -> list[Slide]:
    """The slides of a chapter: title, its sections up to the exercises, and the exercises."""
    cells = stored(CHAPTERS / f"{name}.ipynb").cells
    heading, asked = title(name)
    texts = [text for cell in cells[:2] if cell.cell_type == "markdown" for text in blocks(cell.source)]
    opening = [text for text in texts if not text.startswith(("#", "*"))]
    slides = [Slide("title", f"{number(name)}. {heading}", asked, below=opening[0] if opening else "")]
    end = next((k for k, cell in enumerate(cells) if cell.source.startswith(END)), len(cells))
    section = heading
    for place, cell in enumerate(cells[:end]):
        if cell.cell_type == "code":
            slides += _outputs(section, cell, _caption(cells[place + 1 : end]))
            continue
        for made in _prose(section, blocks(cell.source)[1 if place == 0 else 0 :]):
            if isinstance(made, str):
                section = made
                continue
            caption = " ".join(slides[-1].below.replace("**", "").split()) if slides[-1].kind == "figure" else ""
            slides += [] if made.kind == "text" and " ".join(made.body.split()) in caption else [made]
    # the opening of a section that has something else to show goes
    shown = {re.sub(r" \(\d+ of \d+\)$", "", slide.heading) for slide in slides if slide.kind != OPENING}
    slides = [slide for slide in slides if slide.kind != OPENING or slide.heading not in shown]
    slides = [replace(slide, kind="text") if slide.kind == OPENING else slide for slide in slides]
    return slides + exercises(cells[end:])


def blocks(text: str) -> list[str]:
    """Paragraphs, displayed equations, tables and headings, without what is folded, and without links."""
    text = re.sub(r"<details>.*?</details>|<!--.*?-->", "", text, flags=re.DOTALL)
    text = re.sub(r"\$\$.*?\$\$", lambda found: f"\n\n{found[0]}\n\n", text, flags=re.DOTALL)
    text = re.sub(r"(?<!!)\[([^\]]+)\]\([^)]+\)", r"\1", text)
    found = [block.strip() for block in re.split(r"\n\s*\n", text)]
    return [block for block in found if re.search(r"\w", block)]


def _prose(section: str, texts: Sequence[str]) -> Iterator[str | Slide]:
    """The slides of a cell's text, and each heading where a section begins."""
    before, equations, leads = "", list[str](), list[str]()

    def flushed() -> Iterator[Slide]:
        if equations:
            yield Slide("equation", section, "\n\n".join(equations), below=" ".join(filter(None, leads[:1])))
        equations.clear()
        leads.clear()

    for place, text in enumerate(texts):
        if text.startswith("#"):
            yield from flushed()
            section = text.lstrip("# ")
            yield section
            if opening := _brief(next(iter(texts[place + 1 :]), "")):
                yield Slide(OPENING, section, opening)
        elif text.startswith("$$"):
            equations.append(text.rstrip())
            leads.append("" if before.startswith(("#", "$$", "|")) else SENTENCE.split(before)[-1])
            if len(equations) == EQUATIONS:
                yield from flushed()
        elif text.startswith(PREDICT):
            yield from flushed()
            yield Slide("text", "Predict", text.removeprefix(PREDICT).strip())
        elif text.startswith("|"):
            yield from flushed()
            yield Slide("table", section, text)
        elif not text.startswith("- ") and (key := key_line(text)):
            yield from flushed()
            yield Slide("text", section, key)
        before = text
    yield from flushed()


def key_line(text: str) -> str:
    """The sentences of a paragraph in which six words or more are bold; empty if there are none."""
    plain = text.replace("**", "")
    for bold in re.findall(r"\*\*(.+?)\*\*", text, re.DOTALL):
        if len(bold.split()) >= KEY_WORDS:
            start = plain.index(bold)
            ends = [0, *(found.end() for found in SENTENCE.finditer(plain)), len(plain)]
            first = max(end for end in ends if end <= start)
            return plain[first : min(end for end in ends if end >= start + len(bold.rstrip()))].strip()
    return ""


def _outputs(section: str, cell: NotebookNode, said: str) -> Iterator[Slide]:
    """The slides of what a cell has drawn, printed beside it, or shown of the code."""
    lines = "".join(out.text for out in cell.outputs if out.output_type == "stream").rstrip().splitlines()
    short = len(lines) <= PRINTED_LINES and max(map(len, lines), default=0) <= PRINTED_WIDTH
    printed = "\n".join(lines) if short else ""
    captions = [text.strip("*") for out in cell.outputs if (text := out.get("data", {}).get(MARKDOWN, ""))[:1] == "*"]
    for out in cell.outputs:
        data = out.get("data", {})
        text = data.get(MARKDOWN, "")
        if "image/png" in data:
            yield Slide("figure", section, data["image/png"], below=said or " ".join(captions), printed=printed)
            printed = ""
        elif text.startswith("```"):
            parts = in_parts(text.rstrip().splitlines()[1:-1])
            for count, rows in enumerate(parts, start=1):
                which = f" ({count} of {len(parts)})" if len(parts) > 1 else ""
                yield Slide("code", section + which, text.rstrip(), rows=rows)
        elif text.startswith("|"):
            yield Slide("table", section, text)
        elif text and text[:1] != "*" and "<details>" not in text and len(text.split()) <= WORDS:
            yield Slide("text", section, text)


def in_parts(lines: Sequence[str]) -> list[range]:
    """Code in parts that fit a slide, cut before a function or, failing that, at an empty line where there is one."""
    parts, start = list[range](), 0
    while len(lines) - start > CODE_LINES:
        last = start + CODE_LINES
        empty = [k for k in range(start + CODE_LINES // 2, last + 1) if not lines[k].strip()]
        outside = [k for k in empty if lines[k + 1 : k + 2] and re.match(r"\S", lines[k + 1])]
        cut = (outside or empty or [last])[-1]
        parts.append(range(start, cut))
        start = next(k for k in range(cut, len(lines)) if lines[k].strip())
    return [*parts, range(start, len(lines))]


def _caption(cells: Sequence[NotebookNode]) -> str:
    """The first sentence or two after a figure, if text follows that is about it."""
    text = cells[0].source if cells and cells[0].cell_type == "markdown" else ""
    return _brief(next(iter(blocks(text)), ""))


def _brief(text: str) -> str:
    """A paragraph's first sentence or two, up to one that leads to what isn't on the slide; empty if it is no prose."""
    if text.startswith(("#", "$$", "|", "-", PREDICT)):
        return ""
    brief = said = ""
    for sentence in SENTENCE.split(text):
        said = f"{said} {sentence}".strip()
        if sentence.endswith(":") or (brief and len(said.split()) > CAPTION_WORDS):
            break
        if said.count("(") == said.count(")"):
            brief = said
    return brief


def exercises(cells: Sequence[NotebookNode]) -> list[Slide]:
    """Each exercise up to what goes further: its first paragraph, with the code that it shows, and its figures."""
    slides: list[Slide] = []
    for place, cell in enumerate(cells):
        if cell.source.startswith("## Going further"):
            break
        if cell.cell_type == "markdown":
            found = (re.fullmatch(EXERCISE, text, re.DOTALL) for text in blocks(cell.source))
            slides += [Slide("text", each[1].rstrip("."), each[2]) for each in found if each]
        elif slides:
            for shown in _outputs(slides[-1].heading, cell, _caption(cells[place + 1 :])):
                if shown.kind == "code" and slides[-1].kind == "text":
                    shown = replace(shown, below=slides.pop().body)
                slides += [shown] if shown.kind in ("code", "figure") else []
    return slides

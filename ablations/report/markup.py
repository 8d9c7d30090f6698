"""Text that enters the report, escaped, since anyone can have written the files; and the report as one HTML page."""

import base64
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

from markdown import Markdown
from markdown.treeprocessors import Treeprocessor

# what means something in Markdown or HTML; within a word, _ does not
SPECIAL = re.compile(r"[&<>\\`*\[\]|~#]|(?<!\w)_|_(?!\w)|:(?=//)")


def plain(text: object) -> str:
    """The text as one line of Markdown that shows it as it is: no markup, no HTML, no links, no line breaks."""
    return SPECIAL.sub(lambda found: f"&#{ord(found[0])};", _line(text))


def code(text: object) -> str:
    """The text as code in Markdown, in one line, between more backticks than it has itself."""
    line = _line(text)
    longest = max(map(len, re.findall("`+", line)), default=0)
    fence, space = "`" * (longest + 1), " " * bool(longest)
    return f"{fence}{space}{line}{space}{fence}"


def image(files: Sequence[Path], title: str, place: str = ".") -> str:
    """The PNG among the files as a Markdown image. place: its folder, relative to the report."""
    (png,) = (path for path in files if path.suffix == ".png")
    return f"![{plain(title)}]({quote(str(Path(place) / png.name), safe='/+')})"


def joined(parts: Iterable[str]) -> str:
    return "\n\n".join(part for part in parts if part)


def _line(text: object) -> str:
    return " ".join("".join(c if c.isprintable() else " " for c in str(text)).split())


def as_html(page: str, folder: Path) -> str:
    """The Markdown as one HTML page that needs no other file, with its images embedded. Raw HTML in it is text."""

    class Embedded(Treeprocessor):
        def run(self, root: Any) -> None:
            for image in root.iter("img"):
                data = (folder / unquote(image.get("src"))).read_bytes()
                image.set("src", f"data:image/png;base64,{base64.b64encode(data).decode()}")

    converter = Markdown(extensions=["tables"])
    converter.preprocessors.deregister("html_block")
    converter.inlinePatterns.deregister("html")
    converter.treeprocessors.register(Embedded(converter), "embedded", 5)  # after those that make images
    return f"{HEAD}\n<body>\n{converter.convert(page)}\n</body>\n</html>\n"


HEAD = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>Ablation report</title>
<meta name="viewport" content="width=device-width">
<style>
body { max-width: 72rem; margin: 2rem auto; padding: 0 1rem; font: 15px/1.5 system-ui, sans-serif; color: #222; }
img { max-width: 100%; background: white; }
table { border-collapse: collapse; font-size: 13px; margin: 1rem 0; display: block; overflow-x: auto; }
th, td { padding: 0.2rem 0.6rem; border-bottom: 1px solid #ddd; text-align: left; font-variant-numeric: tabular-nums; }
</style>
</head>"""

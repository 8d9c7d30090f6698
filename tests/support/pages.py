"""The pages that people read, and what stands on them: regions, commands, code, links."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PATHS = ROOT / "README.md", *sorted(ROOT.glob("C*.md")), *sorted(ROOT.glob("docs/**/*.md")), ROOT / "chapters/README.md"
PAGES = {str(path.relative_to(ROOT)): path.read_text(encoding="utf-8") for path in PATHS}
STANDS_FOR = {"RUNG": "gae", "NAME": "gae"}  # what a command on a page leaves open


def region(name: str) -> str:
    """What stands between `<!-- name -->` and `<!-- /name -->`, on the one page that has it."""
    start, end = f"<!-- {name} -->\n", f"<!-- /{name} -->"
    (found,) = (text.split(start)[1].split(end)[0] for text in PAGES.values() if start in text)
    return found


def commands(program: str) -> list[str]:
    """The arguments of every `python -m program ...`, in a block of shell or within a sentence; each once."""
    found = []
    for text in PAGES.values():
        blocks = "\n".join(blocks_of("sh", text)).replace(" \\\n", " ")
        found += re.findall(rf"(?m)^(?:\.venv/bin/)?python -m {program}(?![\w.])(.*?)(?:\s+#.*|\s+>.*)?$", blocks)
        found += re.findall(rf"`python -m {program}(?![\w.])([^`]*)`", re.sub(r"```.*?```", "", text, flags=re.DOTALL))
    words = [[STANDS_FOR.get(word, word) for word in command.split()] for command in found]
    return list(dict.fromkeys(" ".join(command) for command in words))


def blocks_of(language: str, text: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.+?)^```", text, re.DOTALL | re.MULTILINE)


def one_liners() -> list[str]:
    """The code of every `python -c "..."` in a block of shell."""
    return [code for text in PAGES.values() for code in re.findall(r'^python -c "(.+)"$', text, re.MULTILINE)]


def options() -> set[str]:
    """Every option that stands on a page as code: `--no-gae`, `--seeds`."""
    return {option for text in PAGES.values() for option in re.findall(r"`(--[a-z][a-z-]*)", text)}


def links(text: str) -> list[str]:
    """The targets of a page's links and pictures that lead to files of this project."""
    found = re.findall(r"\]\(([^)\s]+)\)", text) + re.findall(r'src="([^"]+)"', text)
    return [target for target in found if not target.startswith(("https://", "http://"))]


def anchors(text: str) -> set[str]:
    """The names by which GitHub links to a page's headings: `reading-the-code` for `## Reading the code`."""
    titles = re.findall(r"^#+ (.+)$", re.sub(r"```.*?```", "", text, flags=re.DOTALL), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}

"""`python -m chapters site`: the web book as a folder of static pages."""

import io
import json
import shutil
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from chapters.book.build import CHAPTERS
from chapters.book.lines import read
from chapters.book.results import FOLDER
from chapters.book.site.atlas import atlas
from chapters.book.site.extension import letters
from chapters.book.site.growing import colored, loop
from chapters.book.site.playground import engine, page
from chapters.book.site.playing import played
from chapters.book.site.reference import SETTINGS
from chapters.book.site.staging import STATIC, stage
from chapters.book.site.wall_chart import wall_chart
from tricks.core.extras import extra
from tricks.errors import InputError

EXTENSIONS = ["myst_nb", "sphinx.ext.mathjax", "sphinx-mathjax-offline", "chapters.book.site.extension"]
NAVIGATION = {"show_toc_level": 2, "collapse_navbar": True, "navbar_persistent": []}
SCRIPTS = ("data.js", "loop.js", "plot.js", "clips.js", "formulas.js")


@dataclass(frozen=True)
class SiteOptions:
    """Where the site goes."""

    out: Path = CHAPTERS.parent / "site"
    """Folder for the pages; what is in it is replaced."""


def main(chosen: SiteOptions) -> int:
    """Make the site. Returns the exit status. Raises InputError if Sphinx is missing, or a page cannot be made."""
    for package in ("sphinx", "myst_nb", "sphinx_book_theme", "sphinx-mathjax-offline"):
        extra("site", package)
    start = time.perf_counter()
    with tempfile.TemporaryDirectory() as temporary:
        source, made = Path(temporary, "source"), Path(temporary, "made")
        source.mkdir()
        stage(source)
        data = Path(temporary, "data")
        for folder in ("thumbnails", "clips"):
            shutil.copytree(CHAPTERS / folder, data / folder)
        numbers = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted(FOLDER.glob("*.json"))}
        wall_chart(data / "wall-chart.pdf")
        write_data(data / "data.js", LOOP=loop(), NUMBERS=numbers, LETTERS=letters())
        write_data(data / "atlas-data.js", ATLAS=atlas())
        write_data(data / "lines.js", LINES=[[blank, colored(line), when] for (blank, line, _), when in read()])
        write_data(data / "playground-data.js", PLAYED=played())
        for name, script in (("engine", engine()), ("page", page())):
            (data / f"playground-{name}.js").write_text(script, encoding="utf-8")
        warnings = build(source, made, [str(STATIC), str(data)])
        if warnings:
            raise InputError(f"a page could not be made as it should be: {warnings[0]}")
        replace(made, chosen.out)
    print(f"wrote {chosen.out}/index.html in {time.perf_counter() - start:.0f} seconds")
    return 0


def write_data(path: Path, **values: Any) -> None:
    """Write values as a script, because a page that is opened from a folder may not load JSON."""
    script = "".join(f"window.{name} = {json.dumps(value)};\n" for name, value in values.items())
    path.write_text(script, encoding="utf-8")


def build(source: Path, made: Path, static: list[str]) -> list[str]:
    """Let Sphinx make the pages. Returns its warnings."""
    from sphinx.application import Sphinx

    warned = io.StringIO()
    app = Sphinx(source, None, made, made.parent / "trees", "html", settings(static), None, warned)
    app.build()
    return [line for line in warned.getvalue().splitlines() if line.strip()]


def settings(static: list[str]) -> dict[str, Any]:
    """Sphinx's configuration."""
    return {
        "project": "What makes PPO work",
        "author": "the authors of tricks",
        "extensions": EXTENSIONS,
        **SETTINGS,
        "nb_execution_mode": "off",
        "nb_render_markdown_format": "gfm",  # tables in outputs
        "nb_code_prompt_show": "Show the code",
        "nb_code_prompt_hide": "Hide the code",
        "myst_enable_extensions": ["dollarmath", "amsmath"],
        "myst_heading_anchors": 3,
        "html_theme": "sphinx_book_theme",
        "html_title": "What makes PPO work",
        "html_static_path": static,
        "html_css_files": ["book.css", "playground.css"],
        "html_js_files": [(name, {"defer": "defer"}) for name in SCRIPTS],
        "html_context": {"default_mode": "auto"},
        "html_copy_source": False,
        "html_show_sourcelink": False,
        "html_theme_options": dict.fromkeys(("use_download_button", "use_fullscreen_button"), False) | NAVIGATION,
    }


def replace(made: Path, out: Path) -> None:
    """Put the pages where they belong, in place of those that were there. Raises InputError for any other folder."""
    if out.exists() and any(out.iterdir()) and not (out / "searchindex.js").exists():
        raise InputError(f"{out} holds something else than a site; choose another folder with --out")
    shutil.rmtree(out, ignore_errors=True)
    shutil.copytree(made, out)

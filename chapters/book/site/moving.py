"""`python -m chapters picture`: agents that learn in the playground, as a moving picture for the README."""

import io
import shutil
import time
from base64 import b64decode
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from PIL import Image

from chapters.book.build import CHAPTERS
from tricks.core.extras import extra
from tricks.errors import InputError

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
FLAGS = "--headless=new --no-sandbox --disable-dev-shm-usage --allow-file-access-from-files --window-size=1440,900"
SHOWN = "#a=baseline,reuse&b=baseline,reuse,clip&lr=0.03&steps=30000&hidden=16,16"  # the clip, off and on
PACE = 3  # of the page's speeds: 20 updates a second
SECONDS, REST = 0.25, 3.0  # between two pictures; for the last one
WIDTH, COLORS = 640, 32
PLACE = """const [top, bottom] = ['.play-legend', '.play-picture'].map((each) => document.querySelector(each));
const [first, last] = [top, bottom].map((each) => each.getBoundingClientRect());
const width = last.width + 18; // with the lines' names at their ends
return [last.x + scrollX, first.y + scrollY, width, last.bottom - first.y].map(Math.round);"""
REACHED = "return JSON.parse(document.querySelector('#playground').dataset.told ?? '{}').done === true"


@dataclass(frozen=True)
class PictureOptions:
    """Of which pages, and where it goes."""

    site: Path = CHAPTERS.parent / "site"
    """Folder of the web book, as `python -m chapters site` makes it."""
    out: Path = CHAPTERS.parent / "docs" / "playground.gif"
    """The picture's file."""


@contextmanager
def driver(**logged: str) -> Iterator[Any]:
    """A browser without a window, which takes seconds to start. Raises InputError where there is none."""
    webdriver = extra("dev", "selenium.webdriver")
    path, server = next(filter(None, map(shutil.which, BROWSERS)), None), shutil.which("chromedriver")
    if path is None or server is None:
        raise InputError("there is no browser: install Chromium and its driver, as .ci/run does")
    chosen = webdriver.ChromeOptions()
    chosen.binary_location = path
    for flag in FLAGS.split():
        chosen.add_argument(flag)
    chosen.set_capability("goog:loggingPrefs", logged)
    found = webdriver.Chrome(options=chosen, service=webdriver.ChromeService(server))
    try:
        yield found
    finally:
        found.quit()


def main(chosen: PictureOptions) -> int:
    """Train in the playground and film its curves. Returns the exit status. Raises InputError without the pages."""
    page = chosen.site.resolve() / "playground.html"
    if not page.is_file():
        raise InputError(f"there is no {page}; `python -m chapters site` makes it")
    with driver() as browser:
        browser.get(f"{page.as_uri()}{SHOWN}")
        write(chosen.out, list(filmed(browser)))
    print(f"wrote {chosen.out}")
    return 0


def filmed(browser: Any) -> Iterator[Image.Image]:
    """The curves of a training, from its beginning to its end."""
    hurry = "const range = document.querySelector('.play-bar input'); range.value = arguments[0];"
    browser.execute_script(f"{hurry} range.dispatchEvent(new Event('input'))", PACE)
    browser.find_element("xpath", "//button[text()='restart']").click()
    x, y, width, height = browser.execute_script(PLACE)
    clip = {"x": x, "y": y, "width": width, "height": height, "scale": WIDTH / width}
    ended = False
    while not ended:
        ended = browser.execute_script(REACHED)
        begun = time.monotonic()
        found = browser.execute_cdp_cmd("Page.captureScreenshot", {"clip": clip, "captureBeyondViewport": True})
        yield Image.open(io.BytesIO(b64decode(found["data"]))).convert("RGB")
        time.sleep(max(0.0, SECONDS - (time.monotonic() - begun)))


def write(path: Path, pictures: Sequence[Image.Image]) -> None:
    """An animation that rests at its end, in the colors of its last picture."""
    palette = pictures[-1].quantize(COLORS)
    frames = [each.quantize(palette=palette, dither=Image.Dither.NONE) for each in pictures]
    milliseconds = [round(1000 * SECONDS)] * (len(frames) - 1) + [round(1000 * REST)]
    frames[0].save(path, save_all=True, append_images=frames[1:], duration=milliseconds, loop=0, optimize=True)

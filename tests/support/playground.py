"""The playground's page in a browser: what it tells, and what a reader does there."""

import json
import time
from collections.abc import Callable
from typing import Any

from support.browsing import Browser

CORRIDOR = "world=tricks/Corridor1-v0&lr=0.01&steps=2000&hidden=8&agents=5&horizon=32&lanes=8"
COUNT_WORKERS = """
const ended = Worker.prototype.terminate;
window.born = window.gone = 0;
window.Worker = class extends Worker { constructor(...given) { super(...given); born++; } };
Worker.prototype.terminate = function () { gone++; return ended.call(this); };
"""
TWO = f"playground.html#{CORRIDOR}&a=&b=baseline,reuse,clip"


def told(browser: Browser, selector: str = "#playground") -> dict[str, Any]:
    return dict(json.loads(browser.run("return document.querySelector(arguments[0]).dataset.told ?? '{}'", selector)))


def wait(
    browser: Browser, done: Callable[[dict[str, Any]], Any], selector: str = "#playground", seconds: float = 60
) -> dict[str, Any]:
    """What the page tells once `done` says so."""
    end = time.monotonic() + seconds
    while not done(found := told(browser, selector)):
        assert time.monotonic() < end, found
        time.sleep(0.05)
    return found


def trained(browser: Browser, selector: str = "#playground", seconds: float = 60) -> dict[str, Any]:
    """What a playground tells at the end of the training."""
    return wait(browser, lambda found: found.get("done"), selector, seconds)


def opened(browser: Browser, address: str) -> Browser:
    browser.open("genindex.html")  # so that a new # is a new page
    browser.open(address)
    browser.wait_for("#playground .play-main")
    return browser


def click(browser: Browser, text: str) -> None:
    """Press the button with this text."""
    browser.ask("press", text)


def flip(browser: Browser, trick: str) -> None:
    browser.run("document.querySelector(`.play-switches input[name=${arguments[0]}]`).click()", trick)


def speed(browser: Browser, value: int) -> None:
    browser.ask("set", ".play-bar input", value)


def address(browser: Browser) -> str:
    """What follows the page's name."""
    return str(browser.run("return location.hash"))

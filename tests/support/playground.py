"""The playground's page in a browser: what it tells, and what a reader does there."""

import json
import time
from collections.abc import Callable
from typing import Any

from support.browsing import Browser

CORRIDOR = "world=tricks/Corridor1-v0&lr=0.01&steps=2000&hidden=8&agents=5&horizon=32&lanes=8"
CURVE = """
const curve = new Book.playground.Curve(1000), [rows, diverged] = arguments;
rows.forEach(([step, y], k) => {
  const active = k < rows.length - 1;
  curve.add({ step, return: y ?? NaN, active, diverged: !active && diverged });
});
return curve.values;
"""
SLIDE = """
const slider = document.querySelector(`.play-sliders input[name=${arguments[0]}]`);
slider.value = arguments[1];
for (const kind of ["input", "change"]) slider.dispatchEvent(new Event(kind));
"""
SAY = """
document.querySelector(".play-verdict").textContent = arguments[0];
document.querySelector(".play-lone").textContent = arguments[1];
return document.querySelector(".play-follow").offsetTop;
"""
EXTENT = """
const box = document.querySelector(".play-code .highlight");
const lines = [...box.querySelectorAll(".loop-line")];
const size = parseFloat(getComputedStyle(lines[0]).fontSize);
return [box.clientWidth, box.scrollWidth, Math.max(...lines.map((line) => line.offsetHeight)), size];
"""
BROKEN = """
Playground.Session.source = 'onmessage = () => { throw new Error("no memory"); }';
"""
BLANK = """
const { width, height } = arguments[0];
return !arguments[0].getContext("2d").getImageData(0, 0, width, height).data.some((each) => each);
"""
TWO = f"playground.html#{CORRIDOR}&a=&b=baseline,reuse,clip"


def told(browser: Browser) -> dict[str, Any]:
    return dict(json.loads(browser.run("return document.getElementById('playground').dataset.told ?? '{}'")))


def wait(browser: Browser, done: Callable[[dict[str, Any]], Any], seconds: float = 60) -> dict[str, Any]:
    """What the page tells once `done` says so."""
    end = time.monotonic() + seconds
    while not done(found := told(browser)):
        assert time.monotonic() < end, found
        time.sleep(0.05)
    return found


def opened(browser: Browser, address: str) -> Browser:
    browser.open("genindex.html")  # so that a new # is a new page
    browser.open(address)
    browser.wait_for("#playground .play-main")
    return browser


def click(browser: Browser, text: str) -> None:
    """Press the button with this text."""
    script = "[...document.querySelectorAll('#playground button')].find((b) => b.textContent === arguments[0]).click()"
    browser.run(script, text)


def flip(browser: Browser, trick: str) -> None:
    browser.run("document.querySelector(`.play-switches input[name=${arguments[0]}]`).click()", trick)


def code(browser: Browser) -> list[str]:
    """The loop as it is shown, without its blank lines."""
    lines = browser.run(
        "return [...document.querySelectorAll('.play-code .loop-line')].map((line) => line.textContent)"
    )
    return [line for line in lines if line]

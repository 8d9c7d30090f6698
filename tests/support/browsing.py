"""A real browser without a window, for pages that move."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from support.commands import until

from chapters.book.site.moving import driver
from tricks import InputError

ASKED = Path(__file__).with_name("asked.js").read_text(encoding="utf-8")


class Browser:
    """Opens pages of a folder, and remembers what they asked for and complained about."""

    def __init__(self, driver: Any, folder: Path) -> None:
        self.driver, self.folder = driver, folder

    def open(self, page: str) -> None:
        self.driver.get_log("browser")
        self.driver.get_log("performance")
        self.driver.get(f"{self.folder.as_uri()}/{page}")

    def run(self, script: str, *values: object) -> Any:
        return self.driver.execute_script(script, *values)

    def ask(self, name: str, *values: object) -> Any:
        """What this function of asked.js finds on this page."""
        return self.run(f"{ASKED}\nreturn {name}(...arguments);", *values)

    def texts(self, selector: str) -> list[str]:
        return list(self.ask("texts", selector))

    def text(self, selector: str) -> str:
        return self.texts(selector)[0]

    def told(self, script: str, *values: object) -> Any:
        return self.driver.execute_async_script(script, *values)

    def wait_for(self, selector: str, seconds: float = 60) -> None:
        """Until the page's scripts have made such an element; a busy machine takes its time."""
        there = "return document.querySelector(arguments[0]) !== null"
        until(lambda: self.run(there, selector), seconds, f"the page has no {selector}")

    def complaints(self) -> list[str]:
        """Errors and warnings in the console since `open`."""
        return [entry["message"] for entry in self.driver.get_log("browser") if entry["level"] in ("SEVERE", "WARNING")]

    def requests(self) -> list[str]:
        """The addresses that the page asked for since `open`."""
        events = [json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance")]
        return [e["params"]["request"]["url"] for e in events if e["method"] == "Network.requestWillBeSent"]

    def resize(self, width: int, height: int = 900) -> None:
        """Pretend that the screen has this size, in CSS pixels."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)

    @contextmanager
    def sized(self, width: int) -> Iterator[None]:
        """For as long as this lasts, the screen has this width."""
        self.resize(width)
        try:
            yield
        finally:
            self.resize(1440)


@contextmanager
def started() -> Iterator[Any]:
    """The driver of a browser. The test is skipped where there is none."""
    try:
        with driver(browser="ALL", performance="ALL") as found:
            found.set_script_timeout(120)
            yield found
    except InputError as error:
        pytest.skip(str(error))

"""The web book, made once for all its tests, and a browser that shows it."""

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.browsing import Browser, started, until
from support.replayed import write_page
from support.wheels import once


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("sphinx", reason="no sphinx: pip install -e '.[site]'")
    with warnings.catch_warnings():  # about what its tools still use
        warnings.simplefilter("ignore")
        from chapters.book.site.website import SiteOptions, main

        return once(tmp_path_factory, "site", lambda folder: main(SiteOptions(folder)))


@pytest.fixture(scope="session")
def driver() -> Iterator[Any]:
    with started() as found:
        yield found


@pytest.fixture(scope="module")
def browser(site: Path, driver: Any) -> Iterator[Browser]:
    """A browser on a screen of 1440 pixels."""
    found = Browser(driver, site)
    found.resize(1440)
    yield found
    driver.get("about:blank")  # else the agents on its last page would go on learning


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory, driver: Any) -> Iterator[Browser]:
    """A page with nothing but the playground's engine."""
    found = Browser(driver, tmp_path_factory.mktemp("engine"))
    write_page(found.folder)
    found.open("index.html")
    until(lambda: found.run("return typeof written === 'function'"), 60, "the page has not loaded its last script")
    yield found
    driver.get("about:blank")

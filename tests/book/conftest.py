"""The web book, made once for all its tests, and a browser that shows it."""

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.browsing import Browser, browsing
from support.replayed import write_page


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the site. Of several test processes one makes it, and the others wait for that."""
    pytest.importorskip("sphinx", reason="no sphinx: pip install -e '.[site]'")
    from chapters.book.site.website import SiteOptions, main

    own = tmp_path_factory.getbasetemp()
    folder = own.parent if "PYTEST_XDIST_WORKER" in os.environ else own
    made, failed = folder / "site", folder / "site-failed"
    try:
        (folder / "site-begun").mkdir()
    except FileExistsError:
        while not made.exists():
            assert not failed.exists(), "another process could not make the site"
            time.sleep(0.2)
        return made
    try:
        main(SiteOptions(folder / "site-in-work"))
        (folder / "site-in-work").rename(made)
    finally:
        if not made.exists():
            failed.touch()
    return made


@pytest.fixture(scope="module")
def browser(site: Path) -> Iterator[Browser]:
    """A browser on a screen of 1440 pixels."""
    with browsing(site) as found:
        found.resize(1440)
        yield found


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """A page with nothing but the playground's engine."""
    folder = tmp_path_factory.mktemp("engine")
    write_page(folder)
    with browsing(folder) as found:
        found.driver.set_script_timeout(120)
        found.open("index.html")
        yield found

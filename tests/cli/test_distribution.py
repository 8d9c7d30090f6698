"""What is installed: one name, one version, a wheel that works without the clone; and the names that others import."""

import re
import subprocess
import sys
import tomllib
import zipfile
from email import message_from_string
from email.message import Message
from importlib.metadata import version

import pytest
from support import pages
from support.wheels import built

import ablations
import tricks
from ablations.cli import main as ablations_main
from tricks.cli.main import main as tricks_main
from tricks.version import DISTRIBUTION, unreleased, version_line

PROJECT = tomllib.loads((pages.ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    return zipfile.ZipFile(built(tmp_path_factory))


@pytest.fixture(scope="module")
def metadata(wheel: zipfile.ZipFile) -> Message:
    (name,) = (name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
    return message_from_string(wheel.read(name).decode())


def test_name_and_version_are_the_same_wherever_they_stand(metadata: Message) -> None:
    assert tricks.__version__ == ablations.__version__ == metadata["Version"]
    assert f"\nversion: {tricks.__version__}\n" in (pages.ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert re.findall(r"^## \[(\S+)\]", pages.PAGES["CHANGELOG.md"], re.MULTILINE)[0] == tricks.__version__
    assert metadata["Name"] == PROJECT["name"] == DISTRIBUTION
    assert PROJECT["scripts"] == {name: f"{name}.__main__:main" for name in ("tricks", "ablations")}
    extras = PROJECT["optional-dependencies"].values()
    assert [need for needs in extras for need in needs if need.startswith("tricks")] == []


def test_version_says_what_is_installed(capsys: pytest.CaptureFixture[str]) -> None:
    for program in (tricks_main, ablations_main):
        assert program(["--version"]) == 0
        said = capsys.readouterr().out
        assert said == f"{version_line()}\n"
        assert said.startswith(f"ppo-tricks {tricks.__version__} (Python 3.")
        assert said.endswith(", not released: its links lead to the placeholder OWNER\n") == unreleased()
        assert [name for name in ("torch", "numpy", "gymnasium") if f", {name} {version(name)}" not in said] == []


def test_the_wheel_holds_the_packages_and_their_data_alone(wheel: zipfile.ZipFile) -> None:
    held = set(wheel.namelist())
    roots = {name.split("/")[0].removesuffix(".dist-info").split("-")[0] for name in held}
    assert roots == {"tricks", "ablations", "chapters", "ppo_tricks"}
    tops = [pages.ROOT / package for package in ("tricks", "ablations", "chapters/book", "chapters/exercises")]
    code = [path for top in tops for path in top.rglob("*.py")]
    data = [path for top in tops for part in (top, top / "results") for path in part.glob("*.csv*")]
    assert {path.relative_to(pages.ROOT).as_posix() for path in [*code, *data]} <= held
    assert {"tricks/py.typed", "ablations/py.typed"} <= held


def test_the_page_of_the_index_has_no_relative_link(metadata: Message) -> None:
    text = str(metadata.get_payload())
    assert pages.links(text) == []
    assert len(re.findall(r"\]\(https://", text)) >= len(pages.links(pages.PAGES["README.md"])) > 20
    ladder = "ablations/results/ladder+leave-one-out+add-one-in+presets_CartPole-v1_from30/curves_ladder.png"
    home = f"https://github.com/OWNER/ppo-tricks/{{}}/v{tricks.__version__}/{{}}"
    assert f"]({home.format('raw', ladder)})" in text
    assert f"]({home.format('blob', 'docs/running.md')})" in text


def test_every_public_name_is_there_and_no_other() -> None:
    for package in (tricks, ablations):
        assert all(hasattr(package, name) for name in package.__all__)
        assert {*package.__all__, "__version__"} <= set(dir(package))
        with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
            package.nonsense  # noqa: B018


LOADED = """
import sys
from tricks.cli.main import main
assert main(["list"]) == 0
assert not {"torch", "libcst", "pandas", "numpy", "gymnasium"} & set(sys.modules)
import ablations
assert not {"torch", "pandas", "matplotlib"} & set(sys.modules)
import ablations.cli, ablations.report.page
assert "torch" not in sys.modules, "a report waits for it"
"""


def test_nothing_is_loaded_before_it_is_asked_for() -> None:
    subprocess.run([sys.executable, "-c", LOADED], check=True, stdout=subprocess.DEVNULL)

"""What is installed: one name, one version, a wheel that works without the clone; and the names that others import."""

import ast
import re
import subprocess
import sys
import tomllib
import zipfile
from email import message_from_string
from email.message import Message
from importlib import import_module
from importlib.metadata import version
from pathlib import Path

import pytest
from support import pages
from support.fixtures import Patch
from support.wheels import built

import ablations
import tricks
from ablations import findings
from ablations.cli import main as ablations_main
from tricks.__main__ import main
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


@pytest.mark.parametrize(("owner", "open_"), [("OWNER", True), ("somebody", False)])
def test_the_version_says_that_a_placeholder_is_not_a_release(owner: str, open_: bool, monkeypatch: Patch) -> None:
    about = message_from_string(f"Project-URL: Homepage, https://github.com/{owner}/ppo-tricks\n")
    monkeypatch.setattr("importlib.metadata.metadata", lambda name: about)
    assert version_line().endswith("placeholder OWNER") == unreleased() == open_


def test_the_scripts_are_the_modules(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert PROJECT["scripts"] == {name: f"{name}.__main__:main" for name in ("tricks", "ablations")}
    monkeypatch.setattr(sys, "argv", ["tricks", "nonsense"])
    assert main() == 2
    assert "unknown command 'nonsense'" in capsys.readouterr().err


def test_the_wheel_holds_the_packages_and_their_data_alone(wheel: zipfile.ZipFile) -> None:
    held = set(wheel.namelist())
    roots = {name.split("/")[0].removesuffix(".dist-info").split("-")[0] for name in held}
    assert roots == {"tricks", "ablations", "chapters", "ppo_tricks"}
    tops = [pages.ROOT / package for package in ("tricks", "ablations", "chapters/book", "chapters/exercises")]
    code = [path for top in tops for path in top.rglob("*.py")]
    data = [path for top in tops for part in (top, top / "results") for path in part.glob("*.csv*")]
    assert {path.relative_to(pages.ROOT).as_posix() for path in [*code, *data]} <= held
    assert {"tricks/py.typed", "ablations/py.typed"} <= held


RUN = """
import runpy, sys
sys.path.insert(0, ".")
from ablations.cli import main as ablations
from tricks.cli.main import main as tricks
for command, words in ((tricks, ["list"]), (tricks, ["diff", "baseline", "reuse"]), (ablations, ["--help"])):
    print("=====")
    assert command(words) == 0
sys.argv[1:] = ["compare", "--help"]
print("=====")
runpy.run_module("ablations", run_name="__main__")
"""


def test_commands_work_without_the_clone(wheel: zipfile.ZipFile, tmp_path: Path) -> None:
    wheel.extractall(tmp_path)
    done = subprocess.run([sys.executable, "-P", "-c", RUN], cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    listed, changed, *usages = done.stdout.split("=====\n")[1:]
    assert "gae" in listed
    assert "importance_ratio" in changed
    assert [usage.split(" [")[0].split(" compare")[0] for usage in usages] == ["usage: python -m ablations"] * 2


def test_the_page_of_the_index_has_no_relative_link(metadata: Message) -> None:
    text = str(metadata.get_payload())
    assert pages.links(text) == []
    assert len(re.findall(r"\]\(https://", text)) >= len(pages.links(pages.PAGES["README.md"])) > 20
    ladder = "ablations/results/ladder+leave-one-out+add-one-in_CartPole-v1_from30/curves_ladder.png"
    home = f"https://github.com/OWNER/ppo-tricks/{{}}/v{tricks.__version__}/{{}}"
    assert f"]({home.format('raw', ladder)})" in text
    assert f"]({home.format('blob', 'docs/running.md')})" in text


CHAPTERS = Path(ablations.__file__).parents[1] / "chapters"


def test_every_name_is_what_its_home_calls_so_and_no_other_is_there() -> None:
    block = next(node for node in ast.parse(Path(ablations.__file__).read_text()).body if isinstance(node, ast.If))
    homes = {each.name: node.module for node in block.body if isinstance(node, ast.ImportFrom) for each in node.names}
    assert ablations.__all__ == sorted(homes)
    for name, home in homes.items():
        found = getattr(ablations, name)
        assert found is getattr(import_module(str(home)), name, sys.modules.get(f"{home}.{name}")), name
    assert set(tricks.HOMES) < set(tricks.__all__)
    assert all(getattr(tricks, name).__name__ == name for name in tricks.HOMES)
    for package in (tricks, ablations):
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


def test_chapters_import_from_the_package_alone() -> None:
    for path in CHAPTERS.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "ablations":
                assert node.module in ("ablations", "ablations.findings"), path
                public = ablations if node.module == "ablations" else findings
                assert {alias.name for alias in node.names} <= set(public.__all__), path

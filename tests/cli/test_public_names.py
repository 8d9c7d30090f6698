"""What other packages get from the two packages: every name is there, and nothing is loaded before it is asked for."""

import ast
import shutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import ablations
import tricks
from ablations import cli as ablations_cli
from ablations import findings
from tricks.cli import main as tricks_cli

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


BASH = shutil.which("bash")
OFFER = """
. "$0"
function=$(complete -p "$1" | sed 's/.* -F \\([^ ]*\\) .*/\\1/')
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
"$function" "$1" "${!#}"
printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.fixture(scope="module")
def scripts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the scripts of both programs."""
    folder = tmp_path_factory.mktemp("completion")
    for name, main in (("tricks", tricks_cli.main), ("ablations", ablations_cli.main)):
        with (folder / name).open("w", encoding="utf-8") as file, pytest.MonkeyPatch.context() as patch:
            patch.setattr("sys.stdout", file)
            assert main(["--print-completion", "bash"]) == 0  # it asks each command for its options, and prints none
        assert (folder / name).read_text(encoding="utf-8").startswith(f"_{name}() {{\n")
    return folder


@pytest.mark.skipif(BASH is None, reason="no bash")
@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("tricks ", {*tricks_cli.COMMANDS, "-h", "--help"}),
        ("ablations ", {*ablations_cli.COMMANDS, "-h", "--help"}),
        ("tricks s", {"save-policy"}),
        ("tricks train --no-ga", {"--no-gae"}),
        ("tricks train ppo --clip-", {"--clip-anneal", "--clip-range"}),
        ("tricks play runs/x --gi", {"--gif"}),
        ("tricks list --", {"--help"}),
        ("ablations compare ppo --ra", {"--rates", "--rate-seeds"}),
        ("ablations run --des", {"--design"}),
    ],
)
def test_commands_and_their_options_are_offered_and_nothing_else(line: str, offered: set[str], scripts: Path) -> None:
    words = line.split(" ")
    command = [str(BASH), "-c", OFFER, str(scripts / words[0]), *words]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert (set(done.stdout.split("\n")) - {""}, done.stderr) == (offered, "")


def test_zsh_gets_a_script_of_its_own_and_another_shell_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert tricks_cli.main(["--print-completion", "zsh"]) == 0
    script = capsys.readouterr().out
    assert script.startswith("#compdef tricks\n")
    assert all(f"*:{name}) offered=(-h '--help:show" in script for name in tricks_cli.COMMANDS)
    assert "'--lr:Adam'\"'\"'s learning rate. (default: 0.001)'" in script
    for shells, named in (([], "nothing"), (["tcsh"], "tcsh"), (["bash", "zsh"], "bash zsh")):
        for main in (tricks_cli.main, ablations_cli.main):
            assert main(["--print-completion", *shells]) == 2
            assert capsys.readouterr() == ("", f"error: --print-completion takes bash or zsh, not {named}\n")

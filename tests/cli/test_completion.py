"""What a shell offers at the Tab key: every command, and its options."""

import shutil
import subprocess
from pathlib import Path

import pytest

from ablations import cli as ablations
from tricks.cli import main as tricks
from tricks.cli.shell import asking

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
    for name, main in (("tricks", tricks.main), ("ablations", ablations.main)):
        with (folder / name).open("w", encoding="utf-8") as file, pytest.MonkeyPatch.context() as patch:
            patch.setattr("sys.stdout", file)
            assert main(["--print-completion", "bash"]) == 0
    return folder


def offered(line: str, scripts: Path) -> set[str]:
    """What bash offers at the end of a line."""
    if BASH is None:
        pytest.skip("no bash")
    words = line.split(" ")
    done = subprocess.run([BASH, "-c", OFFER, scripts / words[0], *words], capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return set(done.stdout.split("\n")) - {""}


@pytest.mark.parametrize(("program", "commands"), [("tricks", tricks.COMMANDS), ("ablations", ablations.COMMANDS)])
def test_every_command_is_offered(program: str, commands: dict[str, object], scripts: Path) -> None:
    assert offered(f"{program} ", scripts) == {*commands, "-h", "--help"}


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("tricks s", {"save-policy"}),
        ("tricks train --no-ga", {"--no-gae"}),
        ("tricks train ppo --clip-", {"--clip-anneal", "--clip-range"}),
        ("tricks play runs/x --gi", {"--gif"}),
        ("tricks list --", {"--help"}),
        ("ablations compare ppo --ra", {"--rates", "--rate-seeds"}),
        ("ablations run --des", {"--design"}),
    ],
)
def test_the_options_of_a_command_are_offered_and_nothing_else(line: str, words: set[str], scripts: Path) -> None:
    assert offered(line, scripts) == words


def test_zsh_gets_a_script_of_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    assert tricks.main(["--print-completion", "zsh"]) == 0
    script = capsys.readouterr().out
    assert script.startswith("#compdef tricks\n")
    assert all(f"'{name}'" in script for name in tricks.COMMANDS)


@pytest.mark.parametrize("arguments", [[], ["tcsh"], ["bash", "zsh"]])
def test_another_shell_gets_one_line(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    said = f"error: --print-completion takes bash or zsh, not {' '.join(arguments) or 'nothing'}\n"
    for main in (tricks.main, ablations.main):
        assert main(["--print-completion", *arguments]) == 2
        assert capsys.readouterr() == ("", said)


def test_a_command_that_is_asked_for_its_options_does_nothing_else(capsys: pytest.CaptureFixture[str]) -> None:
    with asking() as kinds:
        assert tricks.main(["train", "--help"]) == 2
    assert len(kinds) == 1
    assert capsys.readouterr().out == ""
    with pytest.raises(SystemExit):
        tricks.main(["train", "--help"])  # and afterwards it does

"""Commands that are stopped at random moments and given again, until they end."""

import contextlib
import gzip
import os
import signal
import subprocess
import tempfile
from pathlib import Path

import psutil
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy
from support.attack.law import in_words
from support.commands import alive, begin, ended, until
from support.studies import FILE, finished

from ablations.analysis.records import SUFFIX
from tricks import load
from tricks.runs.files import LOCK

OUT = "out"
TRAIN = ("train", "ppo", "--steps", "3000", "--lanes", "4", "--horizon", "32", "--hidden", "8", "--seeds", "2")
STUDY = ("--tricks", "baseline", "--steps", "2000", "--seeds", "20", "--workers", "2")
COMMANDS = {
    "train": ("tricks", (*TRAIN, "--out", OUT)),
    "checkpoints": ("tricks", (*TRAIN, "--checkpoint-every", "500", "--out", OUT)),
    "study": ("ablations", ("run", *STUDY, "--out", OUT)),
}
LIMIT = 6.0  # seconds within which a command is stopped; all take a little longer than half of that
STOPS = ("SIGKILL", "SIGKILL", "SIGTERM", "SIGINT", "SIGHUP")
ENTRY = "sys.exit(start("  # in a traceback: the command itself had begun
Kill = tuple[str, list[tuple[float, str, bool]]]


def kills(*commands: str, earliest: float = 0.0) -> SearchStrategy[Kill]:
    """Which command is stopped after how many seconds, each time with which signal, and whether its group is, too."""
    moments = st.integers(0, 100).map(lambda share: earliest + (LIMIT - earliest) * share / 100)
    stops = st.lists(st.tuples(moments, st.sampled_from(STOPS), st.booleans()), min_size=1, max_size=2)
    return st.tuples(st.sampled_from(commands), stops)


def attack(kill: Kill, undisturbed: dict[str, dict[str, object]]) -> str:
    """Stop the command and give it again: no orphan, no leftover, and in the end what an undisturbed one leaves."""
    command, stops = kill
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        try:
            for after, how, group in stops:
                if broken := _stopped(command, folder, after, how, group):
                    return f"{command}, {how}: {broken}"
            if _finished(command, folder):
                if any(how == "SIGKILL" for _, how, _ in stops):  # after the run was saved, before its folder was
                    (folder / OUT / LOCK).unlink(missing_ok=True)  # released: then the file stays, and locks nothing
            else:
                status, _, err = ended(_begin(command, folder))
                if status:
                    return f"{command}: when given again, status {status}: {err}"
        except BaseException as error:
            return f"{command}: {in_words(error)}"
        found, expected = content(folder / OUT), undisturbed[command]
    if found.keys() != expected.keys():
        return f"{command}: other files: {', '.join(sorted(found.keys() ^ expected.keys()))}"
    different = sorted(path for path in found if found[path] != expected[path])
    return f"{command}: other content: {', '.join(different)}" if different else ""


def _begin(command: str, folder: Path) -> subprocess.Popen[str]:
    module, arguments = COMMANDS[command]
    if (folder / OUT / "checkpoint.pt").exists():
        arguments = ("train", "--resume", OUT)
    return begin(module, arguments, folder)


def _finished(command: str, folder: Path) -> bool:
    """Whether a training is complete; giving its command again would be a request to replace it."""
    return command != "study" and (folder / OUT / "run.json").exists() and not (folder / OUT / "checkpoint.pt").exists()


def _stopped(command: str, folder: Path, after: float, how: str, group: bool) -> str:
    """Begin the command, stop it after so many seconds, and judge how it ended."""
    if _finished(command, folder):
        return ""
    process = _begin(command, folder)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(after)
    children: list[psutil.Process] = []
    with contextlib.suppress(psutil.NoSuchProcess):
        children = psutil.Process(process.pid).children(recursive=True)
        (os.killpg if group else os.kill)(process.pid, getattr(signal, how))
    (status, _, err), number = ended(process), getattr(signal, how)
    until(lambda: not any(map(alive, children)), seconds=10)
    if status == 0 or (status == -number and ENTRY not in err and (how == "SIGKILL" or "interrupted" not in err)):
        return ""  # it had ended, or this is a kill, or Python itself was still starting
    if status not in (128 + number, -number):
        return f"status {status}: {err}"
    return "" if err.startswith("interrupted") and err.count("\n") == 1 else f"says {err}"


def content(folder: Path) -> dict[str, object]:
    """What a command left in its folder, without what differs between equal runs, such as the time it took.

    The picture of a run's curve is left out: a kill can come after the run was saved and before it was drawn.
    """
    found: dict[str, object] = {}
    for path in (path for path in sorted(folder.rglob("*")) if path.is_file() and path.name != "curve.png"):
        whole = path.read_bytes()
        if path.name.endswith((".csv", SUFFIX)):  # rows, without the line that says how they were made
            whole = (gzip.decompress(whole) if path.suffix == ".gz" else whole).split(b"\n", 1)[1]
        same = path.name.endswith((".csv", SUFFIX, ".md", ".png", ".svg")) and path.stem != "report"
        found[str(path.relative_to(folder))] = whole if same else None
    if (folder / FILE).is_file():
        found[FILE] = sorted(finished(folder))
    if (folder / "run.json").is_file():
        run = load(folder)
        found["run.json"] = run.config, run.tricks, run.diverged
        found["agent.pt"] = {name: tensor.tolist() for name, tensor in run.agent.state_dict().items()}
    return found

"""Command lines: real options with values that are right, borderline, wrong, huge, foreign or empty."""

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import fields, replace
from pathlib import Path
from typing import Any
from unittest import mock

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy
from support.attack.law import Main, run
from support.studies import in_turn

from ablations.analysis.records import RESULTS, SUFFIX
from ablations.cli import ReportOptions
from ablations.experiments import design_runs, drawn, worlds
from ablations.question.designs import DESIGNS, TRIALS
from ablations.question.trial import Dose
from ablations.tools import calibrate, speed
from ablations.training import rates as rate_table
from ablations.training import workers
from tricks.cli.main import Playing, Saving
from tricks.cli.main import main as tricks
from tricks.cli.train import Output
from tricks.config import Config
from tricks.ladder import NEEDS, PRESETS

RUN, CUT, FILE, NEW = "saved", "cut", "file.txt", "new"  # in the folder of each case
LONG = "x" * 300
WORDS = ("", " ", "x", "γ", "🎲", "-1", "--", "a/b", "a\nb", "~", "..", "%s", "{}", "'", "<b>", "NaN", "None", LONG)
HUGE = ("1000000000", "99999999999999999999")
NUMBERS = ("0", "-1", "1", "2.5", "1e38", "5e-324", "nan", "inf", "-inf", "1_0", "٣", "0x10", "+1", "1,2", "True")
PATHS = (RUN, CUT, FILE, NEW, f"{NEW}/deep", f"{FILE}/x", "/dev/null/x", "γ", "a]b", "a&b", "a b", "~/x", LONG)
ENVS = ("CartPole-v1", "Pendulum-v1", "NoisyChain-v0", "Taxi-v3", "MountainCar-v0", "Taxi", "CartPole-v9", "no:No-v0")
ARMS = ("baseline", "baseline,clip", "clip,clip", "nonsense", ",", "popart", "action_mask")
USUAL = {  # values that are right, and quick; of numbers that are not here: 1 and 2
    "vary": ("gamma=0.9,0.99", "epochs=1,2", "lr=0.01"), "env": ENVS, "steps": ("1", "16", "64"),
    "seeds": ("1", "2", "0 1", "7 7", "3 1", "1:3", "5:2"), "horizon": ("1", "8", "16"), "hidden": ("4", "4 4"),
    "lr": ("1e-3", "1e-3 1e-2", "1e6", "1e38"), "backend": ("auto", "gymnasium", "tensor"),
    "backends": ("tensor", "gymnasium", "tensor,gymnasium"), "device": ("cpu", "cuda", "cuda:7", "meta", "mps"),
    "devices": ("cpu", "cuda"), "design": (*DESIGNS, "ladder,add-one-in"), "tricks": ARMS, "suite": ("worlds",),
    "rung": (*PRESETS, "gae"), "against": ("sb3",),
    **dict.fromkeys(("out", "resume", "gif", "folder", "run"), PATHS),
}  # fmt: skip
TINY = {"steps": "64", "lanes": "2", "horizon": "8", "hidden": "4", "seeds": "2"}
TINY_STUDY = {"tricks": "baseline", "steps": "64", "seeds": "1", "workers": "1", "out": NEW}


def dashed(name: str) -> str:
    return f"--{name.replace('_', '-')}"


@st.composite
def options(draw: Any, *kinds: Any, usual: dict[str, str] | None = None, most: int = 4) -> list[str]:
    """Up to `most` options of the dataclasses, and those of `usual` that are not among them."""
    known = {field.name: field for kind in kinds for field in fields(kind)}
    names = draw(st.lists(st.sampled_from(sorted(set(known) - {"compile"})), max_size=most, unique=True))
    given: list[str] = []
    for name in names:
        switch = dashed(name)
        if isinstance(known[name].default, bool):
            given.append(draw(st.sampled_from([switch, switch, f"--no-{switch[2:]}", f"{switch}=x"])))
        else:
            value = draw(values(name, str(known[name].type)))
            given += draw(st.sampled_from([[switch, *value.split(" ")]] * 3 + [[f"{switch}={value}"], [switch]]))
    rest = {dashed(name): value for name, value in (usual or {}).items() if name in known and name not in names}
    return given + [word for pair in rest.items() for word in pair]


def values(name: str, kind: str) -> SearchStrategy[str]:
    """Values for an option: half of them right; of a number, a quarter of them huge."""
    numeric = any(word in kind for word in ("int", "float"))
    right = USUAL.get(name, ("1", "2") if numeric else WORDS)
    huge = HUGE[1:] if name == "steps" else HUGE  # a budget may be large
    wrong = [(*WORDS, *NUMBERS), huge] if numeric else [WORDS, WORDS]
    return st.one_of(*map(st.sampled_from, (right, right, *wrong)))


RUNGS = st.sampled_from([*PRESETS, *NEEDS, "pppo", "", "γ"])
FLAGS = [dashed(no + name) for name in NEEDS for no in ("", "no_")]
SWITCHES = st.lists(st.sampled_from(FLAGS), max_size=3)
JUNK = st.lists(st.sampled_from([*WORDS, *PATHS, "--help", "-h", "--out", "list", "--gae=1", "--steps"]), max_size=3)
FOLDER = st.sampled_from([RUN, RUN, *PATHS])


def joined(*parts: str | SearchStrategy[Any]) -> SearchStrategy[tuple[str, ...]]:
    """Words, and strategies of a word or of several, one after the other."""

    def flat(drawn: tuple[Any, ...]) -> tuple[str, ...]:
        return tuple(word for each in drawn for word in ([each] if isinstance(each, str) else each))

    return st.tuples(*(st.just(part) if isinstance(part, str) else part for part in parts)).map(flat)


MAYBE_RUNG: SearchStrategy[Any] = st.one_of(st.just([]), RUNGS)
TINY_WORDS = [word for name, value in TINY.items() for word in (f"--{name}", value)]
TOO_MUCH = [  # each number of a training by itself
    [*TINY_WORDS, dashed(field.name), value]
    for field in (*fields(Config), *fields(Output))
    if any(word in str(field.type) for word in ("int", "float"))
    for value in ((*HUGE[1:], "0", "nan") if field.name == "steps" else (*HUGE, "0", "nan"))
]
TRICKS = st.one_of(
    joined("train", st.sampled_from(["ppo", "every", "reinforce"]), st.sampled_from(TOO_MUCH)),
    joined("train", MAYBE_RUNG, SWITCHES, options(Config, Output, usual=TINY)),
    joined("save-policy", RUN, options(Saving, usual={"out": NEW})),
    joined("train", st.sampled_from(["ppo", "every"]), options(Config, usual=TINY, most=1)),
    joined("train", options(Output, usual=TINY), *TINY_WORDS),
    joined("train", "--resume", st.sampled_from([CUT, *PATHS]), JUNK),
    joined("play", FOLDER, options(Playing, usual={"episodes": "1"})),
    joined("play", RUN, options(Playing, usual={"episodes": "1"}, most=1)),
    joined(st.sampled_from(["listing", "export"]), MAYBE_RUNG, SWITCHES, JUNK),
    joined("diff", RUNGS, RUNGS, JUNK),
    joined(st.sampled_from(["list", "trian", "", "γ", LONG, "play"]), JUNK),
)
ABLATIONS = st.one_of(
    joined("run", options(design_runs.Options, usual=TINY_STUDY)),
    joined("run", "--dry-run", options(design_runs.Options, usual=TINY_STUDY)),
    joined("tune", options(design_runs.TuneOptions, usual=TINY_STUDY | {"seeds_per_rate": "1"})),
    joined("worlds", options(worlds.Options, usual=TINY_STUDY)),
    joined("sweep", options(drawn.Options, usual=TINY_STUDY | {"vary": "gamma=0.9,0.99"})),
    joined("random", options(drawn.RandomOptions, usual={"draws": "20"} | TINY_STUDY)),
    joined("report", options(ReportOptions, usual={"out": NEW})),
    joined("calibrate", options(calibrate.Options, usual={"draws": "2", "out": NEW})),
    joined("speed", options(speed.Options, usual={"steps": "64", "seeds": "1", "backends": "tensor"})),
    joined(st.sampled_from(["rnu", "", "γ", "report", "Run"]), JUNK, options(ReportOptions, usual={"out": NEW})),
)


@contextlib.contextmanager
def arena(saved: Path, cut: Path) -> Iterator[Path]:
    """A folder of its own, with a saved run, an interrupted one and a file; it is also where `~` leads."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        shutil.copytree(saved, folder / RUN)
        shutil.copytree(cut, folder / CUT)
        (folder / FILE).write_text("not a run", encoding="utf-8")
        with contextlib.chdir(folder), mock.patch.dict(os.environ, {"HOME": name}):
            yield folder


@contextlib.contextmanager
def in_this_process(folder: Path) -> Iterator[None]:
    """Jobs and measurements run here instead of in workers, and tuning changes only a copy of the table.

    Trials are short, and of the shipped results only the two smallest files are reported.
    """
    table = shutil.copy(rate_table.TABLE, folder / "learning_rates.csv")
    shipped = folder / "results"
    shipped.mkdir()
    for path in sorted(RESULTS.glob(f"*{SUFFIX}"), key=lambda path: path.stat().st_size)[:2]:
        shutil.copy(path, shipped)
    short = tuple(replace(trial, doses=(Dose(1, replace(trial.config, steps=64)),)) for trial in TRIALS)

    with (
        mock.patch.object(workers, "in_pool", in_turn),
        mock.patch.object(speed, "in_pool", in_turn),
        mock.patch.object(worlds, "TRIALS", short),
        mock.patch("ablations.cli.RESULTS", shipped),
        mock.patch.object(rate_table, "TABLE", Path(table)),
    ):
        rate_table.table.cache_clear()
        yield
    rate_table.table.cache_clear()


def attack(words: tuple[str, ...], main: Main, saved: Path, cut: Path) -> str:
    with arena(saved, cut) as folder, in_this_process(folder):
        status, _, broken = run(main, words)
        return broken or _unusable(words, main, status, folder)


def _unusable(words: tuple[str, ...], main: Main, status: int, folder: Path) -> str:
    """How the folder NEW is in the way of the next command, if the command wrote there."""
    if not (folder / NEW).is_dir():
        return ""
    after = ["report", "--out", NEW]
    if main is tricks:
        played = ["play", NEW, "--episodes", "1", "--no-gif"]
        after = ["train", *TINY_WORDS, "--out", NEW] if status else played
    elif status == 2 or words[0] in ("tune", "speed") or not [*(folder / NEW).glob("*.runs.csv.gz")]:
        return ""
    then, err, broken = run(main, after)
    return "" if then in ((0,) if main is tricks else (0, 1)) else f"afterwards, {' '.join(after)}: {broken or err}"

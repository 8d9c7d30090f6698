"""Records: what was trained, a row for each seed, from which every table and figure is made.

A row says what ran (`arm, env, steps, numbers, tricks, lr, tuned, seed`), what made it (`algorithm, version, commit,
clean, compiled, platform`), how it ended (`diverged, late`), and the return at 1%, 2%, ... 100% of the budget. A
study's file is these rows as a compressed CSV, whose first line names its designs and says how long it all took.
"""

import gzip
import json
import sys
import zlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, NotRequired, TypedDict, cast

import numpy as np
import pandas as pd

from ablations.analysis.choosing import Areas, table_areas
from ablations.analysis.scales import MARGIN, SCALES, Scale
from ablations.analysis.stats import LEVEL
from ablations.question.arms import Arm, Design, flags, numbers
from ablations.question.designs import as_design, as_stored, position
from ablations.question.story import subject
from ablations.training.jobs import Job
from ablations.training.rates import Rate
from ablations.training.scores import POINTS, Scored
from ablations.training.store import Store, digest, set_aside
from ablations.training.tagged import check_sum, tagged, untagged
from tricks.errors import InputError
from tricks.ladder import Tricks
from tricks.runs.files import write_whole
from tricks.runs.learning_curve import read_table
from tricks.runs.provenance import VERSIONS
from tricks.version import ALGORITHM

if TYPE_CHECKING:
    from ablations.training.question import Question, Tuned

SUFFIX = ".runs.csv.gz"
RESULTS = Path(__file__).parents[1] / "results"  # the studies that ship with this package
SHARES = [f"{k}%" for k in range(1, POINTS + 1)]
SETTING = ["env", "steps", "numbers", "tricks"]  # what tells the runs of a design apart, besides their seeds
MADE = ["algorithm", "version", "commit", "clean", "compiled", "platform"]
COLUMNS = ["arm", *SETTING, "lr", "tuned", "seed", *MADE, "diverged", "late", *SHARES]
TEXTS = dict.fromkeys(("arm", "env", "numbers", "tricks", "tuned", *MADE), str)
EMPTY = dict.fromkeys(("diverged", "late", *SHARES), "")  # where a number can be missing
REINFORCE = "reinforce"  # in files, for the arm without any flag: others' readers take an empty text for a missing one


About = TypedDict(  # the first line of a study's file, under the file's keys
    "About",
    {
        "command": str,
        "seconds": float,  # NaN if unknown
        "steps": float,
        "made with": dict[str, list[str]],  # versions, machines, commits, backends, devices and GPUs of the jobs
        "seeds": list[int],  # the first, and one past the last
        "left out": NotRequired[Sequence[str]],
        "confirms": NotRequired[str],  # the name of the study whose detected effects these runs try again
        "designs": NotRequired[list[dict[str, Any]]],
        "question": NotRequired[str],  # tells it from others of the same name
        "rates": NotRequired[str],  # how the learning rates came about, in words
        "tuning": NotRequired[dict[str, list[Any]]],  # what each arm scored at each rate: pairs of a rate and areas
        "margin": NotRequired[float],  # a difference in return that counts as practically nothing
        "answer": NotRequired[str],  # the name of the first study of the answer that it is a part of
        "score": NotRequired[str],  # late, if the last tenth of the curve is compared, and not the area under it
        "level": NotRequired[float],  # see `Study.level`
        "own env": NotRequired[bool],  # whether a function of the user's made it, so that its name says nothing
    },
)


@dataclass(frozen=True, eq=False)  # compared by identity, so that results computed from a study can be cached
class Study:
    """Records, the designs they belong to, and facts about them. With designs, all share one environment and budget."""

    name: str
    designs: tuple[Design, ...]
    runs: pd.DataFrame
    about: About
    again: "Study | None" = None  # the arms of detected effects, tried again on seeds after those of `runs`

    @property
    def subject(self) -> str:
        """The subject of its designs: of one that isn't about the ladder, if there is one."""
        return next((found for design in self.designs if (found := subject(design)) != "ladder"), "ladder")

    @cached_property
    def env(self) -> str:
        return str(self.runs.env.iloc[0])

    @cached_property
    def steps(self) -> int:
        return int(self.runs.steps.iloc[0])

    @property
    def seeds(self) -> int:
        """How many were asked for; arms that half of a design's comparisons share have twice as many."""
        first, end = self.about["seeds"]
        return end - first

    @cached_property
    def origins(self) -> list[str]:
        """What made the runs, in words; see `origin`."""
        return sorted({origin(row) for row in self.runs[MADE].drop_duplicates().to_dict("records")})

    @property
    def algorithm(self) -> str:
        """The `ALGORITHM` of its jobs; empty if it was not noted, as before it was."""
        return ", ".join(sorted({*self.runs.algorithm} - {""}))

    @property
    def stale(self) -> bool:
        """Whether another algorithm than this version's trained it, or a tree with uncommitted changes."""
        return self.origins != [f"ALGORITHM {ALGORITHM}"]

    @cached_property
    def own(self) -> bool:
        """Whether its arms have names of their own, as those of users' questions do; ours are known by their flags."""
        return bool(self.runs.arm.iloc[0])

    def of(self, arm: Tricks | Arm) -> pd.DataFrame:
        """The runs of one arm, one row per seed; empty if there are none."""
        return self._runs.get(self.key(arm), self.runs.iloc[:0])

    def key(self, arm: Tricks | Arm) -> str:
        """By what the runs of an arm are known: its name if they have names, else its flags."""
        if isinstance(arm, Tricks):
            return flags(arm)
        return arm.name if self.own else flags(arm.tricks, arm.signed)

    @cached_property
    def keys(self) -> pd.Series:
        """The `key` of each run."""
        return self.runs.arm.where(self.runs.arm.ne(""), self.runs.tricks)

    @cached_property
    def _runs(self) -> dict[str, pd.DataFrame]:
        return {str(name): runs for name, runs in self.runs.groupby(self.keys.to_numpy(), sort=False)}

    @property
    def scale(self) -> Scale | None:
        """The environment's scale, if it has one."""
        return SCALES.get(self.known)

    @cached_property
    def known(self) -> str:
        """The environment's name; empty if it may have other returns: one's own, or one with arguments or wrappers."""
        numbers = " ".join(self.runs.numbers.unique()).split()
        changed = self.about.get("own env") or any(each.startswith(("env_args=", "wrap=")) for each in numbers)
        return "" if changed else self.env

    @property
    def unit(self) -> float:
        """The return that a normalized area of 1 is away from that of 0; 1 without a scale."""
        return self.scale.ceiling - self.scale.random if self.scale else 1.0

    @property
    def margin(self) -> float:
        """A difference in area, normalized if there is a scale, that counts as practically nothing; NaN: none does."""
        given = self.about.get("margin")
        return given / self.unit if given else MARGIN if self.scale else np.nan

    @property
    def level(self) -> float:
        """How often an interval may miss: 5%, or this look's share of it."""
        return self.about.get("level", LEVEL)

    def tuning(self, arm: Arm) -> Areas:
        """The areas of an arm's tuning seeds at each rate that was tried; empty if they are not known."""
        if self.about.get("tuning"):
            return {lr: np.array(areas) for lr, areas in self.about["tuning"].get(arm.name, ())}
        runs = self.of(arm)[["numbers", "tricks"]]
        return table_areas(self.env, self.steps, *runs.iloc[0]) if len(runs) else {}

    def grid(self, arm: Tricks | Arm) -> pd.DataFrame:
        """An arm's returns: one row per seed, one column per step."""
        return grid(self.of(arm), self.steps)

    def missing(self, design: Design) -> list[str]:
        """The names of the design's arms that lack some of the requested seeds, which one's own arms never do."""
        first, end = self.about["seeds"]
        some = [arm for arm in design.arms if self.of(arm).seed.between(first, end - 1).sum() < end - first]
        return [arm.name for arm in some if not self.own]

    @property
    def is_whole(self) -> bool:
        """Whether every arm of every design has all its seeds."""
        return not any(self.missing(design) for design in self.designs)


def grid(runs: pd.DataFrame, steps: int) -> pd.DataFrame:
    """The returns of one arm's runs in one setting: one row per seed, one column per step."""
    found = runs.set_index("seed")[SHARES].sort_index(kind="stable")
    return found.set_axis(np.linspace(steps / POINTS, steps, POINTS), axis=1)


def origin(row: Mapping[Any, Any]) -> str:
    """What made a run: its algorithm, and the commit if the tree had changes. No estimate mixes different origins."""
    known = f"ALGORITHM {row['algorithm']}" if row["algorithm"] else f"version {row['version'] or 'unknown'}"
    return known + (f", commit {row['commit'][:7]} with changes" if row["clean"] == "False" else "")


def question_of(asked: Iterable[Job]) -> str:
    """Eight hex digits that identify what is trained, ignoring seeds and algorithm."""
    every = {json.dumps(job.at((0,), job.config.rates[0]).what | {"algorithm": 0}, sort_keys=True) for job in asked}
    return digest(sorted(every))


class Done(NamedTuple):
    """A finished job, with any reservation about its learning rate, and the name of its arm if that has one."""

    job: Job
    reservation: str
    result: Scored
    arm: str = ""
    signed: bool = False  # whether it has `reward_sign` among its flags


def study_of(asked: "Question", rates: Mapping[Arm, Rate], tried: "Tuned", store: Store, command: str) -> Study:
    """The finished part of a question at these rates. tried: scores at each rate. Raises InputError if it has none."""
    done = [
        Done(job, rate.reservation, result, *((arm.name,) if asked.named else ("", arm.signed)))
        for job, (arm, rate) in asked.jobs(rates).items()
        if (result := store.scored(job)) is not None
    ]
    tuning = {arm.name: [[lr, [*each.areas]] for lr, each in seen.items()] for arm, seen in tried.items()}
    said = {"left out": asked.left_out, "question": asked.digest, "rates": asked.rates_in_words}
    unusual = {"margin": asked.margin, "score": asked.score.replace("area", ""), "tuning": tuning}
    unusual["own env"] = asked.env is not None
    about = about_runs(command, done, asked.seeds) | said | {name: each for name, each in unusual.items() if each}
    reported = {seed for arm in asked.arms for seed in asked.seeds_of(arm)}
    return Study(asked.name, asked.designs, gather(done, reported), cast(About, about))


def about_runs(command: str, done: Sequence[Done], seeds: Sequence[int]) -> About:
    """The command that made the runs of these seeds, the time they took in total, and the versions behind them."""
    made = [each.result.made_with for each in done]
    found = {key: sorted({str(each[key]) for each in made if each.get(key)}) for key in (*VERSIONS, "device", "date")}
    found["backend"] = sorted({each.job.config.backend for each in done})
    found["date"] = found["date"][-1:]  # of the last
    found["own code"] = sorted({each.job.own.fingerprint for each in done if each.job.own})
    return {
        "command": command,
        "seconds": round(sum(each.result.seconds for each in done), 1),
        "steps": sum(each.result.steps for each in done),
        "made with": {key: some for key, some in found.items() if some},
        "seeds": [min(seeds), max(seeds) + 1],
    }


def gather(done: Iterable[Done], seeds: Collection[int]) -> pd.DataFrame:
    """The runs of finished jobs, limited to these seeds. Raises InputError if there are no jobs."""
    rows, wanted = list[tuple[Any, ...]](), set(seeds)
    for job, reservation, found, arm, signed in done:
        config, made = job.config, found.made_with
        setting = (arm, config.env, config.steps, numbers(config, signed), flags(job.tricks, signed))
        clean = None if made.get("dirty") is None else not made["dirty"]
        known = [made.get("algorithm"), made.get("tricks"), made.get("commit"), clean, bool(made.get("numba"))]
        by = ["" if each is None else str(each) for each in (*known, made.get("machine"))]  # the columns MADE
        rate = dict(zip(config.seed_list, config.rates, strict=True))
        for seed, late, grid in zip(found.seeds, found.late, found.grid, strict=True):
            if seed in wanted:
                diverged = found.diverged.get(seed, np.nan)
                rows.append((*setting, rate[seed], reservation, seed, *by, diverged, late, *grid))
    if not rows:
        raise InputError("there are no results")
    return pd.DataFrame(rows, columns=COLUMNS).copy()  # in one piece: faster


def save(study: Study, folder: Path) -> tuple[Study, Path]:
    """Write `<name>.runs.csv.gz`. Returns the study as it will be read back, with five digits, and the path.

    If the file answers another question, this one gets a name of its own. An existing file with more seeds is kept, and
    so is, under another name, one of another origin or one that cannot be read; a printed line says so.
    """
    about = study.about | {"designs": [as_stored(design) for design in study.designs]}
    text = tagged(about, study.runs.assign(tricks=study.runs.tricks.replace("", REINFORCE)), digits=5)
    path = folder / f"{study.name}{SUFFIX}"
    before, question = load_if_whole(path), study.about.get("question", "")
    if before and before.origins == study.origins and before.about.get("question", "") != question:
        path = folder / f"{study.name}_{question}{SUFFIX}"
        before = load_if_whole(path)
    if path.exists() and (before is None or before.origins != study.origins):
        why = f"is by {' and '.join(before.origins)}" if before else "cannot be read"
        by = f"algorithm{before.algorithm or '-older'}" if before else "unreadable"
        print(f"kept {path}, which {why}, as {set_aside(path, f'{by}-kept').name}")
        before = None
    first, end = before.about["seeds"] if before else study.about["seeds"]
    if end > study.about["seeds"][1]:
        print(f"kept {path}, which has seeds {first} to {end - 1}")
    else:
        write_whole(path, gzip.compress(text.encode(), mtime=0))
    return _parse(text, path), path


def save_again(again: Study, first: Study, folder: Path) -> Study:
    """Write what tries a study's effects again as `<name>_again.runs.csv.gz`. Returns it as it will be read back."""
    about = again.about.copy()
    about["confirms"], about["question"] = first.name, first.about.get("question", "")  # whichever arms it tries
    return save(replace(again, name=f"{first.name}_again", about=about), folder)[0]


def load_if_whole(path: Path) -> Study | None:
    """The study; None if there is none, or it cannot be read."""
    with suppress(InputError):
        return load(path)
    return None


def seeds_in(path: Path) -> set[int]:
    """The seeds of a table, or of a study, perhaps of another version or with a trick from a file; empty if neither."""
    with suppress(OSError, EOFError, zlib.error, ValueError):
        return {*read_table(path, skiprows=int(".runs." in path.name), usecols=["seed"]).seed}
    return set()


def load(path: Path) -> Study:
    """The study that `save` wrote. Raises InputError if the file is missing, damaged, or of another version."""
    try:
        return _parse(gzip.decompress(path.read_bytes()).decode(), path)
    except (OSError, EOFError, zlib.error, ValueError, KeyError, AttributeError, TypeError, InputError) as error:
        if "unknown trick" in str(error):
            raise InputError(f"{path}: {error}; a trick of your own needs --trick FILE") from error
        if "whole games" in str(error):
            raise InputError(f"{path} {error}: move it elsewhere") from error
        why = f"no {error} in it" if isinstance(error, KeyError) else error
        remedy = "the command that made it can rebuild it from its finished jobs"
        raise InputError(f"{path} is damaged, of another version, or not a run file: {why}; {remedy}") from error


def _parse(text: str, path: Path) -> Study:
    about, runs = untagged(text, dtype=TEXTS, keep_default_na=False, na_values=EMPTY)
    check_sum(text, about.pop("sha256", None))
    if "games" in about:
        raise InputError("has scores of whole games, which are no longer a study")
    runs = runs.assign(tricks=runs.tricks.replace(REINFORCE, ""))[COLUMNS]
    designs = tuple(as_design(each) for each in about.pop("designs"))
    return Study(path.name.removesuffix(SUFFIX), designs, runs, cast(About, about))


def load_all(folder: Path, told: bool = False) -> list[Study]:
    """All studies in a folder, in the order of the suites' environments; those of trials last, the largest first.

    What confirms a study is its `again`, see `_elsewhere`. told: of studies of different origins, take those by this
    version's algorithm, and tell which are left out. Raises InputError if a file is damaged, or if all are of other
    origins, and these differ. (The studies that ship with this package are retrained one by one, so different origins
    stand side by side there; no estimate in one environment mixes them.)
    """
    every = [load(path) for path in sorted(folder.glob(f"*{SUFFIX}"))]
    if folder.resolve() != RESULTS.resolve():
        others = [study for study in every if study.stale]
        if told and 0 < len(others) < len(every):
            out = [f"{study.name} ({' and '.join(study.origins)})" for study in others]
            print(f"left out: {', '.join(out)}; `python -m ablations refresh` retrains them", file=sys.stderr)
            every = [study for study in every if not study.stale]
        refuse_mixed((study.name, each) for study in every for each in study.origins)
    again = {study.about["confirms"]: study for study in every if "confirms" in study.about}
    studies = [study for study in every if "confirms" not in study.about]
    studies = [replace(study, again=_elsewhere(study, again.get(study.name))) for study in studies]
    return sorted(studies, key=lambda study: (0, position(study.env)) if study.designs else (1, -len(study.runs)))


def _elsewhere(study: Study, again: Study | None) -> Study | None:
    """The second try, if the same algorithm made it, on other seeds, with each arm that both have at the same rate.

    If seeds 0 to 9 were tried again on 10 to 19, and these have joined the study since, they confirm nothing. (It can
    have an arm of its own: the full set without all the tricks that do practically nothing.)
    """
    if again is None or again.origins != study.origins or set(again.runs.seed) & set(study.runs.seed):
        return None
    known = study.runs[[*SETTING, "lr"]].drop_duplicates()
    common = again.runs[[*SETTING, "lr"]].drop_duplicates().merge(known[SETTING].drop_duplicates())
    return again if len(common) == len(common.merge(known)) > 0 else None


def refuse_mixed(found: Iterable[tuple[str, str]]) -> None:
    """Raise InputError if results, each a name and its `origin`, are of different origins: they can't be combined."""
    by = dict(reversed([(origin, name) for name, origin in found]))  # of each, the first
    if len(by) > 1:
        said = [f"{name} is by {origin}" for origin, name in by.items()]
        raise InputError(f"{' and '.join(said)}: these can't be combined; keep them in separate folders")

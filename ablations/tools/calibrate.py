"""`python -m ablations calibrate`: how often intervals and verdicts would be wrong, simulated from stored runs.

The stored runs of an arm stand for all runs that it could have had. Drawing n of them again and again shows how often
an interval contains the arm's true mean, which here is known. For the null of no effect, every arm is shifted to the
same mean and otherwise keeps its own spread and skew. That is harder than an exchangeable null, in which all arms are
alike.
"""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ablations.analysis.choosing import areas_of, choices
from ablations.analysis.effects import scores
from ablations.analysis.records import RESULTS, SUFFIX, Study, load_all
from ablations.analysis.stats import LEVEL, holm, interval, unpaired
from ablations.question.arms import Arm, Design, flags
from ablations.report.tables import markdown
from ablations.training.rates import FINALISTS, rows_of
from ablations.training.store import prepare
from tricks.errors import InputError
from tricks.runs.files import write_whole

SIZES = (10, 30)  # seeds
SIMULATED = 300  # choices of a rate, to estimate the noise of each
NULLS: dict[str, dict[str, bool]] = {
    "arms as they are": {},
    "arms alike": {"alike": True},
    "as they are, confirmed": {"again": True},
}
Population = Mapping[Arm, np.ndarray]  # an arm's values, which are taken for all that it could have had


def population(study: Study, column: str = "score") -> Population:
    """A value per stored seed of every arm, but for arms in which no episode ended in some seed."""
    arms = dict.fromkeys(arm for design in study.designs for arm in design.arms)
    every = {arm: scores(study, arm)[column].to_numpy() for arm in arms}
    return {arm: values for arm, values in every.items() if not np.isnan(values).any()}


def covered(true: float, ends: Iterable[tuple[Any, ...]]) -> float:
    """How often an interval contains what is true. ends: low and high of each."""
    return float(np.mean([low <= true <= high for low, high in ends]))


def coverage_of_arms(every: Population, seeds: int, draws: int) -> np.ndarray:
    """For each arm, how often the bootstrap interval of `seeds` drawn seeds contains the mean of all. [arms]"""
    rng, some = np.random.default_rng(0), range(draws)
    return np.array([covered(x.mean(), (interval(rng.choice(x, seeds)) for _ in some)) for x in every.values()])


def coverage_of_differences(every: Population, design: Design, seeds: int, draws: int) -> np.ndarray:
    """For each comparison, how often Welch's interval contains the difference of the means of all. [comparisons]"""
    rng, found = np.random.default_rng(0), []
    for pair in design.comparisons:
        having, without = every[pair.having], every[pair.without]
        drawn = (unpaired(rng.choice(having, seeds), rng.choice(without, seeds)) for _ in range(draws))
        found.append(covered(having.mean() - without.mean(), (each[1:3] for each in drawn)))
    return np.array(found)


@dataclass(frozen=True)
class Tuned:
    """An arm that was tuned and run many times: the true mean of the chosen rate, its estimated variance, the runs."""

    true: np.ndarray  # [draws]
    variance: np.ndarray  # [draws]
    runs: np.ndarray  # [draws, seeds]


def tuned_again(areas: Sequence[np.ndarray], seeds: int, draws: int, stream: int = 0) -> Tuned:
    """Draw tuning seeds, choose a rate, and draw runs at that rate, many times.

    areas: of each rate, all its seeds. stream: which random numbers to use; arms need different ones.
    """
    rng, count = np.random.default_rng(stream), min(len(each) for each in areas)
    means = np.array([each.mean() for each in areas])
    true, variance, runs = list[float](), list[float](), list[np.ndarray]()
    for _ in range(draws):
        first = [rng.choice(each, count) for each in areas]
        best = np.argsort([-each.mean() for each in first])[:FINALISTS]
        whole = [np.concatenate([x, rng.choice(areas[k], count)]) if k in best else x for k, x in enumerate(first)]
        chosen = max(best, key=lambda k: whole[k].mean())
        own = np.array([each.mean() for each in whole])
        true.append(means[chosen])
        variance.append(np.var(own[choices(whole, resamples=SIMULATED)]))
        runs.append(rng.choice(areas[chosen], seeds))
    return Tuned(np.array(true), np.array(variance), np.array(runs))


def coverage_of_tuning(having: Tuned, without: Tuned, included: bool) -> float:
    """How often an interval contains the difference that tuning and running would show on average.

    included: whether the interval includes the noise of choosing the rates.
    """
    more = (having.variance + without.variance) * included
    found = (unpaired(y, x, float(extra)) for y, x, extra in zip(having.runs, without.runs, more, strict=True))
    return covered(having.true.mean() - without.true.mean(), (each[1:3] for each in found))


def false_alarms(
    every: Population, design: Design, seeds: int, draws: int, alike: bool = False, again: bool = False
) -> float:
    """How often a design detects anything, after Holm's correction, although no arm differs from another in its mean.

    alike: every arm has the runs of all of them, shifted, so that arms differ in nothing. again: only an effect that
    as many new seeds confirm counts. Arms that half of the comparisons share have twice as many seeds.
    """
    rng = np.random.default_rng(0)
    centered = {arm: values - values.mean() for arm, values in every.items()}
    if alike:
        centered = dict.fromkeys(centered, np.concatenate(list(centered.values())))

    def tried() -> tuple[np.ndarray, np.ndarray]:
        drawn = {arm: rng.choice(x, seeds * (1 + (arm in design.shared))) for arm, x in centered.items()}
        found = [unpaired(drawn[pair.having], drawn[pair.without]) for pair in design.comparisons]
        return np.array([each.mean for each in found]), np.array([each.p for each in found])

    alarms = 0
    for _ in range(draws):
        means, p = tried()
        seen = holm(p) < LEVEL
        if again and seen.any():
            more, later = tried()
            seen &= (later < LEVEL) & (np.sign(more) == np.sign(means))
        alarms += bool(seen.any())
    return alarms / draws


def calibration(study: Study, draws: int) -> pd.DataFrame:
    """One row per question and number of seeds: coverage (its mean and its worst) or the rate of false alarms."""
    rows: list[dict[str, Any]] = []
    area, late = population(study), population(study, "late")

    def add(what: str, seeds: int, found: np.ndarray | float) -> None:
        each = np.atleast_1d(found)
        rows.append({"env": study.env, "what": what, "seeds": seeds, "mean": each.mean(), "worst": each.min()})

    known = area.keys() & late.keys()
    kept = [[pair for pair in d.comparisons if {pair.without, pair.having} <= known] for d in study.designs]
    designs = [replace(d, comparisons=tuple(pairs)) for d, pairs in zip(study.designs, kept, strict=True) if pairs]
    first = study.runs.iloc[0]
    tables = {arm: areas_of(rows_of(study.env, study.steps, str(first.numbers), flags(arm.tricks))) for arm in area}
    for seeds in SIZES:
        add("coverage: an arm's area", seeds, coverage_of_arms(area, seeds, draws))
        add("coverage: an arm's last 10%", seeds, coverage_of_arms(late, seeds, draws))
        covered = [coverage_of_differences(area, design, seeds, draws) for design in designs]
        add("coverage: a difference", seeds, np.concatenate(covered))
        for design in designs:
            for null, how in NULLS.items():
                rate = false_alarms(area, design, seeds, draws, **how)
                add(f"false alarms: {design.name}, {null}", seeds, rate)
        if all(areas and all(map(len, areas)) for areas in tables.values()):
            tuned = {arm: tuned_again(areas, seeds, draws, k) for k, (arm, areas) in enumerate(tables.items())}
            pairs = [(tuned[pair.having], tuned[pair.without]) for design in designs for pair in design.comparisons]
            for said, included in (("with", True), ("without", False)):
                found = np.array([coverage_of_tuning(*pair, included) for pair in pairs])
                add(f"coverage: a difference of tuned arms, {said} the noise of choosing", seeds, found)
    return pd.DataFrame(rows)


FEWEST_RUNS = 30  # of an arm, to stand for all that it could have had


@dataclass(frozen=True)
class Options:
    """Which runs stand for all runs, and how often they are drawn."""

    draws: int = 500
    """Simulated experiments for each number."""
    results: Path = RESULTS
    """Folder with run files. Only whole studies of the ladder with at least 30 seeds count."""
    out: Path = Path("runs/ablations")
    """Folder for calibration.csv and calibration.md."""


def main(chosen: Options) -> int:
    """Simulate, then print and save the table. Returns the exit status."""
    if chosen.draws < 1:
        raise InputError(f"--draws must be at least 1, not {chosen.draws}")
    kept = [study for study in load_all(chosen.results) if study.kind == "designs" and study.subject == "ladder"]
    kept = [study for study in kept if study.seeds >= FEWEST_RUNS and study.is_whole]
    if not kept:
        raise InputError(f"no run files (*{SUFFIX}) with {FEWEST_RUNS} seeds of every arm in {chosen.results}")
    prepare(chosen.out)
    frame = pd.concat([calibration(study, chosen.draws) for study in kept], ignore_index=True)
    write_whole(chosen.out / "calibration.csv", frame.to_csv(index=False, float_format="%.4g"))
    text = in_words(frame)
    write_whole(chosen.out / "calibration.md", text + "\n")
    print(f"{text}\n\nwrote {chosen.out / 'calibration.csv'}, {chosen.out / 'calibration.md'}")
    return 0


def in_words(frame: pd.DataFrame) -> str:
    """The table as Markdown: one row per question and number of seeds, one column per environment."""
    cells, envs = {(row["what"], row["seeds"], row["env"]): row for row in frame.to_dict("records")}, frame.env.unique()
    lines = [("", "seeds", *envs)]
    for what in frame.what.unique():
        for seeds in sorted({*frame.seeds[frame.what == what]}):
            lines.append((what, str(seeds), *(_cell(cells.get((what, seeds, env))) for env in envs)))
    return markdown(lines)


def _cell(row: dict[Hashable, Any] | None) -> str:
    if row is None:
        return ""
    return f"{row['mean']:.2f} (worst {row['worst']:.2f})" if "coverage" in row["what"] else f"{row['mean']:.3f}"

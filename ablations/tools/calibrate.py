"""`python -m ablations calibrate`: how often intervals and verdicts would be wrong, simulated from stored runs.

The stored runs of an arm stand for all that it could have had, so its true mean is known. For the null of no effect,
every arm is shifted to the same mean and keeps its own spread and skew, which is harder than arms that are all alike.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from ablations.analysis.choosing import areas_of, redrawn
from ablations.analysis.effects import scores
from ablations.analysis.records import RESULTS, SUFFIX, Study, load_all
from ablations.analysis.stats import LEVEL, holm, interval, unpaired
from ablations.experiments.options import OUT
from ablations.question.arms import Arm, Design, flags
from ablations.report.tables import markdown
from ablations.training.rates import FINALISTS, rows_of
from ablations.training.store import prepare
from tricks.errors import InputError
from tricks.runs.files import write_whole

SIZES = (10, 30)  # seeds
SIMULATED = 300  # choices of a rate, to estimate the noise of each
IDEAS = 10  # of a session
FEWEST_RUNS = 30  # of an arm, to stand for all that it could have had
NULLS = {"arms as they are": (False, False), "arms alike": (True, False), "as they are, confirmed": (False, True)}
Population = Mapping[Arm, np.ndarray]  # of each arm, a value per stored seed


def population(study: Study, column: str) -> Population:
    """The stored values of every arm, but for arms in which no episode ended in some seed."""
    every = {arm: scores(study, arm)[column].to_numpy() for design in study.designs for arm in design.arms}
    return {arm: values for arm, values in every.items() if not np.isnan(values).any()}


def coverage_of_arms(every: Population, seeds: int, draws: int) -> list[float]:
    """For each arm, how often the bootstrap interval of `seeds` drawn seeds contains the mean of all."""
    rng = np.random.default_rng(0)
    return [_covered(x.mean(), (interval(rng.choice(x, seeds)) for _ in range(draws))) for x in every.values()]


def coverage_of_differences(every: Population, design: Design, seeds: int, draws: int) -> list[float]:
    """For each comparison, how often Welch's interval contains the difference of the means of all."""
    rng, found = np.random.default_rng(0), list[float]()
    for having, without in ((every[pair.having], every[pair.without]) for pair in design.comparisons):
        drawn = (unpaired(rng.choice(having, seeds), rng.choice(without, seeds)) for _ in range(draws))
        found.append(_covered(having.mean() - without.mean(), (each[1:3] for each in drawn)))
    return found


def _covered(true: float, intervals: Iterable[tuple[Any, ...]]) -> float:
    return float(np.mean([low <= true <= high for low, high in intervals]))


class TunedArm(NamedTuple):
    """An arm that was tuned and run many times: the true mean of the chosen rate, its estimated variance, the runs."""

    true: np.ndarray  # [draws]
    variance: np.ndarray  # [draws]
    runs: np.ndarray  # [draws, seeds]


def tuned_again(areas: Sequence[np.ndarray], seeds: int, draws: int, stream: int = 0) -> TunedArm:
    """Draw tuning seeds, choose a rate, draw runs at it, many times. areas: of each rate. stream: the arm's own."""
    rng, count = np.random.default_rng(stream), min(len(each) for each in areas)
    found = list[tuple[Any, ...]]()
    for _ in range(draws):
        first = [rng.choice(each, count) for each in areas]
        best = np.argsort([-each.mean() for each in first])[:FINALISTS]
        whole = [np.concatenate([x, rng.choice(areas[k], count)]) if k in best else x for k, x in enumerate(first)]
        chosen = max(best, key=lambda k: whole[k].mean())
        own = np.array([each.mean() for each in whole])
        variance = np.var(own[redrawn(whole, resamples=SIMULATED)])
        found.append((areas[chosen].mean(), variance, rng.choice(areas[chosen], seeds)))
    return TunedArm(*map(np.array, zip(*found, strict=True)))


def coverage_of_tuning(having: TunedArm, without: TunedArm, included: bool) -> float:
    """How often an interval contains the true difference. included: whether it has the noise of choosing the rates."""
    more = (having.variance + without.variance) * included
    found = (unpaired(y, x, float(extra)) for y, x, extra in zip(having.runs, without.runs, more, strict=True))
    return _covered(having.true.mean() - without.true.mean(), (each[1:3] for each in found))


def false_alarms(every: Population, design: Design, seeds: int, draws: int, alike: bool, again: bool) -> float:
    """How often a design detects anything, after Holm's correction, although no arm differs from another in its mean.

    alike: every arm has the runs of all of them, shifted. again: only what as many new seeds confirm counts.
    """
    rng, alarms = np.random.default_rng(0), 0
    centered = {arm: values - values.mean() for arm, values in every.items()}
    if alike:
        centered = dict.fromkeys(centered, np.concatenate(list(centered.values())))

    def tried() -> tuple[np.ndarray, np.ndarray]:
        drawn = {arm: rng.choice(x, seeds * (1 + (arm in design.shared))) for arm, x in centered.items()}
        found = [unpaired(drawn[pair.having], drawn[pair.without]) for pair in design.comparisons]
        return np.array([each.mean for each in found]), np.array([each.p for each in found])

    for _ in range(draws):
        means, p = tried()
        seen = holm(p) < LEVEL
        if again and seen.any():
            more, later = tried()
            seen &= (later < LEVEL) & (np.sign(more) == np.sign(means))
        alarms += bool(seen.any())
    return alarms / draws


def sessions(every: Population, seeds: int, draws: int, fresh: bool) -> dict[str, float]:
    """How often, of ten ideas that do nothing, one has a verdict, three have, or one has that stands when tried again.

    fresh: each has a base of its own.
    """
    rng, counts = np.random.default_rng(0), np.zeros(3)
    arms = [values - values.mean() for values in every.values()]
    for _ in range(draws):
        arm = arms[rng.integers(len(arms))]
        bases = rng.choice(arm, (IDEAS if fresh else 1, seeds))
        p = np.array([unpaired(rng.choice(arm, seeds), bases[k % len(bases)]).p for k in range(IDEAS)])
        wrong = (p < LEVEL).sum()
        counts += (wrong > 0, wrong > 2, holm(p).min() < LEVEL)
    return dict(zip(("a verdict", "three or more", "one that stands"), counts / draws, strict=True))


def calibration(study: Study, draws: int) -> pd.DataFrame:
    """One row per question and number of seeds: coverage (its mean and its worst) or the rate of false alarms."""
    found, area, late = dict[tuple[str, int], list[float]](), population(study, "score"), population(study, "late")
    known = area.keys() & late.keys()
    kept = [[pair for pair in d.comparisons if {pair.without, pair.having} <= known] for d in study.designs]
    designs = [replace(d, comparisons=tuple(pairs)) for d, pairs in zip(study.designs, kept, strict=True) if pairs]
    setting = study.env, study.steps, str(study.runs.numbers.iloc[0])
    tried = {arm: areas_of(rows_of(*setting, flags(arm.tricks))) for arm in area}
    for n in SIZES:
        found["coverage: an arm's area", n] = coverage_of_arms(area, n, draws)
        found["coverage: an arm's last 10%", n] = coverage_of_arms(late, n, draws)
        differences = (coverage_of_differences(area, design, n, draws) for design in designs)
        found["coverage: a difference", n] = list(chain.from_iterable(differences))
        for design in designs:
            for null, how in NULLS.items():
                found[f"false alarms: {design.name}, {null}", n] = [false_alarms(area, design, n, draws, *how)]
        for base, fresh in (("one base", False), ("fresh seeds", True)):
            for what, share in sessions(area, n, draws, fresh).items():
                found[f"sessions of ten null ideas, {base}: {what}", n] = [share]
        if all(rates and all(map(len, rates)) for rates in tried.values()):
            tuned = {arm: tuned_again(rates, n, draws, k) for k, (arm, rates) in enumerate(tried.items())}
            pairs = [(tuned[pair.having], tuned[pair.without]) for design in designs for pair in design.comparisons]
            for said, included in (("with", True), ("without", False)):
                what = f"coverage: a difference of tuned arms, {said} the noise of choosing"
                found[what, n] = [coverage_of_tuning(*pair, included) for pair in pairs]
    rows = [(study.env, *question, np.mean(each), min(each)) for question, each in found.items()]
    return pd.DataFrame(rows, columns=["env", "what", "seeds", "mean", "worst"])


@dataclass(frozen=True)
class Options:
    draws: int = 500
    """Simulated experiments for each number."""
    results: Path = RESULTS
    """Folder with run files. Only whole studies of the ladder with at least 30 seeds count."""
    out: Path = OUT
    """Folder for calibration.csv."""


def main(chosen: Options) -> int:
    if chosen.draws < 1:
        raise InputError(f"--draws must be at least 1, not {chosen.draws}")
    kept = [study for study in load_all(chosen.results) if study.designs and study.subject == "ladder"]
    kept = [study for study in kept if study.seeds >= FEWEST_RUNS and study.is_whole]
    if not kept:
        raise InputError(f"no run files (*{SUFFIX}) with {FEWEST_RUNS} seeds of every arm in {chosen.results}")
    prepare(chosen.out)
    frame, path = pd.concat([calibration(study, chosen.draws) for study in kept]), chosen.out / "calibration.csv"
    write_whole(path, frame.to_csv(index=False, float_format="%.4g"))
    print(f"{in_words(frame)}\n\nwrote {path}")
    return 0


def in_words(frame: pd.DataFrame) -> str:
    """The table as Markdown: one row per question and number of seeds, one column per environment."""
    numbers = zip(frame.what, frame["mean"], frame.worst, strict=True)
    said = [f"{x:.2f} (worst {worst:.2f})" if "coverage" in what else f"{x:.3f}" for what, x, worst in numbers]
    rows = frame.assign(said=said, what=pd.Categorical(frame.what, frame.what.unique()))
    table = rows.pivot(index=["what", "seeds"], columns="env", values="said")[[*frame.env.unique()]].fillna("")
    lines = [(what, str(seeds), *each) for (what, seeds), *each in table.itertuples()]
    return markdown([("", "seeds", *table), *lines])

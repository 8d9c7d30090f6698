"""The outcome of a trial: its two arms, their scores, and its row in the table of all trials."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from ablations.analysis.choosing import chosen_means, table_areas
from ablations.analysis.records import SHARES, Study
from ablations.analysis.stats import LEVEL, Estimate, holm, paired, second_try, within
from ablations.question.arms import flags, numbers
from ablations.question.designs import TRIALS
from ablations.question.trial import Dose, Trial
from ablations.training.rates import FIXED, at_edge

AS_PREDICTED, OTHER_WAY, UNDETECTED = "as predicted", "the other way", "nothing detected"


@dataclass(frozen=True, eq=False)
class Outcome:
    """A trial at one of its doses, and the runs of its two trained arms, a row per seed as in a study."""

    trial: Trial
    dose: Dose
    without: pd.DataFrame
    having: pd.DataFrame
    weaker: tuple["Outcome", ...] = ()  # the same trial at its other doses, the one that should matter least first

    def scores(self, runs: pd.DataFrame) -> pd.Series:
        """An arm's score in the trial, one value per seed."""
        runs = runs.set_index("seed").sort_index()
        return runs["late"] if self.trial.score == "late" else runs[SHARES].mean(axis=1)

    @property
    def at_every_dose(self) -> tuple["Outcome", ...]:
        """The trial at all of its doses, the one that should matter least first."""
        return (*self.weaker, self)

    @cached_property
    def differences(self) -> pd.Series:
        """With minus without, one value per seed."""
        return self.scores(self.having) - self.scores(self.without)

    @cached_property
    def shares(self) -> pd.DataFrame:
        """The differences at every dose as shares of its best possible score: a row per seed, a column per dose."""
        return pd.DataFrame({each.dose.size: each.differences / each.dose.best for each in self.at_every_dose})

    @cached_property
    def sides(self) -> tuple[tuple[tuple[str, int, str, str], float], ...]:
        """Without and with: the arm, as the table of rates knows it, and the rate that it ran at."""
        both = (self.trial.without, self.without), (self.trial.having, self.having)
        place = self.dose.config.env, self.dose.config.steps, numbers(self.dose.config)
        return tuple(((*place, flags(tricks)), float(runs.lr.iloc[0])) for tricks, runs in both)

    @cached_property
    def chosen(self) -> tuple[np.ndarray | None, ...]:
        """Without and with: the mean area at the rate that each draw of the tuning seeds chooses; None if not known.

        If the trial gives the rate, nothing is chosen. Of the last 10%, the scores of the tuning seeds are not kept.
        """
        if self.trial.rate is not None:
            return np.zeros(1), np.zeros(1)
        if self.trial.score != "area":
            return None, None
        return tuple(chosen_means(table_areas(*arm), lr) for arm, lr in self.sides)

    @property
    def choice_noise(self) -> np.ndarray:
        """The effect of each draw of `chosen`, as a share of the best possible score; an unknown arm counts as 0."""
        without, having = (np.zeros(1) if each is None else each for each in self.chosen)
        return np.asarray((having - without) / self.dose.best)

    @property
    def effect(self) -> Estimate:
        """With minus without, paired by seed, as a share of the best possible score."""
        return paired(self.differences.to_numpy() / self.dose.best, float(self.choice_noise.var()))

    @property
    def growth(self) -> Estimate:
        """How much the effect grows per dose, with its interval; NaN with a single dose."""
        every = self.at_every_dose
        weights = slope_weights([self.trial.doses.index(each.dose) for each in every])
        noise = sum(weight * each.choice_noise for weight, each in zip(weights, every, strict=True))
        return paired(self.shares.to_numpy() @ weights, float(np.var(noise)))

    def row(self) -> dict[str, Any]:
        """The trial's row in the table: both means, the paired difference, and its growth, with 95% intervals."""
        trial, config, best, found, growth = self.trial, self.dose.config, self.dose.best, self.effect, self.growth
        both = pd.concat([self.without, self.having])
        edges = [trial.rate is None and at_edge(*arm, lr) for arm, lr in self.sides]
        means = [self.scores(runs).mean(skipna=False) for runs in (self.without, self.having)]
        return {
            "trick": trial.trick,
            "world": config.env,
            "numbers": numbers(config),
            "rate": np.nan if trial.rate is None else trial.rate,
            "rate_reason": trial.rate_reason,
            "others": " ".join(trial.others),
            "score": trial.score,
            "steps": config.steps,
            "lr_without": self.sides[0][1],
            "lr_with": self.sides[1][1],
            "edge_without": edges[0],
            "edge_with": edges[1],
            "without": means[0],
            "with": means[1],
            "difference": best * found.mean,
            "low": best * found.low,
            "high": best * found.high,
            "best": best,
            "p": found.p,
            "choosing": np.nan if any(each is None for each in self.chosen) else self.choice_noise.std() * best,
            "predicted": trial.predicted,
            "margin": trial.margin,
            "small": within(found.low, found.high, trial.margin),
            "dose": trial.varied,
            "doses": " ".join(f"{dose:g}:{share:+.3f}" for dose, share in self.shares.mean(skipna=False).items()),
            "growth": growth.mean,
            "growth_low": growth.low,
            "growth_high": growth.high,
            "diverged": int(both.diverged.notna().sum()),
            "seeds": len(self.without),
            "tuned": "; ".join(sorted({*both.tuned} - {""})),
        }


def slope_weights(places: Sequence[int]) -> np.ndarray:
    """What a value at each of these places adds to their slope, from one place to the next; NaN for a single one."""
    ranks: np.ndarray = np.array(places) - np.mean(places)
    return ranks / (ranks @ ranks or np.nan)


def outcome(trial: Trial, runs: pd.DataFrame) -> Outcome | None:
    """Find the trial's arms among the runs; None if either is missing at the last dose."""
    runs = runs[runs.tuned.ne(FIXED) if trial.rate is None else runs.lr.eq(trial.rate)]
    found: dict[Dose, Outcome] = {}
    for dose in trial.doses:
        own, config = runs[runs.env == dose.config.env], dose.config
        own = own[(own.steps == config.steps) & (own.numbers == numbers(config))]
        off, on = (own[own.tricks == flags(arm)].drop_duplicates("seed") for arm in (trial.without, trial.having))
        if len(off) and len(on):
            found[dose] = Outcome(trial, dose, off, on)
    full = found.pop(trial.doses[-1], None)
    return replace(full, weaker=tuple(found.values())) if full else None


def outcomes(studies: Iterable[Study]) -> list[Outcome]:
    """What came of every trial that was trained, each from the first of the studies that has both its arms."""
    kept = [study.runs for study in studies if not study.designs]
    found = (next(filter(None, (outcome(trial, runs) for runs in kept)), None) for trial in TRIALS)
    return [each for each in found if each]


def trial_table(found: Sequence[Outcome], second: Sequence[Outcome] = ()) -> pd.DataFrame:
    """One row per trial, with what was seen: an effect counts if p < 0.05 after Holm's correction over all rows.

    `outcome` is AS_PREDICTED if the predicted sign was seen or, where 0 is predicted, if the interval lies within the
    margin; otherwise UNDETECTED if nothing was seen, and OTHER_WAY if something was.

    second: what came of trials on other seeds. An effect that was seen is confirmed (1, else 0) if it has the same sign
    and p < 0.05 there, and its difference is in `again`; NaN where there was no second try.
    """
    frame, later = pd.DataFrame([each.row() for each in found]), {each.trial: each.row() for each in second}
    frame["p_holm"] = holm(frame.p.to_numpy())
    frame["seen"] = np.where(frame.p_holm < LEVEL, np.sign(frame.difference), 0).astype(int)
    right = np.where(frame.predicted == 0, frame.small, frame.seen == frame.predicted)
    frame["outcome"] = np.select([right, frame.seen == 0], [AS_PREDICTED, UNDETECTED], OTHER_WAY)
    return pd.concat([frame, second_try(frame.seen, [later.get(each.trial) for each in found])], axis=1)


def trial_table_of(studies: Sequence[Study]) -> pd.DataFrame:
    """`trial_table` of each study's trials, with their second tries. Holm's correction is over the trials of a study.

    A trial that an earlier study has, too, doesn't count again. Trials are in the order of TRIALS.
    """
    tables, known = list[pd.DataFrame](), set[Trial]()
    for study in (study for study in studies if not study.designs):
        if found := outcomes([study]):
            table = trial_table(found, outcomes([study.again] if study.again else []))
            table = table.assign(place=[TRIALS.index(each.trial) for each in found])
            tables.append(table[[each.trial not in known for each in found]])
            known |= {each.trial for each in found}
    return pd.concat(tables).sort_values("place", ignore_index=True).drop(columns="place")

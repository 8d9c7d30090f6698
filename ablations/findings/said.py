"""What is written by hand about the stored runs: each statement, the page that makes it, and when it is true."""

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ablations.analysis.by_rate import AT_BEST, OVER_ALL
from ablations.analysis.effects import NOTHING, scores
from ablations.analysis.outcomes import trial_table_of
from ablations.analysis.records import RESULTS, Study
from ablations.analysis.scales import SCALES
from ablations.analysis.stats import LEVEL
from ablations.findings.claims import EVALUATED, PUBLISHED, mean_score
from ablations.findings.our_designs import ZOO_FLAGS
from ablations.findings.take_home import all_effects, by_rate, having
from ablations.question.arms import Design
from ablations.report.cells import told_apart
from ablations.training.rates import GRID
from tricks.ladder import LADDER, PPO, REINFORCE, Tricks, named, switched
from tricks.runs.learning_curve import read_table

UP_TO_NORM = LADDER[: LADDER.index("state_norm")]
UNMASKED = switched([name for name in LADDER if name != "action_mask"])


class Facts:
    """The facts that the statements draw on."""

    def __init__(self, studies: Sequence[Study]) -> None:
        self.studies = studies
        self.whole: dict[str, Study] = {study.env: study for study, _ in having(studies, UP)}
        self.every: pd.DataFrame = all_effects(studies)
        self.trials: pd.DataFrame = trial_table_of(studies)
        calibration = read_table(RESULTS / "calibration.csv")
        self.alarms: pd.DataFrame = calibration[calibration.what.str.contains("false alarms")]
        self.stuck: pd.Series = self.whole[TAXI].of(REINFORCE).late

    def detected(self, env: str, design: str = "") -> pd.DataFrame:
        """What a design detects in an environment, or all three of them."""
        found = self.every[(self.every.env == env) & self.every.detected.ne(0)]
        return found[found.design.isin([design] if design else THREE)]

    def effects(self, design: str, column: str = "difference") -> pd.DataFrame:
        """Of a design, by environment and trick."""
        return self.every[self.every.design == design].pivot(index="env", columns="trick", values=column)

    def rates(self, env: str, design: str) -> pd.DataFrame:
        """The effects at each rate, by trick and rate."""
        return by_rate(self.whole[env], self.design(env, design)).set_index(["trick", "at"])

    def design(self, env: str, name: str) -> Design:
        return next(design for design in self.whole[env].designs if design.name == name)

    def counts(self, env: str) -> tuple[int, int]:
        """How many effects are detected in an environment, and how many of them confirmed."""
        return len(found := self.detected(env)), int(found.confirmed.sum())

    def late(self, env: str, arm: Tricks) -> float:
        """An arm's mean return in the last tenth of training."""
        return float(scores(self.whole[env], arm).late.mean())

    def told(self, trick: str) -> tuple[list[str], set[float]]:
        """At which rates a rung on Taxi is told apart from nothing, and with which signs."""
        found = told_apart(self.rates(TAXI, UP).reset_index())
        rows = found[(found.trick == trick) & (found.p_fdr < LEVEL) & (found["at"] != OVER_ALL)]
        return rows["at"].tolist(), {*np.sign(rows.difference)}

    def raw_values(self) -> Any:
        """What `value_clip` does to what CleanRL does, which has raw returns: the first of its rows."""
        first = self.every[self.every.design == "presets"].groupby("env").first()
        both = tuple(first.loc[CARTPOLE, ["difference", "again"]].astype(float).round(2))
        seen = both, first.detected[ACROBOT], {*first.trick}
        return 0.15 < -first.difference[PENDULUM] < 0.25 and seen == ((-0.06, -0.09), 0, {"value_clip"})

    def lander_late(self) -> Any:
        late = pd.Series({arm.name: self.late(LANDER, arm.tricks) for arm in self.design(LANDER, UP).arms}).round()
        return (late.idxmax(), late.max(), late["+ clip_anneal"]) == ("+ lr_anneal", 88, 27)

    def alone_helping(self) -> Any:
        helping = self.detected(LANDER, ALONE).query("confirmed == 1 and detected == 1").set_index("trick").difference
        return len(helping) == 4 and helping.idxmax() == "advantage_norm"

    def losses_of_gae(self) -> Any:
        rung, full = (self.rates(LANDER, name).high["gae"] for name in (UP, WITHOUT))
        tuned = self.whole[LANDER].of(self.design(LANDER, WITHOUT).shared[0]).lr.iloc[0]
        return rung["0.01"] < 0 and max(full[["0.001", "0.003"]]) < 0 < full["0.01"] and tuned == 0.01

    def greedy_score(self) -> Any:
        likely = read_table(EVALUATED, comment="#").query("env == @LANDER and actions == 'most likely'")
        known, mean = PUBLISHED[LANDER, likely.steps.max()], mean_score(likely)
        return known.score - known.spread < mean.low < mean.high < known.score + known.spread

    def at_published(self, env: str, tricks: Tricks) -> list[float]:
        """The last 10% of each seed at the numbers of a published score, sorted."""
        ((study, _),) = (found for found in having(self.studies, "published") if found[0].env == env)
        return sorted(study.of(tricks).late.round())

    def harm_of_scale(self) -> Any:
        kept = self.every[self.every.trick.isin(("shared_trunk", "ppg")) & self.every.env.isin((CARTPOLE, ACROBOT))]
        raw, normed = (kept[kept.design == name] for name in ("beyond-raw", "beyond"))
        again = len(raw) == len(normed) == 4 == raw.confirmed.sum() == normed.confirmed.sum()
        return again and raw.difference.max() < -0.2 and {*normed.verdict} == {NOTHING}

    def missed(self) -> Any:
        share = float((self.stuck > -1100).mean())
        return abs(share**30 - 1 / 5) < 0.05 and abs(share**10 - 3 / 5) < 0.05

    def second_try(self) -> Any:
        again = self.alarms[self.alarms.what.str.endswith(", confirmed")].set_index(["env", "seeds"])["mean"]
        taxi = again[TAXI]
        return again.drop(TAXI).max() < 0.02 and taxi[30].max() <= 0.03 < 0.2 < taxi[10].max()

    def alike(self) -> Any:
        mean = self.alarms.set_index("what")["mean"]
        alike, own = (mean[mean.index.str.endswith(end)].max() for end in ("arms alike", "as they are"))
        return alike < 0.06 and own > 0.1  # 0.05, but for the noise of 500 draws


CARTPOLE, ACROBOT, PENDULUM, TAXI, LANDER = "CartPole-v1", "Acrobot-v1", "Pendulum-v1", "Taxi-v4", "LunarLander-v3"
UP, WITHOUT, ALONE = THREE = "ladder", "leave-one-out", "add-one-in"
OF_REPLIES = ("group_baseline", "group_norm", "mixed_groups", "clip_higher", "kl_penalty", "reply_mean")
SAID: dict[str, dict[str, Callable[[Facts], Any]]] = {
    "docs/results/ladders.md": {
        "All that was detected here was confirmed on 30 other seeds, but for the gain with bootstrap": lambda f: (
            (found := f.detected(ACROBOT))[found.confirmed == 0].trick.tolist() == ["bootstrap"]
        ),
        "no effect of the rung clip is detected. At a given rate, it is much as on CartPole: the clip "
        "matters at 0.01 and 0.03.": lambda f: (
            (low := f.rates(ACROBOT, UP).low["clip"])[AT_BEST] < 0 < min(low["0.01"], low["0.03"])
        ),
        "the clip is worth two to four times as much as on CartPole": lambda f: all(
            2 < (size := f.effects(UP, what)["clip"])[PENDULUM] / size[CARTPOLE] < 4 for what in ("difference", "again")
        ),
        "As a rung and in the full set, return_norm is worth more than in any other environment": lambda f: all(
            f.effects(name)["return_norm"].idxmax() == PENDULUM for name in (UP, WITHOUT)
        ),
        "normalizing advantages hurts as a rung here, while as a rung on CartPole and Acrobot it helps": lambda f: (
            f.effects(UP, "detected").loc[[CARTPOLE, ACROBOT, PENDULUM], "advantage_norm"].tolist() == [1, 1, -1]
        ),
        "the best arm of that design is hardly better than a random policy": lambda f: (
            max(scores(f.whole[PENDULUM], arm).area.mean() for arm in f.design(PENDULUM, ALONE).arms)
            < SCALES[PENDULUM].random + 30
        ),
        "Up to advantage_norm, no rung does better than −200 at the end": lambda f: (
            max(f.late(TAXI, named(name)) for name in UP_TO_NORM) < -199
        ),
        "From state_norm on, some begin to deliver": lambda f: f.late(TAXI, named("state_norm")) > -190,
        "The mask takes them to about −17 in the last tenth of training": lambda f: (
            round(f.late(TAXI, named("action_mask"))) == -17
        ),
        "Without a mask, the full set ends at −172": lambda f: round(f.late(TAXI, UNMASKED)) == -172,
        "With one rate for both arms, the mask helps at all seven rates": lambda f: (
            f.told("action_mask") == ([*(f"{lr:g}" for lr in GRID), AT_BEST], {1})
        ),
        "The clip, as the next rung, hurts at rates from 0.001 to 0.03": lambda f: (
            f.told("clip") == (["0.001", "0.003", "0.01", "0.03"], {-1})
        ),
        "Nine effects were detected, and eight of them were confirmed": lambda f: f.counts(TAXI) == (9, 8),
        "The ninth, of the clip alone": lambda f: (
            f.detected(TAXI)[lambda x: x.confirmed == 0].trick.tolist() == ["clip"]
        ),
        "the full set scores 27, and the highest of all rungs, lr_anneal, 88": Facts.lander_late,
        "Twelve effects were detected, and nine of them were confirmed": lambda f: f.counts(LANDER) == (12, 9),
        "are confirmed as helping, advantage normalization most": Facts.alone_helping,
        "In the full set, no trick is seen to be missed": lambda f: f.detected(LANDER, WITHOUT).detected.lt(0).all(),
        "it raises the best rate from 0.001 to 0.01": lambda f: (
            [f.whole[LANDER].of(named(rung)).lr.iloc[0] for rung in ("reuse", "clip")] == [0.001, 0.01]
        ),
        "reuse falls far below a random policy, and the clip more than makes up for it": lambda f: (
            (at := f.rates(LANDER, UP).difference)["clip"]["0.01"] > -at["reuse"]["0.01"] > 0.5
        ),
        "the clip is worth less than on CartPole": lambda f: (size := f.effects(UP)["clip"])[LANDER] < size[CARTPOLE],
        "detect a loss at 0.01 as the next rung, and at 0.001 and 0.003 in the full set": Facts.losses_of_gae,
    },
    "README.md": {
        "a fifth of the way from a random policy to the ceiling, on CartPole 0.06 to 0.09 of it": Facts.raw_values,
    },
    "chapters/11_action_mask.py": {
        "no other rung gains as much there": lambda f: f.effects(UP).loc[TAXI].idxmax() == "action_mask",
    },
    "docs/results/trials.md": {
        "On CartPole most tricks look alike": lambda f: f.effects(UP, "detected").loc[CARTPOLE].eq(0).mean() > 0.5,
        "Fourteen trials, all seven of language models among them, run both arms at one given rate": lambda f: (
            (given := f.trials[f.trials.rate.notna()]).trick.isin(OF_REPLIES).sum() == 7 and len(given) == 14
        ),
        "not in those of two trials that are judged by the last 10% of training": lambda f: (
            (tuned := f.trials[f.trials.rate.isna()]).choosing.isna().sum() == (tuned.score == "late").sum() == 2
        ),
    },
    "docs/results/published.md": {
        "Scored as the zoo does, they are where the zoo is": Facts.greedy_score,
        "seven of ten agents end between 220 and 263, and three near 150": lambda f: (
            (late := f.at_published(LANDER, ZOO_FLAGS))[3::6] == [220, 263] and 135 < late[0] < late[2] < 155
        ),
        "all ten end between 235 and 279": lambda f: f.at_published(LANDER, PPO)[::9] == [235, 279],
        "nine of the ten agents of ppo end at 490 or more, and one at 122": lambda f: (
            f.at_published(CARTPOLE, PPO)[:2] == [122, 490]
        ),
    },
    "docs/results/beyond.md": {
        "great harm on CartPole and Acrobot. With return_norm, they do practically nothing": Facts.harm_of_scale,
    },
    "docs/internal/statistics.md": {
        "Where all arms are alike, it is about 0.05 or less": Facts.alike,
        "Of sixty REINFORCE agents there, most end near −200, and three between −1100 and −2000": lambda f: (
            (len(f.stuck), (f.stuck < -1100).sum(), (f.stuck > -320).sum()) == (60, 3, 57)
        ),
        "Thirty seeds miss all three of them in one case out of five, ten in three out of five": Facts.missed,
        "after a second try it is 3% with thirty seeds, and still 21% with ten": Facts.second_try,
    },
}


def untrue(studies: Sequence[Study], root: Path) -> list[str]:
    """Which statements the stored runs don't bear out, or no page makes any more: one line each."""
    facts, every = Facts(studies), [(page, *said) for page, found in SAID.items() for said in found.items()]
    return [line for said in every if (line := fault(*said, facts, root))]


def fault(page: str, words: str, holds: Callable[[Facts], Any], facts: Facts, root: Path) -> str:
    """What is wrong with a statement, in one line; empty if nothing is."""
    text = re.sub(r"^# |[*`]", "", (root / page).read_text(encoding="utf-8"), flags=re.MULTILINE)  # without markup
    if words not in " ".join(text.split()):
        return f"{page} no longer says: {words}"
    return "" if bool(holds(facts)) else f"the stored runs contradict {page}: {words}"

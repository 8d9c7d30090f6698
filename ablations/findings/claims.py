"""What others say about tricks, held against studies of our own."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from ablations.analysis.effects import AT_CEILING, NOT_LEARNED
from ablations.analysis.records import RESULTS, Study
from ablations.analysis.scales import MARGIN
from ablations.analysis.stats import FEWEST, Estimate, paired, within
from ablations.question.story import story_of
from ablations.report.markup import plain
from ablations.report.style import signed
from ablations.report.tables import arms_table, markdown, spanned
from ablations.training.rates import FIXED
from tricks.runs.learning_curve import read_table

DESIGN = "around-continuous"
WORDS = {1: "helps", 0: "does little", -1: "hurts"}
AGREES, DISAGREES, UNCLEAR = "agrees", "disagrees", "can't tell"
CLAIMS = read_table(Path(__file__).with_name("claims.csv"))
"""What a study says about a trick on some robots, which were of an earlier version there: trick, envs, says, source."""


def verdict_on(says: int, effect: dict[Any, Any]) -> str:
    """Whether an effect agrees with a claim: `can't tell` if it is neither detected nor certainly small with room.

    effect: a row of `effects`. One that is detected and certainly small agrees with its sign, and with "does little".
    """
    small = within(effect["low"], effect["high"], MARGIN) and effect["verdict"] not in (NOT_LEARNED, AT_CEILING)
    if says == 0 and small:
        return AGREES
    if effect["detected"]:
        return AGREES if effect["detected"] == says else DISAGREES
    return DISAGREES if small else UNCLEAR


def claim_verdicts(effects: pd.DataFrame) -> pd.DataFrame:
    """One row for every claim and robot of which there is an effect: trick, env, says, source, difference, verdict.

    Only effects in or on top of the preset `continuous` count, which is close to what those studies started from.
    """
    claims = CLAIMS.assign(env=CLAIMS.envs.str.split()).explode("env")
    found = claims.merge(effects[effects.design == DESIGN], on=["trick", "env"])
    return found.assign(verdict=[verdict_on(row["says"], row) for row in found.to_dict("records")])


def claims_text(effects: pd.DataFrame) -> str:
    """The verdicts as a table, and how many of each kind there are; empty if no effect is about a claim."""
    found = claim_verdicts(effects)
    if found.empty:
        return ""
    lines = [("trick", "robot", "published", "source", "here", "")]
    for row in found.to_dict("records"):
        where = (f"`{row['trick']}`", plain(row["env"]))
        lines.append((*where, WORDS[row["says"]], row["source"], span(row), row["verdict"]))
    return f"{markdown(lines)}\n\n{agreement(found)}"


def agreement(found: pd.DataFrame) -> str:
    """How many of the claims our results support, in a sentence. found: `claim_verdicts`."""
    agree, against, unclear = (found[found.verdict == verdict] for verdict in (AGREES, DISAGREES, UNCLEAR))
    named = ", ".join(f"`{row['trick']}` on {plain(row['env'])}" for row in against.to_dict("records"))
    return (
        f"Of {len(found)} published statements about tricks on {', '.join(map(plain, found.env.unique()))}, our "
        f"results support {len(agree) or 'none'}, contradict {len(against) or 'none'}{f' ({named})' if named else ''}, "
        f"and leave {len(unclear) or 'none'} open."
    )


def span(row: Mapping[Any, Any]) -> str:
    """A difference in normalized area with its interval: `+0.12 [+0.05, +0.20]`."""
    middle, low, high = (signed(row[name]) for name in ("difference", "low", "high"))
    return f"{middle} [{low}, {high}]"


class Published(NamedTuple):
    """A published score of PPO: the mean return at the end of training, with its published spread."""

    score: float
    spread: float
    source: str


BY_CLEANRL = "CleanRL's documentation, ppo_continuous_action.py"
PUBLISHED = {
    ("CartPole-v1", 500_000): Published(490, 6, "CleanRL's documentation, ppo.py"),
    ("Acrobot-v1", 500_000): Published(-86.4, 1.3, "CleanRL's documentation, ppo.py"),
    ("LunarLander-v3", 1_000_000): Published(242, 32, "stable-baselines3's zoo, ppo on LunarLander-v2"),
    ("Hopper-v5", 1_000_000): Published(2383, 272, f"{BY_CLEANRL} on Hopper-v4"),
    ("Walker2d-v5", 1_000_000): Published(2288, 572, f"{BY_CLEANRL} on Walker2d-v4"),
    ("HalfCheetah-v5", 1_000_000): Published(1443, 46, f"{BY_CLEANRL} on HalfCheetah-v4"),
}


def published_text(*studies: Study) -> str:
    """The last 10% at the numbers of a published score, next to that score; empty if no design is about one."""
    lines = [("environment", "flags", "last 10% here", "seeds", "published", "by")]
    for study, ours in ((each, design) for each in studies for design in each.designs if story_of(design).published):
        known = PUBLISHED.get((study.env, study.steps))
        if known and set(study.runs.tuned) == {FIXED}:
            score, where = f"{known.score:g} ± {known.spread:g}", f"{study.env}, {study.steps:,} steps"
            for row in arms_table(study, ours).to_dict("records"):
                here = spanned(row, "late", "{:.1f}")
                lines.append((where, row["arm"], here, f"{row['seeds']}", score, known.source))
    return markdown(lines) if len(lines) > 1 else ""


EVALUATED = RESULTS / "evaluated.csv"  # scores of whole games after training: env, steps, actions, seed, score


def mean_score(games: pd.DataFrame) -> Estimate:
    """The mean score of rows of EVALUATED, with Student's 95% interval over agents; of a few agents, over all games."""
    by_agent = games.groupby("seed").score.mean()
    return paired((by_agent if len(by_agent) >= FEWEST else games.score).to_numpy(dtype=float))


def evaluated_text(games: pd.DataFrame) -> str:
    """A table of the mean scores of rows of EVALUATED, by how the actions were chosen."""
    lines = [("environment", "agents × games", "actions", "mean score")]
    for (env, steps, actions), own in games.groupby(["env", "steps", "actions"], sort=False):
        found, agents = mean_score(own), own.seed.nunique()
        score = f"{found.mean:.1f} [{found.low:.1f}, {found.high:.1f}]"
        trained = f", {steps:,} steps" * (actions != "random")
        lines.append((f"{env}{trained}", f"{agents} × {len(own) // agents}", str(actions), score))
    return markdown(lines)

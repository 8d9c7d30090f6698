"""What published studies say about tricks on MuJoCo's robots, held against a study of our own."""

from dataclasses import dataclass
from typing import Any, Literal

import pandas as pd

from ablations.analysis.effects import AT_CEILING, MARGIN, NOT_LEARNED
from ablations.figures.style import signed
from ablations.report.markup import plain
from ablations.report.tables import markdown

HOPPER, WALKER, CHEETAH = ROBOTS = ("Hopper-v5", "Walker2d-v5", "HalfCheetah-v5")
DESIGN = "around-continuous"
WORDS = {1: "helps", 0: "does little", -1: "hurts"}
AGREES, DISAGREES, UNCLEAR = "agrees", "disagrees", "can't tell"
A2020, E2020 = "Andrychowicz et al. 2020, {}", "Engstrom et al. 2020, {}"  # arXiv:2006.05990, arXiv:2005.12729


@dataclass(frozen=True)
class Claim:
    """What a study says about a trick on some robots, which were of an earlier version there."""

    trick: str
    envs: tuple[str, ...]
    says: Literal[1, 0, -1]
    source: str


CLAIMS = (
    Claim("state_norm", (WALKER, CHEETAH), 1, A2020.format("C64")),
    Claim("state_norm", (HOPPER,), 0, A2020.format("C64")),
    Claim("reward_scaling", (WALKER,), 1, E2020.format("fig. 1")),
    Claim("clip", (HOPPER, WALKER), 0, E2020.format("PPO-NoClip")),
    Claim("orthogonal_init", (WALKER,), 1, E2020.format("fig. 1")),
    Claim("lr_anneal", (WALKER,), 1, E2020.format("fig. 1")),
    Claim("return_norm", (HOPPER, CHEETAH), 1, A2020.format("C66")),
    Claim("return_norm", (WALKER,), -1, A2020.format("C66")),
    Claim("advantage_norm", ROBOTS, 0, A2020.format("C67")),
    Claim("orthogonal_init", (CHEETAH,), 1, A2020.format("C57")),
    Claim("orthogonal_init", (HOPPER, WALKER), 0, A2020.format("C57")),
    Claim("value_clip", ROBOTS, -1, A2020.format("C13")),
    Claim("huber", ROBOTS, -1, A2020.format("C11")),
    Claim("recompute", ROBOTS, 1, A2020.format("C5")),
    Claim("grad_clip", ROBOTS, 1, A2020.format("C68")),
    Claim("lr_anneal", ROBOTS, 1, A2020.format("C31")),
    Claim("entropy", (HOPPER, WALKER), 0, A2020.format("C46")),
    Claim("entropy", (CHEETAH,), 1, A2020.format("C46")),
    Claim("shared_trunk", (HOPPER, CHEETAH), -1, A2020.format("C47")),
    Claim("shared_trunk", (WALKER,), 0, A2020.format("C47")),
)


def verdict_on(says: int, effect: dict[Any, Any]) -> str:
    """Whether an effect agrees with a claim: `can't tell` if it is neither detected nor certainly small with room.

    effect: a row of `effects`. One that is detected and certainly small agrees with its sign, and with "does little".
    """
    small = effect["low"] > -MARGIN and effect["high"] < MARGIN and effect["verdict"] not in (NOT_LEARNED, AT_CEILING)
    if says == 0 and small:
        return AGREES
    if effect["detected"]:
        return AGREES if effect["detected"] == says else DISAGREES
    return DISAGREES if small else UNCLEAR


def claim_verdicts(effects: pd.DataFrame) -> pd.DataFrame:
    """One row for every claim and robot of which there is an effect: trick, env, says, source, difference, verdict.

    Only effects in or on top of the preset `continuous` count, which is close to what those studies started from.
    """
    rows, effects = [], effects[effects.design == DESIGN]
    for claim in CLAIMS:
        for env in claim.envs:
            for effect in effects[(effects.trick == claim.trick) & (effects.env == env)].to_dict("records"):
                row = {"trick": claim.trick, "env": env, "says": claim.says, "source": claim.source}
                span = {name: effect[name] for name in ("difference", "low", "high")}
                rows.append(row | span | {"verdict": verdict_on(claim.says, effect)})
    return pd.DataFrame(rows)


def claims_text(effects: pd.DataFrame) -> str:
    """The verdicts as a table, and how many of each kind there are; empty if no effect is about a claim."""
    found = claim_verdicts(effects)
    if found.empty:
        return ""
    lines = [("trick", "robot", "published", "source", "here", "")]
    for row in found.to_dict("records"):
        here = f"{signed(row['difference'])} [{signed(row['low'])}, {signed(row['high'])}]"
        lines.append((f"`{row['trick']}`", plain(row["env"]), WORDS[row["says"]], row["source"], here, row["verdict"]))
    counts = found.verdict.value_counts()
    said = ", ".join(f"{verdict}: {counts.get(verdict, 0)}" for verdict in (AGREES, DISAGREES, UNCLEAR))
    return f"{markdown(lines)}\n\nOf {len(found)} statements, {said}."

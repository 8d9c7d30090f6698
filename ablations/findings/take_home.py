"""What a practitioner takes away from all stored results: about ten sentences, each computed from them."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pandas as pd

from ablations.analysis.by_rate import AT_BEST, OVER_ALL, effects_by_rate
from ablations.analysis.effects import effects
from ablations.analysis.outcomes import tallied
from ablations.analysis.studies import Study
from ablations.analysis.sweeps import best_scores, floor_score, nearly_as_good, varied
from ablations.design.arms import Design
from ablations.figures.style import signed
from ablations.findings.stored_choices import largest_shares
from ablations.findings.take_home_beyond import having, listed, on_top_of_ppo, published, robot, seen
from ablations.report.markup import plain
from ablations.report.tables import arms_table, distinct
from ablations.training.seed_ranges import TEN, further

MANY = 30  # seeds of an arm
Drawn = tuple[pd.DataFrame, pd.DataFrame]  # a random design: its choices, and its agents


def take_home(
    studies: Sequence[Study], trials: pd.DataFrame, sweeps: Sequence[pd.DataFrame], drawn: Sequence[Drawn]
) -> list[str]:
    """The sentences for which there are results. trials: of `trial_table_of`. Studies that lack runs don't count."""
    every = [study for study in studies if study.designs and study.is_whole]
    ladder, beyond, robots = (_about(every, subject) for subject in ("ladder", "beyond", "continuous"))
    swept = [found for found in having(ladder, "ladder") if len(effects_by_rate(*found))]
    said = [
        *(largest_shares(*found) for found in drawn[:1]),
        *(_by_rate(*found) for found in swept[:1]),
        *(_climb(*found) for found in swept[:1]),
        _missed_most(ladder),
        _numbers(sweeps),
        _predicted(trials),
        on_top_of_ppo(beyond),
        _seeds(ladder),
        *(robot(*found) for found in having(robots, "around-continuous")),
        published(robots),
    ]
    return [sentence for sentence in said if sentence]


def _about(studies: Sequence[Study], subject: str) -> list[Study]:
    return distinct([study for study in studies if study.subject == subject])


def _by_rate(study: Study, design: Design) -> str:
    """The trick whose effect depends most on the learning rate."""
    found = effects_by_rate(study, design)
    at: dict[str, dict[str, dict[Any, Any]]] = {}
    for row in found[found["at"] != OVER_ALL].to_dict("records"):
        at.setdefault(row["trick"], {})[row["at"]] = row
    own = {trick: rows.pop(AT_BEST) for trick, rows in at.items()}
    ends = {
        name: sorted(rows.values(), key=lambda row: row["difference"])[:: len(rows) - 1] for name, rows in at.items()
    }
    trick = max(ends, key=lambda name: ends[name][1]["difference"] - ends[name][0]["difference"])
    low, high = ends[trick]
    return (
        f"What a trick does depends on the learning rate, and for `{trick}` most of all: on {plain(study.env)}, adding "
        f"it as the next rung changes the normalized area by {_spanned(low)} at {low['at']} and by {_spanned(high)} at "
        f"{high['at']} ({low['seeds']} tuning seeds), but by {_spanned(own[trick])} with each arm at its own best."
    )


def _spanned(row: dict[Any, Any]) -> str:
    return f"{signed(row['difference'])} [{signed(row['low'])}, {signed(row['high'])}]"


def _climb(study: Study, design: Design) -> str:
    arms, frame = arms_table(study, design).set_index("arm").area, effects(study, design)
    return (
        f"With each arm at its own best rate, {len(frame)} tricks take the mean return over training on "
        f"{plain(study.env)} from {arms.iloc[0]:.0f} to {arms.iloc[-1]:.0f} (at most {arms.max():.0f}, at "
        f"`{arms.idxmax()}`); detected as gains, in normalized area: {_sized(seen(frame, 1))}; as losses: "
        f"{_sized(seen(frame, -1))}."
    )


def _missed_most(studies: Sequence[Study]) -> str:
    """In each environment the trick without which, and without all that needs it, the full set loses most."""
    said, first = [], set[str]()
    for study, design in having(studies, "leave-one-out"):
        best = seen(effects(study, design), 1).nlargest(1, "difference").to_dict("records")
        said.append(f"on {plain(study.env)} {_with_others(best[0]) if best else 'none for certain'}")
        first |= {row["trick"] for row in best}
    text = "What is missed most when it is taken out of the full set, together with what needs it"
    return f"{text}{', differs by task' * (len(first) > 1)}: {'; '.join(said)}." if said else ""


def _with_others(row: dict[Any, Any]) -> str:
    names = [f"`{name}`" for name in row["label"].others]
    others = f" with {listed(names) if len(names) < 4 else f'{len(names)} others'}" if names else ""
    return f"`{row['trick']}`{others} ({_twice(row)})"


def _twice(row: dict[Any, Any]) -> str:
    """The difference, and what other seeds showed of it."""
    again = f"again {signed(row['again'])}" if row["confirmed"] == 1 else "not tried again"
    return f"{signed(row['difference'])}, {again}"


def _numbers(sweeps: Sequence[pd.DataFrame]) -> str:
    """Which numbers of PPO have a value that is nearly as good as the best in every environment of the sweeps."""
    good: dict[str, dict[str, list[float]]] = {}
    for runs in sweeps:
        if str(runs.rung.iloc[0]).split("+")[0] == "ppo":
            for name in set(varied(runs)) - {"lr"}:
                level = best_scores(runs, name)
                good.setdefault(name, {})[str(runs.env.iloc[0])] = nearly_as_good(level, floor_score(runs))
    good = {name: found for name, found in sorted(good.items()) if len(found) > 2}
    if not good:
        return ""
    envs = list(dict.fromkeys(env for found in good.values() for env in found))
    good = {name: found for name, found in good.items() if len(found) == len(envs)}
    common = {name: sorted(set.intersection(*map(set, found.values()))) for name, found in good.items()}
    fine = [f"`{name}` ({' or '.join(f'{value:g}' for value in values)})" for name, values in common.items() if values]
    none = [f"`{name}`" for name, values in common.items() if not values]
    where = f"nearly as good as the best on each of {listed(envs)}, with the learning rate chosen anew for each value"
    if not fine:
        return f"None of these numbers has a value that is {where}: {listed(none)}." if none else ""
    those = f", and for the others no value is: {listed(none)}" if none else ""
    has = "has" if len(fine) == 1 else "have"
    return f"Of {len(good)} numbers, {len(fine)} {has} a value that is {where}: {listed(fine)}{those}."


def _predicted(trials: pd.DataFrame) -> str:
    found = tallied(trials) if len(trials) else None
    if not found or not found.trials:
        return ""
    return (
        f"A trick shows where its problem is: of {found.trials} trials, most of them in worlds made for one trick, "
        f"{found.right} came out as theory predicts, {found.other_way or 'none'} the other way, and in "
        f"{found.undetected} nothing is detected; {found.showing} of {found.tricks} tricks have the predicted effect "
        "in at least one."
    )


def _seeds(studies: Sequence[Study]) -> str:
    """How many of the effects that many seeds detect the first ten of them detect."""
    many = [study for study in studies if study.seeds >= MANY]
    if not many:
        return ""
    pairs = [(effects(s, d), effects(few, d)) for s in many for few in [first_ten(s)] for d in s.designs]
    detected = sum(int((every.detected != 0).sum()) for every, _ in pairs)
    again = sum(int(((every.detected != 0) & (every.detected == few.detected)).sum()) for every, few in pairs)
    where = listed([plain(study.env) for study in many])
    return f"Of {detected} effects that {MANY} seeds detect on {where}, the first ten of these seeds detect {again}."


def first_ten(study: Study) -> Study:
    """The study as ten seeds would have been, with ten more for the arms that many comparisons share."""
    first, _ = study.about["seeds"]
    ten = range(first, first + TEN)
    runs, about = study.runs[study.runs.seed.isin([*ten, *further(ten)])], study.about.copy()
    about["seeds"] = [first, first + TEN]
    return replace(study, runs=runs, about=about, again=None)


def _sized(rows: pd.DataFrame) -> str:
    return listed([f"`{row['trick']}` ({_twice(row)})" for row in rows.to_dict("records")])

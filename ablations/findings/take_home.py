"""What to take away from the stored runs, in sentences: of studies, trials, sweeps, and random designs."""

from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ablations.analysis.agents import AGENTS, CHOICES, best_scores, clear_of_zero, floor_score, nearly_as_good, varied
from ablations.analysis.by_rate import AT_BEST, OVER_ALL, effects_by_rate
from ablations.analysis.effects import effects
from ablations.analysis.reading import short_name
from ablations.analysis.records import Study
from ablations.findings.claims import agreement, claim_verdicts, span
from ablations.question.arms import Design, flags
from ablations.question.designs import SUITES, position
from ablations.report import sentences
from ablations.report.markup import plain
from ablations.report.style import signed
from ablations.report.tables import distinct
from ablations.report.trials_section import tally
from tricks.ladder import LADDER, NEEDS, PRESETS, named
from tricks.runs.learning_curve import read_table

Drawn = tuple[pd.DataFrame, pd.DataFrame]  # a random design: its choices, and its agents
by_rate = cache(effects_by_rate)


def take_home(
    studies: Sequence[Study], trials: pd.DataFrame, sweeps: Sequence[pd.DataFrame], drawn: Sequence[Drawn]
) -> list[str]:
    """The sentences for which there are results. trials: of `trial_table_of`. Studies that lack runs don't count."""
    every = [study for study in studies if study.designs and study.is_whole]
    subjects = "ladder", "beyond", "continuous"
    ladder, beyond, robots = (distinct([study for study in every if study.subject == name]) for name in subjects)
    swept = [found for found in having(ladder, "ladder") if len(by_rate(*found))]
    said = [
        *(takeaways(*found)[1] for found in drawn[:1]),
        *(_most_by_rate(*found) for found in swept[:1]),
        _confirmed_rungs(ladder),
        _missed_most(ladder),
        _numbers(sweeps),
        tally(trials) if len(trials) else "",
        *sentences.beyond([study for study in beyond if not study.stale] or beyond)[:2],
        sentences.across(robots),
        agreement(claim_verdicts(all_effects(robots))) if robots else "",
    ]
    return [sentence for sentence in said if sentence]


def having(studies: Iterable[Study], name: str) -> list[tuple[Study, Design]]:
    """The studies that have a design of this name, each with it."""
    return [(study, design) for study in studies for design in study.designs if design.name == name]


def all_effects(studies: Iterable[Study]) -> pd.DataFrame:
    """The effects of all designs of at least one study."""
    return pd.concat([effects(study, design) for study in studies for design in study.designs])


def or_none(words: Iterable[str]) -> str:
    return ", ".join(words) or "none"


def _most_by_rate(study: Study, design: Design) -> str:
    """The trick whose effect depends most on the learning rate."""
    found = by_rate(study, design).sort_values("difference")
    at = found[~found["at"].isin([OVER_ALL, AT_BEST])]
    trick = at.groupby("trick").difference.agg(np.ptp).idxmax()
    low, high = at[at.trick == trick].iloc[[0, -1]].to_dict("records")
    (own,) = found[(found.trick == trick) & (found["at"] == AT_BEST)].to_dict("records")
    seen = effects(study, design).set_index("trick").detected.to_dict()[trick]
    unsure = "" if seen else ", where no effect is detected after the correction for all rungs"
    return (
        f"What a trick does depends on the learning rate, and for `{trick}` most of all: on {plain(study.env)}, adding "
        f"it as the next rung changes the normalized area by {span(low)} at {low['at']} and by {span(high)} at "
        f"{high['at']} ({low['seeds']} tuning seeds), but by {span(own)} with each arm at its own best{unsure}."
    )


def _confirmed_rungs(studies: Sequence[Study]) -> str:
    """How often each trick was confirmed as the next rung."""
    frames = [effects(*found) for found in having(studies, "ladder") if found[0].again]
    if not frames:
        return ""
    every = pd.concat(frames)
    sure = every[(every.confirmed == 1) & (every.detected != 0)]
    up, down = (sure.trick[sure.detected == sign].value_counts() for sign in (1, -1))
    often, hurting = (or_none(f"`{trick}` ({k})" for trick, k in times.items()) for times in (up[up > 1], down))
    return (
        f"In {len(frames)} environments, with each arm at its own best rate, confirmed as helping as the next rung: "
        f"{often}; {(up == 1).sum()} more in one; as hurting: {hurting}. "
        f"Of {every.trick.nunique()} tricks, {len({*every.trick} - {*sure.trick})} are not confirmed as the next rung "
        "in any of them."
    )


def _missed_most(studies: Sequence[Study]) -> str:
    """In each environment the trick without which, and without all that needs it, the full set loses most."""
    said, first = [], set[str]()
    for study, design in having(studies, "leave-one-out"):
        found = effects(study, design)
        missed = found[(found.detected == 1) & found.confirmed.ne(0)]
        best = missed.nlargest(1, "difference").to_dict("records")
        said.append(f"on {plain(study.env)} {_with_others(best[0]) if best else 'none for certain'}")
        first |= {row["trick"] for row in best}
    text = "What is missed most when it is taken out of the full set, together with what needs it"
    return f"{text}{', differs by task' * (len(first) > 1)}: {'; '.join(said)}." if said else ""


def _with_others(row: dict[Any, Any]) -> str:
    """A trick and what went with it, the difference, and what other seeds showed of it."""
    names = [f"`{name}`" for name in row["label"].others]
    others = f" with {or_none(names) if len(names) < 4 else f'{len(names)} others'}" if names else ""
    again = f"again {signed(row['again'])}" if row["confirmed"] == 1 else "not tried again"
    return f"`{row['trick']}`{others} ({signed(row['difference'])}, {again})"


def _numbers(sweeps: Sequence[pd.DataFrame]) -> str:
    """Which numbers of PPO have a value that is nearly as good as the best in every environment of the sweeps."""
    near = dict[str, dict[str, set[float]]]()  # of each number and environment
    for runs in sweeps:
        if not subject_of(runs) and "segments" in str(runs["flags"].iloc[0]):
            for name in (name for name in varied(runs) if name != "lr"):
                good = near.setdefault(name, {}).setdefault(str(runs.env.iloc[0]), set())
                good.update(nearly_as_good(best_scores(runs, name), floor_score(runs)))
    envs = dict.fromkeys(env for by_env in near.values() if len(by_env) > 2 for env in by_env)
    values = {name: sorted(set.intersection(*near[name].values())) for name in sorted(near) if {*near[name]} >= {*envs}}
    fine = [f"`{name}` ({' or '.join(f'{value:g}' for value in good)})" for name, good in values.items() if good]
    none = [f"`{name}`" for name, good in values.items() if not good]
    where = f"nearly as good as the best on each of {or_none(envs)}, with the learning rate chosen anew for each value"
    those = f", and for the others no value is: {or_none(none)}" if none else ""
    has = "has" if len(fine) == 1 else "have"
    said = f"Of {len(values)} numbers, {len(fine)} {has} a value that is {where}: {or_none(fine)}{those}."
    return said if envs else ""


def takeaways(choices: pd.DataFrame, agents: pd.DataFrame) -> list[str]:
    """Five sentences. choices: the table of `analysis.choices`; agents: one row each, with `score` and `env`."""
    low, high = agents.score.quantile([0.5, 0.95])
    env, count = agents.env.iloc[0], f"{len(agents):,}"
    first = choices.drop_duplicates("choice").sort_values("explained", ascending=False)
    clear, unclear = first[clear_of_zero(first)], first[~clear_of_zero(first)]
    ranked = ", ".join(f"`{row['choice']}` ({100 * row['explained']:.1f}%)" for row in clear.to_dict("records"))
    ends = []
    for name in (name for name in clear.choice if name not in NEEDS):
        rows = choices[choices.choice == name].sort_values("q0.5")
        worst, best = rows.iloc[[0, -1]].to_dict("records")
        ends.append(f"`{name}` {best['q0.5']:.0f} at {best['level']}, {worst['q0.5']:.0f} at {worst['level']}")
    return [
        f"Half of {count} random configurations on {env} score below {low:.0f}, one in twenty above {high:.0f}.",
        f"On {env}, each of these explains by itself a share of the variance that is clear of 0: {ranked}.",
        f"Medians on {env} at the best and at the worst level: {'; '.join(ends)}.",
        f"Flags on {env}: the median is {_better(choices, 'q0.5')}; the 95th percentile is "
        f"{_better(choices, 'q0.95')}.",
        f"Of the other {len(unclear)} choices, {count} agents on {env} can't tell whether they explain anything: "
        f"{', '.join(f'`{name}`' for name in unclear.choice)}.",
    ]


def _better(choices: pd.DataFrame, quantile: str) -> str:
    """The flags that raise or lower a quantile of the scores: those whose two 95% intervals don't overlap."""
    raised, lowered = [], []
    for name in (name for name in NEEDS if name in set(choices.choice)):
        rows = choices[choices.choice == name].set_index("level")
        low, high = rows[f"{quantile}_low"], rows[f"{quantile}_high"]
        raised += [f"`{name}`"] * bool(low["on"] > high["off"])
        lowered += [f"`{name}`"] * bool(high["on"] < low["off"])
    return f"higher with {or_none(raised)}, and lower with {or_none(lowered)}"


def stored_random(folder: Path) -> list[Drawn]:
    """The choices and the agents of every random design in a folder, in the order of the suites' environments."""
    paths = sorted(folder.glob(f"random_*{CHOICES}"))
    found = [(read_table(path), read_table(Path(str(path).removesuffix(CHOICES) + AGENTS))) for path in paths]
    return sorted(found, key=lambda pair: position(str(pair[1].env.iloc[0])))


def stored_sweeps(folder: Path) -> list[pd.DataFrame]:
    """The sweeps of a folder, as `sweep` wrote them: by what was varied, the environments in the order of `classic`.

    Those on what goes beyond the ladder come last. A rung that has other flags by now is named by the nearest preset.
    """
    envs = [setting.config.env for setting in SUITES["classic"].settings]

    def place(runs: pd.DataFrame) -> tuple[Any, ...]:
        env = str(runs.env.iloc[0])
        return subject_of(runs) != "", sorted(varied(runs)), [*envs, env].index(env)

    found = list[pd.DataFrame]()
    for runs in (read_table(path) for path in sorted(folder.glob("*.sweep.csv"))):
        rung, on = str(runs.rung.iloc[0]), str(runs["flags"].iloc[0])
        words = not {*rung.split("+")} <= {*PRESETS, *NEEDS}
        found.append(runs if words or flags(named(rung)) == on else runs.assign(rung=short_name(on)))
    return sorted(found, key=place)


def subject_of(runs: pd.DataFrame) -> str:
    """The flag beyond the ladder that a sweep is about, the last one; empty if it has none."""
    beyond = [name for name in str(runs["flags"].iloc[0]).split() if name not in LADDER]
    return beyond[-1] if beyond else ""

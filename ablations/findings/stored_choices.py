"""The stored sweeps and random designs, and what a practitioner takes away from a random design, in sentences."""

from pathlib import Path
from typing import Any

import pandas as pd

from ablations.analysis.agents import AGENTS, CHOICES, clear_of_zero, varied
from ablations.question.designs import SUITES, position
from tricks.ladder import NEEDS
from tricks.runs.learning_curve import read_table

Drawn = tuple[pd.DataFrame, pd.DataFrame]  # a random design: its choices, and its agents


def takeaways(choices: pd.DataFrame, agents: pd.DataFrame) -> list[str]:
    """Five sentences. choices: the table of `analysis.choices`; agents: one row each, with `score` and `env`."""
    low, high = agents.score.quantile([0.5, 0.95])
    env, count = agents.env.iloc[0], f"{len(agents):,}"
    first = choices.drop_duplicates("choice").sort_values("explained", ascending=False)
    sure = clear_of_zero(first)
    clear = first[sure]
    shares = zip(clear.choice, clear.explained, strict=True)
    ranked = ", ".join(f"`{name}` ({100 * share:.1f}%)" for name, share in shares)
    unclear = ", ".join(f"`{name}`" for name in first.choice[~sure])
    ends = []
    for name in (name for name in clear.choice if name not in NEEDS):
        worst, best = _ends(choices, name)
        ends.append(f"`{name}` {best['q0.5']:.0f} at {best['level']}, {worst['q0.5']:.0f} at {worst['level']}")
    return [
        f"Half of {count} random configurations on {env} score below {low:.0f}, one in twenty above {high:.0f}.",
        f"On {env}, each of these explains by itself a share of the variance that is clear of 0: {ranked}.",
        f"Medians on {env} at the best and at the worst level: {'; '.join(ends)}.",
        f"Flags on {env}: the median is {_better(choices, 'q0.5')}; the 95th percentile is "
        f"{_better(choices, 'q0.95')}.",
        f"Of the other {len(first) - len(clear)} choices, {count} agents on {env} can't tell whether they explain "
        f"anything: {unclear}.",
    ]


def _ends(choices: pd.DataFrame, name: str) -> list[dict[Any, Any]]:
    """The levels of a number with the worst and the best median."""
    return choices[choices.choice == name].sort_values("q0.5").iloc[[0, -1]].to_dict("records")


def _better(choices: pd.DataFrame, quantile: str) -> str:
    """The flags that raise or lower a quantile of the scores: those whose two 95% intervals don't overlap."""
    raised, lowered = [], []
    for name in (name for name in NEEDS if name in set(choices.choice)):
        rows = choices[choices.choice == name].set_index("level")
        low, high = rows[f"{quantile}_low"], rows[f"{quantile}_high"]
        raised += [f"`{name}`"] * bool(low["on"] > high["off"])
        lowered += [f"`{name}`"] * bool(high["on"] < low["off"])
    return f"higher with {', '.join(raised) or 'none'}, and lower with {', '.join(lowered) or 'none'}"


def stored_random(folder: Path) -> list[Drawn]:
    """The choices and the agents of every random design in a folder, in the order of the suites' environments."""
    found = [
        (read_table(path), read_table(path.with_name(path.name.removesuffix(CHOICES) + AGENTS)))
        for path in sorted(folder.glob(f"random_*{CHOICES}"))
    ]
    return sorted(found, key=lambda pair: position(str(pair[1].env.iloc[0])))


def stored_sweeps(folder: Path) -> list[pd.DataFrame]:
    """The sweeps of a folder, as `sweep` wrote them: by what was varied, the environments in the order of `classic`.

    Those on what goes beyond the ladder come last.
    """
    envs = [setting.config.env for setting in SUITES["classic"].settings]

    def place(runs: pd.DataFrame) -> tuple[Any, ...]:
        env, beyond = str(runs.env.iloc[0]), "ppg" in str(runs.rung.iloc[0])
        return beyond, sorted(varied(runs)), envs.index(env) if env in envs else len(envs)

    return sorted((read_table(path) for path in sorted(folder.glob("*.sweep.csv"))), key=place)

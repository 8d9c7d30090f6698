"""What a practitioner takes away from a random design, in sentences."""

from pathlib import Path

import pandas as pd

from ablations.analysis.choices import AGENTS, CHOICES, clear_of_zero
from ablations.analysis.sweeps import varied
from ablations.design.registry import SUITES, position
from tricks.ladder import NEEDS
from tricks.runs.learning_curve import read_table


def takeaways(choices: pd.DataFrame, agents: pd.DataFrame) -> list[str]:
    """Five sentences. choices: the table of `analysis.choices`; agents: one row each, with `score` and `env`."""
    low, high = agents.score.quantile([0.5, 0.95])
    env = agents.env.iloc[0]
    first = choices.drop_duplicates("choice").sort_values("explained", ascending=False)
    sure = clear_of_zero(first)
    clear = first[sure]
    shares = zip(clear.choice, clear.explained, strict=True)
    ranked = ", ".join(f"`{name}` ({100 * share:.1f}%)" for name, share in shares)
    dials = [name for name in clear.choice if name not in NEEDS]
    unclear = ", ".join(f"`{name}`" for name in first.choice[~sure])
    ends = "; ".join(_ends(choices, name) for name in dials)
    count, half, top = f"{len(agents):,}", _better(choices, "q0.5"), _better(choices, "q0.95")
    return [
        f"Half of {count} random configurations on {env} score below {low:.0f}, one in twenty above {high:.0f}.",
        f"On {env}, each of these explains by itself a share of the variance that is clear of 0: {ranked}.",
        f"Medians on {env} at the best and at the worst level: {ends}.",
        f"Flags on {env}: the median is {half}; the 95th percentile is {top}.",
        f"Of the other {len(first) - len(clear)} choices, {count} agents on {env} can't tell whether they explain "
        f"anything: {unclear}.",
    ]


def largest_shares(choices: pd.DataFrame, agents: pd.DataFrame) -> str:
    """The three choices that explain most, in one sentence, and how far the levels of the first are apart."""
    first = choices.drop_duplicates("choice").set_index("choice")
    most = first.nlargest(3, "explained")
    shares = [
        f"`{name}` ({row['explained']:.1%} [{row['explained_low']:.1%}, {row['explained_high']:.1%}])"
        for name, row in most.to_dict("index").items()
    ]
    rows = choices[choices.choice == most.index[0]].sort_values("q0.5").to_dict("records")
    worst, best = rows[0], rows[-1]
    return (
        f"Of {len(first)} choices behind {len(agents):,} random configurations on {agents.env.iloc[0]}, the "
        f"largest shares of the variance are {', '.join(shares)}, each among the agents for which it matters; with "
        f"`{most.index[0]}` at {best['level']}, the median score is {best['q0.5']:.0f}, and at {worst['level']} it is "
        f"{worst['q0.5']:.0f}."
    )


def _ends(choices: pd.DataFrame, name: str) -> str:
    """The levels of a number with the best and the worst median."""
    rows = choices[choices.choice == name].sort_values("q0.5").to_dict("records")
    worst, best = rows[0], rows[-1]
    return f"`{name}` {best['q0.5']:.0f} at {best['level']}, {worst['q0.5']:.0f} at {worst['level']}"


def _better(choices: pd.DataFrame, quantile: str) -> str:
    """The flags that raise or lower a quantile of the scores: those whose two 95% intervals don't overlap."""
    raised, lowered = [], []
    for name in (name for name in NEEDS if name in set(choices.choice)):
        rows = choices[choices.choice == name].set_index("level")
        low, high = rows[f"{quantile}_low"], rows[f"{quantile}_high"]
        if low["on"] > high["off"]:
            raised.append(f"`{name}`")
        if high["on"] < low["off"]:
            lowered.append(f"`{name}`")
    return f"higher with {', '.join(raised) or 'none'}, and lower with {', '.join(lowered) or 'none'}"


def stored_random(folder: Path) -> list[tuple[pd.DataFrame, pd.DataFrame]]:
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
    found = [read_table(path) for path in sorted(folder.glob("*.sweep.csv"))]
    return sorted(
        found,
        key=lambda runs: (
            "ppg" in str(runs.rung.iloc[0]),
            sorted(varied(runs)),
            envs.index(env) if (env := str(runs.env.iloc[0])) in envs else len(envs),
        ),
    )

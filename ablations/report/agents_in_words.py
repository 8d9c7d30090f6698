"""Tables of many agents in words: of a sweep, the best value of each number; of random draws, what each choice does."""

import pandas as pd

from ablations.analysis import agents
from ablations.analysis.agents import NEAR, QUANTILES, best_of_each, fixed, varied
from ablations.analysis.scales import SCALES
from ablations.analysis.stats import FEWEST
from ablations.report.tables import markdown, spanned


def ranges(runs: pd.DataFrame, only: str = "") -> str:
    """What a sweep found, in one line: the best value, and the range nearly as good, of each number or `only` one."""
    said = [f"`{name}` {nearly(runs, name)}" for name in ([only] if only else varied(runs))]
    seeds = len(runs) // runs[varied(runs)].drop_duplicates().shape[0]
    return f"`{runs.rung.iloc[0]}`{fixed(runs)} on {runs.env.iloc[0]}, {seeds} seeds a combination: {'; '.join(said)}."


def nearly(runs: pd.DataFrame, name: str) -> str:
    """The best value of a number, and the values that are nearly as good, in words."""
    level = agents.best_scores(runs, name)
    best, good = level.idxmax(), agents.good_spans(level, agents.floor_score(runs))
    edges = {level.index[0]: " (the smallest)", level.index[-1]: " (the largest)"} if len(level) > 1 else {}
    others = [(low, high) for low, high in good if low < high or low != best]
    spans = [f"from {low:g} to {high:g}" if low < high else f"at {low:g}" for low, high in others]
    found = f"nearly as good {' and '.join(spans)}" if spans else "nothing else is nearly as good"
    return f"is best at {best:g}{edges.get(best, '')}, and {found}"


def doubt(runs: pd.DataFrame, name: str) -> str:
    """Which values cannot be told from the best one, in words; empty for a number with one value."""
    told, seeds = agents.told_from_best(runs, name), len(runs) // len(agents.means(runs, varied(runs)))
    if told and seeds < FEWEST:
        return f"With {seeds} seeds a combination there is no interval, and no value can be told from another."
    if alike := [f"{value:g}" for value, apart in told.items() if not apart]:
        return f"These seeds cannot tell it from {' or '.join(filter(None, [', '.join(alike[:-1]), alike[-1]]))}."
    return "All others are told apart from it." * bool(told)


def ranges_in_words(runs: pd.DataFrame) -> str:
    """The tables as Markdown: for each number the best score at each value, and the range that is nearly as good."""
    names, parts = varied(runs), []
    for name in names:
        others = [other for other in names if other != name]
        lines = [(name, "area under the curve", *(f"best {other}" for other in others))]
        for best in best_of_each(runs, name):
            seen = (spanned(best._asdict(), "mean", ends=""), *(f"{best.others[other]:g}" for other in others))
            lines.append((f"{best.value:g}", *(seen if best.mean == best.mean else ["–"] * len(seen))))
        parts.append(f"{markdown(lines)}\n\n`{name}` {nearly(runs, name)}. {doubt(runs, name)}".rstrip())
    diverged = int(runs.diverged.notna().sum())
    parts += [f"All{fixed(runs)}."] * bool(fixed(runs))
    known = any(best.low == best.low for name in names for best in best_of_each(runs, name))
    said = "Each value is shown at the best of the other numbers, chosen by the same scores"
    said += ", with its 95% interval (Student's t)" * known + "."
    said += " Values are told apart by Welch's t, with Holm's correction for their number." * known
    zero = "a random policy's" if runs.env.iloc[0] in SCALES else "the worst combination's"
    said += f" *Nearly as good* means that at most {NEAR:.0%} of the way from {zero} score to the best is lost."
    return "\n\n".join([*parts, said + (f" {diverged} agents diverged." if diverged else "")])


def choices_in_words(table: pd.DataFrame, runs: pd.DataFrame, steps: int) -> str:
    """The table of `choices` as Markdown, what explains most first, and what it shows. runs: the agents."""
    lines = [("choice", "variance explained", "level", "agents", *(f"{100 * q:g}% quantile" for q in QUANTILES))]
    for _, rows in sorted(table.groupby("choice", sort=False), key=lambda pair: -float(pair[1].explained.iloc[0])):
        for place, row in enumerate(rows.to_dict("records")):
            first = ("", "") if place else (f"`{row['choice']}`", spanned(row, "explained", "{:.3f}"))
            quantiles = (spanned(row, f"q{q:g}") for q in QUANTILES)
            lines.append((*first, str(row["level"]), str(row["agents"]), *quantiles))
    diverged, silent = int(runs.diverged.notna().sum()), int(runs.score.isna().sum())
    none = f" {silent} agents ended no episode and count as the worst." if silent else ""
    said = f"{len(runs):,} agents with random flags and numbers, {steps:,} steps each. {CHOICES}"
    return f"{markdown(lines)}\n\n{said} {diverged} agents diverged.{none}"


CHOICES = """\
The score is the area under the curve. Quantiles of the scores of all agents with this level, and the share of the \
variance of all scores that the choice explains alone (ω²), with 95% intervals, bootstrapped over sets of flags. A \
flag is judged among the agents that have what it needs, and a trick's number among those that have the trick."""

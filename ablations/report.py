"""The table of a design: a row an arm."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import gymnasium as gym
import numpy as np
import pandas as pd

from ablations.stats import area, interval, late, on_grid
from ablations.store import Result
from tricks.ladder import Tricks


@dataclass(frozen=True)
class Trained:
    """An arm with what came of it: the learning rate, and the results of its blocks of seeds."""

    tricks: Tricks
    lr: float
    tuned: str  # how the rate was chosen, where that was not for this budget
    results: list[Result]

    @property
    def diverged(self) -> dict[int, int]:
        return {seed: step for result in self.results for seed, step in result.about["diverged"]}

    @property
    def curve(self) -> pd.DataFrame:
        """The learning curves of all seeds."""
        return pd.concat([result.curve for result in self.results])

    def grid(self, steps: int) -> pd.DataFrame:
        """Returns on the common grid of steps, a row a seed."""
        return on_grid(self.curve, steps, self.diverged)

    @property
    def speed(self) -> float:
        """Environment steps a second of one worker, all its seeds together."""
        about = [result.about for result in self.results]
        return sum(a["steps"] for a in about) / sum(a["seconds"] for a in about)


def table(arms: dict[str, Trained], env: str, steps: int) -> pd.DataFrame:
    """A row an arm: learning rate, area under the curve with its 95% interval, last 10%, share solved, speed.

    A seed has solved the environment if its last 10% reach Gymnasium's own threshold; NaN where there is none.
    """
    threshold = gym.spec(env).reward_threshold
    rows = []
    for name, trained in arms.items():
        grid = trained.grid(steps)
        areas, ends = area(grid).to_numpy(), late(trained.curve, steps, trained.diverged).to_numpy()
        low, high = interval(areas)
        rows.append(
            {
                "rung": name,
                "lr": trained.lr,
                "tuned": trained.tuned,
                "area": areas.mean(),
                "area_low": float(low),
                "area_high": float(high),
                "last_10%": ends.mean(),
                "solved": np.nan if threshold is None else (ends >= threshold).mean(),
                "diverged": len(trained.diverged),
                "seeds": len(grid),
                "steps_per_second": trained.speed,
            }
        )
    return pd.DataFrame(rows)


def as_text(frame: pd.DataFrame, env: str) -> str:
    """The table as Markdown, which also reads well in a terminal."""
    threshold = gym.spec(env).reward_threshold
    solved = f"solved (≥ {threshold:g})" if threshold is not None else "solved"
    lines = [("rung", "learning rate", "area under the curve", "last 10%", solved, "steps/s")]
    for row in frame.to_dict("records"):
        span = f" [{row['area_low']:.1f}, {row['area_high']:.1f}]" if np.isfinite(row["area_low"]) else ""
        lines.append(
            (
                row["rung"] + (f" ({row['diverged']} diverged)" if row["diverged"] else ""),
                f"{row['lr']:g}" + (f" ({row['tuned']})" if row["tuned"] else ""),
                f"{row['area']:.1f}{span}" if np.isfinite(row["area"]) else "no episode ended",
                f"{row['last_10%']:.1f}" if np.isfinite(row["last_10%"]) else "no episode ended",
                f"{row['solved']:.0%}" if np.isfinite(row["solved"]) else "no threshold",
                f"{row['steps_per_second']:,.0f}",
            )
        )
    return markdown(lines)


def markdown(lines: Sequence[tuple[str, ...]]) -> str:
    """A Markdown table of a head and rows of cells, its columns aligned."""
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    text = ["| " + " | ".join(c.ljust(w) for c, w in zip(line, widths, strict=True)) + " |" for line in lines]
    text.insert(1, "|" + "|".join("-" * (w + 2) for w in widths) + "|")
    return "\n".join(text)


def caption(frame: pd.DataFrame, env: str, steps: int, dropped: dict[str, str]) -> str:
    """What the table shows, in words."""
    text = f"{env}, {frame.seeds.max()} seeds, {steps:,} steps a seed. Area under the curve: mean return over training"
    text += ", with the 95% bootstrap interval of its mean over seeds." if frame.area_low.notna().any() else "."
    text += " Last 10%: mean return of the episodes that ended in the last 10% of the steps."
    if frame.solved.notna().any():
        text += " Solved: share of seeds whose last 10% reach Gymnasium's threshold."
    text += " Steps/s: environment steps a second of one worker, all its seeds together."
    text += " Whole episodes make larger batches than segments do, and so fewer updates within the same steps."
    text += "".join(f" Dropped: {name} ({reason})." for name, reason in dropped.items())
    return text


def save(frame: pd.DataFrame, text: str, path: Path) -> list[Path]:
    """Write the table as CSV and as Markdown."""
    paths = [path.with_suffix(".csv"), path.with_suffix(".md")]
    frame.to_csv(paths[0], index=False, float_format="%.6g")
    paths[1].write_text(text + "\n", encoding="utf-8")
    return paths

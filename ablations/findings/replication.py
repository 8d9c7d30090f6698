"""Effects that ten seeds had shown, and how they came out on other seeds, before the protocol and under it."""

from collections.abc import Iterable
from typing import NamedTuple

import pandas as pd

from ablations.figures.style import signed
from ablations.report.markup import plain
from ablations.report.tables import markdown


class Earlier(NamedTuple):
    """An effect that was claimed from ten seeds, each arm at a rate of a grid of four."""

    trick: str
    env: str
    design: str
    first: str
    """The difference then; empty if it was not written down."""
    rerun: str
    """The difference on other seeds, before the protocol."""


EARLIER = (
    Earlier("clip", "CartPole-v1", "ladder", "", "+0.12 [+0.05, +0.20]"),
    Earlier("bootstrap", "CartPole-v1", "ladder", "", "+0.10 [+0.04, +0.17]"),
    Earlier("advantage_norm", "CartPole-v1", "ladder", "", "+0.04, then +0.09"),
    Earlier("segments", "Acrobot-v1", "ladder", "+0.08", "+0.04 [+0.02, +0.07]"),
    Earlier("return_norm", "Acrobot-v1", "leave-one-out", "+0.17", "+0.12 [-0.02, +0.27]"),
    Earlier("advantage_norm", "Pendulum-v1", "ladder", "-0.15", "-0.07 [-0.19, +0.04]"),
)


def replication_text(effects: pd.DataFrame) -> str:
    """The earlier effects beside today's, as Markdown. effects: rows of `effects`, of all designs and environments."""
    heads = ("ten seeds, then", "rerun, then", "seeds 30 to 59", "seeds 60 to 89", "verdict")
    lines = [("trick", "environment", "design", *heads)]
    for each in EARLIER:
        asked = (effects.trick == each.trick) & (effects.env == each.env) & (effects.design == each.design)
        for row in effects[asked].to_dict("records"):
            ours = _span(row[name] for name in ("difference", "low", "high"))
            again = "" if pd.isna(row["again"]) else _span(row[f"again{end}"] for end in ("", "_low", "_high"))
            where = (f"`{each.trick}`", plain(each.env), each.design)
            lines.append((*where, each.first, each.rerun, ours, again, row["verdict"]))
    return markdown(lines)


def _span(numbers: Iterable[float]) -> str:
    middle, low, high = (signed(x) for x in numbers)
    return f"{middle} [{low}, {high}]"

"""Cases of an attack, tried one after the other, and every failure that they find."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis.strategies import SearchStrategy

T = TypeVar("T")
EACH = settings(deadline=None, database=None, suppress_health_check=list(HealthCheck), phases=[Phase.generate])


@dataclass
class Tally:
    """How many cases were tried, and those that failed, by the message without its numbers, paths, and quoted words."""

    kind: str
    tried: int = 0
    failed: dict[str, list[object]] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """A table: kind, tried, failed, then each failure with how often it came and the first case."""
        lines = [f"{self.kind:<24}{self.tried:>8} tried{sum(map(len, self.failed.values())):>6} failed"]
        for message, cases in sorted(self.failed.items(), key=lambda item: -len(item[1])):
            lines.append(f"{len(cases):>8}  {message}\n          first: {cases[0]}")
        return "\n".join(lines)


def attacked(kind: str, cases: SearchStrategy[T], attack: Callable[[T], str], count: int) -> Tally:
    """Try `count` cases, the same ones in every run. attack: returns how a case breaks the law, or an empty string."""
    tally = Tally(kind)

    @seed(0)
    @settings(EACH, max_examples=count)
    @given(cases)
    def each(case: T) -> None:
        tally.tried += 1
        if message := attack(case):
            alike = re.sub(r"'[^']*'", "'...'", re.sub(r"/\S+", "PATH", re.sub(r"\d+", "N", message)))
            tally.failed.setdefault(alike, []).append(case)

    each()
    return tally

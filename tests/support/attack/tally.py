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
    """How many cases of a kind were tried, and what failed: per kind of message, how often, and the first case.

    Messages are of one kind if they differ only in numbers, paths, and quoted words.
    """

    kind: str
    tried: int = 0
    failed: dict[str, tuple[int, object]] = field(default_factory=dict)

    def note(self, case: object, message: str) -> None:
        """Count a case. message: how it broke the law, or empty if it kept it."""
        self.tried += 1
        if message:
            alike = re.sub(r"'[^']*'", "'...'", re.sub(r"/\S+", "PATH", re.sub(r"\d+", "N", message)))
            count, first = self.failed.get(alike, (0, case))
            self.failed[alike] = count + 1, first

    @property
    def text(self) -> str:
        """A table: kind, tried, passed, then each failure with how often it came and the first case."""
        failures = sum(count for count, _ in self.failed.values())
        lines = [f"{self.kind:<24}{self.tried:>8} tried{self.tried - failures:>8} passed{failures:>6} failed"]
        for message, (count, first) in sorted(self.failed.items(), key=lambda item: -item[1][0]):
            lines.append(f"{count:>8}  {message}\n          first: {first}")
        return "\n".join(lines)


def attacked(kind: str, cases: SearchStrategy[T], attack: Callable[[T], str], count: int) -> Tally:
    """Try `count` cases, the same ones in every run. attack: returns how a case breaks the law, or an empty string."""
    tally = Tally(kind)

    @seed(0)
    @settings(EACH, max_examples=count)
    @given(cases)
    def each(case: T) -> None:
        tally.note(case, attack(case))

    each()
    return tally

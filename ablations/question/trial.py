"""A trial: a place where a trick should matter, the flags around it, and the direction of its effect."""

from dataclasses import dataclass
from typing import Literal, NamedTuple

from tricks.config import Config
from tricks.ladder import Tricks, switched


class Dose(NamedTuple):
    """A trial at one dose of what should make the trick matter."""

    size: float
    config: Config  # environment, budget and numbers; whoever runs the trial sets its seeds and its lr
    best: float = 1  # the best possible score, so that effects in different worlds are compared as shares of it


@dataclass(frozen=True)
class Trial:
    """A claim about a trick: what it does in a world made for it, or in a classic one with numbers chosen for it.

    With several doses, the claim is about the last one, and that the effect grows from dose to dose. A trial may also
    predict that the trick does nothing there.
    """

    trick: str  # the flag that the two arms differ in
    others: tuple[str, ...]  # the flags that both arms have
    doses: tuple[Dose, ...]  # the one that should matter least first
    predicted: Literal[1, 0, -1]  # which way the score should go with the trick: 1 up, -1 down, 0 nowhere
    reason: str  # why, in one sentence
    varied: str = ""  # what the doses differ in, such as `loan`
    score: Literal["area", "late"] = "area"  # the area under the curve, or the last 10% of it
    rate: float | None = None  # the learning rate of both arms; None: each arm's own best
    rate_reason: str = ""  # why the rate is given, if it is
    margin: float = 0.05  # where 0 is predicted, the 95% interval should be within it, a share of the best score

    @property
    def config(self) -> Config:
        """The setting at the largest dose."""
        return self.doses[-1].config

    @property
    def env(self) -> str:
        return self.config.env

    @property
    def without(self) -> Tricks:
        return switched(self.others)

    @property
    def having(self) -> Tricks:
        return switched([*self.others, self.trick])

"""What a suite is: environments, at which budget and numbers, over how many seeds, and which designs."""

from dataclasses import dataclass

from tricks.config import Config

REPORTED = "30:60"  # seeds 0 to 29 were looked at while the designs and the statistics were made


@dataclass(frozen=True)
class Setting:
    """An environment with its budget and numbers, and how many seeds are reported by default."""

    config: Config
    seeds: str = REPORTED
    fixed: bool = False
    """Whether every arm runs at the config's learning rate instead of its own from `learning_rates.csv`."""
    more: tuple[str, ...] = ()
    """Designs that are trained here by default in addition to the suite's."""
    designs: tuple[str, ...] = ()
    """Designs that are trained here by default instead of the suite's."""


@dataclass(frozen=True)
class Suite:
    """Settings, and the designs that are trained in all of them by default."""

    settings: tuple[Setting, ...]
    designs: tuple[str, ...] = ("ladder",)
    beyond: tuple[str, ...] = ()
    """The tricks from beyond the ladder that its designs on those are about; empty: all of them."""

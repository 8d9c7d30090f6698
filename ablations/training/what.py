"""What a command line asks to train: which designs' arms, and where."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from ablations.design.designs import DESIGNS
from ablations.training.gpus import Device

ABOUT_DESIGNS = (
    f"Which combinations of flags: {', '.join(DESIGNS)}, or several of them, separated by commas "
    "(default: the suite's own, or ladder)."
)


@dataclass(frozen=True)
class What:
    """Which arms to train, and where."""

    suite: str = ""
    """cartpole, classic, beyond, pixels, published, mujoco or worlds."""
    env: str = ""
    """Any Gymnasium id; with --suite, one of its environments (default: all of the suite's, or CartPole-v1)."""
    backend: str = "auto"
    """The backend that steps the environment of --env: auto, gymnasium, processes, tensor or envpool."""
    design: Annotated[str, ABOUT_DESIGNS] = ""
    tricks: str = ""
    """The tricks that the design is about, such as clip,gae,entropy (default: all; required for a factorial)."""
    steps: int = 0
    """Budget of environment steps per seed (0: the suite's, or 100,000)."""
    device: Device = "cpu"
    workers: int = 0
    """Number of worker processes (0: one per core, or one per GPU)."""
    out: Path = Path("runs/ablations")
    """Folder for results, tables and figures."""
    numbers: tuple[tuple[str, Any], ...] = ()
    """Numbers of `Config` that hold for all arms, in place of the suite's and the presets' own."""
    rates_file: Path | None = None
    """The table of rates that `tune` writes, beside this package's own (default: learning_rates.csv in --out)."""

    @property
    def designs(self) -> list[str]:
        return [name.strip() for name in self.design.split(",")] if self.design else []

    @property
    def own_rates(self) -> Path:
        return self.rates_file or self.out / "learning_rates.csv"

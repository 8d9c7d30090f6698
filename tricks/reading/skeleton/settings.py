"""The numbers of a run: the library's, with one learning rate, and seeds by their count."""

from dataclasses import dataclass

from tricks import config


@dataclass(frozen=True)
class Config(config.Config):
    """The environment, the budget and the hyperparameters."""

    env: str = "CartPole-v1"  # a Gymnasium id, or module:Id; observations are vectors or Discrete
    seeds: int = 10  # S: independent agents, seeds 0, 1, ..., trained at once
    lr: float = 1e-3  # Adam's learning rate

"""The numbers of a run. What is on or off stands in `Tricks`; how much of it, here."""

import math
from dataclasses import dataclass, fields

from tricks.errors import InputError

BACKENDS = ("auto", "gymnasium", "processes", "tensor", "envpool")
SHARES = ("gamma", "gae_lambda", "return_beta")  # numbers in [0, 1]; every other number must be more than 0 and finite
MAY_BE_ZERO = ("value_coef", "entropy_coef", "aux_epochs", "clone_coef")  # or 0, too, for these


@dataclass(frozen=True)
class Config:
    """A run's environment, seeds, budget and hyperparameters. Raises InputError for a number out of its range.

    A number that belongs to a trick (`epochs` to `reuse`, `gae_lambda` to `gae`, ...) is read only when that
    trick is on.
    """

    env: str = "CartPole-v1"
    """Any Gymnasium id, or module:Id, with Box or Discrete observations and Discrete or Box actions."""
    backend: str = "auto"
    """What steps the environment: gymnasium, processes (the same ids, every lane in a worker process), envpool
    (EnvPool's ids; extra `envpool`), tensor (the worlds of this project), or auto (tensor where there is a world,
    else gymnasium)."""
    device: str = "cpu"
    """Where the agents learn and the tensor worlds run: cpu, cuda, cuda:1, ..."""
    compile: bool = False
    """Compile a tensor world's rules with torch.compile: seconds at the start, fewer at every step."""
    reward_sign: bool = False
    """Learn from the sign of the reward (−1, 0 or 1); the curve shows the score all the same."""
    life_ends: bool = False
    """A lost life ends an episode, though the game goes on: for environments that report lives. ALE's games that have
    FIRE as their second action then begin each life with it."""
    seeds: int | tuple[int, ...] = 10
    """How many independent agents to train at once (seeds 0, 1, ...), or the seeds themselves."""
    steps: int = 100_000
    """Budget of environment steps for each seed."""
    lanes: int = 8
    """N: parallel environments of one seed."""
    horizon: int = 128
    """T: a segment's length; whole-episode batches have at least N·T steps."""
    lr: float | tuple[float, ...] = 1e-3
    """Adam's learning rate, for all seeds or one for each."""
    adam_eps: float = 1e-5
    """Adam's ε."""
    gamma: float = 0.99
    """Discount γ."""
    hidden: tuple[int, ...] = (64, 64)
    """Widths of the hidden layers (tanh) of the policy net and of the value net; images have layers of their own."""
    value_coef: float = 0.5
    """c₁, weight of the value loss (baseline)."""
    epochs: int = 4
    """Passes over each batch (reuse)."""
    minibatches: int = 4
    """Gradient steps per pass (reuse)."""
    clip_range: float = 0.2
    """ε of the clipped surrogate (clip)."""
    gae_lambda: float = 0.95
    """λ (gae)."""
    max_grad_norm: float = 0.5
    """Largest gradient norm (grad_clip)."""
    entropy_coef: float = 0.01
    """c₂, weight of the entropy bonus (entropy); public code uses 0.01 for discrete actions, 0 for continuous."""
    return_beta: float = 0.1
    """β, how far one batch moves the return statistics (return_norm)."""
    value_clip_range: float = 0.2
    """ε of the value clipping (value_clip), in the value net's own units."""
    value_clip_anneals: bool = False
    """Whether the value range falls with the clip range (value_clip, clip_anneal)."""
    aux_every: int = 8
    """N_π: updates between two auxiliary phases, whose data are all rollouts since the last one (ppg)."""
    aux_epochs: int = 6
    """E_aux: passes over them (ppg)."""
    clone_coef: float = 1.0
    """β_clone: weight of the divergence from the policy before the phase (ppg)."""
    policy_rollouts: int = 2
    """Rollouts that the policy learns from (ppg_buffers)."""
    policy_uses: int = 4
    """How often each of their rows is used at most (ppg_buffers)."""
    value_rollouts: int = 8
    """Rollouts that the value net, and the auxiliary phase, learn from (ppg_buffers)."""
    value_uses: int = 16
    """How often each of their rows is used at most by the value net (ppg_buffers)."""
    target_kl: float = 0.01
    """How far the policy may move from the one that played, as approx_kl in nats; a seed that is more than 1.5 times as
    far takes no further step in the batch (kl_stop)."""

    def __post_init__(self) -> None:
        for name in (f.name for f in fields(self) if f.type in (int, float)):
            number = getattr(self, name)
            if name in SHARES:
                if not 0 <= number <= 1:
                    raise InputError(f"{name} must lie in [0, 1], not {number}")
            elif name in MAY_BE_ZERO:
                if not 0 <= number < math.inf:
                    raise InputError(f"{name} must be at least 0 and finite, not {number}")
            elif not 0 < number < math.inf:
                raise InputError(f"{name} must be more than 0 and finite, not {number}")
        if any(width < 1 for width in self.hidden):
            raise InputError(f"hidden must be widths of at least 1, not {self.hidden}")
        if self.backend not in BACKENDS:
            raise InputError(f"unknown backend {self.backend!r}; the backends are {', '.join(BACKENDS)}")
        self._check_seeds()
        if len(self.rates) != len(self.seed_list):
            raise InputError(f"lr must be one number, or one for each of {len(self.seed_list)} seeds, not {self.lr}")
        if not all(0 < rate < math.inf for rate in self.rates):
            raise InputError(f"lr must be more than 0 and finite, not {self.lr}")

    def _check_seeds(self) -> None:
        if not self.seed_list:
            raise InputError(f"seeds must be a count of at least 1 or a list of seeds, not {self.seeds}")
        if len(set(self.seed_list)) < len(self.seed_list) or min(self.seed_list) < 0:
            raise InputError(f"seeds must differ and be at least 0, not {self.seeds}")

    @property
    def seed_list(self) -> tuple[int, ...]:
        """The seeds themselves, whether given as a count or one by one."""
        return tuple(range(self.seeds)) if isinstance(self.seeds, int) else tuple(self.seeds)

    @property
    def rates(self) -> tuple[float, ...]:
        """Each seed's learning rate."""
        return self.lr if isinstance(self.lr, tuple) else (self.lr,) * len(self.seed_list)


# What goes with the preset `atari`: openai/baselines' ppo2 for Atari. Schulman et al. 2017, arXiv:1707.06347, table 5,
# has 3 epochs and c₁ = 1
ATARI_CONFIG = Config(
    env="ALE/Breakout-v5",
    seeds=1,
    steps=10_000_000,
    lanes=8,
    horizon=128,
    lr=2.5e-4,
    clip_range=0.1,
    value_clip_range=0.1,
    reward_sign=True,
    life_ends=True,
    value_clip_anneals=True,
)

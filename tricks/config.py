"""The hyperparameters of a run. `Tricks` says what is on or off; `Config` says how much."""

from dataclasses import dataclass, field, fields, replace
from math import inf, isfinite
from typing import Any

from tricks.errors import InputError
from tricks.texts import as_texts, as_values, record_texts, wrapper_texts
from tricks.values import LONGEST, Checked, shown

PerSeed = float | tuple[float, ...]  # one for all seeds, or one for each
BACKENDS = ("auto", "gymnasium", "processes", "tensor", "envpool")
CHOICES = {"backend": BACKENDS, "activation": ("tanh", "relu"), "recurrent_cell": ("lstm", "gru")}
CHOICES |= {"kl_in": ("loss", "reward"), "kl_estimator": ("k1", "k2", "k3")}
Range = dict[str, Any]  # a field's metadata: what a number must be, in words and as a test
POSITIVE: Range = {"said": "positive and finite", "holds": lambda x: 0 < x < inf}  # unless a field says another range
SHARE: Range = {"said": "in [0, 1]", "holds": lambda x: 0 <= x <= 1}
OR_ZERO: Range = {"said": "at least 0 and finite", "holds": lambda x: 0 <= x < inf}
FINITE: Range = {"said": "finite", "holds": isfinite}
ABOVE_1: Range = {"said": "more than 1 and finite", "holds": lambda x: 1 < x < inf}


@dataclass(frozen=True)
class Config(Checked):
    """A run's environment, seeds, budget and hyperparameters. Raises InputError for a value of the wrong type or range.

    A number that belongs to a trick (`epochs` to `reuse`, `gae_lambda` to `gae`, ...) has no effect when that
    trick is off. A number that need not be whole may be a list with one for each seed: agents with different numbers
    then train side by side.
    """

    env: str = "CartPole-v1"
    """Any Gymnasium id, module:Id, or module:name of a class or function that makes it. Observations are Box, Discrete,
    MultiDiscrete, MultiBinary, or Dict and Tuple of these; actions are Discrete, MultiDiscrete, MultiBinary or Box."""
    backend: str = "auto"
    """What steps the environment: gymnasium, processes (the same ids, one worker process per lane), envpool
    (EnvPool's ids; needs the extra `envpool`), tensor (this project's worlds), or auto (tensor if the id is one of
    these worlds, otherwise gymnasium)."""
    env_args: tuple[str, ...] = ()
    """Arguments of the environment, one name=value each: gravity=-5. A value is a Python literal, or else a string. In
    Python, a dict will do: env_args={"gravity": -5}."""
    wrap: tuple[str, ...] = ()
    """Gymnasium wrappers, module:Wrapper or module:Wrapper(arguments) each, put around the environment in this
    order."""
    rescale_actions: bool = False
    """Let the policy act in [-1, 1], which is mapped to the bounds of Box actions."""
    stack: int = 1
    """K: the agent sees the last K observations. At the start of an episode, the first one stands for those before."""
    record: tuple[str, ...] = ()
    """Numbers in the environment's info that become columns of the curve: is_success,cost:sum,episode.r. Each is the
    mean over the episodes that ended in the update, and of an episode, what its last step gave; with :sum or :mean, the
    sum or the mean over its steps. An entry b of a dict a is a.b."""
    as_vector: bool = False
    """Take images as vectors, unless they are uint8 with their channels first, [C, H, W]. Otherwise, [H, W, C], [H, W],
    and images of floats in [0, 1] are recognized and go through convolutions, too."""
    device: str = "cpu"
    """Device for the agents and the tensor worlds: cpu, cuda, cuda:1, ..."""
    compile: bool = False
    """Compile a tensor world's rules with torch.compile, in about ten seconds. It slows CartPole down on a CPU."""
    reward_sign: bool = False
    """Learn from the sign of the reward (−1, 0 or 1). The curve still reports the full score."""
    life_ends: bool = False
    """Losing a life ends the episode but not the game; for environments that report lives. ALE games whose second
    action is FIRE then start each life with it."""
    seeds: int | tuple[int, ...] = 10
    """Number of independent agents to train at once (seeds 0, 1, ...), or a list of seeds."""
    steps: int = 100_000
    """Environment steps per seed, or up to a batch more, because the last batch is always completed."""
    imitate_steps: int = field(default=0, metadata=OR_ZERO)
    """Environment steps for which each seed first imitates the world's demonstrations, with a learning rate that falls
    from 0.01 to 0. They are no part of `steps`; kl_penalty's reference is what they lead to."""
    lanes: int = 8
    """N: parallel environments per seed."""
    horizon: int = 128
    """T: steps per segment; a batch of whole episodes has at least N·T steps, but under group_baseline one per lane."""
    episode_limit: int = 30_000
    """Longest episode allowed, in steps, wherever whole ones are played: in training without segments, in evaluations,
    and by play. (ALE's games end after 27,000.) A longer one stops its seed in training and is an error in play; an
    evaluation during training has no result for its seed."""
    lr: PerSeed = 1e-3
    """Adam's learning rate."""
    adam_eps: PerSeed = 1e-5
    """Adam's ε."""
    gamma: PerSeed = field(default=0.99, metadata=SHARE)
    """Discount γ."""
    hidden: tuple[int, ...] = (64, 64)
    """Widths of the hidden layers in the policy net and in the value net; not used for an image alone."""
    activation: str = "tanh"
    """Activation of these layers: tanh or relu."""
    log_std_init: PerSeed = field(default=0.0, metadata=FINITE)
    """Log standard deviation with which a Gaussian policy starts, for Box actions."""
    value_coef: PerSeed = field(default=0.5, metadata=OR_ZERO)
    """c₁: weight of the value loss, the mean of ½(V − target)² (baseline)."""
    epochs: int = 4
    """Passes over each batch (reuse)."""
    minibatches: int = 4
    """Gradient steps per pass (reuse)."""
    clip_range: PerSeed = 0.2
    """ε of the clipped surrogate (clip)."""
    gae_lambda: PerSeed = field(default=0.95, metadata=SHARE)
    """λ (gae)."""
    max_grad_norm: PerSeed = 0.5
    """Maximum gradient norm (grad_clip)."""
    entropy_coef: PerSeed = field(default=0.01, metadata=OR_ZERO)
    """c₂: weight of the entropy bonus (entropy). Public code uses 0.01 for discrete actions, 0 for continuous ones."""
    obs_decay: PerSeed = field(default=0.0, metadata=SHARE)
    """Share of their weight that all earlier observations lose with each batch (state_norm). With 0, every observation
    counts alike; with more, the statistics are a moving average."""
    return_beta: PerSeed = field(default=0.1, metadata=SHARE)
    """β: how far one batch moves the return statistics (return_norm)."""
    return_first_batch: bool = False
    """Start the return statistics with those of the first batch, not with μ = 0 and σ = 1, which small rewards take
    long to leave (return_norm). Take True; False is how the stored results began."""
    value_clip_range: PerSeed = 0.2
    """ε of the clipped value loss (value_clip), in the value net's own units."""
    value_clip_anneals: bool = False
    """Anneal the value range together with the clip range (value_clip, clip_anneal)."""
    aux_every: int = 8
    """N_π: updates between auxiliary phases. Each phase trains on all rollouts since the last one (ppg)."""
    aux_epochs: int = field(default=6, metadata=OR_ZERO)
    """E_aux: passes over these rollouts (ppg)."""
    clone_coef: PerSeed = field(default=1.0, metadata=OR_ZERO)
    """β_clone: weight of the KL divergence from the policy before the phase (ppg)."""
    aux_value_clip: bool = False
    """Clip the auxiliary value loss around the value net's old prediction, with the value clip range, which does not
    anneal there (ppg)."""
    policy_rollouts: int = 2
    """Number of recent rollouts that the policy trains on (ppg_buffers)."""
    policy_uses: int = 4
    """How many times the policy trains on each row, at most (ppg_buffers)."""
    value_rollouts: int = 8
    """Number of recent rollouts that the value net and the auxiliary phase train on (ppg_buffers)."""
    value_uses: int = 16
    """How many times the value net trains on each row, at most (ppg_buffers)."""
    target_kl: PerSeed = 0.01
    """How far the policy may move from the one that played, as approx_kl in nats. A seed that exceeds 1.5 times this
    takes no more steps on the batch (kl_stop)."""
    value_lr_factor: PerSeed = 1.0
    """The value net's learning rate, as a multiple of the policy's (separate_optimizers)."""
    max_value_grad_norm: PerSeed = 0.5
    """Maximum norm of the value net's own gradient, under grad_clip (separate_optimizers)."""
    value_epochs: int = 4
    """The value net's passes over each batch, if reuse is on and ppg_buffers is off; the policy makes `epochs` passes
    (separate_optimizers)."""
    dual_clip_limit: PerSeed = field(default=3.0, metadata=ABOVE_1)
    """c: ratios above it have no gradient where the advantage is negative (dual_clip)."""
    huber_delta: PerSeed = 1.0
    """δ: errors larger than this, in the value net's own units, cost linearly (huber)."""
    recurrent_size: int = 64
    """H: the width of the recurrent layer (recurrent)."""
    recurrent_cell: str = "lstm"
    """The recurrent layer: lstm or gru (recurrent)."""
    group: int = 8
    """G: how many lanes answer the same prompt; `lanes` is a multiple of it (group_baseline)."""
    clip_high: PerSeed = 0.28
    """ε_high: the ratio's upper limit is 1 + ε_high, and its lower one 1 − `clip_range` (clip_higher)."""
    kl_coef: PerSeed = field(default=0.04, metadata=OR_ZERO)
    """β: price of a nat between the policy and the reference (kl_penalty)."""
    kl_in: str = "loss"
    """Where the price is paid: loss, as a term of each row; or reward, of each step, before returns (kl_penalty)."""
    kl_estimator: str = "k3"
    """Its estimator: k1, k2 or k3 (kl_penalty). In the reward, k1 has the right gradient; in the loss, k2."""
    reply_divisor: PerSeed = field(default=0.0, metadata=OR_ZERO)
    """What the sum over a reply's rows is divided by, such as the longest reply allowed; 0: its own length
    (reply_mean)."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "env_args", as_texts(self.env_args))
        object.__setattr__(self, "wrap", (self.wrap,) if isinstance(self.wrap, str) else self.wrap)
        object.__setattr__(self, "record", (self.record,) if isinstance(self.record, str) else self.record)
        super().__post_init__()
        object.__setattr__(self, "wrap", wrapper_texts(self.wrap))
        object.__setattr__(self, "record", record_texts(self.record))
        self._check_seeds()
        for f in (f for f in fields(self) if f.type in (int, float, PerSeed)):
            given, allowed = getattr(self, f.name), f.metadata or POSITIVE
            for number in self.each(f.name) if isinstance(given, tuple) else (given,):
                if not allowed["holds"](number):
                    raise InputError(f"{f.name} must be {allowed['said']}, not {number}")
        if any(width < 1 for width in self.hidden):
            raise InputError(f"hidden widths must be at least 1, not {self.hidden}")
        for name, known in CHOICES.items():
            if (given := getattr(self, name)) not in known:
                raise InputError(f"unknown {name} {given!r}; there are {', '.join(known)}")

    def _check_seeds(self) -> None:
        if isinstance(self.seeds, int) and self.seeds > LONGEST:  # before the seeds are counted out
            raise InputError(f"seeds must be at most {LONGEST:,}, not {self.seeds}")
        if not self.seed_list:
            raise InputError(f"seeds must be a count of at least 1 or a list of seeds, not {self.seeds}")
        if len(set(self.seed_list)) < len(self.seed_list) or min(self.seed_list) < 0:
            raise InputError(f"seeds must be distinct and at least 0, not {shown(self.seeds)}")

    @property
    def seed_list(self) -> tuple[int, ...]:
        """The seeds as a tuple, whether `seeds` is a count or a list."""
        return tuple(range(self.seeds)) if isinstance(self.seeds, int) else self.seeds

    @property
    def env_kwargs(self) -> dict[str, Any]:
        """The environment's arguments by name."""
        return as_values(self.env_args)

    @property
    def rates(self) -> tuple[float, ...]:
        """The learning rate of each seed."""
        return self.each("lr")

    def each(self, name: str) -> tuple[float, ...]:
        """A number of each seed. Raises InputError if there are neither one nor as many as seeds."""
        number, count = getattr(self, name), len(self.seed_list)
        if not isinstance(number, tuple):
            return (number,) * count
        if len(number) != count:
            raise InputError(f"{name} must be one number or one for each of {count} seeds, not {shown(number)}")
        return number

    def only(self, k: int) -> "Config":
        """The config of the k-th seed alone."""
        own: dict[str, Any] = {f.name: self.each(f.name)[k] for f in fields(self) if f.type == PerSeed}
        return replace(self, seeds=(self.seed_list[k],), **own)


# The numbers of CleanRL's ppo.py and ppo_continuous_action.py; of stable-baselines3's PPO, whose value loss has no ½
CLEANRL_CONFIG = Config(steps=500_000, lanes=4, lr=2.5e-4)
CONTINUOUS_CONFIG = Config("HalfCheetah-v5", steps=1_000_000, lanes=1, horizon=2048, lr=3e-4)
CONTINUOUS_CONFIG = replace(CONTINUOUS_CONFIG, epochs=10, minibatches=32, value_epochs=10)
SB3_CONFIG = Config(lanes=1, horizon=2048, lr=3e-4, epochs=10, minibatches=32, value_epochs=10, value_coef=1.0)

# The numbers for the preset `atari`, from openai/baselines' ppo2. The paper itself (Schulman et al. 2017,
# arXiv:1707.06347, table 5) has 3 epochs, and c₁ = 1 on a loss without the ½: value_coef=2 here.
ATARI_CONFIG = Config("ALE/Breakout-v5", seeds=1, steps=10_000_000, lanes=8, horizon=128, lr=2.5e-4)
ATARI_CONFIG = replace(
    ATARI_CONFIG, clip_range=0.1, value_clip_range=0.1, reward_sign=True, life_ends=True, value_clip_anneals=True
)

# The numbers for the presets of language models, so far as the papers name them: Ahmadian et al. 2024 (a reply is one
# action); Shao et al. 2024, sec. 4.2; Liu et al. 2025 and their code (sail-sg/oat); Yu et al. 2025, sec. 4.1; Zheng et
# al. 2025, sec. 5.1. Group, batch and learning rate are ours, for a model that is a millionth of theirs: they have
# groups of 2 and 4, 64, 8, 16, and batches of 1,024 replies or more. A constant divisor only scales the loss.
LANGUAGE = Config(lanes=128, gamma=1.0)
LANGUAGE_CONFIGS = {
    "rloo": replace(LANGUAGE, kl_in="reward", kl_estimator="k1", reply_divisor=1.0),
    "grpo": replace(LANGUAGE, epochs=1, minibatches=1, kl_coef=0.04, kl_in="loss", kl_estimator="k3"),
    "dr_grpo": replace(LANGUAGE, epochs=1, minibatches=8, reply_divisor=32.0),
    "dapo": replace(LANGUAGE, epochs=1, minibatches=16, clip_range=0.2, clip_high=0.28),
    "gspo": replace(LANGUAGE, epochs=1, minibatches=4, clip_range=3e-4, clip_high=4e-4),
}

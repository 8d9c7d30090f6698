"""Collecting experience: one `Rollout` type, for whole episodes and for fixed-length segments."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any, ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor

from tricks.config import Config
from tricks.core.env import Env
from tricks.core.owners import Owner
from tricks.core.policies import DiagonalGaussian
from tricks.core.seeds import draw, later
from tricks.errors import InputError
from tricks.fast.dispatch import faster

Policy = Callable[[Any, Tensor], Tensor]  # obs [S, B, D] or their features, legal [S, B, A] -> logits [S, B, A]
ENDLESS = "an episode has not ended after {} steps; --episode-limit raises that limit"


@dataclass(frozen=True)
class Rollout:
    """Rows of experience [S, T, N, ...], and filler rows, in which a lane waits or is reset.

    Filler rows have valid False, reward 0, and weight 0 in every loss, statistic and step count; but one between two
    episodes of a game, as after a lost life, counts toward its score.
    """

    obs: Tensor  # [S, T+1, N, D] float32, or [S, T+1, N, C, H, W]: row t+1 follows row t, even at an end
    legal: Tensor  # [S, T, N, A] bool; [S, T, N, 1] for Box actions
    action: Tensor  # [S, T, N] int64, [S, T, N, K] int64 of K components, or [S, T, N, A] float32
    reward: Tensor  # [S, T, N] float64
    terminated: Tensor  # [S, T, N] bool: the episode reached a terminal state
    truncated: Tensor  # [S, T, N] bool: only a time limit ended the episode
    valid: Tensor  # [S, T, N] bool
    cut: Tensor  # [S, T, N] bool: the episode would go on, but no reward was collected beyond this row
    score: Tensor  # [S, T, N] float64: the reward as the game counts it
    over: Tensor  # [S, T, N] bool: the game ended, and its lane is reset next
    task: Tensor | None = None  # [S, T, N] int64: which of several tasks the row belongs to
    std: Tensor | None = None  # [S, T, N] float32: σ of a Gaussian policy, the mean over the action's dimensions
    clipped: Tensor | None = None  # [S, T, N] float32: share of these dimensions that the action space's bounds cut off
    record: Tensor | None = None  # [S, T, N, R] float64: the numbers of `Config.record`, NaN where there is none
    state: Tensor | None = None  # [S, N, 2, K]: that of recurrent nets before the first row, see `Sequences`
    faults: Mapping[int, str] = field(default_factory=dict)  # seeds without rows, because their environment failed

    @property
    def done(self) -> Tensor:
        """Rows that end an episode, in whatever way: [S, T, N] bool."""
        return self.terminated | self.truncated

    def trimmed(self) -> "Rollout":
        """Without the rows at the end that are experience of no seed; at least one row is left."""
        rows = torch.arange(1, self.valid.shape[1] + 1, device=self.valid.device) * self.valid.any(2).any(0)
        length = max(1, int(rows.max()))
        columns = [(name, x) for name, x in vars(self).items() if isinstance(x, Tensor) and name != "state"]
        shorter: dict[str, Any] = {name: x[:, : length + (name == "obs")] for name, x in columns}
        return replace(self, **shorter)


class Batch(SimpleNamespace):
    """A table of rows, one column per quantity: [S, B, ...] each. The first four always exist; others are added."""

    obs: Any  # [S, B, D] float32, or [S, B, C, H, W]; for recurrent nets, `Sequences` of these
    legal: Tensor  # [S, B, A] bool
    action: Tensor  # [S, B] int64, [S, B, K] int64, or [S, B, A] float32
    valid: Tensor  # [S, B] bool: experience, not filler
    advantage: Tensor  # [S, B] float32: the weight of the row's log-probability
    task: Tensor | None = None  # [S, B] int64: which of several tasks the row belongs to
    _value_rows = None

    @classmethod
    def of(cls, rollout: Rollout) -> "Batch":
        """The rows of a rollout, [S, T*N, ...]."""
        batch = cls()
        batch.add(obs=rollout.obs[:, :-1], legal=rollout.legal, action=rollout.action, valid=rollout.valid)
        if rollout.task is not None:
            batch.add(task=rollout.task)
        return batch

    @property
    def columns(self) -> dict[str, Tensor]:
        return {name: column for name, column in vars(self).items() if isinstance(column, Tensor)}

    @property
    def value_rows(self) -> "Batch":
        """The rows that the value net learns from: these, unless it has others of its own."""
        return self._value_rows or self

    @value_rows.setter
    def value_rows(self, rows: "Batch") -> None:
        self._value_rows = rows

    def add(self, **columns: Tensor) -> None:
        """Add columns given as [S, T, N, ...]."""
        vars(self).update({name: column.flatten(1, 2) for name, column in columns.items()})  # [S, T*N, ...]


class Player:
    """Steps the lanes of an Env with a policy and records the rows. Noise is drawn one block of rows at a time."""

    OWNERS: ClassVar[dict[str, Owner]] = {"rollouts": "seed"}

    def __init__(self, env: Env, block: int, purpose: str = "action", limit: int = Config.episode_limit) -> None:
        self.env, self.block, self.purpose, self.limit, self._row = env, block, purpose, limit, 0
        self.rollouts = (0,) * len(env.seeds)  # where the stream of each seed is
        self.family = env.spaces.family
        self.state: Any = None  # a `RecurrentState`, of recurrent agents
        self._rows: list[tuple[Tensor, ...]] = []
        self._logits, self._records = list[Tensor](), list[Tensor]()  # the former of a Gaussian policy

    @torch.inference_mode()
    def step(self, policy: Policy, playing: Tensor) -> None:
        """Collect one row from the lanes `playing` [S, N]."""
        env, family, now = self.env, self.family, self.env.now
        start, row = divmod(self._row, self.block)
        if row == 0:
            shape = (self.block, env.lanes, env.spaces.actions)
            noise = draw(env.seeds, self.purpose, self.rollouts, start, by=lambda rng: family.noise(rng, shape))
            self._noise = noise.to(now.obs.device, non_blocking=True).unbind(1)
        logits = policy(now.obs if self.state is None else self.state.look(), now.legal)
        action = family.sample(logits, self._noise[row])
        if not env.spaces.discrete:
            self._logits.append(logits)
        step = env.step(family.played(action), playing.any(1))
        self._row += 1
        if step.record is not None:
            self._records.append(step.record)
        outcome = step.reward, step.terminated, step.truncated, step.score, step.over
        self._rows.append((now.obs, now.legal, action, *outcome, playing, now.resetting, now.over))

    def rollout(self, last: bool = True, endless: Sequence[int] = ()) -> Rollout:
        """The rows since the last call. Seeds with something invalid in them have a fault and no rows.

        So do the seeds with the indices `endless`, whose games are longer than the limit. Unless `last`, more rows of
        the same rollout follow, with the noise that is left. Raises InputError if every seed has a fault.
        """
        shown, *rest = zip(*self._rows, strict=True)
        obs = torch.stack([*shown, self.env.now.obs], 1)  # [S, T+1, N, ...]
        std = DiagonalGaussian.std(torch.stack(self._logits, 1)) if self._logits else None
        records = torch.stack(self._records, 1) if self._records else None
        self._rows, self._logits, self._records = [], [], []
        return self.recorded(obs, [torch.stack(x, 1) for x in rest], std, records, last, endless)

    def recorded(
        self, obs: Tensor, columns: Sequence[Tensor], std: Tensor | None, record: Tensor | None = None,
        last: bool = True, endless: Sequence[int] = (),
    ) -> Rollout:  # fmt: skip
        """The rollout of rows as `step` notes them: obs [S, T+1, N, ...], and the columns after it [S, T, N, ...]."""
        legal, action, reward, terminated, truncated, score, over, playing, resetting, between = columns
        valid, in_game = playing & ~resetting, playing & ~between
        over = over & in_game
        seeds, spaces = self.env.seeds, self.env.spaces
        found = {i: f"{ENDLESS.format(self.limit)} (seed {seeds[i]})" for i in endless}
        first = max(0, self._row - valid.shape[1])
        for i, (fault, row) in find_faults(obs, spaces.possible(legal), reward, valid).items():
            found[i] = f"{fault} (seed {seeds[i]}, step {first + row} of rollout {self.rollouts[i]})"
        faults = {seeds[i]: found[i] for i in sorted(found)}
        if len(faults) == len(seeds):
            raise InputError(f"{self.env.id}: {faults[seeds[0]]}")
        if found:
            sound = torch.ones(len(valid), 1, 1, dtype=torch.bool, device=valid.device)
            sound[list(found)] = False
            valid, in_game, over = valid & sound, in_game & sound, over & sound
        reward, score, terminated = torch.where(valid, reward, 0), torch.where(in_game, score, 0), terminated & valid
        truncated = truncated & valid & ~terminated  # termination wins over a time limit on the same step
        if last:
            self.rollouts, self._row = later(self.rollouts), 0
        obs.masked_fill_(~observed(valid).view(*obs.shape[:3], *(1,) * (obs.dim() - 3)), 0)
        cut = valid & ~(terminated | truncated)
        cut[:, :-1] = False
        state = self.state.end_rollout() if self.state is not None else None
        record = record if record is None else record.masked_fill(~in_game.unsqueeze(-1), torch.nan)
        task, clipped = spaces.task(obs[:, :-1]), spaces.clip_share(self.family.played(action))
        played = {"obs": obs, "legal": legal, "action": action, "reward": reward, "score": score, "valid": valid}
        ends = {"terminated": terminated, "truncated": truncated, "cut": cut, "over": over}
        return Rollout(**played, **ends, task=task, std=std, clipped=clipped, record=record, state=state, faults=faults)

    def overlong(self) -> list[int]:
        """The indices of the seeds that have played more than `limit` steps of a game since the last rollout."""
        if len(self._rows) <= self.limit:
            return []
        playing, _, between = (torch.stack(x, 1) for x in list(zip(*self._rows, strict=True))[-3:])  # [S, T, N]
        steps = (playing & ~between).cumsum(1)
        earlier = torch.where(between, steps, 0).cummax(1).values  # steps before the game in flight
        overlong: list[int] = (steps - earlier > self.limit).nonzero()[:, 0].unique().tolist()
        return overlong

    def state_dict(self) -> dict[str, Tensor]:
        return {"rollouts": torch.tensor(self.rollouts)}

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        self.rollouts = tuple(state["rollouts"].tolist())


def observed(valid: Tensor) -> Tensor:
    """Which observations [S, T+1, N] a valid row [S, T, N] starts or ends with."""
    return F.pad(valid, (0, 0, 0, 1)) | F.pad(valid, (0, 0, 1, 0))


def find_faults(obs: Tensor, possible: Tensor, reward: Tensor, valid: Tensor) -> dict[int, tuple[str, int]]:
    """The first fault in the valid rows of each seed that has one, and its row, by the seed's index.

    obs [S, T+1, N, ...]; reward, valid, and possible, whether there is a legal action, [S, T, N].
    """
    checks = {}
    if obs.is_floating_point():  # uint8 is always finite
        checks["the observation is not finite"] = observed(valid) & ~obs.flatten(3).isfinite().all(-1)
    checks["the reward is not finite"] = valid & ~reward.isfinite()
    checks["the action mask leaves no legal action"] = valid & ~possible
    found: dict[int, tuple[str, int]] = {}
    for fault, bad in checks.items():
        for i, row in bad.any(-1).nonzero().tolist() if bad.any() else ():
            found[i] = min(found.get(i, (fault, row)), (fault, row), key=lambda each: each[1])
    return found


@faster("tricks.fused.playing")
def play_episodes(player: Player, policy: Policy, rows: int, active: Tensor) -> Rollout:
    """Play whole episodes, back to back, until each active seed [S] has `rows` rows of experience or more.

    A seed with a game of more than `player.limit` steps gets a fault instead of rows.
    """
    player.env.reset()
    playing = active.unsqueeze(1).expand(-1, player.env.lanes)
    count = torch.zeros_like(active, dtype=torch.int64)
    patience = 2 * rows // player.env.lanes + 2 + player.limit  # at most every second row is a reset
    while playing.any() and patience > 0:  # a game that is still going on then is longer than the limit
        before = player.env.now.over
        count += (playing & ~player.env.now.resetting).sum(1)
        player.step(policy, playing)
        between = player.env.now.over | before  # lanes whose game has just ended, or that are being reset
        playing = playing & ~(between & (count >= rows).unsqueeze(1))
        patience -= 1
    endless = player.overlong()
    rollout = player.rollout(endless=endless)
    return rollout.trimmed() if endless else rollout

"""What was played: one `Rollout`, whether the lanes played whole episodes or fixed-length segments."""

from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from types import SimpleNamespace

import torch
import torch.nn.functional as F
from torch import Tensor

from tricks.config import Config
from tricks.core.env import Env
from tricks.core.seeds import draw
from tricks.core.spaces import Spaces
from tricks.errors import InputError

Policy = Callable[[Tensor, Tensor], Tensor]  # obs [S, B, D], legal [S, B, A] -> logits [S, B, A]


@dataclass(frozen=True)
class Rollout:
    """Rows of experience [S, T, N, ...], and rows that are none: a lane that waits, a lane that is being reset.

    Those have valid False, weight 0 in every loss, statistic and step count, and reward 0. What is learned from and
    what is reported are two things: where `Config.life_ends`, a lost life terminates an episode, but the game is not
    over, and what the game pays in the row between two of its episodes is part of its score.
    """

    obs: Tensor  # [S, T+1, N, D] float32, or [S, T+1, N, C, H, W] uint8: row t+1 is what followed row t, also at an end
    legal: Tensor  # [S, T, N, A] bool; [S, T, N, 1] for Box actions
    action: Tensor  # [S, T, N] int64 or [S, T, N, A] float32
    reward: Tensor  # [S, T, N] float64
    terminated: Tensor  # [S, T, N] bool: the episode ended in itself
    truncated: Tensor  # [S, T, N] bool: a time limit ended it, and nothing else
    valid: Tensor  # [S, T, N] bool
    score: Tensor  # [S, T, N] float64: the reward as the game counts it
    over: Tensor  # [S, T, N] bool: the game ended, and its lane is reset next

    @property
    def cut(self) -> Tensor:
        """Rows after which the episode goes on, unseen: the last of a segment. [S, T, N] bool."""
        cut = torch.zeros_like(self.valid)
        cut[:, -1] = self.valid[:, -1] & ~(self.terminated | self.truncated)[:, -1]
        return cut


class Batch(SimpleNamespace):
    """Rows side by side, [S, B, ...] each: obs, legal, action, valid, and what the tricks add."""

    @classmethod
    def of(cls, rollout: Rollout) -> "Batch":
        batch = cls()
        batch.add(obs=rollout.obs[:, :-1], legal=rollout.legal, action=rollout.action, valid=rollout.valid)
        return batch

    def add(self, **columns: Tensor) -> None:
        """Add columns given as [S, T, N, ...]."""
        for name, column in columns.items():
            setattr(self, name, column.flatten(1, 2))  # [S, T*N, ...]


class Player:
    """Steps the lanes of an Env with a policy and keeps what it saw. Noise is drawn a block of rows at a time."""

    def __init__(self, env: Env, block: int, purpose: str = "action") -> None:
        self.env, self.block, self.purpose, self.rollouts, self._row = env, block, purpose, 0, 0
        self._rows: list[tuple[Tensor, ...]] = []

    @torch.inference_mode()
    def step(self, policy: Policy, playing: Tensor) -> tuple[Tensor, Tensor]:
        """One row. playing [S, N] are the lanes that play; returns which are experience, and which games are over."""
        env, family = self.env, self.env.spaces.family
        start, row = divmod(self._row, self.block)
        if row == 0:
            shape = (self.block, env.lanes, env.spaces.actions)
            index = (self.rollouts, start)
            noise = draw(env.seeds, self.purpose, *index, by=lambda rng: family.noise(rng, shape))
            self._noise = noise.to(env.now.obs.device, non_blocking=True)
        now = env.now
        valid, in_game = playing & ~now.resetting, playing & ~now.over
        action = family.sample(policy(now.obs, now.legal), self._noise[:, row])
        step = env.step(action, playing.any(1))
        over = step.over & in_game
        self._row += 1
        earned = step.reward, step.terminated, step.truncated, step.score
        self._rows.append((now.obs, now.legal, action, *earned, valid, in_game, over))
        return valid, over

    def rollout(self, last: bool = True) -> Rollout:
        """The rows since the last call. Raises InputError if the environment gave something impossible.

        If they are not the `last` of their rollout, the noise goes on where it was.
        """
        shown, *rest = zip(*self._rows, strict=True)
        obs = torch.stack([*shown, self.env.now.obs], 1)  # [S, T+1, N, ...]
        legal, action, reward, terminated, truncated, score, valid, in_game, over = (torch.stack(x, 1) for x in rest)
        reward, score, terminated = torch.where(valid, reward, 0), torch.where(in_game, score, 0), terminated & valid
        truncated = truncated & valid & ~terminated  # a death that falls on the time limit is a death
        rollout = Rollout(obs, legal, action, reward, terminated, truncated, valid, score, over)
        seen = _seen(valid)
        self._check(rollout, seen)
        self._rows = []
        if last:
            self.rollouts, self._row = self.rollouts + 1, 0
        obs.masked_fill_(~seen.view(*seen.shape, *(1,) * (obs.dim() - 3)), 0)
        return rollout

    def state_dict(self) -> dict[str, int]:
        """What is known between two rollouts: noise is drawn anew for each."""
        return {"rollouts": self.rollouts}

    def load_state_dict(self, state: dict[str, int]) -> None:
        self.rollouts = state["rollouts"]

    def _check(self, rollout: Rollout, seen: Tensor) -> None:
        faults = {
            "the reward is not finite": rollout.valid & ~rollout.reward.isfinite(),
            "the action mask leaves no legal action": rollout.valid & ~rollout.legal.any(-1),
        }
        if rollout.obs.is_floating_point():  # bytes are finite
            faults = {"the observation is not finite": seen & ~rollout.obs.isfinite().all(-1)} | faults
        for fault, bad in faults.items():
            if bad.any():
                i, row = bad.any(-1).nonzero()[0].tolist()
                raise InputError(
                    f"{self.env.id}: {fault} (seed {self.env.seeds[i]}, step {row} of rollout {self.rollouts})"
                )


def _seen(valid: Tensor) -> Tensor:
    """Which observations [S, T+1, N] some experience begins or ends with."""
    return F.pad(valid, (0, 0, 0, 1)) | F.pad(valid, (0, 0, 1, 0))


def rollout_bytes(config: Config, spaces: Spaces) -> int:
    """Bytes that the observations of one rollout take: S·(T+1)·N images of uint8, or vectors of float32.

    So of a segment; whole episodes take at least about as much.
    """
    rows = len(config.seed_list) * (config.horizon + 1) * config.lanes
    return rows * prod(spaces.shape) * (1 if spaces.pixels else 4)


def play_episodes(player: Player, policy: Policy, rows: int, active: Tensor) -> Rollout:
    """Whole episodes, back to back, until each active seed [S] has at least `rows` rows of experience.

    Then its lanes finish the episode in flight, and wait for the others.
    """
    player.env.reset()
    playing = active.unsqueeze(1).expand(-1, player.env.lanes)
    count = torch.zeros_like(active, dtype=torch.int64)
    while playing.any():
        before = player.env.now.over
        valid, over = player.step(policy, playing)
        count += valid.sum(1)
        between = over | before  # lanes that have just ended a game, or are being reset after one
        playing = playing & ~(between & (count >= rows).unsqueeze(1))
    return player.rollout()

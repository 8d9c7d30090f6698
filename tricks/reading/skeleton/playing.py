"""What was played: rows of experience, whether the lanes played whole episodes or fixed-length segments."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import NamedTuple

import torch
from torch import Tensor

from tricks.core.seeds import draw
from tricks.reading.skeleton.lanes import Lanes

Policy = Callable[..., Tensor]  # obs [S, B, D] -> logits [S, B, A]


class Rollout(NamedTuple):
    """Rows of every lane. Those that are no experience, since a lane waits or is being reset, are not valid."""

    obs: Tensor  # [S, T+1, N, D] float32: row t+1 is what followed row t, also at an end
    legal: Tensor  # [S, T, N, A] bool
    action: Tensor  # [S, T, N] int64 or [S, T, N, A] float32
    reward: Tensor  # [S, T, N] float64
    terminated: Tensor  # [S, T, N] bool: the episode ended in itself
    truncated: Tensor  # [S, T, N] bool: a time limit ended it
    valid: Tensor  # [S, T, N] bool

    @property
    def cut(self) -> Tensor:
        """Rows after which the episode goes on, unseen: the last of a segment. [S, T, N] bool."""
        cut = torch.zeros_like(self.valid)
        cut[:, -1] = self.valid[:, -1] & ~(self.terminated | self.truncated)[:, -1]
        return cut


class Batch(SimpleNamespace):
    """Rows side by side: columns [S, B, ...], such as obs, action, valid (no filling), and what a trick adds."""

    @classmethod
    def of(cls, rollout: Rollout) -> "Batch":
        """The rows of a rollout: [S, T, N, ...] -> [S, T*N, ...]."""
        batch = cls()
        batch.add(obs=rollout.obs[:, :-1], legal=rollout.legal, action=rollout.action, valid=rollout.valid)
        return batch

    @property
    def columns(self) -> dict[str, Tensor]:
        return vars(self)

    def add(self, **columns: Tensor) -> None:
        """Add columns given as [S, T, N, ...]."""
        vars(self).update({name: column.flatten(1, 2) for name, column in columns.items()})


class Player:
    """Steps the lanes with a policy and keeps what it saw. Noise is drawn a block of rows at a time."""

    def __init__(self, env: Lanes, block: int) -> None:
        self.env, self.block, self.rollouts = env, block, 0
        self.rows: list[tuple[Tensor, ...]] = []

    @torch.inference_mode()
    def step(self, policy: Policy, playing: Tensor) -> tuple[Tensor, Tensor]:
        """One row of the lanes that play, [S, N]; returns which of them are experience, and which end an episode."""
        env, family = self.env, self.env.spaces.family
        start, row = divmod(len(self.rows), self.block)
        if row == 0:
            shape = (self.block, env.lanes, env.spaces.actions)
            self.noise = draw(env.seeds, "action", self.rollouts, start, by=lambda rng: family.noise(rng, shape))
        obs, legal, valid = env.obs, env.legal, playing & ~torch.from_numpy(env.resetting)
        action = family.sample(policy(obs, legal), self.noise[:, row])
        reward, terminated, truncated = env.step(action, playing.any(1))
        self.rows.append((obs, legal, action, reward, terminated, truncated, valid))
        return valid, (terminated | truncated) & valid

    def rollout(self) -> Rollout:
        """The rows since the last call."""
        obs, *rest = zip(*self.rows, strict=True)
        legal, action, reward, terminated, truncated, valid = (torch.stack(x, 1) for x in rest)
        self.rows, self.rollouts, seen = [], self.rollouts + 1, torch.stack([*obs, self.env.obs], 1)
        reward, terminated = torch.where(valid, reward, 0), terminated & valid
        truncated = truncated & valid & ~terminated  # a death that falls on the time limit is a death
        return Rollout(seen, legal, action, reward, terminated, truncated, valid)


def play_episodes(player: Player, policy: Policy, rows: int, active: Tensor) -> Rollout:
    """Whole episodes, back to back, until each active seed [S] has at least `rows` rows of experience.

    Then its lanes finish the episode in flight, and wait for the others.
    """
    player.env.reset()
    playing = active.unsqueeze(1).expand(-1, player.env.lanes)
    count = torch.zeros_like(active, dtype=torch.int64)
    while playing.any():
        before = torch.from_numpy(player.env.resetting.copy())
        valid, over = player.step(policy, playing)
        count += valid.sum(1)
        between = over | before  # lanes that have just ended an episode, or are being reset after one
        playing = playing & ~(between & (count >= rows).unsqueeze(1))
    return player.rollout()

"""Games with random actions: how long they are, what they pay, and how fast they go."""

import time
from collections.abc import Iterator

import numpy as np
import torch
from gymnasium.spaces import Box
from torch import Tensor

from tricks.core.env import Env
from tricks.errors import InputError

PATIENCE = 5.0  # seconds


def at_random(env: Env, rng: torch.Generator) -> Tensor:
    """A legal action for each lane, all equally likely: [1, N], [1, N, K] or [1, N, A]. Unbounded numbers: normal.

    Raises InputError if there is none.
    """
    spaces, legal = env.spaces, env.now.legal
    if not spaces.possible(legal).all():
        raise InputError(f"{env.id}: the action mask leaves no legal action; at least one entry must be 1")
    if spaces.discrete:
        parts = legal.split(spaces.components, -1) if spaces.components else [legal]
        drawn = [torch.multinomial(part[0].double(), 1, generator=rng) for part in parts]  # [N, 1] each
        return torch.cat(drawn, -1).unsqueeze(0) if spaces.components else drawn[0].T
    space = spaces.action
    assert isinstance(space, Box)
    low, high = (torch.from_numpy(bound.astype(np.float32).ravel()) for bound in (space.low, space.high))
    if not space.is_bounded():
        return torch.randn(1, env.lanes, spaces.actions, generator=rng).clamp(low, high)
    corner = torch.randint(0, 4, (1, env.lanes, 1), generator=rng)  # the bounds themselves are tried, too
    share = torch.where(corner < 2, torch.rand(1, env.lanes, spaces.actions, generator=rng), corner - 2.0)
    return low * (1 - share) + high * share


class Games:
    """Random games in all lanes of one seed, equally many in each."""

    def __init__(self, env: Env) -> None:
        self.env, self.lengths, self.returns = env, list[int](), list[float]()
        self.cut, self.steps, self.total, self.seconds = 0, 0, 0.0, 0.0  # cut: how many a time limit ended

    def play(self, episodes: int) -> None:
        """Play so many whole games, or a few more, for a few seconds. Raises InputError for what teaches nothing."""
        env, rng, start = self.env, torch.Generator().manual_seed(1), time.perf_counter()
        env.reset()
        length, score, left = (
            np.zeros(env.lanes, int),
            np.zeros(env.lanes),
            np.full(env.lanes, -(-episodes // env.lanes)),
        )
        while left.any() and self.seconds < PATIENCE:
            real = ~env.now.over[0].numpy()  # the other lanes begin a game
            now = env.step(at_random(env, rng), torch.ones(1, dtype=torch.bool))
            reward, over = now.score[0].numpy(), now.over[0].numpy()
            for what, whole in {"reward": np.isfinite(reward).all(), "observation": now.obs.isfinite().all()}.items():
                if not whole:
                    raise InputError(f"{env.id}: the {what} of step() is not finite")
            length, score = np.where(real, length + 1, 0), np.where(real, score + reward, 0.0)
            counts = over & (left > 0)
            self.lengths += length[counts].tolist()
            self.returns += score[counts].tolist()
            self.cut += int((now.truncated & ~now.terminated)[0].numpy()[counts].sum())
            left = left - counts
            self.steps, self.total = self.steps + int(real.sum()), self.total + float(reward[real].sum())
            self.seconds = time.perf_counter() - start

    def told(self) -> Iterator[str]:
        """How long the games were, what they paid, and how fast they went."""
        if self.lengths:
            fewest, most, mean = min(self.lengths), max(self.lengths), np.mean(self.lengths)
            length = f"{fewest:,} steps each" if fewest == most else f"{fewest:,} to {most:,} steps (mean {mean:,.1f})"
            yield f"random games: {len(self.lengths)} of {length}; {self.cut} ended by a time limit"
            yield f"their returns: {min(self.returns):g} to {max(self.returns):g} (mean {np.mean(self.returns):.4g})"
        else:
            yield (
                f"random games: none ended in {self.steps:,} steps; evaluations and `play` need an end, and so does "
                "training without segments: --wrap 'gymnasium.wrappers:TimeLimit(1000)' sets one"
            )
            yield f"reward: {self.total / max(1, self.steps):.4g} per step"
        yield f"speed: {self.steps / max(self.seconds, 1e-9):,.0f} steps per second"

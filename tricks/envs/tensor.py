"""Worlds as environments: all lanes of all seeds in one step."""

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from tricks.config import Config
from tricks.core.env import Step
from tricks.core.machine import find_device
from tricks.core.owners import Owner, replaced
from tricks.core.seeds import draw, later
from tricks.core.spaces import Spaces
from tricks.worlds.world import World, everything_legal

BLOCK = 256  # steps whose random numbers are drawn at once
GOLDEN, *FACTORS = (x - 2**64 for x in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB))
SHIFTS = 30, 27, 31


def shared_chances(key: Tensor, group: Tensor, episode: Tensor, count: int) -> Tensor:
    """So many numbers in [0, 1) for the k-th episode of a group, whenever each of its lanes begins it.

    They are outputs of SplitMix64 with the seed's key as its state: the i-th one can be had without those before it.
    key [S], group [N], episode k [S, N] -> [S, N, count]. Steele, Lea & Flood 2014, 10.1145/2660193.2660195, fig. 17.
    """
    group = group.long()
    first = (episode * (group[-1] + 1) + group) * count  # [S, N]
    place = first.unsqueeze(-1) + torch.arange(1, count + 1, device=key.device)
    z = key.view(-1, 1, 1) + place * GOLDEN  # int64 wraps around
    for shift, factor in zip(SHIFTS, (*FACTORS, 1), strict=True):
        z = (z ^ (z >> shift & 2 ** (64 - shift) - 1)) * factor  # >> alone would copy the sign
    return (z >> 40 & 2**24 - 1).float() / 2**24


class TensorEnv:
    """S seeds × N lanes of a World, with NEXT_STEP autoreset.

    The random numbers of a step are the same whether or not a lane resets there; they depend only on the seed and on
    the number of steps and `reset` calls so far. So stepping a seed that isn't playing does no harm.
    """

    resumable = True
    OWNERS: ClassVar[dict[str, Owner]] = {
        "state": "lane",  # of which an episode's end keeps the carried features
        "age": "episode",
        "resetting": "episode",
        "episode": "lane",
        "resets": "seed",  # where the seed's stream is
        "t": "seed",
    }
    _state: Tensor
    _row: int  # where the present step is in the block of random numbers at hand
    _episode: Tensor  # [S, N]: the number of each lane's episode since the last `reset` call, in worlds with prompts

    def __init__(self, world: World, config: Config, purpose: str = "env") -> None:
        self.world, self.purpose = world, purpose
        self.id, self.lanes, self.seeds = world.id, config.lanes, config.seed_list
        self.spaces = Spaces(world.id, world.observation, world.action, world.tasks)
        self.masks = world.legal is not everything_legal
        rule = world.demonstrate  # log-probabilities of a demonstrator's next actions, [S, N, A]
        self.demonstrate = None if rule is None else lambda: rule(self._state)
        self.device = find_device(config.device)
        self._dynamics = torch.compile(world.dynamics, dynamic=False) if config.compile else world.dynamics
        width = self.spaces.actions if self.spaces.discrete else 1
        self._all = torch.ones(len(self.seeds), self.lanes, width, dtype=torch.bool, device=self.device)
        self._limit = world.time_limit or torch.iinfo(torch.int32).max
        self._group = torch.arange(self.lanes, device=self.device) // config.group  # [N]
        self._resets = (0,) * len(self.seeds)  # so many each seed has had
        self._begin(self._first_chances())

    def reset(self) -> Step:
        """Start a new episode in every lane; carried features keep their values."""
        self._resets = later(self._resets)
        carried = self._state[..., self._kept :]
        return self._begin(torch.cat([self._first_chances()[..., : self._kept], carried], -1))

    def _begin(self, state: Tensor) -> Step:
        self._state, self._kept = state, state.shape[-1] - self.world.carried  # features that a reset redraws
        self._wide = (*state.shape[:2], *(1,) * (state.dim() - 2))  # the shape of one number per lane, to go with it
        self._age = torch.zeros(state.shape[:2], dtype=torch.int32, device=self.device)
        self.now = Step.first(*self._shown())
        return self.now

    def step(self, action: Tensor, playing: Tensor) -> Step:
        """Step every lane, including those of seeds that aren't playing."""
        fresh, chance = self.next_chances()
        resetting = self.now.resetting
        going = ~resetting
        state, reward, terminated = self._dynamics(self._state, action, chance)
        score = self.world.score(self._state, reward).masked_fill(resetting, 0)
        reward = reward.masked_fill(resetting, 0)
        if self.world.carried:  # carried features change only in lanes that take a step
            moving = (going & playing.unsqueeze(1)).unsqueeze(-1)
            carried = torch.where(moving, state, self._state)[..., self._kept :]
            state = torch.cat([state[..., : self._kept], carried], -1)
            fresh = torch.cat([fresh[..., : self._kept], carried], -1)
        age = (self._age + 1) * going
        state = torch.where(going.view(self._wide), state, fresh)
        return self.arrive(state, age, reward, terminated & going, age >= self._limit, score)

    def arrive(
        self, state: Tensor, age: Tensor, reward: Tensor, terminated: Tensor, truncated: Tensor, score: Tensor
    ) -> Step:
        """Take on the state [S, N, ...] and age [S, N] after a step, with that step's outcome, [S, N] each."""
        self._state, self._age, ended = state, age, terminated | truncated
        self.now = Step(*self._shown(), ended, ended, reward, terminated, truncated, score)
        return self.now

    def next_chances(self) -> tuple[Tensor, Tensor]:
        """Move on to the next step's random numbers: reset states, whether or not a lane needs one, and its own.

        A prompt depends on the lane's group and the number of its episode, not on the step.
        """
        self._row += 1
        if self._row == BLOCK:
            self._draw(later(self._first, BLOCK), 0)
        if self.world.prompt:
            self._episode = self._episode + self.now.resetting
        return self._fresh_states(), self._chance[self._row]

    def close(self) -> None:
        """Nothing to close."""

    def state_dict(self) -> dict[str, Any]:
        """The state of every lane; the random numbers follow from the counts of steps and resets, [S] each."""
        lanes = {"state": self._state, "age": self._age, "resetting": self.now.resetting}
        lanes |= {"episode": self._episode} if self.world.prompt else {}
        counts = {"resets": self._resets, "t": later(self._first, self._row)}
        return lanes | {name: torch.tensor(x) for name, x in counts.items()}

    owned = state_dict

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._take(state)
        row = min(later(self._first, self._row), key=lambda t: t % BLOCK) % BLOCK
        self._draw(later(self._first, self._row - row), row)

    def restore(self, seeds: Tensor, rows: Mapping[str, Tensor]) -> None:
        """Put rows in the place of what these seeds have; they draw no random numbers before `load_state_dict`."""
        state = self.state_dict()
        self._take(state | {name: replaced(state[name], seeds, x) for name, x in rows.items()})

    def _take(self, state: dict[str, Any]) -> None:
        self._state, self._age, resetting = (state[name].to(self.device) for name in ("state", "age", "resetting"))
        self._resets, t = tuple(state["resets"].tolist()), state["t"].tolist()
        if self.world.prompt:
            self._episode = state["episode"].to(self.device)
        self._first = later(t, -self._row)
        self.now = Step.first(*self._shown())._replace(resetting=resetting, over=resetting)

    def _shown(self) -> tuple[Tensor, Tensor]:
        legal = self.world.legal(self._state)
        return self.world.observe(self._state), self._all if legal is None else legal

    def _first_chances(self) -> Tensor:
        """The states in which all lanes begin."""
        self._draw((0,) * len(self.seeds), 0)
        self._episode = torch.zeros(len(self.seeds), self.lanes, dtype=torch.int64, device=self.device)
        return self._fresh_states()

    def _fresh_states(self) -> Tensor:
        """The states in which lanes begin an episode at the present step."""
        if not self.world.prompt:
            return self._fresh[self._row]
        return self.world.initial(shared_chances(self._key, self._group, self._episode, self.world.reset_chances))

    def _draw(self, first: tuple[int, ...], row: int) -> None:
        """Draw the random numbers of BLOCK steps, from each seed's step `first` on; the present one is in this `row`.

        A seed's stream has them in blocks, and where it is within one, the steps are of two.
        """
        self._first, self._row = first, row
        resets = 0 if self.world.prompt else self.world.reset_chances
        shape = (BLOCK, self.lanes, resets + self.world.step_chances)

        def blocks(ahead: int) -> Tensor:
            index = self._resets, [t // BLOCK + ahead for t in first]
            return draw(self.seeds, self.purpose, *index, by=lambda rng: rng.random(shape, dtype=np.float32))

        drawn = blocks(0)  # [S, BLOCK, N, K]
        if any(begins := [t % BLOCK for t in first]):
            both = torch.cat([drawn, blocks(1)], 1)
            drawn = torch.stack([both[k, t : t + BLOCK] for k, t in enumerate(begins)])
        chance = drawn.to(self.device, non_blocking=True)
        if self.world.prompt:
            key = draw(self.seeds, self.purpose, self._resets, by=lambda rng: rng.integers(2**63, size=1))
            self._key = key[:, 0].to(self.device)  # [S]: what each seed's prompts follow from
        else:
            self._fresh = self.world.initial(chance[..., :resets]).unbind(1)
        self._chance = chance[..., resets:].unbind(1)

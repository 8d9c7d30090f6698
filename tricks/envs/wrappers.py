"""Environments around environments."""

from typing import Any

import torch
from torch import Tensor

from tricks.core.env import Env, Step
from tricks.errors import InputError


class EnvWrapper:
    """An Env that forwards everything to the one inside; a subclass overrides `step`, or `seen` to change a Step."""

    def __init__(self, env: Env) -> None:
        self.env = env
        self.id, self.seeds, self.lanes, self.spaces = env.id, env.seeds, env.lanes, env.spaces
        self.now = self.seen(env.now)

    def seen(self, step: Step) -> Step:
        """What this environment makes of a step of the one inside."""
        return step

    def reset(self) -> Step:
        self.now = self.seen(self.env.reset())
        return self.now

    def step(self, action: Tensor, playing: Tensor) -> Step:
        self.now = self.seen(self.env.step(action, playing))
        return self.now

    def close(self) -> None:
        self.env.close()

    @property
    def resumable(self) -> bool:
        return self.env.resumable

    def state_dict(self) -> dict[str, Any]:
        return self.env.state_dict()

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.env.load_state_dict(state)
        self.now = self.seen(self.env.now)


class HostEnv(EnvWrapper):
    """An Env that is stepped on the CPU, beside an agent that may live elsewhere."""

    def __init__(self, env: Env, device: torch.device) -> None:
        self._device = device
        super().__init__(env)

    def seen(self, step: Step) -> Step:
        return step.to(self._device)

    def step(self, action: Tensor, playing: Tensor) -> Step:
        return super().step(action.cpu(), playing.cpu())


class RewardSign(EnvWrapper):
    """The reward is the sign of the game's, −1, 0 or 1; the score stays. Mnih et al. 2015, 10.1038/nature14236."""

    def seen(self, step: Step) -> Step:
        return step._replace(reward=step.reward.sign())


class LifeEnds(EnvWrapper):
    """A lost life terminates the episode, though the game goes on. Mnih et al. 2015, 10.1038/nature14236.

    With `press`, an action, the step after a lost life plays that action whatever the agent chose, as some games wait
    for FIRE before they serve the next ball. The policy did not choose it, so the row is not experience: like a row
    of a reset it is marked in `resetting`, but not in `over`. Without `press`, the row after a lost life is the first
    of the next episode. Raises InputError if the environment does not count lives.
    """

    def __init__(self, env: Env, press: int | None = None) -> None:
        if env.now.lives is None:
            raise InputError(f"life_ends: {env.id} does not report lives")
        self._press = press
        super().__init__(env)

    def step(self, action: Tensor, playing: Tensor) -> Step:
        before = self.now
        if self._press is not None:
            action = action.masked_fill(before.resetting & ~before.over, self._press)
        step = self.env.step(action, playing)
        assert step.lives is not None
        assert before.lives is not None
        # some games show no lives for a few frames before they are over
        lost = (step.lives < before.lives) & (step.lives > 0) & ~before.over
        resetting = step.resetting
        if self._press is not None:  # a seed that stands still waits on
            resetting = resetting | torch.where(playing.unsqueeze(1), lost, before.resetting)
        self.now = step._replace(terminated=step.terminated | lost, resetting=resetting)
        return self.now

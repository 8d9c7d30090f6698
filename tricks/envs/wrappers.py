"""Environment wrappers."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from tricks.core.env import Env, Step
from tricks.core.owners import owned, owners_of, restore
from tricks.errors import InputError


class EnvWrapper:
    """An Env that forwards everything to another Env; subclasses override `step`, or `seen` to change each Step."""

    def __init__(self, env: Env) -> None:
        self.env = env
        self.id, self.seeds, self.lanes, self.spaces, self.masks = env.id, env.seeds, env.lanes, env.spaces, env.masks
        self.resumable, self.close, self.state_dict = env.resumable, env.close, env.state_dict
        self.demonstrate, self.OWNERS = getattr(env, "demonstrate", None), owners_of(env)
        self.now = self.seen(env.now)

    def seen(self, step: Step) -> Step:
        """Convert a Step of the wrapped environment."""
        return step

    def reset(self) -> Step:
        self.now = self.seen(self.env.reset())
        return self.now

    def step(self, action: Tensor, playing: Tensor) -> Step:
        self.now = self.seen(self.env.step(action, playing))
        return self.now

    def owned(self) -> dict[str, Tensor]:
        return owned(self.env)

    def restore(self, seeds: Tensor, rows: Mapping[str, Tensor]) -> None:
        restore(self.env, seeds, rows)
        self.now = self.seen(self.env.now)

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.env.load_state_dict(state)
        self.now = self.seen(self.env.now)


class HostEnv(EnvWrapper):
    """Moves data between an Env on the CPU and an agent on another device."""

    def __init__(self, env: Env, device: torch.device) -> None:
        self._device = device
        super().__init__(env)

    def seen(self, step: Step) -> Step:
        return step.to(self._device)

    def step(self, action: Tensor, playing: Tensor) -> Step:
        return super().step(action.cpu(), playing.cpu())


class RewardSign(EnvWrapper):
    """Replaces the reward by its sign (−1, 0 or 1) and keeps the score. Mnih et al. 2015, 10.1038/nature14236.

    A reward that is not finite stays as it is, so that it is found: the sign of NaN would be 0.
    """

    def seen(self, step: Step) -> Step:
        return step._replace(reward=torch.where(step.reward.isfinite(), step.reward.sign(), step.reward))


class LifeEnds(EnvWrapper):
    """Losing a life terminates the episode, but the game continues. Mnih et al. 2015, 10.1038/nature14236.

    With `press`, the step after a lost life takes that action whatever the agent chose, because some games wait for
    FIRE before they serve the next ball. The policy did not choose it, so the row is not experience: like a reset row
    it is marked in `resetting`, but not in `over`. Without `press`, the row after a lost life is the first of the next
    episode. Raises InputError if the environment does not report lives.
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
        # some games report 0 lives for a few frames before they are over
        lost = (step.lives < before.lives) & (step.lives > 0) & ~before.over
        resetting = step.resetting
        if self._press is not None:  # a seed that isn't playing keeps waiting
            resetting = resetting | torch.where(playing.unsqueeze(1), lost, before.resetting)
        self.now = step._replace(terminated=step.terminated | lost, resetting=resetting)
        return self.now

"""An environment of two lanes whose steps are decided beforehand."""

from typing import Any

import gymnasium as gym
import torch
from torch import Tensor

from tricks.core.env import Env, Step
from tricks.core.spaces import Spaces

EVERYONE = torch.ones(1, dtype=torch.bool)
NO, ZERO = [False, False], [0.0, 0.0]


class Scripted:
    """An Env of one seed and two lanes that takes these steps, and remembers what it was asked."""

    id, lanes, resumable, masks = "x", 2, True, True
    seeds: tuple[int, ...] = (0,)
    spaces = Spaces("x", gym.spaces.Box(-1, 1, (1,)), gym.spaces.Discrete(3))

    def __init__(self, *steps: tuple[list[float], list[int], list[bool]], lives: bool = True) -> None:
        self.steps, self.asked = list(steps), list[object]()
        blank = torch.zeros(1, 2, 1)
        self.now = Step.first(blank, blank == 0, torch.tensor([[3, 3]]) if lives else None)

    def reset(self) -> Step:
        self.asked.append("reset")
        return self.now

    def step(self, action: Tensor, playing: Tensor) -> Step:
        self.asked.append(action[0].tolist())
        score, lives, ended = self.steps.pop(0)
        earned, over, no = torch.tensor([score]).double(), torch.tensor([ended]), torch.tensor([NO])
        left = self.now.lives if self.now.lives is None else torch.tensor([lives])
        self.now = self.now._replace(
            reward=earned, score=earned, over=over, resetting=over, terminated=over, truncated=no, lives=left
        )
        return self.now

    def close(self) -> None:
        self.asked.append("close")

    def state_dict(self) -> dict[str, Any]:
        return {"steps": len(self.steps)}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.now = self.now._replace(obs=torch.full((1, 2, 1), float(state["steps"])))


def told(env: Env, steps: int, action: int = 0) -> list[Step]:
    return [env.step(torch.full((1, 2), action), EVERYONE) for _ in range(steps)]


def column(steps: list[Step], name: str) -> list[list[float]]:
    return [getattr(step, name)[0].tolist() for step in steps]

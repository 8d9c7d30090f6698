"""Recurrent nets where they play: their states are carried along each lane, from row to row."""

from typing import Any, ClassVar

import torch
from torch import Tensor

from tricks.core.agent import Agent
from tricks.core.env import Env
from tricks.core.owners import Owner
from tricks.core.sequences import Features, Sequences


class RecurrentState:
    """The states of policy and value net in each lane of an environment, [S, N, 2, K]: zero before an episode.

    first: the same before the first row of the rollout.
    """

    OWNERS: ClassVar[dict[str, Owner]] = {"now": "episode", "first": "episode"}

    def __init__(self, agent: Agent, env: Env) -> None:
        self.agent, self.env = agent, env
        shape = len(agent.seeds), env.lanes, 2, agent.state_size
        self.now = self.first = torch.zeros(shape, dtype=torch.float32, device=env.now.obs.device)

    def look(self) -> Features:
        """Features of the current observations, [S, N, H]; the states take these observations in."""
        step, policy, value = self.env.now, self.agent.policy_net, self.agent.value_net
        lanes = Sequences(step.obs, torch.as_tensor(~step.resetting), self.before())
        hidden, state = self.agent.through(policy, lanes)
        other = state if value.body is policy.body else self.agent.through(value, lanes)[1]
        self.now = torch.stack([state, other], 2)
        return Features(lanes, hidden)

    def before(self) -> Tensor:
        """The states before the current observations; zero also where a lost life has ended an episode.

        Wherever else one has ended, the row that resets the lane still sees the state, for the value at the end.
        """
        begins = self.env.now.ended & torch.as_tensor(~self.env.now.resetting)
        return self.now.masked_fill(begins.view(*begins.shape, 1, 1), 0)

    def end_rollout(self) -> Tensor:
        """Return the states before the first row of the rollout that ends here, [S, N, 2, K]."""
        first, self.first = self.first, self.before()
        return first.clone()  # autograd takes no tensor that was made in inference mode

    def state_dict(self) -> dict[str, Any]:
        """The states between two rollouts."""
        return {"now": self.now}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.now = self.first = state["now"].to(self.now.device)

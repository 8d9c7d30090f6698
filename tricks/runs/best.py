"""The best agents so far, by greedy evaluation: for each seed, its weights and statistics at that time."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import torch
from torch import Tensor

from tricks.core.agent import Agent

State = dict[str, Tensor]  # an agent's `state_dict`; every tensor leads with S
PREFIX = "best."  # of the best agents' tensors in agent.pt


class Best(NamedTuple):
    """Each seed's best score so far, [S] with NaN before its first evaluation, and the agents that earned them."""

    score: Tensor
    state: State

    @classmethod
    def of(cls, saved: Mapping[str, Any], device: torch.device) -> "Best":
        """As a checkpoint has it, `_asdict`."""
        return cls(saved["score"].to(device), {name: x.to(device) for name, x in saved["state"].items()})

    def or_better(self, score: Tensor, agent: Agent) -> "Best":
        """With the seeds that have now scored higher, score [S], or for the first time; NaN is no score.

        Weights that are not finite are never the best.
        """
        state = agent.state_dict()
        whole = torch.stack([x.reshape(len(x), -1).isfinite().all(1) for x in state.values()]).all(0)
        better = whole & ((score > self.score) | (self.score.isnan() & ~score.isnan()))  # [S]

        def chosen(now: Tensor, before: Tensor) -> Tensor:
            return torch.where(better.view(-1, *[1] * (now.dim() - 1)), now, before)

        return Best(chosen(score, self.score), {name: chosen(x, self.state[name]) for name, x in state.items()})


def beginning(agent: Agent) -> Best:
    """No score yet; until there is one, the agents as they are now."""
    nothing = torch.full((len(agent.seeds),), torch.nan, dtype=torch.float64, device=agent.return_mean.device)
    return Best(nothing, {name: x.clone() for name, x in agent.state_dict().items()})


def named_best(state: Mapping[str, Tensor]) -> State:
    """The best agents' tensors under the names that they have in agent.pt."""
    return {f"{PREFIX}{name}": x.cpu() for name, x in state.items()}


def parted(tensors: Mapping[str, Tensor]) -> tuple[State, State]:
    """The tensors in agent.pt: those of the last agents, and those of the best ones, if there are any."""
    last = {name: x for name, x in tensors.items() if not name.startswith(PREFIX)}
    return last, {name.removeprefix(PREFIX): x for name, x in tensors.items() if name not in last}

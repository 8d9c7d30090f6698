"""What a training keeps beside its agents: the user's own numbers of each episode, and the best agents so far."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import torch
from torch import Tensor

from tricks.core.agent import Agent
from tricks.core.rollout import Rollout

State = dict[str, Tensor]  # an agent's `state_dict`; every tensor leads with S
PREFIX = "best."  # of the best agents' tensors in agent.pt


class Tally:
    """Each lane's numbers so far in its episode, for R names with a rule each: last, sum, or mean of what steps gave.

    A step that gives no number, or NaN, changes nothing, and an episode whose steps gave none counts for none.
    """

    def __init__(self, rules: Mapping[str, str], seeds: int, lanes: int, device: torch.device) -> None:
        self.names = tuple(rules)
        self._adds = torch.tensor([rule != "last" for rule in rules.values()], dtype=torch.bool, device=device)  # [R]
        self._divides = torch.tensor([rule == "mean" for rule in rules.values()], dtype=torch.bool, device=device)
        self.open = torch.zeros(seeds, 2, lanes, len(rules), dtype=torch.float64, device=device)  # numbers, how many

    def __call__(self, rollout: Rollout) -> dict[str, Tensor]:
        """The mean over the episodes that ended in the rollout, by name: [S]; NaN where none gave a number."""
        return self.means(self.ended(rollout))

    def means(self, ended: Tensor) -> dict[str, Tensor]:
        """The mean over all episodes in the sum of what `ended` gave, by name: [S]."""
        total, count = ended.sum(2).unbind(1)
        return dict(zip(self.names, (total / count).unbind(1), strict=True))  # 0/0 = NaN

    def ended(self, rollout: Rollout) -> Tensor:
        """Of the episodes that ended in the rollout: the sum of their numbers, and how many had one. [S, 2, N, R]."""
        assert rollout.record is not None
        number, count = self.open.unbind(1)  # [S, N, R]
        total, ended = torch.zeros_like(number), torch.zeros_like(count)
        for given, over in zip(rollout.record.unbind(1), rollout.over.unbind(1), strict=True):
            some = ~given.isnan()
            number = torch.where(some, torch.where(self._adds, number, 0) + given, number)
            count = count + some
            last = over.unsqueeze(-1) & (count > 0)
            total = total + torch.where(last, number / torch.where(self._divides, count, 1), 0)
            ended = ended + last
            number, count = (x.masked_fill(over.unsqueeze(-1), 0) for x in (number, count))
        self.open = torch.stack([number, count], 1)
        return torch.stack([total, ended], 1)


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
        chosen = {
            name: torch.where(better.view(-1, *[1] * (x.dim() - 1)), x, self.state[name]) for name, x in state.items()
        }
        return Best(torch.where(better, score, self.score), chosen)


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

"""The user's own numbers, from the infos of an episode's steps: one number for each episode."""

from collections.abc import Mapping

import torch
from torch import Tensor

from tricks.core.rollout import Rollout


class Tally:
    """Each lane's numbers so far in its episode, for R names with a rule each: last, sum, or mean of what steps gave.

    A step that gives no number, or NaN, changes nothing, and an episode whose steps gave none counts for none.
    """

    def __init__(self, rules: Mapping[str, str], seeds: int, lanes: int, device: torch.device) -> None:
        self.names = tuple(rules)
        self._adds, self._divides = (
            torch.tensor([rule in kinds for rule in rules.values()], device=device)
            for kinds in (("sum", "mean"), ("mean",))
        )  # [R]
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

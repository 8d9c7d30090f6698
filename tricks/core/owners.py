"""What a training's state belongs to: the run, a seed, a lane, or an episode. Each part says so in its OWNERS.

All but the run's leads with S, and stays as it is while its seed waits. An episode's starts over where episodes can't
be resumed. A training that starts from other agents takes over what belongs to their seeds.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Literal

import torch
from torch import Tensor, nn

Owner = Literal["run", "seed", "lane", "episode"]


def owners_of(part: Any) -> dict[str, Owner]:
    """The owner of each entry of a part's state. In a module, undeclared entries belong to the seeds."""
    if not isinstance(part, nn.Module):
        return dict(getattr(part, "OWNERS", {}))
    declared: dict[str, Owner] = {
        f"{path}.{name}".removeprefix("."): owner
        for path, module in part.named_modules()
        for name, owner in getattr(module, "OWNERS", {}).items()
    }
    return {name: declared.get(name, "seed") for name in part.state_dict()}


def owned(part: Any) -> dict[str, Tensor]:
    """The tensors of a part that belong to seeds, lanes or episodes; a tuple of a number per seed counts as one."""
    if isinstance(part, nn.Module):
        return dict(part.state_dict())
    if hasattr(part, "owned"):
        return dict(part.owned())
    found = {name: getattr(part, name, None) for name, owner in owners_of(part).items() if owner != "run"}
    return {name: torch.as_tensor(x) for name, x in found.items() if type(x) in (Tensor, tuple)}


def restore(part: Any, seeds: Tensor, rows: Mapping[str, Tensor]) -> None:
    """Put `rows` in the place of what these seeds have of a part; seeds [K] are indices, each of the rows [K, ...]."""
    if hasattr(part, "restore"):
        part.restore(seeds, rows)
    elif isinstance(part, nn.Module):
        state = part.state_dict()
        for name, x in rows.items():
            state[name][seeds.to(x.device)] = x  # in place, because an optimizer holds the weights
    else:
        for name, x in rows.items():
            now = getattr(part, name)
            new = replaced(torch.as_tensor(now), seeds, x)
            setattr(part, name, tuple(new.tolist()) if type(now) is tuple else new)


def replaced(x: Tensor, seeds: Tensor, rows: Tensor) -> Tensor:
    """x [S, ...] with the rows [K, ...] in the place of those of the seeds [K]."""
    return x.index_copy(0, seeds.to(x.device), rows)


@torch.no_grad()
def forget_episodes(part: Any) -> None:
    """Begin anew what a part adds up within an episode, in every lane."""
    owners = owners_of(part)
    rows = {name: torch.zeros_like(x) for name, x in owned(part).items() if owners[name] == "episode"}
    if rows:
        restore(part, torch.arange(len(next(iter(rows.values())))), rows)


class Waiting:
    """Undoes what the loop, which updates all seeds alike, does to those that are not active. active [S]."""

    def __init__(self, parts: Iterable[Any], active: Tensor) -> None:
        self.parts, self.seeds = list(parts), torch.zeros(0, dtype=torch.int64)
        self.kept = list[tuple[Any, dict[str, Tensor]]]()
        self.end_update(active)

    def _of(self, x: Tensor) -> Tensor:
        return x[self.seeds.to(x.device)].clone()

    @torch.no_grad()
    def end_update(self, active: Tensor) -> None:
        """Restore the state of seeds that waited through an update, and keep that of seeds that wait from now on."""
        for part, kept in self.kept:
            now = owned(part)
            moved = {name: rows for name, rows in kept.items() if not torch.equal(self._of(now[name]), rows)}
            restore(part, self.seeds, moved)
        if int((~active).sum()) > len(self.seeds):
            self.seeds = (~active).nonzero()[:, 0]
            self.kept = [(part, {name: self._of(x) for name, x in owned(part).items()}) for part in self.parts]

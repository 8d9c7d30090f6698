"""recurrent: an LSTM or a GRU between body and head, for what an observation no longer shows.

As in Huang et al. 2022, "The 37 Implementation Details of PPO": orthogonal weights, zero bias; states begin at zero; an
end resets them; minibatches are whole lanes; and learning builds states up from that before the rollout, as data.
"""

from collections.abc import Iterable, Sequence
from functools import partial

import torch
from torch import Tensor, nn

from tricks.config import Config
from tricks.core.agent import Agent
from tricks.core.machine import WEIGHT, Need, largest
from tricks.core.nets import Body, Head
from tricks.core.rollout import Batch, Rollout
from tricks.core.seeds import Index, draw, stream
from tricks.core.sequences import Sequences, goes_on
from tricks.errors import InputError
from tricks.fast.recurrence import over_time
from tricks.ladder import Tricks
from tricks.orthogonal_init import orthogonal
from tricks.reuse import deal_lanes, random_keys

GATES = {"lstm": 4, "gru": 3}
HEADS = 3  # place of the policy net's head in the stream `init`, before the value net's; other layers take 0 to 2
CELLS = 5  # the same of the cells


def add_recurrence_(agent: Agent, config: Config) -> None:
    """Put a recurrent layer of its own between each net's body and its head, in place; the heads are drawn anew."""
    for place, net in enumerate((agent.policy_net, agent.value_net)):
        net.body = Recurrent(net.body, Cell(agent.seeds, place, net.body.width, config), place)
        heads = [stream(seed, "init", HEADS + place) for seed in agent.seeds]
        net.head = Head(heads, net.body.width, net.head.bias.shape[-1], net.head.exact)


class Cell(nn.Module):
    """One step: what the features contribute to G gates [S, N, G·H], and states [S, N, K], -> states [S, N, K].

    LSTM, G = 4, with h and c in K = 2H:  i, f, o = σ(·), g = tanh(·), c ← f·c + i·g, h ← o·tanh c.
    Hochreiter & Schmidhuber 1997, 10.1162/neco.1997.9.8.1735; Gers et al. 2000, 10.1162/089976600300015015.
    GRU, G = 3, with h in K = H:  r, z = σ(·), n = tanh(xW + b + r·(hU)), h ← (1 − z)·n + z·h.
    Cho et al. 2014, arXiv:1406.1078, with the reset gate after the product, as in cuDNN.
    """

    def __init__(self, seeds: Sequence[int], place: int, features: int, config: Config) -> None:
        super().__init__()
        self.size, self.lstm = config.recurrent_size, config.recurrent_cell == "lstm"
        self.state_size = 2 * self.size if self.lstm else self.size
        by = partial(orthogonal, columns=GATES[config.recurrent_cell] * self.size)
        self.inward = nn.Parameter(draw(seeds, "init", CELLS + place, 0, by=partial(by, rows=features)).float())
        self.onward = nn.Parameter(draw(seeds, "init", CELLS + place, 1, by=partial(by, rows=self.size)).float())
        self.bias = nn.Parameter(torch.zeros_like(self.inward[:, :1]))

    def contribution(self, features: Tensor) -> Tensor:
        """xW + b, for all rows at once: [S, B, D] -> [S, B, G·H]."""
        return torch.baddbmm(self.bias, features, self.inward)

    def forward(self, contribution: Tensor, state: Tensor) -> Tensor:
        if self.lstm:
            h, c = state.chunk(2, -1)
            i, f, g, o = (contribution + torch.bmm(h, self.onward)).chunk(4, -1)
            c = f.sigmoid() * c + i.sigmoid() * g.tanh()
            return torch.cat([o.sigmoid() * c.tanh(), c], -1)
        (r, z, n), (r_h, z_h, n_h) = contribution.chunk(3, -1), torch.bmm(state, self.onward).chunk(3, -1)
        z = (z + z_h).sigmoid()
        return (1 - z) * (n + (r + r_h).sigmoid() * n_h).tanh() + z * state


class Recurrent(nn.Module):
    """A body and the recurrent layer behind it; `place` says which of an agent's two states is its own."""

    def __init__(self, body: Body, cell: Cell, place: int) -> None:
        super().__init__()
        self.body, self.cell, self.place = body, cell, place
        self.width, self.state_size = cell.size, cell.state_size
        self.layers = body.layers  # without the cell, which has an initialization of its own

    def through(self, lanes: Sequences) -> tuple[Tensor, Tensor]:
        """The features h of all rows, [S, T·L, H], and the states after the last, [S, L, K]."""
        state, count = lanes.state[:, :, self.place], lanes.state.shape[1]
        given = self.cell.contribution(self.body(lanes.obs)).unflatten(1, (-1, count))  # [S, T, L, G·H]
        stays = lanes.goes_on.unflatten(1, (-1, count)).unsqueeze(-1)
        hidden, state = over_time(self.cell, given, stays, state)
        return hidden.flatten(1, 2), state


def as_sequences(batch: Batch, rollout: Rollout) -> Sequences:
    """The observations of a batch as whole lanes, with the states before their first rows."""
    assert rollout.state is not None
    return Sequences(batch.obs, goes_on(rollout.valid, rollout.done).flatten(1, 2), rollout.state)


def whole_lanes(batch: Batch, seeds: Sequence[int], update: Index, epochs: int, count: int) -> Iterable[Batch]:
    """In each epoch, shuffle every seed's lanes and split them into `count` minibatches, as `deal_lanes` does."""
    lanes = batch.obs
    assert isinstance(lanes, Sequences)
    everyone = torch.ones(lanes.state.shape[:2], dtype=torch.bool, device=lanes.state.device)  # [S, N]
    for epoch in range(epochs):
        rows = Batch(**batch.columns, obs=lanes.obs, goes_on=lanes.goes_on)  # anew, since `recompute` may change some
        keys = random_keys(everyone, seeds, "minibatch", update, epoch)
        for b in deal_lanes(rows, everyone, keys, count, state=lanes.state):
            b.obs = Sequences(b.obs, b.goes_on, b.state)
            del b.goes_on, b.state
            yield b


def refuse(config: Config, tricks: Tricks) -> None:
    """Raise InputError if there are more minibatches than lanes."""
    if tricks.reuse and config.minibatches > config.lanes:
        what = f"{config.minibatches} minibatches are more than {config.lanes} lanes"
        raise InputError(f"recurrent deals whole lanes, and {what}: lower --minibatches or raise --lanes")


def memory(config: Config, tricks: Tricks, rows: int, row: int, features: int) -> Need:
    """The weights of both nets' recurrent layers, and what they hold of the rows that they see at once."""
    size, gates = config.recurrent_size, GATES[config.recurrent_cell] * config.recurrent_size
    weights = len(config.seed_list) * 2 * WEIGHT * (features + size) * gates
    at_once = max(rows, 2 * rows // config.minibatches)  # a whole rollout in one net; in both, also for gradients
    numbers = largest(config, "recurrent_size", "lanes", "horizon", "seeds")
    return Need(f"recurrent layers of size {size:,}", weights + at_once * 4 * (gates + size), numbers)

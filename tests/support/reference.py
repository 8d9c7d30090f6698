"""A second answer for every update that any set of flags can make, written from the papers and not from the loop.

One agent in float64. Episodes and minibatches are lists of rows; there is no seed axis, no padding, and no filler.
Weights, recorded rollouts, the keys that shuffle them, and a config of one seed go in; new weights, Adam's moments,
running statistics, and diagnostics come out. Only names are shared with the package: gradients are autograd's.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass, field
from itertools import groupby, pairwise
from typing import Any

import numpy as np
import torch
from gymnasium.wrappers.utils import RunningMeanStd
from torch import Tensor
from torch.distributions import Categorical, Distribution, Normal, kl_divergence
from torch.nn.functional import conv2d, pad

from tricks.ladder import Tricks

Keys = Callable[[str, int, int, int], np.ndarray]  # (purpose, update, epoch, rows) -> one random number for each row
State = tuple[Tensor, Tensor]  # h and c of an LSTM, [1, H] each; a GRU has no use for c
Weights = dict[str, Tensor]  # by the names of the agent's parameters, without their seed axis
POLICY, VALUE, AUXILIARY = "policy_net", "value_net", "auxiliary_net"
FORBIDDEN = torch.finfo(torch.float64).min  # the logit of an illegal action: its probability is exactly 0


@dataclass
class Row:
    """One step of experience in one lane, and what is worked out about it."""

    time: int
    lane: int
    place: int  # where the row stands among all rows of its rollout, filler included
    task: int
    obs: np.ndarray
    following: np.ndarray  # the observation after it; at an end, the true last one
    legal: np.ndarray
    action: np.ndarray
    reward: float
    done: bool  # the episode ended here
    truncated: bool  # because of a time limit
    advantage: float = 0.0
    value: float = 0.0  # what the value net predicted, in its own units
    target: float = 0.0  # what it is to predict, in its own units
    log_prob: float = 0.0  # log π_old(a|s)
    reference: float = 0.0  # log π_ref(a|s)
    born: int = 0  # the update in which the row was collected
    uses: int = 0


@dataclass
class Adam:
    """Kingma & Ba 2014, algorithm 1, as printed there."""

    epsilon: float
    m: Weights = field(default_factory=dict)
    v: Weights = field(default_factory=dict)
    t: int = 0

    def step(self, weights: Weights, gradient: Weights, rate: float) -> None:
        self.t += 1
        for name, g in gradient.items():
            self.m[name] = 0.9 * self.m.get(name, 0 * g) + 0.1 * g
            self.v[name] = 0.999 * self.v.get(name, 0 * g) + 0.001 * g**2
            m, v = self.m[name] / (1 - 0.9**self.t), self.v[name] / (1 - 0.999**self.t)
            weights[name] = weights[name] - rate * m / (v.sqrt() + self.epsilon)


class Squashed(Normal):
    """tanh u of a normal u, by its density at u; the bounds are ±1. Haarnoja et al. 2018, appendix C."""

    def log_prob(self, value: Tensor) -> Tensor:
        """log N(u) − log tanh′(u), with tanh′ = 1/cosh²."""
        log_cosh = value.abs() + torch.log1p(torch.exp(-2 * value.abs())) - np.log(2)
        return super().log_prob(value) + 2 * log_cosh

    def entropy(self) -> Tensor:
        """−E[log π], by a fine sum over u."""
        z = torch.linspace(-8, 8, 801).double().view(-1, *(1,) * self.mean.dim())
        share = torch.exp(-z * z / 2)
        return -(self.log_prob(self.mean + self.stddev * z) * share).sum(0) / share.sum()


@dataclass
class Statistics:
    """Mean and variance of the returns of one task, 0 before there are any; an output n of the value net is σ·n + μ."""

    mean: float = 0.0
    variance: float = 1.0

    @property
    def std(self) -> float:
        return float(np.clip(np.sqrt(self.variance), 1e-4, 1e6))

    def moved(self, returns: Sequence[float], beta: float) -> "Statistics":
        """Exponential moving averages of the first two moments. van Hasselt et al. 2016."""
        if not returns:
            return self
        beta = beta if self.variance > 0 else 1.0
        center = float((1 - beta) * self.mean + beta * np.mean(returns))
        old, new = self.variance + (self.mean - center) ** 2, np.mean((np.array(returns) - center) ** 2)  # about it
        return Statistics(center, float((1 - beta) * old + beta * new))

    def units(self, value: float) -> float:
        return (value - self.mean) / self.std

    def reward(self, output: float) -> float:
        return output * self.std + self.mean


class Reference:
    """One agent, and what it remembers. trace: (update, `judge` or `minibatch k`, quantity) -> its value."""

    def __init__(
        self,
        config: Any,
        tricks: Tricks,
        weights: Weights,
        discrete: bool,
        tasks: int = 1,
        counts: Sequence[int] = (),  # of the choices of each component of an action, if it has several
        images: Sequence[tuple[int, Sequence[int]]] = (),  # where each begins in an observation, and its [C, H, W]
    ) -> None:
        self.config, self.tricks, self.discrete, self.counts, self.images = config, tricks, discrete, counts, images
        self.weights = {name: weight.double() for name, weight in weights.items()}
        kinds = ["adam"] + ["value_adam"] * tricks.separate_optimizers + ["auxiliary_adam"] * tricks.ppg
        self.adams = {kind: Adam(config.adam_eps) for kind in kinds}
        unit = float(not (tricks.return_norm and config.return_first_batch))  # or no scale before the first batch
        self.returns = [Statistics(variance=unit) for _ in range(tasks)]
        self.seen = RunningMeanStd(0)  # of observations
        self.rewards = RunningMeanStd(1e-4)  # of discounted sums of rewards, after a little of a standard normal
        self.sums = np.zeros(config.lanes)  # the sum of each lane's episode so far
        self.memory, self.recent = list[list[Row]](), list[list[Row]]()  # rollouts for the value net; for the policy
        self.states = dict[tuple[str, int], State]()  # of each recurrent body and lane, before the rollout
        self.steps, self.count, self.trace = 0, 0, dict[tuple[int, str, str], np.ndarray]()
        self.first = copy(self)  # what it was when training began: weights and statistics of observations
        self.first.weights, self.first.seen = dict(self.weights), RunningMeanStd(0)

    def update(self, rows: list[Row], length: int, keys: Keys) -> dict[str, float]:
        """Learn from one rollout; `length` counts its rows with filler. Returns the update's row of the curve."""
        config, tricks, self.length, self.keys = self.config, self.tricks, length, keys
        self.notes: dict[str, list[float]] = {}
        self.place, self.minibatches, episodes = "judge", 0, list(split(rows))
        left = 1 - self.steps / config.steps
        self.rate = config.lr * (left if tricks.lr_anneal else 1)
        self.clip = config.clip_range * (left if tricks.clip_anneal else 1)
        self.clip_high = config.clip_high * (left if tricks.clip_anneal else 1)
        self.value_clip = config.value_clip_range * (left if tricks.clip_anneal and config.value_clip_anneals else 1)
        self.note(learning_rate=self.rate)
        if not self.discrete:  # a Box within ±1
            self.notes["action_std"] = [self.weights["log_std"].exp().mean().item()]
            beyond = [float(np.mean(abs(row.action) > 1)) for row in rows]
            self.notes["action_clip_fraction"] = [0.0] if tricks.squash else beyond
        self.played, states = rows, dict[tuple[str, int], State]()
        if tricks.recurrent:
            states = self.states_after()
        rows = self.judge(rows, episodes)
        if tricks.ppg:
            self.remember(self.memory, rows, config.value_rollouts if tricks.ppg_buffers else config.aux_every)
            self.remember(self.recent, rows, config.policy_rollouts)
        self.learn(rows, episodes)
        if tricks.ppg and (self.count + 1) % config.aux_every == 0:
            self.auxiliary_phase()
        if tricks.state_norm:
            self.seen.count *= 1 - config.obs_decay  # what older ones weigh
            self.seen.update(np.array([row.obs for row in rows]))
        row = {name: max(x) if name == "max_ratio" else float(np.mean(x)) for name, x in self.notes.items()}
        self.steps, self.count, self.states = self.steps + len(self.played), self.count + 1, states
        return row | {"step": self.steps, "update": self.count - 1}

    def note(self, **diagnostics: float | Tensor) -> None:
        """A diagnostic of one minibatch; the curve shows the mean of the update's, of max_ratio the maximum."""
        self.write(**diagnostics)
        for name, value in diagnostics.items():
            self.notes.setdefault(name, []).append(float(value))

    def write(self, **quantities: object) -> None:
        self.trace |= {(self.count, self.place, name): plain(value) for name, value in quantities.items()}

    def output(self, weights: Weights, net: str, rows: Sequence[Row], following: bool = False) -> Tensor:
        """The net's outputs [rows, outputs] for the rows' observations, or the following ones."""
        shared = net == AUXILIARY or (net == VALUE and self.tricks.shared_trunk)
        body = POLICY if shared else net
        if self.tricks.recurrent:
            x = self.recalled(weights, body, rows, following)
        else:
            x = self.features(weights, f"{body}.body", [row.following if following else row.obs for row in rows])
        return x @ weights[f"{net}.head.weight"] + weights[f"{net}.head.bias"]

    def features(self, weights: Weights, body: str, obs: Sequence[np.ndarray]) -> Tensor:
        """What a body makes of observations as it sees them. Andrychowicz et al. 2020, C64."""
        width = len(obs[0]) if obs else 0 if self.images else len(weights[f"{body}.weight0"])
        layer, x = 0, stacked(obs, (len(obs), width))
        if self.seen.count > 0:
            x = ((x - torch.tensor(self.seen.mean)) / torch.tensor(self.seen.var + 1e-8).sqrt()).clip(-10, 10)
        if self.images:
            x, body = self.looked_at(weights, body, x), f"{body}.dense"
        while f"{body}.weight{layer}" in weights:
            x = x @ weights[f"{body}.weight{layer}"] + weights[f"{body}.bias{layer}"]
            x, layer = x.tanh() if self.config.activation == "tanh" else x.relu(), layer + 1
        return x

    def recalled(self, weights: Weights, body: str, rows: Sequence[Row], following: bool) -> Tensor:
        """h of each row, or after the observation that follows it: [rows, H]."""
        found = dict[int, Tensor]()
        for row, state in self.lived(weights, body):
            found[row.place] = (self.remember_row(weights, body, row.following, state) if following else state)[0]
        return torch.cat([found[row.place] for row in rows]) if rows else weights[f"{body}.body.cell.onward"][:0, :]

    def lived(self, weights: Weights, body: str) -> Iterator[tuple[Row, State]]:
        """Each row played and the state after it; a lane goes on from the state it had when the rollout began."""
        order = sorted(self.played, key=lambda row: (row.lane, row.time))
        for lane, rows in groupby(order, key=lambda row: row.lane):
            state = self.states.get((body, lane))
            for row in rows:
                after = self.remember_row(weights, body, row.obs, state)
                yield row, after
                state = None if row.done else after

    def remember_row(self, weights: Weights, body: str, obs: np.ndarray, state: State | None) -> State:
        """(h, c) after one observation; zeros before the first."""
        inward, onward, bias = (weights[f"{body}.body.cell.{name}"] for name in ("inward", "onward", "bias"))
        h, c = state or (onward.new_zeros(1, len(onward)),) * 2
        x, layers = self.features(weights, f"{body}.body.body", [obs]), (inward.T, onward.T, bias[0], 0 * bias[0])
        if self.config.recurrent_cell == "gru":
            return torch.gru_cell(x, h, *layers), c
        return torch.lstm_cell(x, (h, c), *layers)

    def states_after(self) -> dict[tuple[str, int], State]:
        """The state in each lane whose episode goes on after the rollout, by the weights that played it."""
        bodies = {POLICY, POLICY if self.tricks.shared_trunk else VALUE}
        last = {(body, row.lane): (row, state) for body in bodies for row, state in self.lived(self.weights, body)}
        return {key: state for key, (row, state) in last.items() if not row.done}

    def looked_at(self, weights: Weights, body: str, x: Tensor) -> Tensor:
        """The rows with what each image says in place of its pixels. Young & Tian 2019, arXiv:1903.03176."""
        found, end = list[Tensor](), 0
        for k, (start, shape) in enumerate(self.images):
            layers = [(weights[f"{body}.bodies.{k}.weight{n}"], weights[f"{body}.bodies.{k}.bias{n}"]) for n in (0, 1)]
            found, before, end = [*found, x[:, end:start]], start, start + math.prod(shape)
            kernels = layers[0][0].T.unflatten(1, (-1, 3, 3))
            y = conv2d(x[:, before:end].view(-1, *shape) / 255, kernels, layers[0][1][0]).relu().flatten(1)
            found.append((y @ layers[1][0] + layers[1][1]).relu())
        return torch.cat([*found, x[:, end:]], 1)

    def policy(self, weights: Weights, rows: Sequence[Row]) -> Distribution:
        """π(·|s) of each row; of a Gaussian, for each dimension."""
        output = self.output(weights, POLICY, rows)
        if not self.discrete:
            family = Squashed if self.tricks.squash else Normal
            return family(output, weights["log_std"].exp().expand_as(output), validate_args=False)
        if self.tricks.action_mask:
            output = torch.where(stacked([row.legal for row in rows], output.shape) > 0, output, FORBIDDEN)
        if self.counts:  # several choices, each with as many logits as the largest has: [rows, K, A]
            parts_of = zip(output.split([*self.counts], 1), self.counts, strict=True)
            output = torch.stack([pad(x, (0, max(self.counts) - n), value=FORBIDDEN) for x, n in parts_of], 1)
        return Categorical(logits=output, validate_args=False)  # which fails where there are no rows

    def log_prob(self, policy: Distribution, rows: Sequence[Row]) -> Tensor:
        return self.joint(policy.log_prob(stacked([row.action for row in rows], policy.batch_shape)))

    def joint(self, x: Tensor) -> Tensor:
        return x if x.dim() == 1 else x.sum(1)  # over the dimensions of a Gaussian, or the components of an action

    def predicted(self, weights: Weights, net: str, rows: Sequence[Row], following: bool = False) -> Tensor:
        """V(s), or V(s'), of each row, in the net's own units, from the head of its task: [rows]."""
        outputs = self.output(weights, net, rows, following)
        return outputs[torch.arange(len(rows)), torch.tensor([row.task for row in rows], dtype=torch.int64)]

    def value(self, rows: Sequence[Row], following: bool = False) -> list[float]:
        """The same in units of reward."""
        found = self.predicted(self.weights, VALUE, rows, following).tolist()
        return [self.returns[row.task].reward(output) for row, output in zip(rows, found, strict=True)]

    def judge(self, rows: list[Row], episodes: list[list[Row]]) -> list[Row]:
        """Advantages, and where there is a value net, its predictions and targets; log π_old(a|s) under reuse.

        Returns the rows to learn from.
        """
        if self.tricks.reward_scaling:
            self.scale_rewards(rows)
        if self.tricks.kl_penalty:
            self.hold_near(rows)
        for episode in episodes:
            self.sum_rewards(episode)
        if self.tricks.baseline:
            for row, value in zip(rows, self.value(rows), strict=True):
                row.value, row.advantage = value, row.target - value
            unexplained = np.var([row.advantage for row in rows]) / np.var([row.target for row in rows])
            self.note(explained_variance=1 - float(unexplained))
            if self.tricks.gae:
                self.estimate(episodes)
            self.change_units(rows)
            self.write(old_value=[row.value for row in rows], target=[row.target for row in rows])
        if self.tricks.group_baseline:
            rows = self.compare(episodes)
        for row in rows if self.tricks.imitate else ():
            row.advantage = 1.0
        self.write(advantage=[row.advantage for row in self.played])
        if self.tricks.reuse:
            for row, log_prob in zip(rows, self.log_prob(self.policy(self.weights, rows), rows).tolist(), strict=True):
                row.log_prob = log_prob
        return rows

    def hold_near(self, rows: list[Row]) -> None:
        """log π_ref of each action, and a price for leaving it in the reward. Ouyang et al. 2022, eq. 2."""
        for row, reference in zip(rows, self.log_prob(self.first.policy(self.first.weights, rows), rows), strict=True):
            row.reference = reference.item()
        log_prob = self.log_prob(self.policy(self.weights, rows), rows).detach()
        self.note(reference_kl=average(self.kl(log_prob, rows, "k3")))
        if self.config.kl_in == "reward":
            for row, kl in zip(rows, self.kl(log_prob, rows, self.config.kl_estimator).tolist(), strict=True):
                row.reward -= self.config.kl_coef * kl

    def kl(self, log_prob: Tensor, rows: list[Row], estimator: str) -> Tensor:
        """Schulman 2020, with r = π_ref/π."""
        r = (column(rows, "reference") - log_prob).exp()
        return {"k1": -r.log(), "k2": r.log() ** 2 / 2, "k3": r - 1 - r.log()}[estimator]

    def compare(self, episodes: list[list[Row]]) -> list[Row]:
        """Each reply with the others of its group; the rows of groups that count. Ahmadian et al. 2024; DAPO."""
        returns, size, kept = {reply[0].lane: reply[0].advantage for reply in episodes}, self.config.group, list[Row]()
        contrasts = list[bool]()
        for reply in episodes:
            lane = reply[0].lane
            group = [returns[other] for other in returns if other // size == lane // size]
            others = [returns[other] for other in returns if other // size == lane // size and other != lane]
            contrasts.append(len(set(group)) > 1)
            for row in reply:
                row.advantage = returns[lane] - sum(others) / len(others)
                if self.tricks.group_norm:  # GRPO's
                    row.advantage = float((returns[lane] - np.mean(group)) / (np.std(group, ddof=1) + 1e-4))
            kept += reply if contrasts[-1] or not self.tricks.mixed_groups else []
        if self.tricks.mixed_groups:
            self.note(mixed_share=float(np.mean(contrasts)))
        return sorted(kept, key=lambda row: row.place)

    def scale_rewards(self, rows: list[Row]) -> None:
        """r/√(Var + ε), within ±10, of the discounted sum of the rewards so far. Engstrom et al. 2020, algorithm 1."""
        for now in ([*group] for _, group in groupby(rows, key=lambda row: row.time)):
            for row in now:
                self.sums[row.lane] = self.config.gamma * self.sums[row.lane] + row.reward
            self.rewards.update(self.sums[[row.lane for row in now]])
            for row in now:
                row.reward = float(np.clip(row.reward / np.sqrt(self.rewards.var + 1e-8), -10, 10))
                self.sums[row.lane] *= not row.done
        self.note(reward_std=float(np.sqrt(self.rewards.var + 1e-8)))

    def beyond(self, last: Row) -> float:
        """V(s′) after an episode's last row if rewards follow that were not collected: at a cut, or a time limit."""
        goes_on = not last.done or (last.truncated and self.tricks.bootstrap)
        return self.value([last], following=True)[0] if self.tricks.baseline and goes_on else 0.0

    def sum_rewards(self, episode: list[Row]) -> None:
        """Discounted sums of the rewards; with a value net, V of the last state follows a cut. Pardo et al. 2018."""
        following = self.beyond(episode[-1])
        for row in reversed(episode):
            following = row.target = row.advantage = row.reward + self.config.gamma * following

    def estimate(self, episodes: list[list[Row]]) -> None:
        """Generalized advantages, and TD(λ) targets in units of reward. Schulman et al. 2015, eq. 16."""
        gamma, lam = self.config.gamma, self.config.gae_lambda
        for episode in episodes:
            values = [*self.value(episode), self.beyond(episode[-1])]
            errors = [row.reward + gamma * values[k + 1] - values[k] for k, row in enumerate(episode)]
            for k, row in enumerate(episode):
                row.advantage = sum((gamma * lam) ** n * error for n, error in enumerate(errors[k:]))
                row.target = values[k] + row.advantage

    def change_units(self, rows: list[Row]) -> None:
        """From units of reward to those of the value net, whose statistics move first under return_norm."""
        old, self.returns = self.returns, list(self.returns)
        if self.tricks.return_norm:
            for k, statistics in enumerate(old):
                own = [row.target for row in rows if row.task == k]
                self.returns[k] = statistics.moved(own, self.config.return_beta)
            means, stds = [s.mean for s in self.returns], [s.std for s in self.returns]
            self.note(return_mean=float(np.mean(means)), return_std=float(np.mean(stds)))
        for row in rows:  # a prediction stays the net's own output, which popart alone translates into the new units
            new = self.tricks.popart and old[row.task].variance > 0
            row.value = (self.returns if new else old)[row.task].units(row.value)
        if self.tricks.popart:
            for net in [VALUE] + [AUXILIARY] * self.tricks.ppg:
                self.preserve_outputs(net, old)
        self.finish(rows)

    def finish(self, rows: list[Row]) -> None:
        """Targets in the net's units; with several tasks, advantages weigh alike. Hessel et al. 2018."""
        for row in rows:
            row.target = self.returns[row.task].units(row.target)
            if self.tricks.return_norm and len(self.returns) > 1:
                row.advantage /= self.returns[row.task].std

    def preserve_outputs(self, net: str, old: list[Statistics]) -> None:
        """w ← w·σ/σ′, b ← (σ·b + μ − μ′)/σ′ of each task's output. van Hasselt et al. 2016, proposition 1."""
        weight, bias = (self.weights[f"{net}.head.{kind}"].clone() for kind in ("weight", "bias"))
        for k, (s, t) in enumerate(zip(old, self.returns, strict=True)):
            if s.variance > 0:
                weight[:, k] *= s.std / t.std
                bias[:, k] = (s.std * bias[:, k] + s.mean - t.mean) / t.std
        self.weights |= {f"{net}.head.weight": weight, f"{net}.head.bias": bias}

    def learn(self, rows: list[Row], episodes: list[list[Row]]) -> None:
        """Steps of the policy and of the value net, on the same minibatches or each on its own."""
        self.stopped, config, tricks = False, self.config, self.tricks
        if not tricks.reuse:
            return self.step(rows, rows)
        apart = tricks.separate_optimizers and not tricks.ppg_buffers
        for epoch in range(max(config.epochs, config.value_epochs) if apart else config.epochs):
            if tricks.recompute and 0 < epoch < config.epochs:
                self.estimate(episodes)
                self.finish(rows)
            policy_turn, value_turn = epoch < config.epochs, epoch < config.value_epochs or not apart
            policy = value = self.dealt(rows, epoch)
            if tricks.ppg_buffers:
                mine = self.reused(self.recent, config.policy_rollouts, config.policy_uses, "policy buffer", epoch)
                other = self.reused(self.memory, config.value_rollouts, config.value_uses, "value buffer", epoch)
                policy, value = (parts(buffer, config.minibatches) for buffer in (mine, other))
            for minibatch in zip(policy, value, strict=True):
                self.step(*minibatch, policy_turn, value_turn)

    def dealt(self, rows: list[Row], epoch: int) -> list[list[Row]]:
        """Minibatches of shuffled rows, or of whole lanes: of recurrent nets, and of replies."""
        if not (self.tricks.recurrent or self.tricks.group_baseline):
            return parts(self.shuffled([rows], "minibatch", epoch), self.config.minibatches)
        order = np.argsort(self.keys("minibatch", self.count, epoch, self.config.lanes)).tolist()
        if self.tricks.group_baseline:
            order = [lane for lane in order if any(row.lane == lane for row in rows)]
        groups = parts(order, self.config.minibatches)
        return [[row for lane in group for row in rows if row.lane == lane] for group in groups]

    def shuffled(self, rollouts: list[list[Row]], purpose: str, epoch: int, share: float = 1.0) -> list[Row]:
        """The rows in the order of their keys; those whose key is less than `share`."""
        numbers = self.keys(purpose, self.count, epoch, len(rollouts) * self.length)
        keyed = [(numbers[i * self.length + row.place], row) for i, rows in enumerate(rollouts) for row in rows]
        return [row for key, row in sorted(keyed, key=lambda pair: pair[0]) if key < share]

    def reused(self, memory: list[list[Row]], rollouts: int, uses: int, purpose: str, epoch: int) -> list[Row]:
        """The rows of a buffer that an epoch trains on: so many that each is used about `uses` times in its life."""
        drawn = self.shuffled(memory, purpose, epoch, uses / (rollouts * self.config.epochs))
        taken = [row for row in drawn if row.uses < uses]
        for row in taken:
            row.uses += 1
        return list(map(self.today, taken))

    def remember(self, memory: list[list[Row]], rows: list[Row], rollouts: int) -> None:
        """Keep copies of the rows, with value and target in units of reward, and forget the oldest rollout."""
        memory[:] = [*memory, [copy(row) for row in rows]][-rollouts:]
        for row in memory[-1]:
            statistics, row.born = self.returns[row.task], self.count
            row.value, row.target = statistics.reward(row.value), statistics.reward(row.target)

    def today(self, row: Row) -> Row:
        """A remembered row with value and target in the value net's units of today."""
        row, statistics = copy(row), self.returns[row.task]
        row.value, row.target = statistics.units(row.value), statistics.units(row.target)
        return row

    def step(self, policy: list[Row], value: list[Row], policy_turn: bool = True, value_turn: bool = True) -> None:
        """One minibatch: one step of Adam on the sum of the losses, or one for each net whose turn it is."""
        config, tricks, weights = self.config, self.tricks, self.next_minibatch()
        stopped = self.stopped  # the curve ends with the minibatch that stops it, and shows none without rows
        self.note_policy = self.note if policy and not stopped else self.write
        note_value = self.note if value else self.write
        loss = self.policy_loss(weights, policy) if policy_turn else torch.zeros(())
        if tricks.ppg_buffers:
            for note, name, rows in ((self.note_policy, "policy_age", policy), (note_value, "value_age", value)):
                note(**{name: average(torch.tensor([self.count - row.born for row in rows]))})
        if tricks.baseline and value_turn:
            value_loss = self.value_loss(weights, value)
            note_value(value_loss=value_loss.detach())
            value_loss = config.value_coef * value_loss
            if tricks.separate_optimizers:
                self.move("value_adam", value_loss, weights, "value_grad_norm", config.max_value_grad_norm, bool(value))
            else:
                loss, policy = loss + value_loss, policy or value
        self.note_policy = self.note if policy and not stopped else self.write
        if policy_turn:
            self.move("adam", loss, weights, "grad_norm", config.max_grad_norm, bool(policy) > self.stopped)

    def next_minibatch(self) -> Weights:
        self.place, self.minibatches = f"minibatch {self.minibatches}", self.minibatches + 1
        return {name: weight.detach().requires_grad_() for name, weight in self.weights.items()}

    def move(self, adam: str, loss: Tensor, weights: Weights, norm_name: str, limit: float, may_step: bool) -> None:
        """A gradient, its norm, and a step. Clipped as by torch.nn.utils.clip_grad_norm_: Pascanu et al. 2012."""
        gradient = gradient_of(loss, {n: w for n, w in weights.items() if adam == "adam" or n.startswith(VALUE)})
        norm = float(torch.cat([g.flatten() for g in gradient.values()]).norm())
        own = self.note if may_step else self.write
        (own if adam == "value_adam" else self.note_policy)(**{norm_name: norm})
        if self.tricks.grad_clip:
            gradient = {name: g * min(1.0, limit / (norm + 1e-6)) for name, g in gradient.items()}
        if may_step:
            rate = self.rate * (self.config.value_lr_factor if adam == "value_adam" else 1)
            self.adams[adam].step(self.weights, gradient, rate)
        self.write(**{f"{name} after {norm_name}": weight for name, weight in self.weights.items()})

    def policy_loss(self, weights: Weights, rows: list[Row]) -> Tensor:
        """What the policy minimizes: minus the surrogate objective, minus the entropy bonus."""
        config, tricks, policy = self.config, self.tricks, self.policy(weights, rows)
        advantage = column(rows, "advantage")
        if tricks.advantage_norm:
            advantage = (advantage - advantage.mean()) / (advantage.std(correction=int(len(rows) > 1)) + 1e-8)
        log_prob, entropy = self.log_prob(policy, rows), average(self.joint(policy.entropy()))
        objective = log_prob * advantage
        if tricks.reuse:
            log_ratio = log_prob - column(rows, "log_prob")
            if tricks.reply_ratio:
                log_ratio = sum((own * log_ratio[own].mean() for own in replies(rows)), 0 * log_ratio)
            ratio = log_ratio.exp()
            objective = ratio * advantage
            kl = average(ratio - 1 - ratio.log()).item()  # Schulman 2020
            self.note_policy(approx_kl=kl, max_ratio=max(ratio.tolist(), default=0.0))
        if tricks.clip:
            objective = torch.stack([objective, ratio.clip(1 - self.clip, 1 + self.clip) * advantage]).amin(0)
            self.note_policy(clip_fraction=average((ratio - 1).abs() > self.clip), clip_range=self.clip)
        if tricks.clip_higher:
            objective = torch.minimum(ratio * advantage, ratio.clip(1 - self.clip, 1 + self.clip_high) * advantage)
            self.note_policy(clip_high_fraction=average(ratio > 1 + self.clip_high))
        if tricks.dual_clip:
            bad, limit = advantage < 0, config.dual_clip_limit
            objective = torch.stack([objective, torch.where(bad, limit * advantage, objective)]).amax(0)
            self.note_policy(bounded_fraction=average((ratio > limit) & bad))
        if tricks.kl_stop:
            self.stopped = self.stopped or kl > 1.5 * config.target_kl
            (self.note if rows else self.write)(steps_taken=float(not self.stopped))
        if tricks.kl_penalty and config.kl_in == "loss":
            objective = objective - config.kl_coef * self.kl(log_prob, rows, config.kl_estimator)
        loss = -average(objective)
        if tricks.reply_mean and rows:
            each = [objective[own].sum() / (config.reply_divisor or own.sum()) for own in replies(rows)]
            loss = -torch.stack(each).mean()
        self.note_policy(policy_loss=loss.detach(), entropy=entropy.detach())
        return loss - config.entropy_coef * entropy if tricks.entropy else loss

    def value_loss(self, weights: Weights, rows: list[Row]) -> Tensor:
        """½(V − G)², or the larger of two such errors, or with a linear tail (Huber 1964); mean over the rows."""
        delta, clip_range = self.config.huber_delta, self.value_clip if self.tricks.value_clip else torch.inf
        distance = self.distance(self.predicted(weights, VALUE, rows), rows, clip_range)
        linear = (distance > delta) & self.tricks.huber
        return average(torch.where(linear, delta * (distance - delta / 2), distance**2 / 2))

    def distance(self, value: Tensor, rows: list[Row], clip_range: float = torch.inf) -> Tensor:
        """|V − G|, or the same of V held within ±ε of the old one if that is larger. openai/baselines, ppo2."""
        old, target = (column(rows, name) for name in ("value", "target"))
        near = torch.minimum(torch.maximum(value, old - clip_range), old + clip_range)
        return torch.maximum((value - target).abs(), (near - target).abs())

    def auxiliary_phase(self) -> None:
        """Teach the policy net's second head values, and hold its policy. Cobbe et al. 2020, sec. 2."""
        memory, old, config = [[self.today(row) for row in rows] for rows in self.memory], self.weights, self.config
        self.weights, clip_range = dict(old), config.value_clip_range if config.aux_value_clip else torch.inf
        for epoch in range(config.aux_epochs):
            for rows in parts(self.shuffled(memory, "auxiliary", epoch), config.minibatches * len(memory)):
                weights = self.next_minibatch()
                auxiliary, value = (self.predicted(weights, net, rows) for net in (AUXILIARY, VALUE))
                errors = self.distance(auxiliary, rows, clip_range) ** 2 + self.distance(value, rows) ** 2
                cloning = average(self.joint(kl_divergence(self.policy(old, rows), self.policy(weights, rows))))
                loss = average(errors / 2) + config.clone_coef * cloning
                self.note(auxiliary_loss=loss.detach(), clone_kl=cloning.detach())
                if rows:
                    self.adams["auxiliary_adam"].step(self.weights, gradient_of(loss, weights), self.rate)
                self.write(**{f"{name} after auxiliary": weight for name, weight in self.weights.items()})


def column(rows: list[Row], name: str) -> Tensor:
    return torch.tensor([getattr(row, name) for row in rows], dtype=torch.float64)


def stacked(arrays: Sequence[np.ndarray], shape: Sequence[int]) -> Tensor:
    return torch.tensor(np.array(arrays, dtype=float)).view(*shape)


def plain(x: object) -> np.ndarray:
    return x.detach().numpy() if isinstance(x, Tensor) else np.array(x, dtype=float)


def average(x: Tensor) -> Tensor:
    return x.double().sum() / max(1, len(x))


def replies(rows: list[Row]) -> list[Tensor]:
    """Which of these rows are those of each reply: [rows] bool."""
    lanes = torch.tensor([row.lane for row in rows])
    return [lanes == lane for lane in lanes.unique()]


def parts(rows: list[Any], count: int) -> list[list[Any]]:
    """As many minibatches of about equal size."""
    return [rows[len(rows) * k // count : len(rows) * (k + 1) // count] for k in range(count)]


def gradient_of(loss: Tensor, weights: Weights) -> Weights:
    """By each weight, 0 for those that the loss does not depend on."""
    found = torch.autograd.grad(loss, list(weights.values()), materialize_grads=True)
    return dict(zip(weights, found, strict=True))


def split(rows: list[Row]) -> Iterator[list[Row]]:
    """Episodes, or the parts of them that the rollout holds."""
    for lane in {row.lane: [r for r in rows if r.lane == row.lane] for row in rows}.values():
        ends = [k + 1 for k, row in enumerate(lane) if row.done or row is lane[-1]]
        yield from (lane[start:end] for start, end in pairwise([0, *ends]))

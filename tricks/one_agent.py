"""One agent, one file: REINFORCE, and each trick of the ladder as a bare `if`, in plain PyTorch.

`python -m tricks.one_agent ppo --env Acrobot-v1` trains it. Observations are vectors; actions are Discrete or a Box.
`tricks.train` with `backend="gymnasium"` trains the same curve, up to rounding; it has more tricks, seeds, and spaces.
"""

from dataclasses import dataclass
from typing import Any

import gymnasium as gym
import numpy as np
import torch
from torch import Tensor, nn
from torch.distributions import Categorical, Independent, Normal

from tricks.ladder import Tricks
from tricks.one_run import check, main


@dataclass
class Config:
    env: str = "CartPole-v1"
    seed: int = 0
    steps: int = 100_000
    lanes: int = 8  # N: environments side by side
    horizon: int = 128  # T: steps of a segment; a batch of whole episodes has at least N·T
    lr: float = 1e-3
    adam_eps: float = 1e-5
    gamma: float = 0.99  # γ
    hidden: int = 64  # width of both hidden layers
    value_coef: float = 0.5  # c₁
    epochs: int = 4
    minibatches: int = 4
    clip_range: float = 0.2  # ε
    gae_lambda: float = 0.95  # λ
    max_grad_norm: float = 0.5
    entropy_coef: float = 0.01  # c₂
    return_beta: float = 0.1  # β
    value_clip_range: float = 0.2


def stream(seed: int, purpose: str, *index: int) -> np.random.Generator:
    """Random numbers of their own for each purpose and update, so that no trick shifts another's."""
    purposes = ("init", "env", "action", "minibatch")
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(purposes.index(purpose), *index)))


def net(shape: Any, h: int, outputs: int) -> nn.Module:
    """Two tanh layers of width h, and a linear head."""
    return nn.Sequential(nn.Linear(shape[0], h), nn.Tanh(), nn.Linear(h, h), nn.Tanh(), nn.Linear(h, outputs))


def drawn(net: Any, head_gain: float, rng: np.random.Generator, number: int, config: Config, tricks: Tricks) -> Any:
    """The net with random weights."""
    layers = [layer for layer in net.modules() if hasattr(layer, "weight")]
    for k, layer in enumerate(layers):
        (outputs, inputs), gain = layer.weight.flatten(1).shape, head_gain if layer is layers[-1] else 2**0.5
        weight, bias = (rng.uniform(-(inputs**-0.5), inputs**-0.5, (n, outputs)) for n in (inputs, 1))
        if tricks.orthogonal_init:
            q, r = np.linalg.qr(stream(config.seed, "init", number, k).standard_normal(sorted((inputs, outputs))[::-1]))
            q = q * np.sign(np.diag(r))
            weight, bias = gain * (q if inputs >= outputs else q.T), 0 * bias
        layer.weight.data, layer.bias.data = torch.Tensor(weight.T).view_as(layer.weight), torch.Tensor(bias[0])
    return net


class Agent(nn.Module):
    """Policy, value net, and the statistics by which observations and returns are standardized."""

    def __init__(self, env: Any, config: Config, tricks: Tricks) -> None:
        super().__init__()
        shape, space, self.tricks = env.single_observation_space.shape, env.single_action_space, tricks
        self.discrete = isinstance(space, gym.spaces.Discrete)
        self.actions = int(space.n) if self.discrete else space.shape[0]
        rng = stream(config.seed, "init")
        self.policy_net = drawn(net(shape, config.hidden, self.actions), 0.01, rng, 0, config, tricks)
        self.value_net = drawn(net(shape, config.hidden, 1), 1.0, rng, 1, config, tricks)
        if tricks.shared_trunk:
            self.value_net = nn.Sequential(*self.policy_net[:-1], self.value_net[-1])
        self.log_std = nn.Parameter(torch.zeros(self.actions))
        self.seen = gym.wrappers.utils.RunningMeanStd(0, shape)  # mean and variance of the observations so far
        self.mu, self.sigma, self.variance = 0.0, 1.0, 1.0  # of returns; the value net learns (return − mu) / sigma

    def standardized(self, obs: Tensor) -> Tensor:
        if self.tricks.state_norm:
            scale = torch.tensor((self.seen.var + 1e-8) ** -0.5).float()
            return ((obs - torch.tensor(self.seen.mean).float()) * scale).clamp(-10, 10) if self.seen.count else obs
        return obs

    def policy(self, b: dict[str, Tensor]) -> Any:
        out = self.policy_net(self.standardized(b["obs"]))
        if self.tricks.action_mask:
            out = out.masked_fill(~b["legal"], -1e30)
        return Categorical(logits=out) if self.discrete else Independent(Normal(out, self.log_std.exp()), 1)

    def value(self, obs: Tensor) -> Any:
        return self.value_net(self.standardized(obs)).squeeze(-1).double()


class Player:
    """Steps the lanes. Gymnasium spends a lane's next step after an episode on its reset: a row that is not `valid`."""

    def __init__(self, config: Config, tricks: Tricks) -> None:
        self.env: Any = gym.wrappers.vector.RecordEpisodeStatistics(gym.make_vec(config.env, config.lanes))
        self.config, self.tricks = config, tricks
        self.begin(int(stream(config.seed, "env").integers(2**31)))

    def begin(self, seed: int | None = None) -> None:
        self.resetting = np.zeros(self.config.lanes, bool)
        self.observe(*self.env.reset(seed=seed))

    def observe(self, obs: Any, info: dict[str, Any]) -> None:
        self.now = {"obs": torch.tensor(obs).float()}
        if self.tricks.action_mask:
            mask = info["action_mask"] | ~info["_action_mask"][:, None] if "action_mask" in info else [[True]]
            self.now["legal"] = torch.tensor(mask).bool().expand(self.config.lanes, self.env.single_action_space.n)

    @torch.no_grad()
    def play(self, agent: Agent, update: int) -> tuple[dict[str, Tensor], list[float]]:
        """A segment, or whole episodes with at least N·T valid rows: columns [T, N, ...]; the returns that ended."""
        config, space, rows, ended = self.config, self.env.single_action_space, list[Any](), list[float]()
        if not self.tricks.segments:
            self.begin()
        playing, count = np.ones(config.lanes, bool), 0
        while playing.any():
            block, row = divmod(len(rows), config.horizon)
            if row == 0:  # noise for a block of rows: the argmax of logits + Gumbel noise is a draw from their softmax
                rng, size = stream(config.seed, "action", update, block), (config.horizon, config.lanes, agent.actions)
                z = torch.tensor(rng.gumbel(size=size) if agent.discrete else rng.standard_normal(size, "f4")).float()
            pi, now, valid = agent.policy(self.now), self.now, playing & ~self.resetting
            action = (pi.logits + z[row]).argmax(-1) if agent.discrete else pi.mean + pi.stddev * z[row]
            taken = action.numpy() + space.start if agent.discrete else action.numpy().clip(space.low, space.high)
            next_obs, reward, terminated, truncated, info = self.env.step(taken)
            self.observe(next_obs, info)
            over, count = terminated | truncated, count + valid.sum()
            rows.append(now | {"action": action, "reward": reward * valid, "next_obs": self.now["obs"], "valid": valid})
            rows[-1] |= {"terminated": terminated & valid, "truncated": truncated & valid & ~terminated}
            if "episode" in info:
                ended += info["episode"]["r"][info["_episode"] & valid].tolist()
            finished = len(rows) == config.horizon
            if not self.tricks.segments:
                finished = (over | self.resetting) & (count >= config.lanes * config.horizon)
            playing[finished], self.resetting = False, over
        return {name: torch.stack([torch.as_tensor(row[name]) for row in rows]) for name in rows[0]}, ended


def discounted(x: Tensor, discount: Tensor) -> Tensor:
    """yₜ = xₜ + discountₜ·yₜ₊₁. [T, N]."""
    y = x.clone()
    for t in reversed(range(len(x) - 1)):
        y[t] += discount[t] * y[t + 1]
    return y


@torch.no_grad()
def judge(agent: Agent, b: dict[str, Tensor], config: Config, tricks: Tricks) -> None:
    """How good was each action? Adds `advantage` and, for the value net, its prediction and `target`."""
    done = b["terminated"] | b["truncated"]
    going = config.gamma * (~done).double()
    target = discounted(b["reward"], going)
    if not tricks.baseline:
        b["advantage"] = target
        return
    cut = torch.zeros_like(done)
    cut[-1] = b["valid"][-1] & ~done[-1]  # the episode goes on, but its rewards are not known: V stands for them
    if tricks.bootstrap:
        cut = cut | b["truncated"]
    value, next_value = agent.value(b["obs"]), agent.value(b["next_obs"])
    if tricks.return_norm:
        value, next_value = value * agent.sigma + agent.mu, next_value * agent.sigma + agent.mu
    target = target + discounted(torch.where(cut, config.gamma * next_value, 0), going)
    advantage = target - value
    if tricks.gae:
        delta = b["reward"] + config.gamma * torch.where(done & ~cut, 0, next_value) - value
        advantage = discounted(delta, config.gae_lambda * going)
        target = value + advantage
    b |= {"advantage": advantage, "old_value": value, "target": target}
    if tricks.return_norm:
        mu, sigma, beta, g = agent.mu, agent.sigma, config.return_beta, target[b["valid"]]
        spread = beta * g.var(correction=0) + beta * (1 - beta) * (g.mean() - mu) ** 2  # of old and new, mixed
        agent.mu, agent.variance = float((1 - beta) * mu + beta * g.mean()), float((1 - beta) * agent.variance + spread)
        agent.sigma = float(np.clip(agent.variance**0.5, 1e-4, 1e6))
        b["old_value"], b["target"] = (value - mu) / sigma, (target - agent.mu) / agent.sigma
    if tricks.popart:
        head = agent.value_net[-1]
        head.weight *= sigma / agent.sigma
        head.bias.copy_((sigma * head.bias.double() + mu - agent.mu) / agent.sigma)
        b["old_value"] = (value - agent.mu) / agent.sigma


def losses(agent: Agent, b: dict[str, Tensor], clip_range: float, config: Config, tricks: Tricks) -> Any:
    """A minibatch's loss, and what the curve shows of it."""
    advantage, pi = b["advantage"].float(), agent.policy(b)
    if tricks.advantage_norm:
        advantage = (advantage - advantage.mean()) / (advantage.std(correction=min(1, len(advantage) - 1)) + 1e-8)
    log_prob, entropy = pi.log_prob(b["action"]), pi.entropy().mean()
    objective = log_prob * advantage
    if tricks.reuse:
        ratio = (log_prob - b["old_log_prob"]).exp()
        objective = ratio * advantage
    if tricks.clip:
        objective = torch.minimum(objective, ratio.clamp(1 - clip_range, 1 + clip_range) * advantage)
    loss = policy_loss = -objective.mean()
    if tricks.entropy:
        loss = loss - config.entropy_coef * entropy
    if tricks.baseline:
        value, old = agent.value(b["obs"]), b["old_value"]
        error = (value - b["target"]) ** 2 / 2
        if tricks.value_clip:
            near = old + (value - old).clamp(-config.value_clip_range, config.value_clip_range)
            error = torch.maximum(error, (near - b["target"]) ** 2 / 2)
        loss = loss + config.value_coef * error.mean()
    return loss, {"policy_loss": policy_loss, "entropy": entropy}


def train(config: Config, tricks: Tricks) -> tuple[Agent, list[Any]]:
    """The agent, and its curve: a row for each update."""
    check(vars(config), tricks)  # raises InputError
    player, steps, curve = Player(config, tricks), 0, list[Any]()
    agent = Agent(player.env, config, tricks)
    optimizer = torch.optim.Adam(agent.parameters(), config.lr, eps=config.adam_eps)
    while steps < config.steps:
        left, clip_range = 1 - steps / config.steps, config.clip_range
        if tricks.lr_anneal:
            optimizer.param_groups[0]["lr"] = config.lr * left
        if tricks.clip_anneal:
            clip_range = clip_range * left
        rollout, ended = player.play(agent, len(curve))
        judge(agent, rollout, config, tricks)
        valid, notes = rollout["valid"], list[Any]()
        batch = {name: x[valid] for name, x in rollout.items()}  # [B, ...]: the rows of experience
        minibatches = [torch.arange(len(batch["obs"]))]  # REINFORCE takes one step on the whole batch
        if tricks.reuse:
            minibatches, batch["old_log_prob"] = [], agent.policy(batch).log_prob(batch["action"]).detach()
            for epoch in range(config.epochs):
                keys = torch.tensor(stream(config.seed, "minibatch", len(curve), epoch).random(valid.shape))
                order = keys[valid].argsort()
                cuts = [len(order) * k // config.minibatches for k in range(1, config.minibatches)]
                minibatches += [rows for rows in order.tensor_split(cuts) if len(rows)]
        for rows in minibatches:
            b = {name: x[rows] for name, x in batch.items()}
            loss, noted = losses(agent, b, clip_range, config, tricks)
            notes.append({name: x.item() for name, x in noted.items()})
            optimizer.zero_grad()
            loss.backward()
            if tricks.grad_clip:
                nn.utils.clip_grad_norm_(agent.parameters(), config.max_grad_norm)
            optimizer.step()
        if tricks.state_norm:  # only now, so that the first minibatch's ratio is 1
            agent.seen.update(batch["obs"].double().numpy())
        steps, score = steps + int(valid.sum()), float(np.mean(ended)) if ended else np.nan
        curve.append({"step": steps, "return": score} | {x: np.mean([noted[x] for noted in notes]) for x in notes[0]})
        print(f"{steps:9,} steps: return {score:.1f}", flush=True)
    return agent, curve


if __name__ == "__main__":
    main(train, Config, __doc__)

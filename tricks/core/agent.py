"""S agents at once: a policy net, a value net, and the units of its values."""

from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import replace
from math import prod
from typing import Any, ClassVar

import numpy as np
import torch
import torch.nn.functional as F
from gymnasium.spaces import Discrete, MultiDiscrete
from torch import Tensor, nn

from tricks.config import Config
from tricks.core.env import Env
from tricks.core.moments import ReturnStats, denormalize
from tricks.core.nets import Body, Dense, Head, Joined, MakeBody, Net, checked, image_body
from tricks.core.owners import Owner
from tricks.core.rollout import Rollout
from tricks.core.seeds import stream
from tricks.core.sequences import Features, Given, Sequences, goes_on, observations
from tricks.core.spaces import Leaf, Spaces, as_array
from tricks.errors import InputError
from tricks.values import fitted, shown


class Agent(nn.Module):
    """π(a|s) and V(s) for S seeds. Both nets always exist; a rung without a value function never evaluates V(s).

    What a trick changes is a part that it sets: `family`, `mask`, `obs_stats`, `return_stats`, or a module of its own.
    """

    OWNERS: ClassVar[dict[str, Owner]] = {"return_mean": "seed", "return_variance": "seed"}
    mask: Callable[[Tensor, Tensor], Tensor] | None = None  # logits, legal [..., A] -> logits; None: all are legal
    obs_stats: Callable[[Tensor], Tensor] | None  # what the nets see instead of observations: [S, B, D] -> [S, B, D]
    origin: str = ""  # the folder that they were loaded from
    acting_state: Tensor | None = None  # a recurrent policy's after the last `act`, [S, N, 1, K]

    def __init__(self, spaces: Spaces, config: Config, body: MakeBody | None = None) -> None:
        super().__init__()
        self.spaces, self.seeds, self.family, self.obs_stats = spaces, config.seed_list, spaces.family, None
        generators, nets = [stream(seed, "init") for seed in self.seeds], list[Net]()
        for outputs, exact in ((spaces.actions, False), (spaces.tasks, True)):
            features = make_body(generators, spaces, config, body)
            nets.append(Net(features, Head(generators, features.width, outputs, exact)))
        self.policy_net, self.value_net = nets
        if not spaces.discrete:  # the standard deviation does not depend on the state
            start = torch.tensor(config.each("log_std_init"), dtype=torch.float32).view(-1, 1, 1)
            self.log_std = nn.Parameter(start.repeat(1, 1, spaces.actions))
        shape = (len(self.seeds),) if spaces.tasks == 1 else (len(self.seeds), spaces.tasks)
        self.return_mean: Tensor = nn.Buffer(torch.zeros(shape, dtype=torch.float64))
        self.return_variance: Tensor = nn.Buffer(torch.ones(shape, dtype=torch.float64))

    @property
    def return_stats(self) -> ReturnStats:
        """Mean and variance of the returns, the units of the value net's output; 0 and 1 until they move."""
        return ReturnStats(self.return_mean, self.return_variance)

    @return_stats.setter
    def return_stats(self, stats: ReturnStats) -> None:
        self.return_mean, self.return_variance = stats.mean, stats.variance

    @property
    def value_nets(self) -> list[Net]:
        """All nets that predict values: the value net, and what a trick adds."""
        return [net for net in self.children() if isinstance(net, Net) and net is not self.policy_net]

    @property
    def state_size(self) -> int:
        """K: how many numbers a recurrent net's state has; 0 for agents that act on an observation alone."""
        return getattr(self.policy_net.body, "state_size", 0)

    def standardized(self, obs: Tensor) -> Tensor:
        """Observations as the nets see them: [S, B, D] or [S, B, C, H, W]."""
        return obs if self.obs_stats is None else self.obs_stats(obs)

    def features(self, obs: Given) -> Features:
        """Observations [S, B, D], seen by the policy net's body once for all the heads that read it."""
        if isinstance(obs, Sequences):
            return Features(obs, lambda: self.through(self.policy_net, obs)[0])
        return Features(obs, lambda: self.policy_net.body(self.standardized(obs)))

    def through(self, net: Net, lanes: Sequences) -> tuple[Tensor, Tensor]:
        """What a recurrent body makes of whole lanes, [S, T·L, H], and its states after the last row, [S, L, K]."""
        body: Any = net.body
        found: tuple[Tensor, Tensor] = body.through(replace(lanes, obs=self.standardized(lanes.obs)))
        return found

    def policy(self, given: Given | Features, legal: Tensor | None = None) -> Tensor:
        """The parameters of π(·|s): [S, B, D] -> [S, B, A], or [S, B, 2A] for a Gaussian; legal [S, B, A]."""
        logits = self.output(self.policy_net, given)
        if not self.spaces.discrete:
            return torch.cat([logits, self.log_std.expand_as(logits)], -1)
        return logits if self.mask is None or legal is None else self.mask(logits, legal)

    def value(self, given: Given | Features) -> Tensor:
        """The value net's output, V(s) of the row's task, in units of `return_stats`: [S, B, D] -> [S, B] float64."""
        return self.read(self.value_net, given)

    def read(self, net: Net, given: Given | Features) -> Tensor:
        """The output of a net that predicts values, each row's for its own task: [S, B, D] -> [S, B] float64."""
        outputs = self.output(net, given)  # [S, B, K]
        task = self.spaces.task(observations(given))
        return outputs.squeeze(-1) if task is None else outputs.gather(-1, task.unsqueeze(-1)).squeeze(-1)

    def output(self, net: Net, given: Given | Features) -> Tensor:
        """A net's output, [S, B, out]; its body runs only if `given` does not already hold its features."""
        obs = given.obs if isinstance(given, Features) else given
        if isinstance(given, Features) and net.body is self.policy_net.body:
            out: Tensor = net.head(given.hidden)
        elif isinstance(obs, Sequences):
            out = net.head(self.through(net, obs)[0])
        else:
            out = net(self.standardized(obs))
        return out

    @torch.no_grad()
    def values(self, rollout: Rollout) -> tuple[Tensor, Tensor]:
        """V(s) and V(s') for each row, in units of reward: [S, T, N] each."""
        rows = rollout.obs.shape[:3]  # [S, T+1, N]
        obs = rollout.obs.flatten(1, 2)
        if rollout.state is not None:
            stays = F.pad(goes_on(rollout.valid, rollout.done), (0, 0, 0, 1)).flatten(1, 2)
            obs = Sequences(obs, stays, rollout.state)  # type: ignore[assignment]
        value = denormalize(self.value(obs), self.return_stats.of(self.spaces.task(observations(obs)))).view(rows)
        return value[:, :-1], value[:, 1:]

    @torch.no_grad()
    def act(
        self, obs: Any, legal: Any = None, rng: np.random.Generator | None = None, begins: Any = False
    ) -> np.ndarray:
        """Choose actions for raw observations, in the format of the environment that it trained in, wrappers included.

        obs is one observation, [N, ...] or [S, N, ...], nested like its space; legal, if given, has the same leading
        shape, then A, or is a tuple of one such array for each component of the action. With `rng`, actions are
        sampled; without it, they are the most likely ones. Fewer axes than [S, N, ...] need a single agent, `agent[k]`.
        A recurrent agent goes on in the state after the last call; `begins`, one bool or one for each row, says where
        an episode begins, and so a new state. Raises InputError for observations or masks that don't fit.
        """
        leads = tuple(leading_axes(leaf, obs, len(self.seeds)) for leaf in self.spaces.leaves)
        if len(set(leads)) > 1:
            raise InputError(f"the parts of observations of {self.spaces.env} lead with different axes, {shown(leads)}")
        rows = leads[0]
        if not isinstance(rng, np.random.Generator | None):
            raise InputError(f"rng must be a np.random.Generator or None, not {shown(rng)}")
        full = rows if len(rows) == 2 else (1, *rows) if rows else (1, 1)
        given: Given | Features = self.spaces.encode(obs, full)
        if self.state_size:
            state = state_before(self.acting_state, begins, full, self.state_size)
            lanes = Sequences(observations(given), torch.ones(full, dtype=torch.bool), state)
            hidden, state = self.through(self.policy_net, lanes)
            given, self.acting_state = Features(lanes, hidden), state.unsqueeze(2)
        logits = self.policy(given)
        if legal is not None:
            logits = logits.masked_fill(~mask_of(self.spaces, legal, rows).view(*full, -1), -torch.inf)
        if rng is None:
            action = self.family.mode(logits)
        else:
            noise = self.family.noise(rng, (*full, self.spaces.actions))
            action = self.family.sample(logits, torch.from_numpy(noise))
        decoded = self.spaces.decode(self.family.played(action))
        return decoded.reshape((*rows, *decoded.shape[2:]))

    def __getitem__(self, k: int) -> "Agent":
        """The k-th agent of the stack, as a copy."""
        k = fitted("k", int, k)
        pick = slice(k, k + 1 or None)
        alone = deepcopy(self)
        alone.seeds, alone.acting_state = (self.seeds[k],), None
        for tensor in (*alone.parameters(), *alone.buffers()):
            tensor.data = tensor.data[pick].clone()
        return alone


class RecurrentState:
    """The states of policy and value net in each lane of an environment, [S, N, 2, K]: zero before an episode."""

    OWNERS: ClassVar[dict[str, Owner]] = {"now": "episode", "first": "episode"}

    def __init__(self, agent: Agent, env: Env) -> None:
        self.agent, self.env = agent, env
        shape = len(agent.seeds), env.lanes, 2, agent.state_size
        self.now = torch.zeros(shape, dtype=torch.float32, device=env.now.obs.device)
        self.first = self.now  # before the first row of the rollout

    def look(self) -> Features:
        """Features of the current observations, [S, N, H]; the states take these observations in."""
        step, policy, value = self.env.now, self.agent.policy_net, self.agent.value_net
        lanes = Sequences(step.obs, torch.as_tensor(~step.resetting), self.before())
        hidden, state = self.agent.through(policy, lanes)
        other = state if value.body is policy.body else self.agent.through(value, lanes)[1]
        self.now = torch.stack([state, other], 2)
        return Features(lanes, hidden)

    def before(self) -> Tensor:
        """The states before the current observations; zero after a lost life, but not in rows that reset a lane."""
        now = self.env.now
        begins = (now.terminated | now.truncated) & torch.as_tensor(~now.resetting)
        return self.now.masked_fill(begins.view(*begins.shape, 1, 1), 0)

    def end_rollout(self) -> Tensor:
        """Return the states before the first row of the rollout that ends here, [S, N, 2, K]."""
        first, self.first = self.first, self.before()
        return first.clone()  # autograd takes no tensor that was made in inference mode

    def state_dict(self) -> dict[str, Any]:
        return {"now": self.now}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.now = self.first = state["now"].to(self.now.device)


def make_body(generators: Sequence[np.random.Generator], spaces: Spaces, config: Config, body: MakeBody | None) -> Body:
    """What comes before the head of one net: the user's own body, or convolutions for images, or dense layers."""
    if body is not None:
        if not callable(body):
            raise InputError(f"body= must be a function of the seeds' generators and the spaces, not {body!r}")
        return checked(body(generators, spaces), spaces, len(generators))
    if spaces.pixels:
        return image_body(generators, spaces.leaves[0])
    if spaces.images:
        return Joined(generators, spaces, config.hidden, config.activation)
    return Dense(generators, (spaces.features, *config.hidden), config.activation)


def leading_axes(leaf: Leaf, obs: Any, agents: int) -> tuple[int, ...]:
    """The axes that lead in one part of raw observations, which is checked for `Agent.act`: (), (N,) or (S, N)."""
    at, shape = leaf.name.removeprefix("observation"), leaf.space.shape or ()
    try:
        array = number_array(f"observations{at}", part := leaf.of(obs))
    except (KeyError, IndexError, TypeError):
        raise InputError(f"an observation of {leaf.env} needs {leaf.name}, and {shown(obs)} does not have it") from None
    lead = array.ndim - len(shape)
    if not 0 <= lead <= 2 or array.shape[lead:] != shape:
        forms = f"{list(shape)}, [N, ...] or [S, N, ...] of these"
        raise InputError(f"observations{at} of {leaf.env} are {forms}; not {list(array.shape)}")
    if (agents > 1 and lead < 2) or (lead == 2 and len(array) != agents):
        what = f"[S, N, ...], with S = {agents}, not {list(array.shape)}" + "; agent[k] picks one" * (agents > 1)
        raise InputError(f"observations of {agents} agents must be {what}")
    if not (np.abs(array) <= np.finfo(np.float32).max).all():  # nor NaN
        raise InputError(f"observations{at} must be finite, not {shown(array.tolist())}")
    if isinstance(leaf.space, Discrete | MultiDiscrete):
        counts, first = leaf.choices
        if ((array < first) | (array >= first + counts) | (array % 1 != 0)).any():
            whole = f"whole numbers from {first} to {first + counts - 1}"
            raise InputError(f"observations{at} of {leaf.env} are {whole}, not {shown(part)}")
    return array.shape[:lead]


def mask_of(spaces: Spaces, legal: Any, rows: tuple[int, ...]) -> Tensor:
    """The mask as booleans, [*rows, A], also from the arrays [*rows, nₖ] of its K components."""
    if not spaces.discrete:
        raise InputError(f"{spaces.env} has Box actions, which are all legal; leave out legal")
    parts = legal if isinstance(legal, tuple | list) else ()
    sizes = [np.shape(part)[-1:] for part in parts if isinstance(part, np.ndarray)]
    if spaces.components and sizes == [(size,) for size in spaces.components]:
        legal = np.concatenate(parts, -1)
    array, fitting = number_array("legal", legal), (*rows, spaces.actions)
    if array.shape != fitting:
        raise InputError(f"legal must be {list(fitting)}, one entry for each action, not {list(array.shape)}")
    mask = torch.from_numpy(array.astype(bool))
    if not spaces.possible(mask).all():
        raise InputError(f"legal leaves no action: {shown(array.tolist())}")
    return mask


def state_before(state: Tensor | None, begins: Any, rows: tuple[int, ...], size: int) -> Tensor:
    """A recurrent policy's state, [S, N, 1, K = size], before it acts on rows [S, N]; zero where an episode begins."""
    first = torch.from_numpy(number_array("begins", begins).astype(bool))
    if first.dim() and first.numel() != prod(rows):
        raise InputError(f"begins must be one bool, or one for each of {list(rows)} rows, not {list(first.shape)}")
    first = first.reshape(rows) if first.dim() else first.expand(rows)
    if state is None or (first.all() and state.shape[:2] != rows):
        return torch.zeros(*rows, 1, size, dtype=torch.float32)
    if state.shape[:2] != rows:
        before = " × ".join(map(str, state.shape[:2]))
        raise InputError(f"this agent's episodes go on in {before} lanes; with other lanes, say begins=True")
    return state.masked_fill(first.view(*rows, 1, 1), 0)


def number_array(name: str, given: Any) -> np.ndarray:
    """An array of numbers; of no strings, nor of rows of different lengths."""
    if (array := as_array(given)).dtype.kind not in "biuf":
        raise InputError(f"{name} must be an array of numbers, not {shown(given)}")
    return array

"""S agents at once: a policy net, a value net, and the units of its values."""

from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import replace
from typing import Any, ClassVar, cast

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from tricks.config import Config
from tricks.core.bodies import checked
from tricks.core.images import Joined, image_body
from tricks.core.inputs import mask_array, obs_arrays, state_before
from tricks.core.moments import ReturnStats, denormalize
from tricks.core.nets import Body, Dense, Head, MakeBody, Net
from tricks.core.owners import Owner
from tricks.core.rollout import Rollout
from tricks.core.seeds import stream
from tricks.core.sequences import Features, Given, RecurrentBody, Sequences, goes_on, observations
from tricks.core.spaces import Spaces
from tricks.errors import InputError
from tricks.values import fitted, shown


class Agent(nn.Module):
    """π(a|s) and V(s) for S seeds. Both nets always exist; a rung without a value function never evaluates V(s).

    Vectors go through dense layers, images [C, H, W] through the convolutions of `Nature`, or of `Shallow` if they are
    small, and what has both through `Joined`; a custom `body` replaces any of them. What a trick changes about an agent
    is a part that it sets: `family` (the distribution of actions), `mask`, `obs_stats`, `return_stats`, or a module of
    its own.
    """

    OWNERS: ClassVar[dict[str, Owner]] = {"return_mean": "seed", "return_variance": "seed"}
    return_mean: Tensor
    return_variance: Tensor
    mask: Callable[[Tensor, Tensor], Tensor] | None = None
    """What makes illegal actions impossible: logits [..., A], legal [..., A] -> logits. Without it, all are legal."""
    obs_stats: Callable[[Tensor], Tensor] | None
    """What the nets see instead of an observation: [S, B, D] -> [S, B, D]. Without it, the observation itself."""

    origin: str = ""
    """The folder that they were loaded from."""

    acting_state: Tensor | None = None
    """A recurrent policy's state after the last `act`, [S, N, 1, K]."""

    def __init__(self, spaces: Spaces, config: Config, body: MakeBody | None = None) -> None:
        super().__init__()
        self.spaces, self.seeds, self.family = spaces, config.seed_list, spaces.family
        generators = [stream(seed, "init") for seed in self.seeds]

        def net(outputs: int, exact: bool = False) -> Net:
            features = make_body(generators, spaces, config, body)
            return Net(features, Head(generators, features.width, outputs, exact))

        self.policy_net, self.value_net = net(spaces.actions), net(spaces.tasks, exact=True)
        if not spaces.discrete:  # the standard deviation does not depend on the state
            start = torch.tensor(config.each("log_std_init"), dtype=torch.float32).view(-1, 1, 1)
            self.log_std = nn.Parameter(start.repeat(1, 1, spaces.actions))
        self.obs_stats = None
        shape = (len(self.seeds),) if spaces.tasks == 1 else (len(self.seeds), spaces.tasks)
        self.register_buffer("return_mean", torch.zeros(shape, dtype=torch.float64))
        self.register_buffer("return_variance", torch.ones(shape, dtype=torch.float64))

    @property
    def return_stats(self) -> ReturnStats:
        """Mean and variance of the returns, the units of the value net's output; 0 and 1 until they move."""
        return ReturnStats(self.return_mean, self.return_variance)

    @return_stats.setter
    def return_stats(self, stats: ReturnStats) -> None:
        self.return_mean, self.return_variance = stats.mean, stats.variance

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
        body = cast(RecurrentBody, net.body)
        return body.through(replace(lanes, obs=self.standardized(lanes.obs)))

    def policy(self, given: Given | Features, legal: Tensor | None = None) -> Tensor:
        """The parameters of π(·|s): [S, B, D] -> [S, B, A], or [S, B, 2A] for a Gaussian.

        legal [S, B, A] says which actions are; without a `mask`, all count as legal.
        """
        logits = self.output(self.policy_net, given)
        if not self.spaces.discrete:
            return torch.cat([logits, self.log_std.expand_as(logits)], -1)
        return logits if self.mask is None or legal is None else self.mask(logits, legal)

    def value(self, given: Given | Features) -> Tensor:
        """The value net's output, V(s) in the units of `return_stats`: [S, B, D] -> [S, B] float64.

        With several tasks, each has a head, and a row gets the output of its own.
        """
        return self.read(self.value_net, given)

    def read(self, net: Net, given: Given | Features) -> Tensor:
        """The output of a net that predicts values, like `value`: [S, B, D] -> [S, B] float64."""
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
        an episode begins, and so a new state.
        Raises InputError for observations that are not of the environment's space or of several agents at once, and for
        a mask that does not fit or leaves no action.
        """
        parts, rows = obs_arrays(self.spaces, obs, len(self.seeds))
        if not isinstance(rng, np.random.Generator | None):
            raise InputError(f"rng must be a np.random.Generator or None, not {shown(rng)}")
        full = rows if len(rows) == 2 else (1, *rows) if rows else (1, 1)
        given: Given | Features = self.spaces.joined(parts, full)
        if self.state_size:
            state = state_before(self.acting_state, begins, full, self.state_size)
            lanes = Sequences(observations(given), torch.ones(full, dtype=torch.bool), state)
            hidden, state = self.through(self.policy_net, lanes)
            given, self.acting_state = Features(lanes, hidden), state.unsqueeze(2)
        logits = self.policy(given)
        if legal is not None:
            mask = torch.from_numpy(mask_array(self.spaces, legal, rows))
            logits = logits.masked_fill(~mask.view(*full, -1), -torch.inf)
        family = self.family
        if rng is None:
            action = family.mode(logits)
        else:
            noise = family.noise(rng, (*full, self.spaces.actions))
            action = family.sample(logits, torch.from_numpy(noise))
        decoded = self.spaces.decode(family.played(action))
        return decoded.reshape((*rows, *decoded.shape[2:]))

    def __getitem__(self, k: int) -> "Agent":
        """The k-th agent of the stack, as a copy."""
        k = fitted("k", int, k)
        pick = slice(k, k + 1 or None)
        alone = deepcopy(self)
        alone.seeds, alone.acting_state = (self.seeds[k],), None
        for parameter in alone.parameters():
            parameter.data = parameter.data[pick]
        for buffer in alone.buffers():
            buffer.data = buffer.data[pick].clone()
        return alone


def make_body(generators: Sequence[np.random.Generator], spaces: Spaces, config: Config, body: MakeBody | None) -> Body:
    """What comes before the head of one net: the user's own body, or convolutions for images, or dense layers."""
    if body is not None:
        if not callable(body):
            raise InputError(f"body= must be a function of the seeds' generators and the spaces, not {body!r}")
        return checked(body(generators, spaces), spaces, len(generators))
    if spaces.pixels:
        return image_body(generators, spaces)
    if spaces.images:
        return Joined(generators, spaces, config.hidden, config.activation)
    return Dense(generators, (spaces.features, *config.hidden), config.activation)

"""One trained policy as a plain module: an environment's observations in, its actions out. Needs torch and numpy only.

`save-policy` writes this module beside the weights, with the policy's PLAN at its end.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

LIMIT = 10.0  # standardized observations stay within ±LIMIT


class Policy(nn.Module):
    """π of one agent. plan: what observations and actions are, and what the weights don't say of the layers.

    state [1, K]: that of a recurrent policy after the last `act`; K is 0 for any other.
    """

    def __init__(self, plan: dict[str, Any], weights: dict[str, Tensor]) -> None:
        super().__init__()
        self.plan, self.weights = plan, nn.ParameterDict(weights)
        size = len(weights["onward"]) if plan["cell"] else 0
        self.state = torch.zeros(1, 2 * size if plan["cell"] == "lstm" else size, dtype=torch.float32)

    def forward(
        self, *parts: Tensor, state: Tensor | None = None, legal: Tensor | None = None, noise: Tensor | None = None
    ) -> Tensor | tuple[Tensor, Tensor]:
        """Actions [B, ...] for observations [B, ...], one argument for each part of a nested one, in the plan's order.

        legal [B, A]: which actions are, as booleans. noise [B, A]: standard Gumbel for discrete actions and standard
        normal for a Box; without it, actions are the most likely ones. A recurrent policy also returns the next state:
        state [B, K] is the one before, zero where an episode begins, and everywhere if it is None. Raises ValueError
        for parts of another shape or dtype, or another number of them.
        """
        if len(parts) != len(self.plan["parts"]):
            names = ", ".join(map(name_of, self.plan["parts"]))
            raise ValueError(f"a policy takes {len(self.plan['parts'])} tensors, {names}; not {len(parts)}")
        for part, about in zip(parts, self.plan["parts"], strict=True):
            refuse_misfit(part, about, ["B"])
        layers = self.layers()
        features = self.features(parts, layers)
        if not self.plan["cell"]:
            return self.action(affine(features, *next(layers)), legal, noise)
        before = self.state.new_zeros(len(features), self.state.shape[1]) if state is None else state
        features, state = self.recur(features, before)
        return self.action(affine(features, *next(layers)), legal, noise), state

    def layers(self) -> Iterator[tuple[Tensor, Tensor]]:
        """Weight [in, out] and bias [out] of each layer, from the observation to the head."""
        for k in range(sum(name.startswith("bias") for name in self.weights)):
            yield self.weights[f"weight{k}"], self.weights[f"bias{k}"]

    def features(self, parts: tuple[Tensor, ...], layers: Iterator[tuple[Tensor, Tensor]]) -> Tensor:
        """What the body makes of observations, [B, H]; an image's convolutions and their dense layer have ReLU."""
        encoded = [encode(part, about) for part, about in zip(parts, self.plan["parts"], strict=True)]
        for image in self.plan["images"]:
            y = encoded[image["part"]] / image["divisor"]
            for kernel, stride in image["convolutions"]:
                weight, bias = next(layers)  # [C·k·k, out]
                y = F.conv2d(y, weight.T.unflatten(1, (-1, kernel, kernel)), bias, stride).relu()
            encoded[image["part"]] = affine(y.flatten(1), *next(layers)).relu()
        x = torch.cat(encoded, -1)
        if "mean" in self.weights:
            x = ((x - self.weights["mean"]) * self.weights["scale"]).clamp(-LIMIT, LIMIT)
        for _ in range(self.plan["dense"]):
            x = affine(x, *next(layers))
            x = x.tanh() if self.plan["activation"] == "tanh" else x.relu()
        return x

    def recur(self, features: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        """One step of the recurrent layer: what the head sees, [B, H], and the next state, [B, K]."""
        into, on, bias = (self.weights[name] for name in ("inward", "onward", "gates"))
        if self.plan["cell"] == "gru":
            state = torch.gru_cell(features, state, into.T, on.T, bias, torch.zeros_like(bias))
            return state, state
        cell = torch.lstm_cell(features, state.chunk(2, -1), into.T, on.T, bias, torch.zeros_like(bias))
        return cell[0], torch.cat(cell, -1)

    def action(self, logits: Tensor, legal: Tensor | None, noise: Tensor | None) -> Tensor:
        """Actions [B, ...] from what the head says."""
        plan, weights = self.plan, self.weights
        box = "low" in weights
        if legal is not None:
            if box or legal.shape[1:] != logits.shape[1:]:
                raise ValueError(f"legal is for discrete actions, [B, {logits.shape[1]}]; not {list(legal.shape)}")
            logits = logits.masked_fill(~legal, -torch.inf)
        if noise is not None:
            logits = logits + (weights["log_std"].exp() * noise if box else noise)
        if box:
            action = self.within(logits, weights["low"], weights["high"])
        else:
            choices = [part.argmax(-1) for part in logits.split(plan["counts"], -1)]
            action = torch.stack(choices, -1) + torch.tensor(plan["starts"])
        return action.reshape(-1, *plan["shape"]).to(getattr(torch, plan["dtype"]))

    def within(self, action: Tensor, low: Tensor, high: Tensor) -> Tensor:
        """A Box action within its bounds: rounded if it is whole; from [-1, 1] if it was rescaled, or is a tanh."""
        if self.plan["squashed"]:
            action = action.tanh()
        if self.plan["squashed"] or self.plan["rescaled"]:
            action = (low / 2 + high / 2) + (high / 2 - low / 2) * action.clamp(-1, 1)
        action = action.round() if self.plan["dtype"].startswith(("int", "uint", "bool")) else action
        return torch.minimum(torch.maximum(action, low), high)

    @torch.no_grad()
    def act(self, obs: Any, legal: Any = None, begins: bool = False) -> np.ndarray:
        """The most likely action for one observation, both in the environment's own format.

        A recurrent policy goes on in the state after the last call; `begins` says that an episode begins, and so a new
        state. Raises ValueError for an observation that is not in the environment's observation space.
        """
        parts = [one_part(obs, about).unsqueeze(0) for about in self.plan["parts"]]
        mask = None if legal is None else torch.as_tensor(np.asarray(legal, dtype=bool)).unsqueeze(0)
        action = self(*parts, legal=mask, state=torch.zeros_like(self.state) if begins else self.state)
        if self.plan["cell"]:
            action, self.state = action
        return action[0].numpy()  # type: ignore[no-any-return]


def affine(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    return x @ weight + bias


def name_of(about: dict[str, Any]) -> str:
    """How one reads a part in Python: observation['goal'][0]."""
    return "observation" + "".join(f"[{key!r}]" for key in about["path"])


def refuse_misfit(part: Tensor, about: dict[str, Any], lead: list[str]) -> None:
    """Raise ValueError unless the part has the shape of its space after these leading axes, and a dtype that fits."""
    fits = part.dim() == len(lead) + len(about["space"]) and list(part.shape[len(lead) :]) == about["space"]
    if not fits or not torch.can_cast(part.dtype, getattr(torch, about["dtype"])):
        wanted, given = ", ".join(map(str, [*lead, *about["space"]])), str(part.dtype).removeprefix("torch.")
        raise ValueError(f"{name_of(about)} must be {about['dtype']} [{wanted}], not {given} {list(part.shape)}")


def one_part(obs: Any, about: dict[str, Any]) -> Tensor:
    """A part of one observation. Raises ValueError unless it is there, and within its space."""
    name = name_of(about)
    try:
        for key in about["path"]:
            obs = obs[key]
        part = torch.as_tensor(np.asarray(obs))
    except (KeyError, IndexError, TypeError, ValueError):
        raise ValueError(f"{name} must be {about['dtype']} {about['space']}, and is missing or no array") from None
    if about["counts"] and part.numel() == 1:  # a whole number in an array of one
        part = part.reshape(about["space"])
    refuse_misfit(part, about, [])
    if about["counts"]:
        index = part.flatten() - torch.tensor(about["starts"])
        if ((index < 0) | (index >= torch.tensor(about["counts"]))).any():
            last = [start + count - 1 for start, count in zip(about["starts"], about["counts"], strict=True)]
            raise ValueError(f"{name} must be from {about['starts']} to {last}, not {part.flatten().tolist()}")
    elif not part.isfinite().all():
        raise ValueError(f"{name} must be finite, not {part.tolist()}")
    return part


def encode(part: Tensor, about: dict[str, Any]) -> Tensor:
    """A part of an observation as the net sees it: one-hot [B, D], a vector [B, D], or an image [B, C, H, W]."""
    if about["counts"]:
        index = part.reshape(part.shape[0], -1).long() - torch.tensor(about["starts"])
        hot = [index[:, k : k + 1] == torch.arange(count) for k, count in enumerate(about["counts"])]
        return torch.cat(hot, -1).float()
    image = part.movedim(-1, -3) if about["axes"] == "HWC" else part
    return image.reshape(part.shape[0], *about["shape"]).float()


def load(weights: str, plan: dict[str, Any]) -> Policy:
    """The policy with these weights, a file that `save-policy` wrote."""
    return Policy(plan, torch.load(weights, weights_only=True)).eval()

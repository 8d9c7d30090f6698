"""One trained policy as a plain module: an environment's observations in, its actions out. Needs torch and numpy only.

`save-policy` writes this module beside the weights, with the policy's PLAN at its end.
"""

from itertools import pairwise
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

LIMIT = 10.0  # standardized observations stay within ±LIMIT
CELLS = {"lstm": nn.LSTMCell, "gru": nn.GRUCell}


class Policy(nn.Module):
    """π of one agent. plan: what the observations and actions are, and the sizes of the layers.

    state [1, K]: that of a recurrent policy after the last `act`; K is 0 for any other.
    """

    mean: Tensor
    scale: Tensor
    log_std: Tensor
    low: Tensor
    high: Tensor

    def __init__(self, plan: dict[str, Any]) -> None:
        super().__init__()
        self.plan = plan
        self.images = nn.ModuleList([convolutions(image) for image in plan["images"]])
        self.dense = dense(plan["sizes"], plan["activation"])
        if plan["cell"]:
            self.cell = CELLS[plan["cell"]](plan["width"], plan["size"])
        self.head = nn.Linear(plan["size"] or plan["width"], plan["outputs"])
        self.state = torch.zeros(1, plan["state"], dtype=torch.float32)
        if plan["standardized"]:
            self.register_buffer("mean", torch.zeros(plan["features"], dtype=torch.float32))
            self.register_buffer("scale", torch.ones(plan["features"], dtype=torch.float32))
        if plan["action"] == "box":
            for name in ("log_std", "low", "high"):
                self.register_buffer(name, torch.zeros(plan["outputs"], dtype=torch.float32))

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
        features = self.features(parts)
        if not self.plan["cell"]:
            return self.action(features, legal, noise)
        before = features.new_zeros(len(features), self.plan["state"]) if state is None else state
        hidden, state = self.recur(features, before)
        return self.action(hidden, legal, noise), state

    def recur(self, features: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        """One step of the recurrent layer: what the head sees, [B, H], and the next state, [B, K]."""
        if self.plan["cell"] == "gru":
            state = self.cell(features, state)
            return state, state
        hidden, memory = self.cell(features, tuple(state.chunk(2, -1)))
        return hidden, torch.cat([hidden, memory], -1)

    def action(self, features: Tensor, legal: Tensor | None, noise: Tensor | None) -> Tensor:
        """Actions [B, ...] from what the head sees."""
        logits = self.head(features)
        if legal is not None:
            if self.plan["action"] == "box" or legal.shape[1:] != logits.shape[1:]:
                raise ValueError(f"legal is for discrete actions, [B, {logits.shape[1]}]; not {list(legal.shape)}")
            logits = logits.masked_fill(~legal, -torch.inf)
        if self.plan["action"] == "box":
            return self.continuous(logits if noise is None else logits + self.log_std.exp() * noise)
        logits = logits if noise is None else logits + noise
        choices = [part.argmax(-1) for part in logits.split(self.plan["counts"], -1)]
        action = torch.stack(choices, -1) + torch.tensor(self.plan["starts"])
        return action.reshape(-1, *self.plan["shape"]).to(getattr(torch, self.plan["dtype"]))

    def continuous(self, action: Tensor) -> Tensor:
        """A Box action within its bounds: rounded if it is whole; from [-1, 1] if it was rescaled, or is a tanh."""
        if self.plan["squashed"]:
            action = action.tanh()
        if self.plan["squashed"] or self.plan["rescaled"]:
            action = (self.low / 2 + self.high / 2) + (self.high / 2 - self.low / 2) * action.clamp(-1, 1)
        if self.plan["dtype"].startswith(("int", "uint", "bool")):
            action = action.round()
        action = torch.minimum(torch.maximum(action, self.low), self.high)
        return action.reshape(-1, *self.plan["shape"]).to(getattr(torch, self.plan["dtype"]))

    def features(self, parts: tuple[Tensor, ...]) -> Tensor:
        """What the body makes of observations, [B, width]."""
        encoded = [encode(part, about) for part, about in zip(parts, self.plan["parts"], strict=True)]
        for net, image in zip(self.images, self.plan["images"], strict=True):
            encoded[image["part"]] = net(encoded[image["part"]] / image["divisor"])
        x = torch.cat(encoded, -1)
        if self.plan["standardized"]:
            x = ((x - self.mean) * self.scale).clamp(-LIMIT, LIMIT)
        features: Tensor = self.dense(x)
        return features

    @torch.no_grad()
    def act(self, obs: Any, legal: Any = None, begins: bool = False) -> np.ndarray:
        """The most likely action for one observation, both in the environment's own format.

        A recurrent policy goes on in the state after the last call; `begins` says that an episode begins, and so a new
        state. Raises ValueError for an observation that is not in the environment's observation space.
        """
        parts = [one_part(obs, about).unsqueeze(0) for about in self.plan["parts"]]
        mask = None if legal is None else torch.as_tensor(np.asarray(legal, dtype=bool)).unsqueeze(0)
        if not self.plan["cell"]:
            return self(*parts, legal=mask)[0].numpy()  # type: ignore[no-any-return]
        action, self.state = self(*parts, legal=mask, state=torch.zeros_like(self.state) if begins else self.state)
        return action[0].numpy()  # type: ignore[no-any-return]


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
    if about["axes"]:
        image = part.movedim(-1, -3) if about["axes"] == "HWC" else part
        return image.reshape(part.shape[0], *about["shape"]).float()
    return part.reshape(part.shape[0], -1).float()


def dense(sizes: list[int], activation: str) -> nn.Sequential:
    """Layers with tanh or ReLU."""
    net = nn.Sequential()
    for inputs, outputs in pairwise(sizes):
        net.append(nn.Linear(inputs, outputs)).append(nn.Tanh() if activation == "tanh" else nn.ReLU())
    return net


def convolutions(image: dict[str, Any]) -> nn.Sequential:
    """Convolutions and a dense layer, with ReLU."""
    net = nn.Sequential()
    for inputs, outputs, kernel, stride in image["convolutions"]:
        net.append(nn.Conv2d(inputs, outputs, kernel, stride)).append(nn.ReLU())
    return net.append(nn.Flatten()).append(nn.Linear(*image["linear"])).append(nn.ReLU())


def load(weights: str, plan: dict[str, Any]) -> Policy:
    """The policy with these weights, a file that `save-policy` wrote."""
    policy = Policy(plan)
    policy.load_state_dict(torch.load(weights, weights_only=True))
    return policy.eval()

"""A small causal transformer as a body, for worlds whose observations are windows of one-hot tokens."""

import torch
import torch.nn.functional as F
from gymnasium.spaces import Box
from torch import Tensor, nn

from tricks.core.nets import Generators, Layer, linear, registered
from tricks.core.spaces import Spaces
from tricks.errors import InputError

LONGEST = 32
WIDER = 4  # times the width: the layer between two of a block


class Transformer(nn.Module):
    """What the last token of a window attends to: [S, B, C·V] -> [S, B, H], of V tokens at C ≤ 32 places.

    Each block adds attention to what it is given, then two layers with ReLU, both of a normalized input (Vaswani et al.
    2017, arXiv:1706.03762; normalized before, as in GPT-2). An empty place is all 0, so windows must not be
    standardized, and no token sees those after it. `body=partial(Transformer, blocks=2)` trains a larger one.
    """

    layers: tuple[Layer, ...] = ()  # its initialization is its own

    def __init__(
        self, generators: Generators, spaces: Spaces, width: int = 32, blocks: int = 1, heads: int = 4
    ) -> None:
        super().__init__()
        shape = spaces.observation.shape or ()
        if not isinstance(spaces.observation, Box) or len(shape) != 2 or shape[0] > LONGEST:
            windows = f"windows of at most {LONGEST} one-hot tokens, a Box [places, tokens]"
            shown = " ".join(str(spaces.observation).split())
            raise InputError(f"a Transformer reads {windows}, and {spaces.env} shows {shown}")
        if min(width, blocks, heads) < 1 or width % heads:
            size = f"width {width}, {blocks} blocks, and {heads} heads"
            raise InputError(f"a Transformer has {size}, which must share it")
        self.shape, self.width, self.heads = shape, width, heads
        tables = [torch.stack([torch.from_numpy(g.normal(0, 1, (n, width))) for g in generators]) for n in shape]
        self.place, self.token = (nn.Parameter(x.float()) for x in tables)  # [S, C, H], [S, V, H]
        sizes = [(width, width), (width, 2 * width), (width, width), (width, WIDER * width), (WIDER * width, width)]
        self.blocks = registered(self, [linear(generators, *size) for size in sizes * blocks])

    def forward(self, x: Tensor) -> Tensor:
        window = x.unflatten(-1, self.shape)  # [S, B, C, V]
        last = ((window != 0).any(-1).sum(-1) - 1).clamp(min=0)  # [S, B]
        at = torch.arange(self.shape[0], device=x.device)
        x = (window.flatten(1, 2) @ self.token).unflatten(1, window.shape[1:3]) + self.place.unsqueeze(1)
        *before, final = (self.blocks[k : k + 5] for k in range(0, len(self.blocks), 5))
        for layers in before:
            x = self.block(x, at.expand(*last.shape, -1), layers)
        return normalized(self.block(x, last.unsqueeze(-1), final).squeeze(2))  # only the last token asks

    def block(self, x: Tensor, asking: Tensor, layers: list[Layer]) -> Tensor:
        """What the tokens at the places `asking` [S, B, Q] make of those up to themselves: [S, B, Q, H]."""
        ask, offer, answer, widen, narrow = layers
        own = x.gather(2, asking.unsqueeze(-1).expand(-1, -1, -1, self.width))
        parts = applied(ask, normalized(own)), *applied(offer, normalized(x)).chunk(2, -1)
        query, key, value = (part.unflatten(-1, (self.heads, -1)).transpose(2, 3) for part in parts)
        score = query @ key.mT / key.shape[-1] ** 0.5  # [S, B, heads, Q, C]; PyTorch's own attention is slower so small
        later = torch.arange(x.shape[2], device=x.device) > asking.unsqueeze(-1)  # [S, B, Q, C]
        found = score.masked_fill(later.unsqueeze(2), -torch.inf).softmax(-1) @ value
        own = own + applied(answer, found.transpose(2, 3).flatten(-2))
        return own + applied(narrow, applied(widen, normalized(own)).relu())


def applied(layer: Layer, x: Tensor) -> Tensor:
    """xW + b for each seed: [S, B, Q, in] -> [S, B, Q, out]."""
    weight, bias = layer
    return torch.baddbmm(bias, x.flatten(1, 2), weight).view(*x.shape[:3], -1)


def normalized(x: Tensor) -> Tensor:
    """Mean 0 and variance 1 over the features; Ba et al. 2016, arXiv:1607.06450, without gain and bias."""
    out: Tensor = F.layer_norm(x, x.shape[-1:])
    return out

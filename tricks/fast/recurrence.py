"""The recurrent layer of `core.layers` over all rows of its lanes, with a backward pass written by hand.

Autograd records some twenty operations a row. Here, what a gradient is multiplied by on its way back is computed for
all rows at once, and three to six operations are left for each.
"""

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

MINUS_ONE = torch.tensor(-1.0, dtype=torch.float32)
through_sigmoid, through_tanh = torch.ops.aten.sigmoid_backward, torch.ops.aten.tanh_backward  # g·y(1 − y), g(1 − y²)


def over_time(cell: Any, given: Tensor, goes_on: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
    """`core.layers.over_time` of a cell of `tricks.recurrent`, with its gradients in about half the time."""
    layer = LSTM if cell.lstm else GRU
    found: tuple[Tensor, Tensor] = layer.apply(given, cell.onward, goes_on.to(given.dtype), state)  # type: ignore[no-untyped-call]
    return found


def row_views(*columns: Tensor) -> list[tuple[Tensor, ...]]:
    """Views of one row after another, of columns [T, ...]."""
    return [*zip(*(column.unbind(0) for column in columns), strict=True)]


def weight_gradient(first: Tensor, h: Tensor, stays: Tensor, grad: Tensor) -> Tensor:
    """Σₜ hₜ₋₁ᵀgₜ: h [S, T, L, H] and g [T, S, L, G·H] -> [S, H, G·H]."""
    before = torch.cat([first.unsqueeze(1), h[:, :-1] * stays[:, :-1]], 1)
    return torch.bmm(before.flatten(1, 2).mT, grad.movedim(0, 1).flatten(1, 2))


class LSTM(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, given: Tensor, onward: Tensor, stays: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        h, c = state.chunk(2, -1)
        twice = onward.new_tensor([1, 1, 2, 1]).repeat_interleave(onward.shape[1])
        gates, doubled = torch.empty_like(given.movedim(1, 0), memory_format=torch.contiguous_format), onward * twice
        torch.mul(given.movedim(1, 0), twice, out=gates)  # [T, S, L, 4H]; tanh x = 2σ(2x) − 1
        memory, squashed, out = [], [], []
        for row, i, f, g, o, keep in row_views(gates, *gates.chunk(4, -1), stays.movedim(1, 0)):
            memory.append(c)
            row.baddbmm_(h, doubled).sigmoid_()
            torch.add(MINUS_ONE, g, alpha=2, out=g)
            c = torch.addcmul(f * c, i, g)
            squashed.append(c.tanh())
            out.append(o * squashed[-1])
            h, c = out[-1] * keep, c * keep
        found = torch.stack(out, 1)
        ctx.save_for_backward(gates, torch.stack(memory), torch.stack(squashed), found, onward, stays, state)
        return found, torch.cat([h, c], -1)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor, last: Tensor) -> tuple[Tensor, Tensor, None, Tensor]:
        gates, memory, squashed, h, onward, stays, state = ctx.saved_tensors
        i, f, g, o = gates.chunk(4, -1)  # [T, S, L, H]
        into_o, into_c = through_sigmoid(squashed, o), through_tanh(o, squashed)
        into = torch.stack([through_sigmoid(g, i), through_sigmoid(memory, f), through_tanh(i, g)], -2)
        found, (dh, dc), back = torch.empty_like(gates), last.chunk(2, -1), onward.mT
        to = found.unflatten(-1, (4, -1))
        columns = grad.movedim(1, 0), stays.movedim(1, 0), f, into_o, into_c, into, found, to[..., 3, :], to[..., :3, :]
        for seen, keep, forget, by_o, by_c, by, whole, to_o, to_rest in row_views(*columns)[::-1]:
            dh = torch.addcmul(seen, dh, keep)
            dc = torch.addcmul(dc * keep, dh, by_c)
            torch.mul(dh, by_o, out=to_o)
            torch.mul(dc.unsqueeze(-2), by, out=to_rest)
            dh, dc = torch.bmm(whole, back), dc * forget
        weight = weight_gradient(state.chunk(2, -1)[0], h, stays, found)
        return found.movedim(0, 1), weight, None, torch.cat([dh, dc], -1)


class GRU(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, given: Tensor, onward: Tensor, stays: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        h, given, size = state, given.movedim(1, 0), onward.shape[1]
        gates = torch.empty_like(given, memory_format=torch.contiguous_format)  # [T, S, L, 3H]: r, z and hU
        both, new = given.split((2 * size, size), -1)
        before, news, out = [], [], []
        for row, r_z, r, z, recalled, x, y, keep in row_views(
            gates, gates[..., : 2 * size], *gates.chunk(3, -1), both, new, stays.movedim(1, 0)
        ):
            before.append(h)
            torch.bmm(h, onward, out=row)
            r_z.add_(x).sigmoid_()
            news.append(torch.addcmul(y, r, recalled).tanh_())
            out.append(torch.lerp(news[-1], h, z))
            h = out[-1] * keep
        found = torch.stack(out, 1)
        ctx.save_for_backward(gates, torch.stack(before), torch.stack(news), found, onward, stays, state)
        return found, h

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor, last: Tensor) -> tuple[Tensor, Tensor, None, Tensor]:
        gates, before, n, h, onward, stays, state = ctx.saved_tensors
        r, z, recalled = gates.chunk(3, -1)  # [T, S, L, H]
        into_n = through_tanh(1 - z, n)
        into = torch.stack([through_sigmoid(into_n * recalled, r), through_sigmoid(before - n, z), into_n * r], -2)
        found, dh, through, back = torch.empty_like(gates), last, torch.empty_like(n), onward.mT
        columns = grad.movedim(1, 0), stays.movedim(1, 0), z, into, found, found.unflatten(-1, (3, -1)), through
        for seen, keep, kept, by, whole, to, at in row_views(*columns)[::-1]:
            torch.addcmul(seen, dh, keep, out=at)
            torch.mul(at.unsqueeze(-2), by, out=to)
            dh = torch.baddbmm(at * kept, whole, back)
        given = torch.cat([found[..., : -n.shape[-1]], through * into_n], -1)
        return given.movedim(0, 1), weight_gradient(state, h, stays, found), None, dh

"""baseline: subtract a learned V(s) from the return. It lowers the variance of the gradient and keeps its mean."""

from torch import Tensor

from tricks.core.reductions import mean


def squared_error(value: Tensor, target: Tensor) -> Tensor:
    """½(V − G)² for each row. value, target [S, B] -> [S, B]."""
    return 0.5 * (value - target).square()


def explained_variance(value: Tensor, target: Tensor, valid: Tensor) -> Tensor:
    """1 − Var(G − V)/Var(G) over the valid rows: 1 is perfect, 0 is no better than a constant. [S, ...] -> [S].

    NaN if the targets are constant.
    """
    value, target, valid = value.flatten(1), target.flatten(1), valid.flatten(1)
    left, spread = (mean((x - mean(x, valid).unsqueeze(1)).square(), valid) for x in (target - value, target))
    return (1 - left / spread).masked_fill(spread == 0, float("nan"))

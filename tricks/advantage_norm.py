"""advantage_norm: advantages are standardized per minibatch, so their scale does not reach the policy's gradient."""

from torch import Tensor

from tricks.core.reductions import mean


def standardize(advantage: Tensor, valid: Tensor, eps: float = 1e-8) -> Tensor:
    """(A − mean)/(std + ε) over each seed's valid rows, with the unbiased std. [S, B] -> [S, B].

    A one-row minibatch gives 0, not NaN. Andrychowicz et al. 2020, arXiv:2006.05990, C67.
    """
    centered = advantage - mean(advantage, valid).unsqueeze(1)
    rows = valid.sum(1)
    variance = mean(centered.square(), valid) * rows / (rows - 1).clamp(min=1)
    return centered / (variance.sqrt().unsqueeze(1) + eps)

"""reply_mean: each reply weighs alike in the loss, or each token, whatever the length of the batch's other replies."""

import torch
from torch import Tensor

from tricks.config import PerSeed
from tricks.core.reductions import mean, sum_over_reply
from tricks.core.seeds import per_seed


def mean_of_replies(x: Tensor, reply: Tensor, valid: Tensor, divisor: PerSeed, lanes: int) -> Tensor:
    """Σᵢ(Σₜ xᵢₜ)/dᵢ/(number of replies), over the rows t of reply i, with its length |oᵢ| or a constant as d. [S].

    x, reply, valid [S, B]; divisor: the constant, or 0 for the length. By its length: Shao et al. 2024 (GRPO),
    arXiv:2402.03300, eq. 3. A token of a long reply then weighs less, so a long wrong reply is punished less per token
    than a short one. A constant, such as the longest reply allowed, weighs all alike: Liu et al. 2025 (Dr. GRPO),
    arXiv:2503.20783, sec. 3.2. With d = 1, it is REINFORCE on whole replies. Without this flag, the mean over all rows
    (DAPO's) also weighs tokens alike, but the longer the replies, the shorter the step that each makes.
    """
    length = sum_over_reply(valid.to(x.dtype), reply, valid, lanes).clamp(min=1)
    d = torch.as_tensor(per_seed(divisor, x), dtype=x.dtype, device=x.device)
    replies = mean(1 / length, valid)  # of so many per row
    return mean(x / torch.where(d > 0, d, length), valid) / torch.where(replies > 0, replies, 1)

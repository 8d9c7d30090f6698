"""reply_ratio: one importance ratio per reply, since it is whole replies that are rewarded."""

from torch import Tensor

from tricks.core.reductions import sum_over_reply


def ratio_of_reply(log_ratio: Tensor, reply: Tensor, valid: Tensor, lanes: int) -> Tensor:
    """(π(o|q)/π_old(o|q))^(1/|o|) = exp(mean over the reply's tokens of log ρₜ), at each of its rows. [S, B] -> [S, B].

    log_ratio: log ρ of each row. The exponent keeps replies of all lengths in one range, a narrow one: ε is about 3e-4.
    It is clipped as a whole, and all tokens share its gradient. Zheng et al. 2025 (GSPO), arXiv:2507.18071, eq. 7; with
    `reply_mean`, the loss is eq. 5.
    """
    length = sum_over_reply(valid.to(log_ratio.dtype), reply, valid, lanes).clamp(min=1)
    return (sum_over_reply(log_ratio, reply, valid, lanes) / length).exp()

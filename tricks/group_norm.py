"""group_norm: advantages in units of the group's standard deviation, as in GRPO."""

from torch import Tensor


def in_deviations(advantage: Tensor, group: int, eps: float = 1e-4) -> Tensor:
    """(Rᵢ − mean)/(σ + ε) of each group, from the leave-one-out advantages. [S, T, N] -> [S, T, N].

    The mean is that of all G returns: Rᵢ − mean = (G − 1)/G · Aᵢ. And σ² = Σ(Rᵢ − mean)²/(G − 1), the unbiased variance
    of `torch.std`, as in TRL, whose ε this is; the paper has no ε and doesn't say which σ. A group without contrast has
    advantages of 0. Shao et al. 2024, arXiv:2402.03300, sec. 4.1.2. Where a reply earns 1 with probability p and 0
    otherwise, σ² is about p(1 − p), so a prompt's weight goes as √(p(1 − p)) instead of p(1 − p): very easy and very
    hard prompts count for more (Liu et al. 2025, arXiv:2503.20783, leave σ out).
    """
    centered: Tensor = advantage.unflatten(2, (-1, group)) * (group - 1) / group  # [S, T, N/G, G]
    return (centered / (centered.std(3, keepdim=True) + eps)).flatten(2)

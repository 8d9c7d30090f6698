"""action_mask: illegal actions get probability 0, when acting and when learning alike."""

from torch import Tensor

from tricks.core.nets import Seen
from tricks.core.rollout import AgentPolicy

ILLEGAL = -1e30  # exp gives exactly 0, and 0·log 0 is 0; with −∞ the entropy would be NaN


def mask_logits(logits: Tensor, legal: Tensor) -> Tensor:
    """Logits with ILLEGAL in place of every illegal action's. logits [..., A], legal [..., A] bool.

    Huang & Ontañón 2020, arXiv:2006.14171, sec. 3.
    """
    return logits.masked_fill(~legal, ILLEGAL)


def masked(policy: AgentPolicy) -> AgentPolicy:
    """The policy with every illegal action masked, for acting and learning alike."""

    def legal_policy(seen: Tensor | Seen, legal: Tensor) -> Tensor:
        return mask_logits(policy(seen, legal), legal)

    return legal_policy

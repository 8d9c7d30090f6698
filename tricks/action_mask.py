"""action_mask: illegal actions get probability 0, both when acting and when learning."""

from torch import Tensor

from tricks.core.env import Env
from tricks.errors import InputError

ILLEGAL = -1e30  # exp gives exactly 0, and 0·log 0 is 0; with −∞ the entropy would be NaN


def mask_logits(logits: Tensor, legal: Tensor) -> Tensor:
    """Replace the logits of illegal actions by ILLEGAL. logits [..., A], legal [..., A] bool.

    As the agent's `mask`, it is a part of the policy, both where the agent plays and in the loss.
    Huang & Ontañón 2020, arXiv:2006.14171, sec. 3.
    """
    return logits.masked_fill(~legal, ILLEGAL)


def refuse_env(env: Env) -> None:
    """Raise InputError, saying what to provide, if the environment gives no action mask."""
    if not env.spaces.discrete:
        raise InputError(
            f"action_mask rules out Discrete actions, and those of {env.id} are a Box; "
            "leave it off with --no-action-mask (action_mask=False)"
        )
    if not env.masks:
        entry = getattr(env.spaces.observation, "spaces", {})
        shown = f', for its entry "action_mask" is {entry["action_mask"]}' if "action_mask" in entry else ""
        raise InputError(
            f'action_mask needs info["action_mask"] from reset and step, an array of {env.spaces.actions} zeros and '
            "ones that says which actions are legal, or a method action_masks() that returns one, or the entry "
            f'"action_mask" in Dict observations, and {env.id} gives none{shown}; provide it, or leave the trick off '
            "with --no-action-mask (action_mask=False)"
        )

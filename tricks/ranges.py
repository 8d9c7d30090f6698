"""Which range each number of `Config` must be in."""

import math

from tricks.errors import InputError

SHARES = ("gamma", "gae_lambda", "return_beta", "obs_decay")  # numbers in [0, 1]
SIGNED = ("log_std_init",)  # any finite number; every other number must be more than 0 and finite
MAY_BE_ZERO = ("value_coef", "entropy_coef", "aux_epochs", "clone_coef")  # or 0, too, for these


def check_range(name: str, number: float) -> None:
    """Raise InputError for a number that is out of its range."""
    if name in SHARES:
        if not 0 <= number <= 1:
            raise InputError(f"{name} must be in [0, 1], not {number}")
    elif name in MAY_BE_ZERO:
        if not 0 <= number < math.inf:
            raise InputError(f"{name} must be at least 0 and finite, not {number}")
    elif name in SIGNED:
        if not math.isfinite(number):
            raise InputError(f"{name} must be finite, not {number}")
    elif name == "dual_clip_limit" and number <= 1:
        raise InputError(f"dual_clip_limit must be more than 1, not {number}")
    elif not 0 < number < math.inf:
        raise InputError(f"{name} must be positive and finite, not {number}")

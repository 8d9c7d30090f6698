"""What each compiled form was written for, see `formulas`. Written by `PYTHONPATH=tests python -m support.digests`."""

DIGESTS: dict[str, str] = {
    "tricks.core.adam.Adam.move": "8e0fb0e002f3",
    "tricks.core.layers.affine": "579695a4a58f",
    "tricks.core.layers.dense": "3cf1b139a887",
    "tricks.core.policies.Categorical.log_prob": "6975734dcf3a",
    "tricks.core.reductions.discounted_sum": "8dfb6725c8ec",
    "tricks.core.reductions.mean": "77b7e01dfb6c",
    "tricks.core.rollout.play_episodes": "941c46875ee0",
    "tricks.loop.policy_loss": "a146ec654459",
    "tricks.loop.value_loss": "7f0336701dcd",
    "tricks.segments.play_segment": "c595727c1361",
}

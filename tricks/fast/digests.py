"""What each compiled form was written for, see `formulas`. Written by `PYTHONPATH=tests python -m support.digests`."""

DIGESTS: dict[str, str] = {
    "tricks.core.adam.Adam.move": "8e0fb0e002f3",
    "tricks.core.layers.affine": "579695a4a58f",
    "tricks.core.layers.dense": "3cf1b139a887",
    "tricks.core.policies.Categorical.log_prob": "6975734dcf3a",
    "tricks.core.reductions.discounted_sum": "8dfb6725c8ec",
    "tricks.core.reductions.mean": "77b7e01dfb6c",
    "tricks.core.rollout.play_episodes": "6af7a512fd0c",
    "tricks.loop.policy_loss": "2b27ed75b109",
    "tricks.loop.value_loss": "80c066147e70",
    "tricks.segments.play_segment": "8222cfa0f362",
}

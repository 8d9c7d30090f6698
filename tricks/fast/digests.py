"""What each compiled form was written for, see `formulas`. Written by `PYTHONPATH=tests python -m support.digests`."""

DIGESTS: dict[str, str] = {
    "tricks.core.adam.Adam.move": "8e0fb0e002f3",
    "tricks.core.layers.affine": "74148d6d6bba",
    "tricks.core.layers.dense": "4d0bb088f9ee",
    "tricks.core.policies.Categorical.log_prob": "57b9f31a780b",
    "tricks.core.reductions.discounted_sum": "5ac682475e5d",
    "tricks.core.reductions.mean": "ab78a3213dbc",
    "tricks.core.rollout.play_episodes": "953106c06053",
    "tricks.loop.policy_loss": "d6e34b60086b",
    "tricks.loop.value_loss": "1be57b9d4f29",
    "tricks.segments.play_segment": "6fbc87a6e908",
}

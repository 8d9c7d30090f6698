"""What each compiled form was written for, see `formulas`. Written by `PYTHONPATH=tests python -m support.digests`."""

DIGESTS: dict[str, str] = {
    "tricks.core.adam.Adam.move": "9f90364745bb",
    "tricks.core.layers.affine": "df15ba067d1d",
    "tricks.core.layers.dense": "4cac1841df69",
    "tricks.core.policies.Categorical.log_prob": "efd7ce4f9659",
    "tricks.core.reductions.discounted_sum": "dde5210d87d2",
    "tricks.core.reductions.mean": "a3fd8c1a66a4",
    "tricks.core.rollout.play_episodes": "d288c0ca35bd",
    "tricks.loop.policy_loss": "5c4ce3abb9dd",
    "tricks.loop.value_loss": "2139f0d05d0f",
    "tricks.segments.play_segment": "60814fed0c3d",
}

"""What each compiled form was written for, see `formulas`. Written by `PYTHONPATH=tests python -m support.digests`."""

DIGESTS: dict[str, str] = {
    "tricks.core.adam.Adam.move": "8e0fb0e002f3",
    "tricks.core.layers.affine": "74148d6d6bba",
    "tricks.core.layers.dense": "4d0bb088f9ee",
    "tricks.core.policies.Categorical.log_prob": "57b9f31a780b",
    "tricks.core.reductions.discounted_sum": "5ac682475e5d",
    "tricks.core.reductions.mean": "ab78a3213dbc",
    "tricks.core.rollout.play_episodes": "8a4bb3673f44",
    "tricks.loop.policy_loss": "abe7ccb8a1e5",
    "tricks.loop.value_loss": "02c75fb16776",
    "tricks.segments.play_segment": "f75f203d460e",
    "tricks.worlds.acrobot.dynamics": "242e1a6150ea",
    "tricks.worlds.acrobot.observe": "525c1c81cf00",
    "tricks.worlds.cartpole.dynamics": "dace3a765cad",
    "tricks.worlds.pendulum.dynamics": "01934defee7c",
    "tricks.worlds.pendulum.observe": "af3ad3c7eca7",
}

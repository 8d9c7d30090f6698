"""Our suites: which environments, at which budget and numbers, over how many seeds, and which designs."""

from dataclasses import replace

from ablations.design.registry import SUITES
from ablations.design.suites import Setting, Suite
from tricks.config import CONTINUOUS_CONFIG, Config

ROBOTS = tuple(
    replace(CONTINUOUS_CONFIG, env=f"{name}-v5", backend="envpool") for name in ("Hopper", "Walker2d", "HalfCheetah")
)
# the rate: the best of a sweep of `ppo` on Bricks, Squadron, and Treasure, on other seeds
PIXELS = {
    name: Config(f"tricks/{name}-v0", steps=300_000, lanes=16, horizon=64, lr=0.01)
    for name in ("Bricks", "Treasure", "Squadron", "BricksByRow")
}
SUITES |= {
    "cartpole": Suite((Setting(Config("CartPole-v1")),)),
    "classic": Suite(
        (
            Setting(Config("CartPole-v1")),
            Setting(Config("Acrobot-v1")),
            Setting(Config("Pendulum-v1", gamma=0.9)),
            Setting(Config("Taxi-v4")),
            Setting(Config("LunarLander-v3", backend="envpool")),
        ),
        ("ladder", "leave-one-out", "add-one-in"),
    ),
    # where a body that both losses train should help, and where the value loss should drown out the policy's gradient
    "beyond": Suite(
        (
            Setting(Config("CartPole-v1"), more=("beyond-normed",)),  # returns are large numbers here
            Setting(Config("Acrobot-v1"), more=("beyond-normed",)),
            *(
                Setting(Config(f"MiniGrid-{name}-v0", backend="envpool", lanes=16, horizon=64), "10")
                for name in ("DoorKey-5x5", "Unlock", "SimpleCrossingS9N1")
            ),
        ),
        ("beyond",),
        ("shared_trunk", "ppg", "ppg_buffers"),  # whose arms have a tuned rate in each of these environments
    ),
    # games small enough for ten seeds an arm on a laptop; one has rewards of different sizes
    "pixels": Suite(
        (
            *(Setting(PIXELS[name], "30:40", fixed=True) for name in ("Bricks", "Treasure", "Squadron")),
            Setting(PIXELS["BricksByRow"], "30:40", fixed=True, more=("scales",)),
        ),
        ("beyond",),
        ("shared_trunk", "ppg", "ppg_buffers"),
    ),
    # `ppo` with the numbers behind a published score: CleanRL's ppo.py, and stable-baselines3's zoo
    "published": Suite(
        (
            Setting(Config("CartPole-v1", steps=500_000, lanes=4, lr=2.5e-4), "10", fixed=True),
            Setting(Config("Acrobot-v1", steps=500_000, lanes=4, lr=2.5e-4), "10", fixed=True),
            Setting(
                Config(
                    "LunarLander-v3",
                    steps=1_000_000,
                    backend="envpool",
                    lanes=16,
                    horizon=1024,
                    minibatches=256,
                    lr=3e-4,
                    gamma=0.999,
                    value_coef=1.0,  # stable-baselines3's 0.5 is for an error without our ½
                    gae_lambda=0.98,
                ),
                "10",
                fixed=True,
            ),
        ),
        ("ppo",),
    ),
    # the preset `continuous`: at the budget of a published score, and at one that many arms can afford
    "mujoco": Suite(
        (
            *(Setting(config, "10", fixed=True, designs=("continuous",)) for config in ROBOTS),
            *(Setting(replace(config, steps=300_000), "10", fixed=True) for config in ROBOTS),
        ),
        ("around-continuous",),
    ),
}

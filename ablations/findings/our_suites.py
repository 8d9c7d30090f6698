"""Our suites: which environments, at which budget and numbers, over how many seeds, and which designs."""

from dataclasses import replace

from ablations.question.designs import SUITES, Setting, Suite
from tricks.config import CLEANRL_CONFIG, CONTINUOUS_CONFIG, Config

CLASSIC = (Config("CartPole-v1"), Config("Acrobot-v1"), Config("Pendulum-v1", gamma=0.9), Config("Taxi-v4"))
LANDER = Config("LunarLander-v3", backend="envpool")
GRIDS = [
    Config(f"MiniGrid-{name}-v0", backend="envpool", lanes=16, horizon=64)
    for name in ("DoorKey-5x5", "Unlock", "SimpleCrossingS9N1")
]
# the rate: the best of a sweep of `ppo` on Bricks, Squadron, and Treasure, on other seeds
PIXELS = [
    Config(f"tricks/{name}-v0", steps=300_000, lanes=16, horizon=64, lr=0.01)
    for name in ("Bricks", "Treasure", "Squadron", "BricksByRow")
]
ZOO = replace(LANDER, steps=1_000_000, lanes=16, horizon=1024, minibatches=256, lr=3e-4)  # stable-baselines3's
ZOO = replace(ZOO, gamma=0.999, gae_lambda=0.98, value_coef=1.0)  # its 0.5 is for an error without our ½
PUBLISHED = [*(replace(CLEANRL_CONFIG, env=config.env) for config in CLASSIC[:2]), ZOO]
ROBOTS = [
    replace(CONTINUOUS_CONFIG, env=f"{name}-v5", backend="envpool") for name in ("Hopper", "Walker2d", "HalfCheetah")
]
# a tiny model first imitates the world's demonstrations; groups of eight replies, 128 in a batch
ODDS = Config("tricks/Odds-v0", steps=20_000, imitate_steps=10_000, lanes=128, horizon=1, gamma=1.0, hidden=(32,))
ODDS = replace(ODDS, kl_coef=0.04)  # GRPO's, of k3 in the loss
REPLIES = [ODDS, *(replace(ODDS, env=f"tricks/{name}-v0") for name in ("OddsPlus10", "Stakes"))]
REPLIES += [replace(ODDS, env="tricks/Typos-v0", steps=40_000, imitate_steps=30_000)]
BEYOND = ("shared_trunk", "ppg", "ppg_buffers")  # whose arms have a tuned rate in each of these environments
LARGE = [Setting(config, more=("beyond-raw",)) for config in CLASSIC[:2]]  # returns are large numbers here
SIZES = ("beyond-raw", "scales")  # designs for the game with rewards of different sizes
GAMES = [Setting(each, "30:40", fixed=True, more=SIZES * ("BricksByRow" in each.env)) for each in PIXELS]
LONG = [Setting(config, "10", fixed=True, designs=("continuous",)) for config in ROBOTS]
SHORT = [Setting(replace(config, steps=300_000), "10", fixed=True) for config in ROBOTS]
SUITES |= {
    "cartpole": Suite((Setting(CLASSIC[0]),)),
    "classic": Suite(tuple(map(Setting, (*CLASSIC, LANDER))), ("ladder", "leave-one-out", "add-one-in", "presets")),
    # where a body that both losses train should help, and where the value loss should drown out the policy's gradient
    "beyond": Suite((*LARGE, *(Setting(config, "10") for config in GRIDS)), ("beyond",), BEYOND),
    # games small enough for ten seeds an arm on a laptop
    "pixels": Suite(tuple(GAMES), ("beyond",), BEYOND),
    "language": Suite(tuple(Setting(config, "30:40") for config in REPLIES), ("language",)),
    # with the numbers behind a published score
    "published": Suite(tuple(Setting(config, "10", fixed=True) for config in PUBLISHED), ("published",)),
    # the preset `continuous`: at the budget of a published score, and at one that many arms can afford
    "mujoco": Suite((*LONG, *SHORT), ("around-continuous",)),
}

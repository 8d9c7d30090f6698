"""Environments written as tensor functions: one step moves all lanes of all seeds, on the agent's device.

`CLASSIC` reimplements Gymnasium environments under their own ids. Each of the `SPECIMENS` was made for a trick, and its
docstring says why the trick should matter there. `GAMES` are small games in pixels, for any trick. `LANGUAGE` are
prompts for tiny language models, with rewards that can be verified. Importing this package registers all but `CLASSIC`
with Gymnasium.
"""

import gymnasium as gym

from tricks.worlds.acrobot import ACROBOT
from tricks.worlds.bricks import BRICKS, BRICKS_BY_ROW
from tricks.worlds.cartpole import CARTPOLE, CARTPOLE_200
from tricks.worlds.chain import NOISY_CHAIN
from tricks.worlds.commute import COMMUTE
from tricks.worlds.corridor import CORRIDOR, DOORSTEP
from tricks.worlds.dial import DIAL
from tricks.worlds.grid import GRIDS
from tricks.worlds.jump import REWARD_JUMP
from tricks.worlds.line import THERE_AND_BACK, WITH_CONSTANTS
from tricks.worlds.loan import LARGE_LOANS, LOANS
from tricks.worlds.loophole import LOOPHOLE
from tricks.worlds.lottery import LOTTERIES
from tricks.worlds.magnitudes import MAGNITUDES
from tricks.worlds.mail import MAILS
from tricks.worlds.marathon import MARATHON, SHORTER
from tricks.worlds.mountain_car import MOUNTAIN_CAR
from tricks.worlds.odds import ODDS, ODDS_PLUS, STAKES
from tricks.worlds.offset import OFFSET_REWARD
from tricks.worlds.pairs import SHOCK_PAIRS
from tricks.worlds.parity import PARITIES
from tricks.worlds.pendulum import PENDULUM
from tricks.worlds.rare import RARE
from tricks.worlds.recall import RECALLS
from tricks.worlds.reward_scale import LARGE_REWARDS, SMALL_REWARDS
from tricks.worlds.shocks import SHOCKS
from tricks.worlds.shuttle import SHUTTLES
from tricks.worlds.squadron import SQUADRON
from tricks.worlds.sums import SUMS, SUMS_SHOWN
from tricks.worlds.tasks import TASKS_NAMED, TASKS_UNNAMED
from tricks.worlds.taxi import TAXI
from tricks.worlds.tightrope import SHORT_ROPES, TIGHTROPE
from tricks.worlds.trading import TRADING
from tricks.worlds.treasure import TREASURE
from tricks.worlds.typos import TYPOS
from tricks.worlds.units import MILDER_UNITS, ODD_UNITS
from tricks.worlds.unseen import HIDDEN_SPEEDS
from tricks.worlds.weather import WEATHERS
from tricks.worlds.world import World

CLASSIC = {world.id: world for world in (CARTPOLE, CARTPOLE_200, ACROBOT, MOUNTAIN_CAR, PENDULUM, TAXI)}
SPECIMENS = {
    world.id: world
    for world in (
        OFFSET_REWARD,
        *LOANS,
        *LARGE_LOANS,
        *PARITIES,
        NOISY_CHAIN,
        *MAILS,
        THERE_AND_BACK,
        *WITH_CONSTANTS,
        *SMALL_REWARDS,
        *LARGE_REWARDS,
        *MILDER_UNITS,
        ODD_UNITS,
        SHOCKS,
        *SHOCK_PAIRS,
        CORRIDOR,
        DOORSTEP,
        *GRIDS,
        TRADING,
        REWARD_JUMP,
        MAGNITUDES,
        TASKS_UNNAMED,
        TASKS_NAMED,
        *WEATHERS,
        *SHORTER,
        MARATHON,
        COMMUTE,
        *SHUTTLES,
        *SHORT_ROPES,
        TIGHTROPE,
        *LOTTERIES,
        *RECALLS,
        *HIDDEN_SPEEDS,
        DIAL,
    )
}
GAMES = {world.id: world for world in (BRICKS, BRICKS_BY_ROW, TREASURE, SQUADRON)}
LANGUAGE = {world.id: world for world in (SUMS, SUMS_SHOWN, ODDS, ODDS_PLUS, STAKES, *TYPOS, LOOPHOLE, RARE)}
WORLDS = CLASSIC | SPECIMENS | GAMES | LANGUAGE

for worlds, kind in ((SPECIMENS, "WorldEnv"), (GAMES, "GameEnv"), (LANGUAGE, "WorldEnv")):
    for world in worlds.values():
        gym.register(
            world.id, f"tricks.worlds.single:{kind}", max_episode_steps=world.time_limit, kwargs={"world": world.id}
        )

__all__ = ["CLASSIC", "GAMES", "LANGUAGE", "SPECIMENS", "WORLDS", "World"]

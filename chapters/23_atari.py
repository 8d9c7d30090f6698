# ---
# jupyter:
#   jupytext:
#     cell_metadata_filter: tags,-all
#     notebook_metadata_filter: kernelspec,jupytext,-jupytext.text_representation.jupytext_version
#     text_representation:
#       extension: .py
#       format_name: percent
#       format_version: '1.3'
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # The plumbing of Atari
#
# *Four numbers told you where the pole was. What if all you get is a picture?*
#
# The loop that balances the pole also plays Breakout. But a picture shows less than it seems to, and a game's points
# aren't made for learning. So small decisions lie between the console and the loop.

# %% tags=["hide-input"]
from dataclasses import replace

import gymnasium as gym
import matplotlib.pyplot as plt
import numpy as np
import torch
from IPython.display import Markdown, display

from ablations import RESULTS, area, markdown, style
from ablations.findings import EVALUATED, mean_score
from chapters.book import begin, caption, curves, label_lines, planted
from chapters.book.figures import learning_curve, over_steps
from chapters.book.results import everything
from chapters.exercises.atari import check_field, segment_with_scores
from tricks import PPO, Config, diff, source, train
from tricks.config import ATARI_CONFIG
from tricks.core.nets import Nature
from tricks.core.seeds import stream
from tricks.envs.atari import SKIP, make_game
from tricks.envs.make import make_env
from tricks.envs.wrappers import LifeEnds, RewardSign
from tricks.ladder import ATARI, named
from tricks.runs.learning_curve import read_table

begin()

# %% [markdown]
# ## A ball that may fly either way
#
# Somewhere in a picture, a ball flies left or right. Guess which, for one point. Five agents play this, once with the
# last picture and once with the last two.


# %% tags=["hide-input"]
class Flight(gym.Env):
    """One step: the last `frames` pictures of a ball that flies left (0) or right (1); guess which."""

    action_space = gym.spaces.Discrete(2)

    def __init__(self, frames):
        self.observation_space = gym.spaces.Box(0, 255, (frames, 36, 36), np.uint8)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.direction = self.np_random.integers(2)
        x, y = self.np_random.integers(6, 27, 2)
        pictures = np.zeros(self.observation_space.shape, np.uint8)
        for ago, picture in enumerate(pictures[::-1]):  # the newest is the last
            left = x - 3 * ago * (2 * self.direction - 1)
            picture[y : y + 3, left : left + 3] = 255
        return pictures, {}

    def step(self, action):
        return np.zeros_like(self.observation_space.low), float(action == self.direction), True, False, {}


for frames in (1, 2):
    gym.register(f"Flight{frames}-v0", entry_point=Flight, kwargs={"frames": frames})
config = Config(seeds=5, steps=1500, horizon=16, lr=0.001, epochs=2)
one, two = (train(replace(config, env=id), named("shared_trunk")) for id in ("Flight1-v0", "Flight2-v0"))

# %% [markdown]
# **Predict.** How many points does each get in the end? Would ten times the training change that?

# %% tags=["predict", "hide-input"]
figure, axis = plt.subplots(figsize=(6.5, 2.6))
curves({"one picture": one, "two pictures": two}, axis)
axis.set_ylabel("points (at most 1)")
plt.show()
assert abs(one.late().mean() - 0.5) < 0.1 and two.late().mean() > 0.85

# %% [markdown]
# Half of all guesses from one picture are right: the game's state includes a speed, and a single picture doesn't show
# it.
#
# So the agent gets the last four pictures, stacked as channels, and acts on every fourth that the console draws. Old
# consoles draw some things only in every other picture, so each pixel gets the brighter of its last two values. Then
# the colors go, and the picture shrinks to 84 × 84 (Mnih et al. 2015, doi:10.1038/nature14236):

# %% tags=["hide-input"]
game = make_game("ALE/Breakout-v5", render_mode="rgb_array")
obs, _ = game.reset(seed=3)
rng = np.random.default_rng(0)
for _ in range(20):
    obs, *_ = game.step(int(rng.integers(game.action_space.n)))
console = game.render()
game.close()
assert obs.shape == (4, 84, 84) and obs.dtype == np.uint8

# %% tags=["thumbnail", "hide-input"]
figure, axes = plt.subplots(1, 6, figsize=(9, 2.2), width_ratios=[1.25, 0.2, 1, 1, 1, 1])
axes[0].imshow(console)
axes[0].set_title(f"the console\n{' × '.join(map(str, console.shape))}")
axes[1].annotate("→", (0.5, 0.5), size=18, ha="center", va="center")
for k, picture in enumerate(np.asarray(obs)):
    axes[k + 2].imshow(picture, cmap="gray", vmin=0, vmax=255)
    axes[k + 2].set_title("now" if k == 3 else f"{(3 - k) * SKIP} frames ago")
for axis in axes:
    axis.axis("off")
plt.show()

# %% [markdown]
# ## A net that looks everywhere at once
#
# A convolution has one small window of weights, its *kernel*, and puts it everywhere: a ball is a ball wherever it is.
# With input $x$, kernel $w$ of $k \times k$ places, bias $w_0$, and *stride* $d$ from one place to the next,
#
# $$y_{ij} = \max\Big(0,\; w_0 + \sum_{u=0}^{k-1} \sum_{v=0}^{k-1} w_{uv} \cdot x_{id+u,\; jd+v}\Big),$$
#
# where $w_{uv} \cdot x$ also sums over the channels.
#
# Let $f_l$ be the side in pixels of the square that a number in layer $l$ sees, its *receptive field*, and $e_l$ the
# distance between the squares of two neighbors. Both begin at 1, and through a kernel of side $k_l$ in strides of
# $d_l$,
#
# $$f_l = f_{l-1} + (k_l - 1)\, e_{l-1}, \qquad e_l = d_l\, e_{l-1}.$$

# %%
source(Nature.forward)

# %% [markdown]
# Pixels stay bytes up to the division by 255; as floats, they would take four times the memory.
#
# ## Points are for players
#
# In one game a thing is worth 1 point, in another thousands. So most published agents learn from the **sign of the
# reward**, −1, 0, or 1, as with `reward_sign` here. That changes the task: by signs, 7 points half of the time are
# worth less than 1 point for sure.

# %%
source(RewardSign)

# %% [markdown]
# Losing one of Breakout's five balls costs no points; the damage shows only later. So with `life_ends`, a **lost life
# ends an episode for learning**: the value behind it is 0. The game goes on, or no agent would ever see the wall as it
# looks to the fourth ball. The library also presses FIRE, which serves a ball. The agent can't learn from that, so the
# row is marked as `resetting` and gets weight 0.
#
# What counts in the end is the **score of the whole game**. So a step has two rewards and two flags for an end:
# `reward` and `terminated` for the agent, `score` and `over` for the log.

# %%
source(LifeEnds.step)

# %% [markdown]
# One lane of Space Invaders, played at random with both switches on:

# %%
config = Config("ALE/SpaceInvaders-v5", seeds=1, lanes=1)
env = make_env(replace(config, reward_sign=True, life_ends=True))
everyone, strip = torch.ones(1, dtype=torch.bool), []
rng = stream(0, "action")
for _ in range(500):
    step = env.step(torch.from_numpy(rng.integers(6, size=(1, 1))), everyone)
    columns = (step.score, step.reward, step.terminated, step.over)
    strip.append([column.item() for column in columns])
env.close()
score, reward, terminated, over = np.array(strip).T

# %% tags=["hide-input"]
figure, axes = plt.subplots(2, 1, figsize=(6.5, 3.2), sharex=True, height_ratios=[2, 1])
for row, name, color in ((score, "score", style.SOFT), (reward, "sign", style.INK)):
    axes[0].step(np.arange(500), row.cumsum(), color=color, where="post", label=name)
axes[0].set_ylabel("points so far")
axes[0].set_xlim(0, 500)
label_lines(axes[0])
for height, (row, color) in enumerate(((over, style.SOFT), (terminated, style.INK))):
    (ends,) = row.nonzero()
    axes[1].vlines(ends, height - 0.3, height + 0.3, color=color, lw=2)
axes[1].set(yticks=(0, 1), yticklabels=("a game ends", "an episode ends"), ylim=(-0.6, 1.6), xlabel="step")
plt.show()
assert (score.sum(), reward.sum(), over.sum(), terminated.sum()) == (45, 5, 1, 3)

# %% [markdown]
# To the agent, 45 points are 5, and one game is three episodes.
#
# ## From PPO to the preset `atari`
#
# The preset follows openai/baselines' ppo2. It drops `bootstrap` and `return_norm`, anneals, and adds `value_clip` and
# `shared_trunk`, which chapters [15](15_value_clip.ipynb) and [17](17_shared_trunk.ipynb) warn against. Signs keep
# returns small, so it may matter less; we haven't tested that.

# %%
diff(PPO, ATARI)

# %% [markdown]
# ## One agent, a fifth of the way
#
# Ten million steps take long without a graphics card. Here are two million.

# %% tags=["hide-input"]
during = read_table(RESULTS / "breakout.csv", comment="#")
games = read_table(EVALUATED, comment="#").query("env == 'ALE/Breakout-v5'")
steps = during.step.max()
trained, chance = (mean_score(games[games.actions == how]) for how in ("as drawn", "random"))
figure, axis = plt.subplots(figsize=(6.5, 3))
axis.plot(during.step, during["return"], color=style.FAINT, lw=1)
axis.plot(during.step, during["return"].rolling(10).mean(), color=style.INK, label="trained")
axis.plot([0, steps], [chance.mean] * 2, color=style.SOFT, ls="--", label="random")
reach = [[trained.mean - trained.low], [trained.high - trained.mean]]
axis.errorbar(1.02 * steps, trained.mean, reach, color=style.INK, marker="o", lw=1.5)
axis.set(xlim=(0, 1.04 * steps), ylim=(0, None), ylabel="score of a whole game")
over_steps(axis)
plt.show()
caption(
    f"One agent on Breakout, {steps:,} steps. Gray: the score at each 1% of training. Black: the mean of the last ten "
    f"such points. Dot: 30 games after training, {trained.mean:.0f} [{trained.low:.0f}, {trained.high:.0f}], where "
    f"random actions score {chance.mean:.1f}."
)

# %% tags=["hide-input"]
assert trained.low > 2 * chance.high
assert 5 * steps == 1e7

# %% [markdown]
# So the loop does learn from pixels. That is all one agent shows: its interval is over games, not over seeds. After 10
# million steps, CleanRL's score is 415 ± 28.
#
# ## Signs, or one scale?
#
# In `BricksByRow`, a small Breakout, a brick pays 100, 10, or 1 point, the top row the most. PPO learned from raw
# points, from their signs, and with [`return_norm`](08_return_norm.ipynb), with and without [PopArt](12_popart.ipynb).
#
# **Predict.** The sign can't tell a brick of 100 from one of 1. Where does it come in among the four?

# %% tags=["predict", "hide-input"]
(study,) = (study for study in everything() if study.env == "tricks/BricksByRow-v0")
(ways,) = (design for design in study.designs if design.name == "scales")
names = ("raw points", "signs", "return_norm", "with popart")
colors = (style.SOFT, style.INK, style.COLORS["return_norm"], style.COLORS["popart"])
figure, axis = plt.subplots(figsize=(6.5, 3))
for arm, name, color in zip(ways.arms, names, colors, strict=True):
    learning_curve(axis, name, study.grid(arm), color)
over_steps(axis)
axis.set_ylabel("points per game")
plt.show()

points = {name: area(study.grid(arm)).to_numpy() for arm, name in zip(ways.arms, names, strict=True)}
assert points["signs"].min() > points["return_norm"].max()
assert points["return_norm"].mean() > points["with popart"].mean() > 2 * points["raw points"].mean()

# %% [markdown]
# All four ran at the best rate for bricks that pay 1 each, which favors the sign. The sign comes first, by far. Our
# reading: the ball gets to the top row only through the rows below, so whoever breaks more bricks usually makes more
# points as well.
#
# What does each habit cost? **The sign** makes all rewards alike, even where the difference matters. **A lost life as
# an end** leaves out of the value whatever the remaining lives will earn. **Four pictures** show nothing older. **The
# same start** every time would let an agent learn its moves by heart. So a game begins with up to 30 idle moves; newer
# work repeats the last action at random ("sticky actions").

# %% [markdown]
# ## At a glance
#
# | | |
# |---|---|
# | **problem** | pictures show no speed, points come in odd sizes, a lost ball costs none |
# | **formula** | $y_{ij} = \max\big(0,\, w_0 + \sum_{u,v} w_{uv} \cdot x_{id+u,\, jd+v}\big)$ |
# | **in the loop** | `features = agent.features(b.obs)  # the policy's body runs once, for all heads that read it` |
# | **defaults** | the preset `atari`: 4 gray pictures of 84 × 84, one in 4 frames; `reward_sign`; `life_ends` |
# | **watch** | the score of whole games, as the game itself counts it |
# | **skip it when** | the state comes as a few numbers |
# | **also called** | Nature CNN; frame stacking and skipping; reward clipping; episodic life |

# %% [markdown]
# ## Exercises
#
# **Exercise 1: write it.** How many pixels wide is the receptive field of one number in the last layer? Layers are
# pairs (side of the kernel, stride), from the picture up.


# %%
def my_field(layers):  # [(8, 4), (4, 2), (3, 1)] -> 36
    ...


check_field(my_field)

# %% [markdown]
# <details><summary>Hint</summary>
#
# Keep two numbers from layer to layer, $f$ and $e$, and update $f$ first.
#
# </details>
#
# **Exercise 2: spot the bug.** Somebody finds `score` and `over` in the loop's rollouts redundant, since every row has
# a reward and says whether it ended something.

# %%
source(segment_with_scores)

# %%
invaders = replace(ATARI_CONFIG, env="ALE/SpaceInvaders-v5", steps=1280, epochs=1)
invaders = replace(invaders, lanes=2, horizon=640)
right = train(invaders, ATARI)
with planted(play_segment=segment_with_scores):
    wrong = train(invaders, ATARI)
columns = ["episodes", "return", "length", "entropy", "value_loss", "grad_norm"]

# %% tags=["hide-input"]
rows = [["", *columns]]
for name, run in (("right", right), ("this version", wrong)):
    rows.append([name, *(f"{run.curve[column].iloc[0]:.4g}" for column in columns)])
display(Markdown(markdown(rows)))
assert wrong.curve[columns[3:]].equals(right.curve[columns[3:]])
assert wrong.curve["return"].iloc[0] < right.curve["return"].iloc[0] / 5

# %% [markdown]
# What's wrong? The last three numbers agree, so does it matter at all? In which game would you never notice?
#
# <details><summary>Hint</summary>
#
# What is an episode to the agent, and what is a point?
#
# </details>
#
# **Exercise 3: think.** (a) All rewards are −1, 0, or 1. Is there anything left for `return_norm` to do? (b) Two agents
# have learned Breakout, one with lost lives as ends and one without. The first ball is about to be lost. What does each
# think the rest is worth? (c) A rollout holds each picture four times. How would you store it once, and what must you
# take care of where an episode begins?
#
# <details><summary>Answer</summary>
#
# (a) Yes. A return is a sum of rewards, and it grows as the agent gets better. (b) To the first, nearly nothing. To the
# second, almost as much as before. (c) Stack four single pictures when a minibatch is drawn, with blank ones where a
# game, not just an episode, has begun.
#
# </details>
#
# Solutions: [`solutions/23_atari.py`](solutions/23_atari.py). Next: [seeds as an axis](24_seeds_as_an_axis.ipynb).

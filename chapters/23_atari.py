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
# # Atari: learning from pictures
#
# *Four numbers told you where the pole was. What if all you get is a picture?*
#
# PPO doesn't care what an observation is: the loop that balances the pole plays Breakout, too, without a changed line.
# But a picture shows less than it seems to, and a game's points aren't made for learning. This chapter is about the
# small decisions between the console and the loop.

# %% tags=["hide-input"]
from dataclasses import fields, replace

import gymnasium as gym
import matplotlib.pyplot as plt
import numpy as np
import torch

from ablations import RESULTS, SUFFIX, area, interval, load, style
from ablations.findings import draw_games, games_in_words
from chapters.book import begin, curves, label_lines, planted
from chapters.book.figures import learning_curve, over_steps
from chapters.book.results import everything
from chapters.exercises.atari import check_field, segment_with_scores
from tricks import PPO, Config, diff, source, train
from tricks.config import ATARI_CONFIG
from tricks.core.nets import NATURE, Nature
from tricks.core.seeds import stream
from tricks.envs.atari import SKIP, make_game
from tricks.envs.make import make_env
from tricks.envs.wrappers import LifeEnds, RewardSign
from tricks.ladder import ATARI, named

begin()

# %% [markdown]
# ## A ball that may fly either way
#
# Somewhere in a picture of 36 × 36 pixels, a ball flies left or right. Guess which: you get one point if you're right,
# and the episode is over. Five agents play this, once with the last picture and once with the last two. (Policy and
# value [share](17_shared_trunk.ipynb) the net for Atari.)


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
print(f"points at the end: {one.late().mean():.2f} with one picture, {two.late().mean():.2f} with two")
assert abs(one.late().mean() - 0.5) < 0.1 and two.late().mean() > 0.85

# %% [markdown]
# With one picture there is nothing to learn: both directions look alike, and half of all guesses are right. With two
# it's easy. The game's state includes a speed, and a single picture doesn't show it.
#
# So the agent gets the last four pictures, stacked as channels. It acts on every fourth picture that the console draws:
# 15 times a second, not 60. Old consoles draw some things only in every other picture, so each pixel gets the brighter
# of its last two values. Then the colors go, and the picture shrinks to 84 × 84. All of this is from Mnih et al. (2015,
# doi:10.1038/nature14236), and Gymnasium and ale-py do it for us. Here is the result after twenty random moves (the
# ball is at the lower right):

# %% tags=["hide-input"]
game = make_game("ALE/Breakout-v5", render_mode="rgb_array")
obs, _ = game.reset(seed=3)
rng = np.random.default_rng(0)
for _ in range(20):
    obs, *_ = game.step(int(rng.integers(game.action_space.n)))
console = game.render()
game.close()
print("what the agent sees:", obs.shape, obs.dtype)

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
# What a dense layer has learned about a ball in one place it must learn again for the next. A convolution has one small
# window of weights, its *kernel*, and puts it everywhere. With input $x$, kernel $w$ of $k \times k$ places, bias
# $w_0$, and *stride* $d$ from one place to the next,
#
# $$y_{ij} = \max\Big(0,\; w_0 + \sum_{u=0}^{k-1} \sum_{v=0}^{k-1} w_{uv} \cdot x_{id+u,\; jd+v}\Big),$$
#
# where $w_{uv} \cdot x$ also sums over the channels. Shift the picture by $d$ pixels, and $y$ shifts by one: a ball is
# a ball wherever it is. A side of $n$ pixels has room for
#
# $$n' = \Big\lfloor \frac{n - k}{d} \Big\rfloor + 1$$
#
# windows. And how much of the picture does one number see, several layers up? Let $f_l$ be the side of the square that
# a number in layer $l$ sees, its *receptive field*, and $e_l$ the distance in pixels between the squares of two
# neighbors. In the picture itself, both are 1. A kernel spans $k - 1$ steps of $e_{l-1}$ pixels each, and its
# neighboring outputs are $d$ such steps apart:
#
# $$f_l = f_{l-1} + (k_l - 1)\, e_{l-1}, \qquad e_l = d_l\, e_{l-1}.$$
#
# By hand: the net has three such layers, with 32, 64, and 64 kernels of side 8, 4, and 3, in strides of 4, 2, and 1.
# From 84 pixels, $\lfloor 76/4 \rfloor + 1 = 20$, then $\lfloor 16/2 \rfloor + 1 = 9$, then $6 + 1 = 7$. So
# $64 \cdot 7 \cdot 7 = 3136$ numbers go into a dense layer of 512. The fields are $1 + 7 \cdot 1 = 8$, then
# $8 + 3 \cdot 4 = 20$, then $20 + 2 \cdot 8 = 36$. Ask the library's net, and autograd, which pixels a number in the
# middle depends on:

# %% tags=["open"]
print("kernels, side, stride:", NATURE)
net = Nature([stream(0, "init")], (4, 84, 84))
shapes = [tuple(weight.shape[1:]) for weight, _ in net.layers]
print("weights of its layers:", shapes)
assert shapes[3] == (3136, 512)

picture = torch.rand(1, 4, 84, 84, requires_grad=True)
y, fields_of_view = picture, []
for (weight, _), (_, kernel, stride) in zip(net.layers, NATURE, strict=False):
    kernels = weight[0].T.unflatten(1, (-1, kernel, kernel))
    y = torch.nn.functional.conv2d(y, kernels, stride=stride)
    side = y.shape[-1]
    middle = y[0, :, side // 2, side // 2].sum()
    (pixels,) = torch.autograd.grad(middle, picture, retain_graph=True)
    seen = int((pixels[0].abs().sum(0) > 0).any(0).sum())
    fields_of_view.append(seen)
    print(f"{side} × {side} places, each sees {seen} × {seen} pixels")
assert fields_of_view == [8, 20, 36]

# %%
source(Nature.forward)

# %% [markdown]
# Pixels stay bytes up to the division by 255. As floats, the $4 \cdot 84 \cdot 84 = 28{,}224$ numbers of an observation
# would take four times the memory.
#
# ## Points are for players
#
# A brick is worth 1 to 7 points, an alien 5 to 30, and in other games one thing is worth thousands. No limit on the
# gradient suits them all. So most published agents learn from the **sign of the reward**: −1, 0, or 1. That changes the
# task. If one action earns 1 point for sure and another 7 points half of the time, the second is worth
# $½ \cdot 7 = 3.5$ a try, and by signs only $½$. Here `reward_sign` is a switch, off unless you ask:

# %%
source(RewardSign)

# %% [markdown]
# A game of Breakout has five balls, and losing one costs no points. The damage shows only later, in points that weren't
# made. So a **lost life ends an episode for learning**: the value behind it is 0. The game goes on, or no agent would
# ever see the wall as it looks to the fourth ball. This is the second switch, `life_ends`.
#
# But Breakout serves no ball until somebody presses FIRE. The published wrappers press it after each lost ball, and so
# does this library. The agent didn't choose that action and can't learn from it, so the row is marked as `resetting`
# and gets weight 0.
#
# In the end, what counts is the **score of the whole game**. So a step has two numbers for what was earned and two
# flags for an end: `reward` and `terminated` for the agent, `score` and `over` for the log.

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
print(
    f"points {score.sum():.0f}, hits {np.count_nonzero(reward)}; lives {terminated.sum():.0f}, games {over.sum():.0f}"
)
assert score.sum() > 4 * reward.sum() and terminated.sum() > over.sum() >= 1 and not (over > terminated).any()

# %% [markdown]
# To the agent, 45 points are 5, and one game is three episodes.
#
# ## From PPO to the preset `atari`
#
# The preset follows openai/baselines' ppo2. It adds two flags to those of PPO: one trunk for policy and value, which
# saves time, since the net is most of the work, and a clip range that falls with the learning rate. (Table 5 of
# Schulman et al., 2017, arXiv:1707.06347, differs in a few numbers.)

# %%
diff(PPO, ATARI)

# %%
usual = Config(seeds=1)
names = [field.name for field in fields(Config)]
its = {name: getattr(ATARI_CONFIG, name) for name in names}
print(", ".join(f"{name} {x}" for name, x in its.items() if x != getattr(usual, name)))

# %% [markdown]
# ## One agent, a fifth of the way
#
# Ten million steps take a long time without a graphics card, so what is stored is a run of two million.

# %% tags=["hide-input"]
stored = load(RESULTS / f"games_breakout{SUFFIX}")
figure, axis = plt.subplots(figsize=(6.5, 3))
draw_games(stored, axis)
plt.show()
print(games_in_words(stored))

# %% tags=["hide-input"]
trained, chance = (np.array(stored.about["games"][who]) for who in ("trained", "random"))
print(f"trained {trained.mean():.1f}, random {chance.mean():.1f}; a full run is {1e7 / stored.steps:.0f} times as long")
assert trained.mean() > 2 * chance.mean()
assert 5 * stored.steps == 1e7

# %% [markdown]
# So the loop does learn from pixels. That is all one agent shows: its interval is over games, not over seeds. Published
# scores after 10 million steps are 398 (stable-baselines3's zoo) and 415 ± 28 (CleanRL).
#
# ## Signs, or one scale?
#
# Is the sign worth what it costs? `BricksByRow` is a small Breakout, on 10 × 10 cells, in which a brick pays 100, 10, or
# 1 point, the top row the most. PPO learned from the raw points, from their signs, and from raw points with
# [`return_norm`](08_return_norm.ipynb), with and without [PopArt](12_popart.ipynb). The score is always in points.
#
# **Predict.** The sign can't tell a brick of 100 from one of 1. Where does it come in among the four?

# %% tags=["predict", "hide-input"]
(study,) = (study for study in everything() if study.env == "tricks/BricksByRow-v0")
(ways,) = (design for design in study.designs if design.name == "scales")
names = ("raw points", "signs", "return_norm", "with popart")
colors = (style.SOFT, style.INK, style.COLORS["return_norm"], style.COLORS["popart"])
figure, axis = plt.subplots(figsize=(6.5, 3))
for arm, name, color in zip(ways.arms, names, colors, strict=True):
    learning_curve(axis, name, study.grid(arm.tricks), color)
over_steps(axis)
axis.set_ylabel("points per game")
plt.show()

points = {name: area(study.grid(arm.tricks)).to_numpy() for arm, name in zip(ways.arms, names, strict=True)}
for name, each in points.items():
    low, high = interval(each)
    print(f"{name:12} {each.mean():4.0f} points on average over training, {low:.0f} to {high:.0f}; {len(each)} agents")
assert points["signs"].min() > points["return_norm"].max()
assert points["return_norm"].mean() > points["with popart"].mean() > 2 * points["raw points"].mean()

# %% [markdown]
# It comes first, by far. We see two reasons, neither tested. The ball gets to the top row only through the rows below,
# so whoever breaks more bricks usually makes more points, too. And with one scale for all bricks, those worth 100 set
# it, so a brick worth 1, which is what a beginner hits, counts for next to nothing.
#
# Two caveats. All four ran at a rate of 0.01, the best of four for PPO in `Bricks`, where each brick pays 1. That's just
# what the sign makes of this game, so the choice favors it. And if the bricks of 100 weren't behind those of 1, an agent
# that sees only signs would have no reason to prefer them.
#
# ## What each habit costs
#
# - **The sign** makes all rewards alike, even where the difference matters. [`return_norm`](08_return_norm.ipynb) and
#   [`popart`](12_popart.ipynb) scale returns and keep the difference, though in `BricksByRow` they scored less than the
#   sign. Try `--no-reward-sign --return-norm`.
# - **A lost life as an end** is meant to make the agent careful, but the value leaves out whatever the remaining lives
#   will earn. Without it (`--no-life-ends`) the agent has to serve every ball but the first.
# - **Four pictures** show speed, and nothing older.
# - **The same start every time** would let an agent learn one sequence of actions by heart. Up to 30 idle moves make
#   that harder. Newer work repeats the last action at random instead ("sticky actions"); its scores can't be compared
#   with these.

# %% [markdown]
# ## At a glance
#
# | | |
# |---|---|
# | **problem** | pictures show no speed, points come in odd sizes, and a lost ball costs none |
# | **formula** | a convolution, $y_{ij} = \max\big(0,\, w_0 + \sum_{u,v} w_{uv} \cdot x_{id+u,\, jd+v}\big)$ |
# | **in the loop** | `features = agent.features(b.obs)  # the policy's body runs once, for all heads that read it` |
# | **defaults** | the preset `atari`: 4 gray pictures of 84 × 84, one in 4 frames; `reward_sign`; `life_ends` |
# | **watch** | the score of whole games, with the rewards and lives that the game itself counts |
# | **skip it when** | the state comes as a few numbers: a convolution has nothing to slide over |
# | **also called** | Nature CNN; frame stacking, frame skipping; reward clipping; episodic life |

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
# **Exercise 2: spot the bug.** Somebody finds `score` and `over` in the loop's rollouts superfluous, since every row
# has a reward and says whether it ended something.

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
for name, run in (("right", right), ("this version", wrong)):
    print(f"{name:13}", ", ".join(f"{column} {run.curve[column].iloc[0]:.4g}" for column in columns))
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
# think the rest is worth? (c) A rollout holds each picture four times, in four observations. How would you store it
# once, and what must you take care of where an episode begins?
#
# <details><summary>Answer</summary>
#
# (a) Yes. A return is a sum of rewards: it can be 0.1 or 50, and it grows as the agent gets better. (b) To the first,
# nearly nothing: the episode is over. To the second, almost as much as before, because four balls are left. (c) Store
# single pictures and stack four when a minibatch is drawn. Before its first step a rollout needs three older pictures,
# and where a game has just begun, the older places must be blank. A lost life isn't such a place: there the pictures go
# on.
#
# </details>
#
# Solutions: [`solutions/23_atari.py`](solutions/23_atari.py). Next: [seeds as an axis](24_seeds_as_an_axis.ipynb).

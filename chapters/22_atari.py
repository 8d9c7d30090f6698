# %% [markdown]
# # Atari: the same loop, with eyes
#
# *Four numbers told you where the pole was. What if all you get is a picture?*
#
# Nothing in PPO cares what an observation is. It wants log-probabilities and a value, and a net that makes them. So
# the loop that balances the pole plays Breakout, too, without a changed line. But a picture of a game holds less than
# it seems to, and a game's points are not made for learning. This chapter is about what stands between the console
# and the loop: a few small decisions, each of which is a trap.

# %%
import time
from dataclasses import fields, replace

import gymnasium as gym
import matplotlib.pyplot as plt
import numpy as np
import torch

from ablations import RESULTS, SUFFIX, draw_games, games_in_words, load, style
from book import begin, curves, label_lines, planted
from exercises.atari import check_field, segment_with_scores
from tricks import PPO, Config, diff, source, train
from tricks.config import ATARI_CONFIG
from tricks.core.nets import NATURE, Nature
from tricks.core.rollout import rollout_bytes
from tricks.core.seeds import stream
from tricks.envs.atari import SKIP, make_game, make_games
from tricks.envs.make import make_env
from tricks.envs.wrappers import LifeEnds, RewardSign
from tricks.ladder import ATARI, named

begin()

# %% [markdown]
# ## What a picture does not show
#
# A ball is somewhere in a picture of 36 × 36 pixels, and flies to the left or to the right. Guess which: one point if
# you are right, and the episode is over. We let PPO play this, five agents, once with the last picture and once with
# the last two. The pictures go through the net for Atari, which we look at in a moment; policy and value share it.


# %%
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

# %%
figure, axis = plt.subplots(figsize=(6.5, 2.6))
curves({"one picture": one, "two pictures": two}, axis)
axis.set_ylabel("points (at most 1)")
plt.show()
print(f"points at the end: {one.late().mean():.2f} with one picture, {two.late().mean():.2f} with two")
assert abs(one.late().mean() - 0.5) < 0.1 and two.late().mean() > 0.85

# %% [markdown]
# With one picture there is nothing to learn, however long you train: both directions look alike, and half of all
# guesses are right. With two pictures it is easy. The state of the game has a speed in it, and a picture has none.
#
# So the agent gets the last four pictures, stacked as channels. And it gets one in four of those that the console
# draws, 15 a second instead of 60, since a paddle need not be told what to do sixty times a second. Old consoles draw
# some things only in every other picture, so each pixel is the brighter one of the last two. Then colors go, and the
# picture shrinks to 84 × 84. All of this is Mnih et al. (2015, doi:10.1038/nature14236), and Gymnasium and ale-py do
# it for us. A look, after twenty random moves:

# %% tags=["thumbnail"]
game = make_game("ALE/Breakout-v5", render_mode="rgb_array")
obs, _ = game.reset(seed=3)
rng = np.random.default_rng(0)
for _ in range(20):
    obs, *_ = game.step(int(rng.integers(game.action_space.n)))
console = game.render()
game.close()

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
print("what the agent sees:", obs.shape, obs.dtype)

# %% [markdown]
# ## What to look with
#
# A dense layer has a weight for every pixel and every unit, and what it has learned about a ball at one place it must
# learn again at the next. A convolution has one small window of weights, its *kernel*, and puts it everywhere. With
# input $x$, kernel $w$ of $k \times k$ places, and *stride* $d$ from one place to the next,
#
# $$y_{ij} = \max\Big(0,\; b + \sum_{u=0}^{k-1} \sum_{v=0}^{k-1} w_{uv} \cdot x_{id+u,\; jd+v}\Big),$$
#
# where $w_{uv} \cdot x$ also sums over the channels. Shift the picture by $d$ pixels, and $y$ shifts by one: a ball is
# a ball wherever it is. A side of $n$ pixels leaves room for
#
# $$n' = \Big\lfloor \frac{n - k}{d} \Big\rfloor + 1$$
#
# windows. And how much of the picture does one number see, layers up? Let $r_l$ be the side of that square, its
# *receptive field*, and $s_l$ how far apart, in pixels, two neighbors in layer $l$ look. At the picture itself both are
# 1. A kernel spans $k - 1$ steps, each of $s_{l-1}$ pixels, and sets its own outputs $d$ of them apart:
#
# $$r_l = r_{l-1} + (k_l - 1)\, s_{l-1}, \qquad s_l = d_l\, s_{l-1}.$$
#
# **Check it with numbers.** The net has three such layers, with 32, 64 and 64 kernels of side 8, 4 and 3, in strides of
# 4, 2 and 1. From 84 pixels: $\lfloor 76/4 \rfloor + 1 = 20$, then $\lfloor 16/2 \rfloor + 1 = 9$, then $6 + 1 = 7$. So
# $64 \cdot 7 \cdot 7 = 3136$ numbers go into a dense layer of 512. Fields: $1 + 7 \cdot 1 = 8$, then
# $8 + 3 \cdot 4 = 20$, then $20 + 2 \cdot 8 = 36$. We ask the library's net, and autograd which pixels a number in the
# middle depends on.

# %%
print("kernels, side, stride:", NATURE)
net = Nature([stream(0, "init")], (4, 84, 84))
shapes = [tuple(weight.shape[1:]) for weight, _ in net.layers]
print("weights of its layers:", shapes)
assert shapes[3] == (3136, 512)

picture = torch.rand(1, 4, 84, 84, requires_grad=True)
y, fields_of_view = picture, []
for (weight, _), (_, kernel, stride) in zip(net.layers, NATURE, strict=False):
    y = torch.nn.functional.conv2d(y, weight[0].T.unflatten(1, (-1, kernel, kernel)), stride=stride)
    middle = y.shape[-1] // 2
    (pixels,) = torch.autograd.grad(y[0, :, middle, middle].sum(), picture, retain_graph=True)
    fields_of_view.append(int((pixels[0].abs().sum(0) > 0).any(0).sum()))
    print(f"{y.shape[-1]} × {y.shape[-1]} places, each sees {fields_of_view[-1]} × {fields_of_view[-1]} pixels")
assert fields_of_view == [8, 20, 36]

# %% [markdown]
# ## In the library

# %%
source(Nature.forward)

# %% [markdown]
# Pixels stay bytes all the way to this line; only here do they become numbers from 0 to 1. That is a matter of memory.
# An observation has $4 \cdot 84 \cdot 84 = 28{,}224$ bytes; as floats in the rollout they would take four times as
# much. (A rollout also keeps the pictures behind its last step and behind each time limit.)

# %%
config = ATARI_CONFIG
env = make_env(config)
held = rollout_bytes(config, env.spaces) / 1e6
env.close()
rows = config.horizon * config.lanes
print(f"{rows} rows × 28,224 bytes = {rows * 28_224 / 1e6:.1f} MB; the whole rollout {held:.1f} MB")
assert 0 <= held - rows * 28_224 / 1e6 < 1

# %% [markdown]
# A net for each of $S$ agents could be one convolution in $S$ groups. On a CPU a loop over the agents is faster, so
# there is a loop.
#
# ## What a score does not say
#
# Points are made for players. A brick is worth 1 to 7, an alien 5 to 30, and in other games one thing is worth
# thousands. With one trunk, a limit on the gradient and an entropy bonus of fixed weight, numbers that suit one game
# would not suit another. So most of the published work learns from the **sign of the reward**, −1, 0 or 1. That changes
# the task: let one action earn 1 point for sure, and another 7 points
# in half of all cases. The second is worth $½ \cdot 7 = 3.5$ a try, and by signs only $½$.
#
# In this library the sign is a switch, `reward_sign`, which works for every environment and is off unless you ask for
# it:

# %%
source(RewardSign)

# %% [markdown]
# A game of Breakout has five balls, and losing one costs no points. That a lost ball is bad shows only later, in points
# that were not made. So a **lost life ends an episode for learning**: the value behind it is 0. But the game goes on
# from there. If it began anew each time, no agent would ever see the wall as it looks to the fourth ball. This is the
# second switch, `life_ends`, for environments that report lives.
#
# There is a catch. Breakout serves no ball until somebody presses FIRE. The published wrappers press it at the start of
# each episode, and with `life_ends` that means after each lost ball, too; so do we. The agent did not choose that
# action, so there is nothing to learn from the row. It is marked as `resetting`, like the row in which a finished game
# starts over, and gets weight 0.
#
# And what we want to know in the end is neither: it is the **score of the whole game**. So a step has two numbers for
# what was earned, and two flags for an end. `reward` and `terminated` are for the agent; `score` and `over` are for the
# log.

# %%
source(LifeEnds.step)

# %% [markdown]
# Here is one lane of Space Invaders, played at random with both switches on.

# %%
env = make_env(Config("ALE/SpaceInvaders-v5", seeds=1, lanes=1, reward_sign=True, life_ends=True))
everyone, strip = torch.ones(1, dtype=torch.bool), []
rng = stream(0, "action")
for _ in range(500):
    step = env.step(torch.from_numpy(rng.integers(6, size=(1, 1))), everyone)
    strip.append([step.score.item(), step.reward.item(), step.terminated.item(), step.over.item()])
env.close()
score, reward, terminated, over = np.array(strip).T

# %%
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
# ## What is switched on
#
# All of this is the environment's part and the net's. The preset `atari` turns on `reward_sign` and `life_ends`; any
# other rung leaves them off. From the flags of PPO to those for Atari (openai/baselines' ppo2,
# from which the settings in table 5 of Schulman et al., 2017, arXiv:1707.06347, differ a little) there are two steps,
# both of which you know: one trunk for policy and value, as the net is most of the work, and a clip range that falls
# together with the learning rate.

# %%
diff(PPO, ATARI)

# %%
usual = Config(seeds=1)
numbers = [field.name for field in fields(Config) if getattr(ATARI_CONFIG, field.name) != getattr(usual, field.name)]
print(", ".join(f"{name} {getattr(ATARI_CONFIG, name)}" for name in numbers))

# %% [markdown]
# ## A small live run
#
# A single update of 8 · 128 steps, in one thread: the notebook computes in one. It is far too little to learn
# anything. For comparison, as many steps with nothing but the games, played at random.

# %%
short = train(replace(ATARI_CONFIG, steps=900), ATARI)
steps = int(short.curve.step.max())

env = make_env(ATARI_CONFIG)
start = time.perf_counter()
for _ in range(ATARI_CONFIG.horizon):
    env.step(torch.from_numpy(rng.integers(4, size=(1, ATARI_CONFIG.lanes))), everyone)
alone = time.perf_counter() - start
env.close()
print(f"{steps} steps in {short.seconds:.1f} s, of which the games take about {alone:.1f} s")
print(f"at that rate 10 million would take about {1e7 / steps * short.seconds / 3600:.0f} hours in one thread")
assert alone < short.seconds / 2

# %% [markdown]
# (Where a game was over or FIRE was pressed, a row of a lane went into that; such a row is not a step.) So the time goes
# into the net, not into the games: each picture that is seen once in play is then passed forward and backward in four
# epochs. The games are played by ale-py, in threads of C++.

# %%
source(make_games)

# %% [markdown]
# ## What the stored run says
#
# Ten million steps are a long time without a graphics card. So what is stored is a beginning: one agent, a small part
# of the way.

# %%
stored = load(RESULTS / f"games_breakout{SUFFIX}")
figure, axis = plt.subplots(figsize=(6.5, 3))
draw_games(stored, axis)
plt.show()
print(games_in_words(stored))

# %% [markdown]
# The gray line is the mean score of the games that ended at each hundredth of the training, the black one its mean
# over the tenth before, and the dot the games of the trained agent, with their interval.

# %%
trained, chance = (np.array(stored.about["games"][who]) for who in ("trained", "random"))
print(
    f"published after 10 million steps: 398 to 415; here after {stored.steps / 1e6:.1f} million: {trained.mean():.1f}"
)
if trained.mean() > 2 * chance.mean():
    print("It scores more than twice what chance does: the loop learns from pixels.")
else:
    print("It does not score twice what chance does.")

# %% [markdown]
# **What it does not say.** It is one agent, so the interval is over games and not over seeds: another seed could do
# better or worse, and no trick can be judged by it. It says that the parts fit together, and what they cost. The
# published scores (398 by stable-baselines3's zoo, 415 ± 28 by CleanRL) took about twenty-five times as many steps. And
# the stored agent was trained when only the first ball of a game was served for it: after a lost one, it had to find
# FIRE by itself. (An agent that never does, and always takes its most likely action, waits for the console's limit of
# half an hour.)
#
# ## When it helps, and when it does not
#
# These choices have become habits, and each has its price.
#
# - **The sign** makes all rewards alike. Where points differ and the difference matters, the agent cannot know it.
#   `return_norm` or `popart` bring returns to one size without that: try `--no-reward-sign --return-norm`.
# - **A lost life as an end** makes the agent careful. But the value is then wrong by what the next lives bring. Without
#   it (`--no-life-ends`) an episode is a game, FIRE is pressed only at its start, and the agent has to serve the other
#   balls itself.
# - **Four frames** show speed, and nothing that is older than 16 frames.
# - **One game, always the same:** from the same start, the same actions lead to the same pictures. The idle moves at
#   the start (up to 30) are there so that learning one sequence by heart does not do. Newer work repeats the last
#   action at random instead ("sticky actions"), and its scores cannot be compared with these.
#
# And convolutions pay where the same thing can be anywhere. CartPole's four numbers have no places to slide over.
#
# ## Exercises
#
# **Exercise 1: write it.** How many pixels wide is the receptive field of one number in the last layer? You get the
# layers from the picture up, as pairs (side of the kernel, stride).


# %%
def my_field(layers):  # [(8, 4), (4, 2), (3, 1)] -> 36
    ...


check_field(my_field)

# %% [markdown]
# **Exercise 2: spot the bug.** Somebody finds `score` and `over` in the loop's rollouts superfluous, since every row
# has a reward and says whether it ended something.

# %%
source(segment_with_scores)

# %%
invaders = replace(ATARI_CONFIG, env="ALE/SpaceInvaders-v5", lanes=2, horizon=640, steps=1280, epochs=1)
right = train(invaders, ATARI)
with planted(play_segment=segment_with_scores):
    wrong = train(invaders, ATARI)
columns = ["episodes", "return", "length", "entropy", "value_loss", "grad_norm"]
for name, run in (("right", right), ("this version", wrong)):
    print(f"{name:13}", ", ".join(f"{column} {run.curve[column].iloc[0]:.4g}" for column in columns))
assert wrong.curve[columns[3:]].equals(right.curve[columns[3:]])
assert wrong.curve["return"].iloc[0] < right.curve["return"].iloc[0] / 5

# %% [markdown]
# What is wrong? The last three numbers agree to the last digit: does it matter at all? In which game would you never
# notice?
#
# **Exercise 3: think.** (a) All rewards are −1, 0 or 1. Is there still something for `return_norm` to do? (b) Two
# agents have learned Breakout, one with lost lives as ends and one without. What does each of them think a ball is
# worth that is about to be lost, if it is the first one? (c) A rollout holds each picture four times, in four
# observations. How would you store it once, and what must you take care of where an episode begins?
#
# Solutions: [`solutions/22_atari.py`](solutions/22_atari.py). Next: [the whole ladder](24_the_whole_ladder.ipynb), on
# all tricks at once.

# %% [markdown]
# # Time limits: the end that is none
#
# *The clock ran out, and nothing went wrong. What is the last state worth?*
#
# CartPole stops after 500 steps. An agent that is still balancing then has not failed: somebody turned off the
# simulator. But the data say "the episode is over, no more rewards", in the same words in which they report a fall. This
# chapter tells the two apart.

# %%
from dataclasses import replace

import gymnasium as gym
import matplotlib.pyplot as plt
import torch

from ablations import style
from book import begin, curves, evidence, planted
from exercises.bootstrap import check_targets, play_same_step
from tricks import Config, diff, source, train
from tricks.bootstrap import beyond
from tricks.core.returns import reward_to_go
from tricks.core.rollout import Player, play_episodes
from tricks.envs.make import make_env
from tricks.gae import gae
from tricks.ladder import named, switched
from tricks.worlds import WORLDS
from tricks.worlds.cartpole import CARTPOLE
from tricks.worlds.world import World

begin()

# %% [markdown]
# ## The same state, two targets
#
# A pole stands upright in the middle of the track. The agent that holds it there can go on for ever, so with
# $\gamma = 0.99$ this state is worth $1 + 0.99 + 0.99^2 + \dots = 100$. Now let the limit be 500 steps, count nothing
# beyond it, and look at the return from this very state, early and late in an episode.

# %%
reward = torch.ones(1, 500, 1)  # [S, T, N]
limit = torch.zeros(1, 500, 1, dtype=torch.bool)
limit[:, -1] = True
returns = reward_to_go(reward, limit, gamma=0.99).flatten()
for step in (10, 400, 490, 499):
    print(f"upright in the middle at step {step:3d}: return {returns[step]:5.1f}")
assert returns[10] > 99 and returns[490] < 10

# %% [markdown]
# The observation is the same in all four lines: the place and speed of cart and pole, and no clock. The value net cannot
# tell the lines apart, so it learns some average. At step 10 the actions then seem better than expected, at step 490 much
# worse, and the advantages praise and blame them for something that is not their doing.
#
# ## When the limit decides what is best
#
# Worse can happen. Nine cells in a row. Standing in the leftmost pays 0.1 a step, in the rightmost 1. Every four steps an
# "episode" is cut, and the next one goes on from the same cell: the cut has no meaning, it is only there. You
# stand at the left end. Stay, or walk the eight steps to the right?

# %%
steps = torch.arange(2000)
plans = {"stay at the left end": torch.full((2000,), 0.1), "walk to the right end": (steps >= 7).float()}
cut_here = steps % 4 == 3
for plan, reward in plans.items():
    as_death, truth = (
        reward_to_go(reward.view(1, -1, 1), done.view(1, -1, 1), gamma=0.99)[0, 0, 0]
        for done in (cut_here, torch.zeros_like(cut_here))
    )
    print(f"{plan}: worth {truth:5.2f}; if every cut counts as a death, {as_death:.2f}")

# %% [markdown]
# Walking is worth nine times as much. But it takes eight steps, and within four steps it earns nothing: to an agent that
# believes each cut to be the end of the world, it is worthless.
#
# ## The idea
#
# Say what you want. If the task goes on and the clock is only your way to collect data, then the return that counts
# is the one without the clock. Split it where the clock cut it off, after row $c - 1$:
#
# $$G_t = \underbrace{r_t + \gamma r_{t+1} + \dots + \gamma^{c-t-1} r_{c-1}}_{\text{seen}}
#       + \gamma^{c-t} \underbrace{\big(r_c + \gamma r_{c+1} + \dots\big)}_{\text{unseen: } G_c},
#   \qquad \mathbb{E}[G_c \mid s_c] \approx V(s_c).$$
#
# You know this from the chapter on `segments`: the rest of an interrupted episode is worth what the value net says about
# the state at the interruption. A time limit is a cut. Pardo et al. (2018, arXiv:1712.00378) call it *partial-episode
# bootstrapping*:
#
# $$\hat G_t = r_t + \gamma r_{t+1} + \dots + \gamma^{c-t-1} r_{c-1} + \gamma^{c-t}\, V(s_c).$$
#
# An end by death is different. There, $G_c$ is not unseen: it is 0. So an environment must say which it was, and
# Gymnasium does, with two flags: **terminated** (the world itself ended) and **truncated** (somebody stopped it).
#
# | how a row ends | what follows counts | the recursion |
# |---|---|---|
# | the episode goes on | $\gamma V(s_{t+1})$ in $\delta_t$ | goes on |
# | the segment is cut | $\gamma V(s_{t+1})$ | starts here |
# | truncated | $\gamma V(s_{t+1})$ | starts here: the next row is another episode |
# | terminated | 0 | starts here |
# | both at once | 0: a death that falls on the time limit is a death | starts here |
#
# And $s_{t+1}$ must be **the state that was cut off**, not the one that the lane shows next.
#
# ## In the library
#
# One line in the loop, and the function that you met with the segments:

# %%
diff(named("segments"), named("bootstrap"))

# %%
source(beyond, Player.rollout)

# %% [markdown]
# In `Player.rollout` you find the last row of the table: `truncated & ~terminated`.
#
# By hand, with $\gamma = ½$ and four rewards of 1. Row 1 is truncated, and the net says 6 about the state it left behind.
# Row 3 is a fall, and the net says 8 about the fallen pole, which must not matter. From the back: $\hat G_3 = 1$,
# $\hat G_2 = 1 + ½ \cdot 1 = 1.5$, then $\hat G_1 = 1 + ½ \cdot 6 = 4$ and $\hat G_0 = 1 + ½ \cdot 4 = 3$. With
# $\lambda = 1$, `gae` must give the same targets.

# %%
reward = torch.ones(1, 4, 1)
truncated = torch.tensor([False, True, False, False]).view(1, 4, 1)
terminated = torch.tensor([False, False, False, True]).view(1, 4, 1)
value, next_value = torch.full((1, 4, 1), 5.0), torch.tensor([5.0, 6.0, 5.0, 8.0]).view(1, 4, 1)

targets = reward_to_go(reward, truncated | terminated, 0.5) + beyond(truncated, next_value, truncated | terminated, 0.5)
same = value + gae(reward, value, next_value, terminated, truncated | terminated, gamma=0.5, lam=1)
print(targets.flatten().numpy())
torch.testing.assert_close(targets.flatten(), torch.tensor([3.0, 4.0, 1.5, 1.0]))
torch.testing.assert_close(same, targets)

# %% [markdown]
# ## A picture of the mechanism
#
# Two agents learn CartPole under a limit of 100 steps. Both soon reach it nearly always. Then both value nets judge the
# *same* 100 states, those of an episode that is played to the limit. A line is a seed.

# %%
WITHOUT = switched(["baseline", "reuse", "clip", "gae", "advantage_norm", "segments"])
WITH = switched([*WITHOUT.on, "bootstrap"])
WORLDS["CartPole100"] = replace(CARTPOLE, id="CartPole100", time_limit=100)
config = Config("CartPole100", seeds=5, steps=25_000, lr=0.003)
runs = {"limit = death": train(config, WITHOUT), "limit = cut": train(config, WITH)}
for name, run in runs.items():
    print(f"{name}: {run.late().mean():.0f} of 100 points")
    assert run.late().mean() > 85

# %% tags=["thumbnail"]
best = runs["limit = cut"].agent  # plays, with its logits sharpened, so that no episode ends early
player = Player(make_env(replace(config, lanes=1)), block=100)
episode = play_episodes(
    player, lambda obs, legal: 100 * best.policy(obs), rows=1, active=torch.ones(5, dtype=torch.bool)
)
figure, axis = plt.subplots(figsize=(6.5, 3))
level = {}
for (name, run), color in zip(runs.items(), (style.SOFT, style.COLORS["bootstrap"]), strict=True):
    judged = run.agent.values(episode)[0][:, :, 0].where(episode.valid[:, :, 0], torch.nan)  # [S, T]
    axis.plot(judged.T, color=color, lw=1.3, alpha=0.8)
    level[name] = judged.nanmean().item()
    axis.text(102, judged[:, -1].nanmedian(), f"V, {name}", color=color, weight="bold", va="center")
axis.plot(100 * (1 - 0.99 ** torch.arange(100, 0, -1)), color=style.INK, lw=1, ls="--")
axis.text(102, 1, "return up to the limit", va="center")
axis.axhline(100, color=style.INK, lw=1, ls="--")
axis.text(102, 103, "return without a limit", va="center")
axis.set(xlabel="step of the episode", ylabel="value", xlim=(0, 100), ylim=(0, 108))
plt.show()

print(f"return up to the limit: {100 * (1 - 0.99**100):.0f} at the start, 1 at the end")
print(", ".join(f"mean V with {name}: {mean:.0f}" for name, mean in level.items()))
assert level["limit = cut"] > level["limit = death"] + 20

# %% [markdown]
# The dashed curve is what the clock leaves of the return: 63 at the start, 1 at the end. Where each cut counts as a
# death, the nets settle on a compromise, and where they find a hint of the time in the state (a cart that drifts away from
# the middle is an old cart) they bend down along it: drifting looks deadly, only because it happens late. Where
# the cut counts as a cut, the value of a balanced pole is on its way to 100 and hardly depends on the step. It gets
# there slowly: every update adds only what is seen, and takes the rest from itself.
#
# The score does not care, here. Both reach the limit.
#
# ## A small run in which it decides
#
# The nine cells from above, as a world: `carried=1` says that the place stays when an episode is cut. The best that can
# be had in four steps is 4, staying at the left end gives 0.4.


# %%
def walk(state, action, chance):
    """One cell to the left (0) or to the right (1); the cell that is reached pays. Nothing ever terminates."""
    state = (state + (2 * action - 1).unsqueeze(-1)).clamp(0, 8)
    left, right = state[..., 0] == 0, state[..., 0] == 8
    return state, 0.1 * left.double() + right.double(), torch.zeros_like(left)


def on_a_line(id, cells, dynamics, **rest):
    """A world of cells side by side, shown one-hot, that is entered at the left end."""
    WORLDS[id] = World(
        id=id,
        observation=gym.spaces.Box(0, 1, (cells,)),
        action=gym.spaces.Discrete(2),
        initial=lambda chance: chance.new_zeros(*chance.shape[:-1], 1),
        dynamics=dynamics,
        observe=lambda state: torch.eye(cells)[state[..., 0].long()],
        reset_chances=0,
        **rest,
    )


on_a_line("NineCells", 9, walk, time_limit=4, carried=1)

# %%
small = Config("NineCells", seeds=5, steps=20_000, lanes=32, horizon=32, hidden=(32, 32), lr=0.01)
death, cut = train(small, WITHOUT), train(small, WITH)
curves({"limit = death": death, "bootstrap": cut})
plt.show()
print(f"last tenth of training: {death.late().mean():.2f} without, {cut.late().mean():.2f} with, of 4")
assert cut.late().mean() > 3.9 > 3.6 > death.late().mean()

for name, run in (("limit = death", death), ("limit = cut", cut)):
    to_the_right = run.agent.policy(torch.eye(9).expand(5, 9, 9)).softmax(-1)[:, :, 1].mean(0)
    print(f"{name}: probability of a step to the right, cell by cell {to_the_right.detach().numpy().round(2)}")

# %% [markdown]
# Without the bootstrap, the lanes that have strayed far enough to the right stay there, and those near the left end never
# set out.
#
# ## What the stored runs say

# %%
evidence("bootstrap")

# %%
evidence("bootstrap").plot()
plt.show()

for row in evidence("bootstrap").table.itertuples():
    if row.question == "as the next rung":
        print(f"{row.env}, on top of everything before: {row.verdict} ({row.difference:+.3f})")

# %% [markdown]
# `Commute` is the big sister of the nine cells, with 21 cells and a limit of 10. There the hard part is to find the right
# end at all: a seed either does or does not, the interval is as wide as that, and twenty seeds are not enough to detect what
# decided the small run. In `Shuttle4`, lanes are moved
# to random cells now and then, so that finding the right end is easy, and the limit is four steps. On CartPole a good agent meets the
# limit in nearly every episode. On Acrobot only a bad one does, since an episode terminates when the arm is up. Where
# nothing ever terminates, every episode ends at the limit.
#
# **What it does not say:** how it would be with $\gamma$ nearer to 1. The nearer, the more of a state's value lies beyond the
# limit, and the larger the error that is repaired here. At $\gamma = 0.9$ and a limit of 500 you would hardly find any.
#
# ## When it does not help
#
# - **When the limit is the task.** "Score as much as you can in a minute", an exam, a day that ends at night: a deadline is
#   real, and what comes after is worth 0. Then do not bootstrap. But the value of a state depends on the time left, so the
#   time left must be part of the observation (Pardo et al. 2018 treat this case, too).
# - **When the limit is hardly ever reached**, or so far away that $\gamma$ has forgotten it.
# - **When V is poor.** A bootstrap repeats what the net believes. Without it, a limit at least gives targets that come
#   from rewards alone.
# - **When nobody noticed.** Leaving it out is the most reported fault in public PPO code, and yet many such programs
#   learn: CleanRL's `ppo.py` does without, Stable-Baselines3 does it.
#
# ## Exercises
#
# **Exercise 1: write it.** The targets of one lane. `next_value[t]` is $V$ of the state that row `t` led to, also at an end;
# the last row is cut unless its episode ended there.


# %%
def my_targets(reward, terminated, truncated, next_value, gamma):  # all [T], and γ -> [T]
    ...


check_targets(my_targets)

# %% [markdown]
# **Exercise 2: spot the bug.** First, a tool for finding such bugs: a world so small that you know all values by heart. A
# hall of five cells; whatever you do, you move one cell to the right, and at the end you stay and get 1 per step. After 8
# steps the clock cuts. With $\gamma = 0.9$ the last cell is worth $1/(1 - 0.9) = 10$, the one before
# $1 + 0.9 \cdot 10 = 10$, too (its step leads into the last cell, which pays), then 9, 8.1, 7.29.


# %%
def onward(state, action, chance):
    """One cell to the right; being in the last one pays."""
    state = (state + 1).clamp(max=4)
    return state, (state[..., 0] == 4).double(), torch.zeros_like(state[..., 0], dtype=torch.bool)


on_a_line("Hall", 5, onward, time_limit=8)
hall = Config("Hall", seeds=5, steps=12_000, lanes=8, horizon=16, hidden=(8,), lr=0.02, gamma=0.9)


def learned_values():
    """V of each cell after training, the mean over the seeds."""
    return train(hall, WITH).agent.value(torch.eye(5).expand(5, 5, 5)).mean(0).detach().numpy().round(1)


right = learned_values()
print("the library:", right)
assert abs(right - [7.29, 8.1, 9, 10, 10]).max() < 0.4

# %% [markdown]
# Now with this function in place of the library's `play_segment`:

# %%
source(play_same_step)

# %%
with planted(play_segment=play_same_step):
    wrong = learned_values()
print("with the bug:", wrong)
assert wrong[-1] < 9.2

# %% [markdown]
# What is wrong? And why would you not see it on CartPole?
#
# **Exercise 3: think.** Bootstrap or not? (a) An exam of 60 minutes. (b) A robot in a simulator that is reset every 1,000
# steps. (c) A card game in which the player may say "stop", reported as `truncated` by its author.
#
# Solutions: [`solutions/14_bootstrap.py`](solutions/14_bootstrap.py). Next: [value clipping](15_value_clip.ipynb), a trick
# that looks as if it had to work.

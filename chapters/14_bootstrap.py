# %% [markdown]
# # Time limits: a cut, not a death
#
# *The clock ran out, and nothing went wrong. What is the last state worth?*
#
# CartPole stops after 500 steps. An agent that is still balancing at that point hasn't failed: somebody turned off the
# simulator. But to the learner it looks exactly like a fall: there are no more rewards. This chapter tells the two
# apart.

# %% tags=["hide-input"]
from dataclasses import replace

import gymnasium as gym
import matplotlib.pyplot as plt
import torch

from ablations import style
from chapters.book import begin, curves, evidence, planted
from chapters.book.results import trials
from chapters.exercises.bootstrap import check_targets, play_same_step
from tricks import Config, diff, source, train
from tricks.bootstrap import value_at_cut
from tricks.core.reductions import reward_to_go
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
# A pole stands upright in the middle of the track. If the agent can hold it there forever, then with $\gamma = 0.99$
# this state is worth $1 + 0.99 + 0.99^2 + \dots = 100$. Now count nothing beyond 500 steps, and look at the return from
# it early and late in an episode.

# %% tags=["hide-input"]
reward = torch.ones(1, 500, 1)  # [S, T, N]
limit = torch.zeros(1, 500, 1, dtype=torch.bool)
limit[:, -1] = True
returns = reward_to_go(reward, limit, gamma=0.99).flatten()
figure, axis = plt.subplots(figsize=(6.5, 2.6))
axis.plot(returns, color=style.INK)
axis.axhline(100, color=style.SOFT, lw=1)
axis.text(250, 102, "without a clock", color=style.SOFT, ha="center")
axis.set(xlabel="step at which the pole stands upright", ylabel="return from there", xlim=(0, 505), ylim=(0, 115))
for step, below in ((10, 14), (400, 8), (490, 0)):
    axis.plot(step, returns[step], "o", color=style.FAULT, clip_on=False)
    axis.text(max(step - 10, 40), returns[step] - below, f"{returns[step]:.1f}", color=style.FAULT, ha="right")
plt.show()
assert returns[10] > 99 and returns[490] < 10

# %% [markdown]
# The observation has no clock, so it is the same at every one of these steps, and the value net learns some average.
# Then the actions at step 10 seem better than expected and those at step 490 much worse, though the actions have
# nothing to do with it.
#
# ## Use V where the clock stopped
#
# If the clock is only your way of collecting data, what counts is the return without a clock. Split that return where
# the clock stopped the episode, after row $c - 1$:
#
# $$G_t = \underbrace{r_t + \gamma r_{t+1} + \dots + \gamma^{c-t-1} r_{c-1}}_{\text{seen}}
#       + \gamma^{c-t} \underbrace{\big(r_c + \gamma r_{c+1} + \dots\big)}_{\text{unseen: } G_c},
#   \qquad \mathbb{E}[G_c \mid s_c] \approx V(s_c).$$
#
# That is a cut, as in the chapter on [segments](13_segments.ipynb): put $V(s_c)$ in the place of $G_c$. Pardo et al.
# (2018, arXiv:1712.00378) call this *partial-episode bootstrapping*.
#
# Death is different: there, $G_c$ isn't unseen, it is 0. So an environment must say which it was, and Gymnasium does:
# **terminated** (the world itself ended) or **truncated** (somebody stopped it). If both happen in one step, it's a
# death.
#
# And $s_c$ must be **the state that was cut off**, not the one that the lane shows next, the start of another episode.
# The appendix on [storing rows](a2_storing_rows.ipynb) shows how the library ensures both. In the loop it takes one
# line:

# %%
diff(named("segments"), named("bootstrap"))

# %% [markdown]
# By hand, with $\gamma = ½$ and four rewards of 1. Row 1 is truncated, and $V$ of the state cut off is 6. Row 3 is a
# fall, and $V$ of the fallen pole is 8, which must not matter. From the back: $\hat G_3 = 1$,
# $\hat G_2 = 1 + ½ \cdot 1 = 1.5$, $\hat G_1 = 1 + ½ \cdot 6 = 4$ and $\hat G_0 = 1 + ½ \cdot 4 = 3$. With
# $\lambda = 1$, `gae` must give the same targets.

# %%
reward = torch.ones(1, 4, 1)
truncated = torch.tensor([False, True, False, False]).view(1, 4, 1)
terminated = torch.tensor([False, False, False, True]).view(1, 4, 1)
value = torch.full((1, 4, 1), 5.0)
next_value = torch.tensor([5.0, 6.0, 5.0, 8.0]).view(1, 4, 1)

done = truncated | terminated
targets = reward_to_go(reward, done, 0.5)
targets += value_at_cut(truncated, next_value, done, 0.5)
same = value + gae(reward, value, next_value, terminated, done, gamma=0.5, lam=1)
print(targets.flatten().numpy())
torch.testing.assert_close(targets.flatten(), torch.tensor([3.0, 4.0, 1.5, 1.0]))
torch.testing.assert_close(same, targets)

# %% [markdown]
# ## What two value nets believe
#
# Ten agents learn CartPole under a limit of 100 steps. Five count it as a death, five as a cut.

# %%
WITHOUT = switched(["baseline", "reuse", "clip", "gae", "advantage_norm", "segments"])
WITH = switched([*WITHOUT.on, "bootstrap"])
WORLDS["CartPole100"] = replace(CARTPOLE, id="CartPole100", time_limit=100)
config = Config("CartPole100", seeds=5, steps=25_000, lr=0.003)
runs = {"limit = death": train(config, WITHOUT), "limit = cut": train(config, WITH)}

# %% tags=["hide-input"]
for name, run in runs.items():
    print(f"{name}: {run.late().mean():.0f} of 100 points")
    assert run.late().mean() > 85

# %% [markdown]
# Now each seed plays one episode up to the limit, and both of its value nets judge the *same* 100 states.
#
# **Predict.** The return up to the limit falls from 63 to 1. What will the two kinds of nets say at the first step and
# at the last?

# %% tags=["thumbnail", "predict", "hide-input"]
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
# Each line is one seed. Where the limit is a death, the nets settle on a compromise, or find a hint of the time in the
# state and bend down with it. (Perhaps a cart that has drifted from the middle is usually an old one, so that drifting
# looks deadly.) Where the limit is a cut, the value hardly depends on the step. It is on its way to 100, slowly, since
# every update takes the unseen rest from $V$ itself. The score shows no difference: both reach the limit.
#
# ## When the limit decides what is best
#
# Take nine cells in a row. At the left end every step pays 0.1, at the right end 1. Every four steps an "episode" is
# cut, and the next one goes on from the same cell. You stand at the left end. Stay, or walk the eight steps to the
# right? Walking is worth nine times as much. But a $V$ that takes each cut for a death, and doesn't see the clock,
# learns an average over one, two, three, or four steps left:


# %%
def believed(direction, lam, limit=4, gamma=0.99):
    """V of the nine cells, for walks to one side, if each cut counts as a death."""
    cells = torch.arange(9)
    after = (cells + direction).clamp(0, 8)
    paid = 0.1 * (after == 0) + 1.0 * (after == 8)
    value = torch.zeros(9)
    for _ in range(2000):
        targets = [paid]  # one step left: nothing follows
        for _ in range(limit - 1):  # one more step left
            follows = (1 - lam) * value + lam * targets[-1]
            targets.append(paid + gamma * follows[after])
        value = torch.stack(targets).mean(0)
    return value


# %% tags=["hide-input"]
print(f"the truth: stay {0.1 / (1 - 0.99):.2f}, walk {0.99**7 / (1 - 0.99):.2f}")
for lam in (1, 0.95, 0.5, 0):
    stay, walk = believed(-1, lam)[0], believed(+1, lam)[0]
    print(f"λ = {lam}: stay {stay:.2f}, walk {walk:.2f}")
    assert (walk > stay) == (lam == 0)

discount = 0.99 * (1 - 1 / 4)
assert abs(believed(-1, 0)[0] - 0.1 / (1 - discount)) < 1e-3
assert abs(believed(+1, 0)[0] - discount**7 / (1 - discount)) < 1e-3

# %% [markdown]
# With λ = 1 the limit is a wall: nothing more than four steps away is worth anything. With λ = 0 it is only a steeper
# discount: any step may be the last one, with probability $1/L$ at a limit of $L$, so the future counts
# $\gamma(1 - 1/L)$ per step, here 0.74 instead of 0.99. The usual λ = 0.95 is close to the wall.
#
# Here are the nine cells as a world. (`carried=1`: a cut keeps the cell.) Four steps earn 4 at the right end, 0.4 at
# the left.


# %%
def walk_a_cell(state, action, chance):
    """One cell left (0) or right (1), and the new cell pays. Nothing terminates."""
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


on_a_line("NineCells", 9, walk_a_cell, time_limit=4, carried=1)

# %%
small = Config("NineCells", seeds=5, steps=20_000, lanes=32, horizon=32, lr=0.01)
small = replace(small, hidden=(32, 32))
death, cut = train(small, WITHOUT), train(small, WITH)

# %% tags=["hide-input"]
curves({"limit = death": death, "limit = cut": cut})
plt.show()
print(f"last tenth of training: {death.late().mean():.2f} without, {cut.late().mean():.2f} with, of 4")
assert cut.late().mean() > 3.9 > 3.6 > death.late().mean()

for name, run in (("limit = death", death), ("limit = cut", cut)):
    to_the_right = run.agent.policy(torch.eye(9).expand(5, 9, 9)).softmax(-1)[:, :, 1].mean(0)
    print(f"{name}: probability of a step to the right, cell by cell {to_the_right.detach().numpy().round(2)}")

# %% [markdown]
# Without the bootstrap, a lane that strays far to the right stays there, and one at the left end never leaves: the same
# policy does both.
#
# ## In longer runs

# %% tags=["hide-input"]
found = evidence("bootstrap")
found.strip()
plt.show()

assert not found.table.verdict.isin(["hurts"]).any()
detected = found.table[found.table.verdict == "helps"]
print("helps:", "; ".join(f"{row.env}, {row.question}" for row in detected.itertuples()))
assert set(detected.env) == {"CartPole-v1", "Pendulum-v1", "Taxi-v4"} and detected.confirmed.eq(1).all()
assert len(detected) == 5
(doses,) = found.worlds[found.worlds.world.str.contains("Shuttle")].doses
print("gain in Shuttle, as a share of the best score, by time limit:", doses)
commute = next(each for each in trials() if "Commute" in each.dose.config.env)
for name, side in (("without", commute.without), ("with", commute.having)):
    right = (commute.scores(side) > 9).sum()
    print(
        f"Commute, {name} bootstrap: rate {side.lr.iloc[0]:g}; {right} of {len(side)} agents go right, and earn nearly 10"
    )
    assert (side.lr == 0.3).all() and 8 <= right <= 12

# %% [markdown]
# On CartPole a good agent meets the limit in nearly every episode, and as the next rung the bootstrap helps. On
# Pendulum *every* episode ends at the limit, and on Taxi nearly every one does until the agent can deliver. In both it
# helps as the next rung and in the full set. All five were seen again on other seeds. Elsewhere in the usual
# environments nothing is detected. In `Shuttle`, a row of 21 cells, it gains little at a limit of 64 steps, and 8% of
# the best score at 4. (There, tuning gives the agents without it a tenth of the rate. At one rate for both, they lose
# more, as above.) In `Commute`, a line of 21 cells that pays 0.1 at the left end and 1 at the right, tuning finds a
# rate of 0.3, so large that agents are set in their ways after the first few updates, with or without the trick, and
# about half of them happen to have gone right. So twenty seeds can't tell.

# %% tags=["hide-input"]
evidence("bootstrap")

# %% [markdown]
# ## When to leave it out
#
# - **When the limit is the task.** "Score as much as you can in a minute": what comes after is worth 0. But then the
#   value of a state depends on the time left, which must be part of the observation.
# - **When the limit is hardly ever reached**, or is so long that few rows come within a few times $1/(1-\gamma)$ steps
#   of it.
# - **When $V$ is poor.** A bootstrap repeats what the net believes.
#
# CleanRL's `ppo.py` leaves it out; Stable-Baselines3 bootstraps at time limits.

# %% [markdown]
# ## At a glance
#
# | | |
# |---|---|
# | **problem** | the clock stops an episode, and the agent learns that its last state was a dead end |
# | **formula** | $\hat G_t = r_t + \dots + \gamma^{c-t-1} r_{c-1} + \gamma^{c-t}\, V(s_c)$ if the clock stopped it before step $c$ |
# | **in the loop** | `rollout = with_limits_cut(rollout)` <br> `dead = done & ~rollout.cut` |
# | **defaults** | none: truncated rows count as cuts |
# | **watch** | $V$ in a state that you know: it must not depend on the time |
# | **skip it when** | the deadline is part of the task; then show the agent the time left |
# | **also called** | partial-episode bootstrapping; handling *truncation* or *timeouts* |

# %% [markdown]
# ## Exercises
#
# **Exercise 1: write it.** Compute the targets of one lane. `next_value[t]` is $V$ of the state that row `t` led to,
# also at an end. The last row is cut unless its episode ended.


# %%
def my_targets(reward, terminated, truncated, next_value, gamma):  # four [T], γ -> [T]
    ...


check_targets(my_targets)

# %% [markdown]
# <details><summary>Hint</summary>
#
# Loop from the back, and keep what follows. `terminated` sets it to 0, and otherwise `truncated` sets it to
# `next_value[t]`.
#
# </details>
#
# **Exercise 2: spot the bug.** First, a tool: a world so small that you know all its values. In a hall of five cells
# you move one to the right, whatever you do, and at the end you stay and get 1 per step. After 8 steps the clock cuts.
# With $\gamma = 0.9$ the last cell is worth $1/(1 - 0.9) = 10$. So is the one before, since its step leads into the
# cell that pays: $1 + 0.9 \cdot 10 = 10$. The others are worth 9, 8.1, and 7.29.


# %%
def onward(state, action, chance):
    """One cell to the right; being in the last one pays."""
    state = (state + 1).clamp(max=4)
    last = state[..., 0] == 4
    return state, last.double(), torch.zeros_like(last)


on_a_line("Hall", 5, onward, time_limit=8)
hall = Config("Hall", seeds=5, steps=12_000, lanes=8, horizon=16, hidden=(8,))
hall = replace(hall, lr=0.02, gamma=0.9)


def learned_values():
    """V of each cell after training, the mean over the seeds."""
    value = train(hall, WITH).agent.value(torch.eye(5).expand(5, 5, 5))
    return value.mean(0).detach().numpy().round(1)


right = learned_values()

# %% tags=["hide-input"]
print("the library:", right)
assert abs(right - [7.29, 8.1, 9, 10, 10]).max() < 0.4

# %% [markdown]
# Now play segments with this function instead:

# %%
source(play_same_step)

# %%
with planted(play_segment=play_same_step):
    wrong = learned_values()

# %% tags=["hide-input"]
print("with the bug:", wrong)
assert wrong[-1] < 9.2

# %% [markdown]
# What is wrong? And why wouldn't you see it on CartPole?
#
# <details><summary>Hint</summary>
#
# Which state does the agent believe it reached when the clock stopped it?
#
# </details>
#
# **Exercise 3: think.** Bootstrap or not? (a) An exam of 60 minutes. (b) A robot in a simulator that is reset every
# 1,000 steps. (c) A card game in which the player may say "stop," which its author reports as `truncated`.
#
# <details><summary>Answer</summary>
#
# (a) No. The limit is part of the task, and the time left belongs in the observation. (b) Yes. The robot should keep
# walking, and the reset is for your convenience. (c) No. The game is over for good, by the player's own choice. That is
# a termination, whatever its author calls it.
#
# </details>
#
# Solutions: [`solutions/14_bootstrap.py`](solutions/14_bootstrap.py). You now have PPO: the clip, several epochs, GAE, and
# segments of equal length are the algorithm of Schulman et al. 2017, and time limits are no longer failures. Next: [value
# clipping](15_value_clip.ipynb), a trick that ought to work.

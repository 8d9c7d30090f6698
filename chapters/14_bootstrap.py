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
# The observation has no clock, so the value net learns some average. Then actions at step 10 seem better than expected
# and those at step 490 much worse.
#
# ## Use V where the clock stopped
#
# If the clock is only your way of collecting data, what counts is the return without it. Then this is a cut, as with
# [segments](13_segments.ipynb): if the clock stops the episode after row $c - 1$, put $V(s_c)$ in the place of the
# unseen $G_c$. Pardo et al. (2018, arXiv:1712.00378) call this *partial-episode bootstrapping*.
#
# Death is different: there, $G_c$ is 0. So Gymnasium says which it was: **terminated** (the world itself ended) or
# **truncated** (somebody stopped it). If both happen in one step, it's a death.
#
# And $s_c$ must be **the state that was cut off**, not the start of the next episode; [storing
# rows](a2_storing_rows.ipynb) shows how. In the loop it takes one line:

# %%
diff(named("segments"), named("bootstrap"))

# %% [markdown]
# Four rewards of 1, with $\gamma = ½$: row 1 is truncated at a state worth 6, and row 3 is a fall, where $V$ says 8,
# which must not matter.

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
assert all(run.late().mean() > 95 for run in runs.values())

# %% [markdown]
# Both value nets of each seed judge the *same* 100 states, up to the limit.
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

assert level["limit = cut"] > level["limit = death"] + 20

# %% [markdown]
# Where the limit is a death, the nets settle on a compromise, or find a hint of the time in the state and bend down
# with it. Where it is a cut, the value hardly depends on the step. It is still on its way to 100, slowly, because every
# update takes the unseen rest from $V$ itself. Both score alike.
#
# ## When the limit decides what is best
#
# Take nine cells in a row. At the left end, where you stand, every step pays 0.1, at the right end 1. Every four steps
# an "episode" is cut, and the next one goes on from the same cell. Walking to the right is worth nine times as much as
# staying. But a $V$ that takes each cut for a death learns an average over one to four steps left:


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
# discount: at a limit of $L$, any step may be the last with probability $1/L$, so the future counts $\gamma(1 - 1/L)$
# per step. The usual λ = 0.95 is close to the wall.
#
# Here are the nine cells as a world; with `carried=1`, a cut keeps the cell. Four steps earn 4 at the right end and 0.4
# at the left.


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
curves({"limit = death": death, "limit = cut": cut}, **{"limit = cut": style.COLORS["bootstrap"]})
plt.show()
assert cut.late().mean() > 3.9 > 3.6 > death.late().mean()

# %% [markdown]
# With the bootstrap, agents earn nearly all of the 4 points; without it, less than 3.6.
#
# ## In longer runs

# %% tags=["hide-input"]
found = evidence("bootstrap")
found.strip()
plt.show()

assert not found.table.verdict.isin(["hurts"]).any()
detected = found.table[found.table.verdict == "helps"]
assert set(detected.env) == {"CartPole-v1", "Pendulum-v1", "Taxi-v4"} and detected.confirmed.eq(1).all()
assert len(detected) == 7
assert found.worlds.verdict.tolist() == ["helps", "no detectable effect"] and found.worlds.growth_low[0] > 0
commute = found.worlds.set_index("world").loc["tricks/Commute-v0"]
assert (round(commute["without"], 1), round(commute["with"], 1)) == (6.2, 4.9) and commute.low < 0 < commute.high

# %% [markdown]
# The bootstrap helps where episodes end at the limit: on CartPole, Pendulum, and Taxi, as other seeds confirmed, and in
# `Shuttle`, a row of 21 cells with a limit of 4 steps. In `Commute`, such a row with a limit of 10 steps, the score
# falls from 6.2 to 4.9, but these seeds can't tell. No harm is detected.

# %% tags=["hide-input"]
evidence("bootstrap")

# %% [markdown]
# Leave it out
#
# - **when the limit is the task.** What comes after is worth 0, and the time left belongs in the observation.
# - **when the limit is hardly ever reached.**
# - **when $V$ is poor.**

# %% [markdown]
# ## At a glance
#
# | | |
# |---|---|
# | **problem** | the clock stops an episode, and its last state looks like a dead end |
# | **formula** | $\hat G_t = r_t + \dots + \gamma^{c-t-1} r_{c-1} + \gamma^{c-t}\, V(s_c)$ if the clock stopped it before step $c$ |
# | **in the loop** | `rollout = time_limits_as_cuts(rollout)` <br> `dead = done & ~rollout.cut` |
# | **defaults** | none: truncated rows count as cuts |
# | **watch** | $V$ in a state that you know: it must not depend on the time |
# | **skip it when** | the deadline is part of the task |
# | **evidence** | Helps as the next rung in CartPole, Pendulum, Taxi; on top of cleanrl without value_clip (with return_norm) in CartPole, Pendulum; in the full set in Pendulum, Taxi. Practically nothing in the full set in Acrobot; on top of cleanrl without value_clip (with return_norm) in Acrobot. In 4 of 8 environments, these runs can't tell. It helps in 1 of 2 trials in worlds made for it. |
# | **also called** | partial-episode bootstrapping; handling *timeouts* |

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
# Loop from the back, and keep what follows.
#
# </details>
#
# **Exercise 2: spot the bug.** In a hall of five cells you move one to the right, whatever you do, and at the end you
# get 1 per step. After 8 steps the clock cuts. With $\gamma = 0.9$ the last cell is worth 10, and so is the one before
# it, since its step leads into the cell that pays. The others are worth 9, 8.1, and 7.29.


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
# Now play segments with the function below. In a rollout, `obs[:, t + 1]` always follows row `t`, even at an end; the
# next start is then `obs[:, t + 2]`.

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
# (a) No. The limit is part of the task. (b) Yes. The robot should keep walking. (c) No. The game is over for good, by
# the player's own choice, whatever its author calls it.
#
# </details>
#
# Solutions: [`solutions/14_bootstrap.py`](solutions/14_bootstrap.py). You now have PPO as in Schulman et al. 2017: the
# clip, several epochs, GAE, and segments. Next: [value clipping](15_value_clip.ipynb), a trick that ought to work.

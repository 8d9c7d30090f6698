# %% [markdown]
# # Segments: learning in mid-episode
#
# *An episode can last for thousands of steps. Why wait for its end before learning from it?*
#
# So far, a batch was made of whole episodes. It had to be: the return $G_t$ sums all rewards up to the end, so the end
# must have been seen. But an agent that survives for an hour then learns once an hour. This chapter cuts the experience
# into pieces of equal length, wherever the episodes happen to be, and repairs what the cut breaks.

# %%
from dataclasses import replace

import matplotlib.pyplot as plt
import torch
from matplotlib.colors import ListedColormap

from ablations import TRIALS, style
from book import at_best_rate, begin, evidence, planted
from exercises.segments import check_targets, play_rows
from tricks import Config, diff, source, train
from tricks.bootstrap import beyond
from tricks.core.returns import reward_to_go
from tricks.core.rollout import Player, Rollout, play_episodes
from tricks.envs.make import make_env
from tricks.gae import gae
from tricks.ladder import named, switched
from tricks.segments import play_segment

begin()

# %% [markdown]
# ## The better the agent, the rarer its lessons
#
# Here is an agent with eight lanes that learns CartPole, once from whole episodes, once from segments of 128 steps. In
# both cases a batch is asked for 8 × 128 = 1,024 steps. With whole episodes, every lane must then finish what it has
# begun.

# %%
WITHOUT = switched(["baseline", "reuse", "clip", "gae", "advantage_norm"])
WITH = switched([*WITHOUT.on, "segments"])
config = at_best_rate(Config("CartPole-v1", seeds=3, steps=25_000), WITH)
whole, cut = train(config, WITHOUT), train(config, WITH)


def batch_sizes(run):
    """Steps that each update learned from, with the step at which it came; the first seed's."""
    curve = run.curve[run.curve.seed == 0]
    return curve.step, curve.step.diff().fillna(curve.step)


figure, axis = plt.subplots(figsize=(6.5, 2.6))
for run, name, color in ((whole, "whole episodes", style.SOFT), (cut, "segments", style.COLORS["segments"])):
    step, size = batch_sizes(run)
    axis.plot(step / 1000, size, "o-", ms=4, color=color)
    axis.text(28, size.iloc[-3:].mean(), f"{name}\n{len(size)} updates", color=color, va="center", weight="bold")
axis.set(xlabel="environment steps (thousands)", ylabel="steps in the batch", ylim=(0, None), xlim=(0, 35))
plt.show()
assert batch_sizes(whole)[1].max() > 1.5 * batch_sizes(cut)[1].max()

# %% [markdown]
# The batches of whole episodes grow while the agent gets better, and so the same number of steps buys fewer and fewer
# updates. (Segments can come out a little below 1,024. You will see why in the picture below.)
#
# CartPole is harmless, since an episode ends after 500 steps at the latest. Now take a world in which every episode has
# 2,000 steps. With eight lanes, a batch is 16,000 steps.

# %%
for env, length in (("CartPole-v1, if nobody ever falls", 500), ("Marathon", 2000)):
    per_batch = 8 * max(128, length)
    print(f"{env}: {per_batch:,} steps a batch, {10_000 / per_batch:.1f} updates in 10,000 steps")
print(f"segments of 128, anywhere: 1,024 steps a batch, {10_000 / 1024:.1f} updates in 10,000 steps")

# %% [markdown]
# An update in 16,000 steps, although the very first step of the episode may have shown what to do.
#
# ## A picture of both ways to play
#
# Six lanes of CartPole, played by a policy that pushes left or right at random. A bar is an episode; neighboring episodes
# of a lane differ in color. Vertical lines are updates.


# %%
def six_lanes(play, batches):
    """Some batches of one agent with six lanes, one after the other, with a policy that acts at random."""
    player = Player(make_env(Config("CartPole-v1", seeds=1, lanes=6)), block=40)
    everyone = torch.ones(1, dtype=torch.bool)
    return [play(player, lambda obs, legal: torch.zeros(1, 6, 2), everyone) for _ in range(batches)]


def shades(rollout, before):
    """What each row of each lane is: an episode (0 or 1, in turns), a reset (2), waiting (3). [T, N]"""
    done = (rollout.terminated | rollout.truncated)[0].long()
    kind = (before + done.cumsum(0) - done) % 2
    kind[~rollout.valid[0]] = 2
    ahead = rollout.valid[0].long().flip(0).cumsum(0).flip(0)  # experience that the lane still makes in this batch
    kind[(ahead == 0) & ~done.roll(1, 0).bool()] = 3
    return kind, before + done.sum(0)


# %% tags=["thumbnail"]
def draw_lanes(axis, rollouts, title):
    before, start = torch.zeros(6, dtype=torch.long), 0
    for rollout in rollouts:
        kind, before = shades(rollout, before)
        edges = torch.arange(start, start + len(kind) + 1)
        colors = ListedColormap([style.COLORS["segments"], "#c4a98f", "white", "#dddddd"])
        axis.pcolormesh(edges, torch.arange(7), kind.T, cmap=colors, vmin=0, vmax=3)
        start += len(kind)
        axis.axvline(start, color=style.INK, lw=1.5)
        axis.scatter([start] * 6, torch.arange(6) + 0.5, s=40 * rollout.cut[0, -1], color="#EE3377", zorder=3)
    axis.hlines(range(1, 6), 0, start, color="white", lw=3)
    axis.set(title=title, yticks=[], ylabel="lanes", xlim=(0, 130))


episodes = six_lanes(lambda player, policy, on: play_episodes(player, policy, 240, on), batches=2)
segments = six_lanes(lambda player, policy, on: play_segment(player, policy, 40, on), batches=3)
figure, axes = plt.subplots(2, 1, figsize=(6.5, 3.6), sharex=True)
draw_lanes(axes[0], episodes, "whole episodes: gray lanes wait for the others")
draw_lanes(axes[1], segments, "segments of 40: a dot is a cut")
axes[1].set_xlabel("rows")
plt.show()

for name, rollouts in (("whole episodes", episodes), ("segments", segments)):
    valid = torch.cat([rollout.valid for rollout in rollouts], 1)
    print(f"{name}: {valid.float().mean():.0%} of all cells are experience")

# %% [markdown]
# Above, a lane that has finished waits until the last one has, and nothing is learned before. Below, an update comes every
# 40 rows, and most lanes are then in mid-episode: the episode is **cut**, and goes on in the next segment.
#
# The thin white slots are **reset rows**. When an episode ends, Gymnasium's vector environments use up one more step to
# bring the lane back to a start: the action is ignored, the reward is 0. That row is no experience. The library marks
# it, and every row of a waiting lane, with `valid = False`, and such rows count nowhere: in no loss, no statistic, no
# step count. This is why the batches of segments above were a little smaller than 1,024.
#
# ## What the cut breaks
#
# Take a world that pays 1 at every step, for ever. With $\gamma = 0.99$, every state is worth
# $1 + 0.99 + 0.99^2 + \dots = 1/(1 - 0.99) = 100$. Play 128 steps of it, cut, and compute the returns as before, as if
# nothing came after the cut:

# %%
T, gamma = 128, 0.99
reward, no_end = torch.ones(1, T, 1), torch.zeros(1, T, 1, dtype=torch.bool)
seen = reward_to_go(reward, no_end, gamma).flatten()
print(f"first row {seen[0]:.1f}, middle {seen[64]:.1f}, last {seen[-1]:.1f}, mean {seen.mean():.1f}; the truth is 100")
assert seen[0] < 75 and seen[-1] == 1

# %% [markdown]
# The same state, and targets between 72 and 1, depending on nothing but how far the cut happens to be. To the agent, the
# last actions of each segment look like a disaster.
#
# ## The repair
#
# Write down the return of row $t$ as it would be if we could see on, and split it at the cut, after $T$ rows:
#
# $$G_t = \underbrace{r_t + \gamma r_{t+1} + \dots + \gamma^{T-t-1} r_{T-1}}_{\text{seen}}
#       + \gamma^{T-t} \underbrace{\big(r_T + \gamma r_{T+1} + \dots\big)}_{\text{unseen: } G_T}.$$
#
# The unseen part is itself a return, the one from state $s_T$. And there is a net that predicts the return from a state:
# $V(s_T)$ is an estimate of $\mathbb{E}[G_T \mid s_T]$. So put it there:
#
# $$\hat G_t = r_t + \gamma r_{t+1} + \dots + \gamma^{T-t-1} r_{T-1} + \gamma^{T-t}\, V(s_T).$$
#
# If $V$ is right, nothing is wrong on average, and $\hat G_t$ is even less noisy than $G_t$, since an average has taken
# the place of luck. If $V$ is wrong by $e$, row $t$ is wrong by $\gamma^{T-t} e$. You know this bargain from the chapter on
# `gae`: a TD error cuts after one step, a segment cuts after $T - t$ of them. It is called *bootstrapping*: the net pulls
# itself up by its own predictions.
#
# In the recursion $\hat G_t = r_t + \gamma\, \hat G_{t+1}$ only the start changes: what follows the last row is worth
# $V(s_T)$ instead of 0.
#
# **A cut is not an end.** If the last row of a lane happens to end an episode, nothing is unseen, and $V$ has no
# business there. (And what if the end was a mere time limit? That is the next chapter.)
#
# ## With `gae`
#
# The advantages need no new formula. In $\delta_{T-1} = r_{T-1} + \gamma V(s_T) - V(s_{T-1})$ the missing state is already
# asked for, and the observation after the last row is known. The recursion starts behind the cut with
# $A_T = 0$, which means: trust $V$ from here on. Then a forgotten $V(s_T)$ would be missing in row $t$ with the weight
# $\gamma\,(\gamma\lambda)^{T-1-t}$, which fades much faster than $\gamma^{T-t}$. Here are the targets in the world that
# always pays 1, with a value net that knows it.

# %%
value = torch.full((1, T, 1), 100.0)
forgotten = value.clone()
forgotten[:, -1] = 0  # as if nothing came after the cut
repaired = seen + beyond(no_end.index_fill(1, torch.tensor([T - 1]), True), value, no_end, gamma).flatten()
with_gae = (value + gae(reward, value, forgotten, no_end, no_end, gamma, lam=0.95)).flatten()

figure, axis = plt.subplots(figsize=(6.5, 2.8))
for line, color, said, place in (
    (repaired, style.COLORS["segments"], "γV(s_T) at the cut", 104),
    (with_gae, style.COLORS["gae"], "0 at the cut, but λ = 0.95", 86),
    (seen, style.SOFT, "0 at the cut", 44),
):
    axis.plot(line, color=color)
    axis.text(20, place, said, color=color, weight="bold")
axis.set(xlabel="row of the segment", ylabel="target for V", ylim=(0, 113), xlim=(0, 128))
plt.show()

missing = (100 - with_gae) / 100
print(f"with λ = 0.95 a forgotten cut takes more than a tenth from the last {(missing > 0.1).sum()} rows of {T}")
torch.testing.assert_close(repaired, torch.full((T,), 100.0))

# %% [markdown]
# With `gae` the damage hides in the last part of the segment. The score falls only a little, so nobody looks.
#
# ## In the library
#
# `play_segment` plays. The rollout knows where it was cut. `beyond` computes what is added to the plain returns, for all
# rows at once: the return is a sum, so $\gamma V(s_T)$ can be treated as one more reward, paid at the cut, and
# its reward-to-go is the missing part.

# %%
source(play_segment, Rollout.cut.fget, beyond)

# %% [markdown]
# Check it by hand. Rewards 1, 2, 1, 1 with $\gamma = ½$. The second row ends an episode; the fourth is cut, and
# $V(s_T) = 6$. From the back: $\hat G_3 = 1 + ½ \cdot 6 = 4$, $\hat G_2 = 1 + ½ \cdot 4 = 3$. The first episode knows
# nothing of the cut: $\hat G_1 = 2$ and $\hat G_0 = 1 + ½ \cdot 2 = 2$.

# %%
reward = torch.tensor([1.0, 2.0, 1.0, 1.0]).view(1, 4, 1)  # [S, T, N]
done = torch.tensor([False, True, False, False]).view(1, 4, 1)
cut_off = torch.tensor([False, False, False, True]).view(1, 4, 1)
next_value = torch.tensor([7.0, 7.0, 7.0, 6.0]).view(1, 4, 1)  # only the last one may matter
targets = reward_to_go(reward, done, 0.5) + beyond(cut_off, next_value, done, 0.5)
print(targets.flatten().numpy())
torch.testing.assert_close(targets.flatten(), torch.tensor([2.0, 2.0, 3.0, 4.0]))

# %% [markdown]
# ## What changes in the loop

# %%
diff(named("popart"), named("segments"))

# %% [markdown]
# One line: what is cut was handled all along, since whole episodes have no cuts.
#
# ## A small run
#
# The world `Marathon` shows a cue, −1 or 1, at every step and pays 1 for the action that matches it; 2,000 steps are an
# episode. A policy that guesses gets 1,000. Both arms have the rate that suits them best.

# %%
(trial,) = (trial for trial in TRIALS if trial.trick == "segments")
marathon = replace(trial.config, seeds=5, steps=33_000)
slow = train(at_best_rate(marathon, trial.without), trial.without)
fast = train(at_best_rate(marathon, trial.having), trial.having)

figure, axis = plt.subplots(figsize=(6.5, 2.6))
for name, run, color in (("whole episodes", slow, style.SOFT), ("segments", fast, style.COLORS["segments"])):
    ended = run.curve[run.curve.episodes > 0]
    axis.scatter(ended.step / 1000, ended["return"], color=color, alpha=0.6, lw=0)
    axis.text(17, ended["return"].iloc[0] - 20, name, color=color, weight="bold")
    first = ended.groupby("seed")["return"].first().mean()
    print(f"{name}: {len(run.curve) / 5:.0f} updates; return of the first episodes {first:.0f}")
    assert (first > 1600) == (run is fast)
axis.axhline(1000, color=style.FAINT, zorder=0)
axis.text(0.5, 1020, "guessing", color=style.SOFT)
axis.set(xlabel="environment steps (thousands)", ylabel="return of the eight\nepisodes of a seed", xlim=(0, 50))
plt.show()

# %% [markdown]
# A dot is the mean of one seed's eight episodes of a batch; those of `segments` lie nearly on top of each other. With segments the agent has learned most of it before its *first* episodes are over.
#
# ## What the stored runs say

# %%
evidence("segments")

# %%
evidence("segments").plot()
plt.show()

print(evidence("segments").summary())

# %% [markdown]
# In `Marathon` an episode takes a sixth of the whole budget with its eight lanes, and that is what the world was made for.
# In the usual environments an episode ends after some hundred steps at the latest, so there is less to gain, and how much depends on the other
# tricks: an agent that takes a single step per batch (`alone`) is in another position than one that takes sixteen.
#
# **What it does not say:** that segments win because of better gradients. They give more updates from the same steps. At
# equal numbers of updates, whole episodes have the targets with less bias.
#
# ## When it does not help
#
# - **When episodes are short.** Twenty steps of waiting cost nothing.
# - **When the value net is poor.** A cut leans on $V(s_T)$, and at first $V$ is a guess. The shorter the segment, the
#   more rows are close to a cut. Whole episodes never need $V$ to be right, only `gae` does.
# - **When the segment is short and the reward is far.** With $T = 5$, news of a reward travels back five steps per update
#   at most. (Mnih et al. 2016, arXiv:1602.01783, who made segments common, had many lanes to make up for it.)
# - **When the lanes march in step.** If all episodes have exactly 2,000 steps and all lanes start together, then each
#   batch of segments shows only one part of the world: first 128 beginnings, much later 128 endings. Whole
#   episodes show everything at once.
#
# ## Exercises
#
# **Exercise 1: write it.** The targets of one lane: rewards-to-go, with $V(s_T)$ where the segment is cut. Mind the lane
# whose last row ends an episode.


# %%
def my_targets(reward, done, last_value, gamma):  # reward, done [T], V(s_T), γ -> [T]
    ...


check_targets(my_targets)

# %% [markdown]
# **Exercise 2: spot the bug.** When Gymnasium 1.0 changed what a vector environment does after an end, code written for
# the older versions went on running, and did this. Each episode's return is still counted correctly.

# %%
source(play_rows)

# %%
with planted(play_segment=play_rows):
    faulty = train(replace(config, steps=12_000), WITH)

columns = ["step", "episodes", "return", "length"]
for name, run in (("as it should be", cut), ("with the bug", faulty)):
    print(f"\n{name}\n{run.curve.loc[5:9, columns].round(1).to_string(index=False)}")

# %% [markdown]
# The returns rise as they should. But two columns of the table give the bug away, in every row: which? What does the agent
# learn that it should not: what are state, action, reward and next state there?
#
# **Exercise 3: think.** You have 1,024 steps for a batch. Instead of 8 lanes with segments of 128, take 128 lanes with
# segments of 8. What happens to the targets? (Use the weight $\gamma\,(\gamma\lambda)^{T-1-t}$ of $V(s_T)$ in the first
# row.) What do you gain?
#
# Solutions: [`solutions/13_segments.py`](solutions/13_segments.py). Next: [bootstrapping at a time
# limit](14_bootstrap.ipynb), a cut that looks like an end.

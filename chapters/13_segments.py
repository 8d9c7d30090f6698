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
# # Segments: learning in mid-episode
#
# *An episode can last for thousands of steps. Why wait for its end before learning from it?*
#
# So far, each batch has been made of whole episodes, because the return $G_t$ sums all rewards up to the end. Here we
# cut experience into pieces of equal length and repair what the cut breaks.

# %% tags=["hide-input"]
from dataclasses import replace

import matplotlib.pyplot as plt
import torch
from matplotlib.colors import ListedColormap

from ablations import style
from chapters.book import at_best_rate, begin, caption, evidence, planted
from chapters.exercises.segments import check_targets, play_rows
from tricks import Config, diff, source, train
from tricks.bootstrap import value_at_cut
from tricks.core.reductions import reward_to_go
from tricks.core.rollout import Player, play_episodes
from tricks.envs.make import make_env
from tricks.gae import gae
from tricks.ladder import named, switched
from tricks.segments import play_segment

begin()

# %% [markdown]
# ## A marathon
#
# In the world `Marathon`, episodes have 2,000 steps. Every step shows a cue, and the action that matches it pays 1.
# Five agents play in eight lanes and learn from whole episodes.
#
# **Predict.** Each may play 33,000 steps. In how many updates?

# %% tags=["hide-input"]
WITHOUT = switched(["baseline", "reuse", "clip", "gae", "advantage_norm"])
WITH = switched([*WITHOUT.on, "segments"])
marathon = Config("tricks/Marathon-v0", seeds=5, steps=33_000, horizon=64)
marathon = replace(marathon, hidden=(32, 32))


def batches_of(tricks, play):
    """What share of each batch's steps paid, and how many steps had been played by then: [batches, seeds] each."""
    paid, steps = [], []

    def watched(*given):
        rollout = play(*given)
        steps.append(rollout.valid.sum((1, 2)))
        paid.append((rollout.reward * rollout.valid).sum((1, 2)) / steps[-1])
        return rollout

    with planted(**{play.__name__: watched}):
        train(at_best_rate(marathon, tricks), tricks)
    return torch.stack(paid), torch.stack(steps).cumsum(0)


def draw_batches(axis, paid, steps, color):
    for one, at in zip(paid.T, steps.T, strict=True):
        axis.plot(at / 1000, one, "o-", ms=4, color=color, lw=1, alpha=0.6)
    axis.axhline(0.5, color=style.FAINT, zorder=0)
    axis.text(50, 0.485, "guessing", color=style.SOFT, ha="right", va="top")
    axis.set(xlabel="environment steps (thousands)", ylabel="share of a batch's\nsteps that paid", ylim=(0.4, 1.03))


slow, slow_steps = batches_of(WITHOUT, play_episodes)

# %% tags=["predict", "hide-input"]
figure, axis = plt.subplots(figsize=(6.5, 2.6))
draw_batches(axis, slow, slow_steps, style.SOFT)
axis.axvline(33, color=style.FAINT)
axis.text(32.5, 0.98, "budget", color=style.SOFT, ha="right", va="top")
axis.set(xlim=(0, 50))
plt.show()
assert len(slow) == 3 and slow[0].mean() < 0.55

# %% [markdown]
# In three, and the third goes over budget, because a batch isn't finished until its episodes are. Nothing is learned in
# the first 16,000 steps, because no episode is over. The longer the episodes, the fewer updates the same steps buy. On
# CartPole, where skill makes episodes longer, lessons get rarer as the agent improves; on Acrobot, it is the other way
# around.
#
# ## Six lanes, two ways to play
#
# Here a random policy plays CartPole in six lanes. A bar is an episode, in alternating colors; black lines are updates.
#
# **Predict.** With whole episodes, a batch is over when the slowest lane is. What share of the grid is experience? And
# with segments?


# %%
def six_lanes(play, rows, batches):
    """Some batches of one agent with six lanes, played at random."""
    player = Player(make_env(Config("CartPole-v1", seeds=1, lanes=6)), block=40)
    everyone = torch.ones(1, dtype=torch.bool)

    def coin(obs, legal):
        return torch.zeros(1, 6, 2)

    return [play(player, coin, rows, everyone) for _ in range(batches)]


episodes = six_lanes(play_episodes, rows=240, batches=2)
segments = six_lanes(play_segment, rows=40, batches=3)


# %% tags=["hide-input"]
def shades(rollout, before):
    """What each row of each lane is: an episode (0 or 1, in turns), a reset (2), waiting (3). [T, N]"""
    done = (rollout.terminated | rollout.truncated)[0].long()
    kind = (before + done.cumsum(0) - done) % 2
    kind[~rollout.valid[0]] = 2
    ahead = rollout.valid[0].long().flip(0).cumsum(0).flip(0)  # experience that the lane still makes in this batch
    kind[(ahead == 0) & ~done.roll(1, 0).bool()] = 3
    return kind, before + done.sum(0)


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


# %% tags=["thumbnail", "predict", "hide-input"]
figure, axes = plt.subplots(2, 1, figsize=(6.5, 3.6), sharex=True)
draw_lanes(axes[0], episodes, "whole episodes: gray lanes wait for the others")
draw_lanes(axes[1], segments, "segments of 40: a dot is a cut")
axes[1].set_xlabel("rows")
plt.show()

shares = [torch.cat([rollout.valid for rollout in each], 1).float().mean() for each in (episodes, segments)]
caption(f"{shares[0]:.0%} of the cells are experience with whole episodes, and {shares[1]:.0%} with segments.")

# %% [markdown]
# With segments, most lanes are in mid-episode at an update: the episode is **cut** and goes on in the next segment.
#
# The thin white slots are **reset rows**: after an end, Gymnasium's vector environments use one more step to bring the
# lane back to a start. In it, the action is ignored and the reward is 0. Like the rows of a waiting lane, such *filler
# rows* have `valid = False` and count nowhere.
#
# ## What the cut breaks
#
# Take a world that pays 1 at every step, forever. With $\gamma = 0.99$, every state is worth $1/(1 - 0.99) = 100$. Play
# 128 steps, cut, and compute the returns as if nothing came after:

# %% tags=["open"]
T, gamma = 128, 0.99
reward, no_end = torch.ones(1, T, 1), torch.zeros(1, T, 1, dtype=torch.bool)
seen = reward_to_go(reward, no_end, gamma).flatten()
assert 72 < seen[0] < 73 and seen[-1] == 1

# %% [markdown]
# It's always the same state, yet its targets run from 72 down to 1.
#
# ## Let V speak for the rest
#
# Split the whole return of row $t$ at the cut, after $T$ rows:
#
# $$G_t = \underbrace{r_t + \gamma r_{t+1} + \dots + \gamma^{T-t-1} r_{T-1}}_{\text{seen}}
#       + \gamma^{T-t} \underbrace{\big(r_T + \gamma r_{T+1} + \dots\big)}_{\text{unseen: } G_T}.$$
#
# $V(s_T)$ is an estimate of $\mathbb{E}[G_T \mid s_T]$. Put it there, and call the result $\hat G_t$. This is the
# *bootstrapping* of the chapter on [GAE](04_gae.ipynb). In the recursion $\hat G_t = r_t + \gamma\, \hat G_{t+1}$ only
# the start changes: what follows the last row is worth $V(s_T)$ instead of 0.
#
# **A cut is not an end.** If the last row ends an episode, nothing is unseen, and $V(s_T)$ must not be added.
#
# ## GAE hides the damage
#
# In GAE, $\delta_{T-1}$ already asks for $V(s_T)$. If you forget it, it is missing from row $t$ with weight
# $\gamma\,(\gamma\lambda)^{T-1-t}$, which fades much faster than $\gamma^{T-t}$. Here are the targets in the same
# world, for a $V$ that says 100:

# %%
value = torch.full((1, T, 1), 100.0)
forgotten = value.clone()
forgotten[:, -1] = 0  # as if nothing came after the cut
cut_at_end = no_end.clone()
cut_at_end[:, -1] = True
repaired = seen + value_at_cut(cut_at_end, value, no_end, gamma).flatten()
advantage = gae(reward, value, forgotten, no_end, no_end, gamma, lam=0.95)
with_gae = (value + advantage).flatten()
torch.testing.assert_close(repaired, torch.full((T,), 100.0))

# %% tags=["hide-input"]
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
assert 30 < (missing > 0.1).sum() < 45

# %% [markdown]
# Only the end of each segment suffers, which is easy to miss.
#
# ## The code, and four rows by hand
#
# $\gamma V(s_T)$ is one more reward, paid at the cut. `value_at_cut` computes its reward-to-go.

# %%
source(play_segment, value_at_cut)

# %% [markdown]
# Rewards 1, 2, 1, 1 with $\gamma = ½$: the second row ends an episode; the fourth is cut, and $V(s_T) = 6$. The cut
# doesn't touch the first episode.

# %%
reward = torch.tensor([1.0, 2.0, 1.0, 1.0]).view(1, 4, 1)  # [S, T, N]
done = torch.tensor([False, True, False, False]).view(1, 4, 1)
cut_off = torch.tensor([False, False, False, True]).view(1, 4, 1)
next_value = torch.tensor([7.0, 7.0, 7.0, 6.0]).view(1, 4, 1)  # only the last matters
targets = reward_to_go(reward, done, 0.5) + value_at_cut(cut_off, next_value, done, 0.5)
torch.testing.assert_close(targets.flatten(), torch.tensor([2.0, 2.0, 3.0, 4.0]))

# %% [markdown]
# In the loop one line changes.

# %%
diff(named("popart"), named("segments"))

# %% [markdown]
# ## The marathon again
#
# **Predict.** And how many updates with segments of 64 steps?

# %% tags=["hide-input"]
fast, fast_steps = batches_of(WITH, play_segment)

# %% tags=["predict", "hide-input"]
figure, axis = plt.subplots(figsize=(6.5, 2.6))
for batches, color in (((slow, slow_steps), style.SOFT), ((fast, fast_steps), style.COLORS["segments"])):
    draw_batches(axis, *batches, color)
axis.text(8, 0.93, "segments", color=style.COLORS["segments"], weight="bold", va="center")
axis.text(33, 0.72, "whole episodes", color=style.SOFT, weight="bold")
axis.set(xlim=(0, 50))
plt.show()
before = fast[(fast_steps < 16_000).all(1)]
caption(f"Segments make {len(fast)} updates of the same budget.")
assert len(fast) > 60 and before[-1].mean() > 0.9

# %% [markdown]
# With segments, the agents know the way before their *first* episodes are over.
#
# ## In the usual environments

# %% tags=["hide-input"]
found = evidence("segments")
found.strip()
plt.show()

assert found.worlds.growth_low.item() > 0 and found.worlds.confirmed.item() == 1
hurts = found.table[found.table.verdict == "hurts"]
assert list(zip(hurts.env, hurts.kind, strict=True)) == [
    ("CartPole-v1", "alone, on what it needs"),
    ("Taxi-v4", "on the rung before"),
]
assert (found.table.verdict == "unknown").mean() > 0.4 and hurts.confirmed.eq(1).all()
helps = found.table[found.table.verdict == "helps"]
assert set(helps.env) == {"Acrobot-v1", "Pendulum-v1", "HalfCheetah-v5"}
assert helps.kind[helps.env == "Pendulum-v1"].item() == "in the full set"

# %% [markdown]
# Segments help in `Marathon`, the more so the longer its episodes, on Acrobot, in Pendulum's full set, and, seen once,
# on HalfCheetah, a [robot](a8_robots.ipynb). They hurt on CartPole with nothing but a baseline, and on Taxi without the
# [bootstrap](14_bootstrap.ipynb), where we don't know why.

# %% tags=["hide-input"]
evidence("segments")

# %% [markdown]
# Why on CartPole? Our reading: a cut leans on $V(s_T)$, and without `reuse` the value net gets one gradient step per
# batch. What does it say of an upright pole?

# %% tags=["open"]
for more in ([], ["reuse", "clip"]):
    tricks = switched(["baseline", *more, "segments"])
    run = train(Config("CartPole-v1", seeds=5, steps=25_000, lr=0.003), tricks)
    upright = run.agent.value(torch.zeros(5, 1, 4)).mean().item()
    true = 100 * (1 - 0.99 ** run.late().mean())
    print(f"{' '.join(tricks.on)}: V is {upright:.0f}, about {true:.0f} would be right")
    assert (upright < 0.5 * true) == ("reuse" not in tricks.on)

# %% [markdown]
# Without `reuse` it has hardly left zero, so each cut looks almost like a death.
#
# Keep whole episodes
#
# - **when they are short**, or the value net is poor.
# - **when the reward is far away.** With $T = 5$, news of it travels back at most five steps per update.
# - **when the lanes march in step.** Then early batches show only beginnings, and later ones only endings.

# %% [markdown]
# ## At a glance
#
# | | |
# |---|---|
# | **problem** | with whole episodes, the longer they are, the less often the agent learns |
# | **formula** | $\hat G_t = r_t + \gamma r_{t+1} + \dots + \gamma^{T-t-1} r_{T-1} + \gamma^{T-t}\, V(s_T)$ |
# | **in the loop** | `rollout = play_segment(t.player, policy, config.horizon, t.active)` <br> `dead = done & ~rollout.cut` |
# | **defaults** | $T = 128$ rows (`horizon`) in each of $N = 8$ lanes |
# | **watch** | `explained_variance`: while it is near 0, a cut is nearly a death |
# | **skip it when** | episodes are short, or $V$ is poor |
# | **evidence** | Helps in the full set in Acrobot, Pendulum; as the next rung in Acrobot; on robots (at one rate; once) in HalfCheetah. Hurts alone (on baseline) in CartPole; as the next rung in Taxi. In 3 of 8 environments, these runs can't tell. It helps in the one world made for it, as predicted. |
# | **also called** | fixed-length or *n-step* rollouts; $T$ is `n_steps` or `num_steps` elsewhere |

# %% [markdown]
# ## Exercises
#
# **Exercise 1: write it.** Compute the targets of one lane. The last row may end an episode.


# %%
def my_targets(reward, done, last_value, gamma):  # reward, done [T], V(s_T), γ -> [T]
    ...


check_targets(my_targets)

# %% [markdown]
# <details><summary>Hint</summary>
#
# Loop from the back. What follows the last row starts as `last_value`, and every `done` sets it to 0.
#
# </details>
#
# **Exercise 2: spot the bug.** After Gymnasium 1.0 changed what happens after an end, older code did this:

# %%
source(play_rows)

# %%
config = at_best_rate(Config("CartPole-v1", seeds=3, steps=12_000), WITH)
right = train(config, WITH)
with planted(play_segment=play_rows):
    faulty = train(config, WITH)

columns = ["step", "episodes", "return", "length"]
for name, run in (("as it should be", right), ("with the bug", faulty)):
    print(f"\n{name}\n{run.curve.loc[5:9, columns].round(1).to_string(index=False)}")

# %% [markdown]
# The returns rise as they should, but two columns give the bug away. Which? And what does the agent learn from the
# extra rows?
#
# <details><summary>Hint</summary>
#
# On CartPole every step pays 1. What happens in a reset row?
#
# </details>
#
# **Exercise 3: think.** Instead of 8 lanes with segments of 128, take 128 lanes with segments of 8. What happens to
# GAE's targets, with γ = 0.99 and λ = 0.95? What do you gain?
#
# <details><summary>Answer</summary>
#
# In the first row $V(s_T)$ weighs $\gamma(\gamma\lambda)^7 = 0.64$, against 0.0004 with $T = 128$. So the targets lean
# more on $V$. In return, 128 lanes are in 128 different places.
#
# </details>
#
# Solutions: [`solutions/13_segments.py`](solutions/13_segments.py). Next: [time limits](14_bootstrap.ipynb), cuts that
# look like ends.

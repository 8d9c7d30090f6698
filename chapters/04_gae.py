# %% [markdown]
# # GAE: how far to trust the value net
#
# *A return is honest but noisy; a learned value is calm but wrong. How much of each?*

# %% [markdown] tags=["two-hours"]
# To judge an action, you can add up everything that came after it, noise included. Or you can wait one step and ask the
# value net $V$, which may be wrong, what the new state is worth. The dial between the two is λ.

# %% tags=["two-hours", "hide-input"]
from dataclasses import replace

import matplotlib.pyplot as plt
import pandas as pd
import torch

from ablations import flags, rows_of, style
from chapters.book import at_best_rate, begin, caption, curves, evidence, lost_at, planted
from chapters.exercises.gae import check_advantages, one_mask, surprising_advantages
from tricks import Config, diff, source, train
from tricks.core.reductions import discounted_sum
from tricks.gae import gae
from tricks.ladder import LADDER, named, switched

begin()

# %% [markdown] tags=["two-hours"]
# ## A ride on a conveyor belt
#
# A belt has 30 cells. Every step moves you one cell along and pays noise with standard deviation 1. The last step also
# pays 10. With $\gamma = 1$, **every cell is worth exactly 10**. Your value net is off by about 2 up or down,
# differently in each cell.
#
# What is the first cell worth? Add up the rewards of the first $k$ steps, and let $V$ guess the rest. With $k = 30$
# nothing is left to guess: that's the plain return, called *Monte Carlo*. Each dot is a ride.

# %% tags=["two-hours", "hide-input"]
CELLS, WORTH, RIDES = 30, 10.0, 2000
torch.manual_seed(54)
error = torch.randn(CELLS)  # of V, one number per cell
reward = torch.randn(RIDES, CELLS)  # one row per ride
reward[:, -1] += WORTH


def guess(off):
    """V of each cell, off by about this much, and 0 for the end of the belt."""
    return torch.cat([WORTH + off * error, torch.zeros(1)])


believed = guess(off=2.0)

# %% tags=["two-hours", "hide-input"]
figure, axis = plt.subplots(figsize=(6.5, 2.6))
off = {}
for i, k in enumerate((1, 3, 10, 30)):
    estimate = reward[:, :k].sum(1) + believed[k]
    axis.scatter(estimate[:300], i + 0.5 * (torch.rand(300) - 0.5), s=6, color=style.COLORS["gae"], alpha=0.4, lw=0)
    off[k] = abs(estimate.mean().item() - WORTH), estimate.std().item()
axis.axvline(WORTH, color=style.INK, lw=1.2)
axis.text(WORTH, 3.5, " truth", color=style.INK)
axis.set_yticks(range(4), ["k = 1, mostly V", "k = 3", "k = 10", "k = 30, Monte Carlo"])
axis.set(xlabel="estimate of what the first cell is worth", ylim=(-0.5, 3.9))
plt.show()
caption(
    "Over 2,000 rides: "
    + "; ".join(f"for k = {k}, off by {off[k][0]:.1f} on average, standard deviation {off[k][1]:.1f}" for k in (1, 30))
    + "."
)

# %% [markdown] tags=["two-hours"]
# The bottom cloud is narrow and in the wrong place: that is **bias**. The top one is in the right place and wide: that
# is **variance**. More data shrinks variance, but never bias. The best $k$ depends on how wrong $V$ is.
#
# ## Average over all $k$
#
# Subtract $V(s_t)$, and each of these estimates is an advantage:
#
# $$A_t^{(k)} = r_t + \gamma r_{t+1} + \dots + \gamma^{k-1} r_{t+k-1} + \gamma^k V(s_{t+k}) - V(s_t).$$
#
# Using $V$ for the rewards still to come is called **bootstrapping**. The shortest estimate is the **TD error**, for
# temporal difference, a surprise: what you got, plus what you now expect, minus what you expected before.
#
# $$\delta_t = r_t + \gamma V(s_{t+1}) - V(s_t) = A_t^{(1)}.$$
#
# Add the next one, discounted, and $\gamma V(s_{t+1})$ cancels: each new surprise takes back the guess of the one
# before. The sum *telescopes*:
#
# $$A_t^{(k)} = \delta_t + \gamma\,\delta_{t+1} + \dots + \gamma^{k-1}\delta_{t+k-1}.$$
#
# Now average over all $k$, with weights that sum to 1 and shrink by a factor $\lambda$ each time (Schulman et al. 2015,
# arXiv:1506.02438). You still choose $\lambda$, but it's a smooth dial, and the average takes one line:
#
# $$A_t = (1 - \lambda)\left(A_t^{(1)} + \lambda A_t^{(2)} + \lambda^2 A_t^{(3)} + \dots\right).$$
#
# $\delta_t$ is part of every estimate, so its weight is $(1-\lambda)(1 + \lambda + \dots) = 1$. The next surprise is
# missing from one and gets $\lambda$, the one after from two and gets $\lambda^2$. Everything after $\delta_t$ is
# $\gamma\lambda$ times the same sum, one step later:
#
# $$A_t = \delta_t + \gamma\lambda\,\delta_{t+1} + (\gamma\lambda)^2 \delta_{t+2} + \dots
#   \quad\Longrightarrow\quad \boxed{A_t = \delta_t + \gamma\lambda\, A_{t+1}}$$
#
# This is **generalized advantage estimation**. With $\lambda = 0$ it is the TD error: trust $V$. In the limit $\lambda
# = 1$ it is the Monte Carlo return minus $V(s_t)$: trust only what you saw. In the library, each formula has its own
# *mask*, a column of yes and no that says where an episode ends:

# %% tags=["two-hours"]
source(gae, discounted_sum)

# %% [markdown] tags=["two-hours"]
# ## Two kinds of ending
#
# An episode **terminates** when nothing more is to come: the pole fell. It is **truncated** when you stop looking:
# after 500 steps the pole is still up. Both formulas look ahead, but $\delta_t$ asks whether the next *state* is worth
# anything, and the recursion whether the next *row* is of this episode:
#
# | after step $t$ | $\gamma V(s_{t+1})$ in $\delta_t$? | $\gamma\lambda A_{t+1}$? |
# |---|---|---|
# | it goes on | yes | yes |
# | it **terminated** | **no**, it's over | **no**, a new episode follows |
# | it was **truncated**, from [chapter 14](14_bootstrap.ipynb) | **yes**, it could have gone on | **no** |
# | the batch ends, from [chapter 13](13_segments.ipynb) | **yes**, it does go on | **no** |
#
# **That is why there are two masks**: `terminated` for $\delta$, called `dead` above because for now a time limit
# counts as a death, and `done`, terminated *or* truncated, for the recursion.
#
# ## Five rows by hand
#
# Let $\gamma = \lambda = ½$. Steps pay 2, 2, 2, 2, and 18, and $V$ says 4 everywhere. The first episode dies at step 1:
# $\delta_1 = 2 - 4 = -2$. The second runs into its time limit at step 3: $\delta_3 = 2 + ½ \cdot 4 - 4 = 0$. The third
# has only step 4, which pays the 18. So dying was worse than expected by 2, and step 0 gets $\gamma\lambda = ¼$ of the
# blame. But with one mask in both places:

# %% tags=["two-hours"]
pays, four = torch.tensor([2.0, 2.0, 2.0, 2.0, 18.0]), torch.full((5,), 4.0)
terminated = torch.tensor([False, True, False, False, False])
done = torch.tensor([False, True, False, True, False])
lane = [x.view(1, 5, 1) for x in (pays, four, four, terminated, done)]  # [S, T, N]

by_hand = torch.tensor([-0.5, -2.0, 0.0, 0.0, 16.0])
right = gae(*lane, gamma=0.5, lam=0.5).flatten()
torch.testing.assert_close(right, by_hand)
versions = {
    "two masks": right,
    "`done` in both": one_mask(pays, four, four, done, 0.5, decay=0.25),
    "`terminated` in both": one_mask(pays, four, four, terminated, 0.5, decay=0.25),
}
for name, advantage in versions.items():
    said = (f"A{t} = {a:4.1f} " for t, a in enumerate(advantage.tolist()))
    print(f"{name:21}", *said)

# %% [markdown] tags=["two-hours"]
# With `done` in both, the time limit looks like dying. With `terminated` in both, the 18 leaks into the second episode
# as undeserved praise.
#
# Back to the belt, to check both ends of the dial: λ = 1 must give the return, and λ = 0 one reward plus the next
# cell's $V$.

# %% tags=["two-hours"]
last = torch.zeros_like(reward, dtype=torch.bool)
last[:, -1] = True  # every ride terminates there, so both masks are the same


def estimates(believed, lam):
    """What GAE says that each cell is worth, V + A, in every ride: [rides, cells]."""
    value, next_value = believed[:-1].expand_as(reward), believed[1:].expand_as(reward)
    rows = [x.unsqueeze(2) for x in (reward, value, next_value, last, last)]
    return value + gae(*rows, gamma=1.0, lam=lam).squeeze(2)


monte_carlo = reward.flip(1).cumsum(1).flip(1)
torch.testing.assert_close(estimates(believed, 1.0), monte_carlo, atol=1e-3, rtol=0)
torch.testing.assert_close(estimates(believed, 0.0), reward + believed[1:])

# %% [markdown] tags=["two-hours"]
# ## Bias and variance along the dial
#
# How far is the mean of $V(s_t) + A_t$ from 10, and how much does it scatter? The expected squared error is
# $\text{bias}^2 + \text{variance}$.


# %% tags=["two-hours"]
def bias_and_variance(lam, off):
    """Mean over the cells of bias² and of variance, if V is off by about `off`."""
    found = estimates(guess(off), lam)
    return ((found.mean(0) - WORTH) ** 2).mean().item(), found.var(0).mean().item()


dial = torch.linspace(0, 1, 41).tolist()
parts = torch.tensor([bias_and_variance(lam, off=2.0) for lam in dial])
totals = {}
for off in (0.5, 2.0, 4.0):
    totals[off] = torch.tensor([sum(bias_and_variance(lam, off)) for lam in dial])

# %% [markdown] tags=["two-hours"]
# **Predict.** Sketch bias² and variance against λ. Is the sum smallest at an end of the dial, or in between? And when
# $V$ gets worse, does the best λ move left or right?

# %% tags=["two-hours", "thumbnail", "predict", "hide-input"]
figure, (left, other) = plt.subplots(1, 2, figsize=(8, 3), sharey=True)
left.plot(dial, parts[:, 0], color=style.OTHERS[3])
left.plot(dial, parts[:, 1], color=style.OTHERS[2])
left.plot(dial, parts.sum(1), color=style.COLORS["gae"], lw=3)
left.text(0.0, 2.7, "bias²", color=style.OTHERS[3])
left.text(0.83, 1.5, "variance", color=style.OTHERS[2])
left.text(0.3, 4.0, "sum", color=style.COLORS["gae"], weight="bold")
left.set(title="V off by 2", xlabel="λ", ylabel="squared error", ylim=(0, 17))
for (off, total), place in zip(totals.items(), ((0.0, 1.7), (0.03, 6.2), (0.22, 12.2)), strict=True):
    lowest = total.argmin()
    other.plot(dial, total, color=style.COLORS["gae"], lw=1.5)
    other.plot(dial[lowest], total[lowest], "o", color=style.COLORS["gae"])
    other.text(*place, f"V off by {off:g}", color=style.SOFT)
other.set(title="the best λ depends on V", xlabel="λ")
plt.show()

best = {off: dial[total.argmin()] for off, total in totals.items()}
assert 0 < best[0.5] < best[2.0] < best[4.0] < 1
assert parts[-1, 0] < 0.1 < 1 < parts[0, 0]
assert parts[-1, 1] > 10

# %% [markdown] tags=["two-hours"]
# <!-- mechanism: gae -->
#
# As λ falls from 1, most of the variance is gone before the bias gets large. The worse $V$ is, the further right the
# valley lies. The usual 0.95 is higher, perhaps because a gradient averages many such estimates, which shrinks only the
# variance.
#
# ## A target for the value net
#
# $V + A$, made from the *old* $V$, is also a less noisy target for $V$ than the return: the TD(λ) target.

# %% tags=["two-hours"]
diff(named("clip"), named("gae"))

# %% [markdown] tags=["two-hours"]
# `rollout.cut` marks rows after which an episode goes on unseen; so far there are none.
#
# ## Pay that comes by mail
#
# The action that matches a cue earns 1, the other one −1, but the pay comes *three steps later*, under noise with
# standard deviation 3. What's in the mail can't be seen. Guessing gets 0 points, and a perfect agent 197. An action's
# pay is in $\delta_{t+3}$, with weight $(\gamma\lambda)^3$.
#
# **Predict.** Which of the λs 0, 0.5, 0.8, and 1 learns nothing, and which learns fastest?

# %% tags=["two-hours"]
mail = Config("tricks/Mail3-v0", seeds=5, steps=30_000, hidden=(32, 32), lr=0.003)
runs = {}
for lam in (1.0, 0.0, 0.5, 0.8):
    runs[f"λ = {lam:g}"] = train(replace(mail, gae_lambda=lam), named("gae"))

# %% tags=["two-hours", "predict", "hide-input"]
curves(runs)
plt.show()
mean = {name: run.curve["return"].mean() for name, run in runs.items()}
assert mean["λ = 0"] < 40 < mean["λ = 0.5"] < mean["λ = 0.8"] - 10
assert mean["λ = 1"] < mean["λ = 0.8"] - 10

# %% [markdown] tags=["two-hours"]
# With λ = 0 the pay never reaches the action that earned it, because $V$ can't see the mail. With λ = 0.5 an eighth
# gets through. With λ = 0.8 half does, and learning is fastest. With λ = 1 nearly all does, along with the noise of
# every later reward.

# %% [markdown]
# ## It doesn't help everywhere

# %% tags=["hide-input"]
found = evidence("gae")
found.strip()
plt.show()

hurts, helps = (sorted(set(found.table.env[found.table.verdict == said])) for said in ("hurts", "helps"))
classic = found.table[found.table.env.isin(["CartPole-v1", "Acrobot-v1"]) & (found.table.detected != 0)]
assert set(classic.kind) == {"in the full set"}
lander = found.table[(found.table.env == "LunarLander-v3") & (found.table.detected != 0)]
assert lander.verdict.tolist() == ["hurts"] * 2 and lander.confirmed.eq(1).all()
assert helps == ["Acrobot-v1", "HalfCheetah-v5", "Walker2d-v5"] and hurts == ["CartPole-v1", "LunarLander-v3"]
worlds = found.worlds.set_index("place").verdict
assert worlds["Mail1-v0, gae_lambda=0.9"] == "helps" and worlds["Mail6-v0, gae_lambda=0.0"] == "hurts"

# %% [markdown]
# GAE helps on two of three robots, in Acrobot's full set, and where pay comes by mail, unless λ is 0. It hurts on
# LunarLander and, in the full set, on CartPole, there most at small learning rates; we don't know why. In our
# [sweeps](26_sensitivity.ipynb), λ = 0.9 loses little on any of CartPole, Acrobot, and Pendulum; no single γ does.

# %% tags=["hide-input"]
evidence("gae")

# %% tags=["hide-input"]
every = [name for name in LADDER if name != "action_mask"]  # CartPole has no illegal actions
without = [name for name in every if name != "gae"]
area, bare = (
    rows_of("CartPole-v1", 100_000, "", flags(switched(arm))).set_index("lr").area for arm in (every, without)
)
lost = bare - area
caption(
    f"In CartPole's full set, GAE costs {lost[0.0003]:.0f} points at a learning rate of 0.0003, {lost[0.003]:.0f} at 0.003."
)
assert lost[0.0003] > 150 > 50 > lost[0.003] > 0
assert max(each[0.9] for each in lost_at("gae_lambda").values()) < 0.05  # of the way from a random policy to the best
assert pd.DataFrame(lost_at("gamma")).dropna().max(axis=1).min() > 0.05

# %% [markdown]
# ## At a glance
#
# | | |
# |---|---|
# | **problem** | a return is noisy, and $V$ alone is wrong |
# | **formula** | $A_t = \delta_t + \gamma\lambda\, A_{t+1}$ with $\delta_t = r_t + \gamma V(s_{t+1}) - V(s_t)$ |
# | **in the loop** | `advantage = gae(reward, value, next_value, dead, done, config.gamma, config.gae_lambda)` <br> `target = value + advantage` |
# | **defaults** | $\lambda = 0.95$, $\gamma = 0.99$ |
# | **watch** | `explained_variance`: near 0, a small λ learns from guesses |
# | **skip it when** | returns are hardly noisy, or $V$ lags far behind the policy |
# | **evidence** | Helps in the full set in Acrobot; on robots (at one rate; once) in Walker2d, HalfCheetah. Hurts in the full set in CartPole, LunarLander; as the next rung in LunarLander. Practically nothing as the next rung in CartPole. In 3 of 8 environments, these runs can't tell. It helps in 1 and hurts in 2 of 4 trials in worlds made for it. |
# | **also called** | λ = 0: the *TD error*; λ = 1: *Monte Carlo*; $V + A$ is the *λ-return*; with $V$ in place of rewards, *actor-critic* |

# %% [markdown]
# ## Exercises

# %% [markdown] tags=["two-hours"]
# **Exercise 1: write it.** Compute the advantages of one lane with a loop from the back, with both masks.


# %% tags=["two-hours"]
def my_advantages(reward, value, next_value, terminated, done, gamma, lam):
    # five tensors [T] and two numbers -> [T]
    ...


check_advantages(my_advantages)

# %% [markdown] tags=["two-hours"]
# <details><summary>Hint</summary>
#
# Two lines per step. Which of them asks whether the next *state* counts, and which whether the next *row* does?
#
# </details>

# %% [markdown]
# **Exercise 2: think.** (a) Let $V$ be exactly right everywhere. Which $\lambda$ gives the least squared error, and
# what is its bias? Check with `bias_and_variance(lam, off=0.0)`. (b) Both $\gamma$ and $\lambda$ fade out the future.
# What does $\gamma$ change that $\lambda$ doesn't?
#
# <details><summary>Answer</summary>
#
# (a) λ = 0. If $V$ is right, no λ has any bias, and a single reward has the least variance.
#
# (b) γ changes the question: a different policy may be the best. λ only changes how you estimate the answer.
#
# </details>

# %% [markdown]
# **Exercise 3: spot the bug.** This version learns CartPole, more or less.

# %%
source(surprising_advantages)

# %%
config = at_best_rate(Config("CartPole-v1", seeds=5, steps=20_000), named("gae"))
sound = train(config, named("gae"))
with planted(gae=surprising_advantages):
    faulty = train(config, named("gae"))

# %% tags=["hide-input"]
curves({"gae": sound, "with the bug": faulty})
plt.show()

columns = ["value_loss", "explained_variance"]
logs = {"sound": sound.curve, "with the bug": faulty.curve}
later = {name: log[log.step > 10_000][columns].mean() for name, log in logs.items()}
said = (f"{name}, {row.value_loss:.1f} and {row.explained_variance:.2f}" for name, row in later.items())
caption(f"Value loss and explained variance in the second half: {'; '.join(said)}.")
assert later["with the bug"].value_loss < 0.6 * later["sound"].value_loss

# %% [markdown]
# The value loss is much *smaller*, yet the net explains less of the returns really earned. How can that be?
#
# <details><summary>Hint</summary>
#
# What does this $V$ say about a falling pole? Find a $V$ that has no loss at all.
#
# </details>
#
# A variant judges the batch anew before every epoch: [recompute](a4_recompute.ipynb).
#
# Solutions: [`solutions/04_gae.py`](solutions/04_gae.py). You now have the core of PPO. Next: [orthogonal
# initialization](05_orthogonal_init.ipynb).

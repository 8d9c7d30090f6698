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
# # A baseline: good, compared with what?
#
# *A machine paid you 102. Was that good?*

# %% [markdown] tags=["two-hours"]
# You can't tell. If the other machines pay 101, yes; if they pay 104, no. REINFORCE can't tell either, so it celebrates
# every payout. Subtract what you expected: the gradient's mean stays where it was, and most of its noise goes.

# %% tags=["two-hours", "hide-input"]
from dataclasses import replace

import matplotlib.pyplot as plt
import torch

from ablations import style
from chapters.book import begin, curves, evidence, label_lines, planted
from chapters.exercises.baseline import check_best_baseline, row_error
from tricks import REINFORCE, Config, diff, source, train
from tricks.baseline import explained_variance, squared_error
from tricks.core.reductions import reward_to_go
from tricks.ladder import named

begin()
torch.set_default_dtype(torch.float64)  # sums over three machines can be exact

# %% [markdown] tags=["two-hours"]
# ## A hundred for everybody
#
# Let a sponsor add 100 to every payout of the [three slot machines](00_reinforce.ipynb): 101, 102, 104 instead of 1, 2,
# 4.
#
# **Predict.** What happens to fifty agents at the old learning rate? And at a hundredth of it?

# %% tags=["two-hours", "hide-input"]
PAYS = torch.tensor([1.0, 2.0, 4.0])


def play_machines(pays, baseline=0.0, rate=0.05, agents=50, steps=300):
    """Mean probability of the best machine, step by step: REINFORCE with a constant subtracted from the payout."""
    torch.manual_seed(0)
    theta, share = torch.zeros(agents, 3), []
    for _ in range(steps):
        policy = torch.distributions.Categorical(logits=theta)
        action = policy.sample()
        score = torch.eye(3)[action] - policy.probs  # ∇ log π(a)
        theta = theta + rate * (pays[action] - baseline).unsqueeze(1) * score
        share.append(policy.probs[:, 2].mean().item())
    return share


# %% tags=["two-hours", "predict", "hide-input"]
plain = play_machines(PAYS)
richer = play_machines(PAYS + 100)
slower = play_machines(PAYS + 100, rate=0.0005)

figure, axis = plt.subplots(figsize=(6.5, 2.8))
for share, color, text in (
    (plain, style.INK, "1, 2, 4"),
    (richer, style.FAULT, "101, 102, 104"),
    (slower, style.SOFT, "101, 102, 104,\n  a hundredth of the rate"),
):
    axis.plot(share, color=color)
    place = {plain[-1]: 0, richer[-1]: 0.05, slower[-1]: -0.1}[share[-1]]
    axis.text(300, share[-1] + place, f"  {text}", va="center", color=color)
axis.set(xlabel="pull", ylabel="probability of the\nbest machine", ylim=(0, 1), xlim=(0, 300))
plt.show()
assert plain[-1] > 0.9 and richer[-1] < 0.7 and slower[-1] < 0.6

# %% [markdown] tags=["two-hours"]
# The best machine is still the best, yet hardly anything is learned. At the old rate, the probability jumps in the
# first few pulls and then gets no further. At a hundredth of it, it hardly rises.
#
# Does the sponsor bend the gradient? Its mean is a sum of three terms.


# %% tags=["two-hours"]
def mean_and_variance(pays, probs, baseline=0.0):
    """Exact mean [3] of a sample (r − b)·∇log π, and the sum of its three variances."""
    score = torch.eye(3) - probs  # one row per machine
    samples = (pays - baseline).unsqueeze(1) * score
    mean = probs @ samples
    return mean, (probs @ (samples - mean).square()).sum().item()


uniform = torch.full((3,), 1 / 3)
for name, pays in (("1, 2, 4", PAYS), ("101, 102, 104", PAYS + 100)):
    mean, variance = mean_and_variance(pays, uniform)
    print(f"{name:14} mean {mean.numpy().round(3)}  spread {variance**0.5:6.2f}")
poor, rich = (mean_and_variance(pays, uniform)[0] for pays in (PAYS, PAYS + 100))
torch.testing.assert_close(poor, rich)

# %% [markdown] tags=["two-hours"]
# The **mean is the same**. But the standard deviation is forty times as large, which costs more than a thousand times
# the pulls.
#
# ## Why subtracting adds no bias
#
# So take the hundred away again, or, since you may not know it, any number $b$, the **baseline** (Williams 1992):
#
# $$\mathbb{E}\big[(r(a) - b)\,\nabla \log \pi(a)\big] = \nabla J - \mathbb{E}\big[b\,\nabla \log \pi(a)\big].$$
#
# In the last term, $b$ leaves the sum, and the mean score is zero:
#
# $$\mathbb{E}\big[b\,\nabla \log \pi(a)\big] = b \sum_a \pi(a)\,\nabla\log\pi(a)
#   = b\,\nabla \sum_a \pi(a) = 0.$$
#
# In an episode it may be $b(s)$, one for each state. **The only condition is that it must not depend on the action.**
# Subtract $b(a) = r(a)$ and nothing is left to learn from; subtract 3 from the best machine only, and the second best
# wins.

# %% tags=["two-hours", "open"]
exact, _ = mean_and_variance(PAYS, uniform)
baselines = {"b = 0": 0.0, "b = 7/3": 7 / 3, "b = -1000": -1000.0}
baselines |= {"b(a) = r(a)": PAYS, "b(a) = 0, 0, 3": torch.tensor([0.0, 0.0, 3.0])}
for name, baseline in baselines.items():
    mean, variance = mean_and_variance(PAYS, uniform, baseline)
    print(f"{name:15} mean {mean.numpy().round(3) + 0.0}   variance {variance:10.2f}")
    unbiased = not isinstance(baseline, torch.Tensor)
    assert torch.allclose(mean, exact) == unbiased

# %% [markdown] tags=["two-hours"]
# ## The best constant
#
# Any number is allowed. Which is best? Write $u = \nabla \log \pi(a)$ for the score. The variance of one sample, summed
# over its components, is
#
# $$\operatorname{Var}(b) = \mathbb{E}\big[|u|^2\,(r - b)^2\big] - |\nabla J|^2 .$$
#
# The first term is a parabola in $b$. Set its slope to zero:
#
# $$-2\,\mathbb{E}\big[|u|^2\,(r - b)\big] = 0
#   \quad\Longrightarrow\quad b^* = \frac{\mathbb{E}\big[|u|^2\, r\big]}{\mathbb{E}\big[|u|^2\big]} .$$
#
# That is an average payout in which unlikely actions count for more, because their scores are longer: $|u|^2 = 1 -
# 2\pi(a) + \sum_k \pi(k)^2$. For $\pi = (0.7, 0.2, 0.1)$, $|u|^2$ is 0.14, 1.14, and 1.34, so $b^* = 1.09/0.46 \approx
# 2.37$, against $\mathbb{E}[r] = 1.5$:

# %% tags=["two-hours", "hide-input"]
probs = torch.tensor([0.7, 0.2, 0.1])
best, average = 1.09 / 0.46, (probs @ PAYS).item()
heights = torch.linspace(-1, 5, 121)
variances = [mean_and_variance(PAYS, probs, height)[1] for height in heights.tolist()]

figure, axis = plt.subplots(figsize=(6.5, 2.8))
axis.plot(heights, variances, color=style.COLORS["baseline"])
for height, name, offset in (
    (0.0, "no baseline", (8, 2)),
    (average, "E[r]", (-24, -12)),
    (best, "b*", (-4, 8)),
):
    axis.plot(height, mean_and_variance(PAYS, probs, height)[1], "o", color=style.INK)
    axis.annotate(name, (height, mean_and_variance(PAYS, probs, height)[1]), offset, textcoords="offset points")
axis.set(xlabel="height of the baseline b (payout)", ylabel="variance of a\nsingle gradient", ylim=(0, None))
plt.show()
assert abs(heights[torch.tensor(variances).argmin()] - best) < 0.05

# %% [markdown] tags=["two-hours"]
# $\mathbb{E}[r]$ gets you most of the way down and is easier to have, so in practice you subtract the mean. The bottom
# isn't zero: **a baseline removes what all actions have in common, and no more.**
#
# Each dot below is a gradient from 25 pulls, whose payouts now also vary, with a standard deviation of 1. The three
# components of a score sum to zero, so all dots lie in a plane: the one you see.

# %% tags=["two-hours", "thumbnail", "hide-input"]
torch.manual_seed(0)
action = torch.randint(3, (500, 25))
paid = PAYS[action] + 100 + torch.randn(500, 25)
plane = torch.tensor([[1.0, -1.0, 0.0], [-1.0, -1.0, 2.0]])
plane = (plane / plane.norm(dim=1, keepdim=True)).T  # [3, 2]
scores = (torch.eye(3)[action] - 1 / 3) @ plane  # [500, 25, 2]
without, having = ((level.unsqueeze(2) * scores).mean(1) for level in (paid, paid - 100 - 7 / 3))

figure, axes = plt.subplots(1, 2, figsize=(6.5, 3.2))
for axis, size in zip(axes, (48, 1.2), strict=True):
    axis.scatter(*without.T, s=6, color=style.SOFT, alpha=0.4, lw=0)
    axis.scatter(*having.T, s=6, color=style.COLORS["baseline"], alpha=0.5, lw=0)
    axis.set(xlim=(-size, size), ylim=(-size, size), aspect="equal", xticks=(), yticks=())
axes[0].set_title("101, 102, 104, in gray")
figure.set_label(
    "Gradients of 500 batches of 25 pulls, twice: with payouts of 101, 102, and 104 they scatter widely around 0; with "
    "102⅓ subtracted, they are a cloud about 40 times narrower around the tip of ∇J"
)
axes[0].text(0, 41, "minus 102⅓", ha="center", color=style.COLORS["baseline"], weight="bold")
axes[0].plot((0, 0), (2, 39), color=style.COLORS["baseline"], lw=0.8)
axes[1].set_title("the middle, 40 times larger")
tip = exact @ plane
axes[1].annotate("", tip, (0, 0), arrowprops={"arrowstyle": "-|>", "color": style.INK, "lw": 1.5})
axes[1].text(0.06, -0.06, "∇J, from 0", va="top", color=style.INK)
plt.show()

wide, narrow = (cloud.var(0).sum().sqrt().item() for cloud in (without, having))
assert wide > 40 * narrow

# %% [markdown] tags=["two-hours"]
# <!-- mechanism: baseline -->
#
# Both clouds have the same mean, the tip of the arrow. Many gray batches point somewhere else; nearly all colored ones
# are roughly right.
#
# ## A level for every state
#
# One number doesn't fit all states: an episode promises more at its start than at its end. The right level is the
# expected return, the **value** of the state:
#
# $$V(s) = \mathbb{E}[G_t \mid s_t = s].$$
#
# Given the action as well, the mean is called $Q(s, a)$, and the action's **advantage** is $Q(s, a) - V(s)$. One
# episode gives an estimate of it, $A_t = G_t - V(s_t)$, which takes the place of $G_t$ in the loss.
#
# Nobody gives you $V$. A second net learns it from the returns, with the squared error, because that makes it learn a
# *mean*: the best prediction $v$ is where $\mathbb{E}[v - G] = 0$. Is it any good? The **explained variance** compares
# what is left with what there was:
#
# $$\text{EV} = 1 - \frac{\operatorname{Var}(G - V)}{\operatorname{Var}(G)} .$$
#
# 1 is perfect up to a constant offset; 0 is no better than a constant; below 0 is worse.

# %% tags=["two-hours"]
source(squared_error, explained_variance)

# %% [markdown] tags=["two-hours"]
# Here are returns of a batch, 2, 4, 6, 8, and nets that know most, nothing, and the opposite:

# %% tags=["two-hours", "open"]
returns = torch.tensor([[2.0, 4.0, 6.0, 8.0]])  # [S, B]
valid = torch.ones(1, 4, dtype=torch.bool)
for said, wanted in (([3, 3, 7, 7], 0.8), ([5, 5, 5, 5], 0.0), ([8, 6, 4, 2], -3.0)):
    found = explained_variance(torch.tensor([said]), returns, valid).item()
    print(said, "->", round(found, 3))
    assert abs(found - wanted) < 1e-9
assert squared_error(torch.tensor([[3.0]]), torch.tensor([[7.0]])).item() == 8

# %% [markdown] tags=["two-hours"]
# ## What changes in the loop
#
# The squared error joins the loss, with a weight of `value_coef`. `agent.values` records no gradient: in the policy's
# loss, the advantage is a constant. `value_rows` are the policy's rows for now, and `value_at_cut` adds 0 until
# [segments](13_segments.ipynb).

# %% tags=["two-hours"]
diff(REINFORCE, named("baseline"))

# %% [markdown] tags=["two-hours"]
# ## A loan that hides the pay
#
# Here are slot machines with states, in episodes of ten steps. Every step shows a cue, −1 or 1, and the action that
# matches it pays 0.1. The first step also lends you 6 points or takes 6 from you, and the last step reverses it; a
# sign, shown from the start, says which. Guessing earns 0.5 per episode, knowing earns 1, and the returns contain the
# loan's reversal.
#
# We compare three *arms*, the variants in an experiment: REINFORCE, the same with a learned baseline, and one that
# knows the loan and subtracts it. `planted` swaps a function that the loop calls for another.
#
# **Predict.** How much of the gap can a learned $V$ close?

# %% tags=["two-hours"]
torch.set_default_dtype(torch.float32)  # as the library's nets have it
small = {"lanes": 8, "horizon": 10, "hidden": (32, 32)}  # the batches and the nets
config = Config("tricks/Loan6Pay0.1-v0", seeds=10, steps=40_000, lr=0.003, **small)


def without_the_loan(reward, done, gamma):
    return reward_to_go(reward - 6 * (reward / 6).round(), done, gamma)


runs = {"reinforce": train(config, REINFORCE)}
runs["baseline"] = train(config, named("baseline"))
with planted(reward_to_go=without_the_loan):
    runs["known b(s)"] = train(config, REINFORCE)

# %% tags=["two-hours", "predict", "hide-input"]
figure, axes = plt.subplots(1, 2, figsize=(8, 2.8))
curves(runs, axes[0])
explained = runs["baseline"].curve.groupby("update")[["step", "explained_variance"]].mean()
axes[1].plot(explained.step / 1000, explained.explained_variance, color=style.COLORS["baseline"])
axes[1].set(xlabel="environment steps (thousands)", ylabel="explained variance", ylim=(-0.1, 1.05), xlim=(0, 40))
plt.show()

part = explained.explained_variance
early, soon, late = part.iloc[:20].mean(), part[explained.step.between(3500, 4500)].mean(), part.iloc[-50:].mean()
there = {name: (run.late() > 0.9).sum() for name, run in runs.items()}
assert there["reinforce"] < 5 < 8 <= there["baseline"]
assert late > 0.9 > early and 0.8 < soon < 0.95
owed = 6 * config.gamma ** torch.arange(9.0)  # the loan in the returns of steps 9 to 1; step 0 sees both halves
variance = (owed.square().sum().item() + (6 - 6 * config.gamma**9) ** 2) / 10
assert abs(variance - 30) < 0.5
assert runs["baseline"].late().mean() > 0.85 > 0.75 > runs["reinforce"].late().mean()

# %% [markdown] tags=["two-hours"]
# Without a baseline, most agents do little better than guessing. With a learned one, nearly all get there. The known
# one is faster: **a baseline is worth what the value net knows.** The returns have a variance of about 30, nearly all
# of it the loan's. At 4,000 steps, $V$ explains almost 0.9 of it (right). The rest is still a spread of about 2 points,
# against a pay of 0.1.

# %% [markdown]
# ## Where it matters
#
# The strip shows *ablations*: scores with a trick minus without. A random policy has 0, the ceiling 1, and each arm its
# own best learning rate. The first row is the trick alone. In the second, it and all that needs it leave the *full
# set*, all tricks up to chapter 16. Blue helps and red hurts, confirmed on other seeds. White was seen *once*, or is
# practically nothing (≈ 0). Hatched: these seeds can't tell, or others didn't confirm it. On the right are *worlds*
# made for it.
#
# Hopper, Walker2d, and HalfCheetah are simulated robots. There, all arms run at the rate of a
# [preset](a8_robots.ipynb), a fixed set of tricks; it was tuned for none of them.

# %% tags=["hide-input"]
evidence("baseline").strip()
plt.show()

table = evidence("baseline").table
assert table[table.kind == "alone, on what it needs"].detected.eq(0).sum() == 5
assert table[table.kind == "in the full set"].detected.eq(1).sum() == 3
assert table.verdict[table.subject == "continuous"].tolist() == ["helps"] * 3

# %% [markdown]
# Alone, these seeds can't tell in any of the five usual environments. Taking it out hurts in three of them and on the
# robots, but all that needs $V$ goes with it. By itself it helps under a large loan; in `OffsetReward`, where each step
# pays 10 or 11, these seeds can't tell.

# %% tags=["hide-input"]
evidence("baseline")


# %% [markdown]
# One useless trick in twenty has an interval that excludes 0, so a verdict takes more than that; [the whole
# ladder](25_the_whole_ladder.ipynb) explains the correction.
#
# A baseline doesn't help while $V$ knows nothing, or where returns are about 0 in every state. Luck later in the
# episode is a case for [GAE](04_gae.ipynb).

# %% [markdown]
# ## At a glance
#
# | | |
# |---|---|
# | **problem** | the level of the returns is most of the gradient's noise |
# | **formula** | $A_t = G_t - V(s_t)$, with $V$ fitted by $\tfrac12 (V(s_t) - G_t)^2$ |
# | **in the loop** | `advantage = target - value` <br> `error = squared_error(value, rows.target)` |
# | **defaults** | a value net like the policy's; `value_coef` = 0.5 |
# | **watch** | `explained_variance`: it should rise toward 1 |
# | **skip it when** | never in PPO: GAE and segments need $V$ |
# | **evidence** | Helps in the full set (with 6 others) in Acrobot, Pendulum, Taxi; on robots (at one rate; once) in Hopper, Walker2d, HalfCheetah. Practically nothing in the full set (with 6 others) in LunarLander. In 1 of 8 environments, these runs can't tell. It helps in 1 of 2 trials in worlds made for it. |
# | **also called** | REINFORCE with baseline; the value net is the *critic*, but *actor-critic* in the strict sense begins where $V$ replaces part of the return, in [chapter 4](04_gae.ipynb) |

# %% [markdown]
# ## Exercises

# %% [markdown] tags=["two-hours"]
# **Exercise 1: write it.** Compute $b^*$ for a softmax policy with probabilities `probs` over machines that pay `pays`.


# %% tags=["two-hours"]
def my_best_baseline(probs, pays):  # [A], [A] -> a number
    ...


check_best_baseline(my_best_baseline)

# %% [markdown] tags=["two-hours"]
# <details><summary>Hint</summary>
#
# It is a mean of the payouts, weighted by each machine's probability times the squared length of its score.
#
# </details>

# %% [markdown]
# **Exercise 2: think.** A cheap baseline needs no net: pull $n$ times, and subtract the mean of the batch from each
# payout. Is the gradient still unbiased? What if you subtract the mean of the *other* $n - 1$ payouts?
#
# <details><summary>Answer</summary>
#
# The batch's mean contains the pull's own payout, as one part in $n$, so the estimate is $(1 - 1/n)\, \nabla J$, a
# little too short. The mean of the others has no bias.
#
# </details>

# %% [markdown]
# **Exercise 3: spot the bug.** A value net's output for a seed has the shape `[B, 1]`. This value loss runs, and it
# falls.

# %%
source(row_error)

# %%
offset = replace(config, env="tricks/OffsetReward-v0", steps=20_000, lanes=4, lr=0.01)
right = train(offset, named("baseline")).curve.groupby("update").mean()
with planted(squared_error=row_error):
    faulty = train(offset, named("baseline")).curve.groupby("update").mean()

# %% tags=["hide-input"]
figure, axes = plt.subplots(1, 2, figsize=(8, 2.6))
for axis, name in zip(axes, ("value_loss", "explained_variance"), strict=True):
    axis.plot(right.step / 1000, right[name], color=style.COLORS["baseline"], label="right")
    axis.plot(faulty.step / 1000, faulty[name], color=style.FAULT, label="with the bug")
    axis.set(xlabel="environment steps (thousands)", title=name.replace("_", " "), xlim=(0, 20))
    label_lines(axis)
plt.show()
ends = [curve.explained_variance.iloc[-50:].mean() for curve in (right, faulty)]
assert abs(ends[1]) < 0.1 < 0.8 < ends[0]

# %% [markdown]
# What does the net learn to predict, and why is its explained variance 0?
#
# <details><summary>Hint</summary>
#
# Write down the shape of `output - g`.
#
# </details>
#
# Solutions: [`solutions/01_baseline.py`](solutions/01_baseline.py). Next: [reuse](02_reuse.ipynb).

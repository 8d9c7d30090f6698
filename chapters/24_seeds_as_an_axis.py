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
# # Seeds as an axis: many agents in one program
#
# *Your agent got better. Was it your idea, or was it the seed?*
#
# Two runs that differ only in their random seed can differ more than two algorithms do (Henderson et al. 2018,
# arXiv:1709.06560). Still, many results rest on three seeds, because ten take longer. This package trains ten agents as
# one, for the price of four or five.

# %% tags=["hide-input"]
from dataclasses import replace
from timeit import repeat

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import torch
from scipy import stats

from ablations import RESULTS, area, style
from chapters.book import begin, curves, planted, studies
from chapters.exercises.seeds_as_an_axis import check_mean, follow_targets_
from tricks import PPO, Config, source, train
from tricks.core.adam import gradient
from tricks.core.layers import dense
from tricks.core.nets import linear, mlp
from tricks.core.rollout import Player
from tricks.core.seeds import draw, per_seed, stream
from tricks.envs.make import make_env
from tricks.ladder import named
from tricks.loop import build_agent
from tricks.segments import play_segment

begin()

# %% [markdown]
# ## What one seed says
#
# Here are three rungs of the ladder on CartPole. Each dot is one seed's mean return over all of training. Treat these
# dots as the truth.
#
# **Predict.** You compare two neighboring rungs with one seed each. How often does the worse rung win? And with three
# seeds each?

# %% tags=["hide-input"]
RUNGS = ("baseline", "reuse", "clip")
cartpole = studies()[0]
scores = {
    rung: np.concatenate([area(study.grid(named(rung))) for study in (cartpole, cartpole.again)]) for rung in RUNGS
}
rng = np.random.default_rng(0)


def means(rung, seeds, times=20_000):
    """Mean scores of imagined experiments, each with so many seeds drawn from the dots."""
    return rng.choice(scores[rung], (times, seeds)).mean(1)


wrong = {
    (low, high): [(means(low, seeds) > means(high, seeds)).mean() for seeds in (1, 3, 10, 30)]
    for low, high in (("baseline", "reuse"), ("reuse", "clip"))
}

# %% tags=["predict", "thumbnail", "hide-input"]
figure, axes = plt.subplots(1, 2, figsize=(8, 2.8))
for place, rung in enumerate(RUNGS):
    across = place + 0.5 * (rng.random(len(scores[rung])) - 0.5)
    axes[0].scatter(across, scores[rung], s=10, color=style.COLORS[rung], alpha=0.6, lw=0)
    axes[0].plot((place - 0.35, place + 0.35), [scores[rung].mean()] * 2, color=style.INK, lw=1.4)
axes[0].set_xticks(range(3), RUNGS)
axes[0].set_ylabel("mean return of a seed")
for (low, high), chances in wrong.items():
    axes[1].plot((1, 3, 10, 30), chances, "o-", ms=4, color=style.COLORS[high])
    axes[1].text(1.1, chances[0] + 0.02, f"{low} beats {high}", color=style.COLORS[high])
axes[1].set(xscale="log", xlabel="seeds of each", ylabel="chance", ylim=(0, 0.5))
axes[1].set_xticks((1, 3, 10, 30), ("1", "3", "10", "30"))
axes[1].minorticks_off()
plt.show()
assert all(len(found) == 60 for found in scores.values())
assert 0.18 < wrong["baseline", "reuse"][1] < 0.22 and 0.06 < wrong["baseline", "reuse"][2] < 0.08
assert wrong["reuse", "clip"][1] < 0.03

# %% [markdown]
# Three seeds nearly always get the *sign* of the clip's effect right. The step to reuse is smaller: three seeds get it
# wrong one time in five, and ten one time in fifteen. So seeds had better be cheap.
#
# ## One tensor for all nets
#
# A layer of one agent is a matrix product, $xW + w_0$. Stack the weights of $S$ agents in a tensor `[S, in, out]` and
# their inputs in another, `[S, B, in]`, and `torch.bmm` computes all products in one call:

# %% tags=["open"]
x = torch.tensor([[[1.0, 2.0]], [[3.0, 4.0]]])  # [S, B, in]
weight = torch.tensor([[[1.0], [1.0]], [[1.0], [-1.0]]])  # [S, in, out]
assert torch.bmm(x, weight).flatten().tolist() == [3, -1]

# %%
source(linear, dense)

# %% [markdown]
# Every call costs a few microseconds before any arithmetic begins, and nets as small as these need hardly more.

# %%
obs, weights = torch.randn(10, 8, 64), torch.randn(10, 64, 64)  # 10 agents, 8 lanes
one_call = min(repeat(lambda: torch.bmm(obs, weights), number=1000))


def one_by_one():
    return [torch.mm(obs[k], weights[k]) for k in range(10)]


a_loop = min(repeat(one_by_one, number=1000))
print(f"one call: {1e3 * one_call:.0f} µs; a loop: {1e3 * a_loop:.0f} µs")

# %% [markdown]
# ## One backward pass for all
#
# Autograd differentiates a single number, so take the sum of the agents' losses $L_1, \dots, L_S$. Agent $k$'s loss
# depends only on its own weights $\theta_k$, so all other terms drop out:
#
# $$\frac{\partial}{\partial \theta_k} \sum_j L_j(\theta_j) = \sum_j \frac{\partial L_j(\theta_j)}{\partial \theta_k}
#   = \frac{\partial L_k(\theta_k)}{\partial \theta_k} .$$
#
# **The gradient of the sum is everyone's own gradient.** Here are three nets, in one pass and one by one:

# %%
source(gradient)

# %%
net = mlp([stream(seed, "init") for seed in range(3)], (4, 16, 1))
x, wanted = torch.randn(3, 32, 4), torch.randn(3, 32)
losses = (net(x).squeeze(-1) - wanted).square().mean(1)  # [S]: a mean within each seed
together = gradient(losses, net.parameters())  # [S, P]
for k in range(3):
    alone = mlp([stream(k, "init")], (4, 16, 1))
    loss = (alone(x[k : k + 1]).squeeze(-1) - wanted[k : k + 1]).square().mean(1)
    torch.testing.assert_close(together[k : k + 1], gradient(loss, alone.parameters()))

# %% [markdown]
# It works only as long as nothing mixes the seeds. A mean over the whole stack runs without an error and couples the
# agents. Hence the rule: **every reduction stays within a seed**.
#
# ## Random numbers that belong to a seed
#
# From a common generator, seed 3 would get different numbers in stacks of ten and of five. So every draw has an
# address: the seed, what it is for, and which update.

# %%
source(stream, draw)


# %%
def shared(seeds):
    """Two draws for a stack of agents, from one generator."""
    torch.manual_seed(0)
    return [torch.rand(seeds, 3) for _ in range(2)]


def addressed(seeds):
    """The actions' noise in update 7."""
    return draw(seeds, "action", 7, by=lambda rng: rng.random(3))


# %% tags=["hide-input"]
assert torch.equal(addressed(range(5))[3], addressed((3,))[0])
assert not torch.equal(shared(5)[1][3], shared(10)[1][3])

# %% [markdown]
# So **seed 3 in a stack must be seed 3 alone.** Check it to the last bit:


# %%
def first_rollout(config):
    env = make_env(config)
    agent = build_agent(env.spaces, config, PPO)
    everyone = torch.ones(len(config.seed_list), dtype=torch.bool)
    player = Player(env, config.horizon)
    return agent, play_segment(player, agent.policy, config.horizon, everyone)


config = Config(seeds=5, steps=2000, lanes=4, horizon=32, lr=0.003)
many, of_many = first_rollout(config)
lone, of_lone = first_rollout(replace(config, seeds=(3,)))
pairs = list(zip(many.parameters(), lone.parameters(), strict=True))
pairs += [(of_many.obs, of_lone.obs), (of_many.action, of_lone.action)]
pairs += [(of_many.reward, of_lone.reward)]
bits = [torch.equal(a[3:4], b) for a, b in pairs]

# %% tags=["hide-input"]
assert all(bits)

# %%
stack, alone = train(config, PPO), train(replace(config, seeds=(3,)), PPO)
mine = stack.curve[stack.curve.seed == 3].reset_index(drop=True)
exact = ["step", "episodes", "return", "length"]
pairs = zip(stack.agent[3].parameters(), alone.agent.parameters(), strict=True)
apart = max((a - b).abs().max().item() for a, b in pairs)

# %% tags=["hide-input"]
assert mine[exact].equals(alone.curve[exact])
assert apart == 0

# %% [markdown]
# Every step, every return, and every weight is the same. On a CPU, [Numba](https://numba.pydata.org) compiles a form
# that goes through one agent after another. Elsewhere, as for images or on a GPU, the last digits differ.
#
# ## What a seed costs
#
# How much longer does a stack take than a single agent, on one core?

# %% tags=["hide-input"]
TINY = Config(steps=4096)
seconds = {}
for size in (1, 4, 16):
    seconds[size] = min(train(replace(TINY, seeds=size), PPO).seconds for _ in range(2))
table = pd.read_csv(RESULTS / "speed.csv").set_index("seeds")
speed, plain = (table[table.who == who].steps_per_second for who in ("tricks", "plain"))
cost = speed[1] * speed.index.to_series() / speed  # in runs of a single agent

# %% tags=["hide-input"]
figure, axis = plt.subplots(figsize=(6.5, 2.8))
axis.plot(cost.index, cost.index, color=style.SOFT, ls=":", lw=1.4)
axis.plot(cost.index, cost, "o-", ms=4, color=style.INK)
axis.plot(list(seconds), [each / seconds[1] for each in seconds.values()], "D", ms=6, color=style.OTHERS[2])
axis.text(60, 90, "one after\nthe other", color=style.SOFT, ha="right")
axis.text(200, 20, "stored", color=style.INK)
axis.text(16, 1.6, "here, just now", color=style.OTHERS[2])
axis.set(xscale="log", yscale="log", xlabel="agents in the stack", ylabel="time, in single runs", ylim=(0.8, 1200))
plt.show()
each = (cost[100] - cost[10]) / 90
assert 0.3 < each < 0.5
assert speed[1] > 4 * plain[1] and 3 < speed[10] / plain[10] < 5
assert cost[3] < 2 and 4 < cost[10] < 5

# %% [markdown]
# Each agent adds about two fifths of a single run, on top of a fixed price. And the compiled form runs ten agents more
# than three times as fast as PyTorch's `bmm`.
#
# ## What an interval buys
#
# Student's 95% interval around the mean of $S$ seeds has the half-width $h = t_{S-1}\, s / \sqrt{S}$, with $s$ the
# standard deviation over these seeds, and $t_{S-1}$ the 97.5% quantile of Student's t distribution with $S - 1$ degrees
# of freedom: about 2 for many seeds, but 4.3 for three. In experiments drawn from the 60 dots of `reuse`:

# %% tags=["hide-input"]
truth, found = scores["reuse"].mean(), {}
for size in (3, 10, 30):
    sample = rng.choice(scores["reuse"], (20_000, size))
    half = stats.t.ppf(0.975, size - 1) * sample.std(1, ddof=1) / size**0.5
    found[size] = half.mean(), (np.abs(sample.mean(1) - truth) < half).mean()
    price = np.interp(size, cost.index, cost)
    width, right = found[size]
    print(f"{size:2} seeds: ± {width:.0f}, right in {right:.0%} of cases, for the time of {price:.1f} single runs")
assert found[3][0] > 2.5 * found[10][0] > 4 * found[30][0]
assert all(0.85 < right < 0.97 for _, right in found.values())

# %% [markdown]
# From three seeds to ten, the interval shrinks to a third, for two and a half times the time. It's the best deal in
# this book. After thirty, half the width takes four times the seeds.
#
# ## Numbers as an axis
#
# The agents of a stack don't need the same learning rate. `Config` takes a tuple, one entry per seed, for any number
# that only enters the arithmetic, and `per_seed` makes it a column:

# %%
source(per_seed)

# %%
RATES = (0.0003, 0.001, 0.003, 0.01, 0.03)
four_each = tuple(np.repeat(RATES, 4).tolist())
sweep = train(Config(seeds=20, steps=20_000, lr=four_each), PPO)
late = sweep.late().to_numpy().reshape(5, 4)
alone = train(replace(sweep.config.only(17), steps=2000), PPO)
same = train(replace(sweep.config, steps=2000), PPO).curve.query("seed == 17")["return"]

# %% tags=["hide-input"]
for rate, mine in zip(RATES, late, strict=True):
    print(f"lr = {rate:<6}: last tenth {mine.mean():3.0f} points; its four seeds", mine.round().astype(int).tolist())
assert alone.curve["return"].equals(same.reset_index(drop=True))

# %% [markdown]
# Seed 17 gives the same returns when it trains alone with its own rate. What changes a *shape* or the code can't be an
# axis: the width of the net, or which tricks are on. And no agent learns faster in a stack: they share no experience.

# %% [markdown]
# ## At a glance
#
# | | |
# |---|---|
# | **problem** | one run says little, and many take too long |
# | **formula** | $\dfrac{\partial}{\partial \theta_k} \sum_j L_j(\theta_j) = \dfrac{\partial L_k}{\partial \theta_k}$ |
# | **in the loop** | `loss = -mean(objective, b.valid)  # [S]` <br> `norm = t.optimizer.move(loss, rate, t.moving & has_rows)` |
# | **defaults** | `seeds` = 10; every tensor leads with $S$; every reduction stays within a seed |
# | **watch** | that a seed alone gives the same curve as in the stack |
# | **also called** | batched training, an ensemble dimension; in JAX, `vmap` over seeds |

# %% [markdown]
# ## Exercises
#
# **Exercise 1: write it.** The mean over each seed's valid rows: `[S, B]` to `[S]`, and 0 for a seed without valid
# rows.


# %%
def my_mean(x, valid):  # [S, B], [S, B] -> [S]
    ...


check_mean(my_mean)

# %% [markdown]
# <details><summary>Hint</summary>
#
# Multiply by `valid`, sum over the right axis, and divide by a count that's at least 1.
#
# </details>
#
# **Exercise 2: think.** Somebody writes `loss.mean()` over the seeds where `gradient` has `loss.sum()`. What changes
# with plain gradient descent? With Adam? With [`grad_clip`](09_grad_clip.ipynb)?
#
# <details><summary>Answer</summary>
#
# All gradients are $S$ times smaller. Gradient descent has $1/S$ of its learning rate, and Adam, which divides by the
# gradient's size, hardly notices. But the gradient clip acts only on gradients $S$ times as long. In every case, an
# agent's result depends on how many others there are.
#
# </details>

# %% [markdown]
# **Exercise 3: spot the bug.** Is anything wrong with this version of the running statistics of
# [return normalization](08_return_norm.ipynb)?

# %%
source(follow_targets_)

# %%
config = Config(seeds=5, steps=20_000, lr=0.01)
right = train(config, PPO)
with planted(follow_returns_=follow_targets_):  # in place of the loop's own
    faulty = train(config, PPO)

# %% tags=["hide-input"]
curves({"right": right, "with the bug": faulty})
plt.show()
assert faulty.late().mean() > 0.7 * right.late().mean()

# %% [markdown]
# The curves don't tell you. Which experiment does, and which single number would you look at?
#
# <details><summary>Hint</summary>
#
# What is the law of this chapter? Train seed 3 alone, and compare `value_loss` in the second update.
#
# </details>
#
# Solutions: [`solutions/24_seeds_as_an_axis.py`](solutions/24_seeds_as_an_axis.py). Next:
# [the whole ladder](25_the_whole_ladder.ipynb).

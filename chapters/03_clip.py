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
# # The clip: stop when you have gone far enough
#
# *Ten epochs on one batch: who says stop?*

# %% [markdown] tags=["two-hours"]
# With the [importance ratio](02_reuse.ipynb) $\rho = \pi / \pi_\text{old}$ you can take many steps from one batch, and
# near the old policy the objective $\rho A$ is right on average. It is also greedy. Here it ruins a nearly perfect
# policy, until one `min` and one `clip` stop it: the heart of *proximal policy optimization* (PPO).

# %% tags=["two-hours", "hide-input"]
from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np
import torch

from ablations import effects_by_rate, style
from chapters.book import (
    at_best_rate,
    begin,
    caption,
    curves,
    evidence,
    label_lines,
    lost_at,
    planted,
    store,
    studies,
)
from chapters.book.ratios import ratios_by_epoch, shares_by_epoch
from chapters.exercises.clip import check_slope, short_surrogate
from tricks import Config, diff, source, train
from tricks.clip import clip_fraction, clipped_surrogate
from tricks.ladder import named

begin()

# %% [markdown] tags=["two-hours"]
# ## One lucky pull
#
# Our three machines pay 1, 2, and 4 on average, but now each payout varies, with a standard deviation of 3. The policy
# already pulls the best machine with probability 0.94 and each of the others with 0.03, which earns 3.85 of 4 possible
# points. A thousand agents each pull fifty times, subtract the mean payout, and take forty steps on that batch with the
# ratio. The gray lines are 200 of them.

# %% tags=["two-hours", "hide-input"]
PAYS = torch.tensor([1.0, 2.0, 4.0])
OLD = torch.tensor([0.03, 0.03, 0.94])


def ten_epochs(surrogate, agents=1000, pulls=50, steps=40, rate=2.0):
    """What each agent's policy would earn, and its largest ratio, before each step on one batch: [steps, agents].

    The third result is the policy after the last step: [agents, 3].
    """
    torch.manual_seed(0)
    action = OLD.expand(agents, 3).multinomial(pulls, replacement=True)
    paid = PAYS[action] + 3 * torch.randn(agents, pulls)
    advantage = paid - paid.mean(1, keepdim=True)
    theta, earned, largest = OLD.log().repeat(agents, 1).requires_grad_(), [], []
    for _ in range(steps):
        earned.append(theta.detach().softmax(1) @ PAYS)
        ratio = theta.softmax(1).gather(1, action) / OLD[action]
        (grad,) = torch.autograd.grad(surrogate(ratio, advantage).mean(1).sum(), theta)
        theta = (theta + rate * grad).detach().requires_grad_()
        largest.append(ratio.detach().amax(1))
    return torch.stack(earned), torch.stack(largest), theta.detach().softmax(1)


free, free_ratio, _ = ten_epochs(lambda ratio, advantage: ratio * advantage)

# %% tags=["two-hours", "hide-input"]
figure, axes = plt.subplots(1, 2, figsize=(7.4, 2.8))
axes[0].plot(free[:, :200], color=style.SOFT, lw=0.4, alpha=0.5)
axes[0].plot(free.mean(1), color=style.COLORS["reuse"], label="mean")
axes[0].set(xlabel="steps on the same batch", ylabel="expected payout")
label_lines(axes[0])
axes[1].plot(free_ratio[:, :200], color=style.SOFT, lw=0.4, alpha=0.5)
axes[1].set(xlabel="steps on the same batch", ylabel="largest ratio in the batch", yscale="log")
plt.show()

ruined = (free[-1] < 3).float().mean().item()
caption(f"On average, agents fall from {OLD @ PAYS:.2f} points to {free[-1].mean():.2f}; {ruined:.0%} end below 3.")
assert free[-1].mean() < 3.75 and ruined > 0.1 and free_ratio.max() > 20

# %% [markdown] tags=["two-hours"]
# Most agents improve a little. The others had a lucky pull or two on a poor machine. The objective is *linear* in the
# ratio: make an action thirty times as likely, and it counts thirty times as much. So they throw away everything they
# knew. And the batch can't object: what the new policy would experience isn't in it.
#
# **The ratio is right on average and worthless once it is large, but the objective pays more the larger it gets.**
#
# ## Stop paying
#
# PPO's cure (Schulman et al. 2017, arXiv:1707.06347) is to stop paying. With a range $\varepsilon$, usually 0.2,
# replace $\rho A$ by
#
# $$L = \min\big(\rho A,\; \operatorname{clip}(\rho, 1 - \varepsilon, 1 + \varepsilon)\, A\big),$$
#
# where $\operatorname{clip}(\rho, \text{low}, \text{high})$ is $\rho$, but never below low and never above high. For
# each sign of $A$, only one side of the range matters:
#
# $$L = \begin{cases} \min(\rho,\, 1 + \varepsilon)\, A & \text{if } A > 0, \\
#                     \max(\rho,\, 1 - \varepsilon)\, A & \text{if } A < 0. \end{cases}$$
#
# **A good action** should become more likely. Up to $\rho = 1 + \varepsilon$ that pays as before. Beyond, $L$ is
# constant, and nothing pulls the action further. But if other steps have made it *less* likely, $L$ is still $\rho A$,
# and its gradient pulls the action back up. **A bad action** is the mirror image.
#
# | | $\rho < 1 - \varepsilon$ | inside | $\rho > 1 + \varepsilon$ |
# |---|---|---|---|
# | $A > 0$ | gradient: repair | gradient | **zero: enough** |
# | $A < 0$ | **zero: enough** | gradient | gradient: repair |

# %% tags=["two-hours"]
source(clipped_surrogate, clip_fraction)

# %% [markdown] tags=["two-hours"]
# Here are the table's four corners, with $\varepsilon = 0.2$ and gradients with respect to $\rho$:

# %% tags=["two-hours", "open"]
ratio = torch.tensor([[1.5, 0.5, 1.5, 0.5]], requires_grad=True)  # [S, B]
advantage = torch.tensor([[1.0, 1.0, -1.0, -1.0]])
objective = clipped_surrogate(ratio, advantage, torch.tensor([0.2]))
(slope,) = torch.autograd.grad(objective.sum(), ratio)
print("objective", objective.detach().numpy().round(2), " gradient", slope.numpy())
torch.testing.assert_close(objective.detach(), torch.tensor([[1.2, 0.5, -1.5, -0.8]]))
assert slope.tolist() == [[0, 1, -1, 0]]

# %% tags=["two-hours", "thumbnail", "hide-input"]
figure, axes = plt.subplots(1, 2, figsize=(6.8, 2.8))
ratios = torch.linspace(0, 2, 201)
for axis, sign, zero in zip(axes, (1.0, -1.0), ((1.2, 2), (0, 0.8)), strict=True):
    clipped = clipped_surrogate(ratios.unsqueeze(0), torch.full((1, 201), sign), torch.tensor([0.2]))[0]
    axis.axvspan(*zero, color=style.FAINT, lw=0)
    axis.plot(ratios, sign * ratios, color=style.SOFT, ls=":")
    axis.plot(ratios, clipped, color=style.COLORS["clip"], lw=2.5)
    axis.plot(1, sign, "o", color=style.INK)
    low = min(0, 2 * sign)
    axis.set(xlabel="ratio ρ", title=f"{'good' if sign > 0 else 'bad'} action: A = {sign:+.0f}", xlim=(0, 2))
    axis.set(ylim=(low - 0.1, low + 2.1), xticks=(0, 0.8, 1, 1.2, 2))
    axis.text(sum(zero) / 2, low + 0.1, "gradient 0", ha="center", color=style.INK)
axes[0].set_ylabel("objective")
axes[0].text(1.55, 1.75, "ρA", color=style.SOFT, ha="right")
axes[0].text(1.95, 1.05, "clipped", color=style.COLORS["clip"], weight="bold", ha="right")
axes[1].text(0.35, -0.3, "ρA", color=style.SOFT)
plt.show()

# %% [markdown] tags=["two-hours"]
# Before the first step, every action stands at the dot. In the direction that pays, the flat part is close. On the
# wrong side, the gradient never vanishes.
#
# **Predict.** The same thousand agents get the same batches, now with the clip. Does it slow down the typical agent or
# the unlucky one? And does the largest ratio stay at 1.2?

# %% tags=["two-hours", "predict", "hide-input"]
epsilon = torch.full((1000,), 0.2)
stopped, stopped_ratio, _ = ten_epochs(lambda ratio, advantage: clipped_surrogate(ratio, advantage, epsilon))

figure, axis = plt.subplots(figsize=(6.5, 2.6))
for share, dashes in ((0.5, "-"), (0.05, "--")):
    said = "median" if share == 0.5 else "5% quantile (dashed)"
    axis.plot(free.quantile(share, 1), dashes, color=style.COLORS["reuse"], label=f"no clip, {said}")
    axis.plot(stopped.quantile(share, 1), dashes, color=style.COLORS["clip"], label=f"clip, {said}")
axis.set(xlabel="steps on the same batch", ylabel="expected payout")
label_lines(axis)
plt.show()
caption(
    f"With the clip, {(stopped[-1] < 3).float().mean():.1%} end below 3. The largest ratio is {stopped_ratio.max():.1f}."
)
assert stopped[-1].mean() > 3.85 and (stopped[-1] < 3).float().mean() < 0.01
assert stopped[-1].median() < free[-1].median() and stopped_ratio[1].max() > 1.5 and stopped_ratio.max() > 3


# %% [markdown] tags=["two-hours"]
# The typical agent pays a little for caution, and the unlucky one keeps what it knew. But the largest ratio is nowhere
# near 1.2.

# %% [markdown]
# ## Not a trust region
#
# A zero gradient stops the *pull* on one action. It doesn't hold the ratio. A step can leap out of the range before the
# clip notices, as the first one does on the machines. Then the other rows still move the ratio, and so does the
# momentum of Adam's earlier steps (Engstrom et al. 2020, arXiv:2005.12729). A method that really bounds how far the
# policy moves has a *trust region*, as PPO's predecessor TRPO does (Schulman et al. 2015, arXiv:1502.05477). PPO only
# stops pushing; [KL early stopping](20_kl_stop.ipynb) is a brake on the policy as a whole.

# %% [markdown] tags=["two-hours"]
# ## Why the min?
#
# $\operatorname{clip}(\rho)\, A$ without the min looks simpler, but its gradient is zero outside the range on *both*
# sides. Suppose other rows have pushed a good action down to $\rho = 0.6$. What does each objective do about it?


# %% tags=["two-hours"]
def repair(surrogate, steps=200):
    """The ratio of a good action that begins at 0.6, step by step."""
    theta, path = torch.tensor([0.3, 0.7]).log().requires_grad_(), []
    for _ in range(steps):
        ratio = theta.softmax(0)[:1] / 0.5
        path.append(ratio.item())
        (grad,) = torch.autograd.grad(surrogate(ratio.unsqueeze(0)).sum(), theta)
        theta = (theta + 0.02 * grad).detach().requires_grad_()
    return path


good, epsilon = torch.ones(1, 1), torch.tensor([0.2])
with_min = repair(lambda ratio: clipped_surrogate(ratio, good, epsilon))
clip_only = repair(lambda ratio: ratio.clamp(0.8, 1.2))

# %% tags=["two-hours", "hide-input"]
caption(f"After 200 steps, the ratio is {with_min[-1]:.2f} with the min, and {clip_only[-1]:.2f} with the clip alone.")
assert with_min[-1] > 1.1 and abs(clip_only[-1] - 0.6) < 1e-6

# %% [markdown] tags=["two-hours"]
# With the clip alone, the batch can't correct what went wrong.

# %% [markdown]
# ## Ten epochs of CartPole
#
# Here is [the last chapter's](02_reuse.ipynb) CartPole agent at a learning rate of 0.003, with the clip and without.

# %% tags=["hide-input"]
batch = Config(seeds=1, steps=4000, lr=0.003, epochs=10)
by_range = {"none": ratios_by_epoch(batch, named("reuse"), update=2)}
for clip_range in (0.05, 0.1, 0.2, 0.4, 0.8):
    by_range[str(clip_range)] = ratios_by_epoch(replace(batch, clip_range=clip_range), named("clip"), update=2)
store("ratios", shares_by_epoch(by_range))

outside = [np.mean(np.abs(by_range[name][-1] - 1) > 0.2) for name in ("none", "0.2")]
caption(
    f"In epoch 10, {outside[0]:.0%} of the ratios are outside 0.8 to 1.2 without the clip, {outside[1]:.0%} with it."
)
assert outside[0] > 1.5 * outside[1] > 0.15

# %% [markdown]
# <!-- mechanism: ratios -->

# %% [markdown] tags=["two-hours"]
# ## What changes in the loop

# %% tags=["two-hours"]
diff(named("reuse"), named("clip"))

# %% [markdown] tags=["two-hours"]
# ## Five agents, ten epochs
#
# Back to CartPole. Both arms train at a bold learning rate, 0.01.

# %% tags=["two-hours"]
config = Config(seeds=5, steps=16_000, lr=0.01, epochs=10)
runs = {"reuse": train(config, named("reuse")), "clip": train(config, named("clip"))}

# %% tags=["two-hours", "hide-input"]
curves(runs)
plt.show()

kl = {name: run.curve.approx_kl.mean() for name, run in runs.items()}
share, largest = runs["clip"].curve.clip_fraction.mean(), runs["clip"].curve.max_ratio.max()
caption(
    f"Mean KL per update: {kl['reuse']:.2f} without the clip, {kl['clip']:.3f} with it. "
    f"With it, the clip fraction is {share:.0%}. "
    f"Largest ratio: {runs['reuse'].curve.max_ratio.max():,.0f} without, {largest:.1f} with."
)
assert runs["clip"].late().mean() > 1.5 * runs["reuse"].late().mean()
assert kl["reuse"] > 5 * kl["clip"] and largest > 1.2 and runs["reuse"].curve.max_ratio.max() > 100

# %% [markdown] tags=["two-hours"]
# The **clip fraction** is the share of ratios outside the range. Near 0 the clip has nothing to do. When it stays
# large, suspect the learning rate or the number of epochs. The **largest ratio** says how much likelier one action has
# become.

# %% [markdown]
# ## Where it helps, and where it hurts
#
# One rate for both arms isn't a fair comparison. The stored runs give each arm its own.

# %% tags=["hide-input"]
evidence("clip").strip()
plt.show()

# %% tags=["hide-input"]
(trial,) = evidence("clip").worlds.itertuples()
rungs = [at_best_rate(Config(), named(name)).lr for name in ("reuse", "clip")]
assert trial.seen == 1 and trial.growth_low > 0 and trial.lr_with > trial.lr_without and rungs[1] > rungs[0]
table = evidence("clip").table
pendulum = table[table.env == "Pendulum-v1"]
assert pendulum.confirmed[pendulum.detected > 0].eq(1).all() and pendulum.difference.max() > 0.5
hurt = table[table.detected < 0].set_index("env")
assert hurt.confirmed.to_dict() == {"Acrobot-v1": 1, "Taxi-v4": 0, "LunarLander-v3": 0}
assert (
    hurt.question["Acrobot-v1"] == "taken out of everything, with clip_anneal" and hurt.difference["Acrobot-v1"] > -0.05
)
rungs = table[(table.kind == "on the rung before") & (table.detected > 0)]
assert set(rungs.env) == {"CartPole-v1", "Pendulum-v1", "LunarLander-v3"} and rungs.confirmed.eq(1).all()

taxi = next(study for study in studies() if study.env.startswith("Taxi"))
by_rate = effects_by_rate(taxi, next(design for design in taxi.designs if design.name == "ladder"))
by_rate = by_rate[by_rate.trick == "clip"].set_index("at").loc[["0.001", "0.003", "0.01", "0.03"]]
assert by_rate.high.max() < 0
assert max(each[0.2] for each in lost_at("clip_range").values()) < 0.05

# %% [markdown]
# The clip helps most on Pendulum and in CartPole with many epochs per batch; there, the clipped arm's best rate is also
# larger. In Acrobot's full set, it costs 0.03, together with [`clip_anneal`](16_annealing.ipynb). Taxi's −0.87 is
# possible because scores can lie below a random policy's, and hatched because other seeds didn't confirm it. But in the
# tuning runs, with one rate for both arms, the clip costs points on Taxi at every rate from 0.001 to 0.03. When
# Engstrom et al. took out the clip, scores fell by 13% on Walker2d and rose by 3% on Humanoid.
#
# All these arms have $\varepsilon = 0.2$, which is good on all three tasks where we [varied it](26_sensitivity.ipynb).

# %% tags=["hide-input"]
evidence("clip")

# %% [markdown]
# ## At a glance
#
# | | |
# |---|---|
# | **problem** | $\rho A$ pays more the further a ratio moves, and nothing says stop |
# | **formula** | $L = \min\big(\rho A,\ \operatorname{clip}(\rho, 1 - \varepsilon, 1 + \varepsilon)\, A\big)$ |
# | **in the loop** | `objective = clipped_surrogate(ratio, advantage, t.clip_range)` |
# | **defaults** | `clip_range` $\varepsilon$ = 0.2; 0.1 for Atari |
# | **watch** | `clip_fraction` and `max_ratio` |
# | **skip it when** | you take one step per batch: every ratio is 1 |
# | **evidence** | Helps as the next rung in CartPole, Pendulum, LunarLander; in the full set (with clip_anneal) in Pendulum; on robots (at one rate; once) in Walker2d. Hurts in the full set (with clip_anneal) in Acrobot. In 3 of 8 environments, these runs can't tell. It helps in the one world made for it, as predicted. |
# | **also called** | the *clipped surrogate objective*, PPO-Clip |

# %% [markdown]
# ## Exercises

# %% [markdown] tags=["two-hours"]
# **Exercise 1: write it.** The derivative of each row's clipped objective with respect to its ratio.


# %% tags=["two-hours"]
def my_slope(ratio, advantage, epsilon):  # [B], [B], a number -> [B]
    ...


check_slope(my_slope)

# %% [markdown] tags=["two-hours"]
# <details><summary>Hint</summary>
#
# For each sign of the advantage, where has a row moved enough? Choose row by row with `torch.where`.
#
# </details>

# %% [markdown]
# **Exercise 2: think.** How large can one row's objective get, and how small? By how much does a bad action's gradient
# grow when its ratio goes from 1 to 30?
#
# <details><summary>Answer</summary>
#
# At most $(1 + \varepsilon) A$, for a good action. A bad one has no lower limit. Since $\nabla \rho = \rho\, \nabla
# \log \pi$, its score counts thirty times as much, and one such row can drown out the rest.
#
# </details>

# %% [markdown]
# **Exercise 3: spot the bug.** Somebody found the original long-winded.

# %%
source(short_surrogate)

# %%
with planted(clipped_surrogate=short_surrogate):
    faulty = train(config, named("clip"))

# %% tags=["hide-input"]
figure, axes = plt.subplots(1, 3, figsize=(9, 2.5))
for axis, name in zip(axes, ("return", "clip_fraction", "max_ratio"), strict=True):
    for run, color, label in ((runs["clip"], style.COLORS["clip"], "right"), (faulty, style.FAULT, "bug")):
        shared = run.curve.groupby("seed")["update"].max().min()  # the last update that every seed has
        mean = run.curve[run.curve["update"] <= shared].groupby("update").mean()
        axis.plot(mean.step / 1000, mean[name], color=color, label=label)
    axis.set(xlabel="steps (thousands)", title=name.replace("_", " "))
    if name == "max_ratio":
        axis.set(yscale="log", ylim=(1, 1000))
    label_lines(axis)
plt.show()
assert faulty.curve.max_ratio.max() > 100 and faulty.curve.approx_kl.mean() > 3 * runs["clip"].curve.approx_kl.mean()

# %% [markdown]
# Here no row outside the range has a gradient. So what can drive the largest ratio into the hundreds? And which panel
# shows the bug in the first update?
#
# <details><summary>Hint</summary>
#
# All rows share the net's weights. What moves a row that has left the range, and what could bring it back?
#
# </details>
#
# A variant limits what a bad action can count: [the dual clip](a3_dual_clip.ipynb).
#
# Solutions: [`solutions/03_clip.py`](solutions/03_clip.py). Next: [GAE](04_gae.ipynb), on how far into the future an
# action is responsible.

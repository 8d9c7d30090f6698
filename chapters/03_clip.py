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
# near the old policy the objective $\rho A$ is right on average. It is also greedy. Here it ruins a policy that was
# nearly perfect, until one `min` and one `clip`, the heart of *proximal policy optimization* (PPO), stop it.

# %% tags=["two-hours", "hide-input"]
from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np
import torch

from ablations import effects_by_rate, story_of, style
from chapters.book import (
    at_best_rate,
    begin,
    best_at,
    curves,
    evidence,
    label_lines,
    lost_at,
    planted,
    store,
    studies,
    swept,
)
from chapters.book.ratios import draw_ratios, ratios_by_epoch, shares_by_epoch
from chapters.exercises.clip import check_floor, check_surrogate, short_surrogate
from tricks import Config, diff, source, train
from tricks.clip import clip_fraction, clipped_surrogate
from tricks.dual_clip import bounded_below, bounded_fraction
from tricks.ladder import named

begin()

# %% [markdown] tags=["two-hours"]
# ## One lucky pull
#
# Our three machines pay 1, 2, and 4 on average, but now each payout varies, with a standard deviation of 3. The policy
# already knows what to do: it pulls the best machine with probability 0.94 and each of the others with 0.03, which
# earns 3.85 of 4 possible points. We pull fifty times, subtract the mean payout, and take forty steps on that batch
# with the ratio. A thousand agents do this, each with its own batch. The gray lines are 200 of them.

# %% tags=["two-hours", "hide-input"]
PAYS = torch.tensor([1.0, 2.0, 4.0])
OLD = torch.tensor([0.03, 0.03, 0.94])


def ten_epochs(surrogate, agents=1000, pulls=50, steps=40, rate=2.0):
    """What each agent's policy would earn, and its largest ratio, after each step on one batch: [steps, agents].

    The third result is the policy after the last step: [agents, 3].
    """
    torch.manual_seed(0)
    action = OLD.expand(agents, 3).multinomial(pulls, replacement=True)
    paid = PAYS[action] + 3 * torch.randn(agents, pulls)
    advantage = paid - paid.mean(1, keepdim=True)
    theta, earned, largest = OLD.log().repeat(agents, 1).requires_grad_(), [], []
    for _ in range(steps):
        ratio = theta.softmax(1).gather(1, action) / OLD[action]
        (grad,) = torch.autograd.grad(surrogate(ratio, advantage).mean(1).sum(), theta)
        theta = (theta + rate * grad).detach().requires_grad_()
        earned.append(theta.detach().softmax(1) @ PAYS)
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
print(f"mean payout: before {(OLD @ PAYS):.2f}, after {free[-1].mean():.2f}")
print(f"agents below 3 points: {ruined:.0%}; largest ratio of any agent: {free_ratio.max():.0f}")
assert free[-1].mean() < 3.75 and ruined > 0.1 and free_ratio.max() > 20

# %% [markdown] tags=["two-hours"]
# (Forty steps are ten epochs of four minibatches, though here each step sees the whole batch.) Most agents improve a
# little. But 17% end below 3 points, typically after a lucky pull or two on a poor machine. The
# objective sees a rare action that paid well, and it is *linear* in the ratio: make the action thirty times as likely,
# and it counts thirty times as much. So the policy throws away everything it knew for one or two lucky pulls. The ratio
# stops near 33 only because $1/0.03$ is as far as it can go. And the batch can't object: what the new policy would
# experience isn't in it. On a task with states there's more to go wrong: the batch holds the states that the old policy
# visits, and the ratio doesn't correct for that.
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
# each sign of $A$, only one side of the range matters. (Multiplying by a negative $A$ reverses the order, so the smaller
# product belongs to the larger ratio.)
#
# $$L = \begin{cases} \min(\rho,\, 1 + \varepsilon)\, A & \text{if } A > 0, \\
#                     \max(\rho,\, 1 - \varepsilon)\, A & \text{if } A < 0. \end{cases}$$
#
# **A good action** should become more likely. Up to $\rho = 1 + \varepsilon$ that pays as before. Beyond, $L$ is
# constant, so its gradient is zero and nothing pulls the action further. If other steps have made it *less* likely,
# even less than $1 - \varepsilon$, then $L$ is still $\rho A$, and its gradient pulls the action back up. **A bad
# action** is the mirror image.
#
# | | $\rho < 1 - \varepsilon$ | inside | $\rho > 1 + \varepsilon$ |
# |---|---|---|---|
# | $A > 0$ | gradient: repair | gradient | **zero: enough** |
# | $A < 0$ | **zero: enough** | gradient | gradient: repair |

# %% tags=["two-hours"]
source(clipped_surrogate, clip_fraction)

# %% [markdown] tags=["two-hours"]
# The four corners by hand, with $\varepsilon = 0.2$ and gradients with respect to $\rho$. For $A = 1$: $\rho = 1.5$
# gives $\min(1.5, 1.2) = 1.2$ with gradient 0, and $\rho = 0.5$ gives $\min(0.5, 0.8) = 0.5$ with gradient 1. For
# $A = -1$: $\rho = 1.5$ gives $\min(-1.5, -1.2) = -1.5$ with gradient $-1$, and $\rho = 0.5$ gives
# $\min(-0.5, -0.8) = -0.8$ with gradient 0.

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
# Before the first step, every action stands at the dot. In the direction that pays, the flat part is close, and an
# action that overshoots isn't pulled back. On the wrong side, the gradient never vanishes.
#
# **Predict.** The same thousand agents get the same batches, now with the clip. Does it slow down the typical agent or
# the unlucky one? And does the largest ratio stay at 1.2?

# %% tags=["two-hours", "predict", "hide-input"]
epsilon = torch.full((1000,), 0.2)
stopped, stopped_ratio, _ = ten_epochs(lambda ratio, advantage: clipped_surrogate(ratio, advantage, epsilon))

figure, axis = plt.subplots(figsize=(6.5, 2.6))
for share, dashes in ((0.5, "-"), (0.05, "--")):
    said = "median" if share == 0.5 else "worst 5%"
    axis.plot(free.quantile(share, 1), dashes, color=style.COLORS["reuse"], label=f"no clip, {said}")
    axis.plot(stopped.quantile(share, 1), dashes, color=style.COLORS["clip"], label=f"clip, {said}")
axis.set(xlabel="steps on the same batch", ylabel="expected payout")
label_lines(axis)
plt.show()
print(f"mean payout after 40 steps: no clip {free[-1].mean():.2f}, clip {stopped[-1].mean():.2f}")
print(f"agents below 3 points: {(stopped[-1] < 3).float().mean():.1%}; largest ratio: {stopped_ratio.max():.1f}")
assert stopped[-1].mean() > 3.85 and (stopped[-1] < 3).float().mean() < 0.01
assert stopped[-1].median() < free[-1].median() and stopped_ratio.max() > 3


# %% [markdown] tags=["two-hours"]
# The typical agent pays a little for caution, and the unlucky one keeps what it knew. But the largest ratio is nowhere
# near 1.2.

# %% [markdown]
# ## Not a trust region
#
# A zero gradient stops the *pull* on one action. It doesn't hold the ratio. Three things still move it: the step that
# crosses the border, which may be long; the optimizer's momentum; and all the other rows, whose gradients change the
# same parameters. Engstrom et al. 2020 (arXiv:2005.12729) measured ratios far outside the range with the clip in place.
#
# A method that really bounds how far the policy moves has a *trust region*. PPO's predecessor TRPO (Schulman et al.
# 2015, arXiv:1502.05477) has one: it solves a constrained problem at every update. PPO just has a strong habit. (If you
# want a brake on the policy as a whole, see [KL early stopping](20_kl_stop.ipynb).)

# %% [markdown] tags=["two-hours"]
# ## Why the min?
#
# $\operatorname{clip}(\rho)\, A$ without the min looks simpler. But its gradient is zero outside the range on *both*
# sides. Suppose the steps of other rows have pushed a good action down to $\rho = 0.6$, on a policy with two actions.
# What does each objective do about it?


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
print(f"after 200 steps: with the min {with_min[-1]:.2f}, clip only {clip_only[-1]:.2f}")
assert with_min[-1] > 1.1 and abs(clip_only[-1] - 0.6) < 1e-6

# %% [markdown] tags=["two-hours"]
# With the min, the action comes back and goes on to $1 + \varepsilon$. With the clip alone it is stuck, and the batch
# can no longer correct the one thing that went wrong.

# %% [markdown]
# ## Ten epochs of CartPole
#
# Here are one agent's ratios in its third batch, epoch by epoch, at a learning rate of 0.003. The gray band is the
# range.

# %%
batch = Config(seeds=1, steps=4000, lr=0.003, epochs=10)
rungs = ("reuse", "clip")
found = {name: ratios_by_epoch(batch, named(name), update=2) for name in rungs}

# %% tags=["hide-input"]
figure, axes = plt.subplots(1, 2, figsize=(6.8, 3), sharey=True)
for axis, (name, epochs) in zip(axes, found.items(), strict=True):
    axis.axvspan(np.log2(0.8), np.log2(1.2), color=style.FAINT, lw=0)
    draw_ratios(axis, epochs, style.COLORS[name])
    axis.set_title("without the clip" if name == "reuse" else "with it")
    outside, largest = np.mean(np.abs(epochs[-1] - 1) > 0.2), epochs[-1].max()
    print(f"{name:5} in epoch 10, {outside:.0%} of the ratios are outside 0.8 to 1.2; the largest is {largest:.1f}")
plt.show()

# %% [markdown]
# Without the clip, the ratios run off. With it, three quarters end inside, and few of the others get far. Here is the
# same batch under other ranges:

# %% tags=["hide-input"]
by_range = {"none": found["reuse"]}
for clip_range in (0.05, 0.1, 0.2, 0.4, 0.8):
    by_range[str(clip_range)] = ratios_by_epoch(replace(batch, clip_range=clip_range), named("clip"), update=2)
for name, epochs in by_range.items():
    print(f"clip range {name:5} largest ratio in epoch 2: {epochs[1].max():5.2f}, in epoch 10: {epochs[-1].max():6.2f}")
store("ratios", shares_by_epoch(by_range))

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

# %% tags=["two-hours", "hide-input"]
for name, run in runs.items():
    ratio, kl = run.curve.max_ratio, run.curve.approx_kl
    print(
        f"{name:5} last tenth {run.late().mean():.0f} points; mean KL {kl.mean():.3f}; largest ratio {ratio.max():.1f}"
    )
share = runs["clip"].curve.clip_fraction.mean()
print(f"clip fraction: {share:.0%} of all ratios lie outside of 1 ± 0.2")
assert runs["clip"].late().mean() > 1.5 * runs["reuse"].late().mean()
assert runs["reuse"].curve.approx_kl.mean() > 5 * runs["clip"].curve.approx_kl.mean()
assert runs["clip"].curve.max_ratio.max() > 1.2

# %% [markdown] tags=["two-hours"]
# The **clip fraction** is the share of ratios outside the range. Near 0 the clip has nothing to do. When it stays
# large, suspect the learning rate or the number of epochs. The **largest ratio** says how much likelier one action
# has become in one batch: a few times with the clip, hundreds or thousands of times without.

# %% [markdown]
# A single rate for both arms isn't a fair comparison. The stored runs give each arm its own.
#
# ## Where it helps, and where it hurts

# %% tags=["hide-input"]
evidence("clip").strip()
plt.show()

# %% tags=["hide-input"]
(trial,) = evidence("clip").worlds.itertuples()
print(f"{trial.place}: best rate without the clip {trial.lr_without:g}, with it {trial.lr_with:g}")
print(f"difference as a share of the best score, by epochs: {trial.doses}")
rungs = [at_best_rate(Config(), named(name)).lr for name in ("reuse", "clip")]
print(f"CartPole-v1, on the rung before: best rate without it {rungs[0]:g}, with it {rungs[1]:g}")
assert trial.seen == 1 and trial.growth_low > 0 and trial.lr_with > trial.lr_without and rungs[1] > rungs[0]
table = evidence("clip").table
pendulum = table[table.env == "Pendulum-v1"]
assert pendulum.confirmed.eq(1).all() and pendulum.difference.max() > 0.5

# %% [markdown]
# On the right, in CartPole with twenty epochs per batch, the clip clearly helps. With four it helps less, and with one
# least. The rates are part of the reason: here the clipped arm can take larger steps without falling. In the usual
# environments Pendulum gains most, in all three rows, and did so again on other seeds. (In the row *alone*, nothing is
# learned there with or without the clip. Tuning just ended at a rate of 1 without it, where most agents diverge, and at
# 0.003 with it.) As the next rung, the clip also helps on CartPole and LunarLander, and both were confirmed. Of three
# robots, a gain is detected on one, Walker2d (ten seeds, not tried again).
#
# No cell is red. Two would be, had the second try confirmed them, both in the row *alone*: Taxi's −0.87 and LunarLander's
# −0.06. Here are the runs of both:

# %% tags=["hide-input"]
hurt = {(row.env, row.kind) for row in table[table.detected < 0].itertuples()}
stuck = {}
for study in studies():
    for design in study.designs:
        for pair in design.comparisons:
            if pair.trick != "clip" or (study.env, story_of(design).mark.meaning) not in hurt:
                continue
            print(f"{study.env}, {story_of(design).mark.meaning}")
            for name, arm in (("without", pair.without), ("with", pair.having)):
                last, rate = study.grid(arm).iloc[:, -10:], study.of(arm).lr.iloc[0]
                same, lost = ((last == -200).to_numpy().mean(), (last < -1900).to_numpy().mean())
                print(f"  {name:8} rate {rate:g}, last tenth {last.mean().mean():.0f}", end="; ")
                print(f"exactly -200: {same:.0%}, below -1900: {lost:.0%}")
                stuck[study.env, name] = same, lost
assert hurt == {("Taxi-v4", "alone, on what it needs"), ("LunarLander-v3", "alone, on what it needs")}
assert stuck["Taxi-v4", "without"][0] > 0.8 and min(stuck["Taxi-v4", "with"]) > 0.3

at = {}
for env, name, rates in (
    ("Taxi", "ladder", (0.001, 0.003, 0.01, 0.03)),
    ("LunarLander", "add-one-in", (0.0003, 0.001)),
):
    study = next(study for study in studies() if study.env.startswith(env))
    by_rate = effects_by_rate(study, next(design for design in study.designs if design.name == name))
    at[env] = by_rate[by_rate.trick == "clip"].set_index("at").loc[[f"{rate:g}" for rate in rates]]
    print(f"{env}, {name}, by rate:", ", ".join(f"{row.Index} {row.difference:+.2f}" for row in at[env].itertuples()))
assert at["Taxi"].high.max() < 0 and at["LunarLander"].difference.abs().max() < 0.02
assert table[table.detected < 0].confirmed.eq(0).all()
rungs = table[(table.kind == "on the rung before") & (table.detected > 0)]
assert set(rungs.env) == {"CartPole-v1", "Pendulum-v1", "LunarLander-v3"} and rungs.confirmed.eq(1).all()
robots = table[table.subject == "continuous"].set_index("env").verdict
assert robots.to_dict() == {"Hopper-v5": "unknown", "Walker2d-v5": "helps", "HalfCheetah-v5": "unknown"}

# %% [markdown]
# - **Taxi.** Every step costs 1, and a wrong pickup or drop-off 10, so a random policy scores far below −200. Without
#   the clip, the policy soon just drives until the time is up: 200 steps, exactly −200. As the next rung, with one rate
#   for both arms, the clip slows this down, and costs points at each rate from 0.001 to 0.03 (ten tuning seeds each).
#   For the clip alone, tuning settled on a gamble: at a rate of 0.3 the policy commits to one action at once. For most
#   agents that is driving, and for most of the others a wrong pickup at every step, which scores almost −2000. (On 30
#   other seeds fewer lost, and the effect wasn't confirmed.) Neither arm learns to deliver a passenger.
# - **LunarLander.** The tuned rates differ, 0.001 without the clip and 0.0003 with it. With either of them for both
#   arms, ten tuning seeds can't tell the arms apart, and on 30 other seeds the tuned arms scored alike.

# %% tags=["hide-input"]
evidence("clip")

# %% [markdown]
# All these arms have $\varepsilon = 0.2$. Here are sweeps over $\varepsilon$, the epochs, and the learning rate, drawn
# as in the last chapter.

# %% tags=["hide-input"]
swept("clip_range")
plt.show()

best, lost = best_at("clip_range"), lost_at("clip_range")
assert lost["CartPole-v1"].loc[0.1:].max() < 0.05 and max(each[0.2] for each in lost.values()) < 0.05
assert best["Acrobot-v1"][0.05] < best["Acrobot-v1"].loc[0.1:0.4].min() - 100
assert best["Acrobot-v1"][0.8] < best["Acrobot-v1"][0.2] - 30
assert best["Pendulum-v1"][0.8] < best["Pendulum-v1"][0.2] - 400
assert best["Pendulum-v1"][[0.05, 0.4]].max() < best["Pendulum-v1"][0.2] - 90


# %% [markdown]
# If the epochs and the learning rate are tuned along with it, anything from 0.1 to 0.8 will do on CartPole. On
# Pendulum, 0.05 and 0.4 cost about a hundred points, and 0.8 most of the score, whatever the rate and the number of
# epochs. On Acrobot, 0.05 costs a hundred, and 0.8 seems to cost some, too (its interval is wide). The usual 0.2 is
# good in all three.
#
# Elsewhere the clip isn't always ahead either: Engstrom et al. report 3292, 2513, and 806 points for PPO on Walker2d,
# Hopper, and Humanoid, and 2867, 2371, and 831 without the clip.

# %% [markdown]
# ## At a glance
#
# | | |
# |---|---|
# | **problem** | the objective $\rho A$ pays more the further a ratio moves, and nothing in a batch says stop |
# | **formula** | $L = \min\big(\rho A,\ \operatorname{clip}(\rho, 1 - \varepsilon, 1 + \varepsilon)\, A\big)$ |
# | **in the loop** | `objective = clipped_surrogate(ratio, advantage, t.clip_range)` |
# | **defaults** | `clip_range` $\varepsilon$ = 0.2; 0.1 for Atari |
# | **watch** | `clip_fraction` and `max_ratio` |
# | **skip it when** | you take a single gradient step per batch: every ratio is 1 |
# | **also called** | the *clipped surrogate objective*, PPO-Clip |

# %% [markdown]
# ## Exercises

# %% [markdown] tags=["two-hours"]
# **Exercise 1: write it.** The clipped objective of each row, for one number `epsilon`.


# %% tags=["two-hours"]
def my_surrogate(ratio, advantage, epsilon):  # [B], [B], a number -> [B]
    ...


check_surrogate(my_surrogate)

# %% [markdown] tags=["two-hours"]
# <details><summary>Hint</summary>
#
# Compute both products for all rows, and take the smaller one row by row: `torch.minimum`, `torch.clamp`.
#
# </details>

# %% [markdown]
# **Exercise 2: think.** Set `epochs=1, minibatches=1`. How often does the clip act? What does that say about the
# gradient of the very first minibatch of any update?
#
# <details><summary>Answer</summary>
#
# Never. On the first minibatch the policy is still the one that played, so every ratio is 1 and nothing is clipped. Its
# gradient is always that of REINFORCE with a baseline. With one epoch of one minibatch there's no second one, whatever
# $\varepsilon$ is.
#
# </details>

# %% [markdown]
# **Exercise 3: spot the bug.** The author of this version thought the original was long-winded and shortened it.

# %%
source(short_surrogate)

# %%
with planted(clipped_surrogate=short_surrogate):
    faulty = train(config, named("clip"))

# %% tags=["hide-input"]
figure, axes = plt.subplots(1, 3, figsize=(9, 2.5))
for axis, name in zip(axes, ("return", "clip_fraction", "max_ratio"), strict=True):
    for run, color, label in ((runs["clip"], style.COLORS["clip"], "right"), (faulty, style.INK, "bug")):
        shared = run.curve.groupby("seed")["update"].max().min()  # the last update that every seed has
        mean = run.curve[run.curve["update"] <= shared].groupby("update").mean()
        axis.plot(mean.step / 1000, mean[name], color=color, label=label)
    axis.set(xlabel="steps (thousands)", title=name)
    if name == "max_ratio":
        axis.set(yscale="log", ylim=(1, 1000))
    label_lines(axis)
plt.show()
for label, run in (("right", runs["clip"]), ("bug", faulty)):
    print(f"{label:5} KL {run.curve.approx_kl.mean():.3f}, clip fraction {run.curve.clip_fraction.mean():.2f}")
assert faulty.curve.approx_kl.mean() > 3 * runs["clip"].curve.approx_kl.mean()

# %% [markdown]
# Don't rely on the returns of five agents. What do the other two panels say, and in which of the four corners of the
# table does this function differ?
#
# <details><summary>Hint</summary>
#
# You have met this objective above. What happens to a row that other rows have pushed to the wrong side?
#
# </details>
#
# Solutions: [`solutions/03_clip.py`](solutions/03_clip.py). Next: [GAE](04_gae.ipynb), which asks how far into the
# future an action should be held responsible.

# %% [markdown]
# ## Going further
#
# One more flag belongs to this chapter. It puts a floor under bad actions, which the clip leaves without one.
#
# ### Dual clip: a floor for bad actions
#
# How much can one row count? A good action never earns more than $(1 + \varepsilon) A$. But for a bad one, $\rho A$
# goes on falling as $\rho$ grows, and its gradient is $\rho A\, \nabla \log \pi$: if other rows have made a bad action
# a hundred times as likely, its score counts a hundred times. Ye et al. 2020 (arXiv:1912.09729), whose batches came
# from many older policies, put a floor under it. In the library this is the flag `dual_clip`, with $c$ =
# `dual_clip_limit` = 3 (it must be more than 1):
#
# $$L_\text{dual} = \begin{cases} L & \text{if } A > 0, \\
#                     \max(L,\; cA) = \min\big(\max(\rho,\, 1 - \varepsilon),\, c\big)\, A & \text{if } A < 0. \end{cases}$$

# %%
source(bounded_below, bounded_fraction)

# %% [markdown]
# Of the four corners only one changes, the repair of a bad action. By hand, with $c = 3$ and $A = -1$: $\rho = 2$ still
# gives $-2$ with gradient $-1$, but $\rho = 5$ gives $\max(-5, -3) = -3$ with gradient 0. So beyond $c$ the row no
# longer calls the action back. That is the price.

# %% tags=["hide-input"]
wide = torch.linspace(0, 5, 501)
figure, axes = plt.subplots(1, 2, figsize=(6.8, 2.8))
for axis, sign in zip(axes, (1.0, -1.0), strict=True):
    row = torch.full((1, 501), sign)
    clipped = clipped_surrogate(wide.unsqueeze(0), row, torch.tensor([0.2]))
    bounded = bounded_below(clipped, row, 3.0)
    axis.plot(wide, clipped[0], color=style.COLORS["clip"], lw=2.5)
    axis.plot(wide, bounded[0], color=style.COLORS["dual_clip"], lw=2.5, ls="--")
    low = min(0, 5 * sign)
    axis.set(xlabel="ratio ρ", title=f"{'good' if sign > 0 else 'bad'} action: A = {sign:+.0f}", xlim=(0, 5))
    axis.set(ylim=(low - 0.2, low + 5.2), xticks=(0, 1, 2, 3, 4, 5))
axes[0].set_ylabel("objective")
axes[0].text(2.0, 1.5, "both", color=style.INK)
axes[1].axvspan(3, 5, color=style.FAINT, lw=0)
axes[1].text(3.95, -2.7, "dual clip:\ngradient 0", color=style.COLORS["dual_clip"], weight="bold", ha="center")
axes[1].text(3.6, -4.6, "clip", color=style.COLORS["clip"], weight="bold", ha="right")
plt.show()
torch.testing.assert_close(bounded[0, [200, 500]], torch.tensor([-2.0, -3.0]))

# %% [markdown]
# Does anything get that far? Where the old policy gave two actions equal chances, $\rho$ can't exceed 2. But a rare
# action has room: up to $1/0.03 = 33$ on our three machines. (The policies of [continuous
# actions](21_continuous_actions.ipynb) have no limit at all.)
#
# **Predict.** The thousand agents get the same batches again, with steps 15 times as long, which is too long. Where
# there is a floor, it acts on less than 0.1% of the rows, averaged over the steps. Does the floor matter?

# %% tags=["hide-input"]
epsilon, acted = torch.full((1000,), 0.2), []


def clipped(ratio, advantage):
    return clipped_surrogate(ratio, advantage, epsilon)


def floored(ratio, advantage):
    acted.append(((ratio > 3) & (advantage < 0)).float().mean().item())
    return bounded_below(clipped(ratio, advantage), advantage, 3.0)


hasty = {"clip": ten_epochs(clipped, rate=30.0), "dual_clip": ten_epochs(floored, rate=30.0)}

# %% tags=["predict", "hide-input"]
figure, axis = plt.subplots(figsize=(6.5, 2.6))
far = {}
for name, (earned, _, policy) in hasty.items():
    kl = (OLD * (OLD / policy).log()).sum(1).sort(descending=True).values
    far[name] = (kl > 2).sum().item()
    axis.plot(range(1, 31), kl[:30], "o", color=style.COLORS[name], label=name)
    print(f"{name:9} mean payout {earned[-1].mean():.2f}; KL above 2 nats in {far[name]} of 1000 agents", end=", ")
    print(f"at most {kl.max():.1f}, median {kl.median():.2f}")
axis.set(xlabel="the agents that moved furthest", ylabel="KL from the old policy (nats)", xlim=(0, 31), ylim=(0, None))
label_lines(axis)
plt.show()
print(f"rows beyond the floor: {np.mean(acted):.3%}")
assert far["clip"] >= 5 * far["dual_clip"] and 0 < np.mean(acted) < 0.001
assert abs(hasty["clip"][0][-1].mean() - hasty["dual_clip"][0][-1].mean()) < 0.01

# %% [markdown]
# The typical agent doesn't notice. But without the floor, a few agents are thrown much further. We take the cause to be
# the few rows with large ratios: a bad action that other rows have made likely is pushed back with up to 33 times its
# weight.

# %% tags=["hide-input"]
evidence("dual_clip").strip()
plt.show()

# %% tags=["hide-input"]
tried = evidence("dual_clip").worlds.iloc[0]
print(f"{tried.place}, {tried.seeds} seeds, mean over training: ", end="")
print(f"{tried.without:.0f} without the floor, {tried['with']:.0f} with it")
print(f"difference {tried.difference:+.0f}, 95% interval {tried.low:+.1f} to {tried.high:+.0f}")
assert tried.seen == 0 and tried.difference > 0 > tried.low and tried.rate == 0.01

# %% [markdown]
# In the stored trial, on Pendulum, no effect on the score is detected. The mean is higher with the floor, but the interval
# just includes 0. That would fit if the floor guards against steps that are far too large, which a lower rate also
# prevents. We haven't compared the two.

# %% tags=["hide-input"]
evidence("dual_clip")

# %% [markdown]
# **Question.** With $c = 1 + \varepsilon$, which objective from this chapter would a bad action have?
#
# <details><summary>Answer</summary>
#
# $\operatorname{clip}(\rho)\, A$ without the min: outside the range the gradient is zero on both sides, so a bad action
# that has become more likely is never called back. With $c < 1$ it wouldn't even have a gradient at $\rho = 1$, so the
# library insists on $c > 1$.
#
# </details>
#
# **Exercise 4: write it.** The dual clip: put its floor under the clipped objective of each row.


# %%
def my_floor(clipped, advantage, c):  # [B], [B], a number -> [B]
    ...


check_floor(my_floor)

# %% [markdown]
# <details><summary>Hint</summary>
#
# `torch.where` picks the rows, `torch.maximum` makes the floor. Check a row with $A = -1$ by hand, for $\rho = 2$ and
# for $\rho = 5$.
#
# </details>

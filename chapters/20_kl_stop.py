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
# # KL early stopping: a limit on the whole policy
#
# *The clip limits every action on its own. What limits the policy as a whole?*
#
# The [clip](03_clip.ipynb) decides row by row. KL early stopping looks at the whole batch: when the policy has moved
# too far since it played, it takes no more steps.

# %% tags=["hide-input"]
from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np
import torch

from ablations import flags, interval, style, table
from chapters.book import begin, curves, evidence, label_lines, planted
from chapters.book.ratios import ratios_by_epoch
from chapters.book.results import trials
from chapters.exercises.kl_stop import check_near_enough, check_steps, forgetful_stop
from tricks import Config, diff, source, train
from tricks.core.adam import Adam
from tricks.kl_stop import near_enough
from tricks.ladder import named

begin()

# %% [markdown]
# ## Two ways to say "too far"
#
# The clip takes away the reward for moving a row's ratio $\rho$ beyond $1 \pm \varepsilon$. For the whole policy, the
# usual distance is the KL divergence, estimated from the same ratios (as in [reuse](02_reuse.ipynb)):
#
# $$\text{KL} \approx \operatorname{mean}(\rho - 1 - \log \rho) .$$
#
# How large is one term, and how does it compare with the clip's range?

# %% tags=["hide-input"]
figure, axis = plt.subplots(figsize=(6.5, 2.6))
ratios = torch.linspace(0.5, 1.6, 221)
axis.axvspan(0.8, 1.2, color=style.FAINT, lw=0)
axis.text(1.0, 0.11, "the clip's range", ha="center", color=style.INK)
axis.plot(ratios, ratios - 1 - ratios.log(), color=style.COLORS["kl_stop"])
axis.plot(ratios, (ratios - 1).square() / 2, color=style.INK, ls=":")
axis.axhline(0.015, color=style.INK, lw=1)
axis.text(0.51, 0.018, "limit for the mean", color=style.INK)
axis.text(1.61, 0.13, "ρ − 1 − log ρ", color=style.COLORS["kl_stop"], weight="bold")
axis.text(1.46, 0.125, "½(ρ − 1)²", color=style.INK, ha="right")
axis.set(xlabel="ratio ρ of a row", ylabel="a row's term (nats)", xlim=(0.5, 1.6), ylim=(0, 0.14))
plt.show()

# %% [markdown]
# Near 1 a term is a parabola: put $\rho = 1 + x$ and use $\log(1 + x) \approx x - x^2/2$. What's left is
#
# $$\rho - 1 - \log \rho \approx \tfrac12 (\rho - 1)^2 .$$
#
# So a limit of 0.015 allows a root mean square of $\sqrt{2 \cdot 0.015} \approx 0.17$, close to the clip's usual 0.2.
# The two brakes act at about the same distance, one on each row, the other on the average.
#
# Take four batches of a hundred rows:
#
# 1. Half of the ratios are 1.15, half 0.85.
# 2. One is 4, the others 1.
# 3. Twenty are 0.7, the others 1.
# 4. Half are 1.19, half 0.81.

# %% tags=["hide-input"]
batches = torch.ones(4, 100)  # [S, B]: one batch per row, as if each were a seed
batches[0, :50], batches[0, 50:] = 1.15, 0.85
batches[1, 0] = 4.0
batches[2, :20] = 0.7
batches[3, :50], batches[3, 50:] = 1.19, 0.81
goes_on = near_enough(batches, torch.ones(4, 100, dtype=torch.bool), target_kl=0.01)

for k, ratio in enumerate(batches):
    kl, outside = (ratio - 1 - ratio.log()).mean(), ((ratio - 1).abs() > 0.2).sum()
    said = "goes on" if goes_on[k] else "stops"
    print(f"batch {k + 1}: KL {kl:.4f}, {said:7}; {outside:2} rows outside the clip's range")
assert goes_on.tolist() == [True, False, True, False]

# %% [markdown]
# In order: neither brake acts, both do, only the clip, only the KL stop. The clip silences single rows; the KL stop
# ends the batch.
#
# ## In the library

# %%
source(near_enough)

# %%
stop = replace(named("reuse"), kl_stop=True)  # without the clip
diff(named("reuse"), stop)

# %% [markdown]
# A seed that has stopped stays stopped until the next batch. The KL is measured before each step, so the step that
# crosses the limit is still taken.
#
# ## One batch, forty steps
#
# One agent takes forty steps on its whole first batch.
#
# **Predict.** What does the KL do with no brake, the clip, the KL stop, and both? Which curves come back down?

# %%
both = replace(named("clip"), kl_stop=True)
reuse, clip = named("reuse"), named("clip")
arms = {"reuse": reuse, "clip": clip, "kl_stop": stop, "clip + kl_stop": both}
colors = [*(style.COLORS[name] for name in ("reuse", "clip", "kl_stop")), style.SOFT]
first = Config(seeds=1, steps=1, lr=0.001, epochs=40, minibatches=1)
moved = {}
for name, tricks in arms.items():
    moved[name] = ratios_by_epoch(first, tricks, update=0)

# %% tags=["predict", "thumbnail", "hide-input"]
kl = {name: [np.mean(ratio - 1 - np.log(ratio)) for ratio in steps] for name, steps in moved.items()}
figure, axis = plt.subplots(figsize=(6.5, 3))
for (name, values), color in zip(kl.items(), colors, strict=True):
    axis.plot(range(1, 41), values, color=color, label=name)
axis.axhline(1.5 * Config.target_kl, color=style.INK, ls=":", lw=1)
axis.set(xlabel="step on the first batch", ylabel="approx_kl (nats)", ylim=(0, 0.04))
axis.lines[0].set_label("")
axis.text(9.2, 0.037, "reuse", color=colors[0], weight="bold", size=9)
label_lines(axis)
axis.lines[0].set_label("reuse")
plt.show()

assert kl["reuse"][-1] > 0.5
assert max(kl["clip"]) > 0.015 > 1.3 * kl["clip"][-1]
for name in ("kl_stop", "clip + kl_stop"):
    assert 0.015 < max(kl[name]) < 1.001 * kl[name][-1]

# %% [markdown]
# With the clip alone, the KL overshoots the dotted limit and then *comes back*: a row that moved against its advantage
# still has its gradient. With the KL stop it freezes. With both, it freezes in the middle of the overshoot, which the
# clip alone would have repaired.
#
# ## Eight agents, four arms
#
# Now train on CartPole with forty steps per batch (ten epochs of four minibatches).

# %%
config = Config(seeds=8, steps=16_000, lr=0.003, epochs=10)
runs = {name: train(config, tricks) for name, tricks in arms.items()}


# %% tags=["hide-input"]
def by_batch(run):
    """Means over the seeds, batch by batch, as long as every seed has one."""
    shared = run.curve.groupby("seed")["update"].max().min()
    return run.curve[run.curve["update"] <= shared].groupby("update").mean()


figure, axes = plt.subplots(1, 2, figsize=(8.4, 2.8))
for (name, run), color in zip(runs.items(), colors, strict=True):
    means = by_batch(run)
    axes[0].plot(means.step / 1000, means.approx_kl, color=color, label=name)
    said = {"reuse": "", "clip": "clip, reuse"}.get(name, name)
    axes[1].plot(means.step / 1000, 40 * means.steps_taken.fillna(1.0), color=color, label=said)
axes[0].axhline(1.5 * Config.target_kl, color=style.INK, ls=":", lw=1)
axes[0].set(ylabel="approx_kl (nats)", yscale="log")
axes[1].set(ylabel="steps taken per batch", ylim=(0, 42))
for axis in axes:
    axis.set(xlabel="environment steps (thousands)")
    label_lines(axis)
plt.show()

# %% tags=["hide-input"]
curves(runs)
plt.show()

ends = {name: run.late().mean() for name, run in runs.items()}
assert ends["clip"] > 1.3 * max(ends["kl_stop"], ends["clip + kl_stop"])
means = by_batch(runs["clip"])
above = means.step[means.approx_kl > 1.5 * Config.target_kl]
assert 1_500 < above.min() < 2_500 and 5_000 < above.max() < 6_500 and means.approx_kl.iloc[-1] < 0.008
assert runs["clip"].curve.approx_kl.mean() < 1.5 * Config.target_kl
assert runs["reuse"].curve.approx_kl.mean() > 5 * max(runs[name].curve.approx_kl.mean() for name in list(arms)[1:])
assert runs["kl_stop"].curve.steps_taken.mean() < runs["clip + kl_stop"].curve.steps_taken.mean() < 0.5

# %% [markdown]
# All three brakes keep the KL small, though the clip is above the dotted limit from about 2,000 to 6,000 steps. But the
# KL stop gets only a handful of steps out of each batch. The clip takes all forty, ends well below the limit, and
# learns the most.
#
# ## What else stands still
#
# Why does stopping cost so much? The optimizer holds both nets. When the policy stops, so does the value net, although
# nothing is wrong with *its* steps. Here is an optimizer whose value net goes on, as in OpenAI's Spinning Up:


# %%
class ValueGoesOn(Adam):
    """Two optimizers in one: the policy's stops with its seed, the other goes on."""

    def __init__(self, parameters, eps):
        self.parameters = list(parameters)  # first the policy's, then the value net's
        half = len(self.parameters) // 2
        self.policy = Adam(self.parameters[:half], eps)
        self.value = Adam(self.parameters[half:], eps)

    def step(self, gradient, learning_rate, moving):
        ours = sum(self.policy.sizes)
        self.policy.step(gradient[:, :ours], learning_rate, moving)
        self.value.step(gradient[:, ours:], learning_rate, torch.ones_like(moving))


with planted(Adam=ValueGoesOn):
    stopping = ("kl_stop", "clip + kl_stop")
    unfrozen = {name: train(config, arms[name]) for name in stopping}

# %% tags=["hide-input"]
for name, run in unfrozen.items():
    for said, each in (("stops too", runs[name]), ("goes on", run)):
        explained, late = each.curve[each.curve.step > 8_000].explained_variance.mean(), each.late()
        print(f"{name:14} value net {said:9}: explained variance {explained:.2f}, last tenth {late.mean():.0f}")
        assert explained < 0.1 or (said == "goes on" and explained > 0.3)
    late, seen = zip(
        *(
            (each.late(), each.curve[each.curve.step > 8_000].groupby("seed").explained_variance.mean())
            for each in (runs[name], run)
        ),
        strict=True,
    )
    assert late[1].mean() > late[0].mean() and interval((seen[1] - seen[0]).to_numpy())[0] > 0.1
assert interval((unfrozen["kl_stop"].late() - runs["kl_stop"].late()).to_numpy())[0] < 0
clipped = runs["clip"].curve[runs["clip"].curve.step > 8_000].explained_variance.mean()
assert clipped < 0.6 and ends["clip"] > max(run.late().mean() for run in unfrozen.values())

# %% [markdown]
# If it stops, the value net explains next to nothing. Let it go on, and it clearly explains more. Both scores rise on
# average; for `kl_stop`, eight agents can't be sure of it. Neither arm reaches the clip alone. **So if you use a KL
# stop, see whether your value net stops with it.**
#
# ## Our prediction
#
# We expected `kl_stop` to help on CartPole with twenty epochs per batch and no clip.

# %% tags=["hide-input"]
evidence("kl_stop").strip()
plt.show()

# %% tags=["hide-input"]
(trial,) = evidence("kl_stop").worlds.itertuples()
found = next(each for each in trials() if each.trial.trick == "kl_stop")
spread = {}
for name, side in (("without", found.without), ("with", found.having)):
    area, late = found.scores(side), side["late"]
    spread[name] = area.std(), late.std()
assert trial.seen == 0 and trial.low < 0 < trial.high
assert spread["with"][0] < spread["without"][0] / 2 and spread["with"][1] < spread["without"][1] / 1.8

# %% [markdown]
# It didn't come true: no effect on the area under the curve is detected. With the brake, the seeds differ less, as we
# noticed only afterward.

# %% tags=["hide-input"]
evidence("kl_stop")

# %% [markdown]
# The tuning runs, at seven learning rates, say more about why:

# %% tags=["hide-input"]
rows = table().query("env == 'CartPole-v1' and steps == 50_000 and numbers == 'lanes=16 epochs=20'")
tuned = {name: rows[rows.tricks == flags(arms[name])].set_index("lr") for name in ("reuse", "clip", "kl_stop")}
bounds = {
    name: np.transpose([interval(np.array(each.split(), float)) for each in part.areas]) for name, part in tuned.items()
}

figure, axes = plt.subplots(1, 2, figsize=(8.4, 2.8), sharey=True)
for axis, score, said in zip(axes, ("area", "late"), ("area under the curve", "last tenth of training"), strict=True):
    for name, part in tuned.items():
        axis.plot(part.index, part[score], "o-", color=style.COLORS[name], label=name)
        if score == "area":  # of the last tenth, only the mean is stored
            axis.fill_between(part.index, *bounds[name], color=style.COLORS[name], alpha=0.15, lw=0)
    axis.set(xscale="log", xlabel="learning rate", title=said, ylim=(0, 510))
    label_lines(axis)
axes[0].set_ylabel("points per episode")
plt.show()
assert (bounds["clip"][0] > bounds["kl_stop"][1])[:5].all() and (tuned["clip"].late > 1.1 * tuned["kl_stop"].late)[
    :5
].all()
assert (bounds["kl_stop"][0] < bounds["reuse"][1]).all() and list(tuned["clip"].index[:5])[-1] == 0.03
larger, smaller = [0.003, 0.01, 0.03], [0.0003, 0.001]
gained = tuned["kl_stop"].late - tuned["reuse"].late
assert (gained[larger] > 50).all() and (gained[smaller].abs() < 20).all()
assert [tuned[name].area.idxmax() for name in ("reuse", "kl_stop")] == [0.001, 0.003]

# %% [markdown]
# The band is a 95% interval. From 0.003 to 0.03, agents end up higher with the brake, but get there slowly: the area
# doesn't grow. Up to 0.03, the clip is ahead of it.
#
# ## Using it
#
# - **Use it on top of the clip as a fuse.** Set the target so that `steps_taken` stays near 100%. At a few percent,
#   lower the learning rate or the number of epochs.
# - **Don't use it in place of the clip.** Nothing above argues for that. PPO's own paper found a softer brake, a KL
#   penalty, worse than the clip (Schulman et al. 2017, arXiv:1707.06347).
# - **It measures one minibatch.** An unlucky one can stop a seed that was fine.
# - **Know your limit.** In CleanRL it is `target_kl`, in stable-baselines3 and here 1.5 times that.

# %% [markdown]
# ## At a glance
#
# | | |
# |---|---|
# | **problem** | late steps on a batch move the policy too far from the one that played |
# | **formula** | step only while $\operatorname{mean}(\rho - 1 - \log \rho) \le 1.5\, d$, with $d$ the target |
# | **in the loop** | `t.moving = t.moving & near_enough(ratio, b.valid, config.target_kl)` |
# | **defaults** | `target_kl` $d$ = 0.01, so the limit is 0.015 nats |
# | **watch** | `steps_taken`: near 100% the brake is idle; at a few percent, a batch is wasted |
# | **skip it when** | the clip already keeps `approx_kl` small |
# | **evidence** | In 3 of 3 environments, these runs can't tell. It does nothing detectable in the one world made for it. |
# | **also called** | `target_kl`, PPO with early stopping |

# %% [markdown]
# ## Exercises
#
# **Exercise 1: write it.** May this agent take its step on this minibatch? Estimate the KL divergence from the
# log-probabilities of the actions taken.


# %%
def my_near_enough(log_prob, old_log_prob, target_kl):  # [B], [B], a number -> a bool
    ...


check_near_enough(my_near_enough)

# %% [markdown]
# <details><summary>Hint</summary>
#
# `log_prob - old_log_prob` is $\log \rho$.
#
# </details>
#
# **Exercise 2: count the steps.** Given the KL at every minibatch of a batch, measured before its step, how many steps
# does the agent take?


# %%
def my_steps(kl, target_kl):  # [epochs, minibatches], a number -> a count
    ...


check_steps(my_steps)

# %% [markdown]
# <details><summary>Hint</summary>
#
# You have to get out of two nested loops.
#
# </details>
#
# <details><summary>Answer</summary>
#
# It's the number of minibatches before the first one over the limit. A plain `break` only ends the epoch.
#
# </details>
#
# **Exercise 3: spot the bug.** This version has the KL divergence in its textbook form, and trains without a complaint.

# %%
source(forgetful_stop)

# %%
with planted(near_enough=forgetful_stop):
    faulty = train(config, stop)

# %% tags=["hide-input"]
UNITS = {"return": "points per episode", "approx_kl": "nats", "steps_taken": "share of 40"}
figure, axes = plt.subplots(1, 3, figsize=(9, 2.5))
for axis, name in zip(axes, UNITS, strict=True):
    for run, color, label in ((runs["kl_stop"], style.COLORS["kl_stop"], "right"), (faulty, style.FAULT, "bug")):
        means = by_batch(run)
        axis.plot(means.step / 1000, means[name], color=color, label=label)
    axis.set(xlabel="steps (thousands)", title=name.replace("_", " "), ylabel=UNITS[name])
    if name == "approx_kl":
        axis.set_yscale("log")
    label_lines(axis)
plt.show()
assert faulty.curve.steps_taken.mean() > 0.9 and faulty.curve.approx_kl.mean() > 0.15

# %% [markdown]
# The returns don't give it away. Which two numbers can't both be right? And what's wrong with the formula?
#
# <details><summary>Hint</summary>
#
# Who drew the rows of the batch? What is the mean of $\log \rho$ under that policy?
#
# </details>
#
# Solutions: [`solutions/20_kl_stop.py`](solutions/20_kl_stop.py). Next: [continuous
# actions](21_continuous_actions.ipynb), where the policy is a Gaussian.

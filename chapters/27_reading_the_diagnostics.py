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
# # Reading the diagnostics: guess the fault
#
# *The curve is flat, or lower than the paper's. Which number says why?*
#
# Broken reinforcement learning rarely crashes. It learns a little worse and looks like bad luck. In this chapter we
# break the training loop in five ways, without telling you which is which. Six numbers give each fault away.

# %% tags=["hide-input"]
import matplotlib.pyplot as plt
import numpy as np
import torch

from ablations import style
from chapters.book import begin, caption, curves, planted
from chapters.exercises.diagnostics import FAULTS, check_diagnosis, check_kl, patients
from tricks import PPO, Config, train
from tricks.baseline import explained_variance
from tricks.clip import clip_fraction
from tricks.reuse import drift

begin()

# %% [markdown]
# ## One of these three is healthy
#
# `planted(name=wrong)` swaps one function of the training loop for a wrong one. Here is PPO on CartPole, once sound and
# five times faulty.

# %% tags=["hide-input"]
tricks = PPO
config = Config("CartPole-v1", seeds=5, steps=20_000, lr=0.003)

runs = {"sound": train(config, tricks)}
for name, fault in FAULTS.items():
    with planted(**fault):
        runs[name] = train(config, tricks)
shown = dict(zip("ABC", (runs[name] for name in ("summed", "crossed", "sound")), strict=True))

# %% [markdown]
# **Predict.** Here are three of the six. In one, all losses are hundreds of times too large. In another, the value net
# learns only a constant. Which curve is sound?

# %% tags=["predict", "hide-input"]
curves(shown)
plt.show()

# %% [markdown]
# You can't tell: C is sound. **A curve says at best that something is wrong, never what.** So the loop notes six more
# numbers per update and seed:
#
# | number | what it is | what a sound run shows |
# |---|---|---|
# | `approx_kl` | mean KL from the policy that played, in nats | about 0.001 to 0.02 |
# | `clip_fraction` | share of ratios outside $[1-\varepsilon, 1+\varepsilon]$ | a few percent to a fifth |
# | `max_ratio` | largest ratio $\pi/\pi_\text{old}$ | 1.2 to a few |
# | `entropy` | how undecided the policy is, up to $\log n$ for $n$ actions | falls slowly from the top |
# | `explained_variance` | share of the returns' variance that $V$ predicts | rises from 0 (a constant) toward 1; below 0 at times, when returns are nearly alike |
# | `grad_norm` | the gradient's length before clipping | falls at first, then steady, around `max_grad_norm` or below |
#
# These ranges are habits, not laws: in published PPO code, single ratios reach 17 to 30 (Engstrom et al. 2020,
# arXiv:2005.12729).
#
# The KL is estimated by the mean of $\rho - 1 - \log \rho$ over the rows played, with $\rho = \pi / \pi_\text{old}$, as
# in [reuse](02_reuse.ipynb). It is 0 where no probability has moved, and never negative.

# %% tags=["hide-input"]
ratio, valid = torch.tensor([[1.0, 1.5, 0.5]]), torch.ones(1, 3, dtype=torch.bool)
value, target = torch.tensor([[1.0, 2, 3]]), torch.tensor([[11.0, 12, 13]])
kl, outside = drift(ratio, valid)["approx_kl"], clip_fraction(ratio, torch.tensor([0.2]), valid)
explained = explained_variance(value, target, valid)
caption(f"Ratios 1, 1.5, 0.5 with ε = 0.2: KL {kl.item():.4f}, clip fraction {outside.item():.2f}.")
caption(f"Predictions 1, 2, 3 of returns 11, 12, 13 explain {explained.item():.0%}: a constant offset doesn't count.")
torch.testing.assert_close(kl, torch.tensor([0.0959]), atol=1e-4, rtol=0)
torch.testing.assert_close(outside, torch.tensor([2 / 3]))
torch.testing.assert_close(explained, torch.tensor([1.0]))

# %% [markdown]
# ## Five faults, five suspects
#
# The suspects, in alphabetical order:
#
# - **The clip is gone.** The surrogate is $\rho A$ without its brake.
# - **The entropy bonus has the wrong sign,** and is too large.
# - **The ratio forgets who played.** Every minibatch recomputes the old log-probabilities from the current policy.
# - **Sums instead of means.** Every loss is multiplied by the number of samples.
# - **The value net sees crossed targets.** Predictions of shape `[B, 1]` meet targets of shape `[B]`, and the
#   difference is broadcast to `[B, B]`.
#
# Gray is the sound run, red the faulty one. Lines are medians over five seeds; bands show the full range. In each
# figure, find the panels in which the two part, and name the fault before you open the answer.


# %% tags=["hide-input"]
ORDER = ("forgetful", "crossed", "unclipped", "summed", "malus")  # as they appear below
diagnostics = ["approx_kl", "clip_fraction", "max_ratio", "entropy", "explained_variance", "grad_norm"]


def trace(axis, run, name, color):
    """The median over seeds of a diagnostic, and its range, in twenty slices of the budget."""
    curve = run.curve.assign(slice=np.ceil(run.curve.step / run.config.steps * 20).clip(1, 20))
    by_seed = curve.pivot_table(name, "slice", "seed", aggfunc="median")
    x = by_seed.index * run.config.steps / 20_000
    axis.fill_between(x, by_seed.min(axis=1), by_seed.max(axis=1), color=color, alpha=0.2, lw=0)
    axis.plot(x, by_seed.median(axis=1), color=color, lw=1.6)


def compare(fault, logarithmic=()):
    """All diagnostics of a faulty run over those of the sound one."""
    name = ORDER[fault - 1]
    figure, axes = plt.subplots(2, 3, figsize=(7.5, 3.6), sharex=True)
    for axis, number in zip(axes.flat, diagnostics, strict=True):
        trace(axis, runs["sound"], number, style.SOFT)
        trace(axis, runs[name], number, style.FAULT)
        axis.set_title(number, size=9)
        if number in logarithmic:
            axis.set_yscale("log")
    axes[1, 1].set_ylim(max(-1, axes[1, 1].get_ylim()[0]), 1)
    figure.supxlabel("environment steps (thousands)", size=9)
    plt.show()


def median(name, number, share=(0, 1)):
    """A diagnostic's median over all seeds and updates between two shares of the budget."""
    curve = runs[name].curve
    part = curve[curve.step.between(*(end * config.steps for end in share))]
    return part[number].median()


# %% [markdown]
# **Fault 1**

# %% tags=["thumbnail", "hide-input"]
compare(1)

# %% [markdown]
# <details><summary>Which one is it?</summary>
#
# The ratio forgets who played. Every ratio is 1, so the KL is *exactly* 0 while the policy is learning. Nothing is ever
# clipped, nothing is held back, and the entropy plunges. **A number that looks too good is a symptom.**
#
# Only at an update's *first* minibatch must the ratio be 1. If it isn't, the policy that acts is not the one that
# learns. The log keeps the largest, so check with `epochs=1, minibatches=1`.
#
# </details>
#
# **Fault 2**

# %% tags=["hide-input"]
compare(2)

# %% [markdown]
# <details><summary>Which one is it?</summary>
#
# The value net sees crossed targets. After the first few updates, everything looks healthy but explained variance,
# which stays near 0: the net has found the best constant. That was run B: CartPole can be learned with a constant
# baseline.
#
# </details>
#
# **Fault 3**

# %% tags=["hide-input"]
compare(3, logarithmic=("approx_kl", "max_ratio"))

# %% [markdown]
# <details><summary>Which one is it?</summary>
#
# The clip is gone. `approx_kl` is many times too high, and single ratios shoot up. That's how *steps that are too
# large* look, whatever the cause. A policy that gets tossed around also ends up overconfident.
#
# </details>
#
# **Fault 4**

# %% tags=["hide-input"]
compare(4, logarithmic=("grad_norm", "entropy"))

# %% [markdown]
# <details><summary>Which one is it?</summary>
#
# Sums instead of means. The gradient is far too long, and the logged entropy is a sum, too: with two actions, its mean
# can't exceed $\log 2 = 0.69$. The curve of run A doesn't show it: the gradient is cut to length 0.5, and Adam divides
# by its size. You pay when somebody changes the batch size or turns the gradient clip off.
#
# </details>
#
# **Fault 5**

# %% tags=["hide-input"]
compare(5)

# %% [markdown]
# <details><summary>And this one?</summary>
#
# The entropy bonus has the wrong sign. The entropy falls to almost nothing, and the policy no longer explores.
# Explained variance *rises*, which isn't a good sign: a policy without surprises is easy to predict. **No diagnostic
# means anything alone.**
#
# </details>

# %% tags=["hide-input"]
late = {name: run.late().mean() for name, run in runs.items()}
assert min(late["summed"], late["crossed"]) > 0.6 * late["sound"]
middle, half, end = (0.3, 1.0), (0.5, 1.0), (0.7, 1.0)
assert runs["forgetful"].curve.approx_kl.abs().max() < 1e-9
assert runs["forgetful"].curve.clip_fraction.max() == 0
assert median("forgetful", "entropy", half) < 0.2 * median("sound", "entropy", half)
assert median("crossed", "explained_variance", middle) < 0.15 < median("sound", "explained_variance", middle)
assert median("unclipped", "approx_kl") > 5 * median("sound", "approx_kl")
assert median("unclipped", "max_ratio") > 2 * median("sound", "max_ratio")
assert median("unclipped", "entropy", half) < 0.7 * median("sound", "entropy", half)
assert median("summed", "grad_norm") > 50 * median("sound", "grad_norm")
assert median("malus", "entropy", end) < 0.4 * median("sound", "entropy", end)
assert median("malus", "explained_variance", end) > median("sound", "explained_variance", end) + 0.1

# %% [markdown]
# ## A table for the wall
#
# | symptom | look for |
# |---|---|
# | `approx_kl`, `max_ratio` far too high | learning rate, epochs, a missing or wrong clip, unnormalized advantages |
# | `approx_kl` or `clip_fraction` exactly 0 | old log-probabilities from the wrong policy, a learning rate of 0, a detached loss |
# | `max_ratio` isn't 1 at the first minibatch | acting and learning differ: mask, observation statistics, dropout |
# | `entropy` falls to 0 at once | step size, sign or size of the bonus, advantages too large |
# | `entropy` stays at $\log n$ | no learning signal: rewards never seen, advantages 0, too large a bonus |
# | `explained_variance` stays at 0 | broadcast in the value loss, untrained value net, targets out of its reach |
# | `explained_variance` below 0 for long | targets and predictions in different units, wrong episode ends |
# | `grad_norm` off by powers of ten | sums instead of means, reward scale, exploding values |
# | `policy_loss` is negative | nothing wrong: standardized advantages start each update at 0, and gains push it below |
# | `value_loss` is huge | squared returns are: judge it by `explained_variance`, and try `return_norm` |
# | the return gets worse after a peak | a rate that is never annealed, steps too large (`approx_kl`), entropy near 0; `Evaluation(every=5000, keep_best=True)` keeps each seed's best agent |
#
# They can fool you. **They are averages:** one ruined state in a hundred hardly shows in `approx_kl`, which is why
# there is also `max_ratio`. And **they see only what the policy visits.** Anywhere else, anything may be wrong.

# %% [markdown]
# ## At a glance
#
# | | |
# |---|---|
# | **problem** | the learning curve says that something is wrong, but never what |
# | **formula** | $\mathrm{KL} = \mathbb{E}_\text{old}[(\rho - 1) - \log \rho]$, and five other numbers |
# | **in the loop** | `t.note_tricks(b, ratio=ratio, advantage=advantage)` <br> `t.note(has_rows, grad_norm=norm)` |
# | **defaults** | always on; one value per update and seed, in `run.curve` |
# | **watch** | the difference from a run you trust, on the same environment |
# | **skip it when** | never |
# | **also called** | health metrics, training statistics |

# %% [markdown]
# ## Exercises
#
# **Exercise 1: write it.** Compute `approx_kl` of a batch. You know only the log-probability of each action, under the
# policy and under the one that played.


# %%
def my_kl(log_prob, old_log_prob):  # [B], [B] -> a number
    ...


check_kl(my_kl)

# %% [markdown]
# <details><summary>Hint</summary>
#
# The logarithm of a quotient is a difference. No row's number is negative, even where $\rho < 1$.
#
# </details>
#
# **Exercise 2: three patients.** Each has one fault:
#
# 1. a learning rate ten times as high,
# 2. an entropy bonus far too large,
# 3. advantages that run on through deaths, as if no episode ended.
#
# Below are medians over each run, without its beginning. Write the faults' numbers into the function.

# %%
patients(config, tricks)[["return", *diagnostics]].round(3)


# %%
def my_diagnosis(patient):
    return {"X": None, "Y": None, "Z": None}[patient]


check_diagnosis(my_diagnosis)

# %% [markdown]
# <details><summary>Hint</summary>
#
# Find the patient whose steps are too large, then the one whose entropy is too close to $\log 2$. The third needs an
# explanation for its explained variance: what do the later episodes of a lane have to do with this state?
#
# </details>
#
# **Exercise 3: break it yourself.** `planted` replaces any function that `tricks/loop.py` calls. Break something that
# the table doesn't list, and find the number that gives it away.
#
# <details><summary>Hint</summary>
#
# Start with the wrong sign: import `standardize` from `tricks.advantage_norm`, and plant
# `standardize=lambda advantage, valid: -standardize(advantage, valid)`. Then try something subtler, such as `shorten`,
# the gradient clip, without a limit. If no number gives it away, you have found a diagnostic that this library lacks.
#
# </details>
#
# Solutions: [`solutions/27_reading_the_diagnostics.py`](solutions/27_reading_the_diagnostics.py). Next: [your own
# trick](28_your_own_trick.ipynb).

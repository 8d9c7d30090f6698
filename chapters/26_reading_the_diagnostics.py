# %% [markdown]
# # Reading the diagnostics
#
# *The curve is flat, or lower than the paper's. Which number says why?*
#
# Broken reinforcement learning rarely crashes. It learns a little worse, and looks like bad luck. This chapter breaks
# the training loop on purpose, five times, and looks at the numbers that betray each fault. At the end there are three
# patients for you to diagnose.

# %%
import matplotlib.pyplot as plt
import numpy as np
import torch

from ablations import style
from book import begin, curves, planted
from exercises.diagnostics import FAULTS, check_diagnosis, check_explained_variance, patients
from tricks import PPO, Config, source, train
from tricks.baseline import explained_variance
from tricks.clip import clip_fraction
from tricks.ladder import switched
from tricks.reuse import drift

begin()

# %% [markdown]
# ## Two broken runs that look fine
#
# Here is a sound run of PPO on CartPole, with the value net learning standardized returns, and two in which one function
# of the loop was replaced by a wrong one. Can you tell which is which?

# %%
tricks = switched([name for name in PPO.on if name != "lr_anneal"] + ["return_norm"])
config = Config("CartPole-v1", seeds=5, steps=30_000, lr=0.003)

runs = {"sound": train(config, tricks)}
for name, fault in FAULTS.items():
    with planted(**fault):
        runs[name] = train(config, tricks)

curves({"A": runs["summed"], "B": runs["crossed"], "C": runs["sound"]})
plt.show()
late = {name: run.late().mean() for name, run in runs.items()}
assert min(late["summed"], late["crossed"]) > 0.6 * late["sound"]

# %% [markdown]
# The intervals overlap everywhere; nobody could. (C is the sound one.) In A every mean over a minibatch is a sum, so all
# losses are hundreds of times too large. In B the value net learns nothing but a constant. **The curve says that something is
# wrong, at best. It never says what.** For that, the loop notes six numbers at every update, for each seed:

# %%
diagnostics = ["approx_kl", "clip_fraction", "max_ratio", "entropy", "explained_variance", "grad_norm"]
runs["sound"].curve.query("seed == 0")[["step", "return", *diagnostics]].iloc[::8].round(3)

# %% [markdown]
# ## What they measure
#
# | number | what it is | where sound runs are |
# |---|---|---|
# | `approx_kl` | how far the policy is from the one that played, in nats, averaged over the update's minibatches | about 0.001 to 0.02 |
# | `clip_fraction` | share of samples whose ratio has left $[1-\varepsilon, 1+\varepsilon]$ | some percent to a fifth |
# | `max_ratio` | the largest ratio $\pi/\pi_\text{old}$ of any sample | 1.2 to a few |
# | `entropy` | how undecided the policy is; at most $\log A$ for $A$ actions | falls slowly from the top |
# | `explained_variance` | how much of the returns' variance the value net predicts | rises; 1 is perfect, 0 a constant; below 0 now and then, when an update's returns are nearly alike |
# | `grad_norm` | length of the gradient, before any clipping | steady, of the order of `max_grad_norm` |
#
# The ranges are habits, not laws; they depend on the environment. What counts is the change against a run that you trust.
#
# One of the formulas needs a word; it is that of the chapter on [reuse](02_reuse.ipynb). The divergence from the old policy to the new one is
# $\mathrm{KL} = \mathbb{E}_\text{old}[\log \pi_\text{old} - \log \pi] = \mathbb{E}_\text{old}[-\log \rho]$ with the ratio
# $\rho = \pi / \pi_\text{old}$. A mean of $-\log \rho$ over few samples is often negative, which a divergence cannot be. But
# $\mathbb{E}_\text{old}[\rho] = \sum_a \pi_\text{old}\, \pi / \pi_\text{old} = 1$, so we may add $\rho - 1$, whose mean is 0:
#
# $$\mathrm{KL} = \mathbb{E}_\text{old}\big[(\rho - 1) - \log \rho\big].$$
#
# Now every single term is at least 0, because the logarithm lies below its tangent, $\log \rho \le \rho - 1$. Same mean, never
# negative, and, while the policies are close, less noise (Schulman 2020, "Approximating KL Divergence").

# %%
source(drift, clip_fraction, explained_variance)

# %% [markdown]
# By hand, with ratios 1, 1.5 and 0.5 and ε = 0.2: two of three are outside, so the clip fraction is ⅔. The three terms
# of the KL are 0, $0.5 - \log 1.5 = 0.0945$ and $-0.5 + \log 2 = 0.1931$; their mean is 0.0959. And predictions of 1, 2,
# 3 for returns of 11, 12, 13 explain *all* of the variance: a constant offset does not count.

# %%
ratio, valid = torch.tensor([[1.0, 1.5, 0.5]]), torch.ones(1, 3, dtype=torch.bool)
moved = drift(ratio, valid)
clipped = clip_fraction(ratio, torch.tensor([0.2]), valid)
explained = explained_variance(torch.tensor([[1.0, 2, 3]]), torch.tensor([[11.0, 12, 13]]), valid)
print(
    f"approx_kl {moved['approx_kl'].item():.4f}, clip_fraction {clipped.item():.3f}, explained {explained.item():.1f}"
)
torch.testing.assert_close(moved["approx_kl"], torch.tensor([0.0959]), atol=1e-4, rtol=0)
torch.testing.assert_close(clipped, torch.tensor([2 / 3]))
torch.testing.assert_close(explained, torch.tensor([1.0]))

# %% [markdown]
# ## Five faults
#
# Each row below is one fault: the median over five seeds, and the range from the lowest seed to the highest. Gray is the
# sound run. Look for the panel in which the two part.


# %%
def trace(axis, run, name, color):
    """The median over seeds of a diagnostic, and its range, in twenty slices of the budget."""
    curve = run.curve.assign(slice=np.ceil(run.curve.step / run.config.steps * 20).clip(1, 20))
    by_seed = curve.pivot_table(name, "slice", "seed", aggfunc="median")
    x = by_seed.index * run.config.steps / 20_000
    axis.fill_between(x, by_seed.min(axis=1), by_seed.max(axis=1), color=color, alpha=0.2, lw=0)
    axis.plot(x, by_seed.median(axis=1), color=color, lw=1.6)


def compare(name, logarithmic=()):
    """All diagnostics of a faulty run over those of the sound one."""
    figure, axes = plt.subplots(1, 6, figsize=(11, 2))
    for axis, number in zip(axes, diagnostics, strict=True):
        trace(axis, runs["sound"], number, style.SOFT)
        trace(axis, runs[name], number, style.FAULT)
        axis.set_title(number, size=9)
        if number in logarithmic:
            axis.set_yscale("log")
    axes[4].set_ylim(max(-1, axes[4].get_ylim()[0]), 1)
    figure.supxlabel("environment steps (thousands)", size=9)
    plt.show()


def median(name, number, share=(0, 1)):
    """A diagnostic's median over all seeds and updates between two shares of the budget."""
    curve = runs[name].curve
    part = curve[curve.step.between(*(end * config.steps for end in share))]
    return part[number].median()


# %% [markdown]
# **1. The clip is gone.** The surrogate is $\rho A$ without its brake.

# %%
compare("unclipped", logarithmic=("approx_kl", "max_ratio"))
print(
    f"median of approx_kl: {median('sound', 'approx_kl'):.4f} sound, {median('unclipped', 'approx_kl'):.4f} unclipped"
)
assert median("unclipped", "approx_kl") > 5 * median("sound", "approx_kl")
assert median("unclipped", "max_ratio") > 2 * median("sound", "max_ratio")

# %% [markdown]
# `approx_kl` is an order of magnitude too high, and single ratios shoot up. This is the signature of *steps that are too
# large*, whatever their cause: no clip, too high a learning rate, too many epochs. Look at entropy, too: a policy that
# is thrown about ends up sure of itself.
#
# **2. The ratio forgets who played.** The old log-probabilities are recomputed at every minibatch, from the policy of
# that minibatch, so every ratio is 1.

# %% tags=["thumbnail"]
compare("forgetful")
assert runs["forgetful"].curve.approx_kl.abs().max() < 1e-9
assert runs["forgetful"].curve.clip_fraction.max() == 0

# %% [markdown]
# A KL of *exactly* zero while the policy is learning. Nothing ever needs clipping, so nothing is ever held back: the
# entropy plunges. A diagnostic that looks too good is a symptom. So is its opposite: the ratio at the *first*
# minibatch of an update must be 1; if it is not, the policy which acts is not the policy which learns (a mask, a
# normalization or dropout in one of them only). The log keeps the largest ratio of the whole update, so look at it with
# `epochs=1, minibatches=1`.
#
# **3. The entropy bonus has the wrong sign,** and is too large.

# %%
compare("malus")
end = (0.7, 1.0)
print(
    f"entropy at the end: {median('sound', 'entropy', end):.3f} sound, {median('malus', 'entropy', end):.3f} with the malus"
)
assert median("malus", "entropy", end) < 0.4 * median("sound", "entropy", end)

# %% [markdown]
# Entropy falls to nothing early: the policy is as good as deterministic, explores no more, and what it has by then is
# what it keeps. Explained variance *rises*, and there is nothing good about it: a policy without surprises is easy
# to predict. **No diagnostic means anything alone.**
#
# **4. The value net learns the mean of all targets.** This is the classic of tensor code: predictions of shape `[B, 1]`
# meet targets of shape `[B]`, the difference is broadcast to `[B, B]`, and no error is raised.

# %%
compare("crossed")
middle = (0.3, 1.0)
found = median("sound", "explained_variance", middle), median("crossed", "explained_variance", middle)
print(f"explained variance: {found[0]:.2f} sound, {found[1]:.2f} crossed")
assert found[1] < 0.15 < found[0]

# %% [markdown]
# Everything looks healthy but one number. Explained variance sits at 0: the net has found the best constant, and stays
# there. The advantages are then what they would be with a constant for a baseline, and CartPole is kind enough to be learned anyway.
# This was run B above.
#
# **5. Sums instead of means.** Every loss is multiplied by the number of samples.

# %%
compare("summed", logarithmic=("grad_norm", "entropy"))
print(f"gradient norm: {median('sound', 'grad_norm'):.2f} sound, {median('summed', 'grad_norm'):.0f} summed")
assert median("summed", "grad_norm") > 50 * median("sound", "grad_norm")

# %% [markdown]
# The gradient is hundreds of times too long (and a mean entropy above $\log 2 = 0.69$ is impossible for two actions). The
# curve does not care: the gradient is cut to a length of 0.5 anyway, and Adam divides by its size. Run A was this one.
# The price comes later, when somebody changes the batch size, or switches the clipping off.
#
# ## A table for the wall
#
# | symptom | look for |
# |---|---|
# | `approx_kl`, `max_ratio` far too high | learning rate, number of epochs, a missing or wrong clip, advantages that were never normalized |
# | `approx_kl` exactly 0, or `clip_fraction` always 0 | old log-probabilities taken from the wrong policy; a learning rate of 0 at the end of annealing; a detached loss |
# | `max_ratio` above 1 at the very first minibatch | acting and learning see different things: mask, observation statistics, dropout |
# | `entropy` falls to 0 at once | step size, sign or size of the bonus, advantages too large |
# | `entropy` stays at $\log A$ | no learning signal: rewards never seen, advantages 0, a bonus that is too large |
# | `explained_variance` stays at 0 | broadcast in the value loss, a value net that is not trained, targets out of its reach |
# | `explained_variance` below 0 for many updates | targets and predictions in different units; an end of an episode that is not one, or the reverse |
# | `grad_norm` off by powers of ten | sums for means, reward scale, exploding values |
#
# ## When they mislead
#
# - **There are no universal ranges.** With noisy rewards even a perfect value net explains little. On long horizons
#   `approx_kl` of 0.05 may be fine. Compare with a run that you trust, on the same environment.
# - **They are averages.** `approx_kl` is small when one state in a hundred has been ruined. `max_ratio` is there for that:
#   in sound, published PPO code single ratios reach 17 to 30 (Engstrom et al. 2020, arXiv:2005.12729).
# - **They see the data that the policy collects.** A policy which never visits the interesting half of the world has
#   beautiful diagnostics in the other half.
#
# The stored ablations keep returns only, so there is no table of effects for this chapter. `python -m tricks train ppo
# --out runs/x` writes all of these columns to `runs/x/curve.csv`.
#
# ## Exercises
#
# **Exercise 1: write it.** The explained variance of predictions for returns, $1 - \mathrm{Var}(G - V) / \mathrm{Var}(G)$,
# for one seed, all rows valid.


# %%
def my_explained_variance(value, target):  # [B], [B] -> a number
    ...


check_explained_variance(my_explained_variance)

# %% [markdown]
# **Exercise 2: three patients.** Each has one fault:
#
# 1. the learning rate is far too large,
# 2. the entropy bonus is far too large,
# 3. the advantages run on through deaths: nothing stops at the end of an episode.
#
# Below are medians over the run, but for its beginning. Which is which? Write the numbers of your diagnosis into the function.

# %%
patients(config, tricks)[["return", *diagnostics]].round(3)


# %%
def my_diagnosis(patient):
    return {"X": None, "Y": None, "Z": None}[patient]


check_diagnosis(my_diagnosis)

# %% [markdown]
# **Exercise 3: break it yourself.** `planted(name=wrong)` replaces any function that `tricks/loop.py` calls. Break
# something that the table above does not list, and find the number that betrays it. If there is none, you have found a
# diagnostic that this library lacks.
#
# Solutions: [`solutions/26_reading_the_diagnostics.py`](solutions/26_reading_the_diagnostics.py). Back to
# [the map](README.md).

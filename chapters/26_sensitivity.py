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
# # Sensitivity: an effect depends on the dials
#
# *How much does the clip help? At which learning rate?*

# %% [markdown] tags=["two-hours"]
# Take the rung `reuse`, several epochs per batch without a clip, and the rung `clip` above it. At one learning rate,
# the clip adds next to nothing. At another, it adds three quarters of the way from a random policy to the ceiling. A
# table with one number per trick shows one of the two.

# %% tags=["two-hours", "hide-input"]
from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np
from IPython.display import Markdown

from ablations import (
    GRID,
    RESULTS,
    SCALES,
    area,
    common_rate,
    effects,
    effects_by_rate,
    flags,
    markdown,
    on_grid,
    rate_map,
    rows_of,
    style,
    varied,
)
from ablations.findings import stored_sweeps, subject_of
from chapters.book import begin, caption, label_lines, lost_at, studies, swept
from chapters.exercises.sensitivity import check_good_range, pooled_interval
from tricks import PPO, Config, source, train
from tricks.ladder import named

begin()
cartpole = studies()[0]
ladder = next(design for design in cartpole.designs if design.name == "ladder")

# %% [markdown] tags=["two-hours"]
# ## Two tuning curves
#
# Every arm is tuned at seven rates. A dotted line marks its best mean.
#
# **Predict.** At which rates is the clip worth a lot? If each arm may pick its own best rate, how much of the gap is
# left?


# %% tags=["two-hours", "hide-input"]
def tuning_scores(name):
    """An arm's scores on the tuning seeds: a rate of the grid -> one normalized area per seed."""
    scale = SCALES[cartpole.env]
    rows = rows_of(cartpole.env, cartpole.steps, "", flags(named(name)))
    areas = {row.lr: np.array(row.areas.split()[:10], float) for row in rows.itertuples() if row.lr in GRID}
    return {lr: (areas[lr] - scale.random) / (scale.ceiling - scale.random) for lr in GRID}


# %% tags=["two-hours", "predict", "thumbnail", "hide-input"]
arms = {name: tuning_scores(name) for name in ("reuse", "clip")}
figure, axis = plt.subplots(figsize=(6.5, 3.2))
for name, arm in arms.items():
    color, means = style.COLORS[name], [arm[lr].mean() for lr in GRID]
    axis.plot(GRID, means, "o-", color=color, ms=4, label=name)
    for lr in GRID:
        axis.plot([lr] * len(arm[lr]), arm[lr], ".", color=color, alpha=0.25, ms=5)
    axis.axhline(max(means), color=color, lw=0.8, ls=":")
axis.set(xscale="log", xlabel="learning rate", ylabel="normalized area", ylim=(-0.05, 1))
axis.set_xticks(GRID, [f"{lr:g}" for lr in GRID])
axis.set_xticks([], minor=True)
label_lines(axis)
plt.show()

# %% [markdown] tags=["two-hours"]
# At 0.001 the two are close. At 0.01 one is near the top and the other has collapsed. The dotted lines are much closer:
# without a clip you just take a smaller rate. So "the effect" is one of four numbers. Take three learning rates, with
# scores of 300, 150, and 50 without a trick and 310, 350, and 400 with it:
#
# - **at a given rate**: +10, +200, or +350.
# - **at a common rate**, the best for both together: +10.
# - **each arm at its own best**: $400 - 300 = +100$.
# - **over the grid**: the mean difference, +187.

# %% tags=["two-hours", "hide-input"]
without, having = np.array([300, 150, 50]), np.array([310, 350, 400])
gap = having - without
assert (gap[(having + without).argmax()], having.max() - without.max(), round(gap.mean())) == (10, 100, 187)

# %% [markdown] tags=["two-hours"]
# If you took your rate from a paper, read the effect at that rate; if you tune every arm, at each one's own best. The
# mean over the grid depends on where the grid ends: at 0.3, all arms collapse. If you can't tune, read the columns near
# the rates that people use.
#
# ## Every trick at every rate
#
# The last column is what [the whole ladder](25_the_whole_ladder.ipynb) showed. With so many cells, the map corrects
# over all of them at once, by the false discovery rate.

# %% tags=["two-hours", "hide-input"]
by_rate = effects_by_rate(cartpole, ladder)
rate_map(by_rate, ladder, common_rate(cartpole))
plt.show()

at = by_rate.pivot_table(index="trick", columns="at", values="difference")
rates = [f"{lr:g}" for lr in GRID]
assert at.loc["clip", "0.001"] < 0.05 < 0.7 < at.loc["clip", "0.01"]
assert at.loc["clip", "own best"] < 0.2 < at.loc["clip", "over all"]
assert at.loc["reuse", "0.001"] > 0.4 and at.loc["reuse", "0.01"] < -0.4
assert at.loc["bootstrap", rates].abs().max() < 0.1
assert by_rate.query("at == '0.3'")[["without", "with"]].max().max() < 0.2
(pendulum,) = (study for study in studies() if study.env == "Pendulum-v1")
there = effects_by_rate(pendulum, ladder).query("trick == 'clip'").set_index("at").difference
assert there["own best"] > 2 * there["over all"]

# %% [markdown] tags=["two-hours"]
# `reuse` takes sixteen gradient steps where there was one: speed at a small rate, a crash at a large one. `clip` is the
# brake for exactly that. **On CartPole it buys a decent score at a rate you didn't tune, more than a higher score at
# the rate you did.** On Pendulum, it's the other way around. And `bootstrap` adds less than 0.1 at any rate.

# %% [markdown] tags=["two-hours"]
# `lr` in `Config` may be a list with one rate per seed. Here is PPO with and without its clip: the mean area under the
# curve ± the seeds' standard deviation.

# %% tags=["two-hours"]
few = (0.001, 0.003, 0.01, 0.03)
lr = tuple(np.repeat(few, 5).tolist())  # 0.001 five times, 0.003 five times, ...
config = Config("CartPole-v1", seeds=20, lr=lr, steps=30_000)
for name, tricks in (("ppo", PPO), ("without clip", replace(PPO, clip=False))):
    run = train(config, tricks)
    curves = on_grid(run.curve, config.steps, run.diverged)  # all at the same steps
    areas = area(curves).to_numpy().reshape(4, 5)  # [rates, seeds]
    each = zip(few, areas.mean(1), areas.std(1, ddof=1), strict=True)
    said = [f"{rate:g}: {mean:.0f} ± {spread:.0f}" for rate, mean, spread in each]
    print(f"{name:12}", *said, sep="  ")

# %% [markdown] tags=["two-hours"]
# ## Picking a rate is a measurement, too
#
# The rate with the best mean is partly the rate with the luckiest seeds. Ten thousand times, draw $n$ of the stored
# tuning scores of `clip` at each rate, pick the best mean, and compare it with what that rate is worth: its mean over
# all stored seeds.
#
# **Predict.** With three seeds per rate, how often do you pick the rate that is best by all seeds?

# %% tags=["two-hours", "predict", "hide-input"]
rng = np.random.default_rng(0)
true = np.array([arms["clip"][lr].mean() for lr in GRID])
lines = [("seeds per rate", *rates, "promised", "worth", "too good by")]
optimism = {}
for n in (1, 3, 10):
    drawn = np.stack([rng.choice(arms["clip"][lr], (10_000, n)).mean(1) for lr in GRID], axis=1)  # [10000, rates]
    pick = drawn.argmax(axis=1)
    optimism[n] = drawn.max(axis=1).mean() - true[pick].mean()
    picked = [f"{(pick == k).mean():.0%}" for k in range(len(GRID))]
    lines.append(
        (f"{n}", *picked, f"{drawn.max(axis=1).mean():.3f}", f"{true[pick].mean():.3f}", f"{optimism[n]:+.3f}")
    )
assert optimism[1] > optimism[3] > optimism[10] > 0
Markdown(markdown(lines))

# %% [markdown] tags=["two-hours"]
# With three seeds you pick the best rate, 0.03, in six draws of ten. And the promise is too good on average. **Never
# report the score that chose the rate.** Train again, on other seeds.

# %% [markdown]
# That removes the optimism but not the luck: different tuning seeds might have chosen different rates. So the stored
# intervals [include it](../docs/method.md#the-protocol-of-the-classic-suite).

# %% tags=["hide-input"]
step = effects(cartpole, ladder)
share = (step.choosing / ((step.high - step.low) / 2 / 1.96)) ** 2  # of the squared standard error, about
caption(f"Choosing makes up {share.median():.0%} of the squared error of a step (median), at most {share.max():.0%}.")

# %% [markdown]
# ## The other dials
#
# Stored sweeps vary one or two other numbers of `cleanrl`, each together with four rates. The line shows the best score
# for each value; gray dots are all combinations. On Pendulum, `return_norm` is on, and `return_beta` is varied on the
# rung `return_norm`.

# %% tags=["hide-input"]
swept("clip_range", "epochs")
plt.show()

# %% [markdown]
# The usual clip range of 0.2 is good everywhere, and on CartPole anything from 0.1 to 0.8, if the rest may adapt:

# %% tags=["hide-input"]
usual = [runs for runs in stored_sweeps(RESULTS) if not subject_of(runs)]
both = next(runs for runs in usual if runs.env.iloc[0] == "CartPole-v1" and "clip_range" in varied(runs))
grid = both.pivot_table(index=["epochs", "lr"], columns="clip_range", values="score")
figure, axes = plt.subplots(1, 3, figsize=(8, 2.5), sharey=True)
for axis, (epochs, table) in zip(axes, grid.groupby("epochs"), strict=True):
    axis.imshow(table, cmap="viridis", vmin=grid.min().min(), vmax=grid.max().max(), aspect="auto")
    for (y, x), score in np.ndenumerate(table.to_numpy()):
        axis.text(x, y, f"{score:.0f}", ha="center", va="center", size=8, color="white" if score < 300 else style.INK)
    axis.set_xticks(range(5), [f"{value:g}" for value in table.columns])
    axis.set_yticks(range(4), [f"{lr:g}" for lr in table.index.get_level_values("lr")])
    axis.set(title=f"{epochs} epoch{'s' * (epochs > 1)}", xlabel="clip range ε")
axes[0].set_ylabel("learning rate")
figure.suptitle("CartPole-v1: area under the curve", size=9)
plt.show()
column = grid[0.2].unstack("lr")
assert column.idxmax(axis=1).is_monotonic_decreasing

# %% [markdown]
# More epochs want a smaller rate. If you change one dial and leave the other, you have measured the pair.

# %% tags=["hide-input"]
swept("gae_lambda", "gamma")
swept("entropy_coef", "minibatches", "return_beta")
plt.show()

# %% [markdown]
# ## How wide is good?
#
# Call a value good if at most 5% of the way from a random policy's score to the best is lost. In two thousand draws of
# each sweep's seeds, how often is each value good?

# %% tags=["hide-input"]
dials = ["clip_range", "epochs", "minibatches", "gae_lambda", "gamma", "entropy_coef", "return_beta"]
figure, axes = plt.subplots(1, 3, figsize=(9.2, 3))
default = {}  # how often the library's default is within 5%
for axis, env in zip(axes, ("CartPole-v1", "Acrobot-v1", "Pendulum-v1"), strict=True):
    shares = np.full((len(dials), 7), np.nan)
    for y, dial in enumerate(dials):
        runs = next(runs for runs in usual if runs.env.iloc[0] == env and dial in varied(runs))
        others, values = [name for name in varied(runs) if name != dial], sorted(runs[dial].unique())
        cells = [np.stack([cell.score for _, cell in rows.groupby(others)]) for _, rows in runs.groupby(dial)]
        draws = rng.integers(0, 10, (2000, 10))
        best = np.stack([cell[:, draws].mean(2).max(0) for cell in cells], axis=1)  # [2000, values]
        top = best.max(axis=1, keepdims=True)
        good = shares[y, : len(values)] = (best >= top - 0.05 * (top - SCALES[env].random)).mean(axis=0)
        default[env, dial] = good[values.index(getattr(Config, dial))]
        for x, value in enumerate(values):
            kind = {"ha": "center", "va": "center", "size": 7, "color": "white" if good[x] > 0.55 else style.INK}
            axis.text(x, y, f"{value:g}", weight="bold" if value == getattr(Config, dial) else "normal", **kind)
    image = axis.imshow(shares, cmap="Blues", vmin=0, vmax=1.1, aspect="auto")
    axis.set(xticks=[], yticks=[], title=env)
    axis.tick_params(length=0)
    axis.spines[:].set_visible(False)
axes[0].set_yticks(range(len(dials)), dials)
bar = figure.colorbar(image, ax=axes, ticks=(0, 0.5, 1), label="share of draws within\n5% of the best")
bar.ax.set(ylim=(0, 1))
figure.suptitle("bold: the default", size=9, color=style.SOFT)
plt.show()
everywhere = [dial for dial in dials if min(share for (_, name), share in default.items() if name == dial) > 0.5]
assert min(share for (env, _), share in default.items() if env == "CartPole-v1") > 0.5
assert everywhere == ["clip_range", "minibatches"] and default["Acrobot-v1", "gae_lambda"] < 0.05
assert max(default["Pendulum-v1", dial] for dial in ("epochs", "gamma", "entropy_coef")) < 0.05

costs = {(env, dial): lost[getattr(Config, dial)] for dial in dials for env, lost in lost_at(dial).items()}
dearest = sorted(costs, key=costs.__getitem__)[:-3:-1]
assert costs["Pendulum-v1", "gamma"] > 0.4 and costs[dearest[1]] < 0.2


# %% [markdown]
# On CartPole, all of the library's defaults are good in most draws. But Acrobot wants a smaller λ than 0.95, and
# Pendulum a smaller γ, more epochs, and more entropy. Only the clip range and the number of minibatches are good
# everywhere.
#
# If you can only tune one number, tune the learning rate. If you can tune two, we'd take γ as well, though that rests
# on Pendulum: there the usual 0.99 costs almost half of the way to the best, far more than any other default.

# %% [markdown]
# ## At a glance
#
# | | |
# |---|---|
# | **problem** | one number per comparison hides that the effect depends on the learning rate |
# | **formula** | $\Delta(\alpha) = f_1(\alpha) - f_0(\alpha)$, with and without the trick at rate $\alpha$; or $\max f_1 - \max f_0$ |
# | **in the loop** | `rate = t.each("lr")  # [S]` |
# | **defaults** | seven rates from 0.0003 to 0.3, ten seeds at each |
# | **watch** | how wide the good range is |
# | **skip it when** | you'll only ever use one setting, tuned for your task |
# | **also called** | hyperparameter sensitivity; $f(\alpha)$ is a *tuning curve* |

# %% [markdown]
# ## Exercises

# %% [markdown] tags=["two-hours"]
# **Exercise 1: write it.** Call a score good if it lies within 5% of the way from the best score down to `floor`, the
# score that counts as 0. Given scores at increasing values of a dial, return the first and the last index of the
# unbroken range of good scores around the best.


# %% tags=["two-hours"]
def my_good_range(scores, floor):  # [values], a number -> two indices
    ...


check_good_range(my_good_range)

# %% [markdown] tags=["two-hours"]
# <details><summary>Hint</summary>
#
# Compute the lowest score that is good enough. Then walk left and right from the best index, as long as it holds.
#
# </details>

# %% [markdown]
# **Exercise 2: spot the bug.** The effect of the clip, averaged over the seven rates, with its interval, from ten
# tuning seeds at each rate.

# %%
source(pooled_interval)

# %% tags=["hide-input"]
without, having = (np.stack([seeds[:10] for seeds in arms[name].values()]) for name in ("reuse", "clip"))
mean, low, high = pooled_interval(without, having)
row = by_rate.query("trick == 'clip' and at == 'over all'").iloc[0]
print(f"this function: {mean:+.2f} [{low:+.2f}, {high:+.2f}]; the library: {row.low:+.2f} to {row.high:+.2f}")
assert high - low > 2 * (row.high - row.low)

# %% [markdown]
# Same mean, different width. Which one is right?
#
# <details><summary>Answer</summary>
#
# The library's. If you repeat the experiment, the seven rates stay the same, so differences between them are not noise.
# Pooling all 70 scores counts them as noise. Instead, compute the variance of the mean within each rate, add up all
# seven, and divide by $7^2$.
#
# </details>
#
# **Exercise 3: think, then look.** At 0.0003, [PopArt](12_popart.ipynb) costs 0.38. It preserves the value net's
# outputs when the return statistics move. What would those outputs have done otherwise, while episodes grow from 20
# steps to several hundred, and discounted returns from about 18 toward 100? Train the rungs `entropy` (the one before)
# and `popart` at this rate and compare `value_loss`.
#
# <details><summary>Answer</summary>
#
# Without PopArt, moving the statistics moves all predictions along, for free. With it, the value net has to climb to
# the new mean by gradient steps, which at this rate are tiny. The solution runs it.
#
# </details>
#
# Solutions: [`solutions/26_sensitivity.py`](solutions/26_sensitivity.py). Next: [reading the
# diagnostics](27_reading_the_diagnostics.ipynb).

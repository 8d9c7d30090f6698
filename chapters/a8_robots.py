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
# # Robots: taking a copied preset apart
#
# *Somebody's program learns to walk. Which of its tricks do the work?*
#
# The preset `continuous` copies CleanRL's `ppo_continuous_action.py`: a [Gaussian](21_continuous_actions.ipynb) and
# twelve tricks. Here are ten agents on each of three MuJoCo robots. The gray band is CleanRL's mean and standard
# deviation of three seeds; a dash at the right edge is one of our agents in the last tenth.

# %% tags=["hide-input"]
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from ablations import effects, interval, style
from ablations.findings import PUBLISHED, claim_verdicts
from chapters.book import begin
from chapters.book.figures import ADDS, draw_effects, learning_curve, over_steps
from chapters.book.results import around_robots, robots
from tricks import CONTINUOUS

begin()
COLOR = style.OTHERS[2]

# %% tags=["hide-input", "thumbnail"]
figure, axes = plt.subplots(1, 3, figsize=(9, 2.6))
late = {}
for axis, study in zip(axes, robots(), strict=True):
    theirs = PUBLISHED[study.env, study.steps]
    axis.axhspan(theirs.score - theirs.spread, theirs.score + theirs.spread, color=style.SOFT, alpha=0.3, lw=0)
    axis.text(0.03 * study.steps, theirs.score, "CleanRL", size=8, color=style.INK, va="center")
    learning_curve(axis, "_", study.grid(CONTINUOUS), COLOR)
    axis.set_title(study.env)
    late[study.env] = study.runs.late.to_numpy()
    axis.plot(np.full(10, study.steps), late[study.env], "_", color=COLOR, clip_on=False)
    over_steps(axis)
axes[0].set_ylabel("episode return")
plt.show()
slow = late["HalfCheetah-v5"] < 1600
assert slow.sum() == 6 and late["HalfCheetah-v5"][slow].min() < 1443 < late["HalfCheetah-v5"][slow].max()
assert 2383 - 272 < interval(late["Hopper-v5"])[1] < 2383 and late["Walker2d-v5"].min() > 2288

# %% [markdown]
# Hopper's interval reaches into the band. On HalfCheetah, six of ten agents end where CleanRL's do, and four score
# higher, so three seeds can easily agree by chance. Walker2d isn't the same robot: CleanRL's scores are for version 4
# ([what changed](../docs/environments.md#mujoco)).
#
# We took out each of its twelve tricks, with what needs it, and put each of the others on top, all at the preset's
# learning rate. Filled dots are effects detected after correcting for the number of tricks.

# %% tags=["hide-input"]
found = {study.env: effects(study, study.designs[0]) for study in around_robots()}
hopper, walker, cheetah = (found[f"{name}-v5"] for name in ("Hopper", "Walker2d", "HalfCheetah"))
own = [name for name in hopper.trick if name in CONTINUOUS.on]
others = [name for name in hopper.trick if name not in own]
figure, axes = plt.subplots(3, 2, figsize=(8.5, 10), sharex=True, layout="constrained")
for row, (env, table) in zip(axes, found.items(), strict=True):
    for axis, names, where in zip(row, (own, others), ("in the preset", "on top of the preset"), strict=True):
        rows = table[table.trick.isin(names)]
        draw_effects(axis, rows.assign(full=rows.detected.ne(0)), names)
        axis.set_title(f"{where}, {env}")
figure.supxlabel(ADDS)
plt.show()
assert len(CONTINUOUS.on) == 12
assert {*hopper.trick[hopper.detected > 0]} == {"baseline", "reuse", "reward_scaling"} and len(hopper) == 25
assert {*walker.trick[walker.detected > 0]} == {"baseline", "reuse", "clip", "gae", "state_norm", "reward_scaling"}
assert {*walker.trick[walker.detected < 0]} == {"clip_anneal"}
assert {*cheetah.trick[cheetah.detected > 0]} == {"baseline", "reuse", "gae", "state_norm", "segments"}
assert {*cheetah.trick[cheetah.detected < 0]} == {"clip_anneal", "ppg_buffers"} and hopper.detected.min() == 0

# %% [markdown]
# [Reuse](02_reuse.ipynb) and the [baseline](01_baseline.ipynb), which takes GAE and segments along when it goes, carry
# the preset on all three robots. At the preset's rate, tuned for neither arm, this says little about reuse. [Reward
# scaling](a5_reward_scaling.ipynb) helps on Hopper and Walker2d, [GAE](04_gae.ipynb) and [state
# normalization](07_state_norm.ipynb) on Walker2d and HalfCheetah, the [clip](03_clip.ipynb) on Walker2d,
# [segments](13_segments.ipynb) on HalfCheetah. An annealed clip range hurts on Walker2d and HalfCheetah, and PPG with
# [`ppg_buffers`](19_ppg_buffers.ipynb) on HalfCheetah. About the rest, ten seeds can't tell, and nothing was tried
# again.

# %% tags=["hide-input"]
claims = claim_verdicts(pd.concat(found.values()))
agreed = claims[claims.verdict == "agrees"]
assert {*zip(agreed.trick, agreed.env, strict=True)} == {
    ("state_norm", "HalfCheetah-v5"),
    ("state_norm", "Walker2d-v5"),
    ("reward_scaling", "Walker2d-v5"),
    ("clip", "Walker2d-v5"),
}
assert (len(claims), len(agreed), (claims.verdict == "can't tell").sum()) == (38, 4, 34)

# %% [markdown]
# Of 38 [statements by others](../docs/results/robots.md) (Andrychowicz et al. 2020; Engstrom et al. 2020,
# arXiv:2005.12729), 4 hold up here, and 34 stay open. One of the four is about the clip: without it, their agents scored
# 13% less on Walker2d, and ours score less as well.

# %% [markdown]
# ## Exercises
#
# **Exercise 1: think.** Twenty-five tricks on three robots are 75 comparisons. If none of the tricks does anything, how
# many 95% intervals leave out 0? And how likely is it that something is detected, if the error on each robot is 5%?
#
# <details><summary>Answer</summary>
#
# About four intervals, $75 \cdot 0.05$. Something is detected with a probability of $1 - 0.95^3 = 0.14$.
#
# </details>

# %% [markdown]
# **Exercise 2: think.** On HalfCheetah, six of ten agents are slow. You draw three of the ten. How likely are they all
# slow, or all fast?
#
# <details><summary>Hint</summary>
#
# There are 120 ways to draw three of ten.
#
# </details>
#
# <details><summary>Answer</summary>
#
# Of the 120 draws, 20 are three slow agents and 4 three fast ones: one in five.
#
# </details>
#
# Solutions: [`solutions/a8_robots.py`](solutions/a8_robots.py). Back to [continuous
# actions](21_continuous_actions.ipynb).

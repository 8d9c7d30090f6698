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
# # Separate optimizers: a norm for each net
#
# *The two nets share no weights, and Adam cancels a constant factor. Can the value loss still starve the policy?*
#
# Under one joint [limit on the gradient's norm](09_grad_clip.ipynb), the policy's part of the gradient becomes
#
# $$u_\pi=g_\pi\cdot\min\!\bigg(1,\frac{c}{\sqrt{\lVert g_\pi\rVert^2+\lVert g_V\rVert^2}}\bigg),$$
#
# and the value net's part $g_V$ grows with the rewards.

# %% tags=["hide-input"]
from dataclasses import replace

import matplotlib.pyplot as plt
import torch

from ablations import style
from chapters.book import begin, caption, curves, evidence, label_lines
from tricks import Config, source, train
from tricks.ladder import switched
from tricks.separate_optimizers import epochs_of_each_net

begin()
OWN = style.COLORS["separate_optimizers"]

# %% [markdown]
# With `separate_optimizers`, each net has its own Adam, as in Spinning Up's PPO (Achiam 2018), and its own norm.
# `epochs_of_each_net` deals out minibatches until both nets have had all their epochs.

# %%
source(epochs_of_each_net)

# %% [markdown]
# `CartPoleReward100` pays 100 per step. Here is PPO with one norm for both nets, and with one for each:

# %%
hundred = Config("tricks/CartPoleReward100-v0", seeds=5, steps=30_000, lr=0.001)
hundred = replace(hundred, lanes=32, horizon=32)
free = switched(["baseline", "reuse", "clip", "gae", "advantage_norm"])
limited = replace(free, grad_clip=True)
arms = {
    "one norm": train(hundred, limited),
    "separate_optimizers": train(hundred, replace(limited, separate_optimizers=True)),
}

# %% tags=["thumbnail", "hide-input"]
figure, axes = plt.subplots(1, 2, figsize=(8.6, 2.8), width_ratios=(1, 1.1))
apart = arms["separate_optimizers"].curve.groupby("update").mean()
for column, color, name in (("value_grad_norm", style.INK, "value net"), ("grad_norm", OWN, "policy")):
    axes[0].semilogy(apart[column], color=color, label=name)
axes[0].axhline(0.5, color=style.SOFT, lw=1, ls=":", label="c = 0.5")
axes[0].set(xlabel="update", ylabel="gradient norm", xlim=(0, len(apart) - 1))
label_lines(axes[0])
curves(arms, axes[1])
plt.show()

of_policy, of_value = apart.grad_norm.median(), apart.value_grad_norm.median()
share = 0.5 * of_policy / of_value  # of a joint norm of 0.5
count = sum(weight[0].numel() for weight in arms["one norm"].agent.policy_net.parameters())
each = share / count**0.5  # root mean square over the policy net's parameters
caption(f"One norm of 0.5 for both would leave the policy's gradient {each:.1e} per parameter.")
assert 0.005 < each / hundred.adam_eps < 0.03
assert arms["separate_optimizers"].late().min() > 2 * arms["one norm"].late().max()

# %% [markdown]
# Yes, it can. Adam really divides by $\sqrt v+\varepsilon$, with $\varepsilon=10^{-5}$, so it cancels a factor only
# where gradients are larger. The joint limit leaves the policy far less, and its steps shrink to 1 or 2% of the
# learning rate. Without `grad_clip`, one Adam and two end with the same weights, bit for bit: it was the norm.

# %% tags=["hide-input"]
short = replace(hundred, steps=8_000)
one = train(short, free).agent
two = train(short, replace(free, separate_optimizers=True)).agent
assert all(torch.equal(a, b) for a, b in zip(one.parameters(), two.parameters(), strict=True))

# %% [markdown]
# Each net then has numbers of its own: `value_lr_factor`, `max_value_grad_norm`, `value_epochs`.
#
# Can a higher learning rate make up for it? In the stored trial, each arm has its own best rate:

# %% tags=["hide-input"]
norms_apart = evidence("separate_optimizers")
norms_apart.strip()
plt.show()

trial = norms_apart.worlds.iloc[0]
assert trial.seen == 1 and trial.confirmed == 1
assert trial.lr_without >= 10 * trial.lr_with and 0.7 < trial.without / trial["with"] < 0.9
assert trial.growth_low < 0 < trial.growth_high

# %% [markdown]
# In part. At ten times the rate, one norm gets about five sixths of what two norms get, and it falls short again on
# other seeds.

# %% tags=["hide-input"]
norms_apart

# %% [markdown]
# ## At a glance
#
# | | |
# |---|---|
# | **problem** | under one norm, a large value gradient leaves the policy nothing |
# | **formula** | each net: $g \cdot \min(1, c / \lVert g \rVert)$ of its own |
# | **in the loop** | `batches = epochs_of_each_net(batch, config, t.update)` |
# | **defaults** | `value_lr_factor`, `max_value_grad_norm`, `value_epochs`: as the policy's |
# | **watch** | `value_grad_norm` beside `grad_norm` |
# | **skip it when** | returns are normalized, or there is no limit on the norm |
# | **evidence** | In 3 of 3 environments, these runs can't tell. It helps in the one world made for it, as predicted. |
# | **also called** | two optimizers; Spinning Up's `pi_lr` and `vf_lr` |

# %% [markdown]
# ## Exercises
#
# **Exercise 1: think.** Your value net learns too slowly. With `separate_optimizers` and without `grad_clip`, you
# triple `value_coef`. What happens? And if you triple `value_lr_factor` instead?
#
# <details><summary>Answer</summary>
#
# Tripling the coefficient triples the value net's gradients, and Adam divides them by three times as much: nothing
# happens, as long as they are well above $\varepsilon$. Tripling the factor triples the steps.
#
# </details>
#
# Solution: [`solutions/a6_separate_optimizers.py`](solutions/a6_separate_optimizers.py). Back to [gradient
# clipping](09_grad_clip.ipynb).

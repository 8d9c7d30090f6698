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
# # Dual clip: a floor for bad actions
#
# *A bad action has become a hundred times as likely. How much may its row count?*
#
# After the [clip](03_clip.ipynb), a good action never earns more than $(1 + \varepsilon) A$. But for a bad one, $\rho
# A$ goes on falling as $\rho$ grows: if other rows have made it a hundred times as likely, its score counts a hundred
# times.

# %% tags=["hide-input"]
import matplotlib.pyplot as plt
import numpy as np
import torch

from ablations import style
from chapters.book import begin, caption, evidence, label_lines
from chapters.exercises.clip import check_floor
from tricks import source
from tricks.clip import clipped_surrogate
from tricks.dual_clip import bounded_below, bounded_fraction

begin()

# %% [markdown]
# Ye et al. 2020 (arXiv:1912.09729) put a floor under it. This is the flag `dual_clip`, with $c$ = `dual_clip_limit` =
# 3. Where $L$ is the clip's objective, it maximizes
#
# $$L_\text{dual} = \begin{cases} L & \text{if } A > 0, \\
#     \max(L,\; cA) = \min\big(\max(\rho,\, 1 - \varepsilon),\, c\big)\, A & \text{if } A < 0. \end{cases}$$

# %%
source(bounded_below, bounded_fraction)

# %% [markdown]
# Of the clip's four corners only one changes, the repair of a bad action. Beyond $c$ the row no longer calls it back.
# That is the price.

# %% tags=["thumbnail", "hide-input"]
wide = torch.linspace(0, 5, 501)
figure, axes = plt.subplots(1, 2, figsize=(6.8, 2.8))
for axis, sign in zip(axes, (1.0, -1.0), strict=True):
    row = torch.full((1, 501), sign)
    clipped = clipped_surrogate(wide.unsqueeze(0), row, torch.tensor([0.2]))
    bounded = bounded_below(clipped, row, 3.0)
    axis.plot(wide, clipped[0], color=style.COLORS["clip"], lw=2.5)
    axis.plot(wide, bounded[0], color=style.COLORS["dual_clip"], lw=2.5, ls="--")
    low = min(0, 5 * sign)
    axis.set(
        xlabel="ratio ρ",
        title=f"{'good' if sign > 0 else 'bad'} action: A = {sign:+.0f}".replace("-", "−"),
        xlim=(0, 5),
    )
    axis.set(ylim=(low - 0.2, low + 5.2), xticks=(0, 1, 2, 3, 4, 5))
axes[0].set_ylabel("objective")
axes[0].text(2.0, 1.5, "both", color=style.INK)
axes[1].axvspan(3, 5, color=style.FAINT, lw=0)
axes[1].text(3.95, -2.7, "dual clip:\ngradient 0", color=style.COLORS["dual_clip"], weight="bold", ha="center")
axes[1].text(3.6, -4.6, "clip", color=style.COLORS["clip"], weight="bold", ha="right")
plt.show()
torch.testing.assert_close(bounded[0, [200, 500]], torch.tensor([-2.0, -3.0]))

# %% [markdown]
# A rare action can get that far: one of probability 0.03 has room for a ratio of 33. (The policies of [continuous
# actions](21_continuous_actions.ipynb) have no limit at all.)
#
# **Predict.** The thousand agents of [chapter 3](03_clip.ipynb) get the same batches again, with steps 15 times as
# long. The floor acts on less than 0.1% of the rows. Does it matter?

# %% tags=["hide-input"]
PAYS = torch.tensor([1.0, 2.0, 4.0])
OLD = torch.tensor([0.03, 0.03, 0.94])
epsilon, acted = torch.full((1000,), 0.2), []


def ten_epochs(surrogate, agents=1000, pulls=50, steps=40, rate=30.0):
    """Each agent's policy after the last step on its batch: [agents, 3]."""
    torch.manual_seed(0)
    action = OLD.expand(agents, 3).multinomial(pulls, replacement=True)
    paid = PAYS[action] + 3 * torch.randn(agents, pulls)
    advantage, theta = paid - paid.mean(1, keepdim=True), OLD.log().repeat(agents, 1).requires_grad_()
    for _ in range(steps):
        ratio = theta.softmax(1).gather(1, action) / OLD[action]
        (grad,) = torch.autograd.grad(surrogate(ratio, advantage).mean(1).sum(), theta)
        theta = (theta + rate * grad).detach().requires_grad_()
    return theta.detach().softmax(1)


def clipped(ratio, advantage):
    return clipped_surrogate(ratio, advantage, epsilon)


def floored(ratio, advantage):
    acted.append(((ratio > 3) & (advantage < 0)).float().mean().item())
    return bounded_below(clipped(ratio, advantage), advantage, 3.0)


hasty = {"clip": ten_epochs(clipped), "dual_clip": ten_epochs(floored)}

# %% tags=["predict", "hide-input"]
figure, axis = plt.subplots(figsize=(6.5, 2.6))
far = {}
for name, policy in hasty.items():
    kl = (OLD * (OLD / policy).log()).sum(1).sort(descending=True).values
    far[name] = (kl > 2).sum().item()
    axis.plot(range(1, 31), kl[:30], "o", color=style.COLORS[name], label=name)
axis.set(xlabel="the agents that moved furthest", ylabel="KL from the old policy (nats)", xlim=(0, 31), ylim=(0, None))
label_lines(axis)
plt.show()
caption(f"Beyond 2 nats are {far['clip']} of 1000 agents with the clip alone, {far['dual_clip']} with the floor.")
assert far["clip"] >= 5 * far["dual_clip"] and 0 < np.mean(acted) < 0.001
assert ((hasty["clip"] - hasty["dual_clip"]) @ PAYS).mean().abs() < 0.01

# %% [markdown]
# The typical agent doesn't notice. But without the floor, a few agents are thrown much further.

# %% tags=["hide-input"]
found = evidence("dual_clip")
found.strip()
plt.show()
tried = found.worlds.iloc[0]
assert tried.seen == 0 and tried.low > 0 and tried.rate == 0.01 and tried.p_holm > 0.05

# %% [markdown]
# In the stored trial, on Pendulum, the 95% interval of the effect lies above 0. But this is one of 57 trials, and after
# the correction for their number, nothing is detected. A lower learning rate may guard against the same steps; we
# haven't compared the two.

# %% tags=["hide-input"]
found

# %% [markdown]
# ## At a glance
#
# | | |
# |---|---|
# | **problem** | a bad action that has become likely counts without limit |
# | **formula** | $\max(L, cA)$ if $A < 0$ |
# | **in the loop** | `objective = bounded_below(objective, advantage, config.dual_clip_limit)` |
# | **defaults** | `dual_clip_limit` $c = 3$ |
# | **watch** | `bounded_fraction`, beside `max_ratio` |
# | **skip it when** | ratios stay small |
# | **evidence** | In 3 of 3 environments, these runs can't tell. It does nothing detectable in the one world made for it. |
# | **also called** | dual-clip PPO |

# %% [markdown]
# ## Exercises
#
# **Exercise 1: write it.** The dual clip: put its floor under the clipped objective of each row.


# %%
def my_floor(clipped, advantage, c):  # [B], [B], a number -> [B]
    ...


check_floor(my_floor)

# %% [markdown]
# <details><summary>Hint</summary>
#
# `torch.where` picks the rows, `torch.maximum` makes the floor. Check $A = -1$ by hand, for $\rho = 2$ and $\rho = 5$.
#
# </details>
#
# **Exercise 2: think.** With $c = 1 + \varepsilon$, which objective would a bad action have?
#
# <details><summary>Answer</summary>
#
# $\operatorname{clip}(\rho)\, A$ without the min: a bad action that has become more likely is never called back.
#
# </details>
#
# Solution: [`solutions/a3_dual_clip.py`](solutions/a3_dual_clip.py). Back to [the clip](03_clip.ipynb).

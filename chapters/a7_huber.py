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
# # Huber's loss: limit the pull of a row
#
# *A single return is far from everything that the critic expects. Should it count in full?*
#
# The [value clip](15_value_clip.ipynb) limits how far a prediction moves. You could also limit how hard a single row
# may pull.

# %% tags=["hide-input"]
from dataclasses import replace

import matplotlib.pyplot as plt
import torch

from ablations import style
from chapters.book import begin, curves, evidence
from chapters.exercises.value_clip import check_huber
from tricks import Config, source, train
from tricks.baseline import squared_error
from tricks.huber import linear_beyond
from tricks.ladder import named

begin()

# %% [markdown]
# Huber's loss (1964) of the error $d = V - R$ is quadratic up to a distance $\delta$ and linear beyond it:
#
# $$H(d) = \begin{cases} \tfrac12 d^2 & \text{if } |d| \le \delta, \\
#                       \delta\,\big(|d| - \tfrac12 \delta\big) & \text{if } |d| > \delta. \end{cases}$$
#
# Its gradient is $d$, but never more than $\delta$ either way. What's the catch?

# %%
source(linear_beyond)

# %% [markdown]
# A lottery ticket wins 20 with probability $p = 1/20$, so it's worth 1 on average. Its value $v$ comes to rest where
# the pulls balance. Each blank pulls down with $v$. A win, farther away than $\delta$, pulls up with $\delta$, no
# matter how much it pays:
#
# $$p\,\delta = (1 - p)\, v \quad\Longrightarrow\quad v = \delta\, \frac{p}{1 - p} .$$
#
# With $\delta = 1$ that's $1/19 \approx 0.053$.
#
# **Predict.** Instead of the ticket, you can have 0.5 for sure. For which $\delta$ does $V$ rate the ticket higher?

# %%
deltas = torch.linspace(0.5, 25, 50)
draws = torch.tensor([20.0] + 19 * [0.0]).expand(50, -1)  # [S, B]: the same for every δ
worth = torch.zeros(50, 1, requires_grad=True)
for _ in range(300):
    error = squared_error(worth.expand_as(draws), draws)
    loss = linear_beyond(error, tuple(deltas.tolist())).mean(1)
    (slope,) = torch.autograd.grad(loss.sum(), worth)
    worth = (worth - 0.5 * slope).detach().requires_grad_()
formula = (deltas / 19).clamp(max=1)
torch.testing.assert_close(worth.detach().flatten(), formula, atol=1e-3, rtol=0)

# %% tags=["predict", "thumbnail", "hide-input"]
figure, axis = plt.subplots(figsize=(6.5, 2.6))
axis.plot(deltas, worth.detach(), color=style.COLORS["huber"])
axis.axhline(0.5, color=style.INK, lw=1, ls="--")
axis.plot(1, 1 / 19, "o", color=style.COLORS["huber"])
axis.text(0.3, 0.53, "the sure pay", color=style.INK)
axis.text(1.6, 0.02, "δ = 1", color=style.COLORS["huber"])
axis.text(15, 0.68, "V of the ticket", color=style.COLORS["huber"], weight="bold")
axis.set(xlabel="δ", ylabel="where V ends", xlim=(0, 25), ylim=(0, 1.1))
plt.show()

# %% [markdown]
# Only beyond $\delta = 9.5$. Now let agents choose, with the flag `huber` and its default, `huber_delta` = 1. The
# payout comes one step after the choice, and $\lambda = 0$, so $V$ of what they chose is all they have to go by.

# %%
lottery = Config("tricks/Lottery20-v0", seeds=5, steps=20_000, lanes=32, horizon=32)
lottery = replace(lottery, hidden=(32, 32), lr=0.003, gae_lambda=0.0)
squared = replace(named("gae"), advantage_norm=True)
choosers = {
    "squared error": train(lottery, squared),
    "huber": train(lottery, replace(squared, huber=True)),
}
sure_pay, ticket = [1.0, 0.0], [1.0, 1.0]
chosen = torch.tensor([sure_pay, ticket]).expand(5, -1, -1)  # [S, B, D]

# %% tags=["hide-input"]
curves(choosers)
plt.show()
for name, run in choosers.items():
    sure, ticket = run.agent.value(chosen).detach().mean(0).tolist()
    assert (
        ticket < sure - 0.3 and run.late().mean() < 0.6
        if name == "huber"
        else ticket > sure and run.late().mean() > 0.8
    )
tried = evidence("huber").worlds.iloc[0]
assert tried.seen == -1 and tried.confirmed == 1

# %% [markdown]
# The policy isn't at fault. It believes a $V$ that takes a rare win for an outlier. Huber's loss hurts here on two sets
# of seeds, and Andrychowicz et al. (2020, arXiv:2006.05990) found it worse than the squared error in every environment
# they tried.

# %% tags=["hide-input"]
evidence("huber").strip()
plt.show()

# %% tags=["hide-input"]
evidence("huber")

# %% [markdown]
# ## At a glance
#
# | | |
# |---|---|
# | **problem** | a row far from its target pulls with its whole distance |
# | **formula** | $H(d)$: quadratic up to $\delta$, linear beyond |
# | **in the loop** | `error = linear_beyond(error, config.huber_delta)` |
# | **defaults** | `huber_delta` $\delta = 1$ |
# | **watch** | `value_loss` beside `explained_variance` |
# | **skip it when** | rare returns are what counts |
# | **evidence** | In 3 of 3 environments, these runs can't tell. It hurts in the one world made for it, as predicted. |
# | **also called** | smooth L1 loss, in PyTorch for $\delta = 1$ |

# %% [markdown]
# ## Exercises
#
# **Exercise 1: write it.** Huber's loss of each row, from its error $d = V - R$.


# %%
def my_huber(error, delta):  # [B], a number -> [B]
    ...


check_huber(my_huber)

# %% [markdown]
# <details><summary>Hint</summary>
#
# Compute the parabola and the line for all rows, and let `torch.where` pick. At $|d| = \delta$ they have the same
# height and the same slope.
#
# </details>
#
# Solution: [`solutions/a7_huber.py`](solutions/a7_huber.py). Back to [the value clip](15_value_clip.ipynb).

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
# # Recompute: judge again before every epoch
#
# *The critic has learned something since it judged this batch. Should it judge again?*
#
# The loop judges a batch once, then trains on it for several epochs. That hurts most at $\lambda = 0$, where a target
# is $r_t + \gamma V(s_{t+1})$ ([chapter 4](04_gae.ipynb)): a distant reward travels one state per batch.

# %% tags=["hide-input"]
from dataclasses import replace

import matplotlib.pyplot as plt
import torch

from ablations import style
from chapters.book import begin, evidence, label_lines
from tricks import Config, source, train
from tricks.ladder import named
from tricks.recompute import judged, judged_anew

begin()

# %% [markdown]
# The flag `recompute` judges again before every later epoch, with $V_e$, the value net by then:
#
# $$\delta_t = r_t + \gamma V_e(s_{t+1}) - V_e(s_t), \qquad \text{target}_t = V_e(s_t) + A_t .$$
#
# Now the reward travels one state per *epoch*. The price is one more pass of the value net each time, and a bias: $V_e$
# has seen the returns that it now judges.

# %%
source(judged_anew, judged)

# %% [markdown]
# A noisy chain has 16 cells. The last one ends the episode and pays 10. Agents with $\lambda = 0$ take 16 epochs on
# each batch.
#
# **Predict.** After four batches, in how many of the 15 cells before the goal has $V$ heard of the 10, judged once and
# with `recompute`?

# %%
chain = Config("tricks/NoisyChain-v0", seeds=5, steps=10_000, lanes=32, horizon=32)
chain = replace(chain, hidden=(32, 32), lr=0.01, gae_lambda=0.0, epochs=16)
once = replace(named("gae"), advantage_norm=True)
judges = {
    "judged once": train(chain, once),
    "recompute": train(chain, replace(once, recompute=True)),
}
cells = torch.eye(16).expand(5, -1, -1)  # [S, B, D]: every cell, as each agent sees it
heard = {}
for name, run in judges.items():
    heard[name] = run.agent.value(cells).detach()[:, :15].mean(0)

# %% tags=["predict", "thumbnail", "hide-input"]
figure, axis = plt.subplots(figsize=(6.5, 2.6))
for (name, value), color in zip(heard.items(), (style.SOFT, style.COLORS["recompute"]), strict=True):
    axis.plot(value, "o-", color=color, label=name)
axis.set(xlabel="cell (15 is the goal)", ylabel="V after four batches\n(mean of 5 agents)", ylim=(-1, 10))
label_lines(axis)
plt.show()
assert all(run.curve["update"].max() == 3 for run in judges.values())  # four batches
assert heard["judged once"][:11].abs().max() < 0.5 < 1 < heard["recompute"][:11].min()

# %% [markdown]
# Judged once, $V$ has heard of it in the last four cells, one per batch. With `recompute`, in every cell.

# %% tags=["hide-input"]
found = evidence("recompute")
found.strip()
plt.show()
tried = found.worlds.iloc[0]
assert tried.seen == tried.confirmed == 1 and tried.growth_low > 0 and "1:+0.000 " in tried.doses

# %% [markdown]
# In the chain it helps, and more with more epochs. At $\lambda = 0.95$, a target sees about $1/(1-\gamma\lambda)
# \approx 17$ steps ahead anyway, and on three robots these seeds can't tell. Andrychowicz et al. (2020,
# arXiv:2006.05990) recommend it.

# %% tags=["hide-input"]
found

# %% [markdown]
# ## At a glance
#
# | | |
# |---|---|
# | **problem** | advantages and targets come from a critic that has learned since |
# | **formula** | GAE with $V_e$ before every epoch but the first |
# | **in the loop** | `batches = judged_anew(batches, batch, agent, rollout, config)` |
# | **defaults** | none of its own |
# | **watch** | `explained_variance` |
# | **skip it when** | $\lambda$ is near 1, or there is one epoch |
# | **evidence** | In 3 of 3 environments, these runs can't tell. It helps in the one world made for it, as predicted. |
# | **also called** | recomputing advantages |

# %% [markdown]
# ## Exercises
#
# **Exercise 1: think.** What does `recompute` change at $\lambda = 1$?
#
# <details><summary>Answer</summary>
#
# The target is still the return. But the baseline is no longer harmless: $V_e$ has been trained on these very returns,
# so it depends on the actions. Had it memorized the batch, all advantages would be 0.
#
# </details>

# %% [markdown]
# **Exercise 2: think.** Before every epoch, somebody also recomputes the old log-probabilities, from the policy as it
# is then. Which ratios does the [clip](03_clip.ipynb) see now? How far from the policy that played can ten epochs carry
# a row, at $\varepsilon = 0.2$?
#
# <details><summary>Answer</summary>
#
# Every epoch starts with ratios of 1, so the clip no longer limits the whole update. Ten epochs that each stop at 1.2
# make $1.2^{10} \approx 6.2$.
#
# </details>
#
# Solutions: [`solutions/a4_recompute.py`](solutions/a4_recompute.py). Back to [GAE](04_gae.ipynb).

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
# # Reward scaling: divide the rewards themselves
#
# *Isn't `return_norm` what VecNormalize does?*
#
# No. [Return normalization](08_return_norm.ipynb) changes what the value net has to say, and "reward normalization"
# usually means something else: divide every reward by a running deviation.

# %% tags=["hide-input"]
from dataclasses import replace

import matplotlib.pyplot as plt

from chapters.book import begin, caption, curves, evidence
from chapters.exercises.return_norm import check_deviation
from tricks import Config, source, train
from tricks.ladder import switched
from tricks.reward_scaling import RewardScale, running_sums

begin()

# %% [markdown]
# The flag `reward_scaling` keeps a running discounted sum of each lane's rewards, and divides every reward by the
# standard deviation of all these sums so far (Dhariwal et al. 2017; Engstrom et al. 2020, arXiv:2005.12729).
# stable-baselines3's `VecNormalize` and Gymnasium's `NormalizeReward` do that. With $R_{t-1}=0$ where an episode
# starts, and the variance over all lanes,
#
# $$R_t = \gamma R_{t-1} + r_t, \qquad
#   \hat r_t = \operatorname{clip}\Big(\frac{r_t}{\sigma_t},\, \pm 10\Big), \qquad
#   \sigma_t^2 = \operatorname{Var}(R_1, \dots, R_t) + \varepsilon.$$

# %%
source(RewardScale.forward, running_sums)

# %% [markdown]
# **Why a sum?** The value net has to predict sums of rewards. $R_t$ looks back where a return looks ahead; in a long
# stream without ends both vary alike, so scaled returns have a deviation around 1.
#
# **What else changes?** Everything computed from rewards, and so all that is weighed against advantages or values: the
# entropy bonus, the value clip's range. On a single task, `return_norm` changes only what the value net has to say.
# Clipping rewards to ±1, as openai/baselines does on [Atari](23_atari.ipynb), even changes the task: ten points count
# like one.
#
# **Predict.** CartPole pays a ten-thousandth per step, against an [entropy bonus](10_entropy.ipynb) of 0.01, without
# [advantage normalization](06_advantage_norm.ipynb), which would hide the scale. Does either trick help?

# %%
tiny = Config("tricks/CartPoleReward0.0001-v0", seeds=5, steps=30_000, lr=0.01)
tiny = replace(tiny, lanes=32, horizon=32)
bonus = ("baseline", "reuse", "clip", "gae", "entropy")
arms = {"without": train(tiny, switched(bonus))}
for trick in ("return_norm", "reward_scaling"):
    arms[trick] = train(tiny, switched((*bonus, trick)))

# %% tags=["predict", "thumbnail", "hide-input"]
curves(arms)
plt.show()

steps_at_end = {name: 10_000 * run.late().mean() for name, run in arms.items()}
entropy = {name: run.curve.groupby("update").entropy.mean().iloc[-1] for name, run in arms.items()}
caption("Entropy at the end: " + ", ".join(f"{name} {each:.3f}" for name, each in entropy.items()) + ".")
assert steps_at_end["reward_scaling"] > 5 * max(steps_at_end["without"], steps_at_end["return_norm"])

# %% [markdown]
# Only scaling the rewards does. `return_norm` leaves the advantages as they are: ten more steps of balance earn 0.001,
# a tenth of the bonus's weight. So the policy keeps tossing a coin, with an entropy of $\ln2=0.693$.
#
# **Two traps.** The first rewards are divided by next to nothing, since one sum has no variance. So the statistics
# begin with $10^{-4}$ of an imaginary row of mean 0 and variance 1, and there is the clip. And public code disagrees on
# when to reset the sum: stable-baselines3, like this library, does it after every end, Gymnasium never at a time limit.
#
# In the stored trial, each arm has its own learning rate:

# %% tags=["hide-input"]
scaled = evidence("reward_scaling")
scaled.strip()
plt.show()

trial = scaled.worlds.iloc[0]
assert trial.seen == 1 and trial.confirmed == 1 and trial.growth_low > 0
robots = scaled.table[scaled.table.subject == "continuous"].set_index("env").verdict
assert robots.to_dict() == {"Hopper-v5": "helps", "Walker2d-v5": "helps", "HalfCheetah-v5": "unknown"}

# %% [markdown]
# It helps in the world made for it, on two sets of seeds; the smaller the rewards, the more. In the [preset for
# robots](a8_robots.ipynb) it helps on Hopper and Walker2d; on HalfCheetah ten seeds can't tell.

# %% tags=["hide-input"]
scaled

# %% [markdown]
# ## At a glance
#
# | | |
# |---|---|
# | **problem** | rewards of any size, and what is weighed against them |
# | **formula** | $\hat r_t = r_t / \sigma_t$, with $\sigma_t$ the deviation of running discounted sums |
# | **in the loop** | `rollout, reward_std = scale_rewards_(t.agent, rollout, config.gamma)` |
# | **defaults** | clipped to ±10 |
# | **watch** | `reward_std` |
# | **skip it when** | rewards are around 1, or `return_norm` is enough |
# | **evidence** | Helps on robots (at one rate; once) in Hopper, Walker2d. In 1 of 3 environments, these runs can't tell. It helps in the one world made for it, as predicted. |
# | **also called** | reward normalization; `VecNormalize(norm_reward=True)` |

# %% [markdown]
# ## Exercises
#
# **Exercise 1: write it.** The core of what `reward_scaling` divides by: $\sigma_t$ at every step of a single lane,
# without the $\varepsilon$ and without the imaginary row. `done` says where an episode ends.


# %%
def my_deviation(reward, done, gamma):  # T numbers, T booleans, a number -> T numbers
    ...


check_deviation(my_deviation)

# %% [markdown]
# <details><summary>Hint</summary>
#
# Two steps: first all $R_t$ in a loop, then `np.std` of the first one, of the first two, and so on.
#
# </details>
#
# Solution: [`solutions/a5_reward_scaling.py`](solutions/a5_reward_scaling.py). Back to [return
# normalization](08_return_norm.ipynb).

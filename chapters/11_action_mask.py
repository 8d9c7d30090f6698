# %% [markdown]
# # Action masks: leave out what's illegal
#
# *Sixty of sixty-four buttons do nothing. Do you have to press each of them to find out?*
#
# In chess most moves are illegal. A policy that doesn't ask what's legal has to be punished for every illegal action,
# in every state.

# %% tags=["hide-input"]
from copy import deepcopy
from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np
import torch

from ablations import interval, style
from chapters.book import at_best_rate, begin, caption, curves, evidence, planted
from chapters.book.results import trials
from chapters.exercises.action_mask import careful_mask, check_entropy
from tricks import Config, InputError, diff, source, train
from tricks.action_mask import ILLEGAL, mask_logits
from tricks.core.policies import Categorical
from tricks.core.rollout import Player
from tricks.envs.tensor import TensorEnv
from tricks.ladder import named, switched
from tricks.segments import play_segment
from tricks.worlds.trading import TRADING

begin()
COLOR = style.COLORS["action_mask"]

# %% [markdown]
# ## Sixty dead machines
#
# Around the slot machines of the [first chapter](00_reinforce.ipynb), which pay 1, 2, and 4, stand others that are
# switched off. Pulling those is illegal and costs 1. Fifty agents learn by REINFORCE.

# %% tags=["hide-input"]
PAYS = torch.tensor([1.0, 2.0, 4.0])


def teach(dead, masked, agents=50, pulls=250, rate=0.05):
    """Pull by pull, the mean probability of the best machine and of all dead ones together."""
    torch.manual_seed(0)
    pays = torch.cat([PAYS, torch.full((dead,), -1.0)])
    legal = torch.arange(len(pays)) < len(PAYS)
    theta, shares = torch.zeros(agents, len(pays)), []
    for _ in range(pulls):
        policy = (mask_logits(theta, legal) if masked else theta).softmax(1)
        action = policy.multinomial(1)
        theta = theta + rate * pays[action] * (torch.eye(len(pays))[action[:, 0]] - policy)  # r · ∇ log π(a)
        shares.append((policy[:, 2].mean().item(), policy[:, 3:].sum(1).mean().item()))
    return torch.tensor(shares)


unmasked = {dead: teach(dead, masked=False) for dead in (60, 10, 0)}
masked = teach(60, masked=True)

# %% [markdown]
# **Predict.** How likely is the best machine after 250 pulls, with 10 dead machines and with 60? And with 60 and a
# mask, which gives them probability 0?

# %% tags=["predict", "hide-input"]
figure, axes = plt.subplots(1, 2, figsize=(6.5, 2.7), sharey=True)
shades = {60: style.INK, 10: style.SOFT, 0: style.OTHERS[2]}
for dead, shares in unmasked.items():
    for axis, share in zip(axes, shares.T, strict=True):
        axis.plot(share, color=shades[dead])
axes[0].plot(masked[:, 0], color=COLOR, ls="--")
axes[0].text(250, 0.83, "60 dead, masked", color=COLOR, ha="right")
for axis, place, height, dead in (
    *((axes[1], 245, 0.45, 60), (axes[1], 52, 0.42, 10), (axes[1], 40, 0.04, 0)),
    *((axes[0], 205, 0.22, 60), (axes[0], 95, 0.62, 10), (axes[0], 44, 0.99, 0)),
):
    axis.text(place, height, f"{dead} dead", color=shades[dead], ha="right")
axes[0].set(title="best machine", xlabel="pull", ylabel="probability", ylim=(-0.02, 1.02))
axes[1].set(title="all dead machines", xlabel="pull")
plt.show()

assert unmasked[60][-1, 0] < 0.5 < 0.9 < unmasked[10][-1, 0]
assert unmasked[60][-1, 0] + 0.1 < masked[-1, 0]

# %% [markdown]
# At first, nearly every pull is wasted. Each dead machine is learned separately, and a softmax never gives it
# probability 0.
#
# ## Condition on what's legal
#
# Let $L$ be the set of legal actions in a state. A **mask** replaces each illegal logit by $-\infty$. The softmax
# becomes
#
# $$\pi_m(a) = \frac{e^{\theta_a}}{\sum_{j \in L} e^{\theta_j}} = \frac{\pi(a)}{\sum_{j \in L} \pi(j)}
#   \quad \text{for } a \in L, \qquad \pi_m(a) = 0 \quad \text{otherwise.}$$
#
# That's **the probability of $a$, given that the action is legal.** For a legal action,
# $\log \pi_m(a) = \theta_a - \log \sum_{j \in L} e^{\theta_j}$, so
#
# $$\frac{\partial \log \pi_m(a)}{\partial \theta_k} = \begin{cases} [a = k] - \pi_m(k) & \text{if } k \in L, \\
#   0 & \text{if not, since } \theta_k \text{ does not occur.} \end{cases}$$
#
# Is this still the policy gradient? Its derivation differentiated the logarithm of *the same* policy that drew the
# actions. So
#
# $$\nabla J = \mathbb{E}_{a \sim \pi_m}\big[ r(a)\, \nabla \log \pi_m(a) \big]$$
#
# holds, **as long as $\pi_m$ stands in both places.** So the mask is applied both when acting and when learning.

# %%
source(mask_logits)

# %% [markdown]
# Its $-\infty$ is only $-10^{30}$: in the entropy, $0 \cdot (-\infty)$ would not be a number. The next cell checks both
# on three machines, the best one broken: the gradient is $(-¼, +¼, 0)$, and the entropy is $\log 2$, since two actions
# are legal.

# %% tags=["open"]
theta = torch.zeros(1, 3, requires_grad=True)
legal = torch.tensor([[True, True, False]])
earned = (mask_logits(theta, legal).softmax(1) * PAYS).sum()
(exact,) = torch.autograd.grad(earned, theta)
torch.testing.assert_close(exact, torch.tensor([[-0.25, 0.25, 0.0]]))

endless = theta.masked_fill(~legal, -torch.inf)
assert Categorical.entropy(endless).isnan() and ILLEGAL == -1e30
two = torch.tensor([2.0]).log()
torch.testing.assert_close(Categorical.entropy(mask_logits(theta, legal)), two)

# %% [markdown]
# One set of logits under three masks (dotted: without one):

# %% tags=["thumbnail", "hide-input"]
logits = torch.tensor([1.0, 2.2, 0.3, 1.6, -0.5, 0.8])
masks = {
    "everything legal": torch.ones(6, dtype=torch.bool),
    "the favorite is not": torch.tensor([True, False, True, True, True, True]),
    "two are legal": torch.tensor([True, False, False, False, False, True]),
}
figure, axes = plt.subplots(1, 3, figsize=(6.5, 2.5), sharey=True)
for axis, (title, mask) in zip(axes, masks.items(), strict=True):
    axis.bar(range(6), logits.softmax(0), color="none", edgecolor=style.SOFT, ls=":")
    axis.bar(range(6), mask_logits(logits, mask).softmax(0), color=COLOR, alpha=0.75)
    for place in (~mask).nonzero()[:, 0].tolist():
        axis.text(place, 0.01, "×", ha="center", va="bottom", size=14, weight="bold", color=style.INK)
    axis.set(title=title, xlabel="action", xticks=range(6))
axes[0].set_ylabel("probability")
plt.show()

share = mask_logits(logits, masks["two are legal"]).softmax(0)
torch.testing.assert_close(share[0] / share[5], logits.softmax(0)[0] / logits.softmax(0)[5])  # same proportions

# %%
diff(named("entropy"), named("action_mask"))

# %% [markdown]
# If *nothing* is legal, all logits are equal, and the policy would play at random. So the library raises an error.

# %% tags=["hide-input"]
nothing = torch.zeros(3, dtype=torch.bool)
torch.testing.assert_close(mask_logits(torch.zeros(3), nothing).softmax(0), torch.full((3,), 1 / 3))


def policy(obs, legal):
    return mask_logits(torch.zeros(1, 1, 3), legal)


world = replace(TRADING, legal=lambda state: nothing.expand(*state.shape[:-1], 3))
player = Player(TensorEnv(world, Config(seeds=1, lanes=1)), block=8)
said = ""
try:
    play_segment(player, policy, 8, torch.tensor([True]))
except InputError as error:
    said = str(error)
assert "leaves no legal action" in said

# %% [markdown]
# ## Twenty useless buttons
#
# `Grid20` has five by five cells, four actions that move, and twenty that do nothing and cost 0.01. The far corner pays
# one point. Each arm has its best learning rate.

# %%
plain = switched(["baseline", "reuse", "clip", "gae", "advantage_norm"])
masking = replace(plain, action_mask=True)
config = Config("tricks/Grid20-v0", seeds=5, steps=20_000)
config = replace(config, lanes=32, horizon=32, hidden=(32, 32))
without = train(at_best_rate(config, plain), plain)
having = train(at_best_rate(config, masking), masking)

# %% tags=["hide-input"]
(trial,) = (each for each in trials() if each.trial.varied == "useless actions")
useless = [each.dose.size for each in trial.at_every_dose]
figure, axes = plt.subplots(1, 2, figsize=(8.2, 2.8))
curves({"without": without, "action_mask": having}, axes[0])
falls = {}
for side, color, name in (("having", COLOR, "with the mask"), ("without", style.SOFT, "without")):
    found = [each.scores(getattr(each, side)) for each in trial.at_every_dose]
    means = [each.mean() for each in found]
    axes[1].plot(useless, means, "o-", color=color)
    axes[1].fill_between(useless, *np.transpose([interval(np.asarray(each)) for each in found]), color=color, alpha=0.2)
    axes[1].text(useless[-1] + 3, means[-1], name, color=color, va="center")
    falls[side] = means[0] - means[-1]
axes[1].set(xlabel="actions that do nothing", ylabel="mean return over training", xlim=(5, 88), xticks=useless)
plt.show()

early, late = (run.curve.groupby("seed")["return"].first().mean() for run in (without, having))
assert late > early + 0.5 and abs(falls["having"]) < 0.1 < 0.5 < falls["without"]

# %% [markdown]
# A random *legal* walk already gets somewhere (left). On the right are longer, stored runs of twenty seeds, with 10 to
# 60 useless actions. With a mask, the number of illegal actions makes no difference. Huang & Ontañón (2020,
# arXiv:2006.14171) find the same in a strategy game.

# %% tags=["hide-input"]
evidence("action_mask").strip()
plt.show()
table = evidence("action_mask").table
assert list(table.detected) == [0, 1, 1] and table.low.min() > 0 and (evidence("action_mask").worlds.seen == 1).all()

# %% [markdown]
# The mask helps in all its worlds. Taxi is the only usual environment that hands one out, and no other rung gains as
# much there.

# %% tags=["hide-input"]
evidence("action_mask")

# %% [markdown]
# All of these worlds punish illegal actions. Where they cost only a step, expect less. Two more warnings:
#
# - **A wrong mask is final.** If it forbids a good action, no gradient will ever say so.
# - **The policy can't do without it later.** Below, agents trained on `Trading`, where you can't sell without a share,
#   play on without theirs.

# %%
config = replace(config, env="tricks/Trading-v0")
trader = train(at_best_rate(config, masking), masking)
bare = deepcopy(trader.agent)
bare.mask = None
kept, lost = trader.evaluate(50).mean(), replace(trader, agent=bare).evaluate(50).mean()

# %% tags=["hide-input"]
caption(f"Mean return with the mask it was trained with: {kept:.1f}. Without it: {lost:.1f}.")
assert lost < kept - 1

# %% [markdown]
# ## At a glance
#
# | | |
# |---|---|
# | **problem** | illegal actions waste samples, and each is unlearned separately |
# | **formula** | $\pi_m(a) = \pi(a) \,/ \sum_{j \in L} \pi(j)$ for a legal action, 0 for an illegal one |
# | **in the loop** | `agent.mask = mask_logits` |
# | **defaults** | the environment's mask, as in `info["action_mask"]` |
# | **watch** | `max_ratio`: with one epoch and one minibatch, always 1 |
# | **skip it when** | everything is legal, or only unwise |
# | **evidence** | Helps in the full set in Taxi; as the next rung in Taxi. It helps in 2 of 2 trials in worlds made for it, as predicted. |
# | **also called** | invalid action masking |

# %% [markdown]
# ## Exercises
#
# **Exercise 1: write it.** The entropy over the legal actions, from logits.


# %%
def my_entropy(logits, legal):  # [..., A], [..., A] bool -> [...]
    ...


check_entropy(my_entropy)

# %% [markdown]
# <details><summary>Hint</summary>
#
# Replace logits before `log_softmax`, by something finite.
#
# </details>
#
# **Exercise 2: think.** Take the three machines, the best one broken, and $\theta = 0$. Actions are drawn with the
# mask, but somebody differentiates $\log \pi(a)$ of the *unmasked* policy, where each machine has ⅓. What is the mean
# of $r(a)\, \nabla \log \pi(a)$, and how does it compare to the gradient, $(-¼, +¼, 0)$?
#
# <details><summary>Answer</summary>
#
# $½ \cdot 1 \cdot (⅔, -⅓, -⅓) + ½ \cdot 2 \cdot (-⅓, ⅔, -⅓) = (0, ½, -½)$. Not the gradient: under the masked policy,
# the unmasked score doesn't have mean zero. It pushes down an action that was never tried and can't be.
#
# </details>

# %% [markdown]
# **Exercise 3: spot the bug.** A careful programmer wants the gradient to see the net as it is, without any $-10^{30}$.

# %%
source(careful_mask)

# %% [markdown]
# We train on `Trading` with it. On the right is the largest ratio $\rho$ of each update, with one gradient step per
# update.

# %%
once = replace(trader.config, seeds=3, steps=8_000, epochs=1, minibatches=1)
with planted(mask_logits=careful_mask):
    careful, careful_once = train(trader.config, masking), train(once, masking)
right_once = train(once, masking)

# %% tags=["hide-input"]
figure, axes = plt.subplots(1, 2, figsize=(8.2, 2.8))
curves({"library": trader, "this one": careful}, axes[0])
for run, color in ((right_once, style.SOFT), (careful_once, style.INK)):
    axes[1].plot(run.curve.groupby("update")["max_ratio"].max(), "o-", ms=3, color=color)
axes[1].set(xlabel="update", ylabel="largest ratio ρ", ylim=(0, 1.2))
plt.show()

wrong, right = careful_once.curve.max_ratio, right_once.curve.max_ratio
assert wrong.max() < 0.95 and abs(right - 1).max() < 1e-4
assert careful.late().mean() < trader.late().mean()

# %% [markdown]
# What should the first ratio of an update be, why is it below 1 here, and why does it creep upward? Which other mistake
# would make some ratios 0?
#
# <details><summary>Hint</summary>
#
# When do logits require a gradient? And what if an agent plays without the mask and learns with it?
#
# </details>
#
# Solutions: [`solutions/11_action_mask.py`](solutions/11_action_mask.py). Next: [PopArt](12_popart.ipynb), for returns
# whose scale doesn't stand still.

# %% [markdown]
# # Action masks: leave out what's illegal
#
# *Sixty of sixty-four buttons do nothing. Do you have to press each of them to find out?*
#
# In chess most moves are illegal, a full shopping cart can't be filled, and a trader without a share has nothing to
# sell. Often the environment knows these rules and would tell you if you asked. A policy that doesn't ask has to be
# punished for every illegal action, in every state, until it has learned what it could have looked up.

# %% tags=["hide-input"]
from copy import deepcopy
from dataclasses import replace

import matplotlib.pyplot as plt
import torch

from ablations import style
from chapters.book import at_best_rate, begin, curves, evidence, planted, studies
from chapters.book.results import trials
from chapters.exercises.action_mask import careful_mask, check_masked
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
# switched off. Pulling one of those is illegal and costs 1. Fifty agents learn by REINFORCE, with 0, 10, or 60 dead
# machines.

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
for (_, shares), color in zip(unmasked.items(), (style.INK, style.SOFT, style.FAINT), strict=True):
    for axis, share in zip(axes, shares.T, strict=True):
        axis.plot(share, color=color)
axes[0].plot(masked[:, 0], color=COLOR, ls="--")
axes[0].text(250, 0.83, "60 dead, masked", color=COLOR, ha="right")
for place, height, dead in ((245, 0.45, 60), (52, 0.42, 10), (40, 0.04, 0)):
    axes[1].text(place, height, f"{dead} dead", color=style.INK, ha="right")
axes[0].set(title="best machine", xlabel="pull", ylabel="probability", ylim=(-0.02, 1.02))
axes[1].set(title="all dead machines", xlabel="pull")
plt.show()

legal_at_first = {dead: 1 - shares[0, 1].item() for dead, shares in unmasked.items()}
print(f"the first pull is legal with probability {legal_at_first[10]:.2f} (10 dead) and {legal_at_first[60]:.2f} (60)")
at_last = {dead: shares[-1, 0].item() for dead, shares in unmasked.items()}
print(
    f"at the last pull, the best machine: {at_last[10]:.2f} (10 dead), {at_last[60]:.2f} (60), {masked[-1, 0]:.2f} masked"
)
assert unmasked[60][-1, 0] + 0.1 < masked[-1, 0]

# %% [markdown]
# That's three problems at once. At first, nearly every pull is wasted. Each dead machine is learned separately: that
# machine 7 is dead says nothing about machine 8. And it never ends, because a softmax gives no action probability 0.
#
# ## Condition on what's legal
#
# Let $L$ be the set of legal actions in a state. A **mask** replaces each illegal action's logit by $-\infty$. Since
# $e^{-\infty} = 0$, the softmax becomes
#
# $$\pi_m(a) = \frac{e^{\theta_a}}{\sum_{j \in L} e^{\theta_j}} = \frac{\pi(a)}{\sum_{j \in L} \pi(j)}
#   \quad \text{for } a \in L, \qquad \pi_m(a) = 0 \quad \text{otherwise.}$$
#
# (For the second form, divide numerator and denominator by the sum over *all* actions.) That's **the probability of
# $a$, given that the action is legal.** Legal actions keep their proportions.
#
# For a legal action $a$, $\log \pi_m(a) = \theta_a - \log \sum_{j \in L} e^{\theta_j}$, so
#
# $$\frac{\partial \log \pi_m(a)}{\partial \theta_k} = \begin{cases} [a = k] - \pi_m(k) & \text{if } k \in L, \\
#   0 & \text{if not, since } \theta_k \text{ does not occur.} \end{cases}$$
#
# An illegal logit gets no gradient. Is this still the policy gradient? Its derivation drew actions from a policy and
# differentiated the logarithm of *the same* policy. It never asked how the policy computes its probabilities. Hence
#
# $$\nabla J = \mathbb{E}_{a \sim \pi_m}\big[ r(a)\, \nabla \log \pi_m(a) \big]$$
#
# holds, **as long as $\pi_m$ stands in both places.** So the mask is stored with the rollout, and applied both when
# acting and when learning.

# %%
source(mask_logits)

# %%
print(f"illegal: {ILLEGAL:g}")
logits, legal = torch.tensor([[0.0, 0.0, 0.0]]), torch.tensor([[True, True, False]])
masked, endless = mask_logits(logits, legal), logits.masked_fill(~legal, -torch.inf)
print("entropy with it:", round(Categorical.entropy(masked).item(), 3), end="; ")
print("with −∞:", Categorical.entropy(endless).item())

# %% [markdown]
# Either way the probability is exactly 0. But the entropy is a sum of $\pi \log \pi$, and $0 \cdot (-\infty)$ is not a
# number, while $0 \cdot (-10^{30})$ is 0. Here it's $\log 2$, since two actions are legal: an entropy that falls may
# only mean that fewer actions are legal.
#
# By hand, with three machines and the best one broken: $\theta = 0$ gives $\pi_m = (½, ½, 0)$ and $J = 1.5$. The
# gradient's components are $\pi_m(k)\,(r(k) - J)$: $-¼$, $+¼$, and 0.

# %% tags=["open"]
theta = torch.zeros(1, 3, requires_grad=True)
earned = (mask_logits(theta, legal).softmax(1) * PAYS).sum()
(exact,) = torch.autograd.grad(earned, theta)
print(f"J = {earned.item()}, gradient {exact.flatten().tolist()}")
torch.testing.assert_close(exact, torch.tensor([[-0.25, 0.25, 0.0]]))

torch.manual_seed(0)
action = mask_logits(theta, legal).softmax(1).multinomial(100_000, replacement=True)[0]
# ∇ log π_m(a), by the formula above
score = torch.eye(3)[action] - torch.tensor([0.5, 0.5, 0.0])
average = (PAYS[action].unsqueeze(1) * score).mean(0)
print("mean of 100000 samples", average.numpy().round(3))
assert (average - exact).abs().max() < 0.02

# %% [markdown]
# One set of logits under three masks (dotted: without a mask). What the crossed actions lose goes to the others, in
# proportion.

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

# %% [markdown]
# An agent has a place for a `mask`, and whatever is there becomes a part of its policy. Acting and learning both ask that
# policy, so they can't disagree.

# %%
diff(named("entropy"), named("action_mask"))

# %% [markdown]
# One trap is left. If *nothing* is legal, all logits are equal, the softmax is uniform, and the policy plays illegal
# actions. The library raises an error.

# %%
nothing = torch.zeros(3, dtype=torch.bool)
masked = mask_logits(torch.zeros(3), nothing)
print("softmax of nothing legal:", masked.softmax(0).numpy().round(2))


def policy(obs, legal):
    return mask_logits(torch.zeros(1, 1, 3), legal)


world = replace(TRADING, legal=lambda state: nothing.expand(*state.shape[:-1], 3))
player = Player(TensorEnv(world, Config(seeds=1, lanes=1)), block=8)
try:
    play_segment(player, policy, 8, torch.tensor([True]))
except InputError as error:
    print("InputError:", error)

# %% [markdown]
# ## Twenty useless buttons
#
# `Grid20` has five by five cells, four actions that move, and twenty that do nothing and cost 0.01. The far corner pays
# one point. (`at_best_rate` sets each arm's best learning rate, found on other seeds.)

# %%
plain = switched(["baseline", "reuse", "clip", "gae", "advantage_norm"])
masking = replace(plain, action_mask=True)
config = Config("tricks/Grid20-v0", seeds=5, steps=20_000)
config = replace(config, lanes=32, horizon=32, hidden=(32, 32))
without = train(at_best_rate(config, plain), plain)
having = train(at_best_rate(config, masking), masking)

# %% tags=["hide-input"]
curves({"without": without, "action_mask": having})
plt.show()

early = {
    name: run.curve.groupby("seed")["return"].first().mean() for name, run in (("without", without), ("with", having))
}
print(f"return of the first episodes: {early['without']:.2f} without, {early['with']:.2f} with the mask")
assert early["with"] > early["without"] + 0.5

# %% [markdown]
# A random *legal* walk already gets somewhere. Here is the same grid with 10, 20, 40, and 60 illegal actions, from
# longer runs with twenty seeds:

# %% tags=["hide-input"]
(trial,) = (each for each in trials() if each.trial.varied == "useless actions")
useless = [each.dose.size for each in trial.at_every_dose]
figure, axis = plt.subplots(figsize=(6.5, 2.7))
falls = {}
for side, color, name in (("having", COLOR, "with the mask"), ("without", style.INK, "without")):
    means = [each.scores(getattr(each, side)).mean() for each in trial.at_every_dose]
    axis.plot(useless, means, "o-", color=color)
    axis.text(useless[-1] + 1.5, means[-1], name, color=color, va="center")
    print(f"{name}: mean return {means[0]:.2f} with 10 illegal actions, {means[-1]:.2f} with 60")
    falls[side] = means[0] - means[-1]
axis.set(
    xlabel="illegal actions, beside four that move", ylabel="mean return over training", xlim=(5, 75), xticks=useless
)
plt.show()
assert abs(falls["having"]) < 0.1 < falls["without"]

# %% [markdown]
# With a mask, their number makes no difference. Huang & Ontañón (2020, arXiv:2006.14171) find the same in a strategy
# game.

# %% tags=["hide-input"]
evidence("action_mask").strip()
plt.show()

taxi, table = next(study for study in studies() if study.env == "Taxi-v4"), evidence("action_mask").table
last = {name: taxi.of(named(name)).late.mean() for name in ("entropy", "action_mask")}
print(
    f"Taxi, last tenth of training: {last['entropy']:.0f} on the rung before, {last['action_mask']:.0f} with the mask"
)
assert list(table.detected) == [0, 1, 1] and table.low.min() > 0 and (evidence("action_mask").worlds.seen == 1).all()

# %% [markdown]
# Taxi is the only usual environment that hands out a mask, and no other rung gains as much there: an episode without a
# delivery costs at least 200 points, and a good one earns about 8. (Alone, on REINFORCE, the interval clears zero, too,
# but after correcting for the number of tricks, no effect is detected.) In `Trading`, one action in three is illegal,
# and which one depends on whether you own a share.

# %% tags=["hide-input"]
evidence("action_mask")

# %% [markdown]
# All of these worlds punish illegal actions. (In Taxi that holds for pickups and drop-offs, but driving into a wall
# costs only the step.) Where every illegal action costs only a step, or where the net can infer from a few of them what
# holds for all, expect less. Two more warnings:
#
# - **A wrong mask is final.** If it forbids a good action, no gradient will ever say so. "Illegal" should mean
#   impossible, not unwise.
# - **The policy can't do without it later.** Where an action was illegal, its logit is a by-product of what was learned
#   elsewhere. Below, agents trained on `Trading` play on without their mask.

# %%
config = replace(config, env="tricks/Trading-v0")
trader = train(at_best_rate(config, masking), masking)
bare = deepcopy(trader.agent)
bare.mask = None
kept, lost = trader.evaluate(50).mean(), replace(trader, agent=bare).evaluate(50).mean()

# %% tags=["hide-input"]
print(f"mean return with the mask it was trained with {kept:.1f}, without {lost:.1f}")
assert lost < kept - 1

# %% [markdown]
# ## At a glance
#
# | | |
# |---|---|
# | **problem** | illegal actions waste samples, and each has to be unlearned separately |
# | **formula** | $\pi_m(a) = \pi(a) \,/ \sum_{j \in L} \pi(j)$ for a legal action, 0 for an illegal one |
# | **in the loop** | `agent.mask = mask_logits` |
# | **defaults** | nothing to tune; the mask comes from the environment, as in `info["action_mask"]` |
# | **watch** | `max_ratio`: with one epoch and one minibatch, always 1; `entropy`: at most the log of the number of *legal* actions |
# | **skip it when** | everything is legal, or "illegal" only means unwise |
# | **also called** | invalid action masking |

# %% [markdown]
# ## Exercises
#
# **Exercise 1: write it.** Compute probabilities under a mask, from logits. Run the cell to see what's wrong with your
# version.


# %%
def my_masked(logits, legal):  # [..., A], [..., A] bool -> [..., A]
    ...


check_masked(my_masked)

# %% [markdown]
# <details><summary>Hint</summary>
#
# Replace logits before the softmax, with `torch.where` or `masked_fill`. Probabilities that are cut afterward no longer
# sum to 1.
#
# </details>
#
# **Exercise 2: think.** Take the three machines with the best one broken, and $\theta = 0$. Actions are drawn with the
# mask, but somebody differentiates $\log \pi(a)$ of the *unmasked* policy, where each machine has ⅓. What is the mean
# of $r(a)\, \nabla \log \pi(a)$, and how does it compare to $(-¼, +¼, 0)$?
#
# <details><summary>Answer</summary>
#
# $½ \cdot 1 \cdot (⅔, -⅓, -⅓) + ½ \cdot 2 \cdot (-⅓, ⅔, -⅓) = (0, ½, -½)$. That's not the gradient of what is earned:
# under the masked policy, the unmasked score doesn't have mean zero. The third component pushes down an action that was
# never tried and can't be, and the larger the payouts, the harder it pushes.
#
# </details>

# %% [markdown]
# **Exercise 3: spot the bug.** A careful programmer wants the gradient to see the net as it is, without any $-10^{30}$.

# %%
source(careful_mask)

# %% [markdown]
# Below, we train on `Trading` with it, using `planted`. On the right is the largest ratio
# $\rho = \pi(a) / \pi_{\text{old}}(a)$ of each update, with one gradient step per update.

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
print(f"largest ratio {wrong.max():.2f}, with the library's mask {right.max():.2f}")
assert wrong.max() < 0.95 and abs(right - 1).max() < 1e-4
assert careful.late().mean() < trader.late().mean()

# %% [markdown]
# What should the first ratio of an update be, why is it below 1 here, and why does it creep upward? And which other
# mistake would make some ratios exactly 0?
#
# <details><summary>Hint</summary>
#
# When do logits require a gradient: when the agent acts, when the old log-probabilities are computed, or when it
# learns?
#
# </details>
#
# Solutions: [`solutions/11_action_mask.py`](solutions/11_action_mask.py). Next: [PopArt](12_popart.ipynb), for returns
# whose scale doesn't stand still.

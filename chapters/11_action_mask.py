# %% [markdown]
# # Action masks: what cannot be done need not be learned
#
# *Sixty of sixty-four buttons do nothing. Must each of them be pressed to find out?*
#
# In chess most moves are illegal, a full shopping cart cannot be filled, and a trader without a share has nothing to
# sell. Often the rules are known to whoever wrote the environment, and it would say so if asked. A policy that does not
# ask has to be punished for every illegal action, in every state, until it has learned what could be looked up.

# %%
from dataclasses import replace

import matplotlib.pyplot as plt
import torch

from ablations import style
from book import at_best_rate, begin, curves, evidence, planted
from exercises.action_mask import careful_mask, check_masked
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
# ## Punished into line
#
# The slot machines of the first chapter again, which pay 1, 2 and 4. Around them stand some machines that are
# switched off. Pulling one of those is illegal and costs 1. Fifty agents learn by REINFORCE, for 0, 10 and 60 dead
# machines.

# %%
PAYS = torch.tensor([1.0, 2.0, 4.0])


def learn(dead, masked, agents=50, pulls=250, rate=0.05):
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


figure, axes = plt.subplots(1, 2, figsize=(6.5, 2.7), sharey=True)
unmasked = {}
for dead, color in ((60, style.INK), (10, style.SOFT), (0, style.FAINT)):
    unmasked[dead] = learn(dead, masked=False)
    for axis, share in zip(axes, unmasked[dead].T, strict=True):
        axis.plot(share, color=color)
masked = learn(60, masked=True)
axes[0].plot(masked[:, 0], color=COLOR, ls="--")
axes[0].text(250, 0.83, "60 dead, masked", color=COLOR, ha="right")
for place, height, dead in ((245, 0.45, 60), (52, 0.42, 10), (40, 0.04, 0)):
    axes[1].text(place, height, f"{dead} dead", color=style.INK, ha="right")
axes[0].set(title="best machine", xlabel="pull", ylabel="probability", ylim=(-0.02, 1.02))
axes[1].set(title="all dead machines", xlabel="pull")
plt.show()

print(
    f"at the first pull, legal: {1 - unmasked[60][0, 1]:.0%} with 60 dead machines, {1 - unmasked[10][0, 1]:.0%} with 10"
)
print(f"at the last pull, the best machine: {unmasked[60][-1, 0]:.2f} with 60 dead, {masked[-1, 0]:.2f} masked")
assert unmasked[60][-1, 0] + 0.1 < masked[-1, 0]

# %% [markdown]
# Three troubles at once. At first, nearly every pull is wasted. Each illegality is learned on its own: that machine 7
# is dead says nothing about machine 8. And it never ends, because a softmax gives no action the probability 0: some of
# it leaks to every illegal action for as long as the agent lives. The dashed line, with 60 dead machines and a mask,
# learns as if they were not there.
#
# ## The derivation
#
# Let $L$ be the set of legal actions in a state. A **mask** replaces each illegal action's logit by $-\infty$. As
# $e^{-\infty} = 0$, the softmax becomes
#
# $$\pi_m(a) = \frac{e^{\theta_a}}{\sum_{b \in L} e^{\theta_b}} = \frac{\pi(a)}{\sum_{b \in L} \pi(b)}
#   \quad \text{for } a \in L, \qquad \pi_m(a) = 0 \quad \text{otherwise.}$$
#
# For the second form, divide above and below by the sum over *all* actions. It is the definition of a conditional
# probability: **the probability of $a$, given that the action is legal.** Legal actions keep their proportions.
#
# What about the gradient? For a legal action $a$ that was drawn, $\log \pi_m(a) = \theta_a - \log \sum_{b \in L}
# e^{\theta_b}$, so
#
# $$\frac{\partial \log \pi_m(a)}{\partial \theta_k} = \begin{cases} [a = k] - \pi_m(k) & \text{if } k \in L, \\
#   0 & \text{if not, since } \theta_k \text{ does not occur.} \end{cases}$$
#
# An illegal logit gets no gradient at all: not a little, exactly 0. And is it still the policy gradient? The first
# chapter's derivation needed two things: that actions are drawn from a policy, and that the logarithm of *the same*
# policy is differentiated. It never asked how the policy computes its probabilities. $\pi_m$ is a policy like any
# other. So
#
# $$\nabla J = \mathbb{E}_{a \sim \pi_m}\big[ r(a)\, \nabla \log \pi_m(a) \big]$$
#
# holds, **as long as $\pi_m$ stands in both places.** That is the whole art of it: the mask is part of the policy, so
# it belongs to the state, is stored with the rollout, and is applied when acting and when learning alike.
#
# ## In the library

# %%
source(mask_logits)

# %%
print(f"illegal: {ILLEGAL:g}")
logits, legal = torch.tensor([[0.0, 0.0, 0.0]]), torch.tensor([[True, True, False]])
print("entropy with it:", round(Categorical.entropy(mask_logits(logits, legal)).item(), 3), end="; ")
print("with −∞:", Categorical.entropy(logits.masked_fill(~legal, -torch.inf)).item())

# %% [markdown]
# Why $-10^{30}$ and not $-\infty$? The probability is exactly 0 either way. But the entropy is a sum of $\pi \log \pi$,
# and $0 \cdot (-\infty)$ is not a number, while $0 \cdot (-10^{30})$ is 0. Note the value: under a mask, the largest
# possible entropy is the logarithm of the number of *legal* actions, here $\log 2 \approx 0.693$. An entropy trace that
# falls may only say that fewer actions are legal.
#
# By hand, with three machines and the best of them broken: $\theta = 0$ gives $\pi_m = (½, ½, 0)$ and $J = 1.5$. The
# gradient's components are $\pi_m(k)\,(r(k) - J)$: $-¼$, $+¼$ and 0.

# %%
theta = torch.zeros(1, 3, requires_grad=True)
earned = (mask_logits(theta, legal).softmax(1) * PAYS).sum()
(exact,) = torch.autograd.grad(earned, theta)
print(f"J = {earned.item()}, gradient {exact.flatten().tolist()}")
torch.testing.assert_close(exact, torch.tensor([[-0.25, 0.25, 0.0]]))

torch.manual_seed(0)
action = mask_logits(theta, legal).softmax(1).multinomial(100_000, replacement=True)[0]
score = torch.eye(3)[action] - torch.tensor([0.5, 0.5, 0.0])  # ∇ log π_m(a), by the formula above
print("mean of 100000 samples", (PAYS[action].unsqueeze(1) * score).mean(0).numpy().round(3))
assert ((PAYS[action].unsqueeze(1) * score).mean(0) - exact).abs().max() < 0.02

# %% [markdown]
# ## A picture of the mechanism
#
# One net, one set of logits, and two states with different masks.

# %% tags=["thumbnail"]
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
# Dotted: the same logits without a mask. What is taken from the crossed actions goes to the others, in proportion.
#
# In the loop, masking is one line that wraps `policy`. Acting and learning both call the wrapped function, so they can't
# disagree. When the agent learns, `legal` comes out of the batch, where it was stored next to the observation.

# %%
diff(named("entropy"), named("action_mask"))

# %% [markdown]
# One trap is left. What if *nothing* is legal? Then all logits are $-10^{30}$, and a softmax of equal numbers is
# uniform: the policy plays illegal actions with full confidence, and nobody notices. That is a fault of the
# environment, and the library says so.

# %%
print(
    "softmax of nothing legal:",
    mask_logits(torch.zeros(3), torch.zeros(3, dtype=torch.bool)).softmax(0).numpy().round(2),
)


def nothing_is_legal(state):
    return torch.zeros(*state.shape[:-1], 3, dtype=torch.bool)


player = Player(TensorEnv(replace(TRADING, legal=nothing_is_legal), Config(seeds=1, lanes=1)), block=8)
try:
    play_segment(player, lambda obs, legal: mask_logits(torch.zeros(1, 1, 3), legal), 8, torch.tensor([True]))
except InputError as error:
    print("InputError:", error)

# %% [markdown]
# ## A small run
#
# `Grid20`: five by five cells, four actions that move, and twenty that do nothing and cost 0.01. The far corner pays 1.

# %%
plain = switched(["baseline", "reuse", "clip", "gae", "advantage_norm"])
masking = replace(plain, action_mask=True)
config = Config("tricks/Grid20-v0", seeds=5, steps=20_000, lanes=32, horizon=32, hidden=(32, 32))
without, having = (train(at_best_rate(config, tricks), tricks) for tricks in (plain, masking))
curves({"without": without, "action_mask": having})
plt.show()

early = {
    name: run.curve.groupby("seed")["return"].first().mean() for name, run in (("without", without), ("with", having))
}
print(f"return of the first episodes: {early['without']:.2f} without, {early['with']:.2f} with the mask")
assert early["with"] > early["without"] + 0.5

# %% [markdown]
# Much of the advantage is there before anything has been learned: a random *legal* walk already gets somewhere. It
# saves the time in which the other agents are being punished.
#
# ## What the stored runs say
#
# The same grid with 10, 20, 40 and 60 illegal actions, each arm at its own learning rate:

# %%
evidence("action_mask")

# %%
stored = evidence("action_mask").worlds
grids = stored[stored.world.str.contains("Grid")]
useless = grids.world.str.extract(r"Grid(\d+)")[0].astype(int)
figure, axis = plt.subplots(figsize=(6.5, 2.7))
for column, color, name in (("with", COLOR, "with the mask"), ("without", style.INK, "without")):
    axis.plot(useless, grids[column], "o-", color=color)
    axis.text(useless.max() + 1.5, grids[column].iloc[-1], name, color=color, va="center")
axis.set(
    xlabel="illegal actions, beside four that move", ylabel="mean return over training", xlim=(5, 75), xticks=useless
)
plt.show()

# %%
evidence("action_mask").plot()
plt.show()

# %%
falls = {column: grids[column].iloc[0] - grids[column].iloc[-1] for column in ("without", "with")}
print(
    f"from {useless.min()} to {useless.max()} illegal actions the return falls by {falls['without']:.2f} without the mask, {falls['with']:.2f} with it"
)
for row in stored.itertuples():
    print(f"{row.place}: {row.verdict}, {row.difference:+.2f} ({row.low:+.2f} to {row.high:+.2f})")

# %% [markdown]
# On the grid, it is the number of illegal actions that decides. Huang & Ontañón (2020, arXiv:2006.14171) find the same in a strategy
# game: penalties for illegal actions scale badly with their number, and masks do not. In `Trading`, one action in three
# is illegal, and which one depends on whether a share is owned. Its returns are in units of its own: do not compare its
# difference with the grid's.
#
# **What it does not say:** that a mask is worth as much on a task where illegal actions cost nothing but a step, or are
# few, or where the net can infer from a few of them what holds for all. Gymnasium's Taxi-v4 hands out such a mask in
# `info["action_mask"]`; if it has been measured, it is in the table above.
#
# ## When it does not help, or hurts
#
# - **When everything is legal.** CartPole's policy with an all-true mask is CartPole's policy.
# - **When the mask is wrong.** A mask that forbids a good action forbids it for ever, with no gradient to say so. "Illegal"
#   should mean impossible, not unwise.
# - **When the mask goes away.** In the states where it was illegal, an action's logit never got a gradient; what it is there
#   is a by-product of what was learned elsewhere. Below, the agents
#   of a masked run on `Trading` play on without their mask.

# %%
config = Config("tricks/Trading-v0", seeds=5, steps=20_000, lanes=32, horizon=32, hidden=(32, 32))
trader = train(at_best_rate(config, masking), masking)
kept, lost = trader.evaluate(50).mean(), replace(trader, tricks=plain).evaluate(50).mean()
print(f"mean return with the mask it was trained with {kept:.1f}, without {lost:.1f}")
assert lost < kept - 1

# %% [markdown]
# ## Exercises
#
# **Exercise 1: write it.** Probabilities under a mask, from logits.


# %%
def my_masked(logits, legal):  # [..., A], [..., A] bool -> [..., A]
    ...


check_masked(my_masked)

# %% [markdown]
# **Exercise 2: think.** Take the three machines, the best of them broken, $\theta = 0$. Actions are drawn with the
# mask, but somebody differentiates $\log \pi(a)$ of the *unmasked* policy, where each machine has ⅓. What is the mean
# of $r(a)\, \nabla \log \pi(a)$, and how does it compare to $(-¼, +¼, 0)$?
#
# **Exercise 3: spot the bug.** A careful programmer wants the gradient to see the net as it is, without any $-10^{30}$.

# %%
source(careful_mask)

# %% [markdown]
# On the left, `Trading` with this mask and with the library's. On the right, the same with a single gradient step per
# update (`epochs=1, minibatches=1`), and the largest ratio $\pi(a) / \pi_{\text{old}}(a)$ in each.

# %%
figure, axes = plt.subplots(1, 2, figsize=(8.2, 2.8))
once = replace(trader.config, seeds=3, steps=8_000, epochs=1, minibatches=1)
with planted(mask_logits=careful_mask):
    careful, careful_once = train(trader.config, masking), train(once, masking)
right_once = train(once, masking)
curves({"library": trader, "this one": careful}, axes[0])
for run, color in ((right_once, style.SOFT), (careful_once, style.INK)):
    axes[1].plot(run.curve.groupby("update")["max_ratio"].max(), "o-", ms=3, color=color)
axes[1].set(xlabel="update", ylabel="largest ratio", ylim=(0, 1.2))
plt.show()

print(
    f"largest ratio {careful_once.curve.max_ratio.max():.2f}, with the library's mask {right_once.curve.max_ratio.max():.2f}"
)
assert careful_once.curve.max_ratio.max() < 0.95 and abs(right_once.curve.max_ratio - 1).max() < 1e-4
assert careful.late().mean() < trader.late().mean()

# %% [markdown]
# What should the first ratio of an update be, why is it below 1 here, and why does it creep upward? And which other mistake
# would make some ratios exactly 0?
#
# Solutions: [`solutions/11_action_mask.py`](solutions/11_action_mask.py). Next: [PopArt](12_popart.ipynb), for returns
# whose scale does not stand still.

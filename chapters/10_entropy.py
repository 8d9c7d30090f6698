# %% [markdown]
# # The entropy bonus: do not be sure too early
#
# *A small reward is near, a large one is far. Who stops looking after the first?*
#
# A policy learns from what it sees, and it sees what it does. Once it is sure of itself, it does one thing, sees one
# thing, and every batch tells it that it was right. This chapter is about the moment before that, about a term in the
# loss that pays a policy for staying undecided, and about the price of that term, which is never zero.

# %%
from dataclasses import replace

import matplotlib.pyplot as plt
import torch

from ablations import style
from book import at_best_rate, begin, curves, evidence, planted, swept
from exercises.entropy import check_entropy, reported_bonus
from tricks import Config, diff, source, train
from tricks.core.policies import Categorical, DiagonalGaussian
from tricks.core.rollout import play_episodes
from tricks.entropy import entropy_bonus
from tricks.ladder import named, switched
from tricks.worlds.corridor import CELLS, COST, FAR, NEAR, START

begin()
COLOR = style.COLORS["entropy"]

# %% [markdown]
# ## A corridor with two doors
#
# Sixteen cells in a row, numbered 0 to 15, and you start in cell 2. Each step costs 0.03. The door at the left end, two
# steps away, pays 0.1. The door at the right end, thirteen steps away, pays 1. So:
#
# - straight to the left: $0.1 - 2 \cdot 0.03 = 0.04$;
# - straight to the right: $1 - 13 \cdot 0.03 = 0.61$, about fifteen times as much.
#
# Now be a policy that knows nothing and goes right with probability $p$, the same in every cell. What does it earn, on
# average? The expected return $V(s)$ of each cell is the step's cost, plus what waits on either side,
#
# $$V(s) = -0.03 + p\, V(s + 1) + (1 - p)\, V(s - 1), \qquad V(0) = 0.1, \quad V(15) = 1,$$
#
# which are 14 linear equations.


# %%
def corridor_return(p):
    """V of the start, exactly, if every cell goes right with probability p."""
    inside = CELLS - 2
    right, left = torch.diag(torch.ones(inside - 1), 1), torch.diag(torch.ones(inside - 1), -1)
    pays = torch.full((inside,), -COST)
    pays[0] += (1 - p) * NEAR
    pays[-1] += p * FAR
    return torch.linalg.solve(torch.eye(inside) - p * right - (1 - p) * left, pays)[START - 1].item()


p = torch.linspace(0.001, 0.999, 400)
earned = [corridor_return(x) for x in p]
print(f"a coin flip in every cell: {corridor_return(0.5):.2f}")
print(f"always left {corridor_return(0.0):.2f}, always right {corridor_return(1.0):.2f}")

# %% tags=["thumbnail"]
figure, axis = plt.subplots(figsize=(6.5, 2.8))
axis.plot(p, earned, color=style.INK)
axis.plot(0.5, corridor_return(0.5), "o", ms=9, color=COLOR)
arrow = {"arrowstyle": "-|>", "color": COLOR, "lw": 2}
axis.annotate("", (0.3, corridor_return(0.3) + 0.06), (0.47, corridor_return(0.5) + 0.08), arrowprops=arrow)
axis.text(0.5, -0.72, "undecided: uphill is to the left", color=COLOR, ha="center", va="top")
axis.text(0.02, 0.12, "near door, 0.04")
axis.text(0.98, 0.68, "far door, 0.61", ha="right")
axis.set(xlabel="probability of going right, in every cell", ylabel="expected return", ylim=(-1, 0.9))
plt.show()

slope = (corridor_return(0.51) - corridor_return(0.49)) / 0.02
print(f"slope at a coin flip: {slope:.1f}")
assert slope < -0.5 and abs(corridor_return(1.0) - 0.61) < 1e-3 and abs(corridor_return(0.0) - 0.04) < 1e-3

# %% [markdown]
# There are two hills with a valley between them, and the coin flip stands on the slope of the wrong one. To go right *a
# bit more often* means to stroll about for longer, which costs, and to reach the far door hardly more often. This is
# what **deceptive** means: the exact gradient, with no noise at all, leads away from the better hill. What could save
# the agent is noise, or a chance to find out that the upper cells are different, for as long as it still goes there.
#
# ## Why it does not come back
#
# How long is that? Take the smallest case, two actions whose values differ by $\Delta$ in favor of the *second*. With
# $z$ the difference of their logits, the second's probability is $p = 1 / (1 + e^{-z})$, with derivative
# $p (1 - p)$. What is earned is $J = p\, \Delta$ (plus a constant), so
#
# $$\frac{\partial J}{\partial z} = p\,(1 - p)\, \Delta.$$
#
# A factor $p$, because an action that is never tried teaches nothing. Start at $p = 0.001$ and the gradient is a
# thousandth of $\Delta$, although the policy is as wrong as can be. Below, exact gradient steps of size 1 with $\Delta
# = 1$, from three starts.

# %%
figure, axis = plt.subplots(figsize=(6.5, 2.6))
needed = {}
for start, color in ((0.1, style.FAINT), (0.01, style.SOFT), (0.001, style.INK)):
    z, path = torch.logit(torch.tensor(start)), []
    while z < 3:
        path.append(z.sigmoid().item())
        z = z + path[-1] * (1 - path[-1])
    needed[start] = sum(x < 0.5 for x in path)
    axis.plot(range(1, len(path) + 1), path, color=color)
    axis.text(needed[start] * 0.85, 0.55, f"from {start}", ha="right", color=style.SOFT)
axis.set(xscale="log", xlabel="gradient step", ylabel="probability of the\nbetter action", ylim=(0, 1))
plt.show()
print("steps to one half:", ", ".join(f"{steps} from {start}" for start, steps in needed.items()))
assert all(0.8 < steps * start < 1.6 for start, steps in needed.items())

# %% [markdown]
# It takes about $1/p$ steps to get back: each further digit of certainty makes the way ten times longer. And this was
# the *exact* gradient. From samples, the better action has to be drawn first.
#
# So a policy should not become sure before it has looked around. We need a number that says how undecided it is.
#
# ## The derivation
#
# The **entropy** of a policy is the average surprise at its own actions, with $-\log \pi(a)$ as the surprise at $a$:
#
# $$H(\pi) = -\sum_a \pi(a) \log \pi(a).$$
#
# It is 0 for a policy that is certain. (The terms of actions with $\pi(a) = 0$ count as 0, because
# $x \log x \to 0$ as $x \to 0$.) What does it take to raise it? For a softmax,
# $\partial \pi(a) / \partial \theta_k = \pi(a)\,([a = k] - \pi(k))$, so by the product rule
#
# $$\frac{\partial H}{\partial \theta_k}
#   = -\sum_a \frac{\partial \pi(a)}{\partial \theta_k} \big(\log \pi(a) + 1\big)
#   = -\pi(k) \big(\log \pi(k) + 1\big) + \pi(k) \sum_a \pi(a) \big(\log \pi(a) + 1\big)
#   = -\pi(k)\, \big(\log \pi(k) + H\big).$$
#
# The first step also differentiates the logarithm, which gives the $+1$; the second inserts the derivative; in the
# third, the sum is $-H + 1$, and the ones cancel. In words: an action that is *less* surprising than average loses some
# of its logit, one that is more surprising gains. It all comes to rest where every action is equally surprising, so
# equally probable: $\pi = 1/n$ for $n$ actions, and there $H = \log n$, the largest that it can be.
#
# The **entropy bonus** adds $c_2 H$, averaged over the states of the batch, to what is maximized ($c_2$ is the PPO paper's
# name; its $c_1$ weighs the value loss) (Williams & Peng 1991;
# Mnih et al. 2016, arXiv:1602.01783). For our two actions, where $\log \pi(2) - \log \pi(1) = z$, the formula gives
# $\partial H / \partial z = -p\,(1 - p)\, z$, and with the reward
#
# $$\frac{\partial (J + c_2 H)}{\partial z} = p\,(1 - p)\, \big(\Delta - c_2\, z\big).$$
#
# Everything about the trick can be read off this line.
#
# - **It is a spring.** Beside the reward's constant $\Delta$ stands $-c_2 z$: measured against the reward, the bonus pulls
#   back the harder the further $z$ is from 0, on either side.
# - **It is no rescue.** The factor $p\,(1 - p)$ is still there. A policy that *is* sure feels the spring as little as the
#   reward. The bonus has to be there from the start, so that it never comes to that.
# - **It has a price.** The gradient is zero at $z = \Delta / c_2$, not at $z = \infty$.
#
# ## In the library

# %%
source(entropy_bonus, Categorical.entropy)

# %% [markdown]
# The entropy is computed from `log_softmax`, which stays finite where a probability underflows to 0: then $0 \cdot
# (-200)$ is 0, as it should be. The logarithm of a softmax would be $0 \cdot (-\infty)$, which is not a number.
#
# By hand: for $\pi = (½, ¼, ¼)$, $H = ½ \log 2 + ½ \log 4 = 1.5 \log 2 \approx 1.040$. The gradient's first component
# is $-½ (-\log 2 + 1.5 \log 2) = -¼ \log 2 \approx -0.173$, the others are $-¼ (-2 \log 2 + 1.5 \log 2) \approx
# +0.087$.

# %%
logits = torch.tensor([[[0.5, 0.25, 0.25]]]).log().requires_grad_()  # [S, B, A]
entropy = Categorical.entropy(logits)  # [S, B]
bonus = entropy_bonus(entropy, torch.ones(1, 1, dtype=torch.bool), coef=1.0)
(grad,) = torch.autograd.grad(bonus.sum(), logits)
print(f"H = {bonus.item():.3f}, gradient {grad.flatten().numpy().round(3)}")
torch.testing.assert_close(grad.flatten(), torch.tensor([-0.25, 0.125, 0.125]) * torch.tensor(2.0).log())

sure = torch.tensor([[200.0, 0.0]])
print("sure of itself:", abs(Categorical.entropy(sure).item()), "and by the logarithm of a softmax:", end=" ")
print(-(sure.softmax(1) * sure.softmax(1).log()).sum().item())
assert Categorical.entropy(sure).item() == 0

# %%
diff(named("grad_clip"), named("entropy"))

# %% [markdown]
# One line. Note its sign: the loss is minimized, so the bonus is *subtracted*.
#
# ## What it costs
#
# The price is worth a second look, for any number of actions. (You met it in the chapter on advantage normalization; here
# is where it comes from.) On a bandit, $\partial J / \partial \theta_k =
# \pi(k)\,(r(k) - J)$, from the first chapter. Add $c_2$ times the gradient of $H$ and set the sum to zero:
#
# $$\pi(k)\, \big(r(k) - J - c_2 \log \pi(k) - c_2 H\big) = 0
#   \quad\text{for every } k
#   \qquad\Longrightarrow\qquad \log \pi(k) = \frac{r(k)}{c_2} + \text{something that is the same for all } k.$$
#
# Probabilities whose logarithms are $r(k) / c_2$ up to a common constant are a softmax:
#
# $$\pi^* = \operatorname{softmax}(r / c_2).$$
#
# **The best policy of the new objective is never deterministic.** $c_2$ sets its temperature. And it is measured
# against *differences of reward*: 0.01 is little where they are 1, and a lot where they are 0.01. Here are the three
# slot machines from the first chapter, which pay 1, 2 and 4, and three that pay a tenth of it.

# %%
PAYS, coefs = torch.tensor([1.0, 2.0, 4.0]), torch.logspace(-3, 1, 200)
figure, axis = plt.subplots(figsize=(6.5, 2.6))
for scale, color, place in ((1.0, COLOR, 2.2), (0.1, style.SOFT, 0.006)):
    best = (scale * PAYS / coefs.unsqueeze(1)).softmax(1)[:, 2]
    axis.plot(coefs, best, color=color)
    axis.text(place, 0.72, f"pays {scale * 1:g}, {scale * 2:g}, {scale * 4:g}", color=color)
axis.axhline(1 / 3, color=style.SOFT, lw=0.8, ls=":")
axis.set(
    xscale="log",
    xlabel="weight of the bonus $c_2$",
    ylim=(0, 1.05),
    ylabel="best machine's probability\nunder the best policy",
)
plt.show()

theta = torch.zeros(1, 1, 3)
for _ in range(2000):  # gradient ascent on J + c₂·H with c₂ = 1
    theta.requires_grad_()
    objective = (theta.softmax(-1) * PAYS).sum() + 1.0 * Categorical.entropy(theta).sum()
    theta = (theta + 0.1 * torch.autograd.grad(objective, theta)[0]).detach()
print(
    "found by ascent:", theta.softmax(-1).flatten().numpy().round(3), " softmax(r):", PAYS.softmax(0).numpy().round(3)
)
torch.testing.assert_close(theta.softmax(-1).flatten(), PAYS.softmax(0), atol=1e-3, rtol=0)

# %% [markdown]
# In an episode of many steps, the price is paid in every step. In the corridor, an agent that goes the right way with
# 90% instead of 100% takes longer, and each step costs.
#
# ## A small run
#
# The corridor, learned from samples: eight agents without the bonus, eight with $c_2 = 0.05$. A planted `play_episodes`
# also counts in which cells they spend their time.


# %%
def run_and_watch(tricks):
    """The run, and the share of time in each cell, [updates, CELLS], of all agents together."""
    seen = []

    def watching(player, policy, rows, active):
        rollout = play_episodes(player, policy, rows, active)
        cells = rollout.obs[:, :-1][rollout.valid]  # one-hot
        if active.all():  # until the first agent has used up its steps
            seen.append(cells.mean(0))
        return rollout

    config = Config(
        "tricks/Corridor-v0", seeds=8, steps=30_000, lanes=32, horizon=32, entropy_coef=0.05, hidden=(32, 32)
    )
    with planted(play_episodes=watching):
        return train(at_best_rate(config, tricks), tricks), torch.stack(seen)


plain = switched(["baseline", "reuse", "clip", "gae"])
without, cells_without = run_and_watch(plain)
bonus, cells_bonus = run_and_watch(replace(plain, entropy=True))

# %%
figure, axes = plt.subplots(1, 2, figsize=(6.5, 2.8), sharey=True)
updates = min(len(cells_without), len(cells_bonus))
for axis, cells, title in ((axes[0], cells_without, "without"), (axes[1], cells_bonus, "with the bonus")):
    axis.imshow(cells[:updates].T.sqrt(), aspect="auto", origin="lower", cmap="Greys", vmin=0, vmax=0.8)
    axis.set(title=title, xlabel="update")
axes[0].set(ylabel="cell", yticks=[0, 2, 15], yticklabels=["near 0", "start 2", "far 15"])
plt.show()

far = [cells[-5:, 8:].sum(1).mean().item() for cells in (cells_without, cells_bonus)]
print(f"time spent in the far half, at the end: {far[0]:.0%} without, {far[1]:.0%} with the bonus")
assert far[1] > far[0]

# %% [markdown]
# (Darker is more time.) Without the bonus, the far half goes white within a few updates; an agent that finds the far
# door after that has been lucky. With it, the agents keep strolling, until the far door has been seen often enough.

# %%
figure, axes = plt.subplots(1, 2, figsize=(7.6, 2.8))
curves({"without": without, "entropy": bonus}, axes[0])
for run, color in ((without, style.SOFT), (bonus, COLOR)):
    for _, rows in run.curve.groupby("seed"):
        axes[1].plot(rows["step"] / 1000, rows["entropy"], color=color, lw=0.8)
axes[1].axhline(torch.tensor(2.0).log(), color=style.INK, lw=0.8, ls=":")
axes[1].text(30, 0.7, "log 2", ha="right", va="bottom")
axes[1].set(xlabel="environment steps (thousands)", ylabel="entropy (nats)", ylim=(0, 0.8))
plt.show()

for name, run in (("without", without), ("with the bonus", bonus)):
    print(f"{name}: return of each agent at the end", sorted(run.late().round(2)), end=", ")
    print(f"entropy {run.curve.groupby('seed')['entropy'].last().mean():.3f}")
assert (
    bonus.curve.groupby("seed")["entropy"].last().mean() > 0.2 > without.curve.groupby("seed")["entropy"].last().mean()
)

# %% [markdown]
# Read the returns agent by agent. Those that took the near door have 0.04, those that found the far one with the bonus
# are well above it, and *below* 0.61. That gap is the price: they know the way and still go back a step now and then,
# because they are paid for it. And the bonus is no guarantee: look for agents with it that earn nothing much.
#
# ## What the stored runs say

# %%
evidence("entropy")

# %%
evidence("entropy").plot()
plt.show()

print(evidence("entropy").summary())

# %% [markdown]
# The corridor was built to be deceptive. Most environments are not: on CartPole a policy falls as soon as it does one
# thing only, so it never stops seeing what else there is. Where nothing deceives, little but the price is left,
# and at $c_2 = 0.01$ that is small. So expect rows near zero, and read the intervals where they are not. (All usual
# environments were run with 0.01, those with continuous actions too, where the usual choice is 0: see below.)
#
# How large should the bonus be? On CartPole, where there is nothing to explore, the answer is: small enough not to matter.

# %%
swept("entropy_coef")
plt.show()

# %% [markdown]
# **What it does not say:** that 0.05 is a good value, or 0.01. The weight is measured against differences of reward, so
# it belongs to a reward scale, and where advantages are normalized, to theirs.
#
# ## When it does not help, or hurts
#
# - **Mostly, on control tasks.** Andrychowicz et al. (2020, arXiv:2006.05990) find no benefit of it on continuous control
#   tasks, with HalfCheetah as the exception.
# - **When the reward is really hidden.** The bonus makes a policy flip coins in every cell. That reaches a door 13 cells
#   away, not one that needs fifty right choices in a row.
# - **When precision pays**, at the end of training: see the price. Some let $c_2$ fall to zero over the run.
# - **When actions are continuous.** The entropy of a Gaussian, $\log \sigma + ½ \log(2 \pi e)$ in each dimension, is no
#   longer bounded: it is negative when $\sigma$ is small, and grows without end as $\sigma$ does, whatever the environment
#   makes of actions beyond its limits. Hence the usual choice there is $c_2 = 0$.

# %%
for sigma in (0.01, 0.2, 1.0, 100.0):
    output = torch.tensor([[1.0, sigma]]).log()  # a mean of 0, and log σ
    print(f"σ = {sigma:g}: entropy {DiagonalGaussian.entropy(output).item():.2f}")

# %% [markdown]
# ## Exercises
#
# **Exercise 1: write it.** The entropy of each row of logits, in nats. Remember $0 \cdot \log 0$.


# %%
def my_entropy(logits):  # [B, A] -> [B]
    ...


check_entropy(my_entropy)

# %% [markdown]
# **Exercise 2: think.** $H$ is the average of $-\log \pi(a)$ over sampled actions. So somebody saves the sum over all
# actions and adds $c_2$ times the mean of $-\log \pi_\theta(a_t)$, over the actions in the batch, to the objective. The
# number is right on average. What is its gradient on average? (You have seen it in the first chapter.)
#
# **Exercise 3: spot the bug.** This bonus gives the right number, and its result goes into the loss like the library's.

# %%
source(reported_bonus)

# %%
with planted(entropy_bonus=reported_bonus):
    faulty = train(replace(bonus.config, seeds=1), bonus.tricks)
unpaid = train(replace(bonus.config, seeds=1), plain)  # the same learning rate, and no bonus at all

figure, axis = plt.subplots(figsize=(6.5, 2.6))
for run, color, width in ((bonus, COLOR, 2), (unpaid, style.FAINT, 6), (faulty, style.INK, 1.4)):
    rows = run.curve[run.curve["seed"] == 0]
    axis.plot(rows["step"] / 1000, rows["entropy"], color=color, lw=width)
axis.text(30, 0.5, "the library's bonus", color=COLOR, ha="right")
axis.text(30, 0.05, "wide: no bonus; thin: this version", color=style.INK, ha="right")
axis.set(xlabel="environment steps (thousands)", ylabel="entropy of agent 0 (nats)", ylim=(-0.02, 0.72))
plt.show()
assert (faulty.curve["entropy"] == unpaid.curve["entropy"]).all()

# %% [markdown]
# No error, no warning, and the printed loss is correct to the last digit. What does this version leave out, and which
# comparison shows it?
#
# Solutions: [`solutions/10_entropy.py`](solutions/10_entropy.py). Next: [action masks](11_action_mask.ipynb), for
# actions that nobody should have to try.

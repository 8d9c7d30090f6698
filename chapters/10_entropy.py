# %% [markdown]
# # The entropy bonus: keep exploring
#
# *There's a small reward nearby and a large one far away. Why would an agent that found the first keep looking?*
#
# A policy learns from what it sees, and it sees what it does. Once it is sure of itself, it does one thing, sees one
# thing, and every batch tells it that it was right. This chapter pays the policy for staying undecided, and works out
# what that costs.

# %% tags=["hide-input"]
from dataclasses import replace

import matplotlib.pyplot as plt
import torch

from ablations import style
from chapters.book import begin, best_at, curves, evidence, planted, swept
from chapters.book.results import trials
from chapters.exercises.entropy import check_entropy, reported_bonus
from tricks import Config, diff, source, train
from tricks.core.policies import Categorical, DiagonalGaussian
from tricks.core.rollout import play_episodes
from tricks.entropy import entropy_bonus
from tricks.ladder import named, switched
from tricks.worlds.corridor import CELLS, COST, FAR, NEAR

begin()
COLOR = style.COLORS["entropy"]

# %% [markdown]
# ## A corridor with two doors
#
# Sixteen cells in a row, numbered 0 to 15. You start in cell 1, and each step costs 0.03. The door at the left end, one
# step away, pays 0.1. The one at the right end, fourteen steps away, pays 1. Going straight left earns 0.07, straight
# right $1 - 14 \cdot 0.03 = 0.58$.
#
# A policy that knows nothing goes right with the same probability $p$ in every cell. Its expected return $V(s)$ is the
# cost of a step, plus what waits on either side:
#
# $$V(s) = -0.03 + p\, V(s + 1) + (1 - p)\, V(s - 1), \qquad V(0) = 0.1, \quad V(15) = 1.$$
#
# (One linear equation per cell.)
#
# **Predict.** You flip a coin in every cell. To earn more, should you go right a bit more often, or left?


# %% tags=["hide-input"]
def corridor_return(p, start=1):
    """V of the start, exactly, if every cell goes right with probability p."""
    inside = CELLS - 2
    right, left = torch.diag(torch.ones(inside - 1), 1), torch.diag(torch.ones(inside - 1), -1)
    pays = torch.full((inside,), -COST)
    pays[0] += (1 - p) * NEAR
    pays[-1] += p * FAR
    return torch.linalg.solve(torch.eye(inside) - p * right - (1 - p) * left, pays)[start - 1].item()


p = torch.linspace(0.001, 0.999, 400)
earned = [corridor_return(x) for x in p]

# %% tags=["thumbnail", "predict", "hide-input"]
figure, axis = plt.subplots(figsize=(6.5, 2.8))
axis.plot(p, earned, color=style.INK)
axis.plot(0.5, corridor_return(0.5), "o", ms=9, color=COLOR)
arrow = {"arrowstyle": "-|>", "color": COLOR, "lw": 2}
axis.annotate("", (0.3, corridor_return(0.3) + 0.07), (0.47, corridor_return(0.5) + 0.1), arrowprops=arrow)
axis.text(0.5, -0.5, "a coin flip: uphill is to the left", color=COLOR, ha="center", va="top")
axis.text(0.02, 0.14, "near door, 0.07")
axis.text(0.98, 0.66, "far door, 0.58", ha="right")
axis.set(xlabel="probability of going right, in every cell", ylabel="expected return", ylim=(-0.8, 0.9))
plt.show()

slope = (corridor_return(0.51) - corridor_return(0.49)) / 0.02
print(f"a coin flip earns {corridor_return(0.5):.2f}, and the slope there is {slope:.1f}")
print(f"always left {corridor_return(0.0):.2f}, always right {corridor_return(1.0):.2f}")
assert slope < -0.5 and abs(corridor_return(1.0) - 0.58) < 1e-3 and abs(corridor_return(0.0) - 0.07) < 1e-3

# %% [markdown]
# The coin flip stands on the slope of the wrong hill. Going right *a bit* more often means strolling around longer,
# which costs, and hardly ever getting to the far door. Such a world is **deceptive**: even the exact gradient leads
# away from the better hill. Only luck can save the agent, and only while it still reaches the far door now and then.
# How long does that last?
#
# ## A sure policy hardly learns
#
# Take two actions, the *second* worth $\Delta$ more. With $z$ its logit minus the first one's, it has probability
# $p = 1 / (1 + e^{-z})$, with derivative $p (1 - p)$. Up to a constant, $J = p \Delta$, so
#
# $$\frac{\partial J}{\partial z} = p\,(1 - p)\, \Delta.$$
#
# The factor $p$ says that an action that is never tried teaches nothing, however wrong the policy is. Here are exact
# gradient steps with learning rate 1 and $\Delta = 1$:

# %% tags=["hide-input"]
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
# It takes about $1/p$ steps to get back: at 99.9% certainty, ten times as many as at 99%. And with samples instead of
# the exact gradient, the better action has to be drawn first.
#
# ## Pay for being undecided
#
# How undecided is a policy? Its **entropy** is the average surprise, $-\log \pi(a)$, at its own actions:
#
# $$H(\pi) = -\sum_a \pi(a) \log \pi(a).$$
#
# The natural logarithm measures it in *nats*. It is 0 for a deterministic policy, since $x \log x \to 0$ as $x \to 0$.
# What raises it? For a softmax, $\partial \pi(a) / \partial \theta_k = \pi(a)\,([a = k] - \pi(k))$, so by the product
# rule
#
# $$\frac{\partial H}{\partial \theta_k}
#   = -\sum_a \frac{\partial \pi(a)}{\partial \theta_k} \big(\log \pi(a) + 1\big)
#   = -\pi(k) \big(\log \pi(k) + 1\big) + \pi(k) \sum_a \pi(a) \big(\log \pi(a) + 1\big)
#   = -\pi(k)\, \big(\log \pi(k) + H\big).$$
#
# (The last sum is $-H + 1$, and the ones cancel.) The logits of actions that are *less* surprising than average fall,
# and the others rise. Everything balances at $\pi = 1/n$ for $n$ actions, and there $H = \log n$, as large as it gets.
#
# The **entropy bonus** adds $c_2 H$, averaged over the batch, to the objective (Williams & Peng 1991; Mnih et al. 2016,
# arXiv:1602.01783). ($c_1$ is the value loss's weight, `value_coef`.) For our two actions,
# $\log \pi(2) - \log \pi(1) = z$, and the formula gives $\partial H / \partial z = -p\,(1 - p)\, z$. With the reward:
#
# $$\frac{\partial (J + c_2 H)}{\partial z} = p\,(1 - p)\, \big(\Delta - c_2\, z\big).$$
#
# - **It's a spring.** Against the reward's constant $\Delta$, the bonus pulls back with $c_2 z$, harder the farther $z$
#   is from 0.
# - **It's no rescue.** The factor $p\,(1 - p)$ is still there: a policy that is already sure feels neither the spring
#   nor the reward. The bonus must be there from the start.
# - **It has a price.** The gradient is zero at $z = \Delta / c_2$, not at $z = \infty$.
#
# ## In code, and by hand

# %%
source(entropy_bonus, Categorical.entropy)

# %% [markdown]
# `log_softmax` stays finite where a probability underflows to 0. The logarithm of a softmax would give
# $0 \cdot (-\infty)$, which is not a number.
#
# For $\pi = (½, ¼, ¼)$, $H = ½ \log 2 + ½ \log 4 = 1.5 \log 2 \approx 1.040$. The gradient's first component is
# $-½ (-\log 2 + 1.5 \log 2) = -¼ \log 2 \approx -0.173$, the others are $-¼ (-2 \log 2 + 1.5 \log 2) \approx +0.087$.

# %% tags=["open"]
logits = torch.tensor([[[0.5, 0.25, 0.25]]]).log().requires_grad_()  # [S, B, A]
entropy = Categorical.entropy(logits)  # [S, B]
bonus = entropy_bonus(entropy, torch.ones(1, 1, dtype=torch.bool), coef=1.0)
(grad,) = torch.autograd.grad(bonus.sum(), logits)
print(f"H = {bonus.item():.3f}, gradient {grad.flatten().numpy().round(3)}")
by_hand = torch.tensor([-0.25, 0.125, 0.125]) * torch.tensor(2.0).log()
torch.testing.assert_close(grad.flatten(), by_hand)

sure = torch.tensor([[200.0, 0.0]])
print("of a sure policy:", abs(Categorical.entropy(sure).item()), end=" ")
print("and by the logarithm of a softmax:", end=" ")
print(-(sure.softmax(1) * sure.softmax(1).log()).sum().item())
assert Categorical.entropy(sure).item() == 0

# %%
diff(named("grad_clip"), named("entropy"))

# %% [markdown]
# The loss is minimized, so the bonus is *subtracted*.
#
# ## What it costs
#
# How high is the price that you met in [advantage normalization](06_advantage_norm.ipynb)? On slot machines,
# $\partial J / \partial \theta_k = \pi(k)\,(r(k) - J)$. Add $c_2$ times that of $H$, and set the sum to zero:
#
# $$\pi(k)\, \big(r(k) - J - c_2 \log \pi(k) - c_2 H\big) = 0
#   \quad\text{for every } k
#   \qquad\Longrightarrow\qquad \log \pi(k) = \frac{r(k)}{c_2} + \text{the same for all } k.$$
#
# So $\pi^* = \operatorname{softmax}(r / c_2)$: **the best policy under the new objective is never deterministic.**
# $c_2$ is its temperature, measured against *differences of reward*: 0.01 is little where they are 1, and a lot where
# they are 0.01. Here is what it does to two sets of machines:

# %% tags=["hide-input"]
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
found, wanted = theta.softmax(-1).flatten(), PAYS.softmax(0)
print("found by gradient ascent:", found.numpy().round(3), " softmax(r):", wanted.numpy().round(3))
torch.testing.assert_close(found, wanted, atol=1e-3, rtol=0)

# %% [markdown]
# ## Back in the corridor
#
# Ten agents learn it without the bonus and ten with $c_2 = 0.05$, at the same learning rate. (`switched` is REINFORCE
# with the named flags on; `planted` swaps a function of the loop, here for one that also notes where the agents are.)


# %% tags=["hide-input"]
def run_and_watch(tricks):
    """The run, and the share of time in each cell, [updates, CELLS], of all agents together."""
    seen = []

    def watching(player, policy, rows, active):
        rollout = play_episodes(player, policy, rows, active)
        cells = rollout.obs[:, :-1][rollout.valid]  # one-hot
        if active.all():  # until the first agent has used up its steps
            seen.append(cells.mean(0))
        return rollout

    config = Config("tricks/Corridor1-v0", seeds=10, steps=30_000, lanes=32, horizon=32, hidden=(32, 32), lr=0.01)
    with planted(play_episodes=watching):
        return train(replace(config, entropy_coef=0.05), tricks), torch.stack(seen)


plain = switched(["baseline", "reuse", "clip", "gae"])
without, cells_without = run_and_watch(plain)
bonus, cells_bonus = run_and_watch(replace(plain, entropy=True))

# %% tags=["hide-input"]
figure, axes = plt.subplots(1, 2, figsize=(6.5, 2.8), sharey=True)
updates = min(len(cells_without), len(cells_bonus))
for axis, cells, title in ((axes[0], cells_without, "without"), (axes[1], cells_bonus, "with the bonus")):
    axis.imshow(cells[:updates].T.sqrt(), aspect="auto", origin="lower", cmap="Greys", vmin=0, vmax=0.8)
    axis.set(title=title, xlabel="update")
axes[0].set(ylabel="cell", yticks=[0, 15], yticklabels=["near 0", "far 15"])
plt.show()

far = [cells[-5:, 8:].sum(1).mean().item() for cells in (cells_without, cells_bonus)]
print(f"time spent in the far half, at the end: {far[0]:.0%} without, {far[1]:.0%} with the bonus")
assert far[1] > far[0]

# %% [markdown]
# Darker means more time. The far half empties within a few updates. With the bonus, agents still stroll that far now
# and then. Most of them find the door in the end, and the far half fills up again.

# %% tags=["hide-input"]
figure, axes = plt.subplots(1, 2, figsize=(7.6, 2.8))
curves({"without": without, "entropy": bonus}, axes[0])
for run, color in ((without, style.SOFT), (bonus, COLOR)):
    for _, rows in run.curve.groupby("seed"):
        axes[1].plot(rows["step"] / 1000, rows["entropy"], color=color, lw=0.8)
axes[1].axhline(torch.tensor(2.0).log(), color=style.INK, lw=0.8, ls=":")
axes[1].text(30, 0.7, "log 2", ha="right", va="bottom")
axes[1].set(xlabel="environment steps (thousands)", ylabel="entropy (nats)", ylim=(0, 0.8))
plt.show()

for name, run in (("without", without), ("with", bonus)):
    print(f"return of each agent at the end, {name:7}:", *(f"{x:.2f}" for x in sorted(run.late())))
assert bonus.late().mean() > without.late().mean() + 0.1

# %% [markdown]
# Without the bonus, all take the near door for 0.07. With it, most find the far door, but stay well below 0.58. That
# gap is the price: they know the way and still step back now and then, because they're paid for it. Some still take the
# near door.
#
# ## Where it helps

# %% tags=["hide-input"]
evidence("entropy").strip()
plt.show()

for row in evidence("entropy").worlds.itertuples():
    doses = f"; by coefficient {row.doses}" if row.dose else ""
    print(f"{row.place}: {row.difference:+.4f}, {row.verdict}{doses}")
(corridor,) = (each for each in trials() if each.dose.config.env == "tricks/Corridor-v0")
far = (corridor.without["late"] > 0.5).sum()
print(f"Corridor, without the bonus, at rate {corridor.without.lr.iloc[0]:g}: {far} of 20 agents end at the far door")
assert far == 7
assert evidence("entropy").worlds.verdict.tolist()[1:] == ["helps", "practically nothing"]
assert (evidence("entropy").table.detected == 0).all()

# %% [markdown]
# In the corridor above, at one rate for both arms, the bonus helps. In `Corridor`, where agents start in cell 2 and
# each arm has its own rate, no effect is detected. At the rate that tuning gives them, 7 of 20 agents find the far door
# without the bonus, perhaps because the start is one cell closer to it. In the third world, every action pays at once.
# Where there is nothing to explore, we predicted, the bonus does next to nothing, and that is what it does. (Both arms
# get 0.97 of a possible 1 there, so it could only have hurt.) In the usual environments, no effect of the bonus is
# detected at $c_2 = 0.01$. (Taxi does have a trap: driving around until the time is up, for −200.)

# %% tags=["hide-input"]
evidence("entropy")

# %% [markdown]
# How large should $c_2$ be? Here is PPO (on Pendulum with `return_norm` and γ = 0.9):

# %% tags=["hide-input"]
swept("entropy_coef")
plt.show()

coefficients = best_at("entropy_coef")
for env in ("CartPole-v1", "Acrobot-v1"):
    assert coefficients[env].max() - coefficients[env][0.01] < 5
    assert 20 < coefficients[env][0.01] - coefficients[env][0.03] < 30
    assert coefficients[env][0.01] - coefficients[env][0.1] > 50
assert (
    coefficients["Pendulum-v1"][0.1] > coefficients["Pendulum-v1"][0.03] > coefficients["Pendulum-v1"].loc[:0.01].max()
)

# %% [markdown]
# On CartPole and Acrobot, 0.01 costs nothing, and 0.1 costs more than 50 points. 0.03 may cost about 25. (On Acrobot,
# 0.001 dips just as far, which is probably noise, since 0.01 is as good as 0.) On Pendulum, 0.1, the largest that we
# tried, is best, and 0.03 is nearly as good. The smaller ones are behind, but their intervals overlap with that of
# 0.03. $c_2$ also depends on the scale of the advantages. Three more warnings:
#
# - **The bonus doesn't find needles.** Coin flips reach a door 14 cells away, but not one that takes fifty right
#   choices in a row.
# - **Precision pays at the end of training.** Some let $c_2$ fall to zero.
# - **For [continuous actions](21_continuous_actions.ipynb), it has no upper bound.** The entropy of a Gaussian grows
#   with $\log \sigma$. CleanRL sets $c_2 = 0$ there, and Andrychowicz et al. (2020, arXiv:2006.05990) find no
#   benefit, except on HalfCheetah. Pendulum, above, is another exception.

# %%
for sigma in (0.01, 0.2, 1.0, 100.0):
    output = torch.tensor([[1.0, sigma]]).log()  # a mean of 0, and log σ
    print(f"σ = {sigma:g}: entropy {DiagonalGaussian.entropy(output).item():.2f}")

# %% [markdown]
# ## At a glance
#
# | | |
# |---|---|
# | **problem** | a policy that is sure too early never sees what it's missing |
# | **formula** | maximize $J + c_2 H(\pi)$, where $H(\pi) = -\sum_a \pi(a) \log \pi(a)$ |
# | **in the loop** | `loss = loss - entropy_bonus(entropy, b.valid, config.entropy_coef)` |
# | **defaults** | $c_2$ = `entropy_coef` = 0.01; CleanRL uses 0 for continuous actions |
# | **watch** | `entropy`: from $\log n$ for $n$ actions, it should fall slowly, and not to 0 right away |
# | **skip it when** | the reward leads to the goal by itself, or the last percent of precision pays |
# | **also called** | entropy regularization; *maximum-entropy* RL is more: it puts the entropy into the return |

# %% [markdown]
# ## Exercises
#
# **Exercise 1: write it.** Compute the entropy of each row of logits, in nats. Run the cell to see what's wrong with
# your version.


# %%
def my_entropy(logits):  # [B, A] -> [B]
    ...


check_entropy(my_entropy)

# %% [markdown]
# <details><summary>Hint</summary>
#
# Get $\log \pi$ with `log_softmax`, and $\pi$ from it with `exp`. Never take the logarithm of a probability that may be
# 0.
#
# </details>
#
# **Exercise 2: think.** $H$ is the mean of $-\log \pi(a)$ over sampled actions. So somebody adds $c_2$ times the batch
# mean of $-\log \pi_\theta(a_t)$ to the objective. The number is right on average. What is its gradient on average?
#
# <details><summary>Answer</summary>
#
# Zero: it's minus the score, whose mean is zero, as in the [first chapter](00_reinforce.ipynb). (That is, in the first
# gradient step on a batch. In later ones it pushes $\pi_\theta$ away from $\pi_\text{old}$.) This "bonus" adds nothing
# but noise. $\theta$ acts on the entropy in two ways, through the terms $-\log \pi(a)$ and through how often each is
# drawn, and the estimate keeps only the first, which cancels. Sum over all actions, or treat $-\log \pi(a)$ as a
# reward.
#
# </details>

# %% [markdown]
# **Exercise 3: spot the bug.** This bonus returns the right number, which goes into the loss like the library's.

# %%
source(reported_bonus)

# %%
with planted(entropy_bonus=reported_bonus):
    faulty = train(replace(bonus.config, seeds=1), bonus.tricks)
    unpaid = train(replace(bonus.config, seeds=1), plain)  # the same rate, no bonus

# %% tags=["hide-input"]
figure, axis = plt.subplots(figsize=(6.5, 2.6))
for run, color, width in ((bonus, COLOR, 2), (unpaid, style.FAINT, 6), (faulty, style.INK, 1.4)):
    rows = run.curve[run.curve["seed"] == 0]
    axis.plot(rows["step"] / 1000, rows["entropy"], color=color, lw=width)
axis.text(30, 0.6, "the library's bonus", color=COLOR, ha="right")
axis.text(30, 0.05, "wide: no bonus; thin: this version", color=style.INK, ha="right")
axis.set(xlabel="environment steps (thousands)", ylabel="entropy of agent 0 (nats)", ylim=(-0.02, 0.72))
plt.show()
assert (faulty.curve["entropy"] == unpaid.curve["entropy"]).all()

# %% [markdown]
# The printed loss is correct to the last digit. What does this version leave out, and which comparison shows it?
#
# <details><summary>Hint</summary>
#
# What does `.item()` return, and what is the derivative of that?
#
# </details>
#
# Solutions: [`solutions/10_entropy.py`](solutions/10_entropy.py). Next: [action masks](11_action_mask.ipynb), for
# actions that nobody should have to try.

# %% [markdown]
# # The entropy bonus: keep exploring
#
# *There's a small reward nearby and a large one far away. Why would an agent that found the first keep looking?*
#
# A policy learns from what it sees, and it sees what it does. Once it is sure of itself, every batch tells it that it
# was right. This chapter pays the policy for staying undecided, and works out what that costs.

# %% tags=["hide-input"]
from dataclasses import replace

import matplotlib.pyplot as plt
import torch

from ablations import style
from chapters.book import begin, best_at, caption, curves, evidence, planted, swept
from chapters.exercises.entropy import check_slope, reported_bonus
from tricks import Config, diff, source, train
from tricks.core.policies import Categorical, DiagonalGaussian
from tricks.entropy import entropy_bonus
from tricks.ladder import named, switched
from tricks.worlds.corridor import CELLS, COST, FAR, NEAR

begin()
COLOR = style.COLORS["entropy"]

# %% [markdown]
# ## A corridor with two doors
#
# Sixteen cells in a row, numbered 0 to 15. You start in cell 1, and each step costs 0.03. The door at the left end pays
# 0.1; the one at the right end, fourteen steps away, pays 1. Going straight left earns 0.07, straight right
# $1 - 14 \cdot 0.03 = 0.58$.
#
# **Predict.** You flip a coin in every cell. To earn more, should you go right a bit more often, or left?


# %% tags=["hide-input"]
def corridor_return(p, start=1):
    """V of the start, exactly, if cells go right with probability p: one number, or one per cell."""
    inside = CELLS - 2
    p = torch.as_tensor(p, dtype=torch.float64).expand(inside)
    moves = torch.diag(p[:-1], 1) + torch.diag(1 - p[1:], -1)
    at_left, at_right = torch.eye(inside, dtype=torch.float64)[[0, -1]]
    pays = (1 - p) * NEAR * at_left + p * FAR * at_right - COST
    return torch.linalg.solve(torch.eye(inside, dtype=torch.float64) - moves, pays)[start - 1]


p = torch.linspace(0.001, 0.999, 400)
earned = [corridor_return(x) for x in p]

logits = torch.zeros(CELLS - 2, dtype=torch.float64)
for step in range(2000):  # exact ascent from coin flips, with one logit per cell
    logits.requires_grad_()
    (uphill,) = torch.autograd.grad(corridor_return(logits.sigmoid()), logits)
    if step == 0:
        assert (uphill[:6] < 0).all() and (uphill[6:] > 0).all()  # cells 1 to 6 go left, 7 to 14 right
    logits = (logits + 0.3 * uphill).detach()
assert 0.06 < corridor_return(logits.sigmoid()) < 0.07

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
assert slope < -0.5 and abs(corridor_return(1.0) - 0.58) < 1e-3 and abs(corridor_return(0.0) - 0.07) < 1e-3

# %% [markdown]
# Going right *a bit* more often everywhere means strolling around longer, which costs. With one probability per cell,
# the gradient points left only in the leftmost six, but the start is one of them, and following it still ends at the
# near door. Such a world is **deceptive**: even the exact gradient leads away from the better hill. Only luck can save
# the agent, and only while it still reaches the far door now and then.
#
# ## A sure policy hardly learns
#
# Take two actions, the *second* worth $\Delta$ more. With $z$ its logit minus the first one's, it has probability
# $p = 1 / (1 + e^{-z})$, with derivative $p (1 - p)$. Up to a constant, $J = p \Delta$, so
#
# $$\frac{\partial J}{\partial z} = p\,(1 - p)\, \Delta.$$
#
# An action that is never tried teaches nothing. It takes about $1/p$ steps to get back:

# %% tags=["hide-input"]
needed = {}
for start in (0.1, 0.01, 0.001):
    z, needed[start] = torch.logit(torch.tensor(start)), 0
    while (p := z.sigmoid()) < 0.5:
        z, needed[start] = z + p * (1 - p), needed[start] + 1
assert all(0.8 < steps * start < 1.6 for start, steps in needed.items())
told = ", ".join(f"{steps} from p = {start}" for start, steps in needed.items())
caption(f"Exact gradient steps (learning rate 1, Δ = 1) until p is one half: {told}.")

# %% [markdown]
# ## Pay for being undecided
#
# How undecided is a policy? Its **entropy** is the average surprise, $-\log \pi(a)$, at its own actions:
#
# $$H(\pi) = -\sum_a \pi(a) \log \pi(a).$$
#
# The natural logarithm measures it in *nats*; a deterministic policy has 0. What raises it? For a softmax,
# $\partial \pi(a) / \partial \theta_k = \pi(a)\,([a = k] - \pi(k))$, so by the product rule
#
# $$\frac{\partial H}{\partial \theta_k}
#   = -\sum_a \frac{\partial \pi(a)}{\partial \theta_k} \big(\log \pi(a) + 1\big)
#   = -\pi(k) \big(\log \pi(k) + 1\big) + \pi(k) \sum_a \pi(a) \big(\log \pi(a) + 1\big)
#   = -\pi(k)\, \big(\log \pi(k) + H\big).$$
#
# The last sum is $1 - H$. The logits of actions that are *less* surprising than average fall, and the others rise. With
# $n$ actions, $H$ is at most $\log n$.
#
# The **entropy bonus** adds $c_2 H$, averaged over the batch, to the objective (Williams & Peng 1991; Mnih et al. 2016,
# arXiv:1602.01783). For our two actions, $\log \pi(2) - \log \pi(1) = z$, and the formula gives
# $\partial H / \partial z = -p\,(1 - p)\, z$. With the reward:
#
# $$\frac{\partial (J + c_2 H)}{\partial z} = p\,(1 - p)\, \big(\Delta - c_2\, z\big).$$
#
# - **It's a spring.** The bonus pulls $z$ back with $c_2 z$.
# - **It's no rescue.** With $p\,(1 - p)$ near 0, a policy that is already sure feels neither the spring nor the reward.
# - **It has a price.** The gradient is zero at $z = \Delta / c_2$, not at $z = \infty$.

# %%
source(entropy_bonus, Categorical.entropy)

# %% [markdown]
# `log_softmax` stays finite where a probability underflows to 0. The logarithm of a softmax would give
# $0 \cdot (-\infty)$.

# %% tags=["open"]
logits = torch.tensor([[[0.5, 0.25, 0.25]]]).log().requires_grad_()  # [S, B, A]
entropy = Categorical.entropy(logits)  # [S, B]
bonus = entropy_bonus(entropy, torch.ones(1, 1, dtype=torch.bool), coef=1.0)
(grad,) = torch.autograd.grad(bonus.sum(), logits)
pi = logits.softmax(-1)
torch.testing.assert_close(grad, -pi * (pi.log() + entropy.unsqueeze(-1)))

sure = torch.tensor([[200.0, 0.0]])
assert Categorical.entropy(sure).item() == 0
assert (sure.softmax(1) * sure.softmax(1).log()).sum().isnan()

# %%
diff(named("grad_clip"), named("entropy"))

# %% [markdown]
# ## What it costs
#
# On slot machines that pay $r$, $\partial J / \partial \theta_k = \pi(k)\,(r(k) - J)$, as in the [first
# chapter](00_reinforce.ipynb). Add $c_2$ times that of $H$, and set the sum to zero:
#
# $$\pi(k)\, \big(r(k) - J - c_2 \log \pi(k) - c_2 H\big) = 0
#   \quad\text{for every } k
#   \qquad\Longrightarrow\qquad \log \pi(k) = \frac{r(k)}{c_2} + \text{the same for all } k.$$
#
# So $\pi^* = \operatorname{softmax}(r / c_2)$: **the best policy under the new objective is never deterministic.** How
# much $c_2$ costs depends on *differences of reward*:

# %% tags=["hide-input"]
PAYS, coefs = torch.tensor([1.0, 2.0, 4.0]), torch.logspace(-3, 1, 200)
figure, axis = plt.subplots(figsize=(6.5, 2.6))
for scale, color, place in ((1.0, COLOR, 2.2), (0.1, style.SOFT, 0.006)):
    best = (scale * PAYS / coefs.unsqueeze(1)).softmax(1)[:, 2]
    axis.plot(coefs, best, color=color)
    axis.text(place, 0.72, f"pays {scale * 1:g}, {scale * 2:g}, {scale * 4:g}", color=color)
axis.axhline(1 / 3, color=style.SOFT, lw=0.8, ls=":")
axis.text(0.0011, 0.31, "all alike", color=style.SOFT, va="top")
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
torch.testing.assert_close(found, wanted, atol=1e-3, rtol=0)

# %% [markdown]
# ## Back in the corridor
#
# Ten agents learn it without the bonus and ten with $c_2 = 0.05$, at the same learning rate.

# %%
plain = switched(["baseline", "reuse", "clip", "gae"])
config = Config("tricks/Corridor1-v0", seeds=10, steps=30_000, lanes=32, horizon=32)
config = replace(config, hidden=(32, 32), lr=0.01, entropy_coef=0.05)
without = train(config, plain)
bonus = train(config, replace(plain, entropy=True))
greedy = bonus.evaluate(1, greedy=True)[:, 0]  # taking the likeliest action

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

assert without.late().max() < 0.08 and (bonus.late() > 0.3).sum() > 5 and bonus.late().max() < 0.5
assert bonus.late().mean() > without.late().mean() + 0.1
found = greedy > 0.5
assert 5 < found.sum() < 10 and abs(greedy[found] - 0.58).max() < 1e-3

# %% [markdown]
# Without the bonus, all take the near door for 0.07. With it, most find the far door, but stay well below 0.58. The gap
# is the price: always taking their likeliest action, those same agents earn 0.58.
#
# ## Where it helps

# %% tags=["hide-input"]
evidence("entropy").strip()
plt.show()
assert evidence("entropy").worlds.verdict.tolist() == ["no detectable effect", "helps", "practically nothing"]
seen = evidence("entropy").table.query("detected != 0")
assert (seen.env.item(), seen.kind.item(), seen.verdict.item()) == (
    "Pendulum-v1",
    "on the rung before",
    "helps",
)

# %% [markdown]
# In the corridor, at one rate for both arms, the bonus helps. Where agents start a cell closer to the far door and each
# arm has its own rate, no effect is detected. In the usual environments, at $c_2 = 0.01$, we see it help only as
# Pendulum's next rung. In `Loan0Pay0.1`, where there is nothing to explore, it changes practically nothing.

# %% tags=["hide-input"]
evidence("entropy")

# %% [markdown]
# Here is the preset `cleanrl`, on Pendulum with `return_norm` and γ = 0.9. Each dot is a learning rate; the line joins
# the best ones, with 95% intervals.

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
gaussian = torch.tensor([[0.0, 0.0], [0.0, 1.0]])  # means of 0, and log σ of 0 and 1
torch.testing.assert_close(DiagonalGaussian.entropy(gaussian).diff(), torch.ones(1))

# %% [markdown]
# On CartPole and Acrobot, 0.01 is nearly as good as the best, and 0.1 loses more than 50 points. On Pendulum, 0.1, the
# largest we tried, is best. Two warnings:
#
# - **The bonus doesn't find needles.** Coin flips reach a door 14 cells away, but not one that takes fifty right
#   choices in a row.
# - **For [continuous actions](21_continuous_actions.ipynb), it has no upper bound.** The entropy of a Gaussian grows
#   with $\log \sigma$. CleanRL sets $c_2 = 0$ there, and Andrychowicz et al. (2020, arXiv:2006.05990) find no benefit,
#   except on HalfCheetah.

# %% [markdown]
# ## At a glance
#
# | | |
# |---|---|
# | **problem** | a policy that is sure too early never sees what it's missing |
# | **formula** | maximize $J + c_2 H(\pi)$, where $H(\pi) = -\sum_a \pi(a) \log \pi(a)$ |
# | **in the loop** | `loss = loss - entropy_bonus(entropy, b.valid, config.entropy_coef)` |
# | **defaults** | $c_2$ = `entropy_coef` = 0.01 |
# | **watch** | `entropy`: it should fall slowly from $\log n$, not to 0 right away |
# | **skip it when** | the reward leads to the goal by itself, or precision pays |
# | **evidence** | Helps as the next rung in Pendulum. Practically nothing in the full set in Acrobot; as the next rung in Acrobot, Taxi. In 5 of 8 environments, these runs can't tell. It helps in 1 of 3 trials in worlds made for it. |
# | **also called** | entropy regularization; *maximum-entropy* RL puts the entropy into the return |

# %% [markdown]
# ## Exercises
#
# **Exercise 1: write it.** The derivative of each row's entropy with respect to its logits.


# %%
def my_slope(logits):  # [B, A] -> [B, A]
    ...


check_slope(my_slope)

# %% [markdown]
# <details><summary>Hint</summary>
#
# Get $\log \pi$ with `log_softmax`, and $\pi$ from it with `exp`. `keepdim=True` lets $H$ meet them.
#
# </details>
#
# **Exercise 2: think.** $H$ is the mean of $-\log \pi(a)$ over sampled actions. So somebody adds $c_2$ times the batch
# mean of $-\log \pi_\theta(a_t)$ to the objective. The number is right on average. What is its gradient on average?
#
# <details><summary>Answer</summary>
#
# Zero, in the first step on a batch: it's minus the score, whose mean is zero, as in the [first
# chapter](00_reinforce.ipynb). $\theta$ also acts on how often each action is drawn, which this estimate forgets. Sum
# over all actions, or treat $-\log \pi(a)$ as a reward.
#
# </details>

# %% [markdown]
# **Exercise 3: spot the bug.** This bonus returns the right number.

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
# The loss is correct to the last digit. What does this version leave out, and which comparison shows it?
#
# <details><summary>Hint</summary>
#
# What does `.item()` return, and what is the derivative of that?
#
# </details>
#
# Solutions: [`solutions/10_entropy.py`](solutions/10_entropy.py). Next: [action masks](11_action_mask.ipynb), for
# actions that nobody should have to try.

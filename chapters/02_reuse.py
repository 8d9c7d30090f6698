# %% [markdown]
# # Reuse: more than one step from a batch
#
# *You played for hours to collect this batch. Must you throw it away after one step?*

# %% [markdown] tags=["two-hours"]
# So far the loop plays a thousand steps, takes one gradient step, and forgets everything it saw. Gradient steps are
# cheap and playing isn't. So take several from each batch. At first, that goes wrong.

# %% tags=["two-hours", "hide-input"]
from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np
import torch

from ablations import area, flags, interval, on_grid, style, table
from chapters.book import at_best_rate, begin, best_at, caption, curves, evidence, label_lines, planted
from chapters.book.ratios import draw_ratios, ratios_by_epoch
from chapters.book.results import trials
from chapters.exercises.reuse import check_estimate, ratio_in_place
from tricks import CONTINUOUS_CONFIG, Config, diff, source, train
from tricks.ladder import named
from tricks.reuse import drift, importance_ratio, minibatches

begin()

# %% [markdown] tags=["two-hours"]
# ## The same loss twice is another loss
#
# With a baseline, the loss is $-\frac{1}{n}\sum_i A_i \log \pi_\theta(a_i)$. What if we descend it again and again on
# the same batch? Take three machines that pay 0, 3, and 4. To leave luck out of it, the batch is endless: the old
# policy pulled them with probabilities 0.1, 0.8, and 0.1, so these are their shares of it. The mean payout, 2.8, is our
# baseline, and the advantages are −2.8, 0.2, and 1.2.
#
# **Predict.** The best policy earns 4. Where do a hundred steps on this batch end?

# %% tags=["two-hours", "hide-input"]
PAYS, OLD = torch.tensor([0.0, 3.0, 4.0]), torch.tensor([0.1, 0.8, 0.1])
ADVANTAGE = PAYS - OLD @ PAYS


def epochs_on_one_batch(objective, steps=100, rate=0.5):
    """What the policy would earn after each gradient step on the same endless batch, and its final probabilities."""
    theta, earned = OLD.log().requires_grad_(), []
    for _ in range(steps):
        probs = theta.softmax(0)
        earned.append((probs @ PAYS).item())
        (grad,) = torch.autograd.grad((OLD * objective(probs)).sum(), theta)  # OLD: how often it is in the batch
        theta = (theta + rate * grad).detach().requires_grad_()
    return earned, theta.detach().softmax(0)


naive, naive_policy = epochs_on_one_batch(lambda probs: ADVANTAGE * probs.log())

# %% tags=["two-hours", "predict", "hide-input"]
figure, axis = plt.subplots(figsize=(6.5, 2.6))
axis.plot(naive, color=style.INK, label="the same loss again")
axis.axhline(4, color=style.SOFT, lw=1)
axis.text(0, 3.95, "the best policy", color=style.SOFT, va="top")
axis.set(xlabel="steps on the same batch", ylabel="expected payout", ylim=(2.7, 4.1))
label_lines(axis)
plt.show()
assert abs(naive[-1] - 3.02) < 0.005 and naive_policy.argmax() == 1

theta = torch.randn(3, requires_grad=True)  # any policy: the gradient is the same
(slope,) = torch.autograd.grad((OLD * ADVANTAGE * theta.log_softmax(0)).sum(), theta)
torch.testing.assert_close(slope, torch.tensor([-0.28, 0.16, 0.12]))

# %% [markdown] tags=["two-hours"]
# It ends at the machine that pays 3. The gradient is $\sum_a \pi_\text{old}(a)\, A(a)\, \nabla \log \pi(a)$. A
# softmax's score is $[a = k] - \pi(k)$, so component $k$ is
#
# $$\pi_\text{old}(k)\, A(k) - \pi(k) \sum_a \pi_\text{old}(a)\, A(a) = \pi_\text{old}(k)\, A(k),$$
#
# because the baseline makes the sum 0. That's −0.28, 0.16, and 0.12, *whatever the policy has become*. The second
# machine is hardly better than average, but it wins, because the old policy pulled it eight times as often as the best
# one. **Only the first step follows the gradient you want. From the second on, an action still counts as often as the
# old policy chose it.**
#
# ## The weight that fixes it
#
# What would a new policy $\pi_\theta$ earn, judging by pulls of $\pi_\text{old}$? Multiply and divide by
# $\pi_\text{old}$:
#
# $$J(\theta) = \sum_a \pi_\theta(a)\, r(a)
#   = \sum_a \pi_\text{old}(a)\, \frac{\pi_\theta(a)}{\pi_\text{old}(a)}\, r(a)
#   = \mathbb{E}_\text{old}\big[\rho(a)\, r(a)\big],
#   \qquad \rho(a) = \frac{\pi_\theta(a)}{\pi_\text{old}(a)} .$$
#
# The factor $\rho$ is the **importance ratio**. If the new policy pulls $a$ three times as often, each old pull of $a$
# counts three times. A baseline changes $J$ only by a constant, so the objective is $\mathbb{E}_\text{old}[\rho A]$.
# Since $\nabla \rho = \rho\, \nabla \log \pi_\theta$, its gradient is
#
# $$\nabla\, \mathbb{E}_\text{old}[\rho A] = \mathbb{E}_\text{old}\big[\rho\, A\, \nabla \log \pi_\theta(a)\big].$$
#
# Before the first step, $\rho = 1$, and this is exactly REINFORCE's.

# %% tags=["two-hours"]
weighted, _ = epochs_on_one_batch(lambda probs: ADVANTAGE * probs / OLD)

# %% tags=["two-hours", "hide-input"]
figure, axis = plt.subplots(figsize=(6.5, 2.6))
axis.plot(naive, color=style.INK, label="the same loss again")
axis.plot(weighted, color=style.COLORS["reuse"], label="with the ratio")
axis.set(xlabel="steps on the same batch", ylabel="expected payout", ylim=(2.7, 4.1))
label_lines(axis)
plt.show()
assert abs(naive[1] - weighted[1]) < 1e-5 and abs(weighted[-1] - 3.98) < 0.005

# %% [markdown] tags=["two-hours"]
# The first step is the same, but the ratio leads to 4.

# %% [markdown]
# ## The states are old, too
#
# How much better than the old policy is a new one? Play with the *new* one, and add up what each step brings beyond the
# old policy's values $V$. All values but the first cancel:
#
# $$\sum_t \gamma^t \big(r_t + \gamma V(s_{t+1}) - V(s_t)\big) = \sum_t \gamma^t r_t - V(s_0).$$
#
# On average, the right side is the new policy's gain. Given $s_t$ and $a_t$, the mean of each bracket on the left is
# $A_\text{old}(s_t, a_t)$ (Kakade & Langford 2002). The ratio corrects the actions in this sum, but the states in your
# batch still come as often as $\pi_\text{old}$ visited them. Their right weight is the product of the ratios before
# them, since the world's own probabilities cancel; exercise 2 shows what that does. So PPO leaves the states as they
# are, and its objective gets worse with distance from $\pi_\text{old}$.

# %% [markdown] tags=["two-hours"]
# ## In the library
#
# Ratios come from logarithms, because a probability can be too small for a float. Each **epoch** is one pass over the
# batch, shuffled and split into **minibatches**, each good for one step.

# %% tags=["two-hours"]
source(importance_ratio, minibatches, drift)

# %% [markdown] tags=["two-hours"]
# The usual distance between two policies is the **KL divergence** (Kullback-Leibler), the mean of $-\log \rho$ under
# the old policy, in *nats*. It is 0 if both are equal, and positive otherwise. Since $\mathbb{E}_\text{old}[\rho] =
# \sum_a \pi_\theta(a) = 1$, adding $\rho - 1$ doesn't change the mean. But then no single term is negative, and the
# estimate is less noisy.
#
# Here, the old policy plays two actions equally often, the new one with 0.8 and 0.2:

# %% tags=["two-hours"]
old, new = torch.tensor([[0.5, 0.5]]), torch.tensor([[0.8, 0.2]])
ratio = importance_ratio(new.log(), old.log())
found = drift(ratio, torch.ones(1, 2, dtype=torch.bool))
kl = found["approx_kl"]
print(f"ratios {ratio.numpy().round(3)}, KL {kl.item():.3f} nats")
# if the actions pay 1 and 3, the new policy earns 0.8·1 + 0.2·3 = 1.4
torch.testing.assert_close((ratio * torch.tensor([1.0, 3.0])).mean(), torch.tensor(1.4))
torch.testing.assert_close(kl, -0.5 * torch.tensor([0.64]).log())

# where the ratio is 1, its gradient is that of log π
logits = torch.randn(5, 3, requires_grad=True)
log_prob, advantage = logits.log_softmax(1)[:, 0], torch.arange(5.0)
ratio = importance_ratio(log_prob, log_prob.detach())
reused = torch.autograd.grad((ratio * advantage).sum(), logits, retain_graph=True)
plain = torch.autograd.grad((log_prob * advantage).sum(), logits)
torch.testing.assert_close(reused, plain)

# %% [markdown]
# ## Old data wears out
#
# The ratio keeps the mean right, but it spreads. Its mean square is
#
# $$\mathbb{E}_\text{old}[\rho^2] = \sum_a \frac{\pi(a)^2}{\pi_\text{old}(a)} ,$$
#
# 1 if the policies are equal, and large where the new policy likes what the old one rarely did. By a rule of thumb, $n$
# weighted pulls are worth about $n / \mathbb{E}_\text{old}[\rho^2]$ fresh ones, the **effective sample size**.
#
# Here are the ratios of a CartPole agent's third batch over ten epochs. Heights are square roots of shares, so that
# rare ratios show.

# %% tags=["thumbnail", "hide-input"]
figure, axes = plt.subplots(1, 2, figsize=(6.8, 3), sharey=True)
worth = []
for axis, lr in zip(axes, (0.001, 0.003), strict=True):
    epochs = ratios_by_epoch(Config(seeds=1, steps=4000, lr=lr, epochs=10), named("reuse"), update=2)
    draw_ratios(axis, epochs, style.COLORS["reuse"])
    axis.set_title(f"learning rate {lr}")
    worth.append(1000 * epochs[-1].mean() ** 2 / np.square(epochs[-1]).mean())
plt.show()
caption(
    f"By epoch 10, the thousand steps are worth about {worth[0]:.0f} fresh ones on the left, {worth[1]:.0f} on the right."
)

# %% [markdown]
# The ratios spread, and nothing in this objective says stop.
#
# <!-- mechanism: ratios -->

# %% [markdown] tags=["two-hours"]
# ## What changes in the loop

# %% tags=["two-hours"]
diff(named("baseline"), named("reuse"))

# %% [markdown] tags=["two-hours"]
# `old_log_prob` runs once, before the first step, and carries no gradient.

# %% [markdown]
# ## Tune both arms before you compare
#
# Ten agents on CartPole in each of four arms: the baseline and reuse, each at its own best learning rate and at the
# other's.

# %%
config = Config(seeds=10, steps=20_000)
alone = at_best_rate(config, named("baseline"))
chosen = at_best_rate(config, named("reuse"))
runs = {
    "reuse": train(chosen, named("reuse")),
    "baseline": train(alone, named("baseline")),
    "reuse, baseline's rate": train(alone, named("reuse")),
    "baseline, reuse's rate": train(chosen, named("baseline")),
}

# %% tags=["hide-input"]
curves(runs)
plt.show()

lost = [(run.late() < 15).sum() for run in runs.values()]  # random play earns about 22
assert chosen.lr < alone.lr and lost[2] - max(lost[0], lost[1], lost[3]) >= 3
assert runs["reuse, baseline's rate"].late().mean() < 0.7 * runs["reuse"].late().mean()

reached = {name: area(on_grid(run.curve, config.steps, run.diverged)).to_numpy() for name, run in runs.items()}
low, high = interval(reached["reuse"] - reached["baseline"])
assert low < 0 < high and interval(reached["reuse"] - reached["baseline, reuse's rate"])[0] > 30

scores = table().query("env == 'CartPole-v1' and steps == 100_000 and numbers == ''")
grid = {name: scores[scores.tricks == flags(named(name))].set_index("lr") for name in ("baseline", "reuse")}
best = {name: each.area.idxmax() for name, each in grid.items()}
caption(f"Best rates in the stored tuning runs: baseline {best['baseline']:g}, reuse {best['reuse']:g}.")
assert np.isclose([best["reuse"], best["baseline"]], [0.001, 0.01]).all()
assert grid["reuse"].area.iloc[-1] < 0.5 * grid["reuse"].area.max()

# %% [markdown]
# At the baseline's rate, sixteen steps per batch make many agents collapse: they take the same action whatever they
# see, which earns 9 points. **At 0.001 reuse gains, at 0.01 it collapses, and with each arm at its own best rate, ten
# agents can't tell.** [Chapter 26](26_sensitivity.ipynb) has the stored numbers for every rate.
#
# ## Does the ratio pay?
#
# Our machines were chosen to punish the wrong loss. Here are both losses on CartPole and Acrobot. `without_ratio` makes
# the objective $A \log \pi$, the loss from the top of this chapter.
#
# **Predict.** Which loss wins on CartPole? On Acrobot?


# %%
def without_ratio(log_prob, old_log_prob):
    return log_prob


fresh = Config(seeds=tuple(range(9000, 9010)), steps=40_000)
losses = {}
for env, lr in (("CartPole-v1", 0.003), ("CartPole-v1", 0.01), ("Acrobot-v1", 0.003)):
    here = replace(fresh, env=env, lr=lr)
    losses[env, lr, "ratio"] = train(here, named("reuse"))
    with planted(importance_ratio=without_ratio):  # in place of the loop's own
        losses[env, lr, "no ratio"] = train(here, named("reuse"))

# %% tags=["predict", "hide-input"]
figure, axes = plt.subplots(1, 3, figsize=(9, 2.6))
for axis, (env, lr) in zip(axes, dict.fromkeys(key[:2] for key in losses), strict=True):
    curves({name: losses[env, lr, name] for name in ("ratio", "no ratio")}, axis, ratio=style.COLORS["reuse"])
    axis.set(title=f"{env}, rate {lr:g}", xlabel="steps (thousands)", ylabel="")
axes[0].set_ylabel("episode return")
plt.show()

means, late, grids = {}, {}, {}
for key, run in losses.items():
    grids[key] = on_grid(run.curve, here.steps, run.diverged)  # a column for each percent of the steps
    means[key], late[key] = area(grids[key]).to_numpy(), run.late()
ours, theirs = (("CartPole-v1", 0.003, name) for name in ("ratio", "no ratio"))
assert interval(means[theirs])[0] > interval(means[ours])[1] and late[theirs].min() > 400 > np.median(late[ours])
ours, theirs = (("CartPole-v1", 0.01, name) for name in ("ratio", "no ratio"))
assert means[theirs].mean() > means[ours].mean() and late[theirs].max() < 15 < late[ours].mean()
assert (grids[theirs] - grids[ours]).mean().iloc[9:62].min() > 0  # in the first 25,000 steps
caption(
    f"CartPole at 0.01 ends at {late[ours].mean():.0f} points with the ratio, at {late[theirs].mean():.0f} without."
)
ours, theirs = (("Acrobot-v1", 0.003, name) for name in ("ratio", "no ratio"))
assert (late[ours] > -500).any() and (late[theirs] == -500).all()

# %% [markdown]
# On CartPole the wrong loss wins at 0.003: all ten of its agents balance well. At 0.01 it leads for the first 25,000
# steps, and then all ten collapse to 9 points. On Acrobot, some agents with the ratio keep what they learned, and none
# without.
#
# So the wrong gradient can learn faster, here at rates above the ratio's best, 0.001. But near $\pi_\text{old}$ you can
# trust the ratio's gradient on any task, and the [clip](03_clip.ipynb) can limit the ratio.
#
# ## What it's worth

# %% tags=["hide-input"]
evidence("reuse").strip()
plt.show()

# %% tags=["hide-input"]
table = evidence("reuse").table
rows = table[table.subject == "ladder"]
bare, full = rows[rows.kind != "in the full set"], rows[rows.kind == "in the full set"]
seen = bare[bare.detected != 0].set_index("kind").confirmed
assert set(bare.env[bare.detected != 0]) == {"LunarLander-v3"}
assert seen.to_dict() == {"alone, on what it needs": 0, "on the rung before": 1}
assert full.detected.gt(0).sum() == 4
assert CONTINUOUS_CONFIG.epochs * CONTINUOUS_CONFIG.minibatches == 320

(parity,) = (each for each in trials() if each.trial.trick == "reuse" and "Parity" in each.dose.config.env)
early, late = {}, {}
for name, arm in (("one step per batch", parity.without), ("reuse", parity.having)):
    early[name] = arm["30%"].mean()
    late[name] = arm.late.mean()
assert early["reuse"] > early["one step per batch"] + 2 and abs(early["reuse"] - late["reuse"]) < 0.2
assert abs(late["reuse"] - late["one step per batch"]) < 0.2

# %% [markdown]
# The third row adds reuse as the next *rung*, to the tricks of earlier chapters. There and in the first row nothing
# limits the ratio, and only LunarLander's rung is seen to gain. Taken out together with the [clip](03_clip.ipynb), it
# is missed in four of five environments, and on robots. There that says little, as the preset's rate suits hundreds of
# steps per batch. In `Parity3`, which pays for the parity of three bits, the gain is speed: with reuse, agents reach
# their final level in a third of the budget.

# %% tags=["hide-input"]
evidence("reuse")

# %% [markdown]
# How many epochs? The preset `cleanrl` has the eleven tricks of CleanRL's `ppo.py`, code that many people copy. With
# it, Acrobot wants one; with `return_norm` as well, Pendulum wants the most that we tried.
# [Sensitivity](26_sensitivity.ipynb) shows the sweeps.

# %% tags=["hide-input"]
epochs = best_at("epochs")
assert (epochs["Pendulum-v1"].diff().dropna() > 100).all()
assert epochs["Acrobot-v1"][1] > epochs["Acrobot-v1"][10]

# %% [markdown]
# ## At a glance
#
# | | |
# |---|---|
# | **problem** | playing is slow, and one step per batch gets little out of it |
# | **formula** | maximize $\mathbb{E}_\text{old}[\rho A]$, where $\rho = \pi / \pi_\text{old}$ |
# | **in the loop** | `ratio = importance_ratio(log_prob, b.old_log_prob)` <br> `objective = ratio * advantage` |
# | **defaults** | `epochs` = 4, `minibatches` = 4: sixteen steps per batch |
# | **watch** | `approx_kl` and `max_ratio`: how far the policy has moved |
# | **skip it when** | playing costs next to nothing; without a clip, keep the rate small |
# | **evidence** | Helps in the full set (with 3 others) in CartPole, Acrobot, Pendulum, Taxi; as the next rung in LunarLander; on robots (at one rate; once) in Hopper, Walker2d, HalfCheetah. It helps in 1 of 2 trials in worlds made for it. |
# | **also called** | importance sampling; $\rho A$ is the *surrogate*; with others' data, learning is *off-policy* |

# %% [markdown]
# ## Exercises
#
# **Exercise 1: write it.** Estimate what the new policy would earn from pulls of the old one: how probable each was
# under the new policy and under the old, and what it paid.


# %%
def my_estimate(log_prob, old_log_prob, reward):  # [B], [B], [B] -> a number
    ...


check_estimate(my_estimate)

# %% [markdown]
# <details><summary>Hint</summary>
#
# Weight each pull by how many times likelier the new policy makes it.
#
# </details>
#
# **Exercise 2: think.** Correct for old states, too: multiply all ratios so far. What weight does the last of 200 steps
# get if each is 1.05? If each is 0.95? What does the library gain by using each step's own ratio only, and what does it
# give up?
#
# <details><summary>Answer</summary>
#
# $1.05^{200} \approx 17{,}000$ and $0.95^{200} \approx 0.00004$: one episode would decide everything. With one ratio
# per step, noise doesn't compound. The price is a bias, because the states are old. It is small while the policies are
# close.
#
# </details>

# %% [markdown]
# **Exercise 3: spot the bug.** Somebody wanted to spare the loop a column of old log-probabilities.

# %%
source(ratio_in_place)

# %%
short = Config(seeds=5, steps=12_000, lr=chosen.lr)
with planted(importance_ratio=ratio_in_place):
    short_run = train(short, named("reuse"))
faulty = short_run.curve.query("update < 8").groupby("update").mean()
right = runs["reuse"].curve.query("update < 8").groupby("update").mean()

# %% tags=["hide-input"]
figure, axes = plt.subplots(1, 3, figsize=(9, 2.5))
for axis, name in zip(axes, ("return", "max_ratio", "approx_kl"), strict=True):
    axis.plot(right.step / 1000, right[name], color=style.COLORS["reuse"], label="right")
    axis.plot(faulty.step / 1000, faulty[name], color=style.FAULT, label="bug")
    axis.set(xlabel="steps (thousands)", title=name.replace("_", " "))
    label_lines(axis)
plt.show()
assert faulty.max_ratio.max() < 1.001 and right.max_ratio.max() > 1.2
assert faulty["return"].iloc[-1] > max(2 * faulty["return"].iloc[0], right["return"].iloc[-1])

# %% [markdown]
# With the bug, the return of these five agents rises even faster. What do the other two panels say? Which loss is this
# agent really descending?
#
# <details><summary>Hint</summary>
#
# What is the ratio's value? What is its gradient? You have seen both above.
#
# </details>
#
# Solutions: [`solutions/02_reuse.py`](solutions/02_reuse.py). Next: [the clip](03_clip.ipynb), which says stop.

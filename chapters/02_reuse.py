# %% [markdown]
# # Reuse: more than one step from a batch
#
# *You played for hours to collect this batch. Must you throw it away after one step?*

# %% [markdown] tags=["two-hours"]
# So far the loop plays a thousand steps, takes one gradient step, and forgets everything it saw. Gradient steps are
# cheap and playing isn't. So take several steps from each batch. At first, something goes wrong. A weight fixes it, at
# a price.

# %% tags=["two-hours", "hide-input"]
from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np
import torch

from ablations import area, flags, interval, on_grid, style, table
from chapters.book import at_best_rate, begin, best_at, curves, evidence, label_lines, planted, swept
from chapters.book.ratios import draw_ratios, ratios_by_epoch
from chapters.book.results import trials
from chapters.exercises.reuse import check_estimate, ratio_in_place
from tricks import Config, diff, source, train
from tricks.ladder import named
from tricks.reuse import drift, importance_ratio, minibatches

begin()

# %% [markdown] tags=["two-hours"]
# ## The same loss twice is another loss
#
# With a baseline, the loss is $-\frac{1}{n}\sum_i A_i \log \pi_\theta(a_i)$. What if we descend it again and again on
# the same batch? Take three machines that pay 0, 3, and 4. To leave luck out of it, take an endless batch: the old
# policy pulled them with probabilities 0.1, 0.8, and 0.1, so each machine $a$ makes up exactly $\pi_\text{old}(a)$ of
# it. The mean payout is 2.8, which is our baseline, and the advantages are −2.8, 0.2, and 1.2.
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
print("where it ends:", naive_policy.numpy().round(3), "expected payout", round(naive[-1], 2))
assert abs(naive[-1] - 3.02) < 0.005

theta = torch.randn(3, requires_grad=True)  # any policy: the gradient is the same
(slope,) = torch.autograd.grad((OLD * ADVANTAGE * theta.log_softmax(0)).sum(), theta)
torch.testing.assert_close(slope, torch.tensor([-0.28, 0.16, 0.12]))
theta = (OLD * PAYS).log().requires_grad_()  # without a baseline, this policy is where it stops
(slope,) = torch.autograd.grad((OLD * PAYS * theta.log_softmax(0)).sum(), theta)
torch.testing.assert_close(slope, torch.zeros(3), atol=1e-6, rtol=0)

# %% [markdown] tags=["two-hours"]
# It ends at the machine that pays 3. The gradient is $\sum_a \pi_\text{old}(a)\, A(a)\, \nabla \log \pi(a)$. A
# softmax's score is $[a = k] - \pi(k)$, so the gradient's component $k$ is
#
# $$\pi_\text{old}(k)\, A(k) - \pi(k) \sum_a \pi_\text{old}(a)\, A(a) = \pi_\text{old}(k)\, A(k),$$
#
# because the baseline makes the sum 0. That's −0.28, 0.16, and 0.12, *whatever the policy has become*. So the second
# machine wins the race. It is hardly better than average, but the old policy pulled it eight times as often as the best
# one. **Only the first step follows the gradient you want. From the second on, an action still counts as often as the
# old policy chose it.** (Without a baseline it's no better: the policy comes to rest where it is proportional to
# $\pi_\text{old}(a)\, r(a)$, so it copies the batch, each pull weighted by what it paid.)
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
# counts three times. Subtracting a baseline changes $J$ only by a constant, so put the advantage $A$ in place of $r$:
# the objective is $\mathbb{E}_\text{old}[\rho A]$. Since $\nabla \pi = \pi \nabla \log \pi$,
#
# $$\nabla\, \mathbb{E}_\text{old}[\rho A] = \mathbb{E}_\text{old}\big[\rho\, A\, \nabla \log \pi_\theta(a)\big].$$
#
# Before the first step $\pi_\theta$ *is* $\pi_\text{old}$, so $\rho = 1$ everywhere, and this is exactly REINFORCE's
# gradient.

# %% tags=["two-hours"]
weighted, _ = epochs_on_one_batch(lambda probs: ADVANTAGE * probs / OLD)

# %% tags=["two-hours", "hide-input"]
figure, axis = plt.subplots(figsize=(6.5, 2.6))
axis.plot(naive, color=style.INK, label="the same loss again")
axis.plot(weighted, color=style.COLORS["reuse"], label="with the ratio")
axis.set(xlabel="steps on the same batch", ylabel="expected payout", ylim=(2.7, 4.1))
label_lines(axis)
plt.show()
print(f"after one step: {naive[1]:.4f} and {weighted[1]:.4f}; after 100: {naive[-1]:.2f} and {weighted[-1]:.2f}")
assert abs(naive[1] - weighted[1]) < 1e-5 and abs(weighted[-1] - 3.98) < 0.005

# %% [markdown] tags=["two-hours"]
# The first step is the same, but the ratio leads to 4. (We chose machines that punish the wrong loss. Real tasks don't
# always: on CartPole it learns faster than the right one, on Acrobot it fails.)

# %% [markdown]
# ## The states are old, too
#
# On a task with states there's a second mismatch. How much better than $\pi_\text{old}$ is $\pi_\theta$? Add up the
# advantages that $\pi_\theta$ collects, judged by the old policy's values $V_\text{old}$ (Kakade & Langford 2002):
#
# $$J(\pi_\theta) - J(\pi_\text{old})
#   = \mathbb{E}\Big[\sum_t \gamma^t A_\text{old}(s_t, a_t)\Big], \qquad s_t, a_t \text{ played by } \pi_\theta .$$
#
# (On average, $A_\text{old}$ is $r_t + \gamma V_\text{old}(s_{t+1}) - V_\text{old}(s_t)$. The values cancel from step
# to step, and the return minus $V_\text{old}(s_0)$ remains.) The ratio lets you use old *actions*, but the *states* in
# your batch still come as often as $\pi_\text{old}$ visited them. Correcting that would take the product of all ratios
# so far, and exercise 2 shows what happens then. So PPO leaves the states as they are, and the objective is right near
# $\pi_\text{old}$ and gets worse with distance.

# %% [markdown] tags=["two-hours"]
# ## In the library
#
# Ratios come from logarithms, because the probability of an action with many parts can be too small for a float. Each
# **epoch** is one pass over the batch, shuffled and split into **minibatches**, each good for one step.

# %% tags=["two-hours"]
source(importance_ratio, minibatches, drift)

# %% [markdown] tags=["two-hours"]
# The usual distance between two policies is the **Kullback-Leibler (KL) divergence**, the mean of $-\log \rho$ under
# the old policy: 0 if both are equal, positive otherwise. (Its unit is the *nat*.) Since
# $\mathbb{E}_\text{old}[\rho] = \sum_a \pi_\theta(a) = 1$, adding $\rho - 1$ doesn't change the mean. But then no
# single term is negative, and the estimate is less noisy.
#
# By hand: the old policy plays two actions equally often, the new one with 0.8 and 0.2. The ratios are $0.8/0.5 = 1.6$
# and $0.2/0.5 = 0.4$. If the actions pay 1 and 3, the batch says that the new policy earns
# $\frac{1}{2}(1.6 \cdot 1 + 0.4 \cdot 3) = 1.4$, and it does: $0.8 \cdot 1 + 0.2 \cdot 3 = 1.4$. The KL divergence is
# $\frac{1}{2}(0.6 - \ln 1.6) + \frac{1}{2}(-0.6 - \ln 0.4) = -\frac{1}{2} \ln 0.64 \approx 0.223$ nats.

# %% tags=["two-hours"]
old, new = torch.tensor([[0.5, 0.5]]), torch.tensor([[0.8, 0.2]])
ratio = importance_ratio(new.log(), old.log())
found = drift(ratio, torch.ones(1, 2, dtype=torch.bool))
kl, largest = found["approx_kl"], found["max_ratio"]
print(f"ratios {ratio.numpy().round(3)}, the largest {largest.item():.1f}", end="; ")
print(f"KL {kl.item():.3f} nats")
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
# The ratio keeps the mean right. What about its own spread? The mean square is
#
# $$\mathbb{E}_\text{old}[\rho^2] = \sum_a \pi_\text{old}(a)\, \frac{\pi(a)^2}{\pi_\text{old}(a)^2}
#   = \sum_a \frac{\pi(a)^2}{\pi_\text{old}(a)} .$$
#
# This is 1 if the policies are equal, and grows with every step away, most where the new policy likes what the old one
# rarely did. By a rule of thumb, $n$ weighted pulls are worth about $n / \mathbb{E}_\text{old}[\rho^2]$ fresh ones, the
# **effective sample size**. Below, the old policy plays one of two actions with probability $p$ (the dot), and the new
# one moves away from that.

# %% tags=["hide-input"]
new = torch.linspace(0.01, 0.99, 99)
figure, axis = plt.subplots(figsize=(6.5, 2.8))
for old, color in ((0.5, style.SOFT), (0.2, style.INK), (0.05, style.COLORS["reuse"])):
    worth = 1000 / (new**2 / old + (1 - new) ** 2 / (1 - old))
    axis.plot(new, worth, color=color, label=f"p = {old:g}")
    axis.plot(old, 1000, "o", color=color)
    print(f"p = {old:<4}: if the new policy plays the action with 0.9, 1000 pulls are worth {worth[89]:.0f}")
axis.set(xlabel="probability of the action under the new policy", ylabel="what 1000 old\npulls are worth", xlim=(0, 1))
label_lines(axis)
plt.show()

# %% [markdown]
# With $p = 0.05$ and a new probability of 0.9, each pull of the action speaks for eighteen, and 1000 pulls are worth
# about 60.
#
# Here are the ratios of a CartPole agent's third batch over ten epochs, at two learning rates. (Heights are square
# roots of shares, so that rare ratios show.)

# %% tags=["thumbnail", "hide-input"]
figure, axes = plt.subplots(1, 2, figsize=(6.8, 3), sharey=True)
for axis, lr in zip(axes, (0.001, 0.003), strict=True):
    epochs = ratios_by_epoch(Config(seeds=1, steps=4000, lr=lr, epochs=10), named("reuse"), update=2)
    draw_ratios(axis, epochs, style.COLORS["reuse"])
    axis.set_title(f"learning rate {lr}")
    worth = 1000 * epochs[-1].mean() ** 2 / np.square(epochs[-1]).mean()
    print(f"rate {lr}: standard deviation of ρ in epoch 10 {epochs[-1].std():.2f}; 1000 steps are worth {worth:.0f}")
plt.show()

# %% [markdown]
# The ratios spread: down for actions that turned out badly, up for those that turned out well. The spike that remains
# at 1 (sharpest at 0.003) probably consists of actions that the policy was already sure of: if $\pi_\text{old}$ was
# 0.97 and the action stays likely, the ratio can hardly move. By epoch 10 the thousand steps are worth about 600 and
# 380, and nothing in this objective says stop.
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
# Ten agents on CartPole in each of three arms: the baseline at its best learning rate, reuse at that same rate, and
# reuse at its own best rate.

# %%
config = Config(seeds=10, steps=20_000)
alone = at_best_rate(config, named("baseline"))
chosen = at_best_rate(config, named("reuse"))
runs = {
    "reuse": train(chosen, named("reuse")),
    "baseline": train(alone, named("baseline")),
    "reuse, baseline's rate": train(alone, named("reuse")),
}

# %% tags=["hide-input"]
curves(runs)
plt.show()

for name, run in runs.items():
    collapsed = (run.late() < 15).sum()  # random play earns about 22
    print(f"{name:22} rate {run.config.lr:g}: last tenth {run.late().mean():.0f} points, {collapsed} of 10 collapsed")
lost = [(run.late() < 15).sum() for run in runs.values()]
assert chosen.lr < alone.lr and lost[2] - max(lost[:2]) >= 3
assert runs["reuse, baseline's rate"].late().mean() < 0.7 * runs["reuse"].late().mean()

# %% [markdown]
# At the rate that suits one step per batch, sixteen make many agents collapse: they take the same action whatever they
# see, which earns 9 points. (Which of the other two arms is better, ten agents can't say.) Here are the stored tuning
# runs:

# %% tags=["hide-input"]
scores = table().query("env == 'CartPole-v1' and steps == 100_000 and numbers == ''")
grid = {name: scores[scores.tricks == flags(named(name))].set_index("lr") for name in ("baseline", "reuse")}

figure, axis = plt.subplots(figsize=(6.5, 2.8))
for name, rows in grid.items():
    axis.plot(rows.index, rows.area, "o-", color=style.COLORS[name], label=name)
axis.set(xscale="log", xlabel="learning rate", ylabel="area under the curve\n(points per episode)", ylim=(0, None))
label_lines(axis)
plt.show()
for name, rows in grid.items():
    print(
        f"{name:9} best {rows.area.max():.0f} at rate {rows.area.idxmax():g}; up to {rows.seeds.max()} seeds per rate"
    )
assert grid["reuse"].area.idxmax() < grid["baseline"].area.idxmax()
assert grid["reuse"].area.iloc[-1] < 0.5 * grid["reuse"].area.max()

# %% [markdown]
# Reuse peaks at a tenth of the baseline's rate. **Compare both arms at one rate, and reuse is a triumph or a
# catastrophe, whichever you like.**
#
# ## Does the ratio pay?
#
# Our machines were chosen to punish the wrong loss. Here are both losses on CartPole and on Acrobot, where an episode
# scores −500 if the arm never swings up. Return $\log \pi$ where the loop expects the ratio, and the objective becomes
# $A \log \pi$, the loss from the top of this chapter. The seeds are fresh, from 9000 on: nothing was chosen on them.
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
    curves({name: losses[env, lr, name] for name in ("ratio", "no ratio")}, axis)
    axis.set(title=f"{env}, rate {lr:g}", xlabel="steps (thousands)", ylabel="")
axes[0].set_ylabel("episode return")
plt.show()

means, late = {}, {}
for key, run in losses.items():
    means[key], late[key] = area(on_grid(run.curve, here.steps, run.diverged)).to_numpy(), run.late()
    low, high = interval(means[key])
    print("{:11} rate {:<5} {:8}".format(*key), f"mean over training {means[key].mean():.0f}", end=" ")
    print(f"[{low:.0f}, {high:.0f}], last tenth {late[key].mean():.0f}")
ours, theirs = (("CartPole-v1", 0.003, name) for name in ("ratio", "no ratio"))
assert interval(means[theirs])[0] > interval(means[ours])[1] and late[theirs].min() > 400 > np.median(late[ours])
ours, theirs = (("CartPole-v1", 0.01, name) for name in ("ratio", "no ratio"))
assert means[theirs].mean() > means[ours].mean() and late[theirs].max() < 15 < late[ours].mean()
ours, theirs = (("Acrobot-v1", 0.003, name) for name in ("ratio", "no ratio"))
print(f"Acrobot agents above -500 in the last tenth: {(late[ours] > -500).sum()} and {(late[theirs] > -500).sum()}")
assert (late[ours] > -500).any() and (late[theirs] == -500).all()

# %% [markdown]
# By the mean over training, the wrong loss is ahead on CartPole at both rates. At 0.003 all ten of its agents balance
# well, and several of the others don't. At 0.01 it also collapses more thoroughly: all ten end at 9 points. On Acrobot
# some agents get the arm up early on. Without the ratio, all ten lose that again; with it, some keep it.
#
# So the correct gradient isn't always the one that learns faster. Without the ratio the gradient is biased, but no row
# counts for more than its advantage. Ratios spread, and so far nothing limits them. We suspect that on CartPole this
# noise costs more than the bias; no run here tests that. What the ratio gives you is a gradient that you can trust near
# $\pi_\text{old}$, on any task, and a number that can be limited. The [clip](03_clip.ipynb) will limit it.
#
# ## What it's worth

# %% tags=["hide-input"]
evidence("reuse").strip()
plt.show()

# %% tags=["hide-input"]
table = evidence("reuse").table
rows = table[table.subject == "ladder"]
for kind, part in rows.groupby("kind", sort=False):
    print(f"{kind}: an effect is detected in {part.detected.ne(0).sum()} of {len(part)} environments")
bare, full = rows[rows.kind != "in the full set"], rows[rows.kind == "in the full set"]
seen = bare[bare.detected != 0].set_index("kind").confirmed
assert set(bare.env[bare.detected != 0]) == {"LunarLander-v3"}
assert seen.to_dict() == {"alone, on what it needs": 0, "on the rung before": 1}
assert full.detected.gt(0).sum() == 4
assert table.verdict[table.subject == "continuous"].tolist() == ["helps"] * 3

(parity,) = (each for each in trials() if each.trial.trick == "reuse" and "Parity" in each.dose.config.env)
early, late = {}, {}
for name, arm in (("one step per batch", parity.without), ("reuse", parity.having)):
    early[name] = arm["30%"].mean()
    late[name] = arm.late.mean()
    print(f"Parity3, {name}: {early[name]:.1f} after 30% of the budget, {late[name]:.1f} in the last tenth")
assert early["reuse"] > early["one step per batch"] + 2 and abs(early["reuse"] - late["reuse"]) < 0.2
assert abs(late["reuse"] - late["one step per batch"]) < 0.2

# %% [markdown]
# In the outer rows nothing limits the ratio, and an effect is detected only on LunarLander: there reuse at 0.001 beats
# one step per batch at 0.003. (As the next rung that was confirmed on other seeds; alone, it wasn't.) In the middle
# row, taking reuse out also takes the [clip](03_clip.ipynb) and leaves one step per batch. Removing the group lowers
# the score in four of the five environments; on LunarLander no effect is detected. On the robots, too, all of them are
# taken out together, and the score drops. (`Parity3` pays for naming the parity of three random bits. Its budget is a
# dozen batches. With reuse, agents get as far as they will in a third of it. With one step per batch they need nearly
# all of it, and end about as high: the gain is in speed. The trial on CartPole gains 53 points, with an interval above
# 0, but that doesn't survive the correction for the number of trials.)

# %% tags=["hide-input"]
evidence("reuse")

# %% [markdown]
# How many epochs and minibatches? These sweeps varied them in the preset `cleanrl`: the eleven tricks of CleanRL's
# `ppo.py`, most of which come in later chapters. (Pendulum adds [`return_norm`](08_return_norm.ipynb), which helps
# there, and γ = 0.9.) Each value gets the best of four learning rates, and each number of epochs the best clip range as
# well. Dots are single combinations. The line joins the best at each value, with its 95% interval. *Nearly as good*
# below means that at most 5% of the way from a random policy's score to the best is lost.

# %% tags=["hide-input"]
swept("epochs", "minibatches")
plt.show()

epochs, minibatches = best_at("epochs"), best_at("minibatches")
assert epochs["CartPole-v1"][1] < epochs["CartPole-v1"].loc[4:].min() - 50
assert (epochs["Pendulum-v1"].diff().dropna() > 100).all()
assert epochs["Acrobot-v1"][1] > epochs["Acrobot-v1"][10]
assert minibatches["CartPole-v1"].loc[:2].max() < minibatches["CartPole-v1"].loc[4:].min() - 20
assert minibatches["Acrobot-v1"].loc[:4].min() > minibatches["Acrobot-v1"].loc[8:].max()

# %% [markdown]
# Pendulum does best with the most epochs that we tried: four gain almost 200 points over one, and ten about a hundred
# more. CartPole loses with a single epoch, but four are as good as ten. On Acrobot, one is enough. (With one epoch, the
# best rate is the largest of the four on CartPole and Pendulum. A larger one might win back part of the loss.)
#
# One or two minibatches cost CartPole some points. On Acrobot it's the other way around: from eight on, scores are
# lower. On Pendulum we see no trend.
#
# The loop computes advantages once per batch, so they age as well. Andrychowicz et al. 2020 (arXiv:2006.05990) found it
# best to recompute them in every epoch. [GAE](04_gae.ipynb), where advantages lean on $V$, shows what that changes.

# %% [markdown]
# ## At a glance
#
# | | |
# |---|---|
# | **problem** | playing is slow, and one gradient step per batch gets little out of it |
# | **formula** | maximize $\mathbb{E}_\text{old}[\rho A]$, where $\rho = \pi(a \mid s) / \pi_\text{old}(a \mid s)$ |
# | **in the loop** | `ratio = importance_ratio(log_prob, b.old_log_prob)` <br> `objective = ratio * advantage` |
# | **defaults** | `epochs` = 4, `minibatches` = 4: sixteen steps per batch |
# | **watch** | `approx_kl` and `max_ratio`: how far the policy has moved from the one that played |
# | **skip it when** | playing costs next to nothing; without a clip, keep the learning rate small |
# | **also called** | importance sampling; $\rho A$ is the *surrogate*; with others' data, learning is *off-policy* |

# %% [markdown]
# ## Exercises
#
# **Exercise 1: write it.** Estimate what the new policy would earn, from pulls of the old one: how probable each was
# under the new policy, how probable under the old, and what it paid.


# %%
def my_estimate(log_prob, old_log_prob, reward):  # [B], [B], [B] -> a number
    ...


check_estimate(my_estimate)

# %% [markdown]
# <details><summary>Hint</summary>
#
# Weight each pull by how many times as likely it is under the new policy as under the old one.
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
# per step, ratios don't multiply, so the noise doesn't compound along the episode. The price is a bias, because the
# states still come as often as under the old policy. It is small while the policies are close, which is one more reason
# to stay close.
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
    axis.plot(faulty.step / 1000, faulty[name], color=style.INK, label="bug")
    axis.set(xlabel="steps (thousands)", title=name)
    label_lines(axis)
plt.show()
print(f"largest ratio: right {right.max_ratio.max():.2f}, with the bug {faulty.max_ratio.max():.2f}")
assert faulty.max_ratio.max() < 1.001 and right.max_ratio.max() > 1.2
assert faulty["return"].iloc[-1] > max(2 * faulty["return"].iloc[0], right["return"].iloc[-1])

# %% [markdown]
# With the bug, the return rises even faster, so that curve won't tell you. What do the other two panels say? Which loss
# is this agent really descending?
#
# <details><summary>Hint</summary>
#
# What is the ratio's value? What is its gradient? You have seen both above.
#
# </details>
#
# Solutions: [`solutions/02_reuse.py`](solutions/02_reuse.py). Next: [the clip](03_clip.ipynb), which says stop.

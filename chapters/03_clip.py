# %% [markdown]
# # The clip: stop when you have gone far enough
#
# *Ten epochs on one batch: who says stop?*
#
# The ratio of the last chapter lets you take many steps from one batch, and its objective is right, on average. It is also
# greedy: it never asks whether a batch of a thousand steps can bear what you read into it. This chapter first lets it
# ruin a policy that was nearly perfect. Then it stops it with one `min` and one `clip`, which are the heart of PPO.

# %%
from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np
import torch

from ablations import style
from book import (
    at_best_rate,
    begin,
    curves,
    draw_ratios,
    evidence,
    label_lines,
    planted,
    ratios_by_epoch,
    shares_by_epoch,
    store,
    swept,
)
from exercises.clip import check_surrogate, short_surrogate
from tricks import Config, diff, source, train
from tricks.clip import clip_fraction, clipped_surrogate
from tricks.kl_stop import near_enough
from tricks.ladder import named

begin()

# %% [markdown]
# ## One lucky pull
#
# Our three machines again, which pay 1, 2 and 4 on average; now the payouts vary, with a standard deviation of 3. The
# policy knows already what it should: it pulls the best machine with probability 0.94, the others with 0.03 each. It earns
# 3.85 of 4 possible points. We pull fifty times, subtract the mean payout, and take forty steps on that batch with the ratio:
# ten epochs of four minibatches, in the loop's terms, though here each step sees the whole batch. A thousand agents
# do this, each with a batch of its own.

# %%
PAYS = torch.tensor([1.0, 2.0, 4.0])
OLD = torch.tensor([0.03, 0.03, 0.94])


def ten_epochs(surrogate, agents=1000, pulls=50, steps=40, rate=2.0):
    """What each agent's policy would earn, and its largest ratio, after each step on one batch: [steps, agents]."""
    torch.manual_seed(0)
    action = OLD.expand(agents, 3).multinomial(pulls, replacement=True)
    paid = PAYS[action] + 3 * torch.randn(agents, pulls)
    advantage = paid - paid.mean(1, keepdim=True)
    theta, earned, largest = OLD.log().repeat(agents, 1).requires_grad_(), [], []
    for _ in range(steps):
        ratio = theta.softmax(1).gather(1, action) / OLD[action]
        (grad,) = torch.autograd.grad(surrogate(ratio, advantage).mean(1).sum(), theta)
        theta = (theta + rate * grad).detach().requires_grad_()
        earned.append(theta.detach().softmax(1) @ PAYS)
        largest.append(ratio.detach().amax(1))
    return torch.stack(earned), torch.stack(largest)


# %%
free, free_ratio = ten_epochs(lambda ratio, advantage: ratio * advantage)

figure, axes = plt.subplots(1, 2, figsize=(6.8, 2.8))
axes[0].plot(free[:, :200], color=style.SOFT, lw=0.4, alpha=0.5)
axes[0].plot(free.mean(1), color=style.COLORS["reuse"])
axes[0].set(xlabel="steps on the same batch", ylabel="expected payout")
axes[0].text(39, 2.95, "mean", color=style.COLORS["reuse"], weight="bold", ha="right")
axes[1].plot(free_ratio[:, :200], color=style.SOFT, lw=0.4, alpha=0.5)
axes[1].set(xlabel="steps on the same batch", ylabel="largest ratio in the batch", yscale="log")
plt.show()

ruined = (free[-1] < 3).float().mean().item()
print(f"mean payout: before {(OLD @ PAYS):.2f}, after {free[-1].mean():.2f}")
print(f"agents below 3 points: {ruined:.0%}; largest ratio of any agent: {free_ratio.max():.0f}")
assert free[-1].mean() < 3.75 and ruined > 0.1 and free_ratio.max() > 20

# %% [markdown]
# Most agents improve a little. But some (17%) had a lucky pull of a poor machine, half of them a single one. The objective sees a rare action that paid
# well, and it is *linear* in the ratio: twice as likely is twice as good, thirty times as likely is thirty times as good.
# So the policy throws away what it knew, for a pull or two; the ratio stops near 33 only because $1/0.03$ is all that there is.
# And the batch cannot object: what the new policy would experience is not in it.
#
# This is what goes wrong with ten epochs and no clip: **the ratio is correct on average, and worthless once it is large, but
# the objective pays more the larger it gets.**
#
# ## Stop paying
#
# The cure of PPO (Schulman et al. 2017, arXiv:1707.06347) is to stop paying. With a range $\varepsilon$, usually 0.2,
# replace $\rho A$ by
#
# $$L = \min\big(\rho A,\; \operatorname{clip}(\rho, 1 - \varepsilon, 1 + \varepsilon)\, A\big).$$
#
# ($\operatorname{clip}(\rho, \text{low}, \text{high})$ is $\rho$, but never below low and never above high.) Take it apart by the
# sign of $A$.
#
# - **A good action, $A > 0$.** It should become more likely. Up to $\rho = 1 + \varepsilon$ that pays as before. Beyond, the
#   clipped product stays at $(1 + \varepsilon) A$, which is the smaller one, so the min takes it. It is constant: its
#   gradient is zero, and nothing pulls the action further. If the action has become *less* likely, $\rho < 1 - \varepsilon$,
#   the clipped product would be $(1 - \varepsilon) A$; but $\rho A$ is smaller, so the min takes that, and its gradient
#   pulls the action back up.
# - **A bad action, $A < 0$.** Everything is reversed. Down to $\rho = 1 - \varepsilon$ it pays to make it less likely,
#   and not beyond. If it has become *more* likely, $\rho > 1 + \varepsilon$, then $\rho A$ is the smaller, more negative
#   product, and its gradient pushes it back down.
#
# | | $\rho < 1 - \varepsilon$ | inside | $\rho > 1 + \varepsilon$ |
# |---|---|---|---|
# | $A > 0$ | gradient: repair | gradient | **zero: enough** |
# | $A < 0$ | **zero: enough** | gradient | gradient: repair |
#
# The minimum makes $L$ a pessimist: never above $\rho A$. It ignores that things may have become even better, and
# never ignores that they have become worse.

# %%
source(clipped_surrogate, clip_fraction)

# %% [markdown]
# By hand, with $\varepsilon = 0.2$, the four corners: $\rho = 1.5, A = 1$ gives $\min(1.5, 1.2) = 1.2$ with gradient 0.
# $\rho = 0.5, A = 1$: $\min(0.5, 0.8) = 0.5$, gradient 1. $\rho = 1.5, A = -1$: $\min(-1.5, -1.2) = -1.5$, gradient $-1$.
# $\rho = 0.5, A = -1$: $\min(-0.5, -0.8) = -0.8$, gradient 0.

# %%
ratio = torch.tensor([[1.5, 0.5, 1.5, 0.5]], requires_grad=True)  # [S, B]
advantage = torch.tensor([[1.0, 1.0, -1.0, -1.0]])
objective = clipped_surrogate(ratio, advantage, torch.tensor([0.2]))
(slope,) = torch.autograd.grad(objective.sum(), ratio)
print("objective", objective.detach().numpy().round(2), " gradient", slope.numpy())
torch.testing.assert_close(objective.detach(), torch.tensor([[1.2, 0.5, -1.5, -0.8]]))
assert slope.tolist() == [[0, 1, -1, 0]]

# %% tags=["thumbnail"]
figure, axes = plt.subplots(1, 2, figsize=(6.8, 2.8))
ratios = torch.linspace(0, 2, 201)
for axis, sign, zero in zip(axes, (1.0, -1.0), ((1.2, 2), (0, 0.8)), strict=True):
    clipped = clipped_surrogate(ratios.unsqueeze(0), torch.full((1, 201), sign), torch.tensor([0.2]))[0]
    axis.axvspan(*zero, color=style.FAINT, lw=0)
    axis.plot(ratios, sign * ratios, color=style.SOFT, ls=":")
    axis.plot(ratios, clipped, color=style.COLORS["clip"], lw=2.5)
    axis.plot(1, sign, "o", color=style.INK)
    low = min(0, 2 * sign)
    axis.set(xlabel="ratio ρ", title=f"{'good' if sign > 0 else 'bad'} action: A = {sign:+.0f}", xlim=(0, 2))
    axis.set(ylim=(low - 0.1, low + 2.1), xticks=(0, 0.8, 1, 1.2, 2))
    axis.text(sum(zero) / 2, low + 0.1, "gradient 0", ha="center", color=style.INK)
axes[0].set_ylabel("objective")
axes[0].text(1.55, 1.75, "ρA", color=style.SOFT, ha="right")
axes[0].text(1.95, 1.05, "clipped", color=style.COLORS["clip"], weight="bold", ha="right")
axes[1].text(1.5, -1.35, "ρA", color=style.SOFT)
plt.show()

# %% [markdown]
# The dot is where every action of the batch stands before the first step. In the direction that pays, the way is short, and whoever
# overshoots is not called back. From the wrong side, the way back to the dot is always open.
#
# The same thousand agents, the same batches, with the clip:

# %%
epsilon = torch.full((1000,), 0.2)
stopped, stopped_ratio = ten_epochs(lambda ratio, advantage: clipped_surrogate(ratio, advantage, epsilon))
figure, axis = plt.subplots(figsize=(6.5, 2.6))
for share, dashes in ((0.5, "-"), (0.05, "--")):
    said = "median" if share == 0.5 else "worst 5%"
    axis.plot(free.quantile(share, 1), dashes, color=style.COLORS["reuse"], label=f"no clip, {said}")
    axis.plot(stopped.quantile(share, 1), dashes, color=style.COLORS["clip"], label=f"clip, {said}")
axis.set(xlabel="steps on the same batch", ylabel="expected payout")
label_lines(axis)
plt.show()
print(f"mean payout after 40 steps: no clip {free[-1].mean():.2f}, clip {stopped[-1].mean():.2f}")
print(f"agents below 3 points: {(stopped[-1] < 3).float().mean():.1%}; largest ratio: {stopped_ratio.max():.1f}")
assert stopped[-1].mean() > 3.85 and (stopped[-1] < 3).float().mean() < 0.01

# %% [markdown]
# The typical agent loses a little by caution, and the unlucky one keeps what it knew. But look at the largest ratio:
# it is not 1.2.
#
# ## It is no trust region
#
# A zero gradient stops the *pull* on one action. It does not hold the ratio. Three things still move it: the step that
# crosses the border, which may be long; the optimizer's momentum; and all other samples, whose gradients change the same
# parameters. In large experiments, the largest ratios reach 17 to 30 with the clip in place (Engstrom et al. 2020,
# arXiv:2005.12729). A method that really bounds how far the policy moves is said to have a *trust region*. PPO has none; it
# has a strong habit.
#
# ## Why not simply clip?
#
# $\operatorname{clip}(\rho)\, A$ without the min looks simpler. Its gradient is zero outside the range on *both* sides.
# Suppose that the steps of other samples have pushed a good action down to $\rho = 0.6$. Here is what each objective does
# about it, on a policy with two actions.


# %%
def repair(surrogate, steps=200):
    """The ratio of a good action that begins at 0.6, step by step."""
    theta, path = torch.tensor([0.3, 0.7]).log().requires_grad_(), []
    for _ in range(steps):
        ratio = theta.softmax(0)[:1] / 0.5
        path.append(ratio.item())
        (grad,) = torch.autograd.grad(surrogate(ratio.unsqueeze(0)).sum(), theta)
        theta = (theta + 0.02 * grad).detach().requires_grad_()
    return path


with_min = repair(lambda ratio: clipped_surrogate(ratio, torch.ones(1, 1), torch.tensor([0.2])))
clip_only = repair(lambda ratio: ratio.clamp(0.8, 1.2))
print(f"after 200 steps: with the min {with_min[-1]:.2f}, clip only {clip_only[-1]:.2f}")
assert with_min[-1] > 1.1 and abs(clip_only[-1] - 0.6) < 1e-6

# %% [markdown]
# With the min the action is brought back, and on to $1 + \varepsilon$. With the clip alone it is stuck: the one mistake
# that the batch could have corrected is the one that it may no longer see.
#
# ## Ratios in a real run
#
# CartPole once more, ten epochs at a learning rate of 0.003. We listen in on one agent's ratios, epoch by epoch, in its
# third batch.


# %%
batch = Config(seeds=1, steps=4000, lr=0.003, epochs=10)
figure, axes = plt.subplots(1, 2, figsize=(6.8, 3), sharey=True)
for axis, name in zip(axes, ("reuse", "clip"), strict=True):
    epochs = ratios_by_epoch(batch, named(name), update=2)
    axis.axvspan(np.log2(0.8), np.log2(1.2), color=style.FAINT, lw=0)
    draw_ratios(axis, epochs, style.COLORS[name])
    axis.set_title("without the clip" if name == "reuse" else "with it")
    outside = np.mean(np.abs(epochs[-1] - 1) > 0.2)
    print(
        f"{name}: in epoch 10, {outside:.0%} of the ratios are outside of 0.8 to 1.2; the largest is {epochs[-1].max():.1f}"
    )
plt.show()

# %% [markdown]
# The gray band is the range. Without the clip the ratios run off. With it most stay inside, and few of the others get
# far. The same batch under other ranges:

# %% tags=["hide-input"]
by_range = {"none": ratios_by_epoch(batch, named("reuse"), update=2)}
for clip_range in (0.05, 0.1, 0.2, 0.4, 0.8):
    by_range[str(clip_range)] = ratios_by_epoch(replace(batch, clip_range=clip_range), named("clip"), update=2)
for name, epochs in by_range.items():
    print(f"clip range {name:5} largest ratio in epoch 2: {epochs[1].max():5.2f}, in epoch 10: {epochs[-1].max():6.2f}")
store("ratios", shares_by_epoch(by_range))

# %% [markdown]
# <!-- mechanism: ratios -->
#
# ## What changes in the loop

# %%
diff(named("reuse"), named("clip"))

# %% [markdown]
# ## A small run
#
# Five agents, ten epochs, 16,000 steps, both arms at a learning rate of 0.003.

# %%
config = Config(seeds=5, steps=16_000, lr=0.003, epochs=10)
runs = {"reuse": train(config, named("reuse")), "clip": train(config, named("clip"))}
curves(runs)
plt.show()

for name, run in runs.items():
    ratio, kl = run.curve.max_ratio, run.curve.approx_kl
    print(
        f"{name:5} last tenth {run.late().mean():.0f} points; KL {kl.mean():.3f} on average; largest ratio {ratio.max():.1f}"
    )
share = runs["clip"].curve.clip_fraction.mean()
print(f"clip fraction: {share:.0%} of all ratios lie outside of 1 ± 0.2")
assert runs["clip"].late().mean() > runs["reuse"].late().mean()
assert runs["reuse"].curve.approx_kl.mean() > 5 * runs["clip"].curve.approx_kl.mean()
assert runs["clip"].curve.max_ratio.max() > 1.2

# %% [markdown]
# Learn to read the two numbers. The **clip fraction** is the share of ratios outside the range. Near 0 the clip has nothing
# to do: the steps are small. When it is large, much of each batch has left the range (some of it silent, some still pulled back), and
# the learning rate or the number
# of epochs is too large for it. The **largest ratio** says whether the habit holds.
#
# One fixed rate is not a fair comparison, since each arm has its own best. The stored runs give it to each.
#
# ## What the stored runs say

# %%
evidence("clip")

# %%
evidence("clip").plot()
plt.show()

for env in ("CartPole-v1", "Acrobot-v1"):
    rates = [at_best_rate(Config(env), named(name)).lr for name in ("reuse", "clip")]
    print(f"{env}, as the next rung: best rate without the clip {rates[0]:g}, with it {rates[1]:g}")
for row in evidence("clip").worlds.itertuples():
    print(
        f"{row.place}: best rate without the clip {row.lr_without:g}, with it {row.lr_with:g}. The clip {row.verdict}."
    )

# %% [markdown]
# The difference between the two rates is half of the story: the clip lets you take larger steps without falling. Where the
# table shows no effect, or a loss, look at the rates that the last lines print: a small step is a clip, too. And where it was taken out of everything, other brakes are still at work.
#
# Is $\varepsilon = 0.2$ right, the value that all these arms have? A sweep over $\varepsilon$, the epochs, and the learning
# rate says how much there is to gain:

# %%
swept("clip_range")
plt.show()

# %% [markdown]
# Anything from 0.1 to 0.8 will do, if the learning rate and the epochs may follow. A tighter range wants more of either.
#
# **What it does not say:** what the clip does without these numbers around it. The ladder's runs have four epochs; the
# world of this trick has twenty, because that is where it was predicted to matter.
#
# ## Stop when the policy has moved too far: `kl_stop`
#
# The clip is no trust region, so can we build a brake that watches the policy itself? The loop already measures how far
# the policy has moved from the one that played: `approx_kl`, the KL divergence estimated from the minibatch's ratios as
# $\operatorname{mean}(\rho - 1 - \log \rho)$. Spinning Up's PPO and stable-baselines3's `target_kl` use the same brake.
# Choose a target for the KL. Once a minibatch shows more than 1.5 times the target, take no further step on this batch:
# play a new one instead.
#
# Here, every seed of a stack has its own brake. A seed that has gone far enough waits for the next batch, and the others
# keep learning.

# %%
source(near_enough)

# %%
stop = replace(named("reuse"), kl_stop=True)  # no clip, only the brake
diff(named("reuse"), stop)

# %% [markdown]
# What does the KL do in the late epochs? Here is the batch from above once more: one agent, its third batch, ten epochs.

# %%
arms = {"reuse": named("reuse"), "clip": named("clip"), "kl_stop": stop}
figure, axis = plt.subplots(figsize=(6.5, 2.6))
for name, tricks in arms.items():
    epochs = ratios_by_epoch(batch, tricks, update=2)
    kl = [np.mean(ratios - 1 - np.log(ratios)) for ratios in epochs]
    axis.plot(range(1, 11), kl, color=style.COLORS[name], label=name)
    print(f"{name:7} KL in epoch 1: {kl[0]:.4f}, in epoch 2: {kl[1]:.4f}, in epoch 10: {kl[-1]:.4f}")
axis.axhline(1.5 * Config.target_kl, color=style.SOFT, ls=":")
axis.set(xlabel="epoch", ylabel="approx_kl", yscale="log", ylim=(1e-4, 10))
label_lines(axis)
plt.show()

# %% [markdown]
# The dotted line is the limit, 1.5 × 0.01. Without any brake, the KL keeps growing with every epoch. With the clip, it
# levels off. With `kl_stop`, it freezes: after the first minibatch over the limit, no step changes the policy, so the ratios
# stay what they are. They stay a bit *above* the limit, because the step that crossed it has been taken by the time we
# measure.
#
# Freezing has a price. Let's add this arm to the small run from before.

# %%
runs["kl_stop"] = train(config, stop)
for name, run in runs.items():
    print(f"{name:7} last tenth {run.late().mean():.0f} points; KL {run.curve.approx_kl.mean():.3f} on average")
print(f"kl_stop took {runs['kl_stop'].curve.steps_taken.mean():.0%} of its gradient steps")
assert runs["kl_stop"].curve.approx_kl.mean() < runs["reuse"].curve.approx_kl.mean() / 5
assert runs["kl_stop"].curve.steps_taken.mean() < 0.5

# %% [markdown]
# The KL is small, as promised. But most gradient steps are never taken. At a learning rate that is too large, a brake that
# stops everything saves you from ruin, and then wastes the rest of the batch; the clip silences only the actions that have
# gone far enough, and keeps learning from all the others. `steps_taken` tells you which of the two you have. Near 100%, the
# brake has nothing to do. At a few percent, lower the learning rate or the number of epochs.
#
# The stored trial asks whether the brake alone can stand in for the clip: CartPole with twenty epochs and no clip, where we
# predicted that it helps. Each arm runs at its own best learning rate.

# %%
evidence("kl_stop")

# %%
evidence("kl_stop").plot()
plt.show()

for row in evidence("kl_stop").worlds.itertuples():
    print(f"best rate without the stop {row.lr_without:g}, with it {row.lr_with:g}; kl_stop: {row.verdict}")

# %% [markdown]
# The prediction did not come true: twenty seeds show no effect, and the interval is wide enough to hide a large one in either
# direction. Both arms chose the smallest rate of the grid. A small step needs no brake.
#
# **When it does not help.** If the steps are small, or the clip already keeps the KL down, the limit is never reached. If
# the limit is tight, most of each batch goes to waste. The estimate comes from one minibatch, so an unlucky one can stop a
# seed that was fine. And here, as in stable-baselines3, the value net stops along with the policy, although nothing is wrong
# with its steps. (Spinning Up lets it finish.)
#
# ## When it does not help
#
# - **With few steps per batch.** On the first minibatch all ratios are 1, and the clip does nothing.
# - **With steps so small** that no ratio leaves the range.
# - **Not always on harder tasks either.** Engstrom et al. 2020 (arXiv:2005.12729) report, on Walker2d, Hopper and
#   Humanoid, 3292, 2513 and 806 points for PPO, and 2867, 2371 and 831 for the same without the clip: ahead on two, behind
#   by a hair on the third.
#
# ## Exercises
#
# **Exercise 1: write it.** The clipped objective of each row, for one number `epsilon`. Run the cell to see what is wrong
# with your version.


# %%
def my_surrogate(ratio, advantage, epsilon):  # [B], [B], a number -> [B]
    ...


check_surrogate(my_surrogate)

# %% [markdown]
# **Exercise 2: think.** Set `epochs=1, minibatches=1`. How often does the clip act? What does that say about the gradient of
# the very first minibatch of any update?
#
# **Exercise 3: spot the bug.** The author of this version found the original roundabout, and shortened it.

# %%
source(short_surrogate)

# %%
with planted(clipped_surrogate=short_surrogate):
    faulty = train(config, named("clip"))

figure, axes = plt.subplots(1, 3, figsize=(9, 2.5))
for axis, name in zip(axes, ("return", "clip_fraction", "max_ratio"), strict=True):
    for run, color, label in ((runs["clip"], style.COLORS["clip"], "right"), (faulty, style.INK, "bug")):
        shared = run.curve.groupby("seed")["update"].max().min()  # the last update that every seed has
        mean = run.curve[run.curve["update"] <= shared].groupby("update").mean()
        axis.plot(mean.step / 1000, mean[name], color=color, label=label)
    axis.set(xlabel="steps (thousands)", title=name)
    if name == "max_ratio":
        axis.set(yscale="log", ylim=(1, 1000))
    label_lines(axis)
plt.show()
for label, run in (("right", runs["clip"]), ("bug", faulty)):
    print(f"{label:5} KL {run.curve.approx_kl.mean():.3f}, clip fraction {run.curve.clip_fraction.mean():.2f}")
assert faulty.curve.approx_kl.mean() > 3 * runs["clip"].curve.approx_kl.mean()

# %% [markdown]
# The returns of so few agents may or may not tell. What do the other two panels say, and in which of the four corners of
# the table does this function differ?
#
# Solutions: [`solutions/03_clip.py`](solutions/03_clip.py). Next: [GAE](04_gae.ipynb), which asks how far into the
# future an action should be held responsible.

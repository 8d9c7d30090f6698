# %% [markdown]
# # Value clipping: a good idea in the wrong place?
#
# *Clipping keeps the policy from moving too far in one update. Why not do the same to the value net?*
#
# The chapter on `clip` held the policy near the one that had collected the data. The value net learns from the same
# batches, for as many epochs. It is only natural to hold it, too, and public code does. This chapter is about a trick
# that sounds right, and about how to find out whether it is.

# %%
from dataclasses import replace

import matplotlib.pyplot as plt
import torch

from ablations import TRIALS, style
from book import at_best_rate, begin, evidence, label_lines, planted
from exercises.value_clip import cautious_error, check_error
from tricks import diff, source, train
from tricks.baseline import squared_error
from tricks.ladder import named
from tricks.value_clip import clipped_error

begin()

# %% [markdown]
# ## The worry
#
# A batch is one sample of the returns. Sixteen gradient steps on it (four epochs of four minibatches) can pull the value net
# far over to that sample. Here is a state whose true value is 1, and whose return in each batch is off by noise of standard
# deviation 1. A value that goes all the way to what each batch says is as noisy as the batches; one that may
# change by 0.2 per batch is not.

# %%
torch.manual_seed(0)
batches = 1 + torch.randn(200)  # what each batch says
eager, held = [0.0], [0.0]
for target in batches.tolist():
    eager.append(target)
    held.append(held[-1] + max(-0.2, min(0.2, target - held[-1])))

figure, axis = plt.subplots(figsize=(6.5, 2.6))
axis.plot(eager, color=style.SOFT, lw=0.8, label="goes to each batch's return")
axis.plot(held, color=style.COLORS["value_clip"], label="may move by 0.2")
axis.axhline(1, color=style.INK, lw=1)
axis.set(xlabel="update", ylabel="value of the state", xlim=(0, 200))
label_lines(axis)
plt.show()

spread = {name: torch.tensor(path[20:]).std().item() for name, path in (("eager", eager), ("held", held))}
print(", ".join(f"{name}: standard deviation {deviation:.2f}" for name, deviation in spread.items()))
assert spread["held"] < 0.5 * spread["eager"]

# %% [markdown]
# So far, so good. Note two things for later: the size of the returns here is 1, and a smaller learning rate would also have
# kept the value from jumping.
#
# ## The formula
#
# Write $V_{old}$ for the prediction that was made when the batch was collected, and $R$ for the target. Hold the
# change within $\pm\varepsilon$:
#
# $$V_{near} = V_{old} + \text{clip}(V - V_{old},\, -\varepsilon,\, +\varepsilon).$$
#
# As with the policy, be a pessimist. There, the smaller of two objectives was maximized; here, the larger of two errors is
# minimized:
#
# $$L(V) = \tfrac12 \max\big( (V - R)^2,\; (V_{near} - R)^2 \big).$$
#
# What does this do? Ask where the gradient is 0. Apart from $V = R$, it can only vanish where the second error is the larger one *and*
# $V_{near}$ no longer depends on $V$, so $|V - V_{old}| > \varepsilon$. Say $V > V_{old} + \varepsilon$, and
# $V_{near} = V_{old} + \varepsilon$.
#
# - **$R$ lies above, out of reach.** As long as $V$ has not overshot $R$ by more than it was short of it at $V_{near}$, it is
#   nearer to $R$ than $V_{near}$ is. The second error is larger,
#   and it is constant: **the gradient is 0.** This row has moved far enough for now.
# - **$R$ lies below.** $V$ has moved away from it, so the first error is larger: **the full gradient** calls it back.
# - **$R$ lies within $\pm\varepsilon$ of $V_{old}$.** Outside the range $V$ is always farther from $R$ than $V_{near}$, so
#   the first error is the larger one everywhere: nothing changes at all.
#
# (And the mirror image on the other side.)
#
# ## A picture of the mechanism
#
# The loss against $V$, with $V_{old} = 0$ and $\varepsilon = 0.2$: left with the target far away, right with a target within
# the range.

# %% tags=["thumbnail"]
V = torch.linspace(-1, 3, 801).requires_grad_()
figure, axes = plt.subplots(1, 2, figsize=(6.5, 2.8), sharey=True)
for axis, target in zip(axes, (1.0, 0.15), strict=True):
    loss = clipped_error(V, torch.zeros(801), torch.full((801,), target), 0.2)
    (slope,) = torch.autograd.grad(loss.sum(), V)
    flat = slope == 0
    axis.axvspan(-0.2, 0.2, color=style.FAINT, alpha=0.5, lw=0)
    axis.plot(V.detach(), 0.5 * (V.detach() - target) ** 2, color=style.SOFT, lw=1.2, ls="--")
    axis.plot(V.detach(), loss.detach(), color=style.COLORS["value_clip"])
    axis.plot(V.detach().where(flat, torch.nan), loss.detach(), color="#EE3377", lw=4)
    axis.plot([target], [0], "o", color=style.INK, ms=5)
    axis.text(target, -0.06, "R", color=style.INK, ha="center", va="top")
    axis.set(xlabel="V", xlim=(-1, 2.4), ylim=(-0.2, 1.5), title=f"R = {target:g}")
    print(f"R = {target:g}: no gradient for {flat.sum() / 200:.1f} units of V")
axes[0].text(0.62, 0.4, "no gradient", color="#EE3377", weight="bold")
axes[0].text(-0.2, 1.38, " ±ε", color=style.SOFT)
axes[0].set_ylabel("loss")
plt.show()

# %% [markdown]
# The dashed line is the plain error. Left, the loss has a plateau that begins at the edge of the range, runs through the
# target, and ends as far beyond it. On the plateau the net is told nothing, be it short of the target or past it.
#
# ## In the library

# %%
source(squared_error, clipped_error)

# %% [markdown]
# By hand, with $V_{old} = 0$ and $\varepsilon = 0.2$:
#
# | $V$ | $R$ | plain | clipped | loss | gradient |
# |---|---|---|---|---|---|
# | 1 | 2 | ½ · 1² = 0.5 | ½ · 1.8² = 1.62 | 1.62 | 0: moved far enough |
# | 1 | 0 | ½ · 1² = 0.5 | ½ · 0.2² = 0.02 | 0.5 | 1: came the wrong way |
# | 0.1 | 2 | ½ · 1.9² = 1.805 | the same | 1.805 | −1.9: still within the range |

# %%
value = torch.tensor([[1.0, 1.0, 0.1]], requires_grad=True)
loss = clipped_error(value, torch.zeros(1, 3), torch.tensor([[2.0, 0.0, 2.0]]), clip_range=0.2)
loss.sum().backward()
torch.testing.assert_close(loss.detach(), torch.tensor([[1.62, 0.5, 1.805]]))
torch.testing.assert_close(value.grad, torch.tensor([[0.0, 1.0, -1.9]]))
print("loss", loss.detach().numpy().round(3), " gradient", value.grad.numpy().round(3))

# %% [markdown]
# ## The trouble with units
#
# The policy's ratio $\rho$ is a pure number. A ratio of 1.2 means 20% more, on any task. But $V$ has the units of the return:
# $\varepsilon = 0.2$ means 0.2 *points*. If returns are about 1, that is a lot. If they are about 100, it is next to nothing.
#
# One value, eight steps per update, each of length 0.12, or less once the error is below 1 (Adam's steps have about the same length however large the
# gradient is). It starts at 0 and should get to $R$.


# %%
def climb(target, error, updates, steps=8, length=0.12):
    """The share of the target that one value has reached, update by update."""
    value, reached = torch.zeros(1, requires_grad=True), [0.0]
    for _ in range(updates):
        old = value.detach().clone()
        for _ in range(steps):
            (slope,) = torch.autograd.grad(error(value, old, torch.tensor([target])).sum(), value)
            value = (value - slope.clamp(-1, 1) * length).detach().requires_grad_()
        reached.append(value.item() / target)
    return reached


def plain(value, old, target):
    return squared_error(value, target)


def clipped(value, old, target):
    return clipped_error(value, old, target, clip_range=0.2)


figure, axes = plt.subplots(1, 2, figsize=(6.5, 2.6), sharey=True)
for axis, target, updates in ((axes[0], 1.0, 12), (axes[1], 100.0, 450)):
    for error, color in ((plain, style.SOFT), (clipped, style.COLORS["value_clip"])):
        path = climb(target, error, updates)
        axis.plot(path, color=color)
        there = next(i for i, share in enumerate(path) if share > 0.9)
        print(f"R = {target:g}, {error.__name__}: 90% after {there} updates")
    axis.set(title=f"R = {target:g}", xlabel="update")
axes[0].set_ylabel("share of R reached")
axes[1].text(120, 0.9, "plain", color=style.SOFT, weight="bold")
axes[1].text(260, 0.5, "clipped", color=style.COLORS["value_clip"], weight="bold")
plt.show()

# %% [markdown]
# With $R = 1$ the clip costs a few updates. With $R = 100$ it takes hundreds, and a budget of 100,000 steps in batches of
# 1,024 has 98. All that time the baseline is wrong.
#
# Note where it stops: not *at* $\varepsilon$ but at the first step beyond it. Like the policy's clip, this one is no wall.
# It only stops pushing, and an optimizer that takes longer steps gets farther before it is stopped.
#
# There are two ways out. Choose $\varepsilon$ for each task; or bring the returns of each task to the same size, which is
# what `return_norm` does. In the ladder it comes before `value_clip`, and the loop clips in the net's own units: 0.2 standard
# deviations of the return.
#
# ## What changes in the loop

# %%
diff(named("bootstrap"), named("value_clip"))

# %% [markdown]
# ## A small run
#
# The world `OffsetReward` (you met it with the baseline) pays 10 points at every step plus 1 for the right action, for ten
# steps, so its returns go up to 110. There is no `return_norm` in these runs. Either arm has the learning rate that suited
# it best on other seeds; a third run clips at the rate that suits the plain one.

# %%
(trial,) = (trial for trial in TRIALS if trial.trick == "value_clip" and "Offset" in trial.env)
offset = replace(trial.config, seeds=5, steps=25_000)
configs = {
    "plain": at_best_rate(offset, trial.without),
    "value_clip": at_best_rate(offset, trial.having),
    "clipped, plain's rate": at_best_rate(offset, trial.without),
}
runs = {}
for name, config in configs.items():
    runs[name] = train(config, trial.without if name == "plain" else trial.having)
    print(f"{name}: learning rate {config.lr:g}, return at the end {runs[name].late().mean():.1f} of 110")

# %%
figure, axis = plt.subplots(figsize=(6.5, 2.6))
colors = {"plain": style.SOFT, "value_clip": style.COLORS["value_clip"], "clipped, plain's rate": style.INK}
for name, run in runs.items():
    loss = run.curve.groupby("update")[["step", "value_loss"]].mean()
    axis.plot(loss.step / 1000, (2 * loss.value_loss) ** 0.5, color=colors[name], label=name)
axis.set(xlabel="environment steps (thousands)", ylabel="√(2 · value loss)", ylim=(0, None))
label_lines(axis)
plt.show()

late = {name: run.curve.explained_variance[run.curve.step > 12_500].mean() for name, run in runs.items()}
print("explained variance in the second half:", ", ".join(f"{name} {x:.2f}" for name, x in late.items()))
assert late["plain"] > 0.15 + max(late["value_clip"], late["clipped, plain's rate"])

# %% [markdown]
# The clipped value net lags behind all through the training, and at the plain one's rate it is worse still. The search for a
# learning rate has found the loophole: steps so long that the first one goes far beyond the range. The lesson is a
# general one. **A trick and a learning rate can undo each other, so each arm of a comparison needs its own rate.**
#
# And the score? A guess earns 105 points and the best is 110. It notices, but much less than the value net does. The value net is a baseline: when it is wrong by much the same amount for both
# actions, the gradient gets noisier, but points the same way.
#
# ## What the stored runs say

# %%
evidence("value_clip")

# %%
evidence("value_clip").plot()
plt.show()

print(evidence("value_clip").summary())

# %% [markdown]
# In `CartPoleReward100` every step pays 100, so values go up to 100/(1 − 0.99) = 10,000, and a net that may move by 0.2
# should be lost there. Look at whether it is, compared to one that may move as it likes:

# %%
(large,) = (trial for trial in TRIALS if trial.trick == "value_clip" and "100" in trial.env)
for name, tricks in (("plain", large.without), ("value_clip", large.having)):
    run = train(at_best_rate(replace(large.config, seeds=5, steps=7_000), tricks), tricks)
    known = run.curve.explained_variance[run.curve.step > 5_000].mean()
    print(f"{name}: explained variance {known:.2f}")
    assert abs(known) < 0.1

# %% [markdown]
# *Both* are lost. Without `return_norm`, steps of the size of the learning rate do not get a net to thousands in this time,
# clip or no clip, so there is nothing that the clip could spoil. A world that should have shown harm does not, for a
# reason that only the diagnostic tells.
#
# **What it does not say:** that clipping values is harmless, or good, everywhere. In two of the three comparisons of each
# task (as the next rung, and taken out of everything) returns are normalized, which is the kindest setting for it.
#
# ## When it does not help
#
# Andrychowicz et al. (2020, arXiv:2006.05990) tried it on continuous control and found that it hurts at every threshold.
# Where the table above is kinder to it, the tasks and the scale of the returns are others. Engstrom et al. (2020,
# arXiv:2005.12729) count it among the details in which the code of PPO differs from the paper. CleanRL's `ppo.py` keeps it.
#
# Where the idea goes wrong, compared to the policy's clip:
#
# - The policy must stay near the old one because the *data* come from the old one: the ratio corrects for what has changed,
#   and gets unreliable. A value net has no such reason. Its targets are regression targets; a larger step toward
#   them makes nothing invalid.
# - What it does protect from, a batch that is not representative, is the job of the learning rate and of larger batches.
#
# ## Exercises
#
# **Exercise 1: write it.** The clipped error of every row.


# %%
def my_error(value, old, target, clip_range):  # value, old, target [B] -> [B]
    ...


check_error(my_error)

# %% [markdown]
# **Exercise 2: spot the bug.** Faulty clipping that looks all the more careful:

# %%
source(cautious_error)

# %%
config = at_best_rate(offset, trial.having)
with planted(clipped_error=cautious_error):
    faulty, slower = (train(replace(config, lr=lr), trial.having) for lr in (config.lr, 0.01))

figure, axis = plt.subplots(figsize=(6.5, 2.6))
for name, run, color in (
    ("value_clip", runs["value_clip"], style.COLORS["value_clip"]),
    ("bug", faulty, style.INK),
    ("bug, at rate 0.01", slower, style.SOFT),
):
    curve = run.curve.groupby("update")[["step", "explained_variance"]].mean()
    axis.plot(curve.step / 1000, curve.explained_variance, color=color, label=name)
axis.set(xlabel="environment steps (thousands)", ylabel="explained variance", ylim=(-0.2, 1))
label_lines(axis)
plt.show()
assert faulty.curve.explained_variance[faulty.curve.step > 20_000].mean() < 0.3

# %% [markdown]
# What is wrong? Draw the loss against $V$ for $R = 1$, as in the picture above: where has it no gradient now, and who gets
# stuck there? And at the rate 0.01 the same bug goes unnoticed: why does it need long steps?
#
# **Exercise 3: think.** (a) With `return_norm`, the returns have a standard deviation of 50 points. How many points may $V$ move
# at $\varepsilon = 0.2$? (b) Somebody stores $V_{old}$ in points (about 5,000) but lets the net predict normalized values (about
# 0). What does the clipped error do to the gradient?
#
# Solutions: [`solutions/15_value_clip.py`](solutions/15_value_clip.py). Next: [annealing](16_annealing.ipynb), which makes
# steps smaller, too, but all of them, and according to plan.

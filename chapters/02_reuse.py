# %% [markdown]
# # Reuse: more than one step from a batch
#
# *You played for hours to collect this batch. Must you throw it away after one step?*
#
# So far the loop plays a thousand steps, takes a single gradient step, and forgets what it saw. Gradient steps are
# cheap and play is not, so the obvious thing is to take several steps from each batch. This chapter shows what goes
# wrong if you just do that, derives the weight that puts it right, and finds the price of that weight.

# %%
import matplotlib.pyplot as plt
import numpy as np
import torch

from ablations import flags, style, table
from book import at_best_rate, begin, curves, draw_ratios, evidence, label_lines, planted, ratios_by_epoch, swept
from exercises.reuse import check_estimate, ratio_in_place
from tricks import Config, diff, source, train
from tricks.ladder import named
from tricks.reuse import drift, importance_ratio, minibatches

begin()

# %% [markdown]
# ## The same loss twice is another loss
#
# REINFORCE descends the loss $-\frac{1}{n}\sum_i r(a_i) \log \pi_\theta(a_i)$. Nothing stops you from descending it a second
# time on the same pulls, and a hundredth. Let us do it on the three machines that pay 1, 2 and 4. To see the effect and not
# the luck, take an endless batch: the old policy, which pulled all three equally often, drew machine $a$ with its exact
# share $\pi_\text{old}(a) = ⅓$.

# %%
PAYS = torch.tensor([1.0, 2.0, 4.0])


def epochs_on_one_batch(objective, old, steps=100, rate=0.5):
    """What the policy would earn, after each gradient step on the same endless batch; and its probabilities."""
    theta, earned = old.log().requires_grad_(), []
    for _ in range(steps):
        probs = theta.softmax(0)
        earned.append((probs @ PAYS).item())
        (grad,) = torch.autograd.grad((old * objective(probs)).sum(), theta)  # old: how often it is in the batch
        theta = (theta + rate * grad).detach().requires_grad_()
    return earned, theta.detach().softmax(0)


uniform = torch.full((3,), 1 / 3)
naive, naive_policy = epochs_on_one_batch(lambda probs: PAYS * probs.log(), uniform)
figure, axis = plt.subplots(figsize=(6.5, 2.6))
axis.plot(naive, color=style.INK, label="the same loss again")
axis.axhline(4, color=style.SOFT, lw=1)
axis.text(0, 3.9, "the best that there is", color=style.SOFT, va="top")
axis.set(xlabel="steps on the same batch", ylabel="expected payout", ylim=(2, 4.2))
label_lines(axis)
plt.show()
print("where it ends:", naive_policy.numpy().round(3), "expected payout", round(naive[-1], 3))
torch.testing.assert_close(naive_policy, PAYS / 7, atol=1e-3, rtol=0)

# %% [markdown]
# It stops at 1/7, 2/7, 4/7, and would stop there with any number of steps. This is no accident. The gradient is
# $\sum_a \pi_\text{old}(a)\, r(a)\, \nabla \log \pi(a)$, whose component $k$ is
# $\pi_\text{old}(k)\, r(k) - \pi(k) \sum_a \pi_\text{old}(a)\, r(a)$, by the formula for a softmax's score. It vanishes when
# $\pi(a)$ is proportional to $\pi_\text{old}(a)\, r(a)$: the loss wants the policy to be a *copy of the batch*, with each pull counted as often as
# it paid. A policy that already prefers the third machine would pull it more often, so its pulls should count for
# more by now; but the batch keeps saying "one in three". **Only the first step is the gradient of what we want. From the
# second on, the actions in the batch are those of somebody else.**
#
# ## The weight that puts it right
#
# What would a new policy $\pi$ earn? We have pulls of $\pi_\text{old}$ only. Multiply and divide by its probability:
#
# $$J(\theta) = \sum_a \pi_\theta(a)\, r(a)
#   = \sum_a \pi_\text{old}(a)\, \frac{\pi_\theta(a)}{\pi_\text{old}(a)}\, r(a)
#   = \mathbb{E}_\text{old}\big[\rho(a)\, r(a)\big],
#   \qquad \rho(a) = \frac{\pi_\theta(a)}{\pi_\text{old}(a)} .$$
#
# It is the trick of chapter 0 once more: what has a probability in front is an expectation, and can be sampled. The factor
# $\rho$ is the **importance ratio**. If the new policy pulls $a$ three times as often as the old one did, each old pull
# of $a$ stands for three. A baseline may be subtracted as before, so with the advantage $A$ in place of $r$ the
# objective is $\mathbb{E}_\text{old}[\rho A]$.
#
# Its gradient uses $\nabla \pi = \pi \nabla \log \pi$, so $\nabla \rho = \rho\, \nabla \log \pi$:
#
# $$\nabla\, \mathbb{E}_\text{old}[\rho A] = \mathbb{E}_\text{old}\big[\rho\, A\, \nabla \log \pi_\theta(a)\big].$$
#
# Before the first step $\pi_\theta$ *is* $\pi_\text{old}$, hence $\rho = 1$ for all actions, and this is the gradient of
# REINFORCE, to the letter. Afterward $\rho$ keeps the books.

# %%
weighted, weighted_policy = epochs_on_one_batch(lambda probs: PAYS * probs / uniform, uniform)
figure, axis = plt.subplots(figsize=(6.5, 2.6))
axis.plot(naive, color=style.INK, label="the same loss again")
axis.plot(weighted, color=style.COLORS["reuse"], label="with the ratio")
axis.set(xlabel="steps on the same batch", ylabel="expected payout", ylim=(2, 4.2))
label_lines(axis)
plt.show()
print(
    f"after one step: {naive[1]:.4f} and {weighted[1]:.4f}; after {len(naive)}: {naive[-1]:.2f} and {weighted[-1]:.2f}"
)
assert abs(naive[1] - weighted[1]) < 1e-5 and weighted[-1] > 3.9

# %% [markdown]
# The first step is the same for both. Then one goes to 3 and the other to 4.
#
# On a task with states one thing more is old: the *states* in the batch come as often as they did under $\pi_\text{old}$. To
# correct that, too, one would need the product of all ratios of the episode so far. The library, like everybody who does
# this, weighs each step with its own ratio and leaves the states as they are. So the objective is right for policies near
# $\pi_\text{old}$ and drifts off with the distance (Kakade & Langford 2002 bound how far).
#
# ## In the library
#
# Ratios are computed from logarithms, since the probability of an action with many parts may be too small for a
# float.
# Each **epoch** is one pass over the batch, newly shuffled into **minibatches**; 4 epochs of 4 minibatches are 16 steps,
# where there was one. (You may skip `minibatches` at first: it shuffles each agent's rows and deals them out.)

# %%
source(importance_ratio, minibatches, drift)

# %% [markdown]
# `drift` is the instrument panel. For the distance of two policies one uses the **Kullback-Leibler divergence**, the mean
# of $-\log \rho$ under the old policy: 0 if both are equal, and positive otherwise. As $\mathbb{E}_\text{old}[\rho] =
# \sum_a \pi_\theta(a) = 1$, one may add $\rho - 1$ without changing the mean; then each single term is at least 0, which
# makes the estimate less noisy.
#
# By hand: the old policy plays two actions equally often, the new one with 0.8 and 0.2. The ratios are $0.8/0.5 = 1.6$
# and $0.2/0.5 = 0.4$. If the actions pay 1 and 3, the batch says $\frac{1}{2}(1.6 \cdot 1 + 0.4 \cdot 3) = 1.4$ for the new
# policy, and that is what it earns: $0.8 \cdot 1 + 0.2 \cdot 3 = 1.4$. The divergence is
# $\frac{1}{2}(0.6 - \ln 1.6) + \frac{1}{2}(-0.6 - \ln 0.4) = -\frac{1}{2} \ln 0.64 \approx 0.223$.

# %%
old, new = torch.tensor([[0.5, 0.5]]), torch.tensor([[0.8, 0.2]])
ratio = importance_ratio(new.log(), old.log())
found = drift(ratio, torch.ones(1, 2, dtype=torch.bool))
print(
    "ratios", ratio.numpy(), " approx_kl", round(found["approx_kl"].item(), 3), " max_ratio", found["max_ratio"].item()
)
torch.testing.assert_close((ratio * torch.tensor([1.0, 3.0])).mean(), torch.tensor(1.4))
torch.testing.assert_close(found["approx_kl"], torch.tensor([-0.5 * np.log(0.64)], dtype=torch.float32))

# and the law: where the ratio is 1, its gradient is that of log π
logits = torch.randn(5, 3, requires_grad=True)
log_prob, advantage = logits.log_softmax(1)[:, 0], torch.arange(5.0)
reused = torch.autograd.grad(
    (importance_ratio(log_prob, log_prob.detach()) * advantage).sum(), logits, retain_graph=True
)
plain = torch.autograd.grad((log_prob * advantage).sum(), logits)
torch.testing.assert_close(reused, plain)

# %% [markdown]
# ## The price
#
# The ratio keeps the mean right. What does it do to the spread? Its mean is 1, and its mean square is a sum over actions:
#
# $$\mathbb{E}_\text{old}[\rho^2] = \sum_a \pi_\text{old}(a)\, \frac{\pi(a)^2}{\pi_\text{old}(a)^2}
#   = \sum_a \frac{\pi(a)^2}{\pi_\text{old}(a)} .$$
#
# This is 1 if the policies are equal and grows with every step away, worst where the new policy likes what the old
# one rarely did. A common rule of thumb reads it as a loss of data: $n$ weighted pulls are worth about
# $n / \mathbb{E}[\rho^2]$ fresh ones. Below, the old policy plays one of two actions with probability $p$, and
# the new one plays it more and more often.

# %%
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
# **Old data wears out, and it wears out fastest when the policy changes most.** A single pull with a ratio of 18 is one
# anecdote that speaks for eighteen.
#
# ## Ratios in a real run
#
# Now CartPole. We let the library train, listen in on the ratios of one agent's batch, and draw how
# they are distributed in each of ten epochs. Both axes of comparison matter here: more epochs, and a larger learning rate.

# %% tags=["thumbnail"]
figure, axes = plt.subplots(1, 2, figsize=(6.8, 3), sharey=True)
for axis, lr in zip(axes, (0.001, 0.003), strict=True):
    epochs = ratios_by_epoch(Config(seeds=1, steps=4000, lr=lr, epochs=10), named("reuse"), update=2)
    draw_ratios(axis, epochs, style.COLORS["reuse"])
    axis.set_title(f"learning rate {lr}")
    worth = 1000 * epochs[-1].mean() ** 2 / np.square(epochs[-1]).mean()
    print(f"rate {lr}: spread of ρ in epoch 10 {epochs[-1].std():.2f}, so 1000 steps are worth about {worth:.0f}")
plt.show()

# %% [markdown]
# In the first epoch all ratios are near 1. From then on they spread, down for actions that turned out badly, up for those
# that turned out well. After a few epochs much of this is noise: the same thousand steps have been asked too often. The
# printed worth is that of the rule of thumb above. Nothing in this objective says stop. (All ratios beyond ¼ and 4 are
# heaped at the edges; heights are square roots of shares, so that rare ratios show.)
#
# <!-- mechanism: ratios -->
#
# ## What changes in the loop

# %%
diff(named("baseline"), named("reuse"))

# %% [markdown]
# `old_log_prob` is computed once, before the first step, and carries no gradient: it is a fact about the past.
#
# ## A small run
#
# Five agents on CartPole: without reuse at the learning rate that suits that best, with reuse at the same rate, and with
# reuse at the rate that suits *it* best. (The rates were chosen on other seeds.)

# %%
config = Config(seeds=5, steps=40_000)
alone = at_best_rate(config, named("baseline"))
chosen = at_best_rate(config, named("reuse"))
runs = {
    f"reuse, rate {chosen.lr:g}": train(chosen, named("reuse")),
    f"reuse, rate {alone.lr:g}": train(alone, named("reuse")),
    f"baseline, rate {alone.lr:g}": train(alone, named("baseline")),
}

curves(runs)
plt.show()

late = {name: run.late().mean() for name, run in runs.items()}
print("last tenth:", ", ".join(f"{name}: {points:.0f}" for name, points in late.items()))
slow, fast = list(late.values())[:2]
assert chosen.lr < alone.lr and fast < 0.4 * slow

# %% [markdown]
# Sixteen steps from a batch instead of one, and a much smaller step: at the large one, the agents collapse. That is the
# pattern over the whole grid of rates. Here is the area under the curve (the mean return over training) of the stored
# tuning runs:

# %%
scores = table().query("env == 'CartPole-v1' and steps == 100_000 and numbers == ''")
grid = {name: scores[scores.tricks == flags(named(name))].set_index("lr").area for name in ("baseline", "reuse")}

figure, axis = plt.subplots(figsize=(6.5, 2.8))
for name, areas in grid.items():
    axis.plot(areas.index, areas, "o-", color=style.COLORS[name], label=name)
axis.set(xscale="log", xlabel="learning rate", ylabel="area under the curve\n(points an episode)", ylim=(0, None))
label_lines(axis)
plt.show()
for name, areas in grid.items():
    print(f"{name:9} best {areas.max():.0f} at rate {areas.idxmax():g}; at the largest rate {areas.iloc[-1]:.0f}")
assert grid["reuse"].iloc[-1] < 0.5 * grid["reuse"].max()

# %% [markdown]
# With reuse the best rate is smaller, and beyond it comes a cliff. A comparison at one rate for both would say that reuse is
# a triumph, or a catastrophe, as you please. **Whoever compares must tune both.** And even a
# choice on twenty seeds is noisy, so part of a difference can be luck in choosing the rate; the intervals below include it.
#
# ## What the stored runs say

# %%
evidence("reuse")

# %%
evidence("reuse").plot()
plt.show()

rows = evidence("reuse").table
for env, part in rows.groupby("env", sort=False):
    print(f"{env}: " + "; ".join(f"{row.question.split(',')[0]} {row.difference:+.2f}" for row in part.itertuples()))

# %% [markdown]
# Look at which comparison a number comes from. *As the next rung* is reuse as you have it now, with a ratio and
# nothing that limits it. *Taken out of everything* is the other extreme: there reuse has the clip of the next chapter around
# it, and taking it out takes the clip along, so that the whole full agent is left with one step a batch.
#
# `Parity3` has a budget of a dozen batches, and a task without an easy first step: the action must be the parity of three
# bits. With a step per batch the agents get there, too, but only at the end of it; the score is the area under the curve.
#
# These runs have 4 epochs of 4 minibatches. How much do those numbers matter? Here is PPO, clip and all, with the learning
# rate tuned for each value:

# %%
swept("epochs", "minibatches")
plt.show()

# %% [markdown]
# One epoch is too few even at the best rate, and between 4 and 10 there is little to choose. (Dots: all combinations. Line:
# the best learning rate and clip range for each value, with its 95% interval.)
#
# **What it does not say:** what a step of play costs. Where play is cheap and many copies run at once, fresh data may be
# the better buy.
#
# ## When it does not help
#
# - **At large learning rates, or with many epochs,** as you have seen: the ratio leaves the batch behind. At the rate that suits the baseline it is far
#   worse than the rung before, as the small run shows. It pays only at a rate of its own.
# - **When old data is misleading anyway.** The advantages in the batch are those of the old policy, too. They are not
#   recomputed here (Andrychowicz et al. 2020, arXiv:2006.05990, find that recomputing them in each epoch is best).
#
# ## Exercises
#
# **Exercise 1: write it.** Estimate what the new policy would earn, from pulls of the old one. Run the cell to see what is
# wrong with your version.


# %%
def my_estimate(log_prob, old_log_prob, reward):  # of the actions that the old policy took: [B], [B], [B] -> a number
    ...


check_estimate(my_estimate)

# %% [markdown]
# **Exercise 2: think.** An exact correction for an episode would multiply the ratios of all its steps. Let an episode
# have 200 steps. What weight does it get if each ratio is 1.05? If each is 0.95? What does the library do instead, and
# what does it give up?
#
# **Exercise 3: spot the bug.** This was meant to spare the loop from carrying a column of old log-probabilities around.

# %%
source(ratio_in_place)

# %%
short = Config(seeds=5, steps=12_000, lr=chosen.lr)
with planted(importance_ratio=ratio_in_place):
    faulty = train(short, named("reuse")).curve.query("update < 8").groupby("update").mean()
right = runs[f"reuse, rate {chosen.lr:g}"].curve.query("update < 8").groupby("update").mean()

figure, axes = plt.subplots(1, 3, figsize=(9, 2.5))
for axis, name in zip(axes, ("return", "max_ratio", "approx_kl"), strict=True):
    axis.plot(right.step / 1000, right[name], color=style.COLORS["reuse"], label="right")
    axis.plot(faulty.step / 1000, faulty[name], color=style.INK, label="bug")
    axis.set(xlabel="steps (thousands)", title=name)
    label_lines(axis)
plt.show()
print(f"largest ratio: right {right.max_ratio.max():.2f}, with the bug {faulty.max_ratio.max():.2f}")
assert faulty.max_ratio.max() < 1.001 and right.max_ratio.max() > 1.2

# %% [markdown]
# The returns are no proof of anything: after a few batches this agent may look as good as the other. What do the two other
# panels say? Which loss does it descend in truth?
#
# Solutions: [`solutions/02_reuse.py`](solutions/02_reuse.py). Next: [the clip](03_clip.ipynb), which says stop.

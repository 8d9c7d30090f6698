# %% [markdown]
# # Annealing: steps that get smaller
#
# *Large steps learn fast and never come to rest. Small ones come to rest and never get there. Must one choose?*
#
# Every chapter so far had one learning rate from the first update to the last. This one lets it decay, in a line, to
# zero at the end of the budget; and the clip range likewise. Two flags, one function of one line. The interesting part
# is what a constant rate does when there is nothing left to learn.

# %%
from dataclasses import replace

import matplotlib.pyplot as plt
import torch

from ablations import TRIALS, style
from book import at_best_rate, begin, evidence, label_lines, planted
from exercises.annealing import check_rate, decay_by_minibatches
from tricks import diff, source, train
from tricks.annealing import linear_decay
from tricks.ladder import named

begin()

# %% [markdown]
# ## Bouncing around the optimum
#
# The simplest thing that can be learned: one number $\theta$, with the loss $\tfrac12 h\, \theta^2$. The best $\theta$ is 0,
# and the gradient is $h\theta$. But you only see it with noise, as in all of reinforcement learning:
#
# $$g = h\,\theta + \sigma\,\xi, \qquad \xi \text{ of mean 0 and variance 1}, \qquad \theta \leftarrow \theta - \alpha\, g.$$
#
# Start at $\theta = 10$ with $h = \sigma = 1$, once with a large step size $\alpha$ and once with a small one.


# %%
def descend(rates, walkers=1, seed=1):
    """θ after each step, for some walkers that start at 10: [steps + 1, walkers]."""
    noise = torch.Generator().manual_seed(seed)
    theta = torch.full((walkers,), 10.0)
    path = [theta]
    for rate in rates:
        gradient = theta + torch.randn(walkers, generator=noise)
        theta = theta - rate * gradient
        path.append(theta)
    return torch.stack(path)


N = 200
LARGE, SMALL = torch.full((N,), 0.5), torch.full((N,), 0.02)

figure, axis = plt.subplots(figsize=(6.5, 2.6))
axis.plot(descend(LARGE)[:, 0], color=style.SOFT, lw=1.2, label="α = 0.5")
axis.plot(descend(SMALL)[:, 0], color=style.INK, label="α = 0.02")
axis.axhline(0, color=style.FAINT, zorder=0)
axis.set(xlabel="step", ylabel="θ", xlim=(0, N))
label_lines(axis)
plt.show()

# %% [markdown]
# The large steps arrive within ten steps, and then each new piece of noise kicks $\theta$ out again. The small ones settle
# down, but need the whole budget to arrive.
#
# ## How wide is the bouncing?
#
# Put the gradient into the update: $\theta' = (1 - \alpha h)\,\theta - \alpha\sigma\,\xi$. Now ask for the variance $v$ of $\theta$ once
# the start is forgotten. It does not change from step to step any more. The new noise is independent of $\theta$, so
# variances add, each times its factor squared:
#
# $$v = (1 - \alpha h)^2\, v + \alpha^2 \sigma^2
#   \quad\Longrightarrow\quad
#   v = \frac{\alpha^2\sigma^2}{1 - (1 - \alpha h)^2} = \frac{\alpha^2\sigma^2}{2\alpha h - \alpha^2 h^2}
#     = \frac{\alpha\,\sigma^2}{h\,(2 - \alpha h)}.$$
#
# The second step multiplies out the square, the third cancels an $\alpha$. For small $\alpha$ this is $\alpha\sigma^2 / 2h$: **the
# variance is proportional to the step size.** More steps do not help: $v$ does not depend on their number. Only a smaller $\alpha$
# does (or less noise). And the way from the start shrinks by $(1 - \alpha h)$ a step, so a small $\alpha$ takes long.

# %%
for rate in (0.5, 0.1, 0.02):
    formula = rate / (2 - rate)
    rested = descend(torch.full((600,), rate), walkers=4000)[-1].var().item()
    print(f"α = {rate:4}: variance by the formula {formula:.4f}, of 4000 walkers {rested:.4f}")
    assert abs(rested / formula - 1) < 0.15

# %% [markdown]
# ## The idea
#
# Begin large, end small. The plainest way is a line: with $N$ updates, numbered from $i = 0$,
#
# $$\alpha_i = \alpha_0 \left(1 - \frac{i}{N}\right).$$
#
# Early on, this is the large step size; and then the bouncing narrows as $\alpha$ does. Below is the mean squared distance
# of 4,000 walkers from the optimum; dotted, the level at which each constant step size comes to rest.

# %% tags=["thumbnail"]
FALLING = linear_decay(torch.full((N,), 0.5), torch.arange(N) / N)
plans = (
    ("constant 0.5", LARGE, style.SOFT),
    ("constant 0.02", SMALL, style.INK),
    ("0.5, falling to 0", FALLING, style.COLORS["lr_anneal"]),
)
figure, axis = plt.subplots(figsize=(6.5, 3))
last = {}
for name, rates, color in plans:
    error = descend(rates, walkers=4000).square().mean(1)
    axis.semilogy(error, color=color, label=name)
    last[name] = error[-1].item()
for rate, color in ((0.5, style.SOFT), (0.02, style.INK)):
    axis.axhline(rate / (2 - rate), color=color, lw=1, ls=":")
axis.set(xlabel="step", ylabel="mean squared error", xlim=(0, N))
label_lines(axis)
plt.show()

print("at the end:", ", ".join(f"{name}: {error:.3f}" for name, error in last.items()))
assert last["0.5, falling to 0"] < 0.8 * min(last["constant 0.5"], last["constant 0.02"])

# %% [markdown]
# In the budget of 200 steps, the falling one is as fast as the large one and ends below both. (Robbins and Monro showed in
# 1951 how steps may shrink so that the noise averages out and the optimum is still reached.)
#
# Note when the gain comes: late. Halfway, the walkers are still as far from the optimum as a constant step size of 0.25
# would leave them. A score that averages over all of training, such as the area under the curve, sees little of what
# happens at the end; the last tenth of training sees most of it.
#
# ## In the library

# %%
source(linear_decay)

# %%
diff(named("value_clip"), named("clip_anneal"))

# %% [markdown]
# `progress` is the share of the budget that was used *before* the update, $i/N$. By hand: 0.4 in four updates gives 0.4, 0.3,
# 0.2, 0.1. The last update still has a fourth of the rate, since an update with rate 0 would waste its batch. In general
# the last rate is $\alpha_0/N$, and never 0.

# %%
rates = linear_decay(torch.full((4,), 0.4), torch.arange(4) / 4)
print(rates.numpy())
torch.testing.assert_close(rates, torch.tensor([0.4, 0.3, 0.2, 0.1]))

# %% [markdown]
# ## The same for the clip range
#
# The second flag lets $\varepsilon$ of the clipped surrogate fall: from 0.2 to 0. Late in training a row stops pushing as soon
# as its ratio has moved by a hundredth. It is tempting to call this a trust region that shrinks. But remember from `clip`
# that it is no wall: on the first minibatch of each update every ratio is exactly 1, inside any range, so the
# first gradient step is always taken in full, and how far it goes is the learning rate's decision. A small $\varepsilon$ silences the
# steps *after* it.
#
# The value net's range (the chapter on value clipping) stays as it is, unless `value_clip_anneals` says otherwise. OpenAI's
# `ppo2` has one range for both, so the numbers of the preset `atari` switch it on: there the value range falls with $\varepsilon$.
#
# ## The budget becomes part of the method
#
# A constant rate does not know when training will end. A falling one must: $N$ is in the formula. So stopping
# a run at half its budget does not give a run of half the budget.

# %%
half = linear_decay(torch.full((N // 2,), 0.5), torch.arange(N // 2) / (N // 2))
stopped = descend(FALLING[: N // 2], walkers=4000)[-1].square().mean()
planned = descend(half, walkers=4000)[-1].square().mean()
print(f"planned for 200 steps and stopped at 100: {stopped:.3f}; planned for 100 steps: {planned:.3f}")
assert stopped > 2 * planned

# %% [markdown]
# Three consequences. A learning curve with annealing must not be read from left to right as "what I would have got with
# fewer steps". A comparison of budgets needs a run for each. And a run that is interrupted must be resumed with the same $i$
# and the same $N$, or the rate starts from the top once more.
#
# ## A small run
#
# In `Tightrope` one wrong step ends the episode, and rewards are noisy: the last hundredth of certainty decides. With 30,000
# steps the agent is still learning; look at how far the policy moves per update (`approx_kl`, as in the chapter on `reuse`).

# %%
(trial,) = (trial for trial in TRIALS if trial.trick == "lr_anneal")
(clip_trial,) = (trial for trial in TRIALS if trial.trick == "clip_anneal" and not trial.dose)
short = replace(trial.config, seeds=5, steps=30_000)
arms = {"constant": trial.without, "lr_anneal": trial.having, "clip_anneal": clip_trial.having}
config = at_best_rate(short, trial.without)  # one rate for all, so that the decay is the only difference
runs = {name: train(config, tricks) for name, tricks in arms.items()}


def by_update(run):
    """The mean over the seeds, for the updates that all of them have."""
    updates = run.curve.groupby("update")
    return updates.mean()[updates.size() == 5]


figure, axis = plt.subplots(figsize=(6.5, 2.8))
moved = {}
for name, run in runs.items():
    curve = by_update(run)
    axis.semilogy(curve.step / 1000, curve.approx_kl, color=style.COLORS.get(name, style.SOFT), label=name)
    moved[name] = run.curve.approx_kl[run.curve.step > 24_000].mean()
axis.set(xlabel="environment steps (thousands)", ylabel="approximate KL\nof an update (nats)")
label_lines(axis)
plt.show()

for name, run in runs.items():
    print(f"{name}: moves {moved[name]:.5f} nats an update at the end, and earns {run.late().mean():.0f} of 200")
assert moved["lr_anneal"] < min(moved["constant"], moved["clip_anneal"]) / 3

# %% [markdown]
# With the falling rate the policy comes to rest, as planned. With the falling clip range alone it does not: you see the first
# step of each update and the optimizer's momentum, which no clip range stops. And whether resting pays is another question. With so few steps, the
# policy may come to rest before it has learned all it could. The stored runs have more of them.
#
# ## What the stored runs say

# %%
evidence("lr_anneal")

# %%
evidence("lr_anneal").plot()
plt.show()

# %%
evidence("clip_anneal")

# %%
evidence("clip_anneal").plot()
plt.show()

for trick in ("lr_anneal", "clip_anneal"):
    verdicts = evidence(trick).table.verdict.value_counts()
    print(f"{trick} on whole tasks:", ", ".join(f"{verdict} {count}×" for verdict, count in verdicts.items()))
    for row in evidence(trick).worlds.itertuples():
        print(f"{trick} in {row.place}, last tenth of training: {row.verdict} ({row.difference:+.1f} of 200)")

# %% [markdown]
# The tables for whole tasks measure the area under the curve, which rewards learning early and gives the last tenth a tenth
# of the weight. `Tightrope` is judged by its last tenth, because that is where the derivation promises something. Compare the
# two kinds of row before you call the trick good or bad: they answer different questions. (`clip_anneal` is the last rung:
# its rows as the next rung and taken out of everything are one comparison.)
#
# **What it does not say:** what a longer budget would give, or another rate. With annealing one can afford to start higher,
# since the rate of the start need not do for the end. Each arm had its own rate, but from a grid of four.
#
# ## When it does not help
#
# - **When the budget ends before learning does.** Then the small steps at the end are steps that were missing.
# - **When nobody knows the end.** An agent that learns for as long as it lives, or a world that changes, needs a rate that stays.
# - **When there is little noise**, or the task forgives a policy that jitters.
# - **When the later steps are needed.** With `reuse` an update has sixteen gradient steps; a clip range near 0 silences most of
#   what fifteen of them have to say, whether or not the policy has still something to learn.
# - **When both fall together.** A small rate keeps the ratios near 1 anyway, and a falling $\varepsilon$ then has little to do.
#   Schulman et al. (2017, arXiv:1707.06347) let both fall on Atari; Engstrom et al. (2020, arXiv:2005.12729) study the falling
#   learning rate among the details that make PPO's code differ from its paper.
#
# ## Exercises
#
# **Exercise 1: write it.** The rate of update number `update` (the first is 0) out of `updates`.


# %%
def my_rate(start, update, updates): ...


check_rate(my_rate)

# %% [markdown]
# **Exercise 2: spot the bug.** Here the decay is counted in minibatches, of which there are more, "so that it is
# smoother".

# %%
source(decay_by_minibatches)

# %%
with planted(linear_decay=decay_by_minibatches):
    faulty = train(config, trial.having)

figure, axis = plt.subplots(figsize=(6.5, 2.6))
for name, run, color in (("lr_anneal", runs["lr_anneal"], style.COLORS["lr_anneal"]), ("bug", faulty, style.INK)):
    curve = by_update(run)
    axis.plot(curve.step / 1000, curve["return"], color=color, label=name)
axis.set(ylabel="episode return", xlabel="environment steps (thousands)")
label_lines(axis)
plt.show()

rest = faulty.curve[faulty.curve.step > 12_000]
assert rest.approx_kl.abs().max() < 1e-9  # rounding alone
faulty.curve.drop(columns=["seed", "update"]).tail(3).round(3)

# %% [markdown]
# The curve goes flat, as curves do when all is learned. Which number in the table, which shows its last updates, tells you
# that this one is not *converged* but *switched off*? After what share of the budget does it happen, and why?
#
# **Exercise 3: think.** You have trained with annealing for 100,000 steps. (a) May you report its score at 50,000 steps as that
# of a run of 50,000 steps? (b) At 50,000 steps somebody grants you 200,000 in all. Which rate comes next, and is the result then a run of
# 200,000 steps? (c) What must be saved so that an interrupted run can go on?
#
# Solutions: [`solutions/16_annealing.py`](solutions/16_annealing.py). Next: [a shared trunk](17_shared_trunk.ipynb), the
# first of the ways on from here.

# ---
# jupyter:
#   jupytext:
#     cell_metadata_filter: tags,-all
#     notebook_metadata_filter: kernelspec,jupytext,-jupytext.text_representation.jupytext_version
#     text_representation:
#       extension: .py
#       format_name: percent
#       format_version: '1.3'
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Annealing: steps that get smaller
#
# *Large steps learn fast and never come to rest. Small ones come to rest and never get there. Do you have to choose?*
#
# So far, every run had one learning rate. In this chapter it falls in a straight line, to zero at the end of the
# budget. The clip range can do the same.

# %% tags=["hide-input"]
from dataclasses import replace

import matplotlib.pyplot as plt
import torch

from ablations import style, unpaired
from chapters.book import begin, caption, curves, evidence, label_lines, planted
from chapters.exercises.annealing import check_rate, decay_in_steps
from tricks import PPO, Config, diff, source, train
from tricks.annealing import linear_decay
from tricks.clip import clipped_surrogate
from tricks.ladder import named, switched

begin()

# %% [markdown]
# ## Bouncing around the optimum
#
# Learn a single number $\theta$, with the loss $\tfrac12 h \theta^2$. You only see the gradient $h\theta$ with noise
# $\xi$, of mean 0 and variance 1:
#
# $$g = h\,\theta + \sigma\,\xi, \qquad \theta \leftarrow \theta - \alpha\, g.$$
#
# Start at $\theta = 10$ with $h = \sigma = 1$, and take large or small steps.


# %% tags=["hide-input"]
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

# %% tags=["hide-input"]
figure, axis = plt.subplots(figsize=(6.5, 2.6))
axis.plot(descend(LARGE)[:, 0], color=style.SOFT, lw=1.2, label="α = 0.5")
axis.plot(descend(SMALL)[:, 0], color=style.INK, label="α = 0.02")
axis.axhline(0, color=style.FAINT, zorder=0)
axis.set(xlabel="step", ylabel="θ", xlim=(0, N))
label_lines(axis)
plt.show()

# %% [markdown]
# How wide is the bouncing? Put the gradient into the update: $\theta' = (1 - \alpha h)\,\theta - \alpha\sigma\,\xi$. In
# the end the variance $v$ of $\theta$ no longer changes, and variances of independent terms add:
#
# $$v = (1 - \alpha h)^2\, v + \alpha^2 \sigma^2
#   \quad\Longrightarrow\quad
#   v = \frac{\alpha\,\sigma^2}{h\,(2 - \alpha h)}.$$
#
# For a small $\alpha$ this is $\alpha\sigma^2 / 2h$: **the variance is proportional to the step size.** But the initial
# distance shrinks only by a factor of $1 - \alpha h$ per step.

# %% tags=["open"]
for rate in (0.5, 0.1, 0.02):
    formula = rate / (2 - rate)
    rested = descend(torch.full((600,), rate), walkers=4000)[-1].var().item()
    assert abs(rested / formula - 1) < 0.15

# %% [markdown]
# ## Start large, end small
#
# Take a straight line. With $N$ updates, numbered from $i = 0$,
#
# $$\alpha_i = \alpha_0 \left(1 - \frac{i}{N}\right).$$
#
# **Predict.** 4,000 walkers have 200 steps: at 0.5, at 0.02, or from 0.5 down to 0. Which end closest to the optimum?


# %% tags=["thumbnail", "predict", "hide-input"]
def falling_from(start):
    return linear_decay(torch.full((N,), start), torch.arange(N) / N)


def expected(rates):
    """The mean squared error after the last step, exactly: its bias² and variance by the recursion above."""
    error = 100.0
    for rate in rates.tolist():
        error = (1 - rate) ** 2 * error + rate**2
    return error


FALLING, ANNEALED = falling_from(0.5), style.COLORS["lr_anneal"]
tried = [k / 1000 for k in range(5, 501)]
best_constant = min(tried, key=lambda rate: expected(torch.full((N,), rate)))
best_start = min(tried, key=lambda rate: expected(falling_from(rate)))
plans = (
    ("constant 0.5", LARGE, style.SOFT, "-"),
    ("constant 0.02", SMALL, style.INK, "-"),
    ("0.5, falling to 0", FALLING, ANNEALED, "-"),
    (f"constant {best_constant}", torch.full((N,), best_constant), style.INK, "--"),
    (f"{best_start:g}, falling to 0", falling_from(best_start), ANNEALED, "--"),
)
figure, axis = plt.subplots(figsize=(6.5, 3.4))
last = {}
for name, rates, color, line in plans:
    error = descend(rates, walkers=4000).square().mean(1)
    axis.semilogy(error, color=color, ls=line, label=name)
    last[name] = error[-1].item()
axis.set(xlabel="step", ylabel="mean squared error", xlim=(0, N))
label_lines(axis)
plt.show()

assert last["0.5, falling to 0"] < 0.8 * min(last["constant 0.5"], last["constant 0.02"])
tuned_constant, tuned_falling = expected(torch.full((N,), best_constant)), expected(falling_from(best_start))
assert best_constant == 0.028 and round(tuned_constant, 3) == 0.015 and round(expected(FALLING), 3) == 0.023
assert best_start == 0.062 and round(tuned_falling, 3) == 0.008

# %% [markdown]
# The solid falling line is as fast as the large step and ends below both constants. But those were badly chosen: the
# best one, 0.028, ends at 0.015, below that line's 0.023. From 0.062, a falling line ends at 0.008. **Tuned against
# tuned, falling halves the error.**

# %%
source(linear_decay)

# %% [markdown]
# <!-- mechanism: annealing -->

# %%
diff(named("value_clip"), named("clip_anneal"))

# %% [markdown]
# `progress` is the share of the budget used *before* the update. So 0.4 in four updates gives 0.4, 0.3, 0.2, 0.1.

# %%
rates = linear_decay(torch.full((4,), 0.4), torch.arange(4) / 4)
torch.testing.assert_close(rates, torch.tensor([0.4, 0.3, 0.2, 0.1]))

# %% [markdown]
# ## A clip range that falls
#
# `clip_anneal` lowers the $\varepsilon$ of the clipped surrogate the same way, from 0.2 to 0. But the
# [clip](03_clip.ipynb) is no wall. A small $\varepsilon$ silences only the steps *after* the first, and which ones
# depends on the advantages.
#
# Here a policy trains on three machines that pay 1, 2, and 4, with 16 Adam steps per batch.


# %%
def learned(advantage, clip_range, updates=60, steps=16):
    """The best machine's probability after training, at each clip range [S]."""
    theta = torch.zeros(len(clip_range), 3, requires_grad=True)
    optimizer = torch.optim.Adam([theta], lr=0.01)
    for _ in range(updates):
        old = theta.detach().softmax(1)
        for _ in range(steps):
            ratio = theta.softmax(1) / old  # [S, 3]
            objective = clipped_surrogate(ratio, advantage.expand_as(ratio), clip_range)
            optimizer.zero_grad()
            (-(old * objective).sum()).backward()  # old: a machine's share in the batch
            optimizer.step()
    return theta.detach().softmax(1)[:, 2]


PAYS, RANGES = torch.tensor([1.0, 2.0, 4.0]), torch.logspace(0, -3, 25)
payouts, centered = learned(PAYS, RANGES), learned(PAYS - PAYS.mean(), RANGES)

# %% tags=["hide-input"]
figure, axis = plt.subplots(figsize=(6.5, 2.6))
axis.plot(RANGES, centered, color=style.COLORS["clip_anneal"], label="payout minus mean")
axis.plot(RANGES, payouts, color=style.INK, label="payout")
axis.set(
    xscale="log", xlim=(1, 1e-3), xlabel="clip range ε", ylabel="probability of the\nbest machine", ylim=(0.3, 1.02)
)
label_lines(axis)
plt.show()
assert centered[-1] > 0.95 and payouts[0] > 0.95 and payouts[-1] < 0.6

# %% [markdown]
# If all advantages are positive, a narrow range undoes the first step. The best machine's ratio is past
# $1 + \varepsilon$ and silent. The others' have dropped, so the next steps raise them again. **Be careful with a
# falling clip range where all advantages have one sign.**
#
# ## The budget becomes part of the method
#
# A falling rate has to know when training ends: $N$ is in the formula. Here is the mean squared error after 100 steps.

# %% tags=["open"]
half = linear_decay(torch.full((N // 2,), 0.5), torch.arange(N // 2) / (N // 2))
stopped = descend(FALLING[: N // 2], walkers=4000)[-1].square().mean()
planned = descend(half, walkers=4000)[-1].square().mean()
print(f"stopped at 100 of 200: {stopped:.3f}; planned for 100: {planned:.3f}")
assert stopped > 2 * planned

# %% [markdown]
# So a learning curve with annealing doesn't say what you would have gotten with fewer steps.
#
# ## On a tightrope
#
# In `Tightrope`, one wrong step ends the episode, so the last percent of certainty decides. With 16 epochs and a clip
# range of 1, each update may move the policy a long way, as `approx_kl` shows.

# %%
plain = switched(["baseline", "reuse", "clip", "gae", "advantage_norm"])
arms = {
    "constant": plain,
    "lr_anneal": replace(plain, lr_anneal=True),
    "clip_anneal": replace(plain, clip_anneal=True),
}
world = Config("tricks/Tightrope-v0", seeds=5, steps=36_000, lanes=32, horizon=32)
world = replace(world, hidden=(32, 32))
config = replace(world, epochs=16, clip_range=1.0, lr=0.01)
runs = {name: train(config, tricks) for name, tricks in arms.items()}


# %% tags=["hide-input"]
def kl_by_step(run):
    """KL, averaged over all seeds in every twentieth of the budget."""
    twentieth = run.config.steps / 20
    which = run.curve.step.clip(upper=run.config.steps - 1) // twentieth  # the last batch may go over budget
    return run.curve.approx_kl.groupby((which + 0.5) * twentieth / 1000).mean()


figure, axes = plt.subplots(1, 2, figsize=(8.4, 2.8))
curves(runs, axes[0])
for name, run in runs.items():
    axes[1].plot(kl_by_step(run), color=style.COLORS.get(name, style.SOFT), lw=1.4, label=name)
axes[1].set(xlabel="environment steps (thousands)", ylabel="approx_kl (nats)", yscale="log", xlim=(0, 36))
label_lines(axes[1])
plt.show()

moved = {name: run.curve.approx_kl[run.curve.step > 0.8 * config.steps].mean() for name, run in runs.items()}
assert max(moved["lr_anneal"], moved["clip_anneal"]) < moved["constant"] / 2
late = {name: run.late().to_numpy() for name, run in runs.items()}
assert all(1.7 < late[name].mean() / late["constant"].mean() < 2.3 for name in ("lr_anneal", "clip_anneal"))
apart = unpaired(late["clip_anneal"], late["lr_anneal"])
assert apart.low < 0 < apart.high

# %% [markdown]
# With either flag, the policy moves less at the end, and on average the return ends about twice as high. Five agents
# can't tell the flags apart.
#
# ## Which question do you ask?
#
# In its own world each flag is judged late, by the last tenth of training. First `lr_anneal`, then `clip_anneal`:

# %% tags=["hide-input"]
found = evidence("lr_anneal")
found.strip()
plt.show()

own, same = found.worlds.itertuples()
assert (own.seen, same.seen, same.confirmed) == (0, 1, 1)
assert (own.lr_without, own.lr_with, same.rate) == (0.01, 0.03, 0.03)
helps = found.table[found.table.verdict == "helps"]
assert [*helps.env] == ["Pendulum-v1"] and helps.confirmed.item() == 1
assert helps.question.item() == "on top of cleanrl without value_clip, with all that was added"

# %% tags=["hide-input"]
evidence("clip_anneal").strip()
plt.show()

clips = evidence("clip_anneal")
assert [*clips.table.env[clips.table.verdict == "hurts"]] == ["Walker2d-v5", "HalfCheetah-v5"]
assert clips.worlds.verdict.tolist() == ["helps", "no detectable effect"]

# %% [markdown]
# In `Tightrope`, each flag helps late in training: `lr_anneal` at one large rate for both arms, `clip_anneal` with many
# epochs and a wide range. At each arm's own rate, nothing is detected. Elsewhere, added to the preset `ppo`,
# `lr_anneal` helps on Pendulum, and, seen once, `clip_anneal` hurts two [robots](a8_robots.ipynb) whose preset anneals
# the rate already.

# %% tags=["hide-input"]
evidence("lr_anneal")

# %% tags=["hide-input"]
evidence("clip_anneal")

# %% [markdown]
# Leave annealing out
#
# - **when the budget ends before learning does.** Then the small steps come too early.
# - **when training has no fixed end.**
# - **when there's little noise.**
# - **for the clip range, if the learning rate already falls.** A small rate keeps ratios close to 1 anyway. Still,
#   Schulman et al. (2017, arXiv:1707.06347) let both fall on Atari.

# %% [markdown]
# ## From here on: `ppo`
#
# The following chapters start from the preset `ppo`. [Chapter 25](25_the_whole_ladder.ipynb) says how its flags were
# chosen.

# %% tags=["hide-input"]
caption(f"The flags of `ppo`: {', '.join(PPO.on)}.")

# %% [markdown]
# ## At a glance
#
# | | |
# |---|---|
# | **problem** | at a constant rate, gradient noise keeps a finished policy moving |
# | **formula** | $\alpha_i = \alpha_0\,(1 - i/N)$ in update $i$ of $N$, and the same for $\varepsilon$ |
# | **in the loop** | `rate = linear_decay(rate, t.progress)` <br> `t.clip_range = linear_decay(t.clip_range, t.progress)` |
# | **defaults** | to 0, over the whole budget; `value_clip_anneals` adds the value net's range |
# | **watch** | `approx_kl`: with `lr_anneal`, it should fall toward the end |
# | **skip it when** | training has no fixed end, or ends too early |
# | **evidence** | `lr_anneal`: Helps on top of cleanrl without value_clip (with all that was added) in Pendulum. Practically nothing as the next rung in CartPole, Acrobot; on top of cleanrl without value_clip (with all that was added) in CartPole, Acrobot; in the full set in Acrobot. In 5 of 8 environments, these runs can't tell. It helps in 1 of 2 trials in worlds made for it. <br> `clip_anneal`: Hurts on robots (at one rate; once) in Walker2d, HalfCheetah. Practically nothing in the full set in Acrobot, Pendulum. In 4 of 8 environments, these runs can't tell. It helps in 1 of 2 trials in worlds made for it. |
# | **also called** | learning rate schedule, linear decay |

# %% [markdown]
# ## Exercises
#
# **Exercise 1: write it.** Let the rate fall to `end` instead of 0. Compute that of `update` out of `updates`; the
# first is number 0.


# %%
def my_rate(start, end, update, updates): ...


check_rate(my_rate)

# %% [markdown]
# <details><summary>Hint</summary>
#
# What should the first update get, and what would number $N$ get?
#
# </details>
#
# **Exercise 2: spot the bug.** Here the decay counts minibatches, "to make it smoother." `MINIBATCHES` is 4.

# %%
source(decay_in_steps)

# %%
short = replace(world, steps=30_000, lr=0.03)
right = train(short, arms["lr_anneal"])
with planted(linear_decay=decay_in_steps):
    faulty = train(short, arms["lr_anneal"])

# %% tags=["hide-input"]
curves({"lr_anneal": right, "with the bug": faulty})
plt.show()

rest = faulty.curve[faulty.curve.step > 12_000]
assert rest.approx_kl.abs().max() < 1e-9  # rounding alone
assert faulty.late().mean() < 0.6 * right.late().mean()
rest[["step", "return", "value_loss", "entropy", "approx_kl", "grad_norm"]].tail(3).round(3)

# %% [markdown]
# Which number in the table of its last updates tells you that this agent is *switched off*, not *converged*? After what
# share of the budget does it happen, and why?
#
# <details><summary>Hint</summary>
#
# A converged policy still jitters.
#
# </details>
#
# **Exercise 3: think.** You anneal over 100,000 steps. (a) At 50,000 steps you are given a budget of 200,000 in all.
# Which rate comes next, and is the result a run of 200,000 steps? (b) What must be saved so that an interrupted run can
# go on?
#
# <details><summary>Answer</summary>
#
# (a) Go on from 50% along a flatter line, or jump to the new line, at 75%. Neither is a run of 200,000 steps, whose
# rates would have been higher. (b) Besides the nets and the optimizer, the share of the budget used.
#
# </details>
#
# Solutions: [`solutions/16_annealing.py`](solutions/16_annealing.py). Next: [a shared trunk](17_shared_trunk.ipynb),
# the first step beyond the ladder.

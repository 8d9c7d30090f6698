# %% [markdown]
# # GAE: how far to trust the value net
#
# *A return is honest but noisy, a learned value is calm but wrong. How much of each?*
#
# The baseline left you with two ways to judge an action. You can wait and add up everything that came after it. Or you
# can wait a single step and ask the value net $V$ what the place you got to is worth. The first sums up the noise of all
# later rewards. The second believes a net that was random an hour ago.
#
# There is a dial between them, called λ. Turning it is one line of code. Getting the *ends of episodes* right takes two
# masks (a mask is a column of yes and no that keeps a term or drops it), and the middle of this chapter is about why two.

# %%
from dataclasses import replace

import matplotlib.pyplot as plt
import torch

from ablations import TRIALS, style
from book import at_best_rate, begin, curves, evidence, planted, swept
from exercises.gae import check_advantages, one_mask, surprising_advantages
from tricks import Config, diff, source, train
from tricks.core.returns import discounted_sum
from tricks.gae import gae
from tricks.ladder import named

begin()

# %% [markdown]
# ## Both fail, each in its own way
#
# Here is a conveyor belt of 30 cells. Every step carries you one cell on and pays noise: on average 0, with standard
# deviation 1. The last step also pays 10, and the episode is over. Nothing is decided and nothing discounted
# ($\gamma = 1$ here), so you know the truth without any calculation: **every cell is worth exactly 10**.
#
# Your value net does not know. It says 10 plus an error, fixed for each cell, of about 2 up or down.
#
# What is the first cell worth? Use the rewards of the first $k$ steps, and then let $V$ guess the rest:
#
# $$\underbrace{r_0 + r_1 + \dots + r_{k-1}}_{\text{seen}} + \underbrace{V(s_k)}_{\text{believed}}.$$
#
# With $k = 1$ this is what the value net says one step on. With $k = 30$ the belt has ended, nothing is believed, and it is the
# plain return, called *Monte Carlo* because it only samples. 300 rides for each:

# %%
CELLS, WORTH, RIDES = 30, 10.0, 2000
torch.manual_seed(54)
error = torch.randn(CELLS)  # of V, one number a cell
reward = torch.randn(RIDES, CELLS)  # a row a ride
reward[:, -1] += WORTH


def guess(off):
    """V of each cell, off by about this much, and 0 for the end of the belt."""
    return torch.cat([WORTH + off * error, torch.zeros(1)])


believed = guess(off=2.0)

figure, axis = plt.subplots(figsize=(6.5, 2.8))
for i, k in enumerate((1, 3, 10, 30)):
    estimate = reward[:, :k].sum(1) + believed[k]
    axis.scatter(estimate[:300], i + 0.5 * (torch.rand(300) - 0.5), s=6, color=style.COLORS["gae"], alpha=0.4, lw=0)
    print(f"k = {k:2}: off by {estimate.mean() - WORTH:+.1f} on average, standard deviation {estimate.std():.1f}")
axis.axvline(WORTH, color=style.INK, lw=1.2)
axis.text(WORTH, 3.5, " truth", color=style.INK)
axis.set_yticks(range(4), ["k = 1, mostly V", "k = 3", "k = 10", "k = 30, Monte Carlo"])
axis.set(xlabel="estimate of what the first cell is worth", ylim=(-0.5, 3.9))
plt.show()

# %% [markdown]
# The cloud at the bottom is narrow and sits in the wrong place: that is **bias**. The one at the top sits in the right
# place and is wide: that is **variance**. More data shrinks variance; no amount of it shrinks bias. And you cannot know
# which $k$ is a good one, since you do not know how wrong $V$ is in which cell.
#
# ## The idea: do not choose, average
#
# Subtract $V(s_t)$ and each of these estimates is an advantage, now again with a discount:
#
# $$A_t^{(k)} = r_t + \gamma r_{t+1} + \dots + \gamma^{k-1} r_{t+k-1} + \gamma^k V(s_{t+k}) - V(s_t).$$
#
# The shortest one has a name, the **TD error** ("temporal difference"). It is a surprise: what you got, plus what you
# now expect, minus what you expected before.
#
# $$\delta_t = r_t + \gamma V(s_{t+1}) - V(s_t) = A_t^{(1)}.$$
#
# Add two of them, the second discounted, and look at what is left:
#
# $$\delta_t + \gamma\,\delta_{t+1} = r_t + \underbrace{\gamma V(s_{t+1})}_{\text{cancels}} - V(s_t)
#   + \gamma r_{t+1} + \gamma^2 V(s_{t+2}) - \underbrace{\gamma V(s_{t+1})}_{\text{cancels}} = A_t^{(2)}.$$
#
# What the first surprise expects, the second takes back. Such sums are said to *telescope*. It goes on like that, so
# $A_t^{(k)} = \delta_t + \gamma\,\delta_{t+1} + \dots + \gamma^{k-1}\delta_{t+k-1}$, a sum of surprises. (Putting $V(s_{t+k})$
# in place of the rewards still to come is called **bootstrapping**.)
#
# Now average over all $k$, with weights that shrink by a factor $\lambda$ each time (Schulman et al. 2015,
# arXiv:1506.02438). The $(1 - \lambda)$ in front makes the weights sum to 1:
#
# $$A_t = (1 - \lambda)\left(A_t^{(1)} + \lambda A_t^{(2)} + \lambda^2 A_t^{(3)} + \dots\right).$$
#
# How much of each surprise is in there? $\delta_t$ is part of every estimate, so its weight is
# $(1-\lambda)(1 + \lambda + \lambda^2 + \dots) = 1$. The next, $\gamma\delta_{t+1}$, is part of all but the first:
# $(1-\lambda)(\lambda + \lambda^2 + \dots) = \lambda$. The one after that is missing in two, and has $\lambda^2$:
#
# $$A_t = \delta_t + \gamma\lambda\,\delta_{t+1} + (\gamma\lambda)^2 \delta_{t+2} + \dots$$
#
# (An episode that is over holds no more surprises, so the sum stops there.)
#
# Everything after $\delta_t$ is $\gamma\lambda$ times the same sum begun one step later, and that is the whole algorithm:
#
# $$\boxed{A_t = \delta_t + \gamma\lambda\, A_{t+1}}$$
#
# This is **generalized advantage estimation**. With $\lambda = 0$ it is the TD error: trust $V$. With $\lambda = 1$ all
# surprises telescope into the Monte Carlo return minus $V(s_t)$: trust only what you saw. In between, later surprises
# are heard, but ever more softly.
#
# ## The ends: one question is two questions
#
# A batch holds several episodes, one behind the other. So what happens in the row where one of them ends? There are two
# kinds of end. An episode **terminates** when there is nothing more to come: the pole fell. It is **truncated** when you
# stop looking: the clock says 500 steps, and the pole still stands. The last row of a batch may also be a cut in the
# middle of things.
#
# The formula looks ahead in two places, and they look at different things:
#
# - $\delta_t$ adds $\gamma V(s_{t+1})$. It asks: **is the next state worth anything?**
# - The recursion adds $\gamma\lambda A_{t+1}$. It asks: **does the next row say how this episode went on?**
#
# | after step $t$ | next state worth anything? | $\delta_t$ adds $\gamma V(s_{t+1})$ | next row is the same episode? | recursion adds $\gamma\lambda A_{t+1}$ |
# |---|---|---|---|---|
# | the episode goes on | yes | yes | yes | yes |
# | it **terminated** | no, it is over | **no** | no, a new episode | **no** |
# | it was **truncated** | yes, it could have gone on | **yes** | no, a new episode | **no** |
# | the batch ends here | yes, it does go on | **yes** | there is no next row | **no** |
#
# The two columns agree except where an episode was stopped but not finished. There, $V$ must speak for a future that
# nobody recorded, and the next row is about somebody else. No single mask says yes to the one and no to the other.
# **That is why there are two:** `terminated` for $\delta$, `done` (terminated *or* truncated) for the recursion.
#
# ## In the library

# %%
source(gae, discounted_sum)

# %% [markdown]
# Two masks, one in each line. The batch's last row needs none: the sum starts from 0 there.
#
# ## Five rows by hand
#
# Let $\gamma = \lambda = ½$, so $\gamma\lambda = ¼$. Every step pays 2. A life that goes on forever is then worth
# $2 + 1 + ½ + \dots = 4$, and let $V$ know that: it says 4 everywhere. The episode dies at step 1; the next one runs into
# its time limit at step 3; in the third, step 4 pays 18, and there the batch ends.
#
# | $t$ | $r_t$ | end | $\delta_t$ | $A_t$ |
# |---|---|---|---|---|
# | 4 | 18 | cut | $18 + ½\cdot 4 - 4 = 16$ | $16$, no next row |
# | 3 | 2 | truncated | $2 + ½\cdot 4 - 4 = 0$ | $0$, the next row is another episode |
# | 2 | 2 | | $2 + ½\cdot 4 - 4 = 0$ | $0 + ¼\cdot 0 = 0$ |
# | 1 | 2 | terminated | $2 + 0 - 4 = -2$ | $-2$, the next row is another episode |
# | 0 | 2 | | $2 + ½\cdot 4 - 4 = 0$ | $0 + ¼\cdot(-2) = -½$ |
#
# Read the result: dying was worse than expected by 2, and the step before it is blamed for a quarter of that. Being
# stopped by the clock is nobody's fault. The 18 was a pleasant surprise.
#
# Next to it, what you get with a single mask in both places:

# %%
pays, four = torch.tensor([2.0, 2.0, 2.0, 2.0, 18.0]), torch.full((5,), 4.0)
terminated = torch.tensor([False, True, False, False, False])
done = torch.tensor([False, True, False, True, False])
lane = [x.view(1, 5, 1) for x in (pays, four, four, terminated, done)]  # [S, T, N]

by_hand = torch.tensor([-0.5, -2.0, 0.0, 0.0, 16.0])
right = gae(*lane, gamma=0.5, lam=0.5).flatten()
torch.testing.assert_close(right, by_hand)
versions = {
    "two masks": right,
    "`done` in both": one_mask(pays, four, four, done, gamma=0.5, decay=0.25),
    "`terminated` in both": one_mask(pays, four, four, terminated, gamma=0.5, decay=0.25),
}
for name, advantage in versions.items():
    print(f"{name:21}", "  ".join(f"A{t} = {a:4.1f}" for t, a in enumerate(advantage.tolist())))

# %% [markdown]
# With `done` in both places, running into the time limit looks like dying: $A_3 = -2$, and the step before is blamed,
# too. Balancing well for 500 steps would be punished at the end. With `terminated` in both, the 18 of the third episode leaks
# back into the second: $A_3 = 4$, praise for an action that had nothing to do with it.
#
# And at $\lambda = 1$ and $\lambda = 0$, the two ends of the dial, you get what was promised:

# %%
last = torch.zeros_like(reward, dtype=torch.bool)
last[:, -1] = True  # every ride terminates there, so both masks are the same


def estimates(believed, lam):
    """What GAE says that each cell is worth, V + A, in every ride: [rides, cells]."""
    value, next_value = believed[:-1].expand_as(reward), believed[1:].expand_as(reward)
    rows = [x.unsqueeze(2) for x in (reward, value, next_value, last, last)]
    return value + gae(*rows, gamma=1.0, lam=lam).squeeze(2)


monte_carlo = reward.flip(1).cumsum(1).flip(1)
torch.testing.assert_close(estimates(believed, 1.0), monte_carlo, atol=1e-3, rtol=0)
torch.testing.assert_close(estimates(believed, 0.0), reward + believed[1:])

# %% [markdown]
# ## A picture of the mechanism
#
# Back to the belt, where the truth is known. For each $\lambda$, take $V(s_t) + A_t$ as the estimate of what cell $t$ is
# worth, and measure over 2000 rides how far its mean is from 10 (bias) and how much it scatters (variance). The expected
# squared error is $\text{bias}^2 + \text{variance}$.
#
# Why $V + A$ and not $A$? Because the $V(s_t)$ that $A$ subtracts is a baseline: however wrong it is, it does not bend the
# gradient. The $V$ that is *added*, one or more steps on, does.


# %%
def bias_and_variance(lam, off):
    """Mean over the cells of bias² and of variance, if V is off by about `off`."""
    found = estimates(guess(off), lam)
    return ((found.mean(0) - WORTH) ** 2).mean().item(), found.var(0).mean().item()


dial = torch.linspace(0, 1, 41).tolist()
parts = torch.tensor([bias_and_variance(lam, off=2.0) for lam in dial])
totals = {off: torch.tensor([sum(bias_and_variance(lam, off)) for lam in dial]) for off in (0.5, 2.0, 4.0)}

# %% tags=["thumbnail"]
figure, (left, other) = plt.subplots(1, 2, figsize=(8, 3), sharey=True)
left.plot(dial, parts[:, 0], color=style.OTHERS[3])
left.plot(dial, parts[:, 1], color=style.OTHERS[2])
left.plot(dial, parts.sum(1), color=style.COLORS["gae"], lw=3)
left.text(0.0, 2.7, "bias²", color=style.OTHERS[3])
left.text(0.83, 1.5, "variance", color=style.OTHERS[2])
left.text(0.3, 4.0, "both", color=style.COLORS["gae"], weight="bold")
left.set(title="V off by 2", xlabel="λ", ylabel="squared error", ylim=(0, 17))
for (off, total), place in zip(totals.items(), ((0.0, 1.7), (0.03, 6.2), (0.22, 12.2)), strict=True):
    lowest = total.argmin()
    other.plot(dial, total, color=style.COLORS["gae"], lw=1.5)
    other.plot(dial[lowest], total[lowest], "o", color=style.COLORS["gae"])
    other.text(*place, f"V off by {off:g}", color=style.SOFT)
other.set(title="the best λ depends on V", xlabel="λ")
plt.show()

best = {off: dial[total.argmin()] for off, total in totals.items()}
print("best λ, by how far V is off:", ", ".join(f"{off:g}: {lam:.2f}" for off, lam in best.items()))
assert 0 < best[0.5] < best[2.0] < best[4.0] < 1
assert parts[-1, 0] < 0.1 < 1 < parts[0, 0]
assert parts[-1, 1] > 10

# %% [markdown]
# <!-- mechanism: gae -->
#
# Turning λ down from 1 kills most of the variance before bias gets large. Turning it up from 0 kills most of the bias
# while variance has hardly grown. So the valley in between is broad. Where its floor lies depends
# on how good $V$ is: the worse $V$, the further to the right. In training $V$ starts out bad and gets better, so no single
# $\lambda$ is the best all along. 0.95 is a habit that works, not a law. (It looks too high in
# this picture, which judges single estimates. A gradient averages a thousand of them; that shrinks the variance and leaves
# the bias, so in training the best λ lies further to the right.)
#
# ## What the value net learns from
#
# The same estimate serves twice. $V(s_t) + A_t$ says what $s_t$ is worth, so it is also a better target for $V$ than the
# noisy return. It is called the TD(λ) target; $\lambda = 1$ gives back the Monte Carlo return. Watch the order: target and
# advantage are both made from the *old* $V$, once per batch, before any gradient step.

# %%
diff(named("clip"), named("gae"))

# %% [markdown]
# Three lines. `dead` is what the function calls `terminated`. On this rung the loop still plays every episode to its end
# and still takes a time limit for a death, so `cut` is empty and `dead` equals `done`: the two masks are in place, but
# they only begin to differ with the chapters on `segments` (cut batches) and `bootstrap` (time limits).
#
# ## A small run
#
# `NoisyChain` is the belt with decisions: 16 cells, in each of which the agent must find out which button leads on; 10
# points at the end, and noise of standard deviation 3 at every step. Five agents, 30,000 steps each.

# %%
trials = {trial.config.gae_lambda: trial for trial in TRIALS if "NoisyChain" in trial.env}


def play(lam, tricks):
    config = replace(trials[lam].config, seeds=5, steps=30_000)
    return train(at_best_rate(config, tricks), tricks)


runs = {
    "Monte Carlo": play(0.9, trials[0.9].without),
    "gae": play(0.9, trials[0.9].having),  # λ = 0.9
    "λ = 0": play(0.0, trials[0.0].having),
}
curves(runs)
plt.show()
late = {name: run.late().mean() for name, run in runs.items()}
print("last tenth of training:", ", ".join(f"{name} {points:.1f}" for name, points in late.items()))
assert late["λ = 0"] < min(late["gae"], late["Monte Carlo"]) - 1

# %% [markdown]
# $\lambda = 0$ is the one that suffers. At the start $V$ knows nothing of the goal, and a TD error carries the news back
# by one cell at a time. Monte Carlo and $\lambda = 0.9$ end close together, although the noise here was made to drown
# Monte Carlo. With 32 lanes a batch averages over more than a thousand rows, and averaging is the other cure for
# variance.
#
# ## What the stored runs say

# %%
found = evidence("gae")
found

# %%
found.plot()
plt.show()

print(found.summary())
for row in found.worlds.to_dict("records"):
    print(f"{row['place']}: {row['without']:.1f} without it, {row['with']:.1f} with it ({row['verdict']})")

# %% [markdown]
# Read the intervals before the verdicts, and do not expect much of CartPole: every step pays exactly 1 there, and the
# return holds no noise but what the policy's own dice put in. Schulman et al. made GAE for simulated bodies that learn to
# walk, with long episodes and a reward that differs from step to step.
#
# All of these runs have $\lambda = 0.95$ and $\gamma = 0.99$. What if they had not? Here is PPO on CartPole with other
# values, each at its own best learning rate:

# %%
swept("gae_lambda", "gamma")
plt.show()

# %% [markdown]
# On CartPole, $\lambda$ matters little from 0.9 on, Monte Carlo included, and a bare TD error is hopeless. $\gamma$ is the
# touchier of the two. A discount of 0.9 looks ten steps ahead, which is too short to see the pole fall; 0.999 asks the
# value net for returns that hardly depend on the state.
#
# **What it does not say:** which $\lambda$ is right where rewards are noisy, or delayed. The trial in `Mail`, in the table
# above, shows how far that can move it.
#
# ## When it does not help
#
# - **When returns are hardly noisy**, or the batch is large enough to average the noise away. Then variance is not your
#   problem, and the bias of $\lambda < 1$ is all you get.
# - **When $V$ is far off**: early in training, with a reward far away, or with a value net too small for the task. Low
#   $\lambda$ then means to learn from a rumor.
# - **How low?** Andrychowicz et al. 2020 (arXiv:2006.05990) found $\lambda = 0.9$ good on all five of their continuous
#   control tasks. They also found it best to compute the advantages anew in each epoch. This library computes them once a
#   batch.
#
# ## Exercises
#
# **Exercise 1: write it.** Advantages of one lane, as a loop from the back, with both masks.


# %%
def my_advantages(reward, value, next_value, terminated, done, gamma, lam):  # five tensors [T] -> [T]
    ...


check_advantages(my_advantages)

# %% [markdown]
# **Exercise 2: think.** (a) Let $V$ be exactly right everywhere. Which $\lambda$ gives the least squared error, and what
# is its bias? Try `bias_and_variance(lam, off=0.0)`. (b) $\gamma$ and $\lambda$ both fade out the future. What does
# $\gamma$ change that $\lambda$ does not?

# %% [markdown]
# **Exercise 3: spot the bug.** This version learns CartPole, after a fashion. Below it, what the logs of both runs say
# about the second half of training.

# %%
source(surprising_advantages)

# %%
config = at_best_rate(Config("CartPole-v1", seeds=5, steps=20_000), named("gae"))
sound = train(config, named("gae"))
with planted(gae=surprising_advantages):
    faulty = train(config, named("gae"))
curves({"gae": sound, "with the bug": faulty})
plt.show()

columns = ["value_loss", "explained_variance"]
logs = {"sound": sound.curve, "with the bug": faulty.curve}
later = {name: log[log.step > 10_000][columns].mean() for name, log in logs.items()}
for name, row in later.items():
    print(f"{name:13} value loss {row.value_loss:5.1f}, explained variance {row.explained_variance:.2f}")
assert later["with the bug"].value_loss < 0.6 * later["sound"].value_loss

# %% [markdown]
# Here is the riddle: the faulty run's value loss is much *smaller*, so its value net hits its targets better, and yet it
# explains less of the returns that were really earned (the explained variance in the log is always about those). How can
# that be? What does this $V$ say about a falling pole?
#
# Solutions: [`solutions/04_gae.py`](solutions/04_gae.py). Next: [orthogonal initialization](05_orthogonal_init.ipynb),
# which is about the very first step.

# %% [markdown]
# # GAE: how far to trust the value net
#
# *A return is honest but noisy; a learned value is calm but wrong. How much of each?*

# %% [markdown] tags=["two-hours"]
# To judge an action, you can add up everything that came after it, noise included. Or you can wait a single step and
# ask the value net $V$, which may be wrong, what the state you reached is worth. The dial between the two is called λ.

# %% tags=["two-hours", "hide-input"]
from dataclasses import replace

import matplotlib.pyplot as plt
import torch

from ablations import flags, rows_of, style
from chapters.book import at_best_rate, begin, best_at, curves, evidence, label_lines, lost_at, planted, swept
from chapters.exercises.gae import check_advantages, one_mask, surprising_advantages
from tricks import Config, diff, source, train
from tricks.core.reductions import discounted_sum
from tricks.gae import gae
from tricks.ladder import LADDER, named, switched
from tricks.recompute import judged, judged_anew

begin()

# %% [markdown] tags=["two-hours"]
# ## A ride on a conveyor belt
#
# A belt has 30 cells. Every step moves you one cell along and pays noise with mean 0 and standard deviation 1. The last
# step also pays 10. Nothing is discounted ($\gamma = 1$), so **every cell is worth exactly 10**. Your value net says 10
# plus an error of about 2 up or down, fixed for each cell.
#
# What is the first cell worth? Add up the rewards of the first $k$ steps, and let $V$ guess the rest. With $k = 30$
# nothing is left to guess. That's the plain return, called *Monte Carlo*. Here are estimates from 300 of 2,000 rides,
# for four values of $k$:

# %% tags=["two-hours", "hide-input"]
CELLS, WORTH, RIDES = 30, 10.0, 2000
torch.manual_seed(54)
error = torch.randn(CELLS)  # of V, one number per cell
reward = torch.randn(RIDES, CELLS)  # one row per ride
reward[:, -1] += WORTH


def guess(off):
    """V of each cell, off by about this much, and 0 for the end of the belt."""
    return torch.cat([WORTH + off * error, torch.zeros(1)])


believed = guess(off=2.0)

# %% tags=["two-hours", "hide-input"]
figure, axis = plt.subplots(figsize=(6.5, 2.6))
said = []
for i, k in enumerate((1, 3, 10, 30)):
    estimate = reward[:, :k].sum(1) + believed[k]
    axis.scatter(estimate[:300], i + 0.5 * (torch.rand(300) - 0.5), s=6, color=style.COLORS["gae"], alpha=0.4, lw=0)
    said.append(f"k = {k:2}: off by {estimate.mean() - WORTH:+.1f} on average, standard deviation {estimate.std():.1f}")
axis.axvline(WORTH, color=style.INK, lw=1.2)
axis.text(WORTH, 3.5, " truth", color=style.INK)
axis.set_yticks(range(4), ["k = 1, mostly V", "k = 3", "k = 10", "k = 30, Monte Carlo"])
axis.set(xlabel="estimate of what the first cell is worth", ylim=(-0.5, 3.9))
plt.show()
print("\n".join(said))

# %% [markdown] tags=["two-hours"]
# The bottom cloud is narrow and in the wrong place: that is **bias**. The top one is in the right place and wide: that
# is **variance**. More data shrinks variance, but never bias. And you can't pick a good $k$ without knowing how wrong
# $V$ is in each cell.
#
# ## Don't choose, average
#
# Subtract $V(s_t)$ and restore the discount, and each of these estimates is an advantage:
#
# $$A_t^{(k)} = r_t + \gamma r_{t+1} + \dots + \gamma^{k-1} r_{t+k-1} + \gamma^k V(s_{t+k}) - V(s_t).$$
#
# Using $V$ for the rewards still to come is called **bootstrapping**. The shortest estimate is the **TD error**
# ("temporal difference"), a surprise: what you got, plus what you now expect, minus what you expected before.
#
# $$\delta_t = r_t + \gamma V(s_{t+1}) - V(s_t) = A_t^{(1)}.$$
#
# Add the next one, discounted:
#
# $$\delta_t + \gamma\,\delta_{t+1} = r_t + \underbrace{\gamma V(s_{t+1})}_{\text{cancels}} - V(s_t)
#   + \gamma r_{t+1} + \gamma^2 V(s_{t+2}) - \underbrace{\gamma V(s_{t+1})}_{\text{cancels}} = A_t^{(2)}.$$
#
# The sum *telescopes*: each new surprise takes back the guess of the one before. So
# $A_t^{(k)} = \delta_t + \gamma\,\delta_{t+1} + \dots + \gamma^{k-1}\delta_{t+k-1}$.
#
# Now average over all $k$, with weights that shrink by a factor $\lambda$ each time and, thanks to $(1 - \lambda)$, sum
# to 1 (Schulman et al. 2015, arXiv:1506.02438):
#
# $$A_t = (1 - \lambda)\left(A_t^{(1)} + \lambda A_t^{(2)} + \lambda^2 A_t^{(3)} + \dots\right).$$
#
# $\delta_t$ is part of every estimate, so its weight is $(1-\lambda)(1 + \lambda + \lambda^2 + \dots) = 1$. The next
# surprise, $\gamma\delta_{t+1}$, is part of all but the first: $(1-\lambda)(\lambda + \lambda^2 + \dots) = \lambda$.
# The one after that is missing from two, and gets $\lambda^2$:
#
# $$A_t = \delta_t + \gamma\lambda\,\delta_{t+1} + (\gamma\lambda)^2 \delta_{t+2} + \dots$$
#
# Everything after $\delta_t$ is $\gamma\lambda$ times the same sum, begun one step later:
#
# $$\boxed{A_t = \delta_t + \gamma\lambda\, A_{t+1}}$$
#
# This is **generalized advantage estimation**. With $\lambda = 0$ it is the TD error: trust $V$. With $\lambda = 1$ the
# surprises telescope into the Monte Carlo return minus $V(s_t)$: trust only what you saw. In the library, each formula
# has its own mask, a column of yes and no that says where an episode ends:

# %% tags=["two-hours"]
source(gae, discounted_sum)

# %% [markdown] tags=["two-hours"]
# ## Two kinds of ending
#
# A batch holds several episodes, one after another. An episode **terminates** when nothing more is to come: the pole
# fell. It is **truncated** when you stop looking: after 500 steps the pole is still up. The batch may also end in
# mid-episode. Both formulas look one row ahead, but $\delta_t$ asks whether the next *state* is worth anything, and the
# recursion whether the next *row* belongs to this episode:
#
# | after step $t$ | $\gamma V(s_{t+1})$ in $\delta_t$? | $\gamma\lambda A_{t+1}$? |
# |---|---|---|
# | the episode goes on | yes | yes |
# | it **terminated** | **no**, it's over | **no**, a new episode follows |
# | it was **truncated** | **yes**, it could have gone on | **no**, likewise |
# | the batch ends | **yes**, it does go on | **no**, there is no next row |
#
# The columns differ where an episode was stopped but not finished. **That is why there are two masks**, which keep a
# term or drop it: `terminated` for $\delta$, and `done` (terminated *or* truncated) for the recursion.
#
# ## Five rows by hand
#
# Let $\gamma = \lambda = ½$, so $\gamma\lambda = ¼$. Every step pays 2, except the last one, which pays 18. A 2 per
# step forever is worth $2 + 1 + ½ + \dots = 4$, and $V$ says 4 everywhere. The first episode dies at step 1, and the
# second one runs into its time limit at step 3. From the back:
#
# | $t$ | end | $\delta_t$ | $A_t$ |
# |---|---|---|---|
# | 4 | cut | $18 + ½\cdot 4 - 4 = 16$ | $16$ |
# | 3 | truncated | $2 + ½\cdot 4 - 4 = 0$ | $0$ |
# | 2 | | $0$, likewise | $0 + ¼\cdot 0 = 0$ |
# | 1 | terminated | $2 + 0 - 4 = -2$ | $-2$ |
# | 0 | | $0$, likewise | $0 + ¼\cdot(-2) = -½$ |
#
# Dying was worse than expected by 2, and the step before gets a quarter of the blame. Being stopped by the clock is
# nobody's fault. With one mask in both places:

# %% tags=["two-hours"]
pays, four = torch.tensor([2.0, 2.0, 2.0, 2.0, 18.0]), torch.full((5,), 4.0)
terminated = torch.tensor([False, True, False, False, False])
done = torch.tensor([False, True, False, True, False])
lane = [x.view(1, 5, 1) for x in (pays, four, four, terminated, done)]  # [S, T, N]

by_hand = torch.tensor([-0.5, -2.0, 0.0, 0.0, 16.0])
right = gae(*lane, gamma=0.5, lam=0.5).flatten()
torch.testing.assert_close(right, by_hand)
versions = {
    "two masks": right,
    "`done` in both": one_mask(pays, four, four, done, 0.5, decay=0.25),
    "`terminated` in both": one_mask(pays, four, four, terminated, 0.5, decay=0.25),
}
for name, advantage in versions.items():
    said = (f"A{t} = {a:4.1f} " for t, a in enumerate(advantage.tolist()))
    print(f"{name:21}", *said)

# %% [markdown] tags=["two-hours"]
# With `done` in both, the time limit looks like dying: $A_3 = -2$, and the step before is blamed, too. With
# `terminated` in both, the 18 leaks from the third episode into the second: $A_3 = 4$, undeserved praise.
#
# Back to the belt, to check both ends of the dial:

# %% tags=["two-hours"]
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
print("λ = 1 is Monte Carlo, and λ = 0 looks one step ahead")

# %% [markdown] tags=["two-hours"]
# ## Bias and variance along the dial
#
# $V(s_t) + A_t$ estimates what cell $t$ is worth. Over 2,000 rides, how far is its mean from 10 (bias), and how much
# does it scatter (variance)? The expected squared error is $\text{bias}^2 + \text{variance}$. (Why $V + A$ and not $A$?
# The $V(s_t)$ that $A$ subtracts is a baseline. However wrong, it doesn't bend the gradient. The $V$ that is *added*,
# for a later state, does.)


# %% tags=["two-hours"]
def bias_and_variance(lam, off):
    """Mean over the cells of bias² and of variance, if V is off by about `off`."""
    found = estimates(guess(off), lam)
    return ((found.mean(0) - WORTH) ** 2).mean().item(), found.var(0).mean().item()


dial = torch.linspace(0, 1, 41).tolist()
parts = torch.tensor([bias_and_variance(lam, off=2.0) for lam in dial])
totals = {}
for off in (0.5, 2.0, 4.0):
    totals[off] = torch.tensor([sum(bias_and_variance(lam, off)) for lam in dial])

# %% [markdown] tags=["two-hours"]
# **Predict.** Sketch bias² and variance against λ. Is the sum smallest at an end of the dial, or in between? And when
# $V$ gets worse, does the best λ move left or right?

# %% tags=["two-hours", "thumbnail", "predict", "hide-input"]
figure, (left, other) = plt.subplots(1, 2, figsize=(8, 3), sharey=True)
left.plot(dial, parts[:, 0], color=style.OTHERS[3])
left.plot(dial, parts[:, 1], color=style.OTHERS[2])
left.plot(dial, parts.sum(1), color=style.COLORS["gae"], lw=3)
left.text(0.0, 2.7, "bias²", color=style.OTHERS[3])
left.text(0.83, 1.5, "variance", color=style.OTHERS[2])
left.text(0.3, 4.0, "sum", color=style.COLORS["gae"], weight="bold")
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

# %% [markdown] tags=["two-hours"]
# <!-- mechanism: gae -->
#
# Turn λ down from 1, and most of the variance is gone before the bias gets large. So the valley is broad, and the worse
# $V$ is, the further right it lies. (The usual 0.95 looks too high here. But a gradient averages a thousand such
# estimates, which shrinks only the variance.)
#
# ## A target for the value net
#
# $V + A$ is also a less noisy target for $V$ than the return: the TD(λ) target. Like the advantage, it is made from the
# *old* $V$, before any gradient step.

# %% tags=["two-hours"]
diff(named("clip"), named("gae"))

# %% [markdown] tags=["two-hours"]
# `dead` marks the rows beyond which no value lies. For now the loop treats a time limit as a death, so `dead` equals
# `done`, until [segments](13_segments.ipynb) and [time limits](14_bootstrap.ipynb) tell them apart.
#
# ## Pay that comes by mail
#
# In this world every step shows a cue, −1 or 1. The action that matches it earns 1, the other one −1, but the pay comes
# *three steps later*, under noise with standard deviation 3. What's in the mail can't be seen. In an episode of 200
# steps, guessing gets 0 points and a perfect agent 197 on average. An action's pay is in $\delta_{t+3}$, whose weight is
# $(\gamma\lambda)^3$.
#
# **Predict.** Five agents for each λ, at the same learning rate. Which of 0, 0.5, 0.8, and 1 learns nothing, and which
# learns fastest?

# %% tags=["two-hours"]
mail = Config("tricks/Mail3-v0", seeds=5, steps=30_000, hidden=(32, 32), lr=0.003)
runs = {}
for lam in (1.0, 0.0, 0.5, 0.8):
    runs[f"λ = {lam:g}"] = train(replace(mail, gae_lambda=lam), named("gae"))

# %% tags=["two-hours", "predict", "hide-input"]
curves(runs)
plt.show()
mean = {name: run.curve["return"].mean() for name, run in runs.items()}
print("mean over all of training:", ", ".join(f"{name} {points:.0f}" for name, points in mean.items()))
assert mean["λ = 0"] < 40 < mean["λ = 0.5"] < mean["λ = 0.8"] - 10
assert mean["λ = 1"] < mean["λ = 0.8"] - 10

# %% [markdown] tags=["two-hours"]
# With λ = 0 the pay never reaches the action that earned it, and no amount of data changes that, because $V$ can't
# see the mail. (If the mail were part of the state, $V(s_{t+1})$ would know of it, and λ = 0 would learn, too.) With
# λ = 0.5 an eighth gets through. With λ = 0.8 half does, and learning is fastest. With λ = 1 nearly all does, along
# with the noise of every later reward.

# %% [markdown]
# ## It doesn't help everywhere

# %% tags=["hide-input"]
found = evidence("gae")
found.strip()
plt.show()

hurts, helps = (sorted(set(found.table.env[found.table.verdict == said])) for said in ("hurts", "helps"))
print(f"hurts somewhere in {', '.join(hurts)}; helps somewhere in {', '.join(helps)}")
assert "CartPole-v1" in hurts
lander = found.table[(found.table.env == "LunarLander-v3") & (found.table.detected != 0)]
assert lander.verdict.tolist() == ["hurts"] * 2 and lander.confirmed.eq(1).all()
assert {"HalfCheetah-v5", "Walker2d-v5"} < {*helps}

# %% [markdown]
# In the usual environments the result is mixed. On HalfCheetah and Walker2d, two robots, GAE is a clear gain in the
# [preset](21_continuous_actions.ipynb). In the worlds made for it, a bare TD error loses most of the score. λ = 0.9 is
# a clear gain where pay comes by mail (here one step late), and makes no detectable difference in a noisy chain
# (described below).

# %% tags=["hide-input"]
evidence("gae")

# %% [markdown]
# Why does it hurt on CartPole? Here is the full set of tricks, with GAE and without, by learning rate:

# %% tags=["hide-input"]
every = [name for name in LADDER if name != "action_mask"]  # CartPole has no illegal actions
without = [name for name in every if name != "gae"]
tuned = {
    "without gae": rows_of("CartPole-v1", 100_000, "", flags(switched(without))).set_index("lr").area,
    "gae": rows_of("CartPole-v1", 100_000, "", flags(switched(every))).set_index("lr").area,
}

# %% tags=["hide-input"]
figure, axis = plt.subplots(figsize=(5.5, 2.6))
for (name, area), color in zip(tuned.items(), (style.SOFT, style.COLORS["gae"]), strict=True):
    axis.plot(area.index, area, "o-", color=color, label=name)
axis.set(xscale="log", xlabel="learning rate", ylabel="area under the curve", ylim=(0, 500))
label_lines(axis)
plt.show()
lost = tuned["without gae"] - tuned["gae"]
print("lost with gae:", ", ".join(f"{loss:.0f} at {rate:g}" for rate, loss in lost.items()))
assert lost[0.0003] > 150 > 50 > lost[0.003] > 0

# %% [markdown]
# GAE costs most at small rates. Our reading: at λ = 0.95, the policy hears of what happens a hundred steps from now
# only through $V$. When the pole stays up longer, the returns show it at once, but at a small rate $V$ lags behind. And
# there is little noise to remove, since every step of CartPole pays exactly 1. (On LunarLander it hurts in the full set
# and as the next rung, and both were confirmed on other seeds. We don't know why.)
#
# Which λ, then, and which γ? Here is PPO with each of them at its own best learning rate (gray: other rates). On
# Pendulum it has [`return_norm`](08_return_norm.ipynb), which helps there, and γ = 0.9 while λ varies.

# %% tags=["hide-input"]
swept("gae_lambda", "gamma")
plt.show()

lambdas, gammas = best_at("gae_lambda"), best_at("gamma")
assert max(lost[0.9] for lost in lost_at("gae_lambda").values()) < 0.05  # of the way from a random policy to the best
assert lambdas["CartPole-v1"][0] < 0.6 * lambdas["CartPole-v1"][0.95]
assert lambdas["Acrobot-v1"][0.5] > lambdas["Acrobot-v1"][1] + 100
assert lambdas["Pendulum-v1"].max() - lambdas["Pendulum-v1"].min() < 60
assert gammas["Pendulum-v1"][0.9] > gammas["Pendulum-v1"][0.99] + 300


# %% [markdown]
# λ = 0.9 is nearly as good as the best in all three; the usual 0.95 isn't on Acrobot. On CartPole, λ matters little
# from 0.9 on, but a bare TD error loses half the score. Acrobot is the reverse: a small λ is best, and λ = 1 costs
# about a hundred points. (Our reading: how long a swing takes is mostly luck early on, and λ = 1 charges it to every
# action on the way.) On Pendulum, with γ = 0.9, λ matters little: the worst values cost about fifty points.
#
# No γ is good everywhere. 0.9 looks about ten steps ahead. On CartPole that's too few to see the pole fall, on Acrobot
# it's enough, and on Pendulum it beats the usual 0.99 by three hundred points.
#
# ## When to turn λ up
#
# - **When returns are hardly noisy**, or the batch is large enough to average the noise away.
# - **When $V$ is far off**: early in training, with a reward far away, at a small learning rate, or with too small a
#   value net.
#
# And down? On five tasks with simulated bodies, Andrychowicz et al. 2020 (arXiv:2006.05990) found 0.9 a good choice.

# %% [markdown]
# ## At a glance
#
# | | |
# |---|---|
# | **problem** | a return carries the noise of every later reward, and $V$ alone is wrong |
# | **formula** | $A_t = \delta_t + \gamma\lambda\, A_{t+1}$ with $\delta_t = r_t + \gamma V(s_{t+1}) - V(s_t)$ |
# | **in the loop** | `advantage = gae(reward, value, next_value, dead, done, config.gamma, config.gae_lambda)` <br> `target = value + advantage` |
# | **defaults** | $\lambda = 0.95$, $\gamma = 0.99$ |
# | **watch** | `explained_variance`: while it stays near 0, a small λ learns from guesses |
# | **skip it when** | returns are hardly noisy, or $V$ lags far behind the policy |
# | **also called** | λ = 0: the *TD error*, as in one-step actor-critic; λ = 1: *Monte Carlo*; $V + A$ is the *λ-return* |

# %% [markdown]
# ## Exercises

# %% [markdown] tags=["two-hours"]
# **Exercise 1: write it.** Compute the advantages of one lane with a loop from the back, with both masks.


# %% tags=["two-hours"]
def my_advantages(reward, value, next_value, terminated, done, gamma, lam):
    # five tensors [T] and two numbers -> [T]
    ...


check_advantages(my_advantages)

# %% [markdown] tags=["two-hours"]
# <details><summary>Hint</summary>
#
# Two lines per step. Which of them asks whether the next *state* counts, and which whether the next *row* does?
#
# </details>

# %% [markdown]
# **Exercise 2: think.** (a) Let $V$ be exactly right everywhere. Which $\lambda$ gives the least squared error, and
# what is its bias? Check with `bias_and_variance(lam, off=0.0)`. (b) Both $\gamma$ and $\lambda$ fade out the future.
# What does $\gamma$ change that $\lambda$ doesn't?
#
# <details><summary>Answer</summary>
#
# (a) λ = 0. If $V$ is right, no λ has any bias. Only variance is left, and it's smallest if you see a single reward.
#
# (b) γ changes the question: the true $V$ changes, and a different policy may be the best. λ only changes how you
# estimate the answer. Where $V$ is right, it doesn't change the mean at all.
#
# </details>

# %% [markdown]
# **Exercise 3: spot the bug.** This version learns CartPole, more or less. Below, `planted` trains the loop with it.

# %%
source(surprising_advantages)

# %%
config = at_best_rate(Config("CartPole-v1", seeds=5, steps=20_000), named("gae"))
sound = train(config, named("gae"))
with planted(gae=surprising_advantages):
    faulty = train(config, named("gae"))

# %% tags=["hide-input"]
curves({"gae": sound, "with the bug": faulty})
plt.show()

columns = ["value_loss", "explained_variance"]
logs = {"sound": sound.curve, "with the bug": faulty.curve}
later = {name: log[log.step > 10_000][columns].mean() for name, log in logs.items()}
for name, row in later.items():
    print(f"{name:13} second half: value loss {row.value_loss:5.1f}, explained variance {row.explained_variance:.2f}")
assert later["with the bug"].value_loss < 0.6 * later["sound"].value_loss

# %% [markdown]
# The faulty run's value loss is much *smaller*. Yet its value net explains less of the returns really earned. (The
# log's explained variance is about those.) How can that be?
#
# <details><summary>Hint</summary>
#
# What does this $V$ say about a falling pole? Find a $V$ that has no loss at all.
#
# </details>
#
# Solutions: [`solutions/04_gae.py`](solutions/04_gae.py). You now have the core of PPO, still on whole episodes: `python -m
# tricks listing gae` prints the loop, about a hundred lines. Next come the details that make it work, from a net's first
# weights on: [orthogonal initialization](05_orthogonal_init.ipynb).

# %% [markdown]
# ## Going further
#
# One more flag belongs to this chapter. It computes the advantages more than once per batch.
#
# ### Judge again before every epoch
#
# The loop judges a batch once, then trains on it for several epochs. By the last one $V$ has changed, but the advantages
# and targets still come from the old $V$. Where does that hurt? Most at λ = 0, where a target is
# $r_t + \gamma V(s_{t+1})$: all it knows of the future is the next state's $V$. So a distant reward travels one state
# per batch, however many epochs you train.
#
# The flag `recompute` judges again before every epoch but the first, with $V_e$, the value net as it is by then:
#
# $$\delta_t = r_t + \gamma V_e(s_{t+1}) - V_e(s_t), \qquad A_t = \delta_t + \gamma\lambda\, A_{t+1}, \qquad
#   \text{target}_t = V_e(s_t) + A_t .$$
#
# Now the reward travels one state per *epoch*. The price is one more pass of the value net over the batch each time,
# and a bias: $V_e$ has seen the returns that it now judges, so it explains part of each surprise away.

# %%
source(judged_anew, judged)

# %% [markdown]
# The noisy chain has 16 cells in a row. The last one ends the episode and pays 10, and every step pays noise with
# standard deviation 3. Five agents with λ = 0 take 16 epochs on each batch.
#
# **Predict.** After four batches, in how many of the 15 cells before the goal has $V$ heard of the 10, judged once and
# with `recompute`?

# %%
chain = Config("tricks/NoisyChain-v0", seeds=5, steps=10_000, lanes=32, horizon=32)
chain = replace(chain, hidden=(32, 32), lr=0.01, gae_lambda=0.0, epochs=16)
once = replace(named("gae"), advantage_norm=True)
judges = {
    "judged once": train(chain, once),
    "recompute": train(chain, replace(once, recompute=True)),
}
cells = torch.eye(16).expand(5, -1, -1)  # [S, B, D]: every cell, as each agent sees it
heard = {}
for name, run in judges.items():
    heard[name] = run.agent.value(cells).detach()[:, :15].mean(0)

# %% tags=["predict", "hide-input"]
figure, axis = plt.subplots(figsize=(6.5, 2.6))
for (name, value), color in zip(heard.items(), (style.SOFT, style.COLORS["recompute"]), strict=True):
    axis.plot(value, "o-", color=color, label=name)
axis.set(xlabel="cell (15 is the goal)", ylabel="V after four batches\n(mean of 5 agents)", ylim=(-1, 10))
label_lines(axis)
plt.show()
assert all(run.curve["update"].max() == 3 for run in judges.values())  # four batches
assert heard["judged once"][:11].abs().max() < 0.5 < 1 < heard["recompute"][:11].min()

# %% [markdown]
# Judged once, $V$ has heard of it in the last four cells, one per batch. With `recompute`, the news has reached every
# cell, even the first.

# %% tags=["hide-input"]
evidence("recompute").strip()
plt.show()

# %% tags=["hide-input"]
tried = evidence("recompute").worlds.iloc[0]
print(f"{tried.place}, {tried.seeds} seeds, mean over training: ", end="")
print(f"from {tried.without:.1f} of 10 points to {tried['with']:.1f}")
print(f"difference as a share of the best score, by epochs: {tried.doses}")
assert tried.seen == tried.confirmed == 1 and tried.growth_low > 0 and "1:+0.000 " in tried.doses

# %% [markdown]
# In the chain it helps, on two sets of seeds, and it helps more with more epochs. (With one, both arms are the same.) λ
# = 0 is where it should matter most: at the usual λ = 0.95, a target sees $1/(1 - \gamma\lambda) \approx 17$ steps
# ahead without it, and on three robots ten seeds per arm can't tell what's left to gain. Andrychowicz et al. (2020,
# arXiv:2006.05990) recommend recomputing before every epoch, on continuous control.

# %% tags=["hide-input"]
evidence("recompute")

# %% [markdown]
# **Question.** What does `recompute` change at λ = 1?
#
# <details><summary>Answer</summary>
#
# At λ = 1 the surprises telescope: the target $V + A$ is the return, whatever $V$ says (except where a batch is cut off
# in mid-episode). Only the advantages change, and their baseline is no longer harmless: $V_e$ has been trained on these
# very returns, so it depends on the actions that it is subtracted for. If it had memorized the batch, $V_e(s_t) = G_t$,
# all advantages would be 0. (Schulman et al. 2015, arXiv:1506.02438, fit $V$ after the policy for this reason.)
#
# </details>
#
# **Exercise 4: think.** Before every epoch, somebody recomputes not only the advantages, but also the old
# log-probabilities, from the policy as it is then. Which ratios does the [clip](03_clip.ipynb) see now? How far from
# the policy that played can ten epochs carry a row, at $\varepsilon = 0.2$?
#
# <details><summary>Answer</summary>
#
# Every epoch starts with ratios of 1, so the clip limits how far one epoch goes, and no longer how far the whole update
# goes. Ten epochs, each of which stops at 1.2, make $1.2^{10} \approx 6.2$. And the ratio isn't the importance weight
# any more: the rows were played by the first of these policies, not by the latest. So `recompute` leaves the old
# log-probabilities as they are.
#
# </details>

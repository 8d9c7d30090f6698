# %% [markdown]
# # Continuous actions: a Gaussian instead of a softmax
#
# *A motor takes any torque between −2 and 2. What are the probabilities of infinitely many actions?*
#
# You could cut the range into 11 torques and keep the softmax. Suppose that a torque of 1.6 has turned out well, and
# each policy takes one step toward it (gray: before). The Gaussian moves its mean, so it also tries 1.2 and 2.0 more
# often. The softmax only learns about 1.6.

# %% tags=["hide-input"]
import math
from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np
import torch

from ablations import SCALES, area, effects, style
from chapters.book import begin, caption, curves, evidence, label_lines, planted
from chapters.book.figures import ADDS, draw_effects
from chapters.book.results import all_effects, studies
from chapters.exercises.continuous_actions import check_log_slope, check_scores, log_prob_of
from tricks import Config, source, train
from tricks.core.agent import Agent
from tricks.core.policies import DiagonalGaussian
from tricks.core.rollout import play_episodes
from tricks.ladder import named
from tricks.loop import build_agent
from tricks.squash import SquashedGaussian, log_slope, mean_log_slope

begin()
COLOR, FAULT = style.OTHERS[2], style.FAULT

# %% tags=["hide-input"]
torques = torch.linspace(-2, 2, 11)


def after_one_success(log_prob, parameters):
    """Parameters after a step of length 1 along the gradient of log π(1.6)."""
    (gradient,) = torch.autograd.grad(log_prob(parameters), parameters)
    return (parameters + gradient / gradient.norm()).detach()


def density(mean, action):
    """Of a Gaussian with σ = 1: its logarithm."""
    return DiagonalGaussian.log_prob(
        torch.stack([mean.expand(action.shape), torch.zeros_like(action)], -1), action[:, None]
    )


good = torch.tensor([1.6])
taught = after_one_success(lambda logits: logits.log_softmax(0)[9], torch.zeros(11, requires_grad=True))
aim = torch.zeros(1, requires_grad=True)
aimed = after_one_success(lambda mean: density(mean, good).sum(), aim)
figure, axes = plt.subplots(1, 2, figsize=(8, 2.4))
axes[0].bar(torques, taught.softmax(0), 0.3, color=FAULT)
axes[0].axhline(1 / 11, color=style.SOFT)
axes[0].set(title="softmax over eleven torques", ylabel="probability")
line = torch.linspace(-3, 3, 121)
for mean, color in ((aim.detach(), style.SOFT), (aimed, COLOR)):
    axes[1].plot(line, density(mean, line).exp(), color=color)
axes[1].set(title="Gaussian", ylabel="density", ylim=(0, None))
for axis in axes:
    axis.axvline(1.6, color=style.INK, lw=1, ls=":")
    axis.set(xlabel="torque (N·m)")
plt.show()
chances = taught.softmax(0)
assert chances[9] > 1 / 11 > chances[10] and abs(chances[10] - chances[0]) < 1e-6
assert (density(aimed, torch.tensor([1.2, 2.0])) > density(aim, torch.tensor([1.2, 2.0]))).all()

# %% [markdown]
# To the softmax, 2.0 is as far from 1.6 as −2.0 is. And a humanoid robot with 17 joints would need $11^{17}$ logits,
# unless each joint gets a softmax of its own (Tang & Agrawal 2019, arXiv:1901.10500).
#
# So let the net say *where* to aim and *how widely* to scatter. The training loop only asks for log-probabilities.

# %% [markdown]
# ## The log-probability of a torque
#
# In one dimension, a Gaussian with mean $\mu$ and standard deviation $\sigma$ has the density
#
# $$\pi(a) = \frac{1}{\sigma \sqrt{2\pi}}\; e^{-z^2/2}, \qquad z = \frac{a - \mu}{\sigma}
#   \qquad\Longrightarrow\qquad \log \pi(a) = -\tfrac12 z^2 - \log \sigma - \tfrac12 \log 2\pi .$$
#
# The $\pi$ under the root is the number. A density is a probability per unit of torque, so it can exceed 1. That does
# no harm: a ratio of densities has no units. Several motors scatter independently, so their densities multiply, and
# **the logarithms add up**.
#
# By hand, for two motors with $\mu = (1, -1)$, $\sigma = (½, 2)$, and the action $(2, 1)$: $z = (2, 1)$, the two $\log
# \sigma$ cancel, and $\log \pi = -\tfrac12 (4 + 1) - \log 2\pi = -4.338$.

# %% tags=["open"]
# μ of both motors, then their log σ
logits = torch.tensor([1.0, -1.0, math.log(0.5), math.log(2.0)])
action = torch.tensor([2.0, 1.0])
theirs = torch.distributions.Normal(logits[:2], logits[2:].exp()).log_prob(action)
ours = DiagonalGaussian.log_prob(logits, action)
print(f"torch.distributions: {theirs.sum():.3f}; the library: {ours:.3f}")
torch.testing.assert_close(ours, theirs.sum())
assert abs(ours.item() + 4.338) < 1e-3

# %% [markdown]
# ## A narrow policy has a long gradient
#
# The two *scores*, as in Williams (1992):
#
# $$\frac{\partial \log \pi}{\partial \mu} = \frac{z}{\sigma}, \qquad\qquad
#   \frac{\partial \log \pi}{\partial \log \sigma} = z^2 - 1 .$$
#
# If an action was good, the mean moves toward it. The deviation grows if the action was more than one $\sigma$ away,
# and shrinks if it was closer. $z$ has mean 0 and $z^2$ has mean 1, so both scores are 0 on average.
#
# **Predict.** Three policies aim at 0 with $\sigma$ = 1, 0.3, and 0.1. Whose scores are longest, and by what factor? Is
# it the same for both parameters?

# %% tags=["predict", "thumbnail", "hide-input"]
torch.manual_seed(1)
z = torch.randn(500)
figure, axes = plt.subplots(1, 2, figsize=(7.5, 2.2), sharey=True)
spread = {}
for row, sigma in enumerate((1.0, 0.3, 0.1)):
    logits = torch.tensor([0.0, math.log(sigma)]).expand(500, 2).clone().requires_grad_()
    (scores,) = torch.autograd.grad(DiagonalGaussian.log_prob(logits, (sigma * z).unsqueeze(1)).sum(), logits)
    spread[sigma] = scores.std(0).tolist()
    for axis, score in zip(axes, scores.T, strict=True):
        axis.scatter(score, row + 0.5 * (torch.rand(500) - 0.5), s=5, color=COLOR, alpha=0.4, lw=0)
axes[0].set_yticks(range(3), [f"σ = {sigma:g}" for sigma in spread])
axes[0].set(title="score of the mean", xlabel="score")
axes[1].set(title="score of log σ", xlabel="score", xlim=axes[0].get_xlim())
plt.show()
assert 9 < spread[0.1][0] / spread[1.0][0] < 11 and abs(spread[0.1][1] - spread[1.0][1]) < 0.01

# %% [markdown]
# The score of the mean grows as $1/\sigma$; the other one doesn't change. And each step of the mean counts for more:
# moving it by $\Delta$ costs a KL divergence of $\Delta^2 / 2\sigma^2$, a hundred times as much at $\sigma = 0.1$ as at
# 1. Adam doesn't help: the size of its steps hardly depends on that of the gradient. PPO relies on the clip.
#
# The **entropy** is $\log \sigma + \tfrac12 \log 2\pi e$ per dimension. It depends on the units of the action, and is
# negative below $\sigma \approx 0.24$, so only its changes mean something.
#
# ## In the library

# %%
normal = DiagonalGaussian
source(normal.sample, normal.log_prob, normal.entropy, Agent.policy)

# %% [markdown]
# `logits` is the library's name for whatever the net gives; here it's $\mu$, with $\log \sigma$ appended. The logarithm
# keeps $\sigma$ positive. It is one parameter per motor and **doesn't depend on the state**, as in Schulman et al.
# (2015, arXiv:1502.05477). Andrychowicz et al. (2020, arXiv:2006.05990) found no benefit in a $\sigma$ that does.
#
# ## The motor's limits
#
# A Gaussian has tails, and a motor doesn't. So an action is clipped on the way into the environment. The loop stores,
# and learns from, the action that was drawn. Think of the clip as part of the motor: the policy says 2.7, the motor
# does 2, and what follows is what 2.7 is worth.
#
# What if you put the clipped torque into the log-probability? Then the score is no longer 0 on average, but [a mean
# score of zero](01_baseline.ipynb) is what keeps a baseline free of bias. Let a torque $a$ earn
# $\operatorname{clip}(a)$ points, with $\mu = 1.5$ and $\sigma = 1$, and subtract three baselines $b$.

# %%
GRID = torch.linspace(-12, 12, 240_001, dtype=torch.float64)  # of z
LIMIT = 2.0


def mean_of(values):
    """The mean over a standard normal z, by a fine sum."""
    density = torch.exp(-GRID.square() / 2) / math.sqrt(2 * math.pi)
    return (values * density).sum().item() * 1e-4


drawn = 1.5 + GRID  # σ = 1
torque = drawn.clamp(-LIMIT, LIMIT)
# the derivative of clip(a) is 1 inside and 0 outside
exact = mean_of((drawn.abs() < LIMIT).double())

# %% tags=["hide-input"]
for b in (-3.0, 0.0, 3.0):
    right, wrong = (mean_of((torque - b) * (action - 1.5)) for action in (drawn, torque))
    print(f"b = {b:+.0f}: exact {exact:.3f}, with the drawn action {right:.3f}, with the clipped one {wrong:+.3f}")
    assert abs(right - exact) < 1e-3
    assert abs(wrong - exact) > 0.05

# %% tags=["hide-input"]
means = np.linspace(-1, 5, 61)
figure, axis = plt.subplots(figsize=(6.5, 2.4))
axis.plot(means, [mean_of((mu + GRID).clamp(-LIMIT, LIMIT) - mu) for mu in means], color=FAULT)
axis.axhline(0, color=COLOR)
axis.axvline(LIMIT, color=style.INK, lw=1)
axis.text(2.1, -2.9, "the motor's limit", color=style.INK)
axis.text(4.9, 0.1, "the drawn action", color=COLOR, ha="right", va="bottom")
axis.text(5.1, -1.2, "the clipped action", color=FAULT, ha="right")
axis.set(xlabel="mean of the policy (N·m)", ylabel="mean score", ylim=(-3.2, 0.6))
plt.show()

# %% [markdown]
# With the drawn action the gradient is exact for any baseline. With the clipped one, it can even have the wrong sign.
# Once the mean is beyond the limit, *every* action has a score that points back. Let the value net expect too much of
# that state, and "less of this" pushes the mean farther out. Here are five agents on Pendulum, each to be stopped if a
# number overflows:


# %%
def play_clipped(player, policy, rows, active):
    rollout = play_episodes(player, policy, rows, active)
    return replace(rollout, action=rollout.action.clamp(-2, 2))


config = Config("Pendulum-v1", seeds=5, steps=20_000, gamma=0.9, lr=0.01)
with planted(play_episodes=play_clipped):  # this function in place of the loop's own
    runaway = train(config, named("gae"))

# %% tags=["hide-input"]
caption(
    f"Stopped: {len(runaway.diverged)} of 5 agents, at step {', '.join(map(str, sorted(runaway.diverged.values())))}."
)
assert len(runaway.diverged) >= 3

# %% [markdown]
# A clipped action can also get the whole probability of the tail (Fujita & Maeda 2018, arXiv:1802.07564). Or squash it
# by $\tanh$: see *Going further*.
#
# ## How wide to begin
#
# Fifteen agents train on Pendulum as [one stack](24_seeds_as_an_axis.ipynb), with the flags up to `gae`: five start
# with $\sigma$ = 0.3, five with the usual 1, five with 3.
#
# **Predict.** Which learn first, and which not at all?

# %%
STARTS = (0.3, 1.0, 3.0)
wide = replace(config, seeds=15, steps=60_000)


def start_apart(*arguments):
    agent = build_agent(*arguments)
    log_std = torch.tensor(STARTS).log().repeat_interleave(5)
    agent.log_std.data[:, 0, 0] = log_std  # [S, 1, A]
    return agent


with planted(build_agent=start_apart):
    everyone = train(wide, named("gae"))

# %% tags=["predict", "hide-input"]
figure, axes = plt.subplots(1, 2, figsize=(8.5, 2.8))
runs, late = {}, {}
for k, start in enumerate(STARTS):
    mine = everyone.curve[everyone.curve.seed.between(5 * k, 5 * k + 4)]
    runs[f"from σ = {start:g}"] = replace(everyone, curve=mine)
    late[start] = everyone.late().iloc[5 * k : 5 * k + 5].mean()
    sigma = np.exp(mine.groupby("update").entropy.mean() - 0.5 * math.log(2 * math.pi * math.e))
    axes[1].plot(mine.groupby("update").step.mean() / 1000, sigma, color=style.OTHERS[k])
curves(runs, axes[0])
axes[1].set(yscale="log", xlabel="environment steps (thousands)", ylabel="σ (N·m)", xlim=(0, 60))
axes[1].set_yticks([0.3, 1, 3], ["0.3", "1", "3"])
axes[1].minorticks_off()
plt.show()
assert late[0.3] < -1200 < -800 < min(late[1.0], late[3.0])

# %% tags=["predict", "hide-input"]
angle, speed = torch.rand(2, 2000) * 2 - 1
states = torch.stack([(math.pi * angle).cos(), (math.pi * angle).sin(), 8 * speed], -1)
mean, log_std = everyone.agent.policy(states.expand(15, -1, -1)).detach().chunk(2, -1)
stuck = (mean.abs() > 2 + 2 * log_std.exp()).float().mean((1, 2)).view(3, 5).mean(1)
shares = ", ".join(f"{share:.0%} from σ = {start:g}" for share, start in zip(stuck.tolist(), STARTS, strict=True))
caption(f"States in which practically every draw is full torque: {shares}.")
assert stuck[0] > 2 * stuck[1:].max()

# %% [markdown]
# At this learning rate, the narrow ones fail. Adam's steps are as long as at $\sigma = 1$, so about three times as long
# in units of $\sigma$. The mean ends up far beyond the limit, where every draw is full torque, and there is nothing to
# compare. The other ten learn, and their $\sigma$ falls only as the return rises.
#
# Wider isn't always better: Andrychowicz et al. recommend *decreasing* the first $\sigma$ on their locomotion tasks.
# Compare it with the range of the actions, and tune it (`log_std_init` in `Config`).
#
# ## Every trick on Pendulum
#
# *Next rung* adds a trick to all those before it; *taken out* removes it from the full set, with what needs it. Filled
# dots are effects detected, and again on other seeds.

# %% tags=["hide-input"]
DESIGNS = {"ladder": "next rung", "leave-one-out": "taken out"}
found = all_effects()
found = found[(found.env == "Pendulum-v1") & found.design.isin(DESIGNS)]
found = found.assign(design=found.design.map(DESIGNS))
names = list(dict.fromkeys(found.trick))
figure, axes = plt.subplots(1, 2, figsize=(7.5, 3.9), sharex=True, sharey=True)
for axis, design in zip(axes, DESIGNS.values(), strict=True):
    rows = found[found.design == design]
    draw_effects(axis, rows.assign(full=rows.detected.ne(0) & rows.confirmed.eq(1)), names)
    axis.set_title(design)
figure.supxlabel(ADDS, size=plt.rcParams["axes.labelsize"])
plt.show()

# %% tags=["hide-input"]
clip = found[found.trick == "clip"]
assert (clip.detected == 1).all()
assert (clip.difference > 0.3).all()
hurts = found[(found.verdict == "hurts") & (found.confirmed == 1)]
assert hurts.trick[hurts.design == "next rung"].tolist() == ["advantage_norm"]
assert {*hurts.trick[hurts.design == "taken out"]} == {"orthogonal_init", "state_norm", "value_clip"}
assert hurts.difference[hurts.design == "taken out"].between(-0.08, 0).all()
rungs = found[found.design == "next rung"].set_index("trick").difference
assert rungs.idxmax() == "clip" and rungs["clip"] > 2 * rungs.drop("clip").max()
(study,) = (study for study in studies() if study.env == "Pendulum-v1")
(alone,) = (design for design in study.designs if design.name == "add-one-in")
best = max(area(study.grid(arm.tricks)).mean() for arm in alone.arms)
assert SCALES[study.env].random < best < SCALES[study.env].random + 50
assert effects(study, alone).detected.eq(0).all()

# %% [markdown]
# The [clip](03_clip.ipynb) does most on its rung. Our reading: nothing else in this set limits how far a Gaussian may
# move. [Advantage normalization](06_advantage_norm.ipynb) hurts on its rung. In the full set, [orthogonal
# initialization](05_orthogonal_init.ipynb), [state normalization](07_state_norm.ipynb), and [value
# clipping](15_value_clip.ipynb) each cost a little, less than 0.08. Added to REINFORCE alone, no trick takes an agent
# far beyond a random policy, so there we can't tell.
#
# A Gaussian is the wrong family where two different actions are right: left or right around an obstacle, with the
# obstacle as their mean. And a diagonal one scatters each motor by itself, even where they must act together.

# %% [markdown]
# ## At a glance
#
# | | |
# |---|---|
# | **problem** | a softmax needs a list of actions, not real numbers |
# | **formula** | $\log \pi(a \mid s) = -\sum_i \big( \tfrac12 z_i^2 + \log \sigma_i + \tfrac12 \log 2\pi \big)$, $\;z_i = (a_i - \mu_i(s)) / \sigma_i$ |
# | **in the loop** | `log_prob, entropy = family.log_prob(logits, b.action), family.entropy(logits)` |
# | **defaults** | the net gives $\mu$; $\log \sigma$ is learned for all states alike, starting at 0 |
# | **watch** | `entropy`, which is $\log \sigma$ plus a constant: it should not fall before the return rises |
# | **skip it when** | there are a few discrete actions |
# | **evidence** | `squash`: Not tried in the usual environments. It helps in the one world made for it, as predicted. |
# | **also called** | diagonal Gaussian policy; `Normal` with `Independent` in PyTorch |

# %% [markdown]
# ## Exercises
#
# **Exercise 1: write it.** Both scores of every action: of $\mu$, then of $\log \sigma$.


# %%
def my_scores(mean, log_std, action):  # [B, A] each -> [B, A], [B, A]
    ...


check_scores(my_scores)

# %% [markdown]
# <details><summary>Hint</summary>
#
# Compute $z$ first. Nothing is summed: each dimension has its own $\mu$ and $\sigma$.
#
# </details>
#
# **Exercise 2: think.** Somebody measures torques in thousandths of a newton meter. (a) A policy acts just as before.
# What happens to $\log \pi$, to the entropy, and to the ratio? (b) A new agent starts with the library's defaults. Does
# its training change?
#
# <details><summary>Answer</summary>
#
# (a) $\log \pi$ drops by $\log 1000$ per dimension, and the entropy rises by as much; the ratio stays. (b) It does: the
# net still starts with $\sigma = 1$, now a thousandth of a newton meter. The motor hardly moves, so no action looks
# better than another.
#
# </details>

# %% [markdown]
# **Exercise 3: spot the bug.** This author stores the drawn action, which is right, but computes the old
# log-probability from what the motor did.

# %%
source(log_prob_of)

# %%
right = train(config, named("gae")).curve
with planted(old_log_prob=log_prob_of):
    faulty = train(config, named("gae")).curve
right, faulty = right[right.step > 16_000], faulty[faulty.step > 16_000]
right, faulty = right.groupby("seed").mean(), faulty.groupby("seed").mean()

# %% tags=["hide-input"]
for name, late in (("right", right), ("with the bug", faulty)):
    print(f"{name}, at the end:\n{late[['return', 'max_ratio', 'approx_kl', 'clip_fraction']].round(3).to_string()}\n")
assert faulty.approx_kl.median() > 3 * right.approx_kl.median()

# %% [markdown]
# A missing seed was stopped. Some agents no longer move at all. How can `max_ratio` be 1.00 while `approx_kl` says that
# the policy is far from the one that played? And what should both be before the first gradient step?
#
# <details><summary>Hint</summary>
#
# Take an action of 2.7, a policy that hasn't moved, and write down its ratio.
#
# </details>
#
# Solutions: [`solutions/21_continuous_actions.py`](solutions/21_continuous_actions.py). Next:
# [memory](22_recurrent.ipynb).

# %% [markdown]
# ## Going further
#
# ### Squash: a limit inside the policy
#
# Draws of 5 and of 50 are the same torque, but the Gaussian's entropy counts them as different: it grows with $\log
# \sigma$ without end. So an [entropy bonus](10_entropy.ipynb) always pays for scattering more widely.
#
# In the world Dial, you set a dial within ±1, see a target within ±½, and earn $1 - (\text{dial} - \text{target})^2$.
# Random settings earn 0.58.
#
# **Predict.** Advantages are around 1, and the bonus is large: $c_2 = 0.3$. What does an agent earn?

# %%
dial = Config("tricks/Dial-v0", seeds=5, steps=60_000, lanes=32, horizon=32, lr=0.01)
dial = replace(dial, hidden=(32, 32), entropy_coef=0.3)
cut = replace(named("gae"), advantage_norm=True, segments=True, entropy=True)
dialers = {
    "cut off": train(dial, cut),
    "squashed": train(dial, replace(cut, squash=True)),
}

# %% tags=["predict", "hide-input"]
figure, axes = plt.subplots(1, 2, figsize=(8.5, 2.5))
ends = {}
for (name, run), color in zip(dialers.items(), (FAULT, COLOR), strict=True):
    curve = run.curve.groupby("update").mean()
    axes[0].plot(curve.step / 1000, curve["return"] / 10, color=color, label=name)  # ten steps an episode
    axes[1].plot(curve.step / 1000, curve.action_std, color=color, label=name)
    ends[name] = run.curve[run.curve.step > 54_000].mean()
axes[0].set(xlabel="environment steps (thousands)", ylabel="reward per step")
axes[1].set(xlabel="environment steps (thousands)", ylabel="σ", yscale="log")
label_lines(axes[0])
plt.show()
caption(f"Cut off, {ends['cut off'].action_clip_fraction:.0%} of the draws end up beyond the bounds.")
assert ends["cut off"]["return"] < 2 and ends["cut off"].action_clip_fraction > 0.9
assert ends["squashed"]["return"] > 6.5 and ends["squashed"].action_clip_fraction == 0

# %% [markdown]
# Worse than chance: nearly all draws of the first agent are at one end or the other. For the second, the flag `squash`
# replaces the cut:
#
# $$a = c + h \tanh u, \qquad u \sim \mathcal{N}(\mu, \sigma^2), \qquad \text{for the bounds } c \pm h .$$
#
# Now $\pi$ is the density of what the motor really does. A slice $du$ becomes a slice $da = h\,(1 - \tanh^2 u)\, du$
# with the same probability, so the density grows by $du/da$:
#
# $$\log \pi(a) = \log \mathcal{N}(u) - \sum_i \log\big(1 - \tanh^2 u_i\big) - \sum_i \log h_i .$$

# %% tags=["open"]
motor = SquashedGaussian((-2.0,), (2.0,))
ours = motor.log_prob(torch.zeros(2), torch.ones(1)).item()
stretch = torch.distributions.AffineTransform(0.0, 2.0)
squashed = torch.distributions.TransformedDistribution(
    torch.distributions.Normal(0.0, 1.0), [torch.distributions.TanhTransform(), stretch]
)
theirs = squashed.log_prob(motor.played(torch.ones(1))).item()
assert abs(ours + 1.2445) < 1e-3 and abs(ours - theirs) < 1e-5

# %% [markdown]
# **Keep $u$, not $a$.** Beyond $u \approx 9$, $\tanh u$ is exactly 1 in float32, so a stored action can't say what $u$
# was. The slope rounds to 0, but its logarithm has a form that doesn't. With $\operatorname{softplus}(x) = \log(1 +
# e^x)$, so that $\operatorname{softplus}(-2u) = -\log \operatorname{sigmoid}(2u)$,
#
# $$\log(1 - \tanh^2 u) = 2\,\big(\log 2 - u - \operatorname{softplus}(-2u)\big) .$$

# %% tags=["open"]
u = torch.tensor([1.0, 4.0, 8.0, 12.0])
back, naive = u.tanh().atanh(), (1 - u.tanh() ** 2).log()
stable = log_slope(u)
for k in range(4):
    slopes = f"log slope {naive[k]:.3f}, in the stable form {stable[k]:.3f}"
    print(f"u = {u[k]:2g}: back from tanh {back[k]:.3f}; {slopes}")
assert back[3].isinf() and naive[3].isinf()
assert abs(stable[3] + 24 - 2 * math.log(2)) < 1e-4

# %%
source(log_slope, SquashedGaussian)

# %% [markdown]
# **What the correction changes.** Neither the ratio nor the gradient of $\log \pi$: it depends on $u$ and on no weight.

# %% tags=["open"]
torch.manual_seed(0)
old = 0.3 * torch.randn(1000, 2)  # μ and log σ of a thousand policies
new = old + 0.1 * torch.randn(1000, 2)
u = motor.sample(old, torch.randn(1000, 1))
plain = (DiagonalGaussian.log_prob(new, u) - DiagonalGaussian.log_prob(old, u)).exp()
bent = (motor.log_prob(new, u) - motor.log_prob(old, u)).exp()
difference = (bent - plain).abs().max()
assert difference < 1e-5 and plain.std() > 0.05

# %% [markdown]
# What changes is the **entropy**: it's that of the Gaussian plus the mean of $\log(1 - \tanh^2 u)$, plus $\sum_i \log
# h_i$. The mean of $-\log \pi(a)$ over stored actions has a gradient that is 0 on average, so as a bonus it would pull
# nowhere. The library sums over 33 points within ±5.5 σ instead.

# %%
source(mean_log_slope)

# %% tags=["hide-input"]
sigma = torch.logspace(-1.3, 1, 100)
output = torch.stack([torch.zeros(100), sigma.log()], 1)
curves_of = {"Gaussian": (DiagonalGaussian.entropy(output), FAULT), "squashed": (motor.entropy(output), COLOR)}
figure, axis = plt.subplots(figsize=(6.5, 2.6))
for name, (entropy, color) in curves_of.items():
    axis.plot(sigma, entropy, color=color, label=name)
axis.axhline(math.log(4), color=style.INK, lw=1)
axis.text(0.06, math.log(4) + 0.1, "any torque within ±2 alike", color=style.INK)
axis.set(xscale="log", xlabel="σ, for a mean of 0", ylabel="entropy (nats)", ylim=(-2, 4))
label_lines(axis)
plt.show()
most = curves_of["squashed"][0].argmax()
assert 0.8 < sigma[most] < 0.95 and 0 < math.log(4) - curves_of["squashed"][0][most] < 0.02

# %% [markdown]
# The squashed entropy has a top, just below that of the uniform distribution. Wider than that, the entropy *falls*, and
# the bonus pulls $\sigma$ back.
#
# Skip it where the best action is a bound: $\tanh$ gets there only in the limit. Where there is no bound, the flag
# refuses.

# %% tags=["hide-input"]
found = evidence("squash")
found

# %% tags=["hide-input"]
(trial,) = found.worlds.itertuples()
assert trial.lr_with > 10 * trial.lr_without
worth = [float(dose.split(":")[1]) for dose in trial.doses.split()]
assert worth == sorted(worth) and abs(worth[0]) < 0.02 < worth[-1]

# %% [markdown]
# The larger the bonus, the more the flag is worth.
#
# **Exercise 4: write it.** The correction for $\tanh$, $\log(1 - \tanh^2 u)$ for each $u$, as far out as $u = \pm 30$.


# %%
def my_log_slope(u):  # [B] -> [B]
    ...


check_log_slope(my_log_slope)

# %% [markdown]
# <details><summary>Hint</summary>
#
# $1 - \tanh^2 u = 1 / \cosh^2 u = 4 / (e^u + e^{-u})^2$. Take $e^u$ out of the bracket before you take the logarithm;
# `torch.nn.functional.softplus` does the rest.
#
# </details>
#
# What this does on robots: [the appendix](a8_robots.ipynb).

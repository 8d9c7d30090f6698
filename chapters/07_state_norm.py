# %% [markdown]
# # State normalization: the same cart, measured in millimeters
#
# *Why should a net care which units the world is measured in?*
#
# A cart at 0.3 m and a cart at 300 mm are in the same place. Physics doesn't care, but a net does: its first weights
# and its steps were sized for inputs around 1.

# %% tags=["hide-input"]
from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np
import torch

from ablations import flags, rows_of, style
from chapters.book import begin, caption, curves, evidence, planted
from chapters.book.results import trials
from chapters.exercises.state_norm import check_merged, merge_the_batch
from tricks import Config, diff, source, train
from tricks.core.agent import Agent
from tricks.core.moments import Moments
from tricks.core.rollout import Batch, Player, play_episodes
from tricks.envs.make import make_env
from tricks.ladder import named, switched
from tricks.state_norm import ObsStats, merge_moments

begin()
TRICK, ODD = style.COLORS["state_norm"], "#EE7733"

# %% [markdown]
# ## One cart, two rulers
#
# CartPole measures in meters and radians. `CartPoleOddUnits` measures in millimeters, from a wall 5 m away, and in full
# turns. So the position is about 5000, and the angle varies by about 0.015.
#
# How well does a fresh policy net hear a feature? Toss a coin for every push, change the feature by one standard
# deviation, and measure how far the preference for "right" over "left" moves.
#
# **Predict.** By what factor is the angle, which matters most, fainter in odd units? The units alone would say $2\pi$.

# %% tags=["hide-input"]
FEATURES = ("position", "speed", "angle", "angular speed")
config = Config("tricks/CartPoleOddUnits-v0", seeds=10, steps=30_000, lanes=32, horizon=32, lr=0.003)
env = make_env(replace(config, seeds=5))


def coin(obs, legal):
    """Logits of a policy without a preference."""
    return torch.zeros(legal.shape)


everyone = torch.ones(5, dtype=torch.bool)
batch = Batch.of(play_episodes(Player(env, block=32), coin, rows=1024, active=everyone))
odd = batch.obs[0][batch.valid[0]]  # [rows, 4], of the first seed
usual = torch.stack([odd[:, 0] / 1000 - 5, odd[:, 1] / 1000, odd[:, 2] * 6.2832, odd[:, 3] * 6.2832], 1)

assert 4900 < odd[:, 0].mean() < 5100
assert 0.012 < odd[:, 2].std() < 0.018

# %% tags=["hide-input"]
net = Agent(env.spaces, replace(config, seeds=5))[0]


def first_layer(states):
    weight, bias = net.policy_net.layers[0]
    return torch.tanh(states @ weight[0] + bias[0]).detach()  # [rows, 64]


def hearing(states):
    """Mean |∂(preference)/∂feature| × the feature's standard deviation: [4]."""
    states = states.clone().unsqueeze(0).requires_grad_()
    logits = net.policy(states)
    (slope,) = torch.autograd.grad((logits[..., 1] - logits[..., 0]).sum(), states)
    return (slope[0].abs().mean(0) * states[0].std(0)).detach()


# %% tags=["predict", "hide-input"]
figure, (left, right) = plt.subplots(1, 2, figsize=(7.5, 2.8))
for states, color in ((odd, ODD), (usual, style.SOFT)):
    left.hist(first_layer(states).flatten(), bins=40, range=(-1, 1), density=True, color=color, alpha=0.7)
left.text(-0.93, 9.0, "odd units", color=ODD, weight="bold")
left.text(0, 2.2, "usual units", color=style.SOFT, weight="bold", ha="center")
left.set(xlabel="output of a first-layer unit", ylabel="density")

places = np.arange(4)
right.scatter(hearing(usual), places, color=style.SOFT, s=50)
right.scatter(hearing(odd), places, color=ODD, s=50)
right.set_yticks(places, FEATURES)
right.set(
    xscale="log", xlabel="change of preference (logits)\nper standard deviation", ylim=(3.5, -0.5), xlim=(1e-7, 1)
)
plt.show()

flat = (1 - first_layer(odd).square() < 1e-6).float().mean()
fainter = hearing(usual)[2] / hearing(odd)[2]
caption(f"The angle is {fainter:,.0f} times fainter; tanh has a slope below a millionth at {flat:.1%} of the outputs.")
weight, bias = (each[0].detach() for each in net.policy_net.layers[0])  # [4, 64] and [1, 64]
flipped = ((weight[1] * odd[:, 1].std()).abs() > (odd.mean(0) @ weight + bias[0]).abs()).float().mean()
assert flat > 0.98 and 0.02 < flipped < 0.1
assert fainter > 1000
size = 0.003 * odd.square().mean(0).sqrt()  # how far one step of Adam moves a unit's input, by feature
assert 10 < size[0] < 20 and 20_000 < 1 / size[2] < 50_000

# %% [markdown]
# The first layer computes $\tanh(w\cdot s+b)$ in 64 units. A tanh only bends within about ±3. Outside it is flat, and
# its slope is a factor in every gradient. In odd units nearly all outputs sit at −1 or 1, where the angle can't move
# them. Only the speed can flip a few units in a hundred.
#
# **Won't the net learn its way out?** Adam moves each weight by about the learning rate $\alpha$, so one step moves a
# unit's input by about $\alpha\,|s|$. With $\alpha=0.003$, the position throws a unit across the tanh in a single step,
# while the angle needs tens of thousands, all in one direction. **No learning rate is right for both.**
#
# ## Standardize by everything seen so far
#
# Subtract the mean, divide by the standard deviation. Nobody knows these in advance, so they are learned along the way.
# Instead of $s$, show the nets
#
# $$\hat s=\operatorname{clip}\!\left(\frac{s-\mu}{\sqrt{\sigma^2+\varepsilon}},\;-10,\;10\right),$$
#
# with each feature's mean $\mu$ and variance $\sigma^2$ over **everything seen so far**. Three numbers are enough: the
# count $n_1$, the mean $m_1$, and the sum of squared deviations $M_1=\sum(x-m_1)^2$. A new batch has $n_2$, $m_2$, and
# $M_2$. With $n=n_1+n_2$ and $\delta=m_2-m_1$, the means are weighted by their counts:
#
# $$m=\frac{n_1m_1+n_2m_2}{n}=m_1+\delta\,\frac{n_2}{n}.$$
#
# Measured from $m$ instead of its own mean, a set's sum of squared deviations grows by its count times the squared
# distance between the two: deviations from its own mean cancel in the mixed term. The distances are $\delta\,n_2/n$ and
# $\delta\,n_1/n$, so
#
# $$M=M_1+M_2+\delta^2\,\frac{n_1n_2^2+n_2n_1^2}{n^2}=M_1+M_2+\delta^2\,\frac{n_1n_2}{n}.$$
#
# This is **the spread within the two sets, plus the spread between their means**, and $\sigma^2=M/n$ (Welford 1962; for
# batches, Chan, Golub & LeVeque 1979).

# %%
source(merge_moments, Moments, ObsStats.forward)


# %% tags=["hide-input"]
def as_rows(*numbers):
    """As [S, B, D] = [1, B, 1], and which of them count: all."""
    rows = torch.tensor(numbers).view(1, -1, 1)
    return rows, torch.ones(1, len(numbers), dtype=torch.bool)


moments = Moments.empty(1, 4)
for part in odd.split(100):  # in small batches ...
    moments = merge_moments(moments, part.unsqueeze(0), torch.ones(1, len(part), dtype=torch.bool))
torch.testing.assert_close(moments.mean[0], odd.double().mean(0))  # ... and all at once
torch.testing.assert_close(moments.variance[0], odd.double().var(0, correction=0))

# %% [markdown]
# Each of $S$ agents has its own statistics of $D$ features. Here are the four in odd units, and as the net sees them
# now. Gray is where a tanh bends.

# %% tags=["thumbnail", "hide-input"]
mean, scale = moments.view()
seen = ((odd - mean[0]) * scale[0]).clamp(-10, 10)

figure, axes = plt.subplots(1, 2, figsize=(7, 2.8), sharey=True)
for axis, states in zip(axes, (odd, seen), strict=True):
    axis.axvspan(-3, 3, color=style.FAINT, alpha=0.6, lw=0)
    for row, column in enumerate(states.T):
        height = row + 0.55 * (torch.rand(len(column)) - 0.5)
        axis.scatter(column, height, s=3, color=TRICK, alpha=0.35, lw=0)
axes[0].set_xscale("symlog", linthresh=1)
axes[0].set_xticks([-1000, -1, 0, 1, 1000], ["−1000", "−1", "0", "1", "1000"])
axes[0].set_yticks(range(4), FEATURES)
axes[0].set(xlabel="as the world gives it", ylim=(3.5, -0.5), xlim=(-1e4, 1e4))
axes[1].set(xlabel="as the net sees it", xlim=(-6, 6))
plt.show()

assert hearing(seen).min() > 1e-2

# %% [markdown]
# ## Three ways to get it wrong
#
# **Dividing by almost nothing.** A feature that hasn't moved yet has variance 0. With $\varepsilon=10^{-8}$, its first
# movement is multiplied by $10^4$. Hence the clip at ±10.

# %% tags=["hide-input"]
_, scale = merge_moments(Moments.empty(1, 1), *as_rows(*[3.0] * 50)).view()
assert abs(scale.item() - 1e4) < 1

# %% [markdown]
# **Updating while you look.** If you update the statistics in the function that normalizes a state, the policy changes
# without any gradient step. But on a batch's first minibatch, the ratio $\rho=\pi(a|s)/\pi_{\text{old}}(a|s)$ **must be
# 1** ([reuse](02_reuse.ipynb)). Here is an agent that updates as it looks, with one minibatch per batch.


# %%
class RestlessStats(ObsStats):
    def forward(self, obs):
        everything = torch.ones(obs.shape[:2], dtype=torch.bool)
        self.moments = merge_moments(self.moments, obs, everything)
        return super().forward(obs)


one_step = Config("CartPole-v1", seeds=5, steps=6_000, lr=0.01, epochs=1, minibatches=1)
with planted(ObsStats=RestlessStats):
    restless = train(one_step, named("state_norm"))
calm = train(one_step, named("state_norm"))

# %% tags=["hide-input"]
caption(f"Largest first ratio: {calm.curve.max_ratio.max():.3f} frozen, {restless.curve.max_ratio.max():.3f} restless.")
assert abs(calm.curve.max_ratio - 1).max() < 1e-4
assert restless.curve.max_ratio.max() > 1.003

# %% [markdown]
# It's only a few percent here. But where features drift quickly, the clip on $\rho$ could act before anything is
# learned. So in the library, statistics move once per update, after the last gradient step.
#
# **Forgetting to save them.** The weights are worthless without their statistics. So these are saved with the agent,
# and frozen when you evaluate it.
#
# With `obs_decay` $d$, the past fades: $n_1$ and $M_1$ are multiplied by $1-d$ before each merge. The default is 0.
#
# In the loop, two lines are new. `batch.obs` holds raw observations.

# %%
diff(named("advantage_norm"), named("state_norm"))

# %% [markdown]
# ## What they are worth
#
# Ten agents learn to balance in odd units with the trick, and ten without, at a learning rate that suits agents
# *without* it.

# %% tags=["hide-input"]
plain = switched(("baseline", "reuse", "clip", "gae", "advantage_norm"))
normed = switched((*plain.on, "state_norm"))
stored = evidence("state_norm").worlds.set_index("world").loc[config.env]
tuned = rows_of(config.env, stored.steps, stored.numbers, flags(plain)).set_index("lr").area
assert tuned[config.lr] > tuned.max() - 1
without, having = train(config, plain), train(config, normed)

curves({"without": without, "state_norm": having})
plt.show()

assert having.late().min() > 2 * without.late().max()

# %% [markdown]
# Now take the statistics away from the trained agents, as a saved file without them would:

# %% tags=["open"]
complete = having.evaluate(episodes=20).mean()
stats, having.agent.obs_stats = having.agent.obs_stats, None  # it sees raw states now
bare = having.evaluate(episodes=20).mean()
having.agent.obs_stats = stats
print(f"evaluated with its statistics: {complete:.0f} points per episode", end="; ")
print(f"the same weights without them: {bare:.0f}")
assert bare < 0.3 * complete

# %% [markdown]
# If something trains well and evaluates badly, check this first.
#
# ## Your units are not ours

# %% tags=["hide-input"]
evidence("state_norm").strip()
plt.show()

# %% [markdown]
# It helps in odd units, and in a run that the strip doesn't show, even in milder ones. In the usual units, it helps on
# LunarLander, added to REINFORCE or as the next rung; it hurts in the full sets of CartPole and Pendulum, and we don't
# know why. All of this was confirmed on other seeds, except the milder units and a gain for REINFORCE on CartPole. In
# `Loan0Pay0.1`, where units are good already, it changes practically nothing, as we predicted.

# %% tags=["hide-input"]
found = evidence("state_norm")
outcome, _ = (each for each in trials() if each.trial.trick == "state_norm")
gains = {each.dose.size: each.effect for each in outcome.at_every_dose}
assert gains[1].low > 0 and gains[1].high < gains[10].low
(cue,) = found.worlds[found.worlds.predicted == 0].itertuples()

assert cue.verdict == "practically nothing" and max(-cue.low, cue.high) < 0.004
hurts = found.table[found.table.detected < 0]
assert sorted(hurts.env) == ["CartPole-v1", "Pendulum-v1"] and set(hurts.kind) == {"in the full set"}
usual = found.table[found.table.subject == "ladder"]
assert usual.env[usual.detected > 0].tolist() == ["CartPole-v1", "LunarLander-v3", "LunarLander-v3"]
assert usual[usual.detected != 0].confirmed.tolist() == [0, 1, 1, 1, 1]
robots = found.table[found.table.subject == "continuous"].set_index("env").verdict
assert robots.to_dict() == {"Hopper-v5": "unknown", "Walker2d-v5": "helps", "HalfCheetah-v5": "helps"}
assert (found.table.verdict == "unknown").sum() > 0.5 * (found.table.detected == 0).sum()

found

# %% [markdown]
# On continuous control, Andrychowicz et al. (2020, arXiv:2006.05990) find this trick crucial on 4 of 5 tasks, not on
# Hopper; here it helps on HalfCheetah and Walker2d, and these seeds can't tell on Hopper.
#
# Print *your* features' means and deviations; that tells you more than any benchmark. Leave the trick off
#
# - **where units are good already.** Then all it adds is motion: as the statistics drift, a state that hasn't changed
#   looks different to the net.
# - **where limits are known.** Divide an angle by π once and for all.
# - **where sizes mean something across features,** as in pixels.
# - **for one-hot features.** One that is on in 1 of 1000 rows is then 32 standard deviations from its mean.

# %% tags=["hide-input"]
mean, scale = merge_moments(Moments.empty(1, 1), *as_rows(1.0, *[0.0] * 999)).view()
assert round(((1 - mean) * scale).item()) == 32

# %% [markdown]
# ## At a glance
#
# | | |
# |---|---|
# | **problem** | large features saturate the net; small ones aren't heard |
# | **formula** | $\hat s=\operatorname{clip}\big((s-\mu)/\sqrt{\sigma^2+\varepsilon},\,\pm10\big)$, over all states so far |
# | **in the loop** | `follow_observations_(agent, batch, config.obs_decay)` |
# | **defaults** | $\varepsilon=10^{-8}$; statistics move after the last gradient step |
# | **watch** | `max_ratio`: with one epoch and one minibatch, it must be 1 |
# | **skip it when** | features are around 1, one-hot, or pixels, or their limits are known |
# | **evidence** | Helps alone in LunarLander; as the next rung in LunarLander; on robots (at one rate; once) in Walker2d, HalfCheetah. Hurts in the full set in CartPole, Pendulum. Practically nothing in the full set in Acrobot. In 2 of 8 environments, these runs can't tell. It helps in 1 of 2 trials in worlds made for it, as predicted. |
# | **also called** | observation normalization: `VecNormalize` in stable-baselines3, `NormalizeObservation` in Gymnasium |

# %% [markdown]
# ## Exercises
#
# **Exercise 1: write it.** Merge two sets of numbers, each given as (count, mean, sum of squared deviations).


# %%
def merged(a, b):  # each (n, mean, squares) -> (n, mean, squares) of both sets together
    ...


check_merged(merged)

# %% [markdown]
# <details><summary>Hint</summary>
#
# Start with `n` and `delta`. The squares are a sum of three terms.
#
# </details>
#
# **Exercise 2: think.** You average the batches' *standard deviations*, instead of merging variances, and $\{0, 0\}$
# and $\{10, 10\}$ arrive. What do you divide by, and what should you divide by? Where in training would such batches
# come from?
#
# <details><summary>Answer</summary>
#
# You divide by 0 (or by ε). The four numbers have standard deviation 5, and all of that lies between the batches.
# Learning produces such batches: as the policy improves, the cart visits different places.
#
# </details>

# %% [markdown]
# **Exercise 3: spot the bug.** Here is another `merge_moments`; it runs without an error or NaN. Below are the
# coin-toss states from the start of this chapter, as the nets of trained agents see them.

# %%
source(merge_the_batch)

# %%
with planted(merge_moments=merge_the_batch):
    faulty = train(replace(config, seeds=5, steps=8_000), normed)


def as_seen(agent):
    """Mean and deviation of the coin's states as this agent's nets see them: [2, 4]."""
    states = torch.tensor(odd.tolist()).expand(len(agent.seeds), -1, -1)
    features = agent.standardized(states).flatten(0, 1)
    return torch.stack([features.mean(0), features.std(0)])


# %% tags=["hide-input"]
print(f"{'':12}" + "".join(f"{name:>16}" for name in FEATURES))
for name, run in (("right", having), ("with the bug", faulty)):
    print(f"{name:12}" + "".join(f"{m:9.2f} ± {s:.2f}" for m, s in as_seen(run.agent).T))
assert as_seen(faulty.agent)[1, 2] < 0.3
assert as_seen(having.agent)[1, 2] > 0.6

# %% [markdown]
# Which numbers give the bug away, and what should they be? Which feature has the worst deviation? Even the right
# statistics don't give exactly 0 ± 1, since they cover other states.
#
# <details><summary>Hint</summary>
#
# Follow one feature with mean 5000 and standard deviation 100 through two batches by hand.
#
# </details>
#
# Solutions: [`solutions/07_state_norm.py`](solutions/07_state_norm.py). Next: [return
# normalization](08_return_norm.ipynb), the same for the outputs.

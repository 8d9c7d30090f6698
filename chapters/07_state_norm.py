# %% [markdown]
# # State normalization: the same cart, measured in millimeters
#
# *Why should a net care which units the world is measured in?*
#
# A cart at 0.3 m and a cart at 300 mm are in the same place. Physics doesn't care, but a neural net does: the sizes of
# its first weights and of its steps were chosen for inputs around 1.

# %% tags=["hide-input"]
from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np
import torch

from ablations import effects_by_rate, flags, rows_of, style
from chapters.book import begin, curves, evidence, planted, studies
from chapters.book.results import trials
from chapters.exercises.state_norm import check_merged, merge_the_batch
from tricks import Config, diff, source, train
from tricks.core.agent import Agent
from tricks.core.moments import Moments
from tricks.core.nets import mlp
from tricks.core.rollout import Batch, Player, play_episodes
from tricks.core.seeds import stream
from tricks.envs.make import make_env
from tricks.ladder import named, switched
from tricks.orthogonal_init import orthogonal_
from tricks.state_norm import ObsStats, merge_moments

begin()
TRICK, ODD = style.COLORS["state_norm"], "#EE7733"

# %% [markdown]
# ## One cart, two rulers
#
# CartPole measures in meters and radians, and speeds in meters or radians per second. `CartPoleOddUnits` measures in
# millimeters, from a wall 5 m away, and in full turns. Toss a coin for every push:

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

for name, column, meters in zip(FEATURES, odd.T, usual.T, strict=True):
    ours, theirs = (f"{x.mean():8.3f} ± {x.std():7.3f}" for x in (column, meters))
    print(f"{name:14} odd units {ours}   usual units {theirs}")
assert odd[:, 0].mean() > 4000
assert odd[:, 2].std() < 0.05

# %% [markdown]
# How well does a fresh policy net hear a feature? Change it by one standard deviation, and measure how far the
# preference for "right" over "left" moves.
#
# **Predict.** By what factor is the angle, which matters most, fainter in odd units? (The units alone would say
# $2\pi$.)

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
right.set(xscale="log", xlabel="effect of one standard deviation", ylim=(3.5, -0.5), xlim=(1e-7, 1))
plt.show()

flat = (1 - first_layer(odd).square() < 1e-6).float().mean()
print(f"first-layer outputs at which tanh has a slope below a millionth: {flat:.1%}")
print(f"the angle is {hearing(usual)[2] / hearing(odd)[2]:,.0f} times fainter")
weight, bias = (each[0].detach() for each in net.policy_net.layers[0])  # [4, 64] and [1, 64]
flipped = ((weight[1] * odd[:, 1].std()).abs() > (odd.mean(0) @ weight + bias[0]).abs()).float().mean()
print(f"units that one standard deviation of the speed can flip: {flipped:.1%}")
assert flat > 0.98 and 0.02 < flipped < 0.1
assert hearing(usual)[2] > 1000 * hearing(odd)[2]

# %% [markdown]
# The net's first layer computes $\tanh(w \cdot s + b)$ in 64 units, with weights between −½ and ½. A tanh only bends
# where its input is within about ±3. Outside it is flat, and its slope, $1 - \tanh^2$, is a factor in every gradient
# through the unit. In odd units nearly all outputs sit at −1 or 1, where the angle can't move them. (The speed still
# gets through: one standard deviation of it is large enough to flip a few units in a hundred from one end to the
# other.)
#
# **Won't the net learn its way out?** Adam moves each weight by about the learning rate $\alpha$, whatever the
# gradient, so one step moves a unit's input by about $\alpha \cdot |s|$. With $\alpha = 0.003$:

# %%
for name, column in zip(FEATURES, odd.T, strict=True):
    size = column.square().mean().sqrt()
    print(f"{name:14} one step moves a unit's input by about {0.003 * size:.5f}")

# %% [markdown]
# The position throws a unit across the tanh in a single step. The angle would need tens of thousands of steps, all in
# one direction, to be heard. **No learning rate is right for both.**
#
# ## Standardize by everything seen so far
#
# The cure is an old one: subtract the mean, divide by the standard deviation. But nobody knows these in advance. You
# have to learn them while the agent learns, and there are four ways to get that wrong. Instead of $s$, show the nets
#
# $$\hat s = \operatorname{clip}\!\left(\frac{s - \mu}{\sqrt{\sigma^2 + \varepsilon}},\; -10,\; 10\right),$$
#
# with the mean $\mu$ and the variance $\sigma^2$ of each feature over **everything seen so far**. Three numbers are
# enough: how many values there were, $n_1$; their mean $m_1$; and the sum of their squared deviations,
# $M_1 = \sum (x - m_1)^2$. A new batch has $n_2$, $m_2$, and $M_2$. Write $n = n_1 + n_2$ and $\delta = m_2 - m_1$.
#
# *The mean* weights the two means by their counts:
#
# $$m = \frac{n_1 m_1 + n_2 m_2}{n} = m_1 + \delta\, \frac{n_2}{n}.$$
#
# *The squares.* First, squared deviations from any other point $c$:
#
# $$\sum (x - c)^2 = \sum \big((x - m_1) + (m_1 - c)\big)^2 = M_1 + n_1 (m_1 - c)^2,$$
#
# because deviations from the mean cancel in the mixed term $2 (m_1 - c) \sum (x - m_1)$. The same holds for the batch.
# Take $c = m$. By the first formula, $m_1 - m = -\delta\, n_2/n$ and $m_2 - m = \delta\, n_1/n$, so
#
# $$M = M_1 + M_2 + n_1 \frac{\delta^2 n_2^2}{n^2} + n_2 \frac{\delta^2 n_1^2}{n^2}
#     = M_1 + M_2 + \delta^2\, \frac{n_1 n_2}{n}.$$
#
# (Take out $\delta^2 n_1 n_2 / n^2$; what is left is $n_2 + n_1 = n$.) In words: **the spread within the two sets, plus
# the spread between their means**. And $\sigma^2 = M / n$. (Welford 1962; for batches, Chan, Golub & LeVeque 1979.)

# %%
source(merge_moments, Moments, ObsStats.forward)

# %% [markdown]
# Each of $S$ agents has its own statistics of $D$ features. By hand: $\{2, 4\}$ has $n_1 = 2$, $m_1 = 3$, $M_1 = 2$.
# Then comes $\{8, 10, 12\}$ with $n_2 = 3$, $m_2 = 10$, $M_2 = 8$. So $\delta = 7$,
# $m = 3 + 7 \cdot \tfrac{3}{5} = 7.2$, and $M = 2 + 8 + 49 \cdot \tfrac{6}{5} = 68.8$: a variance of 13.76.


# %%
def as_rows(*numbers):
    """As [S, B, D] = [1, B, 1], and which of them count: all."""
    rows = torch.tensor(numbers).view(1, -1, 1)
    return rows, torch.ones(1, len(numbers), dtype=torch.bool)


moments = merge_moments(Moments.empty(1, 1), *as_rows(2.0, 4.0))
moments = merge_moments(moments, *as_rows(8.0, 10.0, 12.0))

# %% tags=["hide-input"]
print(f"mean {moments.mean.item():.2f}, squares {moments.squares.item():.2f}, variance {moments.variance.item():.2f}")
assert abs(moments.mean.item() - 7.2) < 1e-9
assert abs(moments.squares.item() - 68.8) < 1e-9

moments = Moments.empty(1, 4)
for part in odd.split(100):  # in small batches ...
    moments = merge_moments(moments, part.unsqueeze(0), torch.ones(1, len(part), dtype=torch.bool))
torch.testing.assert_close(moments.mean[0], odd.double().mean(0))  # ... and all at once
torch.testing.assert_close(moments.variance[0], odd.double().var(0, correction=0))

# %% [markdown]
# Left: the four features in odd units (linear between −1 and 1, logarithmic outside). Gray is where a tanh bends.
# Right: what the net sees, standardized.

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
print("effect of one standard deviation, standardized:", [f"{h:.2f}" for h in hearing(seen)])
assert hearing(seen).min() > 1e-2

# %% [markdown]
# ## Four ways to get it wrong
#
# **In single precision.** A float32 can't count beyond $2^{24}$, about 17 million, an ordinary number of steps. Hence
# the float64 in `Moments`.

# %% tags=["open"]
count = np.float32(2**24)
print(f"float32: {count:.0f} + 1 = {count + np.float32(1):.0f}")
assert count + np.float32(1) == count

# %% [markdown]
# **Dividing by almost nothing.** A feature that hasn't moved yet has variance 0. With $\varepsilon = 10^{-8}$, its
# first movement is multiplied by $10^4$. Hence the clip at ±10:

# %% tags=["open"]
mean, scale = merge_moments(Moments.empty(1, 1), *as_rows(*[3.0] * 50)).view()
surprise = ((3.5 - mean) * scale).item()
print("after fifty times 3.0 comes a 3.5:", end=" ")
print(f"{surprise:.0f} before the clip, {min(surprise, 10):.0f} after it")
assert surprise > 4000

# %% [markdown]
# **Updating while you look.** If you update the statistics in the function that normalizes a state, the policy changes
# without any gradient step. But on a batch's first minibatch, the ratio $\rho = \pi(a|s)/\pi_{\text{old}}(a|s)$ **must
# be 1** ([reuse](02_reuse.ipynb)). Here is an agent that updates as it looks, with one minibatch per batch. (`planted`
# swaps a part of the library.)


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
for name, run in (("frozen", calm), ("restless", restless)):
    ratios = run.curve.groupby("update")["max_ratio"].max()
    print(f"{name:8} largest first ratio, update by update:", ratios.round(3).tolist())
assert abs(calm.curve.max_ratio - 1).max() < 1e-4
assert restless.curve.max_ratio.max() > 1.003

# %% [markdown]
# It's only a few percent here. But where features drift quickly, the clip on $\rho$ kicks in before anything has been
# learned. In the library the statistics move once per update, after the last gradient step. (So in the very first
# rollout the nets see raw states.)
#
# **Forgetting to save them.** The weights are worthless without the statistics they were trained with. So these are
# saved with the agent, and frozen when you evaluate it.
#
# ## Statistics that fade
#
# After a hundred batches, a new one counts for 1%. If the agent then gets to new places, the statistics barely follow.
# With `obs_decay` $d$, the past fades: $n_1$ and $M_1$ are multiplied by $1 - d$ before each merge. With
# batches of $k$ rows, $n$ settles at $k/d$, so each batch moves the mean by $d\,\delta$, a moving average. Here a
# feature is around 0 for 100 batches, then around 5:

# %% tags=["open"]
torch.manual_seed(0)
drift = torch.randn(1, 120, 200, 1)  # [S, batch, B, D]
drift[:, 100:] += 5
everything = torch.ones(1, 200, dtype=torch.bool)
for decay in (0.0, 0.1):
    moments, center = Moments.empty(1, 1), []
    for part in drift.unbind(1):
        moments = merge_moments(moments, part, everything, decay)
        center.append(moments.mean.item())
    print(f"obs_decay {decay}: mean before {center[99]:5.2f}", end=", ")
    print(f"10 batches later {center[109]:.2f}, 20: {center[119]:.2f}")
    assert center[119] < 1 if decay == 0 else center[119] > 4

# %% [markdown]
# The price is a scale that never settles: after every batch, the same state looks different to the policy. So the
# default is 0.
#
# ## What they are worth
#
# In the loop it is one line. `batch.obs` holds raw observations.

# %%
diff(named("advantage_norm"), named("state_norm"))

# %% [markdown]
# Ten agents learn to balance in odd units with the trick, and ten without, at a learning rate that suits agents
# *without* it: on the tuning seeds, no other rate did better by more than a point. (`switched` turns flags on by name.)

# %% tags=["hide-input"]
plain = switched(("baseline", "reuse", "clip", "gae", "advantage_norm"))
normed = switched((*plain.on, "state_norm"))
stored = evidence("state_norm").worlds.set_index("world").loc[config.env]
tuned = rows_of(config.env, stored.steps, stored.numbers, flags(plain)).set_index("lr").area
assert tuned[config.lr] > tuned.max() - 1
without, having = train(config, plain), train(config, normed)

curves({"without": without, "state_norm": having})
plt.show()
for name, run in (("without", without), ("with", having)):
    print(f"{name:8} last tenth of training, agent by agent:", run.late().sort_values().round().astype(int).tolist())
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
#
# Here are the stored ablations (hatched: these seeds can't tell).

# %% tags=["hide-input"]
evidence("state_norm").strip()
plt.show()

# %% [markdown]
# In odd units the trick decides whether the pole is ever balanced. It needn't be millimeters: decimeters are as bad,
# and even in meters, with the wall 5 m away and angles in turns, it helps. Added to REINFORCE in the usual units, it
# helps on CartPole and LunarLander; on LunarLander it also helps as the next rung. In the full sets of Acrobot and
# Pendulum it hurts. All of this was confirmed on other seeds, except the milder units, which were run only once. Where
# the units are good already, as in a world with a cue of −1 or 1 and a fraction of time, it changes the score by less
# than 0.004, and we had predicted less than 0.05. (Both arms get 0.97 of a possible 1 there, so it could only have
# hurt.) In most of the other cells these seeds can't tell.

# %% tags=["hide-input"]
found = evidence("state_norm")
outcome, good = (each for each in trials() if each.trial.trick == "state_norm")
gains = {each.dose.size: each.effect for each in outcome.at_every_dose}
for units, gain in gains.items():
    print(f"{units:4g} units per meter: {gain.mean:+.2f} of the best score [{gain.low:+.2f}, {gain.high:+.2f}]")
assert gains[1].low > 0 and gains[1].high < gains[10].low and abs(gains[10].mean - gains[1000].mean) < 0.05
(cue,) = found.worlds[found.worlds.predicted == 0].itertuples()
print(
    f"where units are good, of a best score of {good.dose.best}: {cue.difference:+.4f} [{cue.low:+.4f}, {cue.high:+.4f}]"
)
assert cue.verdict == "practically nothing" and max(-cue.low, cue.high) < 0.004
assert sorted(found.table.env[found.table.detected < 0]) == ["Acrobot-v1", "Pendulum-v1"]
usual = found.table[found.table.subject == "ladder"]
assert usual.env[usual.detected > 0].tolist() == ["CartPole-v1", "LunarLander-v3", "LunarLander-v3"]
assert usual.confirmed[usual.detected != 0].eq(1).all()
robots = found.table[found.table.subject == "continuous"].set_index("env").verdict
assert robots.to_dict() == {"Hopper-v5": "unknown", "Walker2d-v5": "helps", "HalfCheetah-v5": "helps"}
assert (found.table.verdict == "unknown").sum() > 0.5 * (found.table.detected == 0).sum()

taxi = next(study for study in studies() if study.env == "Taxi-v4")
by_rate = effects_by_rate(taxi, next(design for design in taxi.designs if design.name == "ladder"))
rung, rates = by_rate[by_rate.trick == "state_norm"].set_index("at"), ["0.0003", "0.001", "0.003", "0.01"]
print("Taxi's rung, by rate:", ", ".join(f"{at} {rung.difference[at]:+.2f}" for at in (*rates, "own best")))
late = {name: taxi.grid(named(name)).iloc[:, -10:].mean(axis=1) for name in ("advantage_norm", "state_norm")}
better = [(area > -195).sum() for area in late.values()]
print(f"agents above -195 in the last tenth: {better[0]} without it, {better[1]} with it, of {taxi.seeds}")
assert rung.high[rates].max() < 0 < rung.high["own best"] and better == [1, 16]
whole = found.table[found.table.question.str.startswith("taken out")].set_index("env").verdict
assert whole["Taxi-v4"] == "cannot tell here: all arms are near the ceiling"
found

# %% [markdown]
# Where it hurts on Pendulum, we suspect the size of the inputs: the raw angular speed goes up to 8, which bends the
# tanh, while three standardized numbers, spread over 64 units by [orthogonal initialization](05_orthogonal_init.ipynb),
# leave it nearly linear. (With PyTorch's first layer, we saw no loss in a separate run.) On Acrobot the loss is small,
# but we saw it twice, on different seeds, and don't know why. On Taxi nothing is detected with each arm at its own best
# rate. But on its rung, with one rate for both arms, the trick costs something at each of the four smallest rates. We
# suspect the one-hot features (below).
#
# Print the mean and standard deviation of each of *your* features; that tells you more than any benchmark. (On
# continuous control, Andrychowicz et al. (2020, arXiv:2006.05990) find this trick crucial on 4 of 5 tasks, not on
# Hopper. Ours agrees on HalfCheetah and Walker2d, and can't tell on Hopper.) Leave it off
#
# - **where the units are good already.** Then all it adds is motion: as the statistics follow the policy, a state that
#   hasn't changed looks different to the net.
# - **where the limits are known.** An angle can be divided by π once and for all.
# - **where sizes mean something across features,** as in pixels or the coordinates of several objects.
# - **for one-hot features.** One that is on in a share $p$ of the rows is then $\sqrt{(1-p)/p}$ standard deviations
#   from its mean:

# %%
for share in (0.5, 0.01, 0.001):
    ones = round(1000 * share)
    rows = as_rows(*[1.0] * ones, *[0.0] * (1000 - ones))
    mean, scale = merge_moments(Moments.empty(1, 1), *rows).view()
    size = ((1 - mean) * scale).item()
    print(f"on in {share:.1%} of the rows:", end=" ")
    print(f"{size:.1f} standard deviations when it is on, seen as {min(size, 10):.1f}")

# %% [markdown]
# Taxi has 500 of them. As they come, they are so faint that a fresh net learns mostly with its last bias, which all
# states share. Standardized, every state is loud. That may slow down Taxi's first lesson, the same in every state: no
# illegal pickups. The second lesson is where the passenger is, and it differs from state to state. On the rung before,
# all but one of 30 agents end near −200, driving until the time is up; with the trick, 16 get past −195. (In Taxi's
# full set, with a mask, all arms are near the ceiling, so nothing can be told.)

# %%
taxi = torch.eye(500).unsqueeze(0)
every_state = torch.ones(1, 500, dtype=torch.bool)
mean, scale = merge_moments(Moments.empty(1, 500), taxi, every_state).view()
standardized = ((taxi - mean) * scale).clamp(-10, 10)
fresh = mlp([stream(0, "init")], (500, 64, 64, 6))
orthogonal_(fresh, (0,), 0, gain=2**0.5, head_gain=0.01)
for name, states in (("as they come", taxi), ("standardized", standardized)):
    size = fresh.body(states).square().mean().sqrt()
    print(f"{name:13} hidden features of {size:.2f} (root mean square)")

# %% [markdown]
# ## At a glance
#
# | | |
# |---|---|
# | **problem** | features in different units: large ones saturate the net, and it can't hear small ones |
# | **formula** | $\hat s = \operatorname{clip}\big((s - \mu) / \sqrt{\sigma^2 + \varepsilon},\, \pm 10\big)$, with $\mu$ and $\sigma^2$ of all states so far |
# | **in the loop** | `follow_observations_(agent, batch, config.obs_decay)` |
# | **defaults** | $\varepsilon = 10^{-8}$; the statistics move once per update, after the last gradient step |
# | **watch** | `max_ratio`: with one epoch and one minibatch, it must be 1 |
# | **skip it when** | features are around 1 already, or one-hot, or pixels, or their limits are known |
# | **also called** | observation normalization: `VecNormalize` in stable-baselines3, `NormalizeObservation` in Gymnasium |

# %% [markdown]
# ## Exercises
#
# **Exercise 1: write it.** Merge two sets of numbers, each given as (count, mean, sum of squared deviations). The cell
# tells you what's wrong with your version.


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
# Learning produces such batches: as the policy improves, the cart visits different places from one batch to the next.
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
# Which numbers give the bug away, and what should they be? Which feature has the worst deviation? (Even the right
# statistics don't give exactly 0 ± 1, since they cover other states.)
#
# <details><summary>Hint</summary>
#
# Follow one feature with mean 5000 and standard deviation 100 through two batches by hand.
#
# </details>
#
# Solutions: [`solutions/07_state_norm.py`](solutions/07_state_norm.py). Next: [return
# normalization](08_return_norm.ipynb), the same for the outputs.

# %% [markdown]
# # State normalization: the same cart, measured in millimeters
#
# *Why should it matter to a net in which units the world is measured?*
#
# A cart at 0.3 m and a cart at 300 mm stand in the same place. Physics does not care, and neither would you. A neural
# net cares a great deal: it starts from weights of a certain size and takes steps of a certain size, and both were
# chosen for inputs that are about as large as 1.
#
# The cure is older than reinforcement learning: subtract the mean, divide by the standard deviation. What is new here
# is that nobody knows them beforehand. They must be learned while the agent learns, and there are four ways to do that
# wrong.

# %%
from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np
import torch

from ablations import style
from book import at_best_rate, begin, curves, evidence, planted
from exercises.state_norm import check_merged, merge_the_batch
from tricks import Config, diff, source, train
from tricks.core.agent import Agent
from tricks.core.moments import Moments
from tricks.core.rollout import Batch, Player, play_episodes
from tricks.envs.make import make_env
from tricks.ladder import named, switched
from tricks.state_norm import merge_moments

begin()

# %% [markdown]
# ## One cart, two rulers
#
# CartPole shows four numbers: the cart's place and speed, in meters, and the pole's angle and angular speed, in
# radians. The world `CartPoleOddUnits` of this project is CartPole with another ruler: place in millimeters from a
# wall that is 5 m away, speed in millimeters per second, the angle in full turns, its speed in turns per second.
# Nothing else differs. Let us toss a coin for every push, and look at what is seen.

# %%
odd_units = Config("tricks/CartPoleOddUnits-v0", seeds=5, steps=25_000, lanes=32, horizon=32)
env = make_env(odd_units)


def coin(obs, legal):
    """Logits of a policy without a preference."""
    return torch.zeros(legal.shape)


everyone = torch.ones(odd_units.seeds, dtype=torch.bool)
batch = Batch.of(play_episodes(Player(env, block=32), coin, rows=1024, active=everyone))
odd = batch.obs[0][batch.valid[0]]  # [rows, 4], of the first seed
usual = torch.stack([odd[:, 0] / 1000 - 5, odd[:, 1] / 1000, odd[:, 2] * 6.2832, odd[:, 3] * 6.2832], 1)

FEATURES = ("place", "speed", "angle", "angular speed")
for name, column, meters in zip(FEATURES, odd.T, usual.T, strict=True):
    ours, theirs = (f"{x.mean():8.3f} ± {x.std():7.3f}" for x in (column, meters))
    print(f"{name:14} odd units {ours}   usual units {theirs}")
assert odd[:, 0].mean() > 4000 and odd[:, 2].std() < 0.05

# %% [markdown]
# A fresh policy net looks at these states. Its first layer computes $\tanh(w \cdot s + b)$ in 64 units, with weights
# between −½ and ½. The tanh is what lets the net bend, and it only bends where its input is within about ±3. Outside
# it is flat: its slope is $1 - \tanh^2$, and that slope is a factor in every gradient that passes through the unit.
#
# On the left: what the units put out. On the right, by automatic differentiation: how far the preference for "right"
# over "left" moves when one feature moves by one of its standard deviations. A feature that moves nothing is one to
# which the net is deaf.

# %%
net = Agent(env.spaces, odd_units)[0]


def first_layer(states):
    weight, bias = net.policy_net.layers[0]
    return torch.tanh(states @ weight[0] + bias[0]).detach()  # [rows, 64]


def hearing(states):
    """Mean |∂(preference)/∂feature| × the feature's standard deviation: [4]."""
    states = states.clone().unsqueeze(0).requires_grad_()
    logits = net.policy(states)
    (slope,) = torch.autograd.grad((logits[..., 1] - logits[..., 0]).sum(), states)
    return (slope[0].abs().mean(0) * states[0].std(0)).detach()


flat = (1 - first_layer(odd).square() < 1e-6).float().mean()
print(f"share of the first layer's outputs where tanh has a slope below a millionth: {flat:.1%}")
print("hearing, odd units:  ", [f"{h:.1e}" for h in hearing(odd)])
print("hearing, usual units:", [f"{h:.1e}" for h in hearing(usual)])
assert flat > 0.98 and hearing(usual)[2] > 1000 * hearing(odd)[2]

# %%
figure, (left, right) = plt.subplots(1, 2, figsize=(7.5, 2.8))
for states, color in ((odd, "#EE7733"), (usual, style.SOFT)):
    left.hist(first_layer(states).flatten(), bins=40, range=(-1, 1), density=True, color=color, alpha=0.7)
left.text(-0.93, 9.0, "odd units", color="#EE7733", weight="bold")
left.text(0, 2.2, "usual units", color=style.SOFT, weight="bold", ha="center")
left.set(xlabel="output of a first-layer unit", ylabel="density")

places = np.arange(4)
right.scatter(hearing(usual), places, color=style.SOFT, s=50)
right.scatter(hearing(odd), places, color="#EE7733", s=50)
right.set_yticks(places, FEATURES)
right.set(xscale="log", xlabel="effect of one standard deviation", ylim=(3.5, -0.5), xlim=(1e-7, 1))
plt.show()

# %% [markdown]
# In odd units nearly all outputs sit at −1 or 1. The few that do not follow the speed, whose numbers are large enough to
# drag them across. The angle, the most important number in this game, is some four thousand times fainter than it was.
#
# **Will the net not learn its way out?** Think of the size of a step. Adam moves each weight by about the learning rate
# $\alpha$, whatever the size of the gradient. A unit's input then moves by about $\alpha \cdot |s|$. With
# $\alpha = 0.003$:

# %%
for name, column in zip(FEATURES, odd.T, strict=True):
    size = column.square().mean().sqrt()
    print(f"{name:14} one step moves a unit's input by about {0.003 * size:.5f}")

# %% [markdown]
# The place throws a unit from one end of the tanh to the other in a single step. The angle would need tens of
# thousands of steps, all in one direction, to be heard at all. **No learning rate is right for both.**
#
# ## The idea
#
# Show the nets not $s$ but
#
# $$\hat s = \operatorname{clip}\!\left(\frac{s - \mu}{\sqrt{\sigma^2 + \varepsilon}},\; -10,\; 10\right),$$
#
# with the mean $\mu$ and the variance $\sigma^2$ of each feature over **everything seen so far**. Keeping everything to
# recompute them would be silly. What is the least that must be kept?
#
# ### Merging two heaps of numbers
#
# A heap $A$ of $n_A$ numbers has the mean $m_A$, and the sum of squared deviations from it, $M_A = \sum_A (x - m_A)^2$.
# A new batch $B$ has $n_B$, $m_B$ and $M_B$. These three numbers are enough. Write $n = n_A + n_B$ and
# $\delta = m_B - m_A$.
#
# *The mean.* The whole is the average of the parts, weighted by their sizes:
#
# $$m = \frac{n_A m_A + n_B m_B}{n} = m_A + \delta\, \frac{n_B}{n}.$$
#
# *The squares.* First, squared deviations from any other point $c$:
#
# $$\sum_A (x - c)^2 = \sum_A \big((x - m_A) + (m_A - c)\big)^2 = M_A + n_A (m_A - c)^2,$$
#
# because the mixed term $2 (m_A - c) \sum_A (x - m_A)$ is zero: deviations from the mean cancel. The same holds for
# $B$. Now take $c = m$. From the line for the mean, $m_A - m = -\delta\, n_B/n$ and $m_B - m = \delta\, n_A/n$, so
#
# $$M = M_A + M_B + n_A \frac{\delta^2 n_B^2}{n^2} + n_B \frac{\delta^2 n_A^2}{n^2}
#     = M_A + M_B + \delta^2\, \frac{n_A n_B}{n}.$$
#
# (The last step takes $\delta^2 n_A n_B / n^2$ out and is left with $n_B + n_A = n$.) In words: **the spread within
# the heaps, plus the spread between their means**. And $\sigma^2 = M / n$. For a batch of one number this is Welford's
# rule of 1962; for batches it is Chan, Golub & LeVeque's (1979).
#
# ## In the library

# %%
source(merge_moments, Moments, Agent.features)

# %% [markdown]
# `[S, D]` again: each of the $S$ agents has its own statistics, one for each of the $D$ features. They are pooled over
# all lanes of an agent, and never across agents.
#
# ## Check it with numbers
#
# $A = \{2, 4\}$: $n_A = 2$, $m_A = 3$, $M_A = 2$. Then comes $B = \{8, 10, 12\}$: $n_B = 3$, $m_B = 10$, $M_B = 8$. So
# $\delta = 7$, $m = 3 + 7 \cdot \tfrac{3}{5} = 7.2$, and $M = 2 + 8 + 49 \cdot \tfrac{6}{5} = 68.8$: a variance of
# 13.76.


# %%
def heap(*numbers):
    """As [S, B, D] = [1, B, 1], and which of them count: all."""
    return torch.tensor(numbers).view(1, -1, 1), torch.ones(1, len(numbers), dtype=torch.bool)


moments = merge_moments(merge_moments(Moments.empty(1, 1), *heap(2.0, 4.0)), *heap(8.0, 10.0, 12.0))
print(f"mean {moments.mean.item():.2f}, squares {moments.squares.item():.2f}, variance {moments.variance.item():.2f}")
assert abs(moments.mean.item() - 7.2) < 1e-9 and abs(moments.squares.item() - 68.8) < 1e-9

moments = Moments.empty(1, 4)
for part in odd.split(100):  # in small batches ...
    moments = merge_moments(moments, part.unsqueeze(0), torch.ones(1, len(part), dtype=torch.bool))
torch.testing.assert_close(moments.mean[0], odd.double().mean(0))  # ... and all at once
torch.testing.assert_close(moments.variance[0], odd.double().var(0, correction=0))

# %% [markdown]
# ## What the net sees
#
# Left: the four features as the world gives them, on one axis (linear between −1 and 1, logarithmic outside, to hold
# them all). Gray is where a tanh is alive. Right: the same states, standardized.

# %% tags=["thumbnail"]
mean, scale = moments.view()
seen = ((odd - mean[0]) * scale[0]).clamp(-10, 10)

figure, axes = plt.subplots(1, 2, figsize=(7, 2.8), sharey=True)
for axis, states in zip(axes, (odd, seen), strict=True):
    axis.axvspan(-3, 3, color=style.FAINT, alpha=0.6, lw=0)
    for row, column in enumerate(states.T):
        height = row + 0.55 * (torch.rand(len(column)) - 0.5)
        axis.scatter(column, height, s=3, color=style.COLORS["state_norm"], alpha=0.35, lw=0)
axes[0].set_xscale("symlog", linthresh=1)
axes[0].set_xticks([-1000, -1, 0, 1, 1000], ["−1000", "−1", "0", "1", "1000"])
axes[0].set_yticks(range(4), FEATURES)
axes[0].set(xlabel="as the world gives it", ylim=(3.5, -0.5), xlim=(-1e4, 1e4))
axes[1].set(xlabel="as the net sees it", xlim=(-6, 6))
plt.show()
print("hearing, standardized:", [f"{h:.1e}" for h in hearing(seen)])
assert hearing(seen).min() > 1e-2

# %% [markdown]
# Four features of the same size, all where the net can hear them.
#
# ## Four ways to do it wrong
#
# **In single precision.** The heap only grows. A float32 cannot count beyond $2^{24}$, about 17 million, which is an
# ordinary number of steps:

# %%
rows = np.float32(2**24)
print(f"float32: {rows:.0f} + 1 = {rows + np.float32(1):.0f}")
assert rows + np.float32(1) == rows

# %% [markdown]
# From there on, single rows change nothing. Hence the float64 in `Moments`; only what the nets are shown is float32.
#
# **With a division by almost nothing.** A feature that has not moved yet has variance 0. With
# $\varepsilon = 10^{-8}$, its first movement is multiplied by $10^4$. That is what the clip at ±10 is for:

# %%
still = merge_moments(Moments.empty(1, 1), *heap(*[3.0] * 50))
mean, scale = still.view()
surprise = ((3.5 - mean) * scale).item()
print(f"after fifty times 3.0 comes a 3.5: {surprise:.0f} before the clip, {min(surprise, 10):.0f} after it")
assert surprise > 4000

# %% [markdown]
# **Moving while it looks.** The tempting place to update the statistics is where the states pass by: in the function
# that normalizes them. But then the policy changes while it plays and while it learns, without any gradient step: the
# same weights look at the same state through other glasses. Remember the chapter on `reuse`: on the first minibatch,
# before any step, the ratio $\pi(a|s)/\pi_{\text{old}}(a|s)$ **must be 1**. Let us give the loop one minibatch per
# batch, so that its largest ratio is that of the first minibatch, and an agent that updates as it looks.


# %%
class RestlessAgent(Agent):
    def features(self, obs):
        everything = torch.ones(obs.shape[:2], dtype=torch.bool)
        self.obs_moments = merge_moments(self.obs_moments, obs, everything)
        return super().features(obs)


one_step = Config("CartPole-v1", seeds=5, steps=6_000, lr=0.01, epochs=1, minibatches=1)
with planted(Agent=RestlessAgent):
    restless = train(one_step, named("state_norm"))
calm = train(one_step, named("state_norm"))

for name, run in (("frozen", calm), ("restless", restless)):
    ratios = run.curve.groupby("update")["max_ratio"].max()
    print(f"{name:8} largest first ratio, update by update:", ratios.round(3).tolist())
assert abs(calm.curve.max_ratio - 1).max() < 1e-4 and restless.curve.max_ratio.max() > 1.003

# %% [markdown]
# A few percent here: CartPole forgives it, and its learning curve would not tell you. But the surrogate now answers
# for a change that no gradient made, and where features drift quickly, the clip starts to cut before anything has been
# learned. In the library the statistics move once per update, after the last gradient step, and the next rollout and
# its update look through the same glasses. (In the very first rollout there are none, and the nets see raw states.)
#
# **Forgetting them.** The weights are worthless without the glasses that they were trained with. So the statistics
# belong to the agent: they are saved with it, and frozen when it is evaluated. We will take them away from a trained
# agent below.
#
# ## What changes in the loop

# %%
diff(named("advantage_norm"), named("state_norm"))

# %% [markdown]
# One line. `batch.obs` are the observations as the world gave them.
#
# ## A small run
#
# The cart in odd units, 25,000 steps, five agents each with and without, each arm at the learning rate that was best
# for it on other seeds.

# %%
plain = switched(("baseline", "reuse", "clip", "gae", "advantage_norm"))
normed = switched((*plain.on, "state_norm"))
without = train(at_best_rate(odd_units, plain), plain)
having = train(at_best_rate(odd_units, normed), normed)

curves({"without": without, "state_norm": having})
plt.show()
print("last tenth of training, agent by agent:")
print("  without", without.late().round().astype(int).tolist(), " with", having.late().round().astype(int).tolist())
assert having.late().mean() > 1.5 * without.late().mean()

# %% [markdown]
# Without, all agents stay near the floor. With, the average climbs, and the single agents differ a lot; some may even
# end below where they started. Standardizing lets a net hear. It does not make it learn well, or every time.
#
# Now take the statistics away from the trained agents, as a saved file without them would:

# %%
complete = having.evaluate(episodes=20).mean()
having.agent.standardizes = False  # look at raw states, as an agent loaded without its statistics does
bare = having.evaluate(episodes=20).mean()
print(f"evaluated with its statistics: {complete:.0f} points an episode; the same weights without them: {bare:.0f}")
assert bare < 0.6 * complete

# %% [markdown]
# "It trains well and evaluates badly" is among the commonest complaints about code for reinforcement learning, and
# statistics that were not saved are a common reason.
#
# ## What the stored runs say

# %%
found = evidence("state_norm")
found

# %%
found.plot()
plt.show()

print(found.summary())

# %% [markdown]
# Read the two kinds of rows together. In odd units the trick decides
# whether the pole is ever balanced. There is less to repair where features are of order 1 as they come, like
# CartPole's; what remains can go either way, and the table says which way it went.
#
# **What it does not say:** how much standardizing is worth on *your* task. A row says something about its
# environment's units, and nothing about yours. Print the mean and standard deviation of each feature, as in the
# second cell of this chapter, and you know more than any benchmark can tell you. On continuous control, where joint
# velocities and angles differ a lot in size, Andrychowicz et al. (2020, arXiv:2006.05990) find it crucial on 4
# of 5 tasks.
#
# ## When it does not help, or hurts
#
# - **Where the units are good already.** Then all that it adds is motion: as the policy improves, it visits other
#   states, the statistics follow, and a state that has not changed looks different to the net than last week.
# - **For one-hot features.** One that is on in a share $p$ of the rows lies $\sqrt{(1-p)/p}$ standard deviations off when it
#   is on. Rare things shout, until the clip at 10 silences the difference between the rare and the very rare:

# %%
for share in (0.5, 0.01, 0.001):
    rare = merge_moments(Moments.empty(1, 1), *heap(*[1.0] * round(1000 * share), *[0.0] * round(1000 * (1 - share))))
    mean, scale = rare.view()
    size = ((1 - mean) * scale).item()
    print(f"on in {share:.1%} of the rows: {size:.1f} standard deviations when it is on, seen as {min(size, 10):.1f}")

# %% [markdown]
# - **Where sizes carry meaning across features,** as in pixels or in coordinates of several objects: dividing each by a
#   number of its own distorts distances.
# - **Where the limits are known.** An angle between −π and π can be divided by π once and for all, and nothing moves.
#
# ## Exercises
#
# **Exercise 1: write it.** Merge two heaps of plain numbers, each given as (count, mean, sum of squared deviations).


# %%
def merged(a, b):  # each (n, mean, squares) -> (n, mean, squares) of both heaps together
    ...


check_merged(merged)

# %% [markdown]
# **Exercise 2: think.** A well-known listing keeps the average of the batches' *standard deviations* instead of merging
# variances. The batches $\{0, 0\}$ and $\{10, 10\}$ arrive. What does it divide by? What should it divide by? Where in
# training would such batches come from?
#
# **Exercise 3: spot the bug.** Here is a `merge_moments` from the same family. It calls the right one, and it runs: no
# error, no NaN, the loss looks like a loss.

# %%
source(merge_the_batch)

# %%
with planted(merge_moments=merge_the_batch):
    faulty = train(replace(having.config, steps=8_000), normed)


def as_seen(agent):
    """Mean and standard deviation of each feature of the coin's states, as this agent's nets would see them: [2, 4]."""
    states = agent.obs_mean.new_tensor(odd.tolist()).expand(5, -1, -1)
    agent.standardizes = True
    rows = agent.features(states).flatten(0, 1)
    return torch.stack([rows.mean(0), rows.std(0)])


for name, run in (("right", having), ("with the bug", faulty)):
    seen_as = as_seen(run.agent).T
    print(f"{name:13}" + "".join(f"   {m:5.2f} ± {s:.2f}" for m, s in seen_as))
assert as_seen(faulty.agent)[1, 2] < 0.3 < 0.6 < as_seen(having.agent)[1, 2]

# %% [markdown]
# The columns are place, speed, angle and angular speed: mean and standard deviation of the very first states of this
# chapter, as the trained agents' nets see them. Which of these numbers betrays the bug, and what should it be? (With
# the right statistics they are not exactly 0 and 1, either: these have seen many other states since.) Follow one
# feature with mean 5000 and standard deviation 100 through two batches by hand.
#
# Solutions: [`solutions/07_state_norm.py`](solutions/07_state_norm.py). Next: [return
# normalization](08_return_norm.ipynb), the same thought at the other end of the net.

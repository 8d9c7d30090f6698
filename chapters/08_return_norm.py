# %% [markdown]
# # Return normalization: a value net that need not count to five thousand
#
# *What becomes of the value net when every reward is a hundred times larger?*
#
# Nothing about a task changes when its rewards are paid in cents instead of dollars. The policy hardly notices:
# since the chapter on advantage normalization, it learns from advantages of size 1. But the value net must *say* the
# numbers. It used to say 50, and now it has to say 5000, with weights that start around 0.1 and move by a hundredth
# at a time.

# %%
from dataclasses import replace
from unittest.mock import patch

import matplotlib.pyplot as plt
import torch

from ablations import style
from book import at_best_rate, begin, curves, evidence, label_lines, planted, swept
from exercises.return_norm import check_move, values_of
from tricks import Config, diff, source, train
from tricks.baseline import explained_variance
from tricks.core.adam import Adam, gradient
from tricks.core.agent import Agent
from tricks.core.moments import ReturnStats, denormalize, normalize
from tricks.core.nets import mlp
from tricks.core.seeds import stream
from tricks.gae import gae
from tricks.ladder import named, switched
from tricks.return_norm import move_stats

begin()

# %% [markdown]
# ## The failure, on one curve
#
# Forget reinforcement learning for a moment: here are 128 numbers $x$ between −1 and 1, and a net, built like the
# library's value net, that shall learn $f(x) = c\,(50 + 20 \sin 3x)$. Once with $c = 1$, once with $c = 100$. Nothing
# else differs: same net, same start, same optimizer at a learning rate of 0.003.

# %%
x = torch.linspace(-1, 1, 128).view(1, -1, 1)
wave = (50 + 20 * torch.sin(3 * x)).view(1, -1).double()


def fit(target, steps=2000, rate=0.003):
    """The net's outputs after every 50th gradient step on ½(v − target)²: [steps/50, 128]."""
    net = mlp([stream(0, "init")], (1, 64, 64, 1), exact=True)
    optimizer, kept = Adam(net.parameters(), eps=1e-5), []
    for step in range(steps):
        value = net(x).squeeze(-1)
        if step % 50 == 0:
            kept.append(value.detach()[0])
        loss = 0.5 * (value - target).square().mean(1)
        optimizer.step(gradient(loss, net.parameters()), torch.tensor([rate]), torch.tensor([True]))
    return torch.stack(kept)


small, large = fit(wave), fit(100 * wave)
print(f"target about 50: the net says {small[-1].mean():.1f} after 2000 steps")
print(
    f"target about 5000: the net says {large[-1].mean():.0f}, between {large[-1].min():.0f} and {large[-1].max():.0f}"
)
assert abs(small[-1].mean() - 50) < 2 and large[-1].mean() < 1000

# %%
figure, axes = plt.subplots(1, 2, figsize=(7, 2.7))
for axis, outputs, scale in zip(axes, (small, large), (1, 100), strict=True):
    axis.plot(x.flatten(), scale * wave.flatten(), color=style.INK, lw=1.2, label="target")
    for step in (500, 1000, 1950):
        axis.plot(x.flatten(), outputs[step // 50], color=style.SOFT, alpha=0.35 + step / 4000, label=f"{step} steps")
    axis.set(xlabel="x", ylim=(0, 75 * scale), title=f"c = {scale}")
label_lines(axes[1])
axes[0].set_ylabel("value")
plt.show()

# %% [markdown]
# On the left the curve is learned: 1000 steps bring the net near, 2000 nearly on it. On the right there is a flat line
# near the bottom, crawling upward, and it has no shape: for the net, **all states are equally, hopelessly, worth more
# than it says**.
#
# You can compute the crawl. The output is $w \cdot h + b$ with 64 numbers $h$ between −1 and 1. An Adam step moves
# each of the 65 parameters by about the learning rate $\alpha$, so the output moves by at most about
# $65\,\alpha \approx 0.2$ a step. To 5000 that makes 25,000 steps, and only then does it begin to tell one $x$ from
# another. (The layers below cannot help: $h$ is bounded.)

# %%
speed = (large[-1] - large[-11]).mean().item() / 500
print(f"measured: {speed:.3f} per step, so {5000 / speed:,.0f} steps to 5000")
assert 0.1 < speed < 0.3

# %% [markdown]
# And a baseline that says nearly the same everywhere is no baseline.
#
# A larger learning rate? It is shared with the policy, which is tuned to another problem. And there is a second
# nuisance: the squared error grows with the *square* of the scale, ten-thousandfold here. In the sum of both losses
# the policy's part is a rounding error. That does no harm while they share nothing; but where they share layers of a net,
# or a limit on the gradient's norm (the next chapter), the policy's part drowns.
#
# ## The idea
#
# Let the net do what nets do well, put out numbers of order 1, and let plain arithmetic do the rest. The net learns
# the **standardized** return,
#
# $$n(s) \approx \frac{G - \mu}{\sigma}, \qquad\text{so that}\qquad V(s) = \sigma\, n(s) + \mu$$
#
# is the value in units of reward. $\mu$ and $\sigma$ are the mean and standard deviation of the returns. (With `gae`,
# $G$ is its value target.) van Hasselt et al. (2016, arXiv:1602.07714) call this ART, for "adaptively rescaling
# targets".
#
# Two questions are left. **Where does which unit belong?** GAE computes $\delta_t = r_t + \gamma V(s_{t+1}) - V(s_t)$.
# A reward is added to a value there, so $V$ must be in units of reward: go back to $\sigma n + \mu$ *first*, compute
# advantages and targets, and only then standardize the targets for the loss.
#
# **Which returns?** For states, we took all that were ever seen. But the returns of the first hour are those of a
# policy that is long gone, so here the past must fade. Each batch moves the statistics a share $\beta$ of the way:
#
# $$\mu' = (1-\beta)\,\mu + \beta\, m, \qquad \mathbb{E}[G^2]' = (1-\beta)\,\mathbb{E}[G^2] + \beta\, \overline{G^2},$$
#
# where $m$ is the batch's mean and $\overline{G^2}$ its mean square. Then $\sigma'^2 = \mathbb{E}[G^2]' - \mu'^2$.
# That is correct, and it is not what you should compute: with $\mu$ near 10,000 both terms are near $10^8$, and what
# you want is the small difference of two large, rounded numbers. Do the subtraction on paper instead. Write
# $\mathbb{E}[G^2] = \sigma^2 + \mu^2$ and $\overline{G^2} = s^2 + m^2$ with the batch's variance $s^2$:
#
# $$\sigma'^2 = (1-\beta)(\sigma^2 + \mu^2) + \beta (s^2 + m^2) - \big((1-\beta)\mu + \beta m\big)^2
#   = (1-\beta)\,\sigma^2 + \beta\, s^2 + \beta(1-\beta)\,(m - \mu)^2.$$
#
# (Multiply the square out. What is left of $\mu^2$ is $(1-\beta) - (1-\beta)^2 = \beta(1-\beta)$, of $m^2$ it is
# $\beta - \beta^2$, the same, and the mixed term is $-2\beta(1-\beta)\mu m$: together the square of $m - \mu$.)
# Nothing is subtracted any more but two means. And you know this formula: **the spread within, plus the spread
# between**, as two heaps were merged in the last chapter, with $1-\beta$ and $\beta$ as the shares of the heaps.
#
# ## In the library

# %%
source(ReturnStats, move_stats, normalize, denormalize)

# %% [markdown]
# $\sigma$ is kept within sane limits, so that returns that do not vary at all divide by 0.0001, not by 0.
#
# ## Check it with numbers
#
# Start from $\mu = 0$, $\sigma^2 = 1$, and let a batch bring the returns 1, 2, 4, 9, with $\beta = ¼$. Then $m = 4$ and
# $s^2 = (9 + 4 + 0 + 25)/4 = 9.5$, so $\mu' = 1$ and
# $\sigma'^2 = ¾ \cdot 1 + ¼ \cdot 9.5 + \tfrac{3}{16} \cdot 16 = 6.125$.


# %%
def stats(mean, variance):
    return ReturnStats(torch.tensor([mean], dtype=torch.float64), torch.tensor([variance], dtype=torch.float64))


returns = torch.tensor([1.0, 2.0, 4.0, 9.0]).view(1, 4, 1)  # [S, T, N]
moved = move_stats(stats(0.0, 1.0), returns, torch.ones_like(returns, dtype=torch.bool), beta=0.25)
print(f"mean {moved.mean.item()}, variance {moved.variance.item()}")
assert moved.mean.item() == 1
assert abs(moved.variance.item() - 6.125) < 1e-12

# %% [markdown]
# And the units. With $\mu = 1000$ and $\sigma = 200$, the net says $n(s) = 1$ and $n(s') = ½$: values of 1200 and
# 1100. The step paid 100, and $\gamma = ½$ for easy numbers. Then $\delta = 100 + ½ \cdot 1100 - 1200 = -550$: a
# disappointment. Who forgets to go back computes $100 + ½ \cdot ½ - 1 = 99.25$, and praises the action for it.

# %%
now = stats(1000.0, 200.0**2)
outputs = torch.tensor([[1.0, 0.5]], dtype=torch.float64)
reward, alive = torch.full((1, 1, 1), 100.0), torch.zeros(1, 1, 1, dtype=torch.bool)
for name, values in (("in units of reward", denormalize(outputs, now)), ("as the net put them out", outputs)):
    value, following = (values[:, i].view(1, 1, 1) for i in (0, 1))
    delta = gae(reward, value, following, alive, alive, 0.5, 0.0).item()
    print(f"δ from values {name}: {delta}")
assert delta == 99.25

# %% [markdown]
# ## What the value net learns, with and without
#
# In the world `CartPoleReward100` each step pays 100 instead of 1; nothing else differs from CartPole. Five agents
# each, 30,000 steps, each arm at the learning rate that was best for it on other seeds. The loop logs the **explained
# variance** at every update; we listen in on that call, to keep predictions and returns in units of reward.

# %%
hundred = Config("tricks/CartPoleReward100-v0", seeds=5, steps=30_000, lanes=32, horizon=32)
plain = switched(("baseline", "reuse", "clip", "gae", "advantage_norm"))
normed = switched((*plain.on, "return_norm"))


def listen(tricks):
    """A run, and what its value nets predicted for each update's states beside what came: [(V, G), ...]."""
    heard = []

    def listening(value, target, valid):
        heard.append((value[valid], target[valid]))
        return explained_variance(value, target, valid)

    with planted(explained_variance=listening):
        return train(at_best_rate(hundred, tricks), tricks), heard


without, heard_without = listen(plain)
having, heard_having = listen(normed)

# %% tags=["thumbnail"]
figure, (left, right) = plt.subplots(1, 2, figsize=(7.5, 2.9), width_ratios=(1.15, 1))
pairs = ((heard_without, style.SOFT, "without"), (heard_having, style.COLORS["return_norm"], "return_norm"))
for heard, color, name in pairs:
    left.plot([value.mean() for value, _ in heard], color=color, label=name)
    value, came = heard[-1]
    some = torch.randperm(len(value), generator=torch.Generator().manual_seed(0))[:1500]
    right.scatter(came[some], value[some], s=4, color=color, alpha=0.35, lw=0)
left.plot([came.mean() for _, came in heard_having], color=style.INK, lw=1.2, label="what came")
left.set(xlabel="update", ylabel="mean of V(s)", xlim=(0, len(heard_having) - 1))
label_lines(left)
right.plot([0, 10_000], [0, 10_000], color=style.INK, lw=1)
right.set(xlabel="return that came", ylabel="V(s)", title="last update, state by state")
plt.show()

for heard, _, name in pairs:
    value, came = heard[-1]
    print(
        f"{name:12} last update: V(s) from {value.min():6.0f} to {value.max():6.0f}, returns around {came.mean():.0f}"
    )
assert heard_without[-1][0].mean() < 0.2 * heard_without[-1][1].mean()
assert heard_having[-1][0].mean() > 0.5 * heard_having[-1][1].mean()

# %% [markdown]
# Without, $V$ is a gray floor: a small fraction of what comes, and the same for every state. With, the predictions
# rise with the returns. On average they stay behind, because the statistics follow only at $\beta = 0.1$. On the right the
# cloud is flatter than the diagonal: too low for large returns, too high for small ones. But it rises: states from which more comes are said to be worth more, which is what a
# baseline is for.
#
# ## What changes in the loop

# %%
diff(named("state_norm"), named("return_norm"))

# %% [markdown]
# The values enter GAE in units of reward: `agent.values` de-normalizes them (all the time, with $\mu = 0$ and
# $\sigma = 1$ until this trick moves them). The advantages are computed before anything is standardized. The targets
# are standardized with the
# *new* statistics. (`value` is standardized, too, with those that it was made with; only the chapter on value clipping
# uses it.)
#
# ## A small run

# %%
curves({"without": without, "return_norm": having})
plt.show()

for name, run in (("without", without), ("return_norm", having)):
    last = run.curve[run.curve.step > 0.8 * hundred.steps]
    print(
        f"{name:12} explained variance {last.explained_variance.mean():5.2f}, "
        f"value loss {last.value_loss.mean():12,.2f}, gradient norm {last.grad_norm.mean():9,.2f}"
    )
ends = [run.curve[run.curve.step > 0.8 * hundred.steps].explained_variance.mean() for run in (without, having)]
assert ends[0] < 0.1 < 0.25 < ends[1]

# %% [markdown]
# An explained variance of 0 means: as a baseline, a constant would do as well. And look at the loss: the largest
# number in the log is the one that says the least.
#
# Even without the trick the policy learns. It has lost its baseline, not its rewards, and the
# chapter on baselines told you what that costs: variance.
#
# ## Not the same as scaling rewards
#
# Could one not divide the rewards themselves? Many libraries do, by a running standard deviation of the returns. It
# helps the value net as well, but it is a different thing:
#
# - It changes the problem that the *policy* is given. Advantages shrink along, and so does everything that is weighed
#   against them, such as an entropy bonus. Here, rewards and advantages stay what they were, and only the value net's
#   homework changes.
# - The divisor moves. Two equal rewards of one episode then count differently, and a stored reward is worth something
#   else tomorrow.
# - One may divide rewards, but not subtract their mean. Take 1 from every reward of CartPole: all rewards are 0, and
#   standing is worth as much as falling. Take 2, and the best policy is to fall at once. From *returns* as the net's
#   target, any number may be subtracted, because it is added back.
#
# ## What the stored runs say

# %%
found = evidence("return_norm")
found

# %%
found.plot()
plt.show()

print(found.summary())

# %% [markdown]
# In the world with large rewards the value net is nearly useless without
# the trick, as you saw. With usual rewards there is less to repair: where no reward is larger than 1 in size and
# $\gamma = 0.99$, no discounted return is larger than $1/(1-\gamma) = 100$, and a net gets there in a few hundred gradient
# steps. Where single rewards are larger, so is the problem. Those steps can be worth something in a short run. What is paid for them are targets that move because their
# statistics do. The table says where which of the two weighed more; the rows differ because the rewards and the other
# tricks around differ.
#
# The literature is a picture of a trick with two sides. Andrychowicz et al. (2020, arXiv:2006.05990) measured it on
# continuous control: **+78% on Humanoid, +39% on HalfCheetah, −42% on Walker2d**.
#
# And $\beta$, the speed at which the statistics follow the returns? On CartPole, at the rung `return_norm`:

# %%
swept("return_beta")
plt.show()

# %% [markdown]
# It hardly matters here: a hundredfold change moves the score less than the intervals are wide.
#
# **What it does not say:** that you know in advance on which side you are. What you can know is whether you have
# the problem. Print the mean of your returns, and compare it with what the learning rate can reach, 65 α a step.
#
# ## When it does not help, or hurts
#
# - **When returns are of order 1 to 100 already.** Then a net can say them.
# - **When all returns are nearly alike,** as in a sparse task before the first success. $\sigma$ shrinks toward its
#   lower limit, tiny differences are blown up to size 1, and the net learns noise. The first success is then an
#   outlier of hundreds of $\sigma$.
# - **When the statistics move fast.** All that the net has said so far was said in old units. If $\sigma$ doubles
#   overnight, so does, unasked, every deviation from the mean that the net predicts. Its repair has a chapter of its
#   own, on `popart`.
#
# ## Exercises
#
# **Exercise 1: write it.** Move the mean and the variance a share β toward a batch of returns, without ever computing
# a mean of squares.


# %%
def my_move(mean, variance, returns, beta):  # numbers, and a tensor [B] of returns -> (mean, variance)
    ...


check_move(my_move)

# %% [markdown]
# **Exercise 2: think.** All rewards are multiplied by 100, on the rung `return_norm`, which has `advantage_norm` as
# well. Once the statistics have settled: what happens to $\mu$, $\sigma$, $n(s)$, $V(s)$, $\delta$, and to the
# advantage that reaches the policy? And before they have settled, with $\mu = 0$, $\sigma = 1$ and $\beta = 0.1$: what
# share of the way to the true mean has $\mu$ gone after ten updates?
#
# **Exercise 3: spot the bug.** The value net's outputs enter the loop through one function. Here is a version of
# it with a mistake that, in the words of one public repository, "collapses the performance". The shapes are right, and
# nothing complains.

# %%
source(values_of)

# %%
with patch.object(Agent, "values", values_of):
    faulty = train(replace(having.config, steps=10_000), normed)

for name, run in (("right", having), ("with the bug", faulty)):
    by_update = run.curve.groupby("update").explained_variance.mean()
    print(f"{name:13} explained variance by update:", *(f"{v:5.2f}" for v in by_update))
assert faulty.curve.explained_variance.abs().max() < 0.05

# %% [markdown]
# The agents may well improve all the same, so do not wait for the learning curve to tell you. What is wrong, what do
# the advantages consist of now, and why is the explained variance, which does not care about an offset, still zero?
#
# Solutions: [`solutions/08_return_norm.py`](solutions/08_return_norm.py). Next: [the gradient's
# norm](09_grad_clip.ipynb), and what one bad batch can do.

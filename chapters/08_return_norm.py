# %% [markdown]
# # Return normalization: a value net for any scale
#
# *What becomes of the value net when every reward is a hundred times larger?*
#
# The policy hardly notices, because [advantage normalization](06_advantage_norm.ipynb) keeps its advantages around 1.
# But the value net has to output the numbers themselves: 5000 instead of 50, with weights that start around 0.1 and
# move by a few thousandths at a time.

# %% tags=["hide-input"]
from dataclasses import replace
from unittest.mock import patch

import matplotlib.pyplot as plt
import torch

from ablations import interval, style
from chapters.book import (
    at_best_rate,
    at_each_scale,
    begin,
    caption,
    curves,
    draw_scales,
    evidence,
    label_lines,
    planted,
)
from chapters.exercises.return_norm import check_move, values_of
from tricks import Config, diff, source, train
from tricks.baseline import explained_variance
from tricks.core.adam import Adam, gradient
from tricks.core.agent import Agent
from tricks.core.moments import ReturnStats, denormalize, normalize
from tricks.core.nets import mlp
from tricks.core.seeds import stream
from tricks.ladder import named, switched
from tricks.return_norm import move_stats, unmoved

begin()

# %% [markdown]
# ## The same curve, a hundred times higher
#
# A net like the library's value net has to learn $f(x)=c\,(50+20\sin3x)$ from 128 points, once with $c=1$ and once with
# $c=100$. First weights and learning rate (0.003) are the same.

# %% tags=["hide-input"]
x = torch.linspace(-1, 1, 128).view(1, -1, 1)
wave = (50 + 20 * torch.sin(3 * x)).view(1, -1).double()


def fit(target, steps=2000, rate=0.003):
    """The net's outputs after every 50th gradient step on ½(output − target)²: [steps/50, 128]."""
    net = mlp([stream(0, "init")], (1, 64, 64, 1), exact=True)
    optimizer, kept = Adam(net.parameters(), eps=1e-5), []
    for step in range(steps):
        output = net(x).squeeze(-1)
        if step % 50 == 0:
            kept.append(output.detach()[0])
        loss = 0.5 * (output - target).square().mean(1)
        optimizer.step(gradient(loss, net.parameters()), torch.tensor([rate]), torch.tensor([True]))
    return torch.stack(kept)


small, large = fit(wave), fit(100 * wave)

# %% [markdown]
# **Predict.** After 1950 steps, how close is each net to its target? And which shape does the one with $c=100$ have: a
# flatter wave, or no wave at all?

# %% tags=["predict", "hide-input"]
figure, axes = plt.subplots(1, 2, figsize=(7, 2.7))
for axis, outputs, scale in zip(axes, (small, large), (1, 100), strict=True):
    axis.plot(x.flatten(), scale * wave.flatten(), color=style.INK, lw=1.2, label="target")
    for step, color in ((500, style.SOFT), (1000, style.OTHERS[2]), (1950, style.COLORS["return_norm"])):
        axis.plot(x.flatten(), outputs[step // 50], color=color, label=f"{step} steps")
    axis.set(xlabel="x", ylim=(0, 75 * scale), title=f"c = {scale}")
label_lines(axes[0])
axes[1].text(0, large[-1].mean() + 250, "after 1950 steps", color=style.COLORS["return_norm"], ha="center")
axes[0].set_ylabel("output")
plt.show()

speed = (large[-1] - large[-11]).mean().item() / 500
caption(
    f"With c = 100 the net ends at {large[-1].mean():.0f} for every x. "
    f"It climbs {speed:.2f} per step, so it takes {5000 / speed:,.0f} steps to 5000."
)
assert 0.1 < speed < 0.3
assert (small[-1] - wave[0]).abs().max() < 8 and large[-1].max() < 1000 and large[-1].max() - large[-1].min() < 5

# %% [markdown]
# No wave: a flat line crawls up from the bottom. All that the net has learned is that **every state is worth far more
# than it says**. Such a $V$ can't tell a good state from a bad one.
#
# You can compute the crawl. The output is a bias plus 64 features between −1 and 1, each times a weight. A step of Adam
# moves each of these 65 parameters by about the learning rate $\alpha$, so the output moves by at most about
# $65\,\alpha\approx0.2$. A larger rate won't do, because the policy uses the same one and has its own needs.
#
# ## Standardize the targets
#
# Let the net learn the **standardized** return, and let two numbers turn it back into units of reward:
#
# $$n(s) \approx \frac{G - \mu}{\sigma}, \qquad\text{so that}\qquad V(s) = \sigma\, n(s) + \mu,$$
#
# with $\mu$ and $\sigma$ the mean and standard deviation of the returns. With `gae`, $G$ is its value target. van
# Hasselt et al. (2016, arXiv:1602.07714) call this ART, for "adaptively rescaling targets."
#
# **Which unit goes where?** GAE adds rewards to values, so $V$ must be in units of reward. Go back to $\sigma n+\mu$
# *first*, compute advantages and targets, then standardize the targets for the loss.
#
# **Which returns?** For [states](07_state_norm.ipynb) we took all that were ever seen. But old returns belong to a
# policy that is long gone, so here the past has to fade. A batch with mean $m$ and mean square $\overline{G^2}$ moves
# the statistics a share $\beta$ of the way:
#
# $$\mu' = (1-\beta)\,\mu + \beta\, m, \qquad \mathbb{E}[G^2]' = (1-\beta)\,\mathbb{E}[G^2] + \beta\, \overline{G^2},
#   \qquad \sigma'^2 = \mathbb{E}[G^2]' - \mu'^2 .$$
#
# Computed this way, the difference of two large numbers is lost to rounding. Multiplied out on paper, it is once more
# **the spread within plus the spread between**, with the batch's variance $v$:
#
# $$\sigma'^2 = (1-\beta)\,\sigma^2 + \beta\, v + \beta(1-\beta)\,(m - \mu)^2.$$

# %%
source(ReturnStats, move_stats, normalize, denormalize)

# %% [markdown]
# $\sigma$ is kept between 0.0001 and a million, so nothing divides by 0. Tasks follow in [PopArt](12_popart.ipynb).

# %%
diff(named("state_norm"), named("return_norm"))

# %% [markdown]
# `agent.values` always denormalizes what enters GAE; until this trick moves them, $\mu=0$ and $\sigma=1$. The targets
# are standardized with the *new* statistics.
#
# ## CartPole at 100 points a step
#
# `CartPoleReward100` pays 100 instead of 1 per step. Five agents train with the trick and five without, each at its
# best learning rate. `planted` swaps a function of the loop for one that also keeps what the value nets predicted and
# the returns that followed.

# %%
hundred = Config("tricks/CartPoleReward100-v0", seeds=5, steps=30_000)
hundred = replace(hundred, lanes=32, horizon=32)
plain = switched(("baseline", "reuse", "clip", "gae", "advantage_norm"))
normed = switched((*plain.on, "return_norm"))


def listen(tricks):
    """A run, and per update what V said and which returns followed: [(V, G), ...]."""
    heard = []

    def listening(value, target, valid):
        heard.append((value[valid], target[valid]))
        return explained_variance(value, target, valid)

    with planted(explained_variance=listening):
        return train(at_best_rate(hundred, tricks), tricks), heard


without, heard_without = listen(plain)
having, heard_having = listen(normed)

# %% tags=["thumbnail", "hide-input"]
figure, (left, right) = plt.subplots(1, 2, figsize=(7.5, 2.9), width_ratios=(1.15, 1))
pairs = ((heard_without, style.SOFT, "without"), (heard_having, style.COLORS["return_norm"], "return_norm"))
for heard, color, name in pairs:
    left.plot([value.mean() for value, _ in heard], color=color, label=name)
    value, came = heard[-1]
    some = torch.randperm(len(value), generator=torch.Generator().manual_seed(0))[:1500]
    right.scatter(came[some], value[some], s=4, color=color, alpha=0.35, lw=0)
left.plot([came.mean() for _, came in heard_having], color=style.INK, lw=1.2, label="what came, with it")
left.set(xlabel="update", ylabel="mean of V(s), of returns", xlim=(0, len(heard_having) - 1))
label_lines(left)
right.plot([0, 10_000], [0, 10_000], color=style.INK, lw=1)
right.set(xlabel="the return that followed", ylabel="V(s)", title="last update, state by state")
plt.show()

assert heard_without[-1][0].mean() < 0.2 * heard_without[-1][1].mean()
assert heard_having[-1][0].mean() > 0.5 * heard_having[-1][1].mean()

# %% [markdown]
# Without the trick, $V$ is a flat line near the bottom. With it, predictions lag behind the returns, as statistics that
# follow at $\beta=0.1$ will, but better states get higher values.

# %% tags=["hide-input"]
curves({"without": without, "return_norm": having})
plt.show()

ends = [run.curve[run.curve.step > 0.8 * hundred.steps].explained_variance.mean() for run in (without, having)]
caption(f"Explained variance at the end: {abs(ends[0]):.2f} without the trick, {ends[1]:.2f} with it.")
assert abs(ends[0]) < 0.1 < 0.25 < ends[1]

# %% [markdown]
# An explained variance of 0 means that a constant would do as well. The policy learns all the same, perhaps because
# advantage normalization still subtracts a mean.
#
# ## A ten-thousandth of a point a step
#
# What if rewards are tiny? The statistics start at $\mu=0$ and $\sigma=1$. Large returns pull $\sigma$ up at once, but
# small ones can't pull it down as fast. A batch takes away at most a share $\beta$ of the variance:
#
# $$\sigma'^2 \ge (1-\beta)\,\sigma^2, \qquad\text{so after } k \text{ batches}\qquad \sigma \ge (1-\beta)^{k/2} .$$
#
# With $\beta=0.1$, the way from 1 to a thousandth takes at least $2\ln1000/\ln\tfrac{1}{0.9}\approx131$ batches. Until
# then the targets $(G-\mu)/\sigma$ hardly vary, and whatever the untrained net says by chance, times $\sigma$, is far
# larger than any reward.
#
# The cure is to assume nothing. With `return_first_batch`, the variance starts at 0, and where it is 0, `move_stats`
# takes $\beta=1$: the first batch sets $\mu$ and $\sigma$. Until then $\sigma$ is at its lower limit, so that
# $V\approx0$.

# %%
source(unmoved)

# %% [markdown]
# We multiply CartPole's rewards by 0.0001, 0.01, 1, 100, and 10,000, for six agents each, and count the score as usual.
#
# **Predict.** At which scales does `return_norm` change the score, with each start?

# %% tags=["predict", "hide-input"]
starts = {
    "without": at_each_scale(plain),
    "from 0 and 1": at_each_scale(normed),
    "from the first batch": at_each_scale(normed, first_batch=True),
}
scores = draw_scales(starts, "return_norm")

before, after = (starts[name].agent.return_stats.std[:6].mean() for name in ("from 0 and 1", "from the first batch"))
updates = starts["from 0 and 1"].curve["update"].max() + 1
caption(
    f"Rewards times 0.0001, after {updates} updates: σ = {before:.4f} from 0 and 1, {after:.4f} from the first batch."
)
assert before > 100 * after
tiny_scores = {name: each[0] for name, each in scores.items()}
assert interval(tiny_scores["from the first batch"])[0] > 1.5 * interval(tiny_scores["from 0 and 1"])[1]
assert scores["from the first batch"].mean(1).min() > 0.8 * scores["from the first batch"].mean(1).max()
assert abs(scores["from 0 and 1"][1:].mean() / scores["from the first batch"][1:].mean() - 1) < 0.2
assert abs(scores["without"][3:].mean() / scores["without"][2].mean() - 1) < 0.2

# %% [markdown]
# From 0 and 1, the trick does nothing for the tiniest rewards: $\sigma$ is still more than a hundred times too large.
# From the first batch, all five scales train alike. So take `return_first_batch=True` where rewards are tiny.
#
# At ×100 and ×10,000, agents without the trick lose nothing here, although the value nets above learned next to nothing
# at ×100. These runs have half of that budget and one rate for all, and advantage normalization subtracts a mean; we
# haven't tested which of these is the reason.
#
# ## Where return_norm matters
#
# The fourth row is on the way from CleanRL's set to the preset `ppo`.

# %% tags=["hide-input"]
found = evidence("return_norm")
found.strip()
plt.show()

(trial,) = found.worlds[found.worlds.dose == "reward"].itertuples()
assert trial.growth_low > 0
assert (found.table.detected[found.table.env == "CartPole-v1"] == 0).all()
assert (found.worlds.seen == 1).all() and len(found.worlds) == 3 and not (found.table.detected < 0).any()
assert found.table.verdict[found.table.env == "tricks/BricksByRow-v0"].item() == "helps"
again = found.table[(found.table.detected > 0) & (found.table.confirmed == 1)]
assert set(again.env) == {"Acrobot-v1", "LunarLander-v3", "Pendulum-v1", "Taxi-v4"}
assert set(again.question[again.env == "Taxi-v4"]) == {"taken out of everything, with popart"}

# %% [markdown]
# It helps in the worlds made for it, where rewards are a hundred times larger, ten thousand times smaller, or differ a
# thousandfold between tasks. Of the usual environments, it helps on Pendulum, Acrobot, LunarLander, and, together with
# PopArt, on Taxi, all on two sets of seeds, and in `BricksByRow`, a game in pixels, on one. On CartPole, nothing is
# detected.

# %% tags=["hide-input"]
found

# %% [markdown]
# Andrychowicz et al. (2020, arXiv:2006.05990) found that it can go either way: it was crucial on HalfCheetah and
# Humanoid, and hurt on Walker2d.
#
# Do you have the problem? Compare the mean of your returns with what the learning rate can reach, at $65\,\alpha$ per
# gradient step. And expect trouble from the trick itself
#
# - **when nearly all returns are alike,** as before the first success in a sparse task. $\sigma$ shrinks, tiny
#   differences are blown up, and the first success is an outlier of hundreds of $\sigma$.
# - **when the statistics move fast.** What the net has learned is in the old units. [PopArt](12_popart.ipynb) repairs
#   that.

# %% [markdown]
# ## At a glance
#
# | | |
# |---|---|
# | **problem** | returns come in any size, and the value net starts near 0 and moves in small steps |
# | **formula** | $V(s)=\sigma\,n(s)+\mu$, with $n(s)$ fitted to $(G-\mu)/\sigma$ |
# | **in the loop** | `batch.add(old_value=normalize(value, before), target=normalize(target, stats))` |
# | **defaults** | `return_beta` $\beta=0.1$; `return_first_batch` off, but take it for small rewards |
# | **watch** | `explained_variance`; `return_mean` and `return_std`, which should settle |
# | **skip it when** | returns are already around 1, or nearly all the same |
# | **evidence** | Helps as the next rung in Acrobot, Pendulum; on top of cleanrl without value_clip in Acrobot, Pendulum; in the full set (with popart) in Pendulum, Taxi; alone (on baseline) in LunarLander; on top of cleanrl (at one rate; once) in BricksByRow. Practically nothing as the next rung in Taxi, LunarLander. In 4 of 9 environments, these runs can't tell. It helps in 3 of 3 trials in worlds made for it, as predicted. |
# | **also called** | value (or target) normalization; ART, the first half of PopArt; *not* [reward scaling](a5_reward_scaling.ipynb) |

# %% [markdown]
# ## Exercises
#
# **Exercise 1: write it.** Move the mean and the variance a share β toward a batch of returns, without ever computing a
# mean of squares.


# %%
def my_move(mean, variance, returns, beta):  # returns [B] -> (mean, variance)
    ...


check_move(my_move)

# %% [markdown]
# <details><summary>Hint</summary>
#
# Three terms: the old variance, the batch's own variance (divided by $n$, not $n - 1$), and one for the distance of the
# means.
#
# </details>
#
# **Exercise 2: think.** All rewards are multiplied by 100. Once the statistics have settled, what happens to $\mu$,
# $\sigma$, $n(s)$, $V(s)$, $\delta$, and to the standardized advantage? And starting from $\mu = 0$ with $\beta = 0.1$,
# how far toward the true mean has $\mu$ come after ten updates?
#
# <details><summary>Answer</summary>
#
# $\mu$, $\sigma$, $V(s)$ and $\delta$ are 100 times larger; $n(s)$ and the standardized advantage are what they were.
# Each update leaves 0.9 of the distance, and $0.9^{10} \approx 0.35$, so $\mu$ has come 65% of the way.
#
# </details>

# %% [markdown]
# **Exercise 3: spot the bug.** The value net's outputs enter the loop through this function.

# %%
source(values_of)

# %%
with patch.object(Agent, "values", values_of):
    faulty = train(replace(having.config, steps=10_000), normed)

# %% tags=["hide-input"]
for name, run in (("right", having), ("with the bug", faulty)):
    by_update = run.curve.groupby("update").explained_variance.mean()
    print(f"{name:13} explained variance by update:", *(f"{v + 0.0:5.2f}" for v in by_update.round(2)))
assert faulty.curve.explained_variance.abs().max() < 0.05

# %% [markdown]
# What's wrong, and what do the advantages consist of now? And why is the explained variance 0, although it doesn't care
# about an offset?
#
# <details><summary>Hint</summary>
#
# In which units are the numbers that GAE gets? How much do they vary, compared with returns in the thousands?
#
# </details>
#
# Another flag scales the rewards themselves: [reward scaling](a5_reward_scaling.ipynb).
#
# Solutions: [`solutions/08_return_norm.py`](solutions/08_return_norm.py). Next: [gradient
# clipping](09_grad_clip.ipynb), and what one bad batch can do.

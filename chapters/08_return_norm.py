# %% [markdown]
# # Return normalization: a value net for any scale
#
# *What becomes of the value net when every reward is a hundred times larger?*
#
# Pay a task's rewards in cents instead of dollars, and the task is the same. The policy hardly notices, because
# [advantage normalization](06_advantage_norm.ipynb) keeps its advantages around 1. But the value net has to output the
# numbers themselves: 5000 instead of 50, with weights that start around 0.1 and move by a few thousandths at a time.

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
    best_at,
    curves,
    draw_scales,
    evidence,
    label_lines,
    planted,
    swept,
)
from chapters.exercises.return_norm import check_deviation, check_move, values_of
from tricks import Config, diff, source, train
from tricks.baseline import explained_variance
from tricks.core.adam import Adam, gradient
from tricks.core.agent import Agent
from tricks.core.moments import ReturnStats, denormalize, normalize
from tricks.core.nets import mlp
from tricks.core.seeds import stream
from tricks.gae import gae
from tricks.ladder import named, switched
from tricks.return_norm import move_stats, unmoved
from tricks.reward_scaling import RewardScale, running_sums, variance_so_far

begin()

# %% [markdown]
# ## The same curve, a hundred times higher
#
# A net built like the library's value net has to learn $f(x) = c\,(50 + 20 \sin 3x)$ from 128 points between −1 and 1,
# once with $c = 1$ and once with $c = 100$. First weights and learning rate (0.003) are the same.

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
# **Predict.** After 2000 steps, how close is each net to its target? And which shape does the one with $c = 100$ have:
# a flatter wave, or no wave at all?

# %% tags=["predict", "hide-input"]
figure, axes = plt.subplots(1, 2, figsize=(7, 2.7))
for axis, outputs, scale in zip(axes, (small, large), (1, 100), strict=True):
    axis.plot(x.flatten(), scale * wave.flatten(), color=style.INK, lw=1.2, label="target")
    for step in (500, 1000, 1950):
        axis.plot(x.flatten(), outputs[step // 50], color=style.SOFT, alpha=0.35 + step / 4000, label=f"{step} steps")
    axis.set(xlabel="x", ylim=(0, 75 * scale), title=f"c = {scale}")
label_lines(axes[1])
axes[0].set_ylabel("output")
plt.show()

print(f"target around 50:   the net says {small[-1].min():.0f} to {small[-1].max():.0f}")
print(f"target around 5000: the net says {large[-1].min():.1f} to {large[-1].max():.1f}")
assert (small[-1] - wave[0]).abs().max() < 8 and large[-1].max() < 1000 and large[-1].max() - large[-1].min() < 5

# %% [markdown]
# No wave: a flat line crawls up from the bottom. As far as the net can tell, **every state is worth far more than it
# says**, and that is all it has learned. Such a $V$ can't tell a good state from a bad one.
#
# You can compute the crawl. The output is a bias plus 64 features between −1 and 1, each times a weight. A step of Adam
# moves each of these 65 parameters by about the learning rate $\alpha$, so the output moves by at most about
# $65\,\alpha \approx 0.2$ per step. (The layers below can't help, since features are bounded.)

# %% tags=["open"]
speed = (large[-1] - large[-11]).mean().item() / 500
print(f"measured: {speed:.3f} per step, so {5000 / speed:,.0f} steps to 5000")
assert 0.1 < speed < 0.3

# %% [markdown]
# Only then does it begin to tell one $x$ from another. A larger learning rate won't do, because the policy uses the
# same rate and has its own needs. And where policy and value share layers, or [a limit on the gradient's
# norm](09_grad_clip.ipynb), a value gradient a hundred times as large drowns out the policy's part.
#
# ## Standardize the targets
#
# Let the net learn the **standardized** return, and let two numbers turn it back into units of reward:
#
# $$n(s) \approx \frac{G - \mu}{\sigma}, \qquad\text{so that}\qquad V(s) = \sigma\, n(s) + \mu,$$
#
# with $\mu$ and $\sigma$ the mean and standard deviation of the returns. (With `gae`, $G$ is its value target.) van
# Hasselt et al. (2016, arXiv:1602.07714) call this ART, for "adaptively rescaling targets."
#
# **Which unit goes where?** GAE adds rewards to values, so $V$ must be in units of reward. Go back to $\sigma n + \mu$
# *first*, compute advantages and targets, then standardize the targets for the loss.
#
# **Which returns?** For [states](07_state_norm.ipynb) we took all that were ever seen. But old returns belong to a
# policy that is long gone, so here the past has to fade. A batch with mean $m$ and mean square $\overline{G^2}$ moves
# the statistics a share $\beta$ of the way:
#
# $$\mu' = (1-\beta)\,\mu + \beta\, m, \qquad \mathbb{E}[G^2]' = (1-\beta)\,\mathbb{E}[G^2] + \beta\, \overline{G^2},
#   \qquad \sigma'^2 = \mathbb{E}[G^2]' - \mu'^2 .$$
#
# Don't compute it this way in 32 bits: with $\mu$ near 10,000, both terms of the difference are near $10^8$, where such
# numbers are 8 apart. Subtract on paper instead. With $\mathbb{E}[G^2] = \sigma^2 + \mu^2$ and, for the batch's
# variance $v$, $\overline{G^2} = v + m^2$:
#
# $$\sigma'^2 = (1-\beta)(\sigma^2 + \mu^2) + \beta (v + m^2) - \big((1-\beta)\mu + \beta m\big)^2
#   = (1-\beta)\,\sigma^2 + \beta\, v + \beta(1-\beta)\,(m - \mu)^2.$$
#
# (Multiply out the square: the coefficient of $\mu^2$ is $(1-\beta) - (1-\beta)^2 = \beta(1-\beta)$, that of $m^2$ is
# the same, and the cross term is $-2\beta(1-\beta)\mu m$.) Now the only subtraction is between two means. As in the
# last chapter, this is **the spread within plus the spread between**, with weights $1-\beta$ and $\beta$.

# %%
source(ReturnStats, move_stats, normalize, denormalize)

# %% [markdown]
# $\sigma$ is kept between 0.0001 and a million, so nothing divides by 0. (Tasks follow in [PopArt](12_popart.ipynb).)
#
# By hand: start from $\mu = 0$ and $\sigma^2 = 1$, and let a batch bring the returns 1, 2, 4, 9, with $\beta = ¼$. Then
# $m = 4$ and $v = (9 + 4 + 0 + 25)/4 = 9.5$, so $\mu' = 1$ and $\sigma'^2 = ¾ \cdot 1 + ¼ \cdot 9.5 + \tfrac{3}{16}
# \cdot 16 = 6.125$.


# %%
def stats(mean, variance):
    return ReturnStats(torch.tensor([mean]).double(), torch.tensor([variance]).double())


returns = torch.tensor([1.0, 2.0, 4.0, 9.0]).view(1, 4, 1)  # [S, T, N]
valid = torch.ones_like(returns, dtype=torch.bool)
moved = move_stats(stats(0.0, 1.0), returns, valid, beta=0.25)

# %% tags=["hide-input"]
print(f"mean {moved.mean.item()}, variance {moved.variance.item()}")
assert moved.mean.item() == 1
assert abs(moved.variance.item() - 6.125) < 1e-12

# %% [markdown]
# Now the units. With $\mu = 1000$ and $\sigma = 200$, let the net say $n(s) = 1$ and $n(s') = ½$, so the values are
# $1200$ and $1100$. The step paid 100, and $\gamma = ½$ for easy numbers. Then $\delta = 100 + ½ \cdot 1100 - 1200 =
# -550$, a disappointment. If you forget to convert back, you compute $100 + ½ \cdot ½ - 1 = 99.25$ and praise the
# action.

# %% tags=["open"]
now = stats(1000.0, 200.0**2)
outputs = torch.tensor([[1.0, 0.5]], dtype=torch.float64)
reward, alive = torch.full((1, 1, 1), 100.0), torch.zeros(1, 1, 1, dtype=torch.bool)
said = {"in units of reward": denormalize(outputs, now)}
said["straight from the net"] = outputs
for name, values in said.items():
    value, following = (values[:, i].view(1, 1, 1) for i in (0, 1))
    delta = gae(reward, value, following, alive, alive, 0.5, 0.0).item()
    print(f"δ from values {name}: {delta}")
assert delta == 99.25

# %% [markdown]
# ## In the loop

# %%
diff(named("state_norm"), named("return_norm"))

# %% [markdown]
# `agent.values` always denormalizes what enters GAE; until this trick moves them, $\mu = 0$ and $\sigma = 1$.
# (`unmoved` can have them start otherwise; we will need that below.) The targets are standardized with the *new*
# statistics. The old `value` keeps the ones it was made with; only [value clipping](15_value_clip.ipynb) uses it.
#
# ## CartPole at 100 points a step
#
# In `CartPoleReward100` each step pays 100 instead of 1; otherwise it is CartPole. Five agents train with the trick and
# five without, at the learning rates that did best on other seeds. (`planted` swaps one function of the loop for one
# that also keeps what the value nets predicted and the returns that followed.)

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
left.plot([came.mean() for _, came in heard_having], color=style.INK, lw=1.2, label="what came")
left.set(xlabel="update", ylabel="mean of V(s)", xlim=(0, len(heard_having) - 1))
label_lines(left)
right.plot([0, 10_000], [0, 10_000], color=style.INK, lw=1)
right.set(xlabel="the return that followed", ylabel="V(s)", title="last update, state by state")
plt.show()

for heard, _, name in pairs:
    value, came = heard[-1]
    print(f"{name:12} last update: V(s) from {value.min():5.0f} to {value.max():5.0f}, mean return {came.mean():.0f}")
assert heard_without[-1][0].mean() < 0.2 * heard_without[-1][1].mean()
assert heard_having[-1][0].mean() > 0.5 * heard_having[-1][1].mean()

# %% [markdown]
# Without the trick, $V$ is a flat line near the bottom: a small fraction of the returns, and the same for every state.
# With it, predictions rise with the returns. They lag, as one would expect of statistics that follow at $\beta = 0.1$,
# but better states get higher values.

# %% tags=["hide-input"]
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
# An explained variance of 0 means that a constant would do as well. The value losses can't tell you: they are in
# different units. The policy learns even without the trick, since advantage normalization still subtracts a mean. But
# that mean is the same for every state, so the policy pays in variance.
#
# ## A ten-thousandth of a point a step
#
# So far, rewards were too large. What if they are tiny? The statistics start at $\mu = 0$ and $\sigma = 1$. Large
# returns pull $\sigma$ up at once: if they have a deviation of 5000, one batch takes it to more than $\sqrt{0.1} \cdot
# 5000 \approx 1600$. Small returns can't pull it down as fast. Whatever a batch holds, it takes away at most a share
# $\beta$ of the variance:
#
# $$\sigma'^2 \ge (1-\beta)\,\sigma^2, \qquad\text{so after } k \text{ batches}\qquad \sigma \ge (1-\beta)^{k/2} .$$
#
# With $\beta = 0.1$, the way from 1 to a thousandth takes at least $2 \ln 1000 / \ln \tfrac{1}{0.9} \approx 131$
# batches. Until then the targets $(G - \mu)/\sigma$ hardly vary, and whatever the untrained net says by chance, times
# $\sigma$, is far larger than any reward.
#
# The cure is to assume nothing. With `return_first_batch`, the variance starts at 0, and where it is 0, `move_stats`
# takes $\beta = 1$: the first batch sets $\mu$ and $\sigma$, and all later ones move them by $\beta$ as before. Until
# then $\sigma$ is at its lower limit, so that $V \approx 0$, and the first advantages are made of rewards alone.

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
print(f"rewards times 0.0001, after {updates} updates: σ = {before:.4f} and {after:.4f}")
assert before > 100 * after
tiny_scores = {name: each[0] for name, each in scores.items()}
assert interval(tiny_scores["from the first batch"])[0] > 1.5 * interval(tiny_scores["from 0 and 1"])[1]
assert scores["from the first batch"].mean(1).min() > 0.8 * scores["from the first batch"].mean(1).max()
assert abs(scores["from 0 and 1"][1:].mean() / scores["from the first batch"][1:].mean() - 1) < 0.2

# %% [markdown]
# From 0 and 1, the trick does nothing for the tiniest rewards: at the end, $\sigma$ is still more than a hundred times
# too large. From the first batch, all five scales train alike. So take `return_first_batch=True`. (It is off only so
# that stored results stay what they were.) Returns below 0.0001 are beyond it, too: that is $\sigma$'s lower limit.
#
# Why not Adam's bias correction, which gives the first batches the weights 1, ½, ⅓, ... as long as $\beta$ is small? It
# would do, but needs a count for each seed and task. The variance of 0 needs none.
#
# ## Where return_norm matters

# %% tags=["hide-input"]
found = evidence("return_norm")
found.strip()
plt.show()

(trial,) = found.worlds[found.worlds.dose == "reward"].itertuples()
print("gain as a share of the best score, by reward:", trial.doses)
assert trial.growth_low > 0 and trial.doses.startswith("1:-0.00")
cartpole = found.table[found.table.env == "CartPole-v1"]
for row in cartpole[cartpole.detected != 0].itertuples():
    print(f"CartPole-v1, {row.question}: {row.difference:+.2f}, and {row.again:+.2f} on 30 other seeds")
print("detected as hurting in", (found.table.detected < 0).sum(), "of", len(found.table), "comparisons")
assert (found.worlds.seen == 1).all() and len(found.worlds) == 3 and not (found.table.detected < 0).any()
assert found.table.verdict[found.table.env == "tricks/BricksByRow-v0"].item() == "helps"
again = found.table[(found.table.detected > 0) & (found.table.confirmed == 1)]
assert sorted(again.env) == ["Acrobot-v1", "LunarLander-v3", "Pendulum-v1", "Pendulum-v1", "Taxi-v4"]

# %% [markdown]
# In the worlds made for it, where rewards are a hundred times larger, ten thousand times smaller (there the statistics
# start from the first batch), or differ a thousandfold between tasks, it clearly helps. (With rewards ten times larger,
# it gains nearly as much; with the usual ones, nothing. These doses were run only once.) It also helps in two
# comparisons on Pendulum, as Acrobot's next rung, on LunarLander with nothing but a baseline, and, together with
# PopArt, in Taxi's full set. All five held up on 30 other seeds. On top of PPO, it helps in `BricksByRow`, a game in
# pixels in which a brick pays 1, 10, or 100. On CartPole a discounted return is at most $1/(1-\gamma) = 100$, which a
# net reaches in about 500 gradient steps at a rate of 0.003; two comparisons favored it, but less so on other seeds, so
# the strip leaves them open.

# %%
found

# %% [markdown]
# Andrychowicz et al. (2020, arXiv:2006.05990) found that value normalization can go either way: it was crucial on
# HalfCheetah and Humanoid, and hurt on Walker2d.
#
# Is $\beta = 0.1$ a good speed? At the rung `return_norm` (on Pendulum with γ = 0.9):

# %% tags=["hide-input"]
swept("return_beta")
plt.show()

speeds = best_at("return_beta")
assert speeds["Acrobot-v1"][1.0] < speeds["Acrobot-v1"].loc[:0.3].min() - 30
assert speeds["Pendulum-v1"][0.01] < speeds["Pendulum-v1"].loc[0.03:].min() - 50

# %% [markdown]
# Good enough on CartPole, where all intervals overlap, and on Acrobot, where only $\beta = 1$ costs 30 points or more:
# its statistics are those of the last batch alone. On Pendulum, 0.3 is best and 0.1 falls short of "nearly as good",
# though their intervals overlap. There, 0.01 is probably too slow: about sixty batches take $\mu$ less than half of the
# way ($1 - 0.99^{60} = 45\%$).
#
# Do you have the problem? Compare the mean of your returns with what the learning rate can reach in your budget, at
# $65\,\alpha$ per gradient step. And expect trouble from the trick itself
#
# - **when nearly all returns are alike,** as in a sparse task before the first success. $\sigma$ shrinks, tiny
#   differences are blown up to size 1, and the first success is an outlier of hundreds of $\sigma$. Starting from the
#   first batch, $\sigma$ is that small at once.
# - **when the statistics move fast.** What the net has learned is in the old units. If $\sigma$ doubles, so does every
#   predicted deviation from the mean. [PopArt](12_popart.ipynb) repairs that.

# %% [markdown]
# ## At a glance
#
# | | |
# |---|---|
# | **problem** | returns come in any size, and the value net starts near 0 and moves in small steps |
# | **formula** | $V(s) = \sigma\, n(s) + \mu$, where the net's output $n(s)$ is fitted to $(G - \mu)/\sigma$ |
# | **in the loop** | `batch.add(old_value=normalize(value, before), target=normalize(target, stats))` |
# | **defaults** | `return_beta` $\beta = 0.1$, the share of each batch in $\mu$ and $\sigma$; `return_first_batch` off, but take it for small rewards |
# | **watch** | `explained_variance`, beside `return_mean` and `return_std`, which should settle |
# | **skip it when** | returns are already around 1, or nearly all the same |
# | **also called** | value (or target) normalization; ART, the first half of PopArt; *not* reward scaling, see below |

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
    print(f"{name:13} explained variance by update:", *(f"{v:5.2f}" for v in by_update))
assert faulty.curve.explained_variance.abs().max() < 0.05

# %% [markdown]
# (The agents may improve all the same.) What's wrong, and what do the advantages consist of now? And why is the
# explained variance 0, although it doesn't care about an offset?
#
# <details><summary>Hint</summary>
#
# In which units are the numbers that GAE gets? How much do they vary, compared with returns in the thousands?
#
# </details>
#
# Solutions: [`solutions/08_return_norm.py`](solutions/08_return_norm.py). Next: [gradient
# clipping](09_grad_clip.ipynb), and what one bad batch can do.

# %% [markdown]
# ## Going further
#
# Another flag scales the rewards themselves. It is often taken for `return_norm`, and is not the same.
#
# ### Three ways to tame rewards
#
# Other code changes the rewards instead:
#
# | | changes | keeps | breaks |
# |---|---|---|---|
# | **divide rewards** by the running deviation of the discounted return | rewards, so also targets and advantages | once the divisor has settled: which policy is best | until then, equal rewards count differently; the divisor must be saved with the agent |
# | **clip rewards** to ±1, or take their sign | the task | a known bound, from the first step on | ten points count like one, so another policy may be best |
# | **normalize the value target** (`return_norm`) | what the value net has to say | rewards, advantages, the task | what outputs mean, whenever $\mu$ and $\sigma$ move ([PopArt](12_popart.ipynb)) |
#
# The first is what stable-baselines3's `VecNormalize` and Gymnasium's `NormalizeReward` do; openai/baselines does the
# second on [Atari](23_atari.ipynb).
#
# With clipped rewards and $\gamma = 0.99$, an episode that pays 1 at once beats one that pays 10 at its fifth step
# ($0.99^4 \approx 0.96$). You can divide rewards, but you can't subtract their mean: take 2 from every reward of
# CartPole, and the best policy is to fall at once. From a net's *targets* you may subtract anything, since it is added
# back.
#
# ### Isn't `return_norm` what VecNormalize does?
#
# No. When people say "reward normalization," they usually mean the first row, our flag `reward_scaling`: keep a running
# discounted sum of each lane's rewards, and divide every reward by the standard deviation of all these sums so far
# (Dhariwal et al. 2017; Engstrom et al. 2020, arXiv:2005.12729). With $R_{t-1} = 0$ where an episode starts,
#
# $$R_t = \gamma R_{t-1} + r_t, \qquad
#   \hat r_t = \operatorname{clip}\Big(\frac{r_t}{\sigma_t},\, \pm 10\Big), \qquad
#   \sigma_t^2 = \operatorname{Var}(R_1, \dots, R_t) + \varepsilon.$$
#
# The variance is over all lanes, and $\varepsilon = 10^{-8}$.

# %%
source(RewardScale.forward, running_sums)

# %% [markdown]
# **Why a sum, and why γ?** The value net has to predict sums of rewards, not rewards. $R_t$ looks back where a return
# looks ahead. In a long stream without ends both vary alike, so scaled returns have a deviation around 1. (With ends
# they can differ: if only an episode's last step pays, $R_t$ is 0 until then, while the return hardly varies.)
# Independent rewards of deviation $s$ make $\sigma = s/\sqrt{1 - \gamma^2}$, 7 times $s$ at $\gamma = 0.99$. So use the
# agent's own γ.
#
# **What else changes?** Everything computed from rewards. Advantages are in units of $\sigma$ now, and so is all that
# is weighed against them or against values: the entropy bonus, the value clip's range. On a single task, `return_norm`
# changes only what the value net has to say. (With several, it also divides each task's advantages by its σ: [chapter
# 12](12_popart.ipynb).)
#
# **Predict.** CartPole pays a ten-thousandth per step, against an entropy bonus of 0.01. (There is no advantage
# normalization, which would hide the scale.) Does either trick help?

# %%
tiny = replace(hundred, env="tricks/CartPoleReward0.0001-v0", lr=0.01)
bonus = ("baseline", "reuse", "clip", "gae", "entropy")
arms = {"without": train(tiny, switched(bonus))}
for trick in ("return_norm", "reward_scaling"):
    arms[trick] = train(tiny, switched((*bonus, trick)))

# %% tags=["predict", "hide-input"]
curves(arms)
plt.show()

steps_at_end = {name: 10_000 * run.late().mean() for name, run in arms.items()}
entropy = {name: run.curve.groupby("update").entropy.mean().iloc[-1] for name, run in arms.items()}
for name in arms:
    print(f"{name:14} last tenth: {steps_at_end[name]:3.0f} steps, entropy {entropy[name]:.3f}")
assert steps_at_end["reward_scaling"] > 5 * max(steps_at_end["without"], steps_at_end["return_norm"])

# %% [markdown]
# Only scaling the rewards does. `return_norm` leaves the advantages as they are: an action worth ten more steps of
# balance earns 0.001, a tenth of the bonus's weight. So the policy keeps tossing a coin, with an entropy of
# $\ln 2 = 0.693$.
#
# #### Two traps
#
# One lane gets a reward of 1 in every step, and a time limit ends the episode after every 100th. Nothing ever changes,
# so the scaled reward should settle. Does it?

# %%
always = torch.ones(1, 50_000, 1).double()  # [S, T, N]
everything = always.bool()
limit = (torch.arange(1, 50_001) % 100 == 0).view(1, -1, 1)
anew = RewardScale(1, 1)(always, limit, everything, 0.99).flatten()
nothing_yet = torch.zeros(1, 1).double()
onward = running_sums(always, ~everything, nothing_yet, 0.99)  # never starts anew
variance, _ = variance_so_far(onward, everything, RewardScale(1, 1).moments)
onward = (1 / variance.sqrt()).clamp(max=10).flatten()

# %% tags=["hide-input"]
figure, axis = plt.subplots(figsize=(6.5, 2.6))
axis.loglog(range(1, 50_001), anew, color=style.COLORS["reward_scaling"], label="anew after every end")
axis.loglog(range(1, 50_001), onward, color=style.SOFT, label="never at a time limit")
axis.set(xlabel="step", ylabel="a reward of 1, scaled", xlim=(1, 50_000))
label_lines(axis)
plt.show()

print(
    f"first reward {anew[0]:.0f}; after 100 steps {anew[99]:.3f} and {onward[99]:.3f}; "
    f"at the end {anew[-1]:.3f} and {onward[-1]:.3f}"
)
assert round(1 / variance[0, 0].item() ** 0.5) == 71  # before the clip
assert anew[0] == 10 and anew[-1] < 1.1 * anew[99] and onward[-1] > 5 * anew[-1]

# %% [markdown]
# **The first rewards are divided by next to nothing:** one sum has no variance. To soften this, the statistics begin
# with $10^{-4}$ of an imaginary row of mean 0 and variance 1, as they do in both libraries below. Even so, without the
# clip at ±10, the first reward of 1 would become 71. (With $\varepsilon$ alone, it would be 10,000.)
#
# **Public code disagrees on when to reset the sum.** stable-baselines3, like this library, resets it after every end.
# Gymnasium's `NormalizeReward` drops the past *at* the row that terminates, not after it, and never at a time limit.
# Here its sum runs on to $1/(1-\gamma) = 100$ and stays there. Its variance fades, and the same reward counts for more
# and more. (The tests check both libraries, row by row.)
#
# Our three arms all ran at one learning rate. In the stored trial, each arm has its own:

# %% tags=["hide-input"]
scaled = evidence("reward_scaling")
scaled.strip()
plt.show()

trial = scaled.worlds.iloc[0]
doses = ", ".join(each.replace(":", " gives ") for each in trial.doses.split())
print(f"gain as a share of the best score, by {trial.dose}: {doses}")
assert trial.seen == 1 and trial.confirmed == 1 and trial.growth_low > 0
robots = scaled.table[scaled.table.subject == "continuous"].set_index("env").verdict
assert robots.to_dict() == {"Hopper-v5": "helps", "Walker2d-v5": "helps", "HalfCheetah-v5": "unknown"}

# %% [markdown]
# In the world made for it, it helps, and does so again on other seeds; the smaller the rewards, the more. Removing it
# from the [preset for robots](21_continuous_actions.ipynb) hurts on Hopper and Walker2d, and on HalfCheetah ten seeds
# can't tell. (On MuJoCo's Humanoid and on Walker2d, Engstrom et al. found that the best scores required it.)

# %%
scaled

# %% [markdown]
#
# **Exercise 4: write it.** The core of what `reward_scaling` divides by: $\sigma_t$ at every step of a single lane,
# without the $\varepsilon$ and without the imaginary row. `done` says where an episode ends.


# %%
def my_deviation(reward, done, gamma):  # T numbers, T booleans, a number -> T numbers
    ...


check_deviation(my_deviation)

# %% [markdown]
# <details><summary>Hint</summary>
#
# Two steps: first all $R_t$ in a loop, then `np.std` of the first one, of the first two, and so on.
#
# </details>

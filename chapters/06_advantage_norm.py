# %% [markdown]
# # Advantage normalization: the same lesson in any currency
#
# *Pay in cents instead of dollars. Why should the agent learn anything different?*
#
# It shouldn't. Subtract the mean, divide by the standard deviation: that does less about the scale than you might
# expect, and more about the zero.

# %% tags=["hide-input"]
from dataclasses import replace

import matplotlib.pyplot as plt
import torch

from ablations import area, interval, on_grid, style
from chapters.book import begin, caption, evidence, planted
from chapters.exercises.advantage_norm import check_standardize, standardize_short
from tricks import REINFORCE, Config, diff, source, train
from tricks.advantage_norm import standardize
from tricks.core.adam import Adam, gradient
from tricks.core.reductions import mean
from tricks.ladder import named, switched

begin()
TRICK = style.COLORS["advantage_norm"]

# %% [markdown]
# ## Three slot machines in three currencies
#
# The machines pay 1, 2, and 3. In each round an agent pulls 64 times and takes one step with **Adam**. Advantages are
# payouts minus what the policy earns on average.
#
# **Predict.** Pay a hundred times as much, or a hundredth. Or let the agent expect 30 too little, as a new value net
# does. Which agents learn faster, which more slowly?

# %% tags=["hide-input"]
PAYS = torch.tensor([1.0, 2.0, 3.0])


def teach(currency, too_low, normalize, agents=50, pulls=64, rounds=300):
    """Mean probability of the best machine after each round."""
    torch.manual_seed(0)
    theta, share = torch.zeros(agents, 3, requires_grad=True), []
    adam, rates = Adam([theta], eps=1e-5), torch.full((agents,), 0.02)
    for _ in range(rounds):
        policy = torch.distributions.Categorical(logits=theta)
        action = policy.sample((pulls,))
        expected = (policy.probs * PAYS).sum(1).detach() - too_low
        advantage = (currency * (PAYS[action] - expected)).T  # [agents, pulls]
        if normalize:
            advantage = standardize(advantage, torch.ones_like(advantage, dtype=torch.bool))
        loss = -(policy.log_prob(action).T * advantage).mean(1)
        adam.step(gradient(loss, [theta]), rates, moving=rates > 0)
        share.append(policy.probs[:, 2].mean().item())
    return share


# %% tags=["predict", "hide-input"]
figure, axes = plt.subplots(1, 2, figsize=(7.5, 2.8), sharey=True)
last = {}
for axis, normalize in zip(axes, (False, True), strict=True):
    for currency, too_low, line in ((0.01, 0, "-"), (1, 0, "-"), (100, 0, (0, (2, 2))), (1, 30, "-")):
        share = teach(currency, too_low, normalize)
        color = style.INK if currency == 100 else TRICK if normalize else style.FAULT if too_low else style.SOFT
        axis.plot(share, color=color, ls=line)
        last[currency, too_low, normalize] = share[-1]
axes[0].text(300, last[1, 0, False], " × 0.01, × 1, × 100", color=style.SOFT, va="center")
axes[0].text(300, last[1, 30, False], " 30 too little\n expected", color=style.FAULT, va="center")
axes[1].text(300, last[1, 0, True], " all four", color=TRICK, va="center")
axes[0].set(title="as they are", xlabel="round", ylabel="probability of\nthe best machine", ylim=(0, 1.03))
axes[1].set(title="standardized", xlabel="round")
plt.show()
scaled = [last[currency, 0, False] for currency in (0.01, 1, 100)]
assert max(scaled) - min(scaled) < 0.001 and last[1, 30, False] < 0.75 < 0.98 < min(scaled)
alike = [share for (_, _, normalize), share in last.items() if normalize]
assert max(alike) - min(alike) < 0.001

# %% [markdown]
# The scale does nothing. The zero does: when every pull looks like a gain of about 30, the agent learns from small
# differences between large numbers.
#
# ## What Adam takes care of
#
# Adam's steps are $\alpha\,m/(\sqrt{v}+\varepsilon)$, with a learning rate $\alpha$ and running means $m$ of the
# gradients and $v$ of their squares. Multiply all gradients by $k$: $m$ is multiplied by $k$, $v$ by $k^2$, and the
# step stays the same. **With Adam, a constant factor on the whole loss does nothing,** unless gradients are as small as
# $\varepsilon=10^{-5}$ or change faster than $v$, or meet [limits](09_grad_clip.ipynb) or [bonuses](10_entropy.ipynb)
# in fixed units.
#
# ## Standardizing
#
# Give a minibatch's advantages $A_1,\dots,A_n$ mean 0 and standard deviation 1:
#
# $$\hat A_i=\frac{A_i-\mu}{\sigma+\epsilon},\qquad
# \mu=\frac{1}{n}\sum_iA_i,\qquad\sigma=\sqrt{\frac{1}{n-1}\sum_i(A_i-\mu)^2}.$$
#
# Pay $k$ times as much, and let a wrong value net add the same $b$ to all: $A_i$ becomes $kA_i+b$, $\mu$ becomes
# $k\mu+b$, and $\sigma$ becomes $k\sigma$. The $b$ cancels in the difference and the $k$ in the quotient. So $\hat A$
# never learns what the currency was. The $\epsilon$ only prevents $0/0$.

# %%
source(standardize)

# %% [markdown]
# The statistics are **per minibatch and per agent**: each of `S` agents has `B` rows. They skip padding. In a minibatch
# of two, all that survives is which one is larger:

# %%
both = torch.ones(1, 2, dtype=torch.bool)
for two in ([1.0, 1.001], [-50.0, 900.0]):
    found = standardize(torch.tensor([two]), both)
    print(two, "becomes", found.numpy().round(3))

# %% [markdown]
# ## The zero moves
#
# Here are the advantages in the first minibatch of a run on CartPole, before standardizing and after. `planted` swaps a
# function of the loop, here for one that keeps what it sees.

# %% tags=["open"]
seen = []


def watching(advantage, valid):
    seen.append((advantage, valid))
    return standardize(advantage, valid)


config = Config("CartPole-v1", seeds=5, steps=1000, lr=0.01)
with planted(standardize=watching):
    train(config, named("advantage_norm"))
advantage, valid = seen[0]
before, after = advantage[0][valid[0]], standardize(advantage, valid)[0][valid[0]]

# %% tags=["thumbnail", "hide-input"]
figure, axes = plt.subplots(1, 2, figsize=(7, 2.8), sharey=True)
for axis, x, title in ((axes[0], before, "before"), (axes[1], after, "after")):
    width = (x.max() - x.min()) / 24
    for left in torch.arange(24) * width + x.min():
        inside = ((x >= left) & (x < left + width)).sum()
        axis.bar(left, inside, width, align="edge", color=TRICK if left + width / 2 > 0 else style.FAINT)
    axis.axvline(0, color=style.INK, lw=1.2)
    axis.set(title=f"{title}: {(x > 0).float().mean():.0%} positive", xlabel="advantage")
axes[0].set(ylabel="actions", xlim=(-2, None))
plt.show()
assert (before > 0).float().mean() > 0.95
assert 0.3 < (after > 0).float().mean() < 0.7

# %% [markdown]
# Before, **every action is praised**: $V$ is still about 0 and every reward is 1. Afterward, half are blamed. That
# isn't scaling: the mean is a [baseline](01_baseline.ipynb), while the value net is still learning to be one.
#
# May you subtract it? A baseline must not depend on the action, and $\mu$ contains $A_i$. Let $\bar A$ be the mean of
# the *others*. Then $\mu=\frac{1}{n}A_i+\frac{n-1}{n}\bar A$, and
#
# $$A_i-\mu=\left(1-\tfrac{1}{n}\right)(A_i-\bar A).$$
#
# If rows are independent, $\bar A$ knows nothing of action $i$: a proper baseline. On average, the gradient is only
# shortened, to $1-1/n$ of its length. Rows of one episode aren't independent, because their returns share rewards. So
# here the direction can be biased, too, but little where a minibatch mixes many episodes.

# %% tags=["hide-input"]
torch.manual_seed(0)
groups = torch.randint(3, (200_000, 4))  # 4 pulls each
pay = PAYS[groups]
score = torch.eye(3)[groups] - 1 / 3  # ∇ log π(a)
truth, centered = (
    ((pay - expected).unsqueeze(2) * score).mean((0, 1)) for expected in (2.0, pay.mean(1, keepdim=True))
)
torch.testing.assert_close(truth, torch.tensor([-1 / 3, 0.0, 1 / 3]), atol=0.01, rtol=0)
torch.testing.assert_close(centered, torch.tensor([-0.25, 0.0, 0.25]), atol=0.01, rtol=0)
first = f"The three machines, four pulls a minibatch: on average, the best logit's gradient is {centered[2]:.2f}"
caption(f"{first}, three quarters of the true {truth[2]:.2f}.")

# %% [markdown]
# ## What dividing does to rare wins
#
# May you divide by $\sigma$? If it were the same for every minibatch, it would only change the step's length. But it
# comes from the same rewards as the gradient $g$:
#
# $$\mathbb{E}\Big[\frac{g}{\sigma}\Big]=
# \mathbb{E}[g]\;\mathbb{E}\Big[\frac{1}{\sigma}\Big]+\operatorname{Cov}\Big(g,\frac{1}{\sigma}\Big).$$
#
# Take two machines and a policy without preference. The *safe* one pays 1. The *risky* one pays 20 with probability
# 0.1, so it is worth 2. Here is the exact mean gradient of its logit.
#
# **Predict.** At how many pulls does the standardized gradient start to prefer the risky machine?


# %% tags=["hide-input"]
def minibatches_of(n, chance=0.1, prize=20.0):
    """All that n pulls can be, each one's probability, and its number of wins."""
    split = [(a, w, n - a - w) for a in range(n + 1) for w in range(n + 1 - a)]
    counts = torch.tensor(split)  # safe pulls, wins, blanks
    odds = torch.tensor([0.5, 0.5 * chance, 0.5 * (1 - chance)])
    ways = torch.lgamma(torch.tensor(n + 1.0)) - torch.lgamma(counts + 1.0).sum(1)
    likely = (ways + (counts * odds.log()).sum(1)).exp()
    safe, wins, place = counts[:, :1], counts[:, 1:2], torch.arange(n)
    pay = 1.0 * (place < safe) + prize * (place >= n - wins)  # [S, B]
    return pay, place < safe, likely, wins.squeeze(1)


def mean_gradients(n, **machine):
    """Centered and standardized: from minibatches without a win, and with one."""
    pay, is_safe, likely, wins = minibatches_of(n, **machine)
    everyone, found = torch.ones_like(pay, dtype=torch.bool), []
    for advantage in (pay - pay.mean(1, keepdim=True), standardize(pay, everyone)):
        parts = likely * (advantage * (0.5 - 1.0 * is_safe)).mean(1)  # score ±½
        found.append([parts[wins == 0].sum().item(), parts[wins > 0].sum().item()])
    return found


sizes = (2, 4, 8, 16, 32, 64, 128)
by_size = {n: mean_gradients(n) for n in sizes}

# %% tags=["predict", "hide-input"]
figure, axis = plt.subplots(figsize=(6, 2.6))
totals = {kind: [sum(by_size[n][k]) for n in sizes] for k, kind in enumerate(("centered", "standardized"))}
for (kind, values), color in zip(totals.items(), (style.SOFT, TRICK), strict=True):
    axis.plot(sizes, values, "o-", color=color)
    axis.text(145, values[-1], kind, color=color, weight="bold", va="center")
axis.axhline(0, color=style.INK, lw=1)
axis.set(xscale="log", xlabel="pulls in a minibatch", ylabel="mean gradient of\nthe risky machine")
axis.set_xticks(sizes, sizes)
axis.minorticks_off()
plt.show()

(_, winning), (blamed, praised) = by_size[16]
caption(
    f"n = 16: minibatches without a win contribute {blamed:+.2f} to the standardized gradient, "
    f"those with a win {praised:+.2f}; merely centered, these would contribute {winning:+.2f}."
)
rarer = sum(mean_gradients(256, chance=0.01, prize=200.0)[1])
assert blamed + praised < 0 < winning
assert min(totals["centered"]) > 0
assert [value > 0 for value in totals["standardized"]] == [False] * 5 + [True] * 2 and rarer < -0.1

# %% [markdown]
# In minibatches of up to 32 it has the **wrong sign**. Without a win, a minibatch favors the safe machine, with a
# $\sigma$ of about ½. A win says the opposite, but makes $\sigma$ ten times as large, so its news is divided away: the
# covariance is negative. What counts is the number of *wins*. With a prize ten times as rare and as large, even the
# default of 256 rows gets the sign wrong.
#
# ## Which half does the work?
#
# Four groups of fifteen agents learn CartPole with REINFORCE: with raw returns, only divided by $\sigma$, only
# centered, and both.
#
# **Predict.** Put the four in order.


# %% tags=["open"]
def only_divided(advantage, valid):
    centered = (advantage - mean(advantage, valid).unsqueeze(1)) * valid
    variance = centered.square().sum(1, keepdim=True) / (valid.sum(1, keepdim=True) - 1)
    return advantage / variance.sqrt()


def only_centered(advantage, valid):
    return advantage - mean(advantage, valid).unsqueeze(1)


alone = Config("CartPole-v1", seeds=15, steps=40_000, lr=0.01)
runs = {"raw": train(alone, REINFORCE)}
halves = {"divided": only_divided, "centered": only_centered, "both": standardize}
for name, half in halves.items():
    with planted(standardize=half):
        runs[name] = train(alone, switched(("advantage_norm",)))

# %% tags=["predict", "hide-input"]
figure, axis = plt.subplots(figsize=(6, 2.4))
torch.manual_seed(0)
areas = {}
for row, (name, run) in enumerate(runs.items()):
    areas[name] = area(on_grid(run.curve, alone.steps, run.diverged)).to_numpy()
    low, high = interval(areas[name])
    color = TRICK if name in ("centered", "both") else style.SOFT
    axis.scatter(areas[name], row + 0.4 * (torch.rand(len(areas[name])) - 0.5), s=10, color=color, alpha=0.5, lw=0)
    axis.plot([low, high], [row, row], color=color, lw=2)
    axis.plot(areas[name].mean(), row, "o", color=color)
axis.set_yticks(range(4), list(runs))
axis.set(xlabel="area under the curve (small dots: agents; line: 95% interval of the mean)", ylim=(3.5, -0.5))
plt.show()
means = {name: found.mean() for name, found in areas.items()}
assert min(means["centered"], means["both"]) > max(means["raw"], means["divided"]) + 10
assert interval(areas["divided"] - areas["raw"])[0] < 0  # no gain that fifteen agents could show
low, high = interval(areas["both"] - areas["centered"])
caption(f"Both minus centered: {low:+.0f} to {high:+.0f} points (95% interval of the mean).")
assert low < 0 < high

# %% [markdown]
# Dividing alone gains nothing that fifteen agents could show, as expected under Adam. Nor can they tell both from
# centering alone, at this one rate.
#
# ## What stays in the old currency
#
# The trick frees only the *policy's* part of the gradient. Here are the lengths (*norms*) of both nets' parts of the
# first gradient on CartPole, without the trick and with it:

# %% tags=["hide-input"]
POLICY = 4 * 64 + 64 + 64 * 64 + 64 + 64 * 2 + 2  # weights and biases of the policy net, which come first


def first_norms(world, rung):
    """Norms of the first gradient's policy part and value part, averaged over agents."""
    kept = []

    def keeping(loss, parameters):
        grad = gradient(loss, parameters)
        kept.append((grad[:, :POLICY].norm(dim=1).mean().item(), grad[:, POLICY:].norm(dim=1).mean().item()))
        return grad

    with planted(gradient=keeping):
        train(replace(config, env=world), named(rung))
    return kept[0]


lines, norms = ["each step pays    without: policy   value net    with: policy   value net"], {}
for pays, world in ((0.01, "tricks/CartPoleReward0.01-v0"), (1, "CartPole-v1"), (100, "tricks/CartPoleReward100-v0")):
    norms[pays] = first_norms(world, "orthogonal_init") + first_norms(world, "advantage_norm")
    lines.append("{:14} {:18.2f} {:11.2f} {:15.2f} {:11.2f}".format(pays, *norms[pays]))
print("\n".join(lines))
assert norms[100][0] > 50 * norms[1][0]
assert 0.5 < norms[100][2] / norms[1][2] < 2
assert norms[100][3] > 50 * norms[1][3]

# %% [markdown]
# In the last row, the value net would use up any [limit on the whole gradient](09_grad_clip.ipynb). Standardized
# advantages ask for [standardized returns](08_return_norm.ipynb).

# %%
diff(named("orthogonal_init"), named("advantage_norm"))

# %% [markdown]
# ## With and without, everywhere

# %% tags=["hide-input"]
evidence("advantage_norm").strip()
plt.show()

# %% [markdown]
# It helps on CartPole, Acrobot, and LunarLander, and hurts on Pendulum when it is added as the next rung, all confirmed
# on other seeds. There, rewards are negative, so raw advantages blame every action at first. Perhaps that makes a
# policy with [continuous actions](21_continuous_actions.ipynb) explore more; no run tests it.

# %% tags=["hide-input"]
table = evidence("advantage_norm").table
assert (table.detected > 0).sum() > (table.detected < 0).sum()
assert set(table.env[table.detected < 0]) == {"Pendulum-v1"}
assert set(table.env[table.detected > 0]) == {"CartPole-v1", "Acrobot-v1", "LunarLander-v3"}
assert table.confirmed[table.detected != 0].eq(1).all()
evidence("advantage_norm")

# %% [markdown]
# It also helps in the two worlds, where CartPole pays a hundredth or a ten-thousandth per step, beside an [entropy
# bonus](10_entropy.ipynb) in fixed units. At a ten-thousandth, agents without the trick learn nothing.

# %% tags=["hide-input"]
worlds = evidence("advantage_norm").worlds.set_index("place")
assert worlds.seen.eq(1).all() and worlds.confirmed.eq(1).all()
assert worlds.without["CartPoleReward0.0001-v0"] < 0.0025  # a random policy gets 0.0022

# %% [markdown]
# Be careful
#
# - **when nothing happened.** Without rewards, advantages are the value net's noise, made as loud as the best news.
# - **when wins are rare.** A minibatch should hold several, or the agent learns to avoid risks that pay.
#
# On continuous control, Andrychowicz et al. (2020, arXiv:2006.05990) find little difference.

# %% [markdown]
# ## At a glance
#
# | | |
# |---|---|
# | **problem** | the advantages' size depends on the reward's units, their zero on the value net's errors |
# | **formula** | $\hat A_i=(A_i-\mu)/(\sigma+\epsilon)$ |
# | **in the loop** | `advantage = standardize(advantage, b.valid)` |
# | **defaults** | per minibatch and per agent; $\epsilon=10^{-8}$ |
# | **watch** | `explained_variance`: near 0, the minibatch's mean is the only baseline |
# | **skip it when** | minibatches are tiny, or most of them hold no reward |
# | **evidence** | Helps alone in CartPole, LunarLander; as the next rung in CartPole, Acrobot; in the full set in Acrobot. Hurts as the next rung in Pendulum. In 4 of 8 environments, these runs can't tell. It helps in 2 of 2 trials in worlds made for it, as predicted. |
# | **also called** | `normalize_advantage` in stable-baselines3, `norm_adv` in CleanRL |

# %% [markdown]
# ## Exercises
#
# **Exercise 1: write it** for one agent. Invalid rows should come out as 0. Watch for equal advantages, and for a
# single valid row.


# %%
def my_standardize(advantage, valid):  # [B] and [B] bool -> [B]
    ...


check_standardize(my_standardize)

# %% [markdown]
# <details><summary>Hint</summary>
#
# `advantage[valid]` has the rows that count. Sum the squares yourself: `std` of a single number is NaN.
#
# </details>
#
# **Exercise 2: think.** (a) Why not simply divide by the standard deviation of *all* advantages since the start of
# training? (b) In the first figure, the standardized agents get closer to 1. What does dividing by $\sigma$ do when
# almost all pulls are alike?
#
# <details><summary>Answer</summary>
#
# (a) Advantages shrink during training, from whole returns to small surprises, and one number fits neither. It also
# wouldn't move the zero. (b) Then $\sigma$ is small, and the few that differ become very large. So the gradient stays
# large even when the policy is almost sure, and so does the noise.
#
# </details>

# %% [markdown]
# **Exercise 3: spot the bug.** This version is shorter, and the learning curves look as good as ever. Below are the
# first gradient norms of seed 0, trained by itself and beside four others.

# %%
source(standardize_short)


# %% tags=["hide-input"]
def norms_of_seed_0(function, seeds):
    """Norm of seed 0's gradient in the first three updates."""
    with planted(standardize=function):
        curve = train(replace(config, seeds=seeds, steps=5_000), named("advantage_norm")).curve
    return curve[curve.seed == 0].grad_norm.to_numpy()[:3]


differences = {}
for function in (standardize, standardize_short):
    by_itself, beside = norms_of_seed_0(function, 1), norms_of_seed_0(function, 5)
    differences[function] = abs(beside / by_itself - 1).max()
    print(f"{function.__name__:18} by itself {by_itself.round(4)}, beside four others {beside.round(4)}")
assert differences[standardize] < 1e-3
assert differences[standardize_short] > 1e-2

# %% [markdown]
# What is wrong? And why does it spoil every confidence interval in this book, even if no curve gets any worse?
#
# <details><summary>Hint</summary>
#
# What is the shape of `advantage[valid]`, if `advantage` is `[S, B]`?
#
# </details>
#
# Solutions: [`solutions/06_advantage_norm.py`](solutions/06_advantage_norm.py). Next: [state
# normalization](07_state_norm.ipynb).

# %% [markdown]
# # Advantage normalization: the same lesson in any currency
#
# *Pay in cents instead of dollars. Why should the agent learn anything else?*
#
# It should not: the best policy is the same, and so is the order of all others. But a training loop is full of numbers
# that were chosen for one currency: the weight of an entropy bonus, a limit on the gradient's norm, the ε inside the optimizer.
# Rewards that are a hundred times smaller leave those where they are.
#
# The trick is two operations that every statistics course begins with: subtract the mean, divide by the standard
# deviation. You will see that it does less about the scale
# than is often said, and more about the zero.

# %%
from dataclasses import replace

import matplotlib.pyplot as plt
import torch

from ablations import TRIALS, style
from book import at_best_rate, begin, curves, evidence, planted
from exercises.advantage_norm import check_standardize, standardize_short
from tricks import Config, diff, source, train
from tricks.advantage_norm import standardize
from tricks.core.adam import Adam, gradient
from tricks.ladder import named

begin()

# %% [markdown]
# ## Three slot machines in three currencies
#
# The machines pay 1, 2 and 3. In each round an agent pulls 64 times and takes one step with **Adam**, as our training loop
# does. Its loss has a second term, which many training loops have (a later chapter is about it): a small **bonus** of
# 0.01 times the policy's entropy, so that the agent does not decide too early.
#
# Now pay a hundred times as much, or a hundredth. Nothing else changes.

# %%
PAYS, BONUS = torch.tensor([1.0, 2.0, 3.0]), 0.01


def learn(currency, normalize, agents=50, pulls=64, rounds=300):
    """Mean probability of the best machine after each round."""
    torch.manual_seed(0)
    theta, share = torch.zeros(agents, 3, requires_grad=True), []
    adam, rates = Adam([theta], eps=1e-5), torch.full((agents,), 0.02)
    for _ in range(rounds):
        policy = torch.distributions.Categorical(logits=theta)
        action = policy.sample((pulls,))
        expected = (policy.probs * PAYS).sum(1).detach()
        advantage = (currency * (PAYS[action] - expected)).T  # [agents, pulls]
        if normalize:
            advantage = standardize(advantage, torch.ones_like(advantage))
        loss = -(policy.log_prob(action).T * advantage).mean(1) - BONUS * policy.entropy()
        adam.step(gradient(loss, [theta]), rates, moving=rates > 0)
        share.append(policy.probs[:, 2].mean().item())
    return share


# %%
TRICK = style.COLORS["advantage_norm"]
figure, axes = plt.subplots(1, 2, figsize=(7.5, 2.8), sharey=True)
last = {}
for axis, normalize in zip(axes, (False, True), strict=True):
    for currency, line in ((0.01, "-"), (1, "-"), (100, (0, (2, 2)))):
        share = learn(currency, normalize)
        axis.plot(share, color=TRICK if normalize else style.SOFT, ls=line)
        last[currency, normalize] = share[-1]
axes[0].text(300, last[0.01, False], " × 0.01", color=style.SOFT, va="center")
axes[0].text(300, last[1, False], " × 1, × 100", color=style.SOFT, va="center")
axes[1].text(300, last[1, True], " all three", color=TRICK, va="center")
axes[0].set(title="as they are", xlabel="round", ylabel="probability of\nthe best machine", ylim=(0, 1.03))
axes[1].set(title="standardized", xlabel="round")
plt.show()
print({f"× {currency}, {'with' if on else 'without'}": round(share, 3) for (currency, on), share in last.items()})
assert abs(last[0.01, False] - 0.665) < 0.02
assert abs(last[0.01, True] - last[100, True]) < 0.01 < 0.1 < last[1, False] - last[0.01, False]

# %% [markdown]
# On the left there are two surprises. In cents, the agent stops at two thirds and never goes further. And paying a hundred
# times *more* changes nothing at all: the dashed line lies on the other.
#
# ## What Adam takes care of, and what not
#
# Adam divides a running mean $m$ of the gradients by the root of a running mean $v$ of their squares, and steps by
#
# $$\alpha \, \frac{m}{\sqrt{v} + \varepsilon}.$$
#
# Multiply all gradients by $k$. Then $m$ is multiplied by $k$, $v$ by $k^2$, and the step stays the same. **So with Adam, a
# constant factor on the whole loss does nothing**, as long as gradients are well above $\varepsilon$. That is why × 100
# looks like × 1. With plain gradient descent it would not.
#
# Four things do change:
#
# 1. **The balance with terms in other units.** The bonus is not paid in rewards. The agent maximizes
#    $\sum_a \pi(a)\, k\, r(a) + c H(\pi)$. At the maximum, moving probability between actions gains nothing, so the derivative
#    $k\, r(a) - c \log \pi(a) - c$ is the same for all $a$, which means $\pi(a) \propto e^{k r(a) / c}$. With $k = c = 0.01$
#    the best machine gets $e^3 / (e + e^2 + e^3) = 0.665$. That is where the left line stops.
# 2. **Limits in fixed units.** `grad_clip`, three chapters from here, shortens every gradient that is longer than 0.5. Paid
#    × 100, that is every gradient; paid × 0.01, hardly any.
# 3. **ε.** A gradient of the size of $\varepsilon = 10^{-5}$ makes half of a step, a smaller one hardly any.
# 4. **Change over time.** Adam's memory of squares is about 1000 gradients long. If advantages grow within that time, steps
#    are too long for a while; if they shrink, too short.
#
# The third, checked with the library's Adam. The first step is $\alpha\, g / (|g| + \varepsilon)$:

# %%
sizes = torch.tensor([[100.0], [1.0], [1e-2], [1e-5], [1e-7]])
theta = torch.zeros(5, 1)
Adam([theta], eps=1e-5).step(sizes, learning_rate=torch.ones(5), moving=torch.ones(5, dtype=torch.bool))
for g, step in zip(sizes.flatten(), -theta.flatten(), strict=True):
    print(f"gradient {g.item():7.0e}: a step of {step:.3f} learning rates")
torch.testing.assert_close(-theta, sizes / (sizes + 1e-5))

# %% [markdown]
# ## The idea
#
# Take the advantages $A_1, \dots, A_n$ of one minibatch and give them mean 0 and standard deviation 1:
#
# $$\hat A_i = \frac{A_i - \mu}{\sigma + \epsilon}, \qquad \mu = \frac{1}{n} \sum_i A_i, \qquad
#   \sigma = \sqrt{\frac{1}{n-1} \sum_i (A_i - \mu)^2}.$$
#
# Pay $k$ times as much, and every $A_i$ becomes $k A_i$; let a wrong baseline add the same $b$ to all of them. Then $\mu$
# becomes $k\mu + b$ and $\sigma$ becomes $k\sigma$. The $b$ cancels in the difference and the $k$ in the ratio. Up to a tiny $\epsilon$, which is only there to
# prevent $0/0$, $\hat A$ never learns what currency it was.

# %%
source(standardize)

# %% [markdown]
# Three decisions are hidden in there.
#
# - **Per minibatch and per seed.** Each row of `[S, B]` is another agent, which has no business with the others' numbers.
# - **Over `valid` rows only.** The rest is padding.
# - **$n - 1$, not $n$.** PyTorch's `std` divides by $n - 1$, NumPy's and JAX's by $n$. At $n = 128$ that is a difference of
#   0.4%, at $n = 4$ one of 15%. The code divides by at least 1, so that a single row gives 0 and not NaN.
#
# By hand: 1, 2, 4, 9 have the mean 4. The differences are −3, −2, 0, 5, their squares add up to 38, and
# $\sigma = \sqrt{38/3} = 3.559$. So $\hat A$ is −0.843, −0.562, 0, 1.405. And a minibatch of two is always ±0.707, however
# much or little its advantages differ: with so few, there is nothing left but who is larger.

# %%
four = torch.tensor([[1.0, 2.0, 4.0, 9.0]])
everyone = torch.ones(1, 4, dtype=torch.bool)
print(standardize(four, everyone).numpy().round(3))
torch.testing.assert_close(standardize(four, everyone), torch.tensor([[-3.0, -2.0, 0.0, 5.0]]) / (38 / 3) ** 0.5)
torch.testing.assert_close(standardize(100 * four + 7, everyone), standardize(four, everyone))
for two in ([1.0, 1.001], [-50.0, 900.0]):
    print(two, "becomes", standardize(torch.tensor([two]), everyone[:, :2]).numpy().round(3))

# %% [markdown]
# ## A picture of the mechanism: the zero moves
#
# Here are the advantages of a real minibatch, the very first of a run on CartPole. Next to it, what the trick makes of
# them. (`watching` and `measuring` only look on, and keep what passes through the training loop.)

# %%
POLICY = 4 * 64 + 64 + 64 * 64 + 64 + 64 * 2 + 2  # weights and biases of the policy net, which come first
seen = []


def watching(advantage, valid):
    seen.append((advantage, valid))
    return standardize(advantage, valid)


def measured(config, rung):
    """Train, and keep the norms of each gradient's policy part and value part: [minibatches, 2, seeds]."""
    kept = []

    def measuring(loss, parameters):
        grad = gradient(loss, parameters)
        kept.append(torch.stack([grad[:, :POLICY].norm(dim=1), grad[:, POLICY:].norm(dim=1)]))
        return grad

    with planted(gradient=measuring, standardize=watching):
        run = train(config, named(rung))
    return run, torch.stack(kept)


# %%
config = Config("CartPole-v1", seeds=5, steps=16_000, lr=0.01)
without, norms_without = measured(config, "orthogonal_init")
having, norms_having = measured(config, "advantage_norm")

# %% tags=["thumbnail"]
advantage, valid = seen[0]
before, after = advantage[0][valid[0]], standardize(advantage, valid)[0][valid[0]]
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
# Before, **every action is praised**. At the start $V$ is about 0 and every reward is 1, so everything turned out better
# than expected: raise the probability of whatever you did. It works on average, as it did for REINFORCE, but most of it is
# noise. Afterward about half of the actions are praised and half are blamed. That is not scaling. That is a *baseline*, made
# on the spot, from a minibatch's mean, while the value net is still learning to be one.
#
# May you subtract it? A baseline must not depend on the action that it is subtracted for, and $\mu$ does: $A_i$ is one of the
# numbers that it is the mean of. Let $\bar A$ be the mean of the *others*. Then $\mu = \frac{1}{n} A_i + \frac{n-1}{n} \bar A$,
# and
#
# $$A_i - \mu = A_i - \tfrac{1}{n} A_i - \tfrac{n-1}{n} \bar A = \left(1 - \tfrac{1}{n}\right) (A_i - \bar A).$$
#
# $\bar A$ knows nothing of action $i$ if rows are drawn independently, so it is a proper baseline. The gradient keeps its
# direction and is only shortened to $1 - 1/n$ of its length. With $n = 4$ that is three quarters, and you can measure it on
# the three machines, where the true gradient is $(-⅓, 0, ⅓)$ for a policy without preference:

# %%
torch.manual_seed(0)
groups = torch.randint(3, (200_000, 4))  # 4 pulls each
pay = PAYS[groups]
score = torch.eye(3)[groups] - 1 / 3  # ∇ log π(a)
centered = ((pay - pay.mean(1, keepdim=True)).unsqueeze(2) * score).mean((0, 1))
print("mean of the gradients:", centered.numpy().round(3), " three quarters of the truth:", [-0.25, 0.0, 0.25])
torch.testing.assert_close(centered, torch.tensor([-0.25, 0.0, 0.25]), atol=0.01, rtol=0)

# %% [markdown]
# Dividing by $\sigma$, which also depends on the sample, adds a little bias of its own, and rows of one episode are not
# independent. With a few hundred rows both are small.
#
# ## What happens to the scale
#
# Left: the standard deviation of the raw advantages in each minibatch of that run. Right: the norm of the policy's
# gradient, in each minibatch, without the trick and with it.

# %%
figure, (left, right) = plt.subplots(1, 2, figsize=(8, 2.8))
deviation = torch.stack([a[0][v[0]].std() for a, v in seen if v[0].sum() > 1])
left.plot(deviation, color=style.SOFT, lw=1)
left.plot([0, len(deviation)], [1, 1], color=TRICK)
left.text(len(deviation), deviation[-20:].median(), " raw", color=style.SOFT, va="center")
left.text(len(deviation), 1, " standardized", color=TRICK, va="center")
left.set(title="advantages, one seed", xlabel="minibatch", ylabel="standard deviation", ylim=(0, None))
for name, norms, color in (("without", norms_without, style.SOFT), ("with", norms_having, TRICK)):
    norm = norms[:, 0][(norms[:, 0] > 0).all(1)]  # the policy's, as long as all seeds are training
    low, high = norm.quantile(0.05), norm.quantile(0.95)
    print(f"{name:7}: nine of ten norms lie between {low:.3f} and {high:.3f}, a factor of {high / low:.1f}")
    middle = norm.median(1).values
    right.plot(middle, color=color, lw=1)
    right.text(len(norm), middle[-20:].median(), f" {name}", color=color, va="center")
right.set(title="policy gradient, median of seeds", xlabel="minibatch", ylabel="norm", yscale="log")
plt.show()

# %% [markdown]
# The advantages' own scale changes as returns grow and $V$ learns, and the trick makes it 1 all along. But it does *not*
# make the gradient's norm constant. That depends just as much on how sure the policy is, and on how far the actions of a
# minibatch agree. If you want a limit on the norm itself, there is `grad_clip`.
#
# And it makes only the *policy's* part independent of the currency. Here are both parts of the very first gradient:

# %%
print("each step pays       without: policy, value net        with: policy, value net")
parts = {}
for pays, world in ((0.01, "tricks/CartPoleReward0.01-v0"), (1, "CartPole-v1"), (100, "tricks/CartPoleReward100-v0")):
    tiny = replace(config, env=world, steps=1000)
    both = [measured(tiny, rung)[1][0].mean(1) for rung in ("orthogonal_init", "advantage_norm")]
    parts[pays] = torch.cat(both)
    print(
        f"{pays:14}       {parts[pays][0]:15.2f} {parts[pays][1]:10.2f} {parts[pays][2]:22.2f} {parts[pays][3]:10.2f}"
    )
assert parts[100][0] > 50 * parts[1][0]
assert 0.5 < parts[100][2] / parts[1][2] < 2 < 50 < parts[100][3] / parts[1][3]

# %% [markdown]
# Look at the last row. If one limit of 0.5 holds for the whole gradient, the value net uses up all of it, and next to
# nothing is left for the policy. Standardized advantages ask for standardized returns: that is `return_norm`, two chapters
# on.
#
# ## Into the loop
#
# One line, in each minibatch and after shuffling:

# %%
diff(named("orthogonal_init"), named("advantage_norm"))

# %% [markdown]
# ## A small run
#
# The two runs that were just measured, on CartPole, both at a learning rate of 0.01:

# %%
curves({"without": without, "advantage_norm": having})
plt.show()

# %% [markdown]
# Five seeds and so few steps decide nothing between them: look at the bands. The stored runs below are longer.
#
# And `CartPoleReward0.01`, where each step pays a hundredth, with an entropy bonus of 0.01 in the loss. A full episode pays
# 5. The prediction was that the bonus would drown those tiny advantages.

# %%
(trial,) = (trial for trial in TRIALS if trial.trick == "advantage_norm" and not trial.dose)
cents = replace(trial.config, seeds=5, steps=15_000)
poor = {
    "without": train(at_best_rate(cents, trial.without), trial.without),
    "advantage_norm": train(at_best_rate(cents, trial.having), trial.having),
}
curves(poor)
plt.show()
print(", ".join(f"{name}: {run.late().mean():.2f} in the end" for name, run in poor.items()))
assert all(run.late().mean() > 0.4 for run in poor.values())  # a random policy gets 0.2

# %% [markdown]
# Both learn. What about the prediction? Do the sum: let one action be worth ten more steps of balance than the other, which
# is 0.1. By the formula of the three machines, the bonus then allows odds of $e^{0.1 / 0.01} = e^{10}$. A bonus that stops a
# slot machine at two thirds need not stop this agent. What counts is the gap between *actions*, not the size of a reward.
#
# ## What the stored runs say

# %%
found = evidence("advantage_norm")
found

# %%
found.plot()
plt.show()

print(found.summary())

# %% [markdown]
# Compare the rows. In the world whose steps pay a ten-thousandth, the sum that saved the agent above no longer works out, and
# the bonus does drown the advantages. "Alone, on REINFORCE" there is no value net, so the mean that the trick subtracts is the only baseline
# there is. Among all the other tricks, `return_norm` and `grad_clip` look after the scale as well.
#
# **What it does not say:** how much of an effect is the scale and how much is the moved zero. The table compares both with
# neither. And each arm has its own best learning rate, so an advantage that is only a matter of step length is tuned away.
#
# ## When it does not help
#
# - **When nothing happened.** In a batch without any reward, the advantages are the value net's noise. Standardized, this
#   noise is as loud as the best news. The same happens at the end of training, when all actions are about equally good.
# - **When minibatches are small.** You saw what two rows become.
# - **With another kind of reward.** In the literature the effect is small and of either sign; Andrychowicz et al. 2020
#   (arXiv:2006.05990), on continuous control, are the ones to read. Where the table above shows more than that, in
#   either direction, ask two questions. Do all rewards have the same sign, so that raw advantages do, too, until $V$ has
#   learned? Then moving the zero can help. And is a large advantage truly more important than a small one? Then dividing
#   by $\sigma$ throws that away. The table cannot separate the two.
#
# ## Exercises
#
# **Exercise 1: write it** for one seed. Rows that are not valid should come out as 0. Think of the case that all advantages
# are equal, and of a minibatch with a single valid row.


# %%
def my_standardize(advantage, valid):  # [B] and [B] bool -> [B]
    ...


check_standardize(my_standardize)

# %% [markdown]
# **Exercise 2: think.** (a) Why can the trick not simply divide by the standard deviation of *all* advantages since the start
# of training? (b) In the first picture, the standardized agent even gets a little closer to 1 than the one that is
# paid × 1. What does dividing by $\sigma$ do when the agent is nearly sure and almost all pulls are alike?

# %% [markdown]
# **Exercise 3: spot the bug.** Shorter, and the learning curves look as good as ever. Below, the first gradient norms of seed
# 0, from two runs with each version: on its own, and beside four others.

# %%
source(standardize_short)

# %%
short = replace(config, steps=5_000)


def first_norms(function, seeds):
    """Norm of seed 0's gradient in the first three updates."""
    with planted(standardize=function):
        curve = train(replace(short, seeds=seeds), named("advantage_norm")).curve
    return curve[curve.seed == 0].grad_norm.to_numpy()[:3]


differences = {}
for function in (standardize, standardize_short):
    alone, beside = first_norms(function, 1), first_norms(function, 5)
    differences[function] = abs(beside / alone - 1).max()
    print(f"{function.__name__:15} alone {alone.round(4)}, beside four others {beside.round(4)}")
assert differences[standardize] < 1e-3 < 1e-2 < differences[standardize_short]

# %% [markdown]
# What is wrong? And why does it spoil every confidence interval in this book, even if no curve gets any worse?
#
# Solutions: [`solutions/06_advantage_norm.py`](solutions/06_advantage_norm.py). Next:
# [state normalization](07_state_norm.ipynb), which does to the inputs what this does to the advantages.

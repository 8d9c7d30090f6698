# %% [markdown]
# # Orthogonal initialization: begin without an opinion
#
# *Before the first step of learning, what should a policy think?*
#
# Nothing, since it has seen nothing. But a fresh net has random weights, so its outputs are random, and a softmax turns
# them into opinions. In supervised learning, data would soon correct them. In reinforcement learning the policy *makes*
# the data, and an agent with an opinion may never see what would correct it.
#
# The cure: choose the first weights with a little more care.

# %% tags=["hide-input"]
import copy
from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np
import torch

from ablations import effects_by_rate, interval, style
from chapters.book import begin, evidence, planted, store, studies
from chapters.exercises.orthogonal_init import check_orthogonal, opinionated_
from tricks import Config, diff, source, train
from tricks.core.nets import mlp
from tricks.core.policies import Categorical
from tricks.core.seeds import stream
from tricks.ladder import named, switched
from tricks.orthogonal_init import orthogonal, orthogonal_
from tricks.worlds.line import REACH, dynamics, initial, observe

begin()
TRICK = style.COLORS["orthogonal_init"]

# %% [markdown]
# ## A walk that opinions spoil
#
# On a line of 25 cells, you start in the middle and step left or right. Touch the left end and then the right end
# within 1000 steps, and you are paid 1. Tossing a coin at each step, you make it a little more often than not.
#
# Let 100 untrained nets walk, 20 times each. They are initialized either PyTorch's way or this chapter's, with three
# sizes (*gains*) of the policy's last layer, the **head**.
#
# **Predict.** PyTorch's nets give the likelier action 0.57 on average, which is close to a coin. How many of the 100
# won't be paid even once in 20 walks?

# %% tags=["hide-input"]
SEEDS, WALKS = tuple(range(100)), 20
cells = torch.arange(-REACH, REACH + 1.0)
states = torch.stack([torch.stack([cells, cells * 0 + touched], -1) for touched in (0, 1)])  # [touched, cell, 2]
everywhere = observe(states.flatten(0, 1)).expand(len(SEEDS), -1, -1)  # every state of the line, for every net


def untrained(head_gain=None):
    """A stack of fresh policy nets, one per seed: PyTorch's way, or orthogonal with this gain in the head."""
    net = mlp([stream(seed, "init") for seed in SEEDS], (2, 32, 32, 2))
    if head_gain is not None:
        orthogonal_(net, SEEDS, 0, gain=2**0.5, head_gain=head_gain)
    return net


gains = {"PyTorch's default": None, "head gain √2": 2**0.5, "head gain 1": 1.0, "head gain 0.01": 0.01}
nets = {name: untrained(gain) for name, gain in gains.items()}


# %% tags=["hide-input"]
@torch.no_grad()
def share_paid(net):
    """The share of its walks that each net is paid for, without learning anything."""
    torch.manual_seed(0)
    state, paid = initial(torch.zeros(len(SEEDS), WALKS, 0)), torch.zeros(len(SEEDS), WALKS)
    for _ in range(1000):
        right = net(observe(state)).softmax(-1)[..., 1]
        state, reward, _ = dynamics(state, (torch.rand_like(right) < right).float(), None)
        paid = paid.maximum(reward.float())
    return paid.mean(1)


# %% tags=["predict", "thumbnail", "hide-input"]
paid = {name: share_paid(net) for name, net in nets.items()}

figure, axis = plt.subplots(figsize=(6.5, 2.8))
torch.manual_seed(0)
for i, (name, share) in enumerate(paid.items()):
    color = TRICK if name == "head gain 0.01" else style.SOFT
    axis.scatter(share, i + 0.5 * (torch.rand(len(share)) - 0.5), s=9, color=color, alpha=0.6, lw=0)
    never = (share == 0).float().mean()
    print(f"{name:18} paid for {share.mean():3.0%} of all walks; never paid: {never:3.0%} of the nets")
axis.set_yticks(range(4), list(paid))
axis.set(xlabel="share of a net's walks that are paid", xlim=(-0.03, 1.03), ylim=(-0.5, 3.5))
plt.show()
assert (paid["head gain 0.01"] > 0).all()
assert (paid["head gain √2"] == 0).float().mean() > 0.5
assert (paid["PyTorch's default"] == 0).float().mean() > 0.25

# %% [markdown]
# One dot is one net. With a tiny head, every net finds the reward. A third of PyTorch's nets never do, and with gain 1
# or √2 most don't. A REINFORCE agent that is never paid has a gradient of 0: it has nothing to learn from.
#
# Here are the average probability of the likelier action and the **entropy** $H = -\sum_a \pi(a) \log \pi(a)$, which
# is $\log 2 = 0.693$ for a coin and 0 for a policy that is certain:

# %% tags=["hide-input"]
for name, net in nets.items():
    logits = net(everywhere).detach()
    sure, entropy = logits.softmax(-1).amax(-1).mean(), Categorical.entropy(logits).mean()
    print(f"{name:18} likelier action {sure:.3f}   entropy {entropy:.3f}")
    assert name != "PyTorch's default" or abs(sure - 0.57) < 0.01

# %% tags=["hide-input"]
net = nets["head gain 1"]
with torch.no_grad():
    logits = net(everywhere)
tilt = (logits[..., 1] - logits[..., 0]).unflatten(1, (2, -1))  # [nets, touched, cells], in favor of right
store("walk", {"tilt": tilt[:30].tolist()})

# %% [markdown]
# <!-- mechanism: walk -->

# %% [markdown]
# ## A small preference, many times in a row
#
# If two logits differ by $d$, one side has odds of $e^d$. Against them, each cell multiplies the expected time by about
# $e^d$, so over 24 cells the time grows like $e^{24 d}$. (That's a factor, not the time itself: a coin, with $d = 0$,
# still needs hundreds of steps.)

# %% tags=["open"]
for name, net in nets.items():
    logits = net(everywhere).detach()
    d = (logits[..., 1] - logits[..., 0]).abs().mean().item()
    print(f"{name:18} d = {d:.2f} on average, and e^(24d) = {np.exp(24 * d):,.0f}")

# %% [markdown]
# PyTorch's average $d$ of 0.3 already calls for more steps than the 1000 of an episode. **A preference that you can't
# see in one state decides everything over many.**
#
# ## How long is a vector after a layer?
#
# A linear layer turns a vector $x$ with $n$ entries into $y = Wx$. Say its weights are independent, with mean 0 and
# variance $\sigma^2$. Variances of independent terms add up, so one entry, $\sum_j W_{ij} x_j$, has the expected square
# $\sigma^2 \sum_j x_j^2 = \sigma^2 \lVert x \rVert^2$. If the layer has $n$ outputs, too,
#
# $$\mathbb{E}\,\lVert Wx \rVert^2 = n\,\sigma^2\,\lVert x \rVert^2.$$
#
# PyTorch draws weights uniformly from $\pm 1/\sqrt{n}$, with variance $\frac{1}{3n}$. So each layer leaves
# $1/\sqrt{3} \approx 0.58$ of the vector's length, and ten leave 0.4%. Three repairs:
#
# - **Xavier** (Glorot & Bengio 2010) wants $n\sigma^2 = 1$. In a layer that isn't square, entries keep their size going
#   forward if $n_\text{in}\,\sigma^2 = 1$, and gradients keep theirs going back if $n_\text{out}\,\sigma^2 = 1$. The
#   compromise is $\sigma^2 = 2 / (n_\text{in} + n_\text{out})$.
# - **Kaiming** (He et al. 2015) sets $\sigma^2 = 2 / n_\text{in}$, because a ReLU sets half of the entries to 0, which
#   halves the mean square.
# - **Orthogonal** (Saxe et al. 2013, arXiv:1312.6120) keeps the length of *every* vector, not just on average. A matrix
#   with $Q^\top Q = I$ does that, because
#
# $$\lVert Qx \rVert^2 = x^\top Q^\top Q\, x = x^\top x = \lVert x \rVert^2.$$
#
# By hand: $Q = \begin{pmatrix} 0.6 & -0.8 \\ 0.8 & 0.6 \end{pmatrix}$ turns $(5, 10)$ into
# $(3 - 8,\, 4 + 6) = (-5, 10)$. Both have length $\sqrt{125}$. With a **gain** $g$, $W = g\,Q$ multiplies every length
# by $g$.

# %%
q = torch.tensor([[0.6, -0.8], [0.8, 0.6]])
torch.testing.assert_close(q.T @ q, torch.eye(2))
torch.testing.assert_close(q @ torch.tensor([5.0, 10.0]), torch.tensor([-5.0, 10.0]))

# %% [markdown]
# ## Depth and the first policy
#
# Left: one dot is one net of the walk; beyond the line, $e^{24d}$ is more than 1000. Right: how much 500 random inputs
# still differ in each of 16 tanh layers. (Xavier and Kaiming are dashed, on top of the others.)


# %% tags=["open"]
VARIANCES = {
    "Xavier": lambda inputs, outputs: 2 / (inputs + outputs),
    "Kaiming": lambda inputs, outputs: 2 / inputs,
}
GAINS = {"orthogonal, g = 1": 1.0, "orthogonal, g = √2": 2**0.5}
WAYS = ["default", "Xavier", "orthogonal, g = 1", "Kaiming", "orthogonal, g = √2"]


@torch.no_grad()
def made(way, sizes, seeds=SEEDS):
    """A stack of fresh nets, one per seed, with all layers initialized in one way."""
    net = mlp([stream(seed, "init") for seed in seeds], sizes)
    if way in GAINS:
        orthogonal_(net, seeds, 0, gain=GAINS[way], head_gain=GAINS[way])
    if way in VARIANCES:
        torch.manual_seed(0)
        for weight, bias in net.layers:
            weight.normal_(0, VARIANCES[way](*weight.shape[1:]) ** 0.5)
            bias.zero_()
    return net


@torch.no_grad()
def spreads(net, layers=16):
    """How much 500 random inputs differ after each tanh layer: the mean deviation."""
    torch.manual_seed(0)
    x, found = torch.randn(1, 500, 64), []
    for weight, bias in net.layers[:layers]:
        x = torch.tanh(x @ weight + bias)
        found.append(x.var(1).mean().sqrt().item())
    return found


# %% tags=["hide-input"]
figure, (left, right) = plt.subplots(1, 2, figsize=(8.5, 3))
torch.manual_seed(0)
for i, name in enumerate(WAYS):
    logits = made(name, (2, 32, 32, 2))(everywhere).detach()
    d = (logits[..., 1] - logits[..., 0]).abs().mean(1)
    color = TRICK if "orthogonal" in name else style.SOFT
    left.scatter(d, 5 - i + 0.5 * (torch.rand(len(d)) - 0.5), s=8, color=color, alpha=0.6, lw=0)
net = nets["head gain 0.01"]
small = net(everywhere).detach()
d = (small[..., 1] - small[..., 0]).abs().mean(1)
left.scatter(d, 0.5 * (torch.rand(len(d)) - 0.5), s=8, color=TRICK, alpha=0.6, lw=0)
left.axvline(np.log(1000) / 24, color=style.INK, lw=1)
left.text(0.25, 5.75, "1000 steps", ha="right", color=style.INK)
left.set_yticks(range(6), ["g = √2, head 0.01", *WAYS[::-1]])
left.set(xscale="log", xlabel="d, the difference of the logits", title="the first policy", ylim=(-0.5, 6.2))

ends = {name: spreads(made(name, (64,) * 18, seeds=(0,))) for name in WAYS}
dash = {"Xavier": (0, (2, 2)), "Kaiming": (0, (2, 2))}
for name, spread in ends.items():
    right.plot(range(1, 17), spread, color=TRICK if "orthogonal" in name else style.SOFT, ls=dash.get(name, "-"))
for name, height in (
    ("default", 0.02),
    ("Xavier", 0.13),
    ("orthogonal, g = 1", 0.21),
    ("Kaiming", 0.49),
    ("orthogonal, g = √2", 0.58),
):
    right.text(16.5, height, name, color=TRICK if "orthogonal" in name else style.SOFT, va="center")
right.set(xlabel="layer", title="what is left of the input", ylim=(0, 0.8), xticks=(1, 4, 8, 12, 16))
right.set_ylabel("spread over inputs")
plt.show()
assert ends["default"][-1] < 0.01
assert ends["Kaiming"][-1] > 0.4
assert ends["orthogonal, g = √2"][-1] > 0.4

# %% [markdown]
# The default loses the input after a few layers. Xavier and gain 1 lose it slowly, because a tanh shortens every
# vector. With Kaiming's variance or a gain of √2, the spread settles. (In our nets with *two* hidden layers, even the
# default has something left.)
#
# But what is good for depth is bad for the walk: full-size signals make full-size logits. About half of the default's
# nets lie beyond the line, and most nets in the next four rows. Only the last row is different, and only by its head.
#
# ## The head
#
# The head has one weight vector per action, of length $g$, in a random direction. If $n$ activations have size $h$,
# their vector has length $h \sqrt n$, and about $1/\sqrt n$ of that lies along a random direction. So a logit is around
# $g\,h$: with $g = 0.01$ and $h = 0.6$ (the level of √2 in the figure), 0.006.
#
# So this is two tricks: a small head for an unbiased first policy, and orthogonal hidden layers for a deep net. The
# **value net's** head gets gain 1, since a wrong $V$ doesn't choose the data.
#
# ## In the library

# %%
source(orthogonal_, orthogonal)

# %% [markdown]
# The [appendix on QR](a1_qr_signs.ipynb) explains `qr` and the signs. (A layer computes $xW$. With fewer rows than
# columns, the rows are orthonormal.) `orthogonal_` runs before the first step:

# %% tags=["hide-input"]
net = untrained(0.01)
for weight, bias in net.layers:
    fewer = weight[0].T @ weight[0] if weight.shape[1] >= weight.shape[2] else weight[0] @ weight[0].T
    gain = 0.01 if weight is net.layers[-1][0] else 2**0.5
    torch.testing.assert_close(fewer, gain**2 * torch.eye(len(fewer)), atol=1e-5, rtol=0)
    assert not bias.any()

# %%
diff(named("gae"), named("orthogonal_init"))

# %% [markdown]
# ## Which part does what?
#
# Leave out either part, and train twenty agents on two tasks with REINFORCE: on the walk, and on CartPole with eight
# hidden layers. (`planted` swaps one function of the library's loop for another, and `switched` turns flags on by name.)
#
# **Predict.** Which part helps on which task?


# %%
def parts_(hidden, head):
    """`orthogonal_` for the hidden layers, for the head, for both, or for neither."""

    def initialize_(net, seeds, place, gain, head_gain):
        default = copy.deepcopy(net)
        orthogonal_(net, seeds, place, gain, head_gain)
        layers = list(zip(net.layers, default.layers, strict=True))
        undone = ([] if hidden else layers[:-1]) + ([] if head else layers[-1:])
        for layer, kept in undone:
            for now, before in zip(layer, kept, strict=True):
                now.data.copy_(before)

    return initialize_


ARMS = {
    "default": (False, False),
    "small head": (False, True),
    "orthogonal hidden layers": (True, False),
    "both": (True, True),
}
walk = Config("tricks/ThereAndBack-v0", seeds=20, steps=30_000, lr=0.003)
walk = replace(walk, horizon=64, gamma=0.995, hidden=(32, 32))
deep = Config("CartPole-v1", seeds=20, steps=16_000, lr=0.003, hidden=(64,) * 8)
runs = {}
for task, config in (("walk", walk), ("deep", deep)):
    for name, arm in ARMS.items():
        with planted(orthogonal_=parts_(*arm)):
            runs[task, name] = train(config, switched(("orthogonal_init",)))

# %% tags=["predict", "hide-input"]
figure, axes = plt.subplots(1, 2, figsize=(7.5, 2.6), sharey=True)
torch.manual_seed(0)
last = {each: run.late() for each, run in runs.items()}
titles = {"walk": "the walk: share paid", "deep": "CartPole, eight layers: return"}
for axis, (task, title) in zip(axes, titles.items(), strict=True):
    for row, name in enumerate(ARMS):
        found = last[task, name].to_numpy()
        (low, high), color = interval(found), style.SOFT if name == "default" else TRICK
        axis.scatter(found, row + 0.4 * (torch.rand(20) - 0.5), s=10, color=color, alpha=0.5, lw=0)
        axis.plot([low, high], [row, row], color=color, lw=2)
        axis.plot(found.mean(), row, "o", color=color)
        print(f"{task} {name:24} {found.mean():6.2f} [{low:.2f}, {high:.2f}]; {(found == 0).sum():2} of 20 at 0")
    axis.set(title=title, xlabel="last tenth of training", ylim=(3.5, -0.5))
axes[0].set_yticks(range(4), list(ARMS))
plt.show()


def gain(task, arm, over):
    """The 95% interval of one arm's gain over another."""
    return interval((last[task, arm] - last[task, over]).to_numpy())


assert all(last["walk", name].min() > 0.3 for name in ("small head", "both"))
assert all((last["walk", name] == 0).any() for name in ("default", "orthogonal hidden layers"))
for arm, over in (("orthogonal hidden layers", "default"), ("both", "small head")):
    assert gain("walk", arm, over)[0] < 0 < gain("walk", arm, over)[1]
    assert gain("deep", arm, over)[0] > 100
for arm, over in (("small head", "default"), ("both", "orthogonal hidden layers")):
    assert gain("walk", arm, over)[0] > 0
    assert gain("deep", arm, over)[0] < 0 < gain("deep", arm, over)[1]

# %% [markdown]
# **The small head is for the walk, the orthogonal hidden layers are for the deep net,** and on neither task can twenty
# agents show that the other part helps. Without a small head, luck decides the walk: with a weak opinion a net can learn
# it, and with a strong one it is never paid and never moves. On CartPole every episode soon shows what both actions do,
# so opinions hardly matter; but a policy that can't tell states apart can't balance.

# %% [markdown]
# ## Where else a first opinion matters
#
# Here are the stored ablations (hatched: these seeds can't tell). `ThereAndBackPlus3` is the walk plus three features
# that are always 12.

# %% tags=["hide-input"]
evidence("orthogonal_init").strip()
plt.show()

same = {}
for constants in (0, 3):
    seen = torch.cat([everywhere, torch.full((*everywhere.shape[:-1], constants), float(REACH))], -1)
    net = mlp([stream(seed, "init") for seed in SEEDS], (2 + constants, 32, 32, 2))
    right = (net(seen).detach().diff(dim=-1) > 0).float().mean(1)  # the share of states in which it prefers right
    same[constants] = right.maximum(1 - right).mean().item()
    print(
        f"{constants} constant features: a default net prefers the same action in {same[constants]:.0%} of the states"
    )
assert same[0] < 0.75 and same[3] > 0.8

# %% [markdown]
# It helps in a net of eight hidden layers, and in the walk with constant features. They act like one large bias, so
# that a default net leans the same way over more of the line. Whether that makes the trick matter more, these seeds
# can't tell: at one rate for both arms, it gains much without constants, too. In the plain walk, with each arm at its
# own best learning rate, the interval is above 0, but nothing is detected after the correction for all trials. In the
# usual environments most cells can't tell. But added to REINFORCE on LunarLander, it helps, on two sets of seeds. (As
# the next rung it helped on the first set only.)

# %% tags=["hide-input"]
found = evidence("orthogonal_init")
for row in found.worlds.itertuples():
    print(f"{row.place}: {row.verdict}" + (f"; share of the best score by {row.dose} {row.doses}" if row.dose else ""))
constants = found.worlds.set_index("dose").loc["constant features"]
assert constants.growth_low < 0 < constants.growth_high and constants.doses.startswith("0:+0.2")
assert dict(zip(found.worlds.place, found.worlds.seen, strict=True)) == {
    "ThereAndBackPlus3-v0, lr=0.003": 1,
    "CartPole-v1, 8 hidden layers, lr=0.001": 1,
    "ThereAndBack-v0": 0,
}
assert (found.table.verdict == "unknown").mean() > 0.5
again = found.table[(found.table.detected != 0) & (found.table.confirmed == 1)]
assert again.env.tolist() == ["LunarLander-v3"] and again.kind.item() == "alone, on what it needs"
assert not (found.table.detected < 0).any()
found

# %% [markdown]
# In the usual environments, each arm has its own best learning rate. On Pendulum's rung, give both arms *one* rate, and
# you can have any answer that you like. On Taxi's, it costs a little at each of the three smallest rates (ten tuning
# seeds each), and with each arm at its own best nothing is detected:

# %% tags=["hide-input"]
rung = {}
for env, rates in (("Pendulum-v1", ("0.003", "0.03")), ("Taxi-v4", ("0.0003", "0.001", "0.003"))):
    study = next(study for study in studies() if study.env == env)
    by_rate = effects_by_rate(study, next(design for design in study.designs if design.name == "ladder"))
    row = rung[env] = by_rate[by_rate.trick == "orthogonal_init"].set_index("at")
    for rate in (*rates, "own best"):
        print(f"{env:12} {rate:8}: {row.difference[rate]:+.2f} [{row.low[rate]:+.2f}, {row.high[rate]:+.2f}]")
    assert row.low["own best"] < 0 < row.high["own best"]
assert rung["Pendulum-v1"].high["0.003"] < 0 < 0.3 < rung["Pendulum-v1"].low["0.03"]
assert max(rung["Taxi-v4"].high[["0.0003", "0.001", "0.003"]]) < 0

# %% [markdown]
# There is little to gain
#
# - **when every policy is paid.** The first updates correct an opinion.
# - **from the exact number.** Andrychowicz et al. (2020, arXiv:2006.05990) found the head's scale to matter most in all
#   of initialization, with little difference between 0.001 and 0.1 and a cliff at 1.
# - **when you know** that one action is usually right. Put that into the bias.
#
# We haven't trained Xavier or Kaiming against it.

# %% [markdown]
# ## At a glance
#
# | | |
# |---|---|
# | **problem** | random weights prefer some actions over others, and they shrink the signal from layer to layer |
# | **formula** | $W = g\,Q$ with $Q^\top Q = I$, and biases 0 |
# | **in the loop** | `orthogonal_(agent.policy_net, config.seed_list, 0, gain=2**0.5, head_gain=0.01)` |
# | **defaults** | $g = \sqrt 2$ in hidden layers, 0.01 in the policy's last layer, 1 in the value net's |
# | **watch** | `entropy` in the first update: it should be the log of the number of actions |
# | **skip it when** | you start from trained weights, or know something that the first policy should know |
# | **also called** | `ortho_init` in stable-baselines3, `layer_init` in CleanRL |

# %% [markdown]
# ## Exercises
#
# **Exercise 1: write it.** Make a uniform orthogonal matrix from normal numbers, tall or wide. `np.linalg.qr(x)`
# returns $Q$ and $R$. The cell tells you what's wrong with your version.


# %%
def my_orthogonal(normals):  # [rows, columns] -> [rows, columns]
    ...


check_orthogonal(my_orthogonal)

# %% [markdown]
# <details><summary>Hint</summary>
#
# A wide matrix: transpose it, make that one orthogonal, transpose back. For the signs, see the
# [appendix](a1_qr_signs.ipynb).
#
# </details>
#
# **Exercise 2: think.** With a head of gain 0 the policy would be exactly uniform. What is the gradient of the *hidden*
# layers in the first step, and what is it afterward? Why is that no disaster, and why would it be one to set *all*
# layers to 0?
#
# <details><summary>Answer</summary>
#
# The gradient reaches the hidden layers through the head's weights, so in the first step it is 0. The head's own
# gradient is made of the activations, which aren't 0. So the head moves, and from the second step on everything learns.
# With all layers at 0 the activations are 0, too. Then only the head's bias ever learns, and it says the same in every
# state.
#
# </details>

# %% [markdown]
# **Exercise 3: spot the bug.** Every matrix is orthogonal and every bias is 0, yet agents get stuck on the walk.

# %%
source(opinionated_)

# %%
with planted(orthogonal_=opinionated_):
    faulty = train(walk, switched(("orthogonal_init",)))

# %% tags=["hide-input"]
for name, run in (("right", runs["walk", "both"]), ("with the bug", faulty)):
    first, last = run.curve[run.curve["update"] == 0].entropy, run.late()
    print(
        f"{name:13} entropy in the first update {first.min():.4f} to {first.max():.4f} (log 2 = {np.log(2):.4f}); "
        f"never paid in the end: {(last == 0).sum()} of 20"
    )
assert (faulty.late() == 0).sum() >= 5

# %% [markdown]
# What is wrong? And how does the entropy of the *first* update tell you that it must be the initialization?
#
# <details><summary>Hint</summary>
#
# Layers are counted from 0. Which of them has the index `len(net.layers)`?
#
# </details>
#
# Solutions: [`solutions/05_orthogonal_init.py`](solutions/05_orthogonal_init.py). Next: [advantage
# normalization](06_advantage_norm.ipynb).

# %% [markdown]
# # Orthogonal initialization: begin without an opinion
#
# *Before the first step of learning, what should a policy think?*
#
# Nothing: it has seen nothing. But a fresh net's outputs are random, and a softmax turns them into opinions. And since
# the policy *makes* the data, it may never see what would correct them.

# %% tags=["hide-input"]
import copy
from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np
import torch

from ablations import interval, style
from chapters.book import begin, caption, evidence, planted, store
from chapters.book.results import trials
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
# You start in the middle of 25 cells and step left or right. Touch the left end and then the right end within 1000
# steps, and you are paid 1. With a coin, you make it more often than not.
#
# Let 100 untrained nets walk, 20 times each, initialized PyTorch's way or this chapter's, with three sizes (*gains*) of
# the last layer, the **head**.
#
# **Predict.** PyTorch's nets give the likelier action 0.57 on average, which is close to a coin. How many of the 100
# are never paid?

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
axis.set_yticks(range(4), list(paid))
axis.set(xlabel="share of a net's walks that are paid", xlim=(-0.03, 1.03), ylim=(-0.5, 3.5))
plt.show()
never = {name: (share == 0).float().mean().item() for name, share in paid.items()}
caption("Nets that are never paid: " + ", ".join(f"{share:.0%} with {name}" for name, share in never.items()) + ".")
assert never["head gain 0.01"] == 0 and paid["head gain 0.01"].mean() > 0.5
assert min(never["head gain √2"], never["head gain 1"]) > 0.5 > never["PyTorch's default"] > 0.25

# %% [markdown]
# With a tiny head, every net finds the reward; a third of PyTorch's and most with larger heads never do. A REINFORCE
# agent that is never paid has a gradient of 0 and learns nothing.

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
# If two logits differ by $d$, one side has odds of $e^d$. Suppose a net leans the same way in every cell, and you walk
# against it. With probability $p$ a step goes your way; otherwise you first have to regain the cell before. So the
# expected time from cell $k$ to the next is $T_k = \frac{1}{p} + e^d\, T_{k-1}$: each cell multiplies it by about
# $e^d$, and 24 cells by about $e^{24d}$, at worst.
#
# The **entropy** $H=-\sum_a\pi(a)\log\pi(a)$ is $\log2=0.693$ for a coin and 0 for certainty.

# %% tags=["open"]
for name, net in nets.items():
    logits = net(everywhere).detach()
    likelier = logits.softmax(-1).amax(-1).mean().item()
    entropy = Categorical.entropy(logits).mean()
    d = logits.diff(dim=-1).abs().mean().item()
    print(f"{name:18} likelier action {likelier:.2f}, entropy {entropy:.3f},", end=" ")
    print(f"d = {d:.2f}, e^(24d) = {np.exp(24 * d):,.0f}")
    if name == "PyTorch's default":
        assert (round(likelier, 2), round(d, 1)) == (0.57, 0.3)
        assert np.exp(24 * d) > 1000

# %% [markdown]
# PyTorch's $d$ of 0.3 is already a factor of more than a thousand. **A preference that you can't see in one state
# decides everything over many.**
#
# ## How long is a vector after a layer?
#
# Let a layer turn $x$, with $n$ entries, into $Wx$, with $n$ too. If weights are independent, with mean 0 and variance
# $\sigma^2$, variances add up, and each entry has the expected square $\sigma^2\lVert x\rVert^2$:
#
# $$\mathbb{E}\,\lVert Wx\rVert^2=n\,\sigma^2\,\lVert x\rVert^2.$$
#
# PyTorch draws weights uniformly from $\pm1/\sqrt{n}$, so $\sigma^2=\frac{1}{3n}$. Each layer leaves
# $1/\sqrt{3}\approx0.58$ of the length, and ten leave 0.4%.
#
# Xavier (Glorot & Bengio 2010) and Kaiming initialization (He et al. 2015) choose $\sigma^2$ so that the length stays
# the same on average; we haven't trained with them. An **orthogonal** matrix (Saxe et al. 2013, arXiv:1312.6120) keeps
# the length of *every* vector. Take $W=g\,Q$ with $Q^\top Q=I$ and a **gain** $g$:
#
# $$\lVert Wx\rVert^2=g^2\,x^\top Q^\top Q\,x=g^2\,\lVert x\rVert^2.$$
#
# How much do 500 random inputs still differ after each tanh layer?

# %% tags=["hide-input"]
GAINS = {"orthogonal, g = 1": 1.0, "orthogonal, g = √2": 2**0.5}
HEIGHTS = {"default": 0.02, "orthogonal, g = 1": 0.17, "orthogonal, g = √2": 0.55}


@torch.no_grad()
def spreads(way):
    """How much 500 random inputs differ after each of 16 tanh layers, initialized this way: the mean deviation."""
    net = mlp([stream(0, "init")], (64,) * 18)
    if way in GAINS:
        orthogonal_(net, (0,), 0, gain=GAINS[way], head_gain=GAINS[way])
    torch.manual_seed(0)
    x, found = torch.randn(1, 500, 64), []
    for weight, bias in net.layers[:16]:
        x = torch.tanh(x @ weight + bias)
        found.append(x.var(1).mean().sqrt().item())
    return found


figure, axis = plt.subplots(figsize=(6.5, 2.8))
ends = {way: spreads(way) for way in HEIGHTS}
for way, spread in ends.items():
    color = TRICK if way in GAINS else style.SOFT
    axis.plot(range(1, 17), spread, color=color)
    axis.text(16.3, HEIGHTS[way], way, color=color, va="center")
axis.set(xlabel="layer", ylabel="spread over inputs", ylim=(0, 0.8), xlim=(1, 16), xticks=(1, 4, 8, 12, 16))
plt.show()
assert ends["default"][3] < 0.1 < 0.2 < ends["default"][1]
assert ends["default"][-1] < 0.01 < 0.1 < ends["orthogonal, g = 1"][-1] < 0.4 < ends["orthogonal, g = √2"][-1]

# %% [markdown]
# The default loses the input after a few layers, though with *two*, as in our usual nets, some is left. Gain 1 loses it
# slowly, because a tanh shortens every vector. With a gain of √2, the spread settles.
#
# But full-size signals make full-size logits, and you have seen what these do to the walk. So the head gets its own
# gain. It has one weight vector of length $g$ per action, in a random direction. If $n$ activations have size $h$,
# their vector has length $h\sqrt n$, and about $1/\sqrt n$ of that lies along a random direction. So a logit is around
# $g\,h$: with $g=0.01$, practically nothing. The **value net's** head gets gain 1, since a wrong $V$ doesn't choose the
# data.

# %%
source(orthogonal_, orthogonal)

# %% [markdown]
# The [appendix on QR](a1_qr_signs.ipynb) explains `qr` and the signs.

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
# Leave out the small head or the orthogonal hidden layers, and train twenty agents with REINFORCE on the walk, and on
# CartPole with eight hidden layers. `switched` is REINFORCE with the named tricks, or *flags*, turned on.
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
# At this rate, **the small head is for the walk, the orthogonal hidden layers are for the deep net,** and on neither
# task do twenty agents show that the other part helps. Without a small head, luck decides the walk. On CartPole, a
# policy that can't tell states apart can't balance.
#
# ## Where else a first opinion matters
#
# `ThereAndBackPlus3` is the walk with three constant features.

# %% tags=["hide-input"]
found = evidence("orthogonal_init")
found.strip()
plt.show()

# %% [markdown]
# On two sets of seeds, it helps with eight hidden layers, on the walk with constant features, and added to REINFORCE on
# LunarLander, and it hurts in Pendulum's full set; we don't know why. On the plain walk, each arm at its own best rate,
# the interval leaves out 0, but not by enough for one of more than fifty trials.

# %% tags=["hide-input"]
constants = found.worlds.set_index("dose").loc["constant features"]
assert constants.growth_low < 0 < constants.growth_high and constants.doses.startswith("0:+0.2")
assert dict(zip(found.worlds.place, found.worlds.seen, strict=True)) == {
    "ThereAndBackPlus3-v0, lr=0.003": 1,
    "CartPole-v1, 8 hidden layers, lr=0.001": 1,
    "ThereAndBack-v0": 0,
}
assert found.worlds.confirmed[found.worlds.seen == 1].eq(1).all()
assert found.worlds.low[found.worlds.place == "ThereAndBack-v0"].item() > 0 and len(trials()) > 50
assert (found.table.verdict == "unknown").mean() > 0.5
again = found.table[(found.table.detected != 0) & (found.table.confirmed == 1)]
helped, hurt = again[again.detected > 0], again[again.detected < 0]
assert helped.env.tolist() == ["LunarLander-v3"] and helped.kind.item() == "alone, on what it needs"
assert hurt.env.tolist() == ["Pendulum-v1"] and hurt.kind.item() == "in the full set"
found

# %% [markdown]
# On CartPole there is little to gain, perhaps because every policy is paid there, and the first updates correct an
# opinion. Andrychowicz et al. (2020, arXiv:2006.05990) found little difference between head scales of 0.001 and 0.1,
# and a cliff at 1.

# %% [markdown]
# ## At a glance
#
# | | |
# |---|---|
# | **problem** | random weights prefer some actions, and deep nets lose the signal |
# | **formula** | $W=g\,Q$ with $Q^\top Q=I$, biases 0 |
# | **in the loop** | `orthogonal_(agent.policy_net, config.seed_list, 0, gain=2**0.5, head_gain=0.01)` |
# | **defaults** | $g=\sqrt2$ in hidden layers, 0.01 in the policy's head, 1 in the value net's |
# | **watch** | `entropy` at first: the log of the number of actions |
# | **skip it when** | you start from trained weights, or know a good first policy |
# | **evidence** | Helps alone in LunarLander. Hurts in the full set in Pendulum. Practically nothing in the full set in Acrobot. In 5 of 8 environments, these runs can't tell. It helps in 2 of 3 trials in worlds made for it. |
# | **also called** | `ortho_init` in stable-baselines3, `layer_init` in CleanRL |

# %% [markdown]
# ## Exercises
#
# **Exercise 1: a variant.** Make the same matrix without `qr`, and without any signs, by Gram-Schmidt: subtract from
# each column its projections onto the columns before it, and scale what is left to length 1. (There are at least as
# many rows as columns.)


# %%
def my_orthogonal(normals):  # [rows, columns] -> [rows, columns]
    ...


check_orthogonal(my_orthogonal)

# %% [markdown]
# <details><summary>Hint</summary>
#
# The projection of a column $x$ onto a column $q$ of length 1 is $(q \cdot x)\, q$.
#
# </details>
#
# **Exercise 2: think.** With a head of gain 0 the policy would be exactly uniform. What is the gradient of the *hidden*
# layers in the first step, and what is it afterward? Why is that harmless, and why would setting *all* layers to 0 be a
# disaster?
#
# <details><summary>Answer</summary>
#
# The gradient reaches the hidden layers through the head's weights, so at first it is 0. The head's own is made of
# activations, so the head moves, and then everything learns. With all layers at 0, all activations are 0. Only the
# head's bias ever learns, and it says the same in every state.
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

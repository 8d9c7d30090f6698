# %% [markdown]
# # Orthogonal initialization: begin without an opinion
#
# *Before the first step of learning, what should a policy think?*
#
# Nothing, of course. It has seen nothing. But a freshly made neural net does have opinions: its weights are random, so
# its outputs are, too, and a softmax turns them into preferences. Data will correct them, one should think. But in
# reinforcement learning the policy *makes* the data, and an agent with an opinion may never see what would correct it.
#
# The cure costs nothing: choose the random weights with a little more care, once, before training begins.

# %%
from dataclasses import replace
from types import SimpleNamespace

import matplotlib.pyplot as plt
import numpy as np
import torch

from ablations import TRIALS, style
from book import at_best_rate, begin, curves, evidence, planted, store
from exercises.orthogonal_init import check_orthogonal, opinionated_
from tricks import diff, source, train
from tricks.core.nets import mlp
from tricks.core.policies import Categorical
from tricks.core.seeds import stream
from tricks.ladder import named
from tricks.orthogonal_init import orthogonal, orthogonal_
from tricks.worlds.line import REACH, dynamics, initial, observe

begin()

# %% [markdown]
# ## A walk that opinions spoil
#
# Here is a line of 25 cells. You start in the middle, and each step goes left or right. Whoever has touched the left end
# and then reaches the right end is paid 1. There are 1000 steps. Somebody who tosses a coin at each step gets it about
# every other time.
#
# Now let 100 untrained nets walk, 20 times each. They are made in four ways: as PyTorch makes a linear layer, and in the
# way of this chapter with three different sizes of the policy's last layer, its **head**. One dot is one net.

# %%
SEEDS, WALKS = tuple(range(100)), 20


def untrained(head_gain=None):
    """A stack of fresh policy nets, a net a seed: PyTorch's way, or orthogonal with this head."""
    net = mlp([stream(seed, "init") for seed in SEEDS], (2, 32, 32, 2))
    if head_gain is not None:
        orthogonal_(net, SEEDS, 0, gain=2**0.5, head_gain=head_gain)
    return net


@torch.no_grad()
def share_paid(net):
    """How many of its walks each net is paid for, without learning anything."""
    torch.manual_seed(0)
    state, paid = initial(torch.zeros(len(SEEDS), WALKS, 0)), torch.zeros(len(SEEDS), WALKS)
    for _ in range(1000):
        right = net(observe(state)).softmax(-1)[..., 1]
        state, reward, _ = dynamics(state, (torch.rand_like(right) < right).float(), None)
        paid = paid.maximum(reward.float())
    return paid.mean(1)


# %%
kinds = {"PyTorch's default": None, "head gain √2": 2**0.5, "head gain 1": 1.0, "head gain 0.01": 0.01}
nets = {name: untrained(head_gain) for name, head_gain in kinds.items()}
paid = {name: share_paid(net) for name, net in nets.items()}

figure, axis = plt.subplots(figsize=(6.5, 2.8))
torch.manual_seed(0)
for i, (name, share) in enumerate(paid.items()):
    color = style.COLORS["orthogonal_init"] if name == "head gain 0.01" else style.SOFT
    axis.scatter(share, i + 0.5 * (torch.rand(len(share)) - 0.5), s=9, color=color, alpha=0.6, lw=0)
    print(f"{name:18} never paid in {WALKS} walks: {(share == 0).float().mean():4.0%} of the nets")
print(f"a net with head gain 0.01 is paid for {paid['head gain 0.01'].mean():.0%} of its walks on average")
axis.set_yticks(range(4), list(paid))
axis.set(xlabel="share of walks that are paid", xlim=(-0.03, 1.03), ylim=(-0.5, 3.5))
plt.show()
assert (paid["head gain 0.01"] > 0).all()
assert (paid["head gain √2"] == 0).float().mean() > 0.3

# %% tags=["hide-input"]
places = torch.stack(
    [torch.arange(-REACH, REACH + 1.0).expand(2, -1), torch.tensor([[0.0], [1.0]]).expand(2, 2 * REACH + 1)], -1
)
with torch.no_grad():
    logits = nets["head gain 1"](observe(places).flatten(0, 1).expand(len(SEEDS), -1, -1))
tilt = (logits[..., 1] - logits[..., 0]).unflatten(1, (2, -1))  # [nets, touched, cells], in favor of right
store("walk", {"tilt": tilt[:30].tolist()})

# %% [markdown]
# <!-- mechanism: walk -->

# %% [markdown]
# With a tiny head, every net finds the reward in about half of its walks. With PyTorch's default, many hardly ever do;
# with a head of gain √2, most. An agent that is never paid has a gradient of 0, and stays as it is. It is not that it
# learned the wrong thing. It has nothing to learn from.
#
# How strong are these opinions? Look at the probability of the likelier action, and at the **entropy**
# $H = -\sum_a \pi(a) \log \pi(a)$, which is $\log 2 = 0.693$ for a coin and 0 for a policy that is sure of itself:

# %%
cells = torch.arange(-REACH, REACH + 1.0)
everywhere = torch.stack([torch.stack([cells, cells * 0 + touched], -1) for touched in (0, 1)]).flatten(0, 1)
seen = observe(everywhere).expand(len(SEEDS), -1, -1)  # every state of the line, for every net

print("                   likelier action   entropy   difference of the two logits")
for name, net in nets.items():
    logits = net(seen).detach()
    sure, entropy = logits.softmax(-1).amax(-1).mean(), Categorical.entropy(logits).mean()
    print(f"{name:18} {sure:15.3f} {entropy:9.3f} {(logits[..., 1] - logits[..., 0]).abs().mean():16.2f}")

# %% [markdown]
# The default looks harmless: nearly a coin. But look at the last column. Logits that differ by $d$ mean odds of $e^d$
# for one side. Going against such odds for 24 cells in a row multiplies the trouble in each cell, so it takes of the
# order of $e^{24 d}$ steps. With $d = 0.3$ that is already $e^{7.2} \approx 1300$. **A preference that is invisible in one
# state decides everything over many.**
#
# ## How long is a vector after a layer?
#
# Where does the size of the logits come from? A linear layer turns a vector $x$ with $n$ entries into $y = Wx$, with $n$
# random, independent weights in each row, of mean 0 and variance $\sigma^2$. One entry of $y$ is $\sum_j W_{ij} x_j$.
# Variances of independent terms add up, so its expected square is $\sigma^2 \sum_j x_j^2 = \sigma^2 \lVert x \rVert^2$.
# There are $n$ such entries:
#
# $$\mathbb{E}\,\lVert Wx \rVert^2 = n\,\sigma^2\,\lVert x \rVert^2.$$
#
# PyTorch draws weights evenly from $\pm 1/\sqrt{n}$. Such a draw has variance $\frac{1}{3n}$, so each layer shrinks the
# vector to $1/\sqrt{3} \approx 0.58$ of its length. After ten layers 0.4% of it are left.
#
# You could repair this by drawing weights that are $\sqrt{3}$ times as large. Then lengths stay the same *on average*.
# But some directions grow and others shrink, and over many layers they part ever further. What you would want is a
# matrix that keeps the length of **every** vector: an **orthogonal** one, $Q^\top Q = I$, since then
#
# $$\lVert Qx \rVert^2 = x^\top Q^\top Q\, x = x^\top x = \lVert x \rVert^2.$$
#
# ## A picture of the mechanism
#
# A **singular value** of a matrix is the factor by which it stretches one of its own special directions. Left: all 64
# singular values of a product of layers, sorted. Right: the typical size of the activations in a deep tanh net (the square
# root of their mean square), layer by layer.

# %%
WIDTH, DEPTH = 64, 16


def weights(gain=None):
    """Square layers, as PyTorch makes them or orthogonal with this gain: [DEPTH, 64, 64]."""
    net = mlp([stream(0, "init")], (WIDTH,) * (DEPTH + 1))
    if gain is not None:
        orthogonal_(net, (0,), 0, gain=gain, head_gain=gain)
    return torch.stack([weight[0].detach().double() for weight, _ in net.layers])


def activations(layers):
    """Root mean square after each tanh layer, for 500 random inputs."""
    torch.manual_seed(0)
    x, sizes = torch.randn(500, WIDTH).double(), []
    for layer in layers:
        x = torch.tanh(x @ layer)
        sizes.append(x.square().mean().sqrt().item())
    return sizes


# %% tags=["thumbnail"]
TRICK = style.COLORS["orthogonal_init"]
figure, (left, other) = plt.subplots(1, 2, figsize=(8, 3))
for depth, place in ((1, (65, 5e-3)), (4, (65, 1e-5)), (16, (60, 4e-9))):
    random, smooth = (torch.eye(WIDTH).double() for _ in range(2))
    for one, another in zip(weights()[:depth] * 3**0.5, weights(gain=1.0)[:depth], strict=True):
        random, smooth = random @ one, smooth @ another
    stretch = torch.linalg.svdvals(random)
    left.plot(stretch, color=style.SOFT, lw=1.5)
    left.plot(torch.linalg.svdvals(smooth), color=TRICK)
    left.text(*place, f"{depth} layer{'s' * (depth > 1)}", color=style.SOFT, va="center")
left.text(65, 1, "orthogonal", color=TRICK, va="center")
left.set(title="singular values", yscale="log", xlim=(-2, 92), ylim=(1e-9, 50), xlabel="direction")
left.set(ylabel="stretched by", xticks=(0, 32, 64))

for gain, color, name in ((None, style.SOFT, "default"), (1.0, TRICK, "gain 1"), (2**0.5, TRICK, "gain √2")):
    sizes = activations(weights(gain))
    other.plot(range(1, DEPTH + 1), sizes, color=color)
    other.text(DEPTH + 0.5, max(sizes[-1], 0.03), name, color=color, va="center")
other.set(title="activations, tanh", xlabel="layer", ylim=(0, 0.8), xticks=(1, 4, 8, 12, 16))
other.set_ylabel("root mean square")
plt.show()
print(f"16 of PyTorch's layers: the middle one of 64 directions is stretched by {stretch[32]:.4f}")
assert stretch[32] < 0.01
torch.testing.assert_close(torch.linalg.svdvals(smooth), torch.ones(WIDTH).double(), atol=1e-4, rtol=0)

# %% [markdown]
# The gray lines on the left are PyTorch's weights, already repaired by $\sqrt{3}$. After 16 layers, half of all
# directions are stretched by less than a hundredth: whatever the input says along them is lost, and so is the gradient on
# its way back. Orthogonal layers multiply to an orthogonal matrix, so the colored line is flat at any depth
# (Saxe et al. 2013, arXiv:1312.6120).
#
# On the right, PyTorch's activations die out, and a **gain** decides the rest: weights are $W = \text{gain} \cdot Q$. Why
# $\sqrt{2}$? The number was made for another nonlinearity, the ReLU, which sets negative inputs to 0. That removes half of
# the mean square, and $\sqrt{2}$, squared, brings it back. Our layers are $\tanh$, which shortens every vector, the long
# ones most. No gain repairs that exactly. At gain 1 activations fade slowly; at $\sqrt{2}$ they settle at a level, as you
# see, and that is all that can be said for it. The library takes $\sqrt{2}$ because
# openai/baselines did, and many after it.
#
# Be honest about depth, too: the nets in this book have *two* hidden layers. What happens after sixteen is not our
# problem. What is our problem is the head.
#
# ## The head
#
# In the library a layer computes $xW$, so each *column* of $W$ belongs to one output. The head's columns are orthonormal,
# one for each action. A unit vector that points in a random direction sees of an activation
# vector $h$ about one entry's worth, so a logit is about as large as $\text{gain} \cdot \text{(typical activation)}$. With
# gain 0.01 and activations of about 0.6 (the level of √2 in the picture), logits are around 0.006, and two of them differ
# by somewhat more, rounded to 0.01 in the last row of the table above. The biases start at 0.
#
# The **value net's** head gets gain 1. A wrong $V$ makes bad advantages for a while, but it does not choose the data.
#
# ## How to make an orthogonal matrix
#
# Take a matrix of independent normal numbers and straighten it. Scale the first column to length 1. From the second,
# subtract its shadow on the first, and scale what is left to length 1. From the third subtract its shadows on both, and so
# on. The results are the columns of $Q$. What was subtracted and scaled is kept in a triangular matrix $R$, so that the
# original is $QR$.
#
# By hand: the columns of $\begin{pmatrix} 3 & 1 \\ 4 & 2 \end{pmatrix}$. The first, $(3, 4)$, has length 5, which gives
# $(0.6, 0.8)$. The shadow of $(1, 2)$ on it is $0.6 + 1.6 = 2.2$, and $(1, 2) - 2.2 \cdot (0.6, 0.8) = (-0.32, 0.24)$ has
# length 0.4, which gives $(-0.8, 0.6)$.

# %%
source(orthogonal_, orthogonal)

# %%
ours = SimpleNamespace(standard_normal=lambda shape: np.array([[3.0, 1.0], [4.0, 2.0]]))  # no dice, our numbers
q = orthogonal(ours, rows=2, columns=2)
print(q.round(3))
np.testing.assert_allclose(q, [[0.6, -0.8], [0.8, 0.6]])
np.testing.assert_allclose(q.T @ q, np.eye(2), atol=1e-12)

# %% [markdown]
# Two details. A matrix with fewer rows than columns cannot have orthonormal columns (three arrows at right angles do not
# fit into a plane), so its *rows* are made orthonormal: transpose, straighten, transpose back.
#
# And the line with `np.sign`. "Scale to length 1" leaves a choice: an arrow or its opposite. Programs for $QR$ make that
# choice in the way that rounds best, which depends on the numbers, and so the random matrix loses its symmetry. Dividing
# out the signs of $R$'s diagonal makes it positive, as in our calculation by hand. Then $Q$ is **uniform**: no rotation of
# space is likelier than another. For if you rotate a normal matrix $A$ by $U$, it is as likely as before, and
# $UA = (UQ)R$ with the same $R$, so $Q$ turned into $UQ$, which must then be just as likely as $Q$.
#
# The first column of 300 random 2 × 2 matrices, without the signs and with them:

# %%
figure, axes = plt.subplots(1, 2, figsize=(5, 2.5), sharey=True)
for axis, title in zip(axes, ("straight from QR", "with the signs"), strict=True):
    for seed in range(300):
        rng = np.random.default_rng(seed)
        plain = np.linalg.qr(rng.standard_normal((2, 2)))[0]
        arrow = (plain if axis is axes[0] else orthogonal(np.random.default_rng(seed), 2, 2))[:, 0]
        axis.plot(*arrow, "o", color=TRICK if axis is axes[1] else style.SOFT, ms=3, alpha=0.5)
    axis.set(title=title, aspect="equal", xlim=(-1.2, 1.2), ylim=(-1.2, 1.2), xticks=(-1, 0, 1), yticks=(-1, 0, 1))
plt.show()
firsts = [orthogonal(np.random.default_rng(seed), 2, 2)[0, 0] for seed in range(300)]
assert abs(np.mean(firsts)) < 0.15

# %% [markdown]
# ## Into the loop
#
# Two lines before the first step, and never again:

# %%
diff(named("gae"), named("orthogonal_init"))

# %% [markdown]
# ## A small run
#
# The walk from above, now with learning: plain REINFORCE, ten agents, 25,000 steps each.

# %%
(trial,) = (trial for trial in TRIALS if trial.env == "tricks/ThereAndBack-v0")
config = replace(trial.config, seeds=10, steps=25_000)
without = train(at_best_rate(config, trial.without), trial.without)
having = train(at_best_rate(config, trial.having), trial.having)
curves({"default": without, "orthogonal_init": having})
plt.show()
for name, run in (("default", without), ("orthogonal_init", having)):
    print(f"{name:15} in the end, seed by seed:", "  ".join(f"{share:.2f}" for share in run.late()))
assert having.late().mean() > 0.4

# %% [markdown]
# Look at the seeds and not just at the mean. Without the trick, luck decides: a net whose opinion happens to be weak learns
# the task, and one whose opinion is strong never sees the reward.
#
# ## What the stored runs say

# %%
found = evidence("orthogonal_init")
found

# %%
found.plot()
plt.show()

print(found.summary())

# %% [markdown]
# In the walk, a seed that is never paid stays at 0, and one that is paid often enough gets near 1. A mean over such seeds
# is uncertain, and so its interval is wide. CartPole is another matter: every episode there shows the consequences of
# both actions within a second, whatever the policy thought at first. Where a row of a usual environment shows an effect all
# the same, it is not about finding the reward. The trick also sets the hidden layers and the value net's head, and no row
# tells these apart.
#
# The row with the deep net is CartPole with eight hidden layers of 32: there, the default's shrinking layers leave little
# of the signal, as Saxe et al. (2013) argue. `ThereAndBackPlus3` is the walk with three constant features of 12, which
# saturate the default net from the start.
#
# **What it does not say:** anything about nets larger than that.
#
# ## When it does not help
#
# - **When every policy is paid.** If rewards are dense and actions few, the first updates can correct an opinion, and there
#   is no trap to avoid.
# - **The exact number is not important, up to a point.** Andrychowicz et al. 2020 (arXiv:2006.05990) found the scale of the
#   policy head to matter most in all of initialization: +66% on Humanoid with a small one, little difference between
#   0.001 and 0.1, and a cliff at 1.0.
# - **When you do have an opinion.** If you know that one action is mostly right, put it into the bias. The trick removes
#   accidents, not knowledge.
#
# ## Exercises
#
# **Exercise 1: write it.** From a matrix of normal numbers, make the uniform orthogonal one. It may be tall or wide.
# `np.linalg.qr(x)` returns $Q$ and $R$.


# %%
def my_orthogonal(normals):  # [rows, columns] -> [rows, columns]
    ...


check_orthogonal(my_orthogonal)

# %% [markdown]
# **Exercise 2: think.** With a head of gain exactly 0 the policy would be exactly uniform. What would be the gradient of the
# *hidden* layers in the first step, and what after it? Why is that no disaster, and why would it be one to set *all*
# layers to 0?

# %% [markdown]
# **Exercise 3: spot the bug.** Somebody rewrote the initialization. Every matrix is orthogonal, every bias is 0, and on
# CartPole nobody noticed for months. Then somebody tried the walk.

# %%
source(opinionated_)

# %%
with planted(orthogonal_=opinionated_):
    faulty = train(having.config, trial.having)
curves({"orthogonal_init": having, "with the bug": faulty})
plt.show()
for name, run in (("sound", having), ("with the bug", faulty)):
    first = run.curve[run.curve["update"] == 0].entropy
    print(f"{name:13} entropy in the first update: {first.min():.4f} to {first.max():.4f}, log 2 = {np.log(2):.4f}")
assert faulty.late().mean() < 0.5 * having.late().mean()

# %% [markdown]
# What is wrong? And before you look at the code: how does the entropy of the *first* update, before anything was learned,
# tell you that it must be the initialization?
#
# Solutions: [`solutions/05_orthogonal_init.py`](solutions/05_orthogonal_init.py). Next:
# [advantage normalization](06_advantage_norm.ipynb), which makes the size of the rewards matter less.

# %% [markdown]
# # Gradient clipping: no single batch may decide
#
# *One reward in thousands is a thousand times too large. What is left of everything learned before?*
#
# A sensor fails for a step, a decimal point slips, a jackpot falls. The gradient is an average over a batch, and one
# number in the batch can be larger than all others together. Then the step that is taken is *its* step.
#
# The cure is a single line: a gradient that is too long is made shorter. The interesting part is what exactly that line
# must leave alone, and what it does when the optimizer already divides by the gradient's size.

# %%
from dataclasses import replace

import matplotlib.pyplot as plt
import torch

from ablations import style
from book import at_best_rate, begin, curves, evidence, planted
from exercises.grad_clip import check_shorten, torch_shorten
from tricks import Config, diff, source, train
from tricks.core.adam import Adam
from tricks.grad_clip import shorten
from tricks.ladder import named, switched

begin()
COLOR = style.COLORS["grad_clip"]

# %% [markdown]
# ## One slip of the pen
#
# Back to the three slot machines of the first chapter, which pay 1, 2 and 4, and to REINFORCE with plain gradient
# steps. Fifty agents learn for 300 pulls. But at pull 100, each is billed 10,000 by mistake, once, for whatever machine
# it just pulled. Half of the experiment shortens every gradient to a length of at most 6, which no honest payout exceeds: a score is never
# longer than $\sqrt 2$, and $4 \sqrt 2 < 6$.

# %%
PAYS = torch.tensor([1.0, 2.0, 4.0])


def learn(longest, agents=50, pulls=300, rate=0.05):
    """Mean probability of the best machine, pull by pull; at pull 100 everyone is billed 10,000."""
    torch.manual_seed(0)
    theta, share = torch.zeros(agents, 3), []
    for pull in range(pulls):
        policy = theta.softmax(1)
        action = policy.multinomial(1)
        reward = PAYS[action] - 10_000 * (pull == 100)
        gradient = reward * (torch.eye(3)[action[:, 0]] - policy)  # r · ∇ log π(a), of each agent
        theta = theta + rate * shorten(gradient, gradient.norm(dim=1), longest)
        share.append(policy[:, 2].mean().item())
    return share


plain, shortened = learn(longest=float("inf")), learn(longest=6.0)

figure, axis = plt.subplots(figsize=(6.5, 2.6))
axis.plot(plain, color=style.SOFT)
axis.plot(shortened, color=COLOR)
axis.text(300, plain[-1], "  as it is", va="center", color=style.SOFT)
axis.text(300, shortened[-1], "  shortened to 6", va="center", color=COLOR)
axis.annotate("the bill", (100, 0.05), (65, 0.05), va="center", ha="right", arrowprops={"arrowstyle": "->"})
axis.set(xlabel="pull", ylabel="probability of the\nbest machine", ylim=(0, 1))
plt.show()

print(f"before the bill {plain[100]:.2f}; at the end {plain[-1]:.2f} as it is, {shortened[-1]:.2f} shortened")
assert plain[100] > 0.8 and plain[-1] < 0.3 and shortened[-1] > 0.8

# %% [markdown]
# One step undid a hundred, and the agents never recover. The step moved a logit by about
# $0.05 \cdot 10{,}000 \cdot (1 - \pi)$, which for $\pi = 0.9$ is 50, and raised the others as well: the pulled machine's
# probability is less than $e^{-50}$ times what it was. A machine that is never pulled again teaches
# nothing again: its score $[a = k] - \pi(k)$ is zero. The shortened agents barely notice.
#
# ## The derivation: which shorter gradient?
#
# Call the gradient $g$ and let $\lVert g \rVert = \sqrt{g_1^2 + g_2^2 + \dots}$ be its length, over all $P$ parameters.
# We want a vector $u$ of length at most $c$ that is as close to $g$ as possible. Expand the squared distance, and use
# that a dot product is largest when both vectors point the same way, $g \cdot u \le \lVert g \rVert \lVert u \rVert$:
#
# $$\lVert g - u \rVert^2 = \lVert g \rVert^2 - 2\, g \cdot u + \lVert u \rVert^2
#   \;\ge\; \lVert g \rVert^2 - 2 \lVert g \rVert \lVert u \rVert + \lVert u \rVert^2
#   = \big(\lVert g \rVert - \lVert u \rVert\big)^2.$$
#
# The two sides are equal when $u$ points along $g$, so it should. And the right side is smallest when
# $\lVert u \rVert$ is as near to $\lVert g \rVert$ as the limit allows: $\lVert g \rVert$ itself if that is at most
# $c$, otherwise $c$. Both cases in one line (Pascanu et al. 2012, arXiv:1211.5063):
#
# $$u = g \cdot \min\!\Big(1, \frac{c}{\lVert g \rVert}\Big).$$
#
# **The direction is kept, only the length is limited.** That matters because the direction is what the gradient knows.
# A small step $\alpha u$ downhill changes the loss by about $-\alpha\, g \cdot u$, and of all steps of the same length,
# the one along $g$ brings the most.
#
# Another line is often seen in code: limit every *component* to $\pm c$. That is not a shortening, it is a turn. Of
# $(3, 4)$ with $c = ½$, the first makes $(0.3, 0.4)$, the second $(0.5, 0.5)$: the second component was the
# larger one, and is not any more. In the picture, twelve gradients of different directions under both.

# %% tags=["thumbnail"]
angle = torch.linspace(0, 2 * torch.pi, 13)[:-1] + 0.15
gradients = 1.6 * torch.stack([angle.cos(), 0.6 * angle.sin()], 1)  # [12, 2]
by_norm = shorten(gradients, gradients.norm(dim=1), 0.5)
by_element = gradients.clamp(-0.5, 0.5)

figure, axes = plt.subplots(1, 2, figsize=(6.5, 2.6), sharey=True)
axes[0].add_patch(plt.Circle((0, 0), 0.5, color=COLOR, alpha=0.2, lw=0))
axes[1].add_patch(plt.Rectangle((-0.5, -0.5), 1, 1, color=style.SOFT, alpha=0.2, lw=0))
for axis, ends, color in ((axes[0], by_norm, COLOR), (axes[1], by_element, style.INK)):
    for (x, y), (u, v) in zip(gradients.tolist(), ends.tolist(), strict=True):
        axis.plot([0, x], [0, y], color=style.FAINT, lw=1, zorder=0)
        axis.plot([x, u], [y, v], color=style.SOFT, lw=0.8, ls=":")
        axis.annotate("", (u, v), (0, 0), arrowprops={"arrowstyle": "-|>", "color": color, "lw": 1.4, "shrinkB": 0})
    axis.scatter(*gradients.T, color=style.SOFT, s=10)
    axis.set(aspect="equal", xlim=(-1.75, 1.75), ylim=(-1.15, 1.15), xlabel="$g_1$")
axes[0].set(ylabel="$g_2$", title="by the norm: same direction")
axes[1].set(title="element by element: turned")
plt.show()


def turn(ends):
    """The largest angle between a gradient and what became of it, in degrees."""
    return torch.cosine_similarity(gradients, ends).clamp(max=1).acos().max().rad2deg().item()


print(f"largest turn: {turn(by_norm):.1f} degrees by the norm, {turn(by_element):.1f} element by element")
assert turn(by_norm) < 0.1 and turn(by_element) > 10

# %% [markdown]
# In millions of dimensions the square is a cube, and almost every gradient that sticks out of it is turned toward one
# of its corners.
#
# ## In the library

# %%
source(shorten)

# %% [markdown]
# The tiny $10^{-6}$ avoids a division by zero. Note the shapes. `gradient` holds one row for each of the $S$ agents
# that are trained side by side, and each row is scaled by *its own* norm. Within a row all parameters count together,
# those of the policy net and those of the value net, which is why this is called the **global** norm.
#
# By hand: agent A has the gradient $(3, 4)$, of length 5, and B has $(0.03, 0.04)$, of length 0.05. With $c = ½$, A is
# multiplied by $0.5 / 5 = 0.1$, and B, which is short, stays as it is.

# %%
gradient = torch.tensor([[3.0, 4.0], [0.03, 0.04]])  # [S, P]
own = shorten(gradient, gradient.norm(dim=1), max_norm=0.5)
torch.testing.assert_close(own, torch.tensor([[0.3, 0.4], [0.03, 0.04]]))
print(own.numpy().round(4))

# %% [markdown]
# One line in the loop. The norm has been logged *before*, in the line above it: afterward it would often read 0.5 and
# tell you nothing.

# %%
diff(named("return_norm"), named("grad_clip"))

# %% [markdown]
# ## But the optimizer is Adam
#
# The slot machines were trained with plain steps. The library, like most code, uses Adam, which already divides by the
# size of the gradient. It keeps two running averages, of the gradient and of its square, and steps along their
# quotient:
#
# $$m \leftarrow \beta_1 m + (1 - \beta_1)\, g, \qquad v \leftarrow \beta_2 v + (1 - \beta_2)\, g^2, \qquad
#   \theta \leftarrow \theta - \alpha\, \frac{m}{\sqrt{v}}$$
#
# with $\beta_1 = 0.9$ and $\beta_2 = 0.999$ (a correction for the first steps is left out here). What does a shock do
# to that? Let the gradient be 1 as a rule, and $G$, very large, for a single step.
#
# - **The step is bounded.** Right after the shock, $m \approx (1 - \beta_1)\, G$ and $\sqrt v \approx \sqrt{1 - \beta_2}\; G$.
#   In the quotient, $G$ cancels: $\alpha \cdot 0.1 / \sqrt{0.001} \approx 3.2\, \alpha$, however large the shock was.
# - **The memory is not.** $m$ forgets the shock in tens of steps, $v$ in thousands. So long as
#   $v \approx (1 - \beta_2)\, G^2 \beta_2^t$ is large, every ordinary gradient is divided by $\sqrt v$ instead of by 1. With
#   $G = 1000$ that is 32 at first, so learning goes on at 3% of its speed.
#
# So with Adam, a shock does not throw you off the cliff. It pours glue on the road. Below, one parameter should travel
# to the right: its gradient is always $-1$, except for one step with $+1000$. Two agents use the library's `Adam`, and
# one of them has its gradient shortened to ½ first.

# %%
place = torch.zeros(2, 1)  # [S, P]: two agents with one parameter each
optimizer, rate, path = Adam([place], eps=1e-5), torch.tensor([0.01, 0.01]), []
for step in range(12_000):
    gradient = torch.full((2, 1), 1000.0 if step == 3000 else -1.0)
    limited = shorten(gradient, gradient.norm(dim=1), 0.5)
    optimizer.step(torch.stack([gradient[0], limited[1]]), rate, moving=torch.tensor([True, True]))
    path.append(place[:, 0].tolist())
path = torch.tensor(path).T  # [2, steps]

figure, axis = plt.subplots(figsize=(6.5, 2.8))
for line, color, name in zip(path, (style.SOFT, COLOR), ("Adam", "shortened, then Adam"), strict=True):
    axis.plot(line, color=color)
    axis.text(12_100, line[-1], name, color=color, va="center")
axis.annotate("the shock", (3000, 28), (3000, 5), ha="center", arrowprops={"arrowstyle": "->"})
axis.set(xlabel="gradient step", ylabel="way traveled", ylim=(0, None), xlim=(0, 12_000))
plt.show()

moved = path.diff(dim=1).abs() / 0.01  # in learning rates
print(f"largest step: {moved[0].max():.1f} learning rates")
print(f"a usual step, 100 steps after the shock: {moved[0, 3100]:.3f} without, {moved[1, 3100]:.3f} with shortening")
assert moved[0].max() < 4 and moved[0, 3100] < 0.05 and moved[1, 3100] > 0.8

# %% [markdown]
# The clipped agent saw a shock of ½ in place of 1000, like any other step but for its sign, and $v$ hardly moved.
# **Under Adam, clipping protects the memory more than the step.**
#
# Notice something else. The clipped agent's ordinary gradients were halved, from 1 to ½, and it still travels at full
# speed, because Adam divides by ½ again. A limit that is *always* active therefore does not slow Adam down. It does
# something more subtle: all gradients get the same length, and each batch the same vote.
#
# ## How often is the limit active?
#
# That depends on the units of the loss. Below, the same ladder is trained on CartPole twice: with `return_norm`, where
# the value net predicts numbers around 1, and without it, where they are raw points up to 100. `planted` replaces the
# loop's `shorten` by one that takes notes. A dot is a gradient step of one of three agents.


# %%
def norms_during(tricks):
    """Gradient norms before they are limited, [gradient steps, S], of a short run."""
    seen = []

    def noting(gradient, norm, max_norm):
        seen.append(norm.masked_fill(~gradient.any(1), torch.nan))  # an agent that is done has no gradient
        return shorten(gradient, norm, max_norm)

    with planted(shorten=noting):
        train(Config(seeds=3, steps=16_000, lr=0.003), tricks)
    return torch.stack(seen)


full = named("grad_clip")
norms = {"with return_norm": norms_during(full), "without": norms_during(replace(full, return_norm=False))}

# %%
figure, axes = plt.subplots(1, 2, figsize=(6.5, 2.8), sharey=True)
clipped = {}
for axis, (name, norm) in zip(axes, norms.items(), strict=True):
    clipped[name] = (norm > 0.5).sum().item() / norm.isfinite().sum().item()
    steps = torch.arange(len(norm)).unsqueeze(1).expand_as(norm)
    axis.scatter(steps, norm, s=3, lw=0, alpha=0.5, c=[COLOR if x > 0.5 else style.SOFT for x in norm.flatten()])
    axis.axhline(0.5, color=style.INK, lw=1.2)
    axis.set(yscale="log", xlabel="gradient step", title=f"{name}: {clipped[name]:.0%} limited")
axes[0].set_ylabel("gradient norm")
axes[0].text(0.98, 0.5 * 1.15, "c = 0.5", transform=axes[0].get_yaxis_transform(), ha="right", color=style.INK)
plt.show()
assert clipped["without"] > clipped["with return_norm"] + 0.2

# %% [markdown]
# The usual ½ is no law of nature. On losses of order 1 it is active at the start, while the value net is still
# wrong, and later catches only the outliers, which is what it is for. On losses in raw points it is active nearly all the time, and since the norm is over both nets, a value net that is wrong by fifty
# points shortens the policy's gradient, too. Look at `grad_norm` in your own runs before you trust the number.
#
# ## A small run
#
# `CartPoleShocks` is CartPole where one step in 4096 pays 1000 more or 1000 less, either with equal chance. The task
# is the same, since the shocks average to nothing. Both arms have `baseline`, `reuse`, `clip` and `gae`.

# %%
plain = switched(["baseline", "reuse", "clip", "gae"])
config = Config("tricks/CartPoleShocks-v0", seeds=5, steps=24_000, lanes=32, horizon=32)
runs = {
    "without": train(at_best_rate(config, plain), plain),
    "grad_clip": train(at_best_rate(config, replace(plain, grad_clip=True)), replace(plain, grad_clip=True)),
}
curves(runs)
plt.show()
for name, run in runs.items():
    length, norm = run.curve.groupby("seed")["length"], run.curve["grad_norm"]
    print(f"{name}: learning rate {run.config.lr}, ", end="")
    print(
        f"mean length of an episode {length.first().mean():.0f} at first, {length.last().mean():.0f} at the end, ",
        end="",
    )
    print(f"longest gradient of an update {norm.max() / norm[norm > 0].median():.0f} times the median")

# %% [markdown]
# (A return can be far below 0 or above 500 here: that is a shock.) Five seeds and a few shocks do not settle
# anything; the stored runs are longer.
#
# ## What the stored runs say

# %%
evidence("grad_clip")

# %%
evidence("grad_clip").plot()
plt.show()

print(evidence("grad_clip").summary())

# %% [markdown]
# Where the table says "unknown", read it together with the two pictures above. On the ladder, `grad_clip`
# comes after `return_norm`, so after the first updates there is little left to limit; and Adam has already taken the edge off what there is.
# Each arm also has its own learning rate, so a trick that mostly lets you choose a bolder rate shows less here than at
# one fixed rate.
#
# `CartPoleShockPairs100000` has shocks a hundred times larger, and takes each one back a step later, so that scores stay
# clean. At its own best rate of the grid, the arm without the limit stays behind.
#
# **What it does not say:** that clipping is useless. It is an insurance. It costs nothing where gradients are tame, and
# in the small run they were, shocks included: it printed how much longer its longest gradients are, and it is nothing like
# a thousand times: a value net that is still wrong by a hundred points has honest gradients
# that are long as well. Pascanu et al. needed it for recurrent nets trained with plain gradient steps, whose gradients
# can grow exponentially with the length of a sequence.
#
# ## When it does not help, or hurts
#
# - **When the limit is always active** and you did not mean it to be. Then $c$ is no insurance but a normalization, and
#   under plain gradient steps a learning rate in disguise: every step has the length $\alpha c$.
# - **When the rare and large is the signal.** A jackpot that is *real* should move the policy. Clipping makes a
#   batch with a jackpot count as much as any other, and the average of limited gradients is not the limit of the average:
#   the estimate is biased against whatever is rare and large.
# - **When the gradient is not finite.** $\infty \cdot 0$ is not a number; no factor repairs it. The library stops such an agent and
#   reports that it has diverged.
#
# ## Exercises
#
# **Exercise 1: write it.** Shorten each agent's gradient to a length of at most `max_norm`, with nothing but tensor
# operations. Zero must stay zero.


# %%
def my_shorten(gradient, max_norm):  # gradient [S, P] -> [S, P]
    ...


check_shorten(my_shorten)

# %% [markdown]
# **Exercise 2: think.** In the picture of the two Adams, how long does the glue hold? After a shock of $G = 1000$ among
# gradients of 1, $v \approx 1 + (1 - \beta_2)\, G^2 \beta_2^t$. After how many steps is the speed back at a half? How
# many updates of this library is that, with 4 epochs of 4 minibatches each? And what changes if the shock is ten times
# as large?
#
# **Exercise 3: spot the bug.** This version hands the job to PyTorch's own function, which millions use.

# %%
source(torch_shorten)

# %% [markdown]
# Below is the log of one agent from two runs: on its own, and as the last of three. First with the library's `shorten`,
# then with this one.

# %%
stack, alone = Config(seeds=3, steps=15_000, lr=0.003), Config(seeds=(2,), steps=15_000, lr=0.003)


def norms_of_agent_2(config, shorten):
    """grad_norm of agent 2, update by update."""
    with planted(shorten=shorten):
        curve = train(config, switched(["baseline", "grad_clip"])).curve
    return curve[curve.seed == 2].grad_norm.to_numpy()[:10]


figure, axes = plt.subplots(1, 2, figsize=(6.5, 2.6), sharey=True)
apart = []
for axis, version, title in zip(axes, (shorten, torch_shorten), ("the library's", "this one"), strict=True):
    single, among = norms_of_agent_2(alone, version), norms_of_agent_2(stack, version)
    apart.append(abs(among / single - 1).max())
    axis.plot(single, color=style.INK, lw=6, alpha=0.2)
    axis.plot(among, color=COLOR, lw=1.4)
    axis.set(title=title, xlabel="update")
axes[0].set_ylabel("gradient norm of agent 2")
plt.show()
print(f"largest difference: {apart[0]:.1%} with the library's, {apart[1]:.0%} with this one")
assert apart[0] < 0.01 and apart[1] > 0.03

# %% [markdown]
# The wide pale line is agent 2 on its own, the thin one agent 2 in the stack. Why do the two agree on the left and not on
# the right? Which tests would this version pass? And which agents suffer most?
#
# Solutions: [`solutions/09_grad_clip.py`](solutions/09_grad_clip.py). Next: [the entropy bonus](10_entropy.ipynb), for
# a policy that was sure too early.

# ---
# jupyter:
#   jupytext:
#     cell_metadata_filter: tags,-all
#     notebook_metadata_filter: kernelspec,jupytext,-jupytext.text_representation.jupytext_version
#     text_representation:
#       extension: .py
#       format_name: percent
#       format_version: '1.3'
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Gradient clipping: a limit on what one batch can do
#
# *One reward in thousands is a thousand times too large. What is left of everything learned before?*
#
# A sensor glitches, a decimal point slips, somebody hits the jackpot. A gradient is an average over a batch, and a
# single number in it can outweigh all the others. The fix is one line: if a gradient is too long, make it shorter.

# %% tags=["hide-input"]
from dataclasses import replace

import matplotlib.pyplot as plt
import torch

from ablations import style
from chapters.book import begin, curves, evidence, label_lines, planted
from chapters.exercises.grad_clip import check_shorten, torch_shorten
from tricks import Config, diff, source, train
from tricks.core.adam import Adam
from tricks.grad_clip import shorten
from tricks.ladder import named, switched
from tricks.separate_optimizers import in_turn

begin()
COLOR, OWN = style.COLORS["grad_clip"], style.COLORS["separate_optimizers"]

# %% [markdown]
# ## A bill for 10,000
#
# Back to the [three slot machines](00_reinforce.ipynb) that pay 1, 2, and 4, and to REINFORCE with plain steps. At pull
# 100, every agent is billed 10,000 by mistake for whatever machine it just pulled.
#
# Fifty agents take every gradient as it comes. Fifty others scale any gradient longer than 6 down to 6.

# %% tags=["hide-input"]
PAYS = torch.tensor([1.0, 2.0, 4.0])


def teach(longest, agents=50, pulls=300, rate=0.05):
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


plain, shortened = teach(longest=float("inf")), teach(longest=6.0)

# %% tags=["hide-input"]
figure, axis = plt.subplots(figsize=(6.5, 2.6))
axis.plot(plain, color=style.SOFT)
axis.plot(shortened, color=COLOR)
axis.text(300, plain[-1], "  as it is", va="center", color=style.SOFT)
axis.text(300, shortened[-1], "  limited to 6", va="center", color=COLOR)
axis.annotate("the bill", (100, 0.05), (65, 0.05), va="center", ha="right", arrowprops={"arrowstyle": "->"})
axis.set(xlabel="pull", ylabel="probability of the\nbest machine", ylim=(0, 1), xlim=(0, 300))
plt.show()

print(f"before the bill {plain[100]:.2f}; at the end {plain[-1]:.2f} as it is, {shortened[-1]:.2f} limited")
assert plain[100] > 0.8 and plain[-1] < 0.3 and shortened[-1] > 0.8

# %% [markdown]
# One step undid a hundred, and nobody recovers. At $\pi = 0.9$, the pulled machine's logit falls by about
# $0.05 \cdot 10{,}000 \cdot (1 - \pi) = 50$. Some other machine now has all of the probability, every score
# $[a = k] - \pi(k)$ is zero, and learning is over. The limit of 6 costs honest payouts nothing: a score is never longer
# than $\sqrt 2$, and $4 \sqrt 2 < 6$.
#
# ## Keep the direction, limit the length
#
# Call the gradient $g$, and let $\lVert g \rVert = \sqrt{g_1^2 + g_2^2 + \dots}$ be its length, or *norm*, over all $P$
# parameters. You want the vector $u$ closest to $g$ among those no longer than $c$. Expand the squared distance, and
# use $g \cdot u \le \lVert g \rVert \lVert u \rVert$, with equality when both point the same way:
#
# $$\lVert g - u \rVert^2 = \lVert g \rVert^2 - 2\, g \cdot u + \lVert u \rVert^2
#   \;\ge\; \lVert g \rVert^2 - 2 \lVert g \rVert \lVert u \rVert + \lVert u \rVert^2
#   = \big(\lVert g \rVert - \lVert u \rVert\big)^2.$$
#
# So $u$ should point along $g$, with a length as close to $\lVert g \rVert$ as the limit allows: $\lVert g \rVert$
# itself if that is at most $c$, otherwise $c$. In one line (Pascanu et al. 2012, arXiv:1211.5063):
#
# $$u = g \cdot \min\!\Big(1, \frac{c}{\lVert g \rVert}\Big).$$
#
# Some code limits every *component* to $\pm c$ instead, and that turns the gradient: with $c = ½$, $(3, 4)$ becomes
# $(0.5, 0.5)$. Here are twelve gradients under both:

# %% tags=["thumbnail", "hide-input"]
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


def largest_turn(ends):
    """The largest angle between a gradient and what became of it, in degrees."""
    return torch.cosine_similarity(gradients, ends).clamp(max=1).acos().max().rad2deg().item()


print(
    f"largest turn: {largest_turn(by_norm):.1f} degrees by the norm, {largest_turn(by_element):.1f} element by element"
)
assert largest_turn(by_norm) < 0.1 and largest_turn(by_element) > 10

# %% [markdown]
# ## In code

# %%
source(shorten)

# %% [markdown]
# (The $10^{-6}$ avoids a division by zero.) Each of the $S$ agents has its own row and norm. In a row, all parameters
# of both nets count together, hence the name **global** norm.
#
# By hand: agent 0 has the gradient $(3, 4)$, of length 5, and agent 1 has $(0.03, 0.04)$, of length 0.05. With $c = ½$,
# the first is multiplied by $0.5 / 5 = 0.1$. The second stays as it is.

# %%
gradient = torch.tensor([[3.0, 4.0], [0.03, 0.04]])  # [S, P]
own = shorten(gradient, gradient.norm(dim=1), max_norm=0.5)
torch.testing.assert_close(own, torch.tensor([[0.3, 0.4], [0.03, 0.04]]))
print(own.numpy().round(4))

# %%
diff(named("return_norm"), named("grad_clip"))

# %% [markdown]
# `t.optimizer.move` computes the gradient, puts it through the `limit`, and takes the step. What it returns, and the log
# keeps, is the norm *before* it's limited. Afterward it would often just read 0.5.
#
# ## What Adam does with a shock
#
# The library doesn't take plain steps. Its Adam keeps running averages of the gradient and of its square:
#
# $$m \leftarrow \beta_1 m + (1 - \beta_1)\, g, \qquad v \leftarrow \beta_2 v + (1 - \beta_2)\, g^2, \qquad
#   \theta \leftarrow \theta - \alpha\, \frac{m}{\sqrt{v}}$$
#
# with $\beta_1 = 0.9$ and $\beta_2 = 0.999$. (This leaves out a correction for the first steps, and an $\varepsilon$
# beside $\sqrt v$, which comes later.) Let one parameter travel to the right: its gradient is always $-1$, except for a
# single $+1000$. Two agents use the library's `Adam`; one of them limits its gradient to ½ first.
#
# **Predict.** How far back does the shock throw the agent without the limit? How long until it's going again?

# %%
place = torch.zeros(2, 1)  # [S, P]: two agents with one parameter each
optimizer, rate, path = Adam([place], eps=1e-5), torch.tensor([0.01, 0.01]), []
for step in range(12_000):
    gradient = torch.full((2, 1), 1000.0 if step == 3000 else -1.0)
    limited = shorten(gradient, gradient.norm(dim=1), 0.5)
    both = torch.stack([gradient[0], limited[1]])
    optimizer.step(both, rate, moving=torch.tensor([True, True]))
    path.append(place[:, 0].tolist())
path = torch.tensor(path).T  # [2, steps]

# %% tags=["predict", "hide-input"]
figure, axis = plt.subplots(figsize=(6.5, 2.8))
for line, color, name in zip(path, (style.SOFT, COLOR), ("Adam", "limited, then Adam"), strict=True):
    axis.plot(line, color=color)
    axis.text(12_100, line[-1], name, color=color, va="center")
axis.annotate("the shock", (3000, 28), (3000, 5), ha="center", arrowprops={"arrowstyle": "->"})
axis.set(xlabel="gradient step", ylabel="distance traveled", ylim=(0, None), xlim=(0, 12_000))
plt.show()

moved = path.diff(dim=1).abs() / 0.01  # in learning rates
print(f"largest step: {moved[0].max():.1f} learning rates")
print(
    f"an ordinary step, 100 steps after the shock: {moved[0, 3100]:.3f} without the limit, {moved[1, 3100]:.3f} with it"
)
assert moved[0].max() < 4 and moved[0, 3100] < 0.05 and moved[1, 3100] > 0.8

# %% [markdown]
# It hardly goes back at all. It gets stuck. Let $G$ be the size of the shock:
#
# - **The step is bounded.** Right after the shock, $m \approx (1 - \beta_1)\, G$ and
#   $\sqrt v \approx \sqrt{1 - \beta_2}\; G$. $G$ cancels in the quotient, and the step is
#   $\alpha \cdot 0.1 / \sqrt{0.001} \approx 3.2\, \alpha$, however large $G$ is.
# - **The memory isn't.** $m$ forgets the shock within tens of steps, $v$ within thousands. While
#   $v \approx (1 - \beta_2)\, G^2 \beta_2^t$ is large, every ordinary gradient is divided by $\sqrt v$ instead of 1.
#   With $G = 1000$, that's 32 at first: the agent goes on at 3% of its speed.
#
# The agent with the limit saw ½ in place of 1000, and its $v$ didn't move. **Under Adam, clipping protects the memory,
# not just the step.**
#
# Its ordinary gradients were halved, too, and it still travels at full speed, because Adam divides by ½ instead. A
# limit that is *always* active doesn't slow Adam down, as long as it leaves gradients far above $\varepsilon$ (below,
# in "Going further," it doesn't). It makes all gradients equally long, so that each batch gets the same vote.
#
# ## How often the limit is active
#
# That depends on the units of the loss. Here agents with all tricks up to `grad_clip` train on CartPole. With
# `return_norm`, the value net predicts numbers around 1. Without it, it predicts up to 100 points. (`planted` swaps the
# loop's `shorten` for one that keeps a record.) Each dot is one gradient step of one agent.


# %% tags=["hide-input"]
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

# %% tags=["hide-input"]
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
# On losses around 1, the usual ½ is active at the start, while the value net is still wrong, and later catches only
# outliers, as it should. In raw points it's always active. And since the norm covers both nets, a value net that
# misses by fifty points also shrinks the policy's gradient.
#
# ## Shocks of 100,000
#
# In this version of CartPole, one step in 4096 adds or subtracts 100,000 points, and the next step reverses that, so
# nearly all episodes pay what they always did. Five agents train without the limit and five with it, at one rate.
# (`switched` is REINFORCE with the named flags on.) On the right is one of each: `approx_kl` says how far an update
# moved the policy ([reuse](02_reuse.ipynb)).

# %%
plain = switched(["baseline", "reuse", "clip", "gae"])
config = Config("tricks/CartPoleShockPairs100000-v0", seeds=5, steps=40_000, lr=0.01)
config = replace(config, lanes=32, horizon=32)
runs = {
    "without": train(config, plain),
    "grad_clip": train(config, replace(plain, grad_clip=True)),
}

# %% tags=["hide-input"]
figure, axes = plt.subplots(1, 2, figsize=(8.4, 2.8))
for name, run in runs.items():
    color = style.COLORS.get(name, style.SOFT)
    for seed, rows in run.curve.groupby("seed"):
        axes[0].plot(rows.step / 1000, rows.length, color=color, lw=0.9)
        if seed == 0:
            shocked = rows[rows.grad_norm > 150]
            axes[1].plot(rows.step / 1000, rows.approx_kl, color=color, label=name)
            axes[1].plot(shocked.step / 1000, shocked.approx_kl, "o", ms=5, color=color)
axes[0].set(ylabel="steps per episode")
axes[1].set(ylabel="approx_kl of agent 0 (nats)", yscale="log", ylim=(1e-4, 1))
axes[1].text(0.98, 0.94, "● with a shock", transform=axes[1].transAxes, ha="right", va="top", size=9)
for axis in axes:
    axis.set(xlabel="environment steps (thousands)", xlim=(0, 41))
label_lines(axes[1])
plt.show()

late = {name: run.curve[run.curve.step > 20_000].groupby("seed") for name, run in runs.items()}
for name, rows in late.items():
    length, decided = rows["length"].mean().mean(), (rows["entropy"].mean() < 0.02).sum()
    print(f"{name:9} second half: {length:3.0f} steps per episode, {decided} of 5 with an entropy below 0.02")
assert late["grad_clip"]["length"].mean().mean() > 2 * late["without"]["length"].mean().mean()

# %% [markdown]
# On the right you see both the bad step and the standstill. Three learning rates isn't much for one weight, but here
# every weight takes that step at once. Then come updates that hardly move the policy. Some agents end up pushing in one
# direction, with no entropy left. With the limit, an update with a shock moves the policy at most a few times as far as
# an ordinary one.
#
# ## Is it worth having?
#
# (Blue helps, red hurts, on two sets of seeds; hatched: these seeds can't tell.)

# %% tags=["hide-input"]
evidence("grad_clip").strip()
plt.show()

# %% [markdown]
# Where shocks are huge, the limit decides. In `CartPoleShocks`, where they are 1000 and aren't taken back, no effect is
# detected. The usual environments have none, and on the ladder `return_norm` has already made the losses small.

# %% tags=["hide-input"]
evidence("grad_clip")

# %% [markdown]
# So clipping is cheap insurance. It's the wrong tool
#
# - **when the limit is always active** and you didn't mean it to be. Under plain gradient steps it's a learning rate in
#   disguise: every step has length $\alpha c$.
# - **when what's large and rare is the signal.** A *real* jackpot should move the policy, and an average of limited
#   gradients is biased against it.
# - **when the gradient isn't finite.** No factor repairs $\infty$. The library stops such an agent.

# %% [markdown]
# ## At a glance
#
# | | |
# |---|---|
# | **problem** | one outlier in a batch makes a gradient that drowns out everything else |
# | **formula** | $u = g \cdot \min\big(1,\; c / \lVert g \rVert\big)$ |
# | **in the loop** | `t.optimizer.limit = partial(shorten, max_norm=config.max_grad_norm)` <br> `norm = t.optimizer.move(loss, rate, t.moving & has_rows)` |
# | **defaults** | $c$ = `max_grad_norm` = 0.5, for the policy net and the value net together |
# | **watch** | `grad_norm`, logged before clipping: is it above $c$ now and then, or always? |
# | **skip it when** | large, rare rewards are the ones to learn from |
# | **also called** | clipping by global norm; *clipping by value* (element by element) is a different operation |

# %% [markdown]
# ## Exercises
#
# **Exercise 1: write it.** Shorten each agent's gradient to at most `max_norm`, using only tensor operations. Zero has
# to stay zero. Run the cell to see what's wrong with your version.


# %%
def my_shorten(gradient, max_norm):  # gradient [S, P] -> [S, P]
    ...


check_shorten(my_shorten)

# %% [markdown]
# <details><summary>Hint</summary>
#
# One norm per row: `dim=1`, and `keepdim=True` so that it divides a whole row. Where the norm is 0, the factor has to
# be 1.
#
# </details>
#
# **Exercise 2: think.** After the shock above, $v \approx 1 + (1 - \beta_2)\, G^2 \beta_2^t$. After how many gradient
# steps is the speed back to a half? How many updates is that, with 4 epochs of 4 minibatches each? And what if the
# shock is ten times as large?
#
# <details><summary>Answer</summary>
#
# The speed is $1 / \sqrt v$, so it is a half when $v = 4$: $0.001 \cdot 1000^2 \cdot 0.999^t = 3$, so
# $t = \ln(0.003) / \ln(0.999) \approx 5806$ gradient steps, or 363 updates. That's more than many runs in this book
# have. A shock ten times as large adds $\ln(100) / 0.001 \approx 4600$ steps. The slowdown grows only with the
# logarithm of the shock.
#
# </details>

# %% [markdown]
# **Exercise 3: spot the bug.** This version leaves the work to PyTorch's own function.

# %%
source(torch_shorten)

# %% [markdown]
# Here is the gradient norm of one agent, trained alone (wide and pale) and as the last of three (thin), with the
# library's `shorten` and with this one.

# %% tags=["hide-input"]
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
# Why do the two lines agree on the left and not on the right? Which tests would this version pass? And which agents
# suffer most?
#
# <details><summary>Hint</summary>
#
# `clip_grad_norm_` takes *one* norm over everything it is given. What is it given here?
#
# </details>
#
# Solutions: [`solutions/09_grad_clip.py`](solutions/09_grad_clip.py). Next: [the entropy bonus](10_entropy.ipynb), for
# policies that stop exploring too soon.

# %% [markdown]
# ## Going further
#
# One limit for two nets has a price, and a flag that avoids it.
#
# ### Does the value loss starve the policy?
#
# [Other chapters](06_advantage_norm.ipynb) blame the value loss. On a [shared trunk](17_shared_trunk.ipynb) that's
# plain: both losses pull on the same weights. But here the two nets share none, and Adam cancels a constant factor. So
# can the value loss still starve the policy? The flag `separate_optimizers` puts it to the test: each net has its own
# Adam, as in Spinning Up's PPO (Achiam 2018), and its own norm. Under one joint norm, the policy's part is
#
# $$u_\pi = g_\pi \cdot \min\!\bigg(1, \frac{c}{\sqrt{\lVert g_\pi \rVert^2 + \lVert g_V \rVert^2}}\bigg),$$
#
# where $g_\pi$ and $g_V$ are the two nets' parts of the gradient. The value net's part grows with the rewards, because
# its error does. (Some code clips only the policy's gradient. `max_value_grad_norm=1e9` does that here.) In
# `CartPoleReward100`, each step pays 100. (`in_turn` deals out minibatches until both nets have had all their epochs.)

# %%
source(in_turn)

# %%
hundred = Config("tricks/CartPoleReward100-v0", seeds=5, steps=30_000, lr=0.001)
hundred = replace(hundred, lanes=32, horizon=32)
free = switched(["baseline", "reuse", "clip", "gae", "advantage_norm"])
limited = replace(free, grad_clip=True)
arms = {
    "one norm": train(hundred, limited),
    "separate_optimizers": train(hundred, replace(limited, separate_optimizers=True)),
}

# %% tags=["hide-input"]
figure, axes = plt.subplots(1, 2, figsize=(8.6, 2.8), width_ratios=(1, 1.1))
apart = arms["separate_optimizers"].curve.groupby("update").mean()
for column, color, name in (("value_grad_norm", style.INK, "value net"), ("grad_norm", OWN, "policy")):
    axes[0].semilogy(apart[column], color=color, label=name)
axes[0].axhline(0.5, color=style.SOFT, lw=1, ls=":", label="c = 0.5")
axes[0].set(xlabel="update", ylabel="gradient norm", xlim=(0, len(apart) - 1))
label_lines(axes[0])
curves(arms, axes[1])
plt.show()

of_policy, of_value = apart.grad_norm.median(), apart.value_grad_norm.median()
share = 0.5 * of_policy / of_value  # of a joint norm of 0.5
count = sum(weight[0].numel() for weight in arms["one norm"].agent.policy_net.parameters())
each = share / count**0.5  # root mean square over the policy net's parameters
print(f"median norms: policy {of_policy:.2f}, value net {of_value:,.0f}")
print(f"one norm of 0.5 for both would leave the policy {share:.1e}, or {each:.1e} per parameter")
for name, run in arms.items():
    print(f"{name:19} approx_kl {run.curve.approx_kl.median():.5f}; last tenth {run.late().mean():,.0f} of 50,000")
assert 0.005 < each / hundred.adam_eps < 0.03
assert arms["separate_optimizers"].late().min() > 2 * arms["one norm"].late().max()

# %% [markdown]
# Yes. Adam really divides by $\sqrt v + \varepsilon$, with $\varepsilon = 10^{-5}$, so it cancels a factor only where
# gradients are larger than that. Here the joint limit leaves the policy's parameters far less, their steps shrink to 1
# or 2% of the learning rate, and the policy hardly moves.
#
# Was it the shared Adam or the shared norm? Drop `grad_clip`, and compare one Adam with two:

# %%
short = replace(hundred, steps=8_000)
one = train(short, free).agent
two = train(short, replace(free, separate_optimizers=True)).agent
pairs = zip(one.parameters(), two.parameters(), strict=True)
same = [torch.equal(a, b) for a, b in pairs]

# %% tags=["hide-input"]
print(f"{sum(same)} of {len(same)} tensors of weights are equal, bit for bit")
assert all(same)

# %% [markdown]
# Adam works parameter by parameter, so with equal rates and equally many epochs, two Adams *are* one. It was the norm.
# To get more out of the flag, use its numbers: `value_lr_factor`, `max_value_grad_norm`, `value_epochs`. (The last is 4
# even if you change `epochs`.) And with [`kl_stop`](20_kl_stop.ipynb), only the policy stops; the value net goes on.
#
# Can a higher learning rate make up for the lost gradient? In the stored trial, each arm has its own best rate:

# %% tags=["hide-input"]
norms_apart = evidence("separate_optimizers")
norms_apart.strip()
plt.show()

trial = norms_apart.worlds.iloc[0]
print(f"area under the curve: one norm {trial.without:,.0f} at rate {trial.lr_without}, ", end="")
print(f"two norms {trial['with']:,.0f} at rate {trial.lr_with}")
doses = ", ".join(each.replace(":", " gives ") for each in trial.doses.split())
print(f"gain as a share of the best score, by {trial.dose}: {doses}")
assert trial.seen == 1 and trial.confirmed == 1
assert trial.lr_without >= 10 * trial.lr_with and 0.7 < trial.without / trial["with"] < 0.9
assert trial.growth_low < 0 < trial.growth_high

# %% [markdown]
# In part. At ten times the rate, one norm gets about five sixths of what two norms get, and it falls short again on
# other seeds. Whether two norms gain more at 100 points a step than at 1, these seeds can't tell.

# %%
norms_apart

# %% [markdown]
#
# **Exercise 4: think.** Your value net learns too slowly. With `separate_optimizers` and without `grad_clip`, you
# triple `value_coef`. What happens? And if you triple `value_lr_factor` instead?
#
# <details><summary>Answer</summary>
#
# Tripling the coefficient triples the value net's gradients, and Adam divides them by three times as much: nothing
# happens, as long as they are well above $\varepsilon$. Tripling the factor triples the steps.
#
# </details>

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
# A gradient is an average over a batch, and a single number in it can outweigh all the others. The fix is one line: if
# a gradient is too long, make it shorter.

# %% tags=["hide-input"]
from dataclasses import replace

import matplotlib.pyplot as plt
import torch

from ablations import style
from chapters.book import begin, caption, evidence, label_lines, planted
from chapters.exercises.grad_clip import check_shorten, torch_shorten
from tricks import Config, diff, source, train
from tricks.core.adam import Adam
from tricks.grad_clip import shorten
from tricks.ladder import named, switched

begin()
COLOR = style.COLORS["grad_clip"]

# %% [markdown]
# ## A bill for 10,000
#
# Back to the [three slot machines](00_reinforce.ipynb) that pay 1, 2, and 4, and REINFORCE with plain steps. At pull
# 100, every agent is billed 10,000 by mistake. Fifty agents take every gradient as it comes. Fifty others scale any
# gradient longer than 6 down to 6.

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


assert plain[100] > 0.8 and abs(plain[101] - plain[-1]) < 0.01 and plain[-1] < 0.3 and shortened[-1] > 0.8

# %% [markdown]
# One step undid a hundred. Those who were billed for the best machine don't recover: some other machine has all of
# their probability now, every score $[a=k]-\pi(k)$ is zero, and learning is over. The limit costs honest payouts
# nothing, since a score is never longer than $\sqrt2$, and $4\sqrt2<6$.
#
# ## Keep the direction, limit the length
#
# Let $\lVert g\rVert=\sqrt{g_1^2+g_2^2+\dots}$ be the gradient's length, or *norm*, over all $P$ parameters. You want
# the vector $u$ closest to $g$ among those no longer than $c$. Since $g\cdot u\le\lVert g\rVert\lVert u\rVert$, with
# equality when both point the same way,
#
# $$\lVert g-u\rVert^2=\lVert g\rVert^2-2\,g\cdot u+\lVert u\rVert^2\;\ge\;\big(\lVert g\rVert-\lVert u\rVert\big)^2.$$
#
# So $u$ points along $g$, as far as the limit allows (Pascanu et al. 2012, arXiv:1211.5063):
#
# $$u=g\cdot\min\!\Big(1,\frac{c}{\lVert g\rVert}\Big).$$
#
# Some code limits every *component* to $\pm c$ instead, and that turns the gradient:

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


assert largest_turn(by_norm) < 0.1 and largest_turn(by_element) > 10

# %%
source(shorten)

# %% [markdown]
# Each of the $S$ agents has its own norm, a **global** one: all parameters of both nets count together.

# %%
diff(named("return_norm"), named("grad_clip"))

# %% [markdown]
# `t.optimizer.move` returns the norm *before* it's limited, for the log.
#
# ## What Adam does with a shock
#
# The library doesn't take plain steps, but [Adam's](06_advantage_norm.ipynb):
#
# $$m\leftarrow\beta_1m+(1-\beta_1)\,g,\qquad
# v\leftarrow\beta_2v+(1-\beta_2)\,g^2,\qquad\theta\leftarrow\theta-\alpha\,\frac{m}{\sqrt{v}}$$
#
# with $\beta_1=0.9$, $\beta_2=0.999$, and a tiny $\varepsilon$ added to $\sqrt v$. Let one parameter travel to the
# right: its gradient is always $-1$, except for a single $+1000$. Two agents use Adam; one of them limits its gradient
# to ½ first.
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
caption(
    f"Largest step: {moved[0].max():.1f} learning rates. 100 steps after the shock, a step is {moved[0, 3100]:.3f} "
    f"of one without the limit, and {moved[1, 3100]:.3f} with it."
)
assert moved[0].max() < 4 and moved[0, 3100] < 0.05 and moved[1, 3100] > 0.8

# %% [markdown]
# It hardly goes back at all. It gets stuck. Let $K$ be the size of the shock:
#
# - **The step is bounded.** Right after the shock, $m\approx(1-\beta_1)\,K$ and $\sqrt v\approx\sqrt{1-\beta_2}\;K$.
#   $K$ cancels, and the step is $\alpha\cdot0.1/\sqrt{0.001}\approx3.2\,\alpha$.
# - **The memory isn't.** $m$ forgets the shock within tens of steps, $v$ within thousands. While
#   $v\approx(1-\beta_2)\,K^2\beta_2^t$ is large, every ordinary gradient is divided by $\sqrt v$, at first by 32.
#
# **Under Adam, clipping protects the memory, not just the step.** A limit that is *always* active, as on the gradients
# of $-1$, doesn't even slow Adam down, as long as gradients stay far above $\varepsilon$.
#
# ## How often the limit is active
#
# That depends on the units of the loss. With `return_norm`, the value net predicts numbers around 1; without it, up to
# 100 points. Each dot is one gradient step of one agent on CartPole.


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
# On losses around 1, the usual ½ is active at first and later catches only outliers. In raw points it's always active,
# and it shrinks the policy's share of the gradient along with the rest.
#
# ## Shocks of 100,000
#
# In this CartPole, one step in 4096 adds or subtracts 100,000 points, and the next reverses that. Five agents train
# without the limit and five with it, at one rate.

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
for height, name in ((0.94, "grad_clip"), (0.84, "without")):
    said = f"{name}, one line per agent"
    axes[0].text(0.03, height, said, color=style.COLORS.get(name, style.SOFT), transform=axes[0].transAxes, va="top")
axes[1].set(ylabel="approx_kl of agent 0 (nats)", yscale="log", ylim=(1e-4, 1))
axes[1].text(0.98, 0.94, "● with a shock", transform=axes[1].transAxes, ha="right", va="top", size=9)
for axis in axes:
    axis.set(xlabel="environment steps (thousands)", xlim=(0, 44))
label_lines(axes[1])
plt.show()

late = {name: run.curve[run.curve.step > 20_000].groupby("seed") for name, run in runs.items()}
decided = {name: (rows["entropy"].mean() < 0.02).sum() for name, rows in late.items()}
assert decided["without"] > 1 and decided["grad_clip"] == 0
assert late["grad_clip"]["length"].mean().mean() > 2 * late["without"]["length"].mean().mean()

# %% [markdown]
# A step of three learning rates isn't much for one weight, but here every weight takes it at once (right, at the dots).
# Then come updates that hardly move the policy, and some agents end up always pushing the same way, and fall after
# about ten steps (left).
#
# ## Is it worth having?

# %% tags=["hide-input"]
evidence("grad_clip").strip()
plt.show()

# %% [markdown]
# Where shocks are huge, the limit decides, on two sets of seeds. In `CartPoleShocks`, where they are only 1000, no
# effect is detected, nor in any usual environment, perhaps because those have no such shocks.

# %% tags=["hide-input"]
found = evidence("grad_clip")
assert dict(zip(found.worlds.place, found.worlds.seen, strict=True)) == {
    "CartPoleShockPairs100000-v0": 1,
    "CartPoleShocks-v0": 0,
}
assert found.worlds.confirmed[found.worlds.seen == 1].eq(1).all() and not found.table.detected.any()
found

# %% [markdown]
# So clipping is cheap insurance. It's the wrong tool **when what's large and rare is the signal:** a *real* jackpot
# should move the policy. Under plain steps, a limit that is always active is a learning rate in disguise. And no factor
# repairs $\infty$; the library stops such an agent.

# %% [markdown]
# ## At a glance
#
# | | |
# |---|---|
# | **problem** | one outlier in a batch drowns out everything else |
# | **formula** | $u=g\cdot\min\big(1,\;c/\lVert g\rVert\big)$ |
# | **in the loop** | `t.optimizer.limit = partial(shorten, max_norm=config.max_grad_norm)` <br> `norm = t.optimizer.move(loss, rate, t.moving & has_rows)` |
# | **defaults** | $c$ = `max_grad_norm` = 0.5, for both nets together |
# | **watch** | `grad_norm`, from before clipping: now and then above $c$, or always? |
# | **skip it when** | large, rare rewards are the ones to learn from |
# | **evidence** | Practically nothing as the next rung in CartPole, Acrobot, Taxi; in the full set in Acrobot, Pendulum. In 4 of 8 environments, these runs can't tell. It helps in 1 of 2 trials in worlds made for it. |
# | **also called** | clipping by global norm; *clipping by value*, element by element, is different |

# %% [markdown]
# ## Exercises
#
# **Exercise 1: write it.** Shorten each agent's two gradients, one per net, to their own limits. Zero has to stay zero.


# %%
def my_shorten(policy, value, max_norm, max_value_norm):  # [S, P], [S, Q] -> both
    ...


check_shorten(my_shorten)

# %% [markdown]
# <details><summary>Hint</summary>
#
# Each net has one norm per row: `dim=1` and `keepdim=True`. Where it is 0, the factor has to be 1.
#
# </details>
#
# **Exercise 2: think.** After the shock above, $v\approx1+(1-\beta_2)\,K^2\beta_2^t$. After how many gradient steps is
# the speed back to a half? How many updates is that, with 4 epochs of 4 minibatches each? And what if the shock is ten
# times as large?
#
# <details><summary>Answer</summary>
#
# The speed is $1/\sqrt v$, a half when $v=4$: $0.001\cdot1000^2\cdot0.999^t=3$, so $t=\ln(0.003)/\ln(0.999)\approx5806$
# gradient steps, or 363 updates. A shock ten times as large adds only $\ln(100)/0.001\approx4600$ steps.
#
# </details>

# %% [markdown]
# **Exercise 3: spot the bug.** This version leaves the work to PyTorch's own function.

# %%
source(torch_shorten)

# %% [markdown]
# Here is one agent's gradient norm, trained alone (wide and pale) and as the last of three (thin).

# %% tags=["hide-input"]
stack, alone = Config(seeds=3, steps=15_000, lr=0.003), Config(seeds=(2,), steps=15_000, lr=0.003)


def norms_of_agent_2(config, shorten):
    """grad_norm of agent 2, update by update."""
    with planted(shorten=shorten):
        curve = train(config, switched(["baseline", "grad_clip"])).curve
    return curve[curve.seed == 2].grad_norm.to_numpy()[:10]


figure, axes = plt.subplots(1, 2, figsize=(6.5, 2.6), sharey=True)
apart = []
for axis, version, title in zip(
    axes, (shorten, torch_shorten), ("the library's version", "the version above"), strict=True
):
    single, among = norms_of_agent_2(alone, version), norms_of_agent_2(stack, version)
    apart.append(abs(among / single - 1).max())
    axis.plot(single, color=style.INK, lw=6, alpha=0.2, label="alone")
    axis.plot(among, color=COLOR, lw=1.4, label="as the last of three")
    axis.set(title=title, xlabel="update")
axes[0].set_ylabel("gradient norm of agent 2")
label_lines(axes[1])
plt.show()

assert apart[0] < 0.01 and apart[1] > 0.03

# %% [markdown]
# Why do the lines differ on the right? Which tests would this version pass, and which agents suffer most?
#
# <details><summary>Hint</summary>
#
# `clip_grad_norm_` takes *one* norm over everything it is given. What is it given here?
#
# </details>
#
# A variant gives each net a norm of its own: [separate optimizers](a6_separate_optimizers.ipynb).
#
# Solutions: [`solutions/09_grad_clip.py`](solutions/09_grad_clip.py). Next: [the entropy bonus](10_entropy.ipynb), for
# policies that stop exploring too soon.

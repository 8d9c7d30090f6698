# %% [markdown]
# # PPG: teach the body, keep the policy
#
# *Can the policy net learn what the value net knows, without changing what it does?*
#
# [The last chapter](17_shared_trunk.ipynb) left us two bad choices. With **two bodies**, the policy never hears what
# the value net finds out. With **one body**, two losses pull at the same weights in every step.
#
# Phasic Policy Gradient (PPG; Cobbe et al. 2020, arXiv:2009.04416) takes turns. After a few updates of PPO with two
# bodies comes an **auxiliary phase**, in which the policy's body learns to predict returns.

# %% tags=["hide-input"]
import copy
from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np
import torch

from ablations import style
from chapters.book import (
    begin,
    best_at,
    caption,
    curves,
    evidence,
    label_lines,
    planted,
    ppg_phases,
    store,
    swept,
    unwatched,
)
from chapters.exercises.ppg import check_kl, cloning_term, errors_of_a_phase
from tricks import PPG, PPO, Config, diff, source, train
from tricks.core.adam import Adam, gradient
from tricks.core.nets import Dense, Head, Net
from tricks.core.policies import Categorical
from tricks.core.seeds import stream
from tricks.ppg import AuxiliaryPhase, add_auxiliary_head_, auxiliary_errors, auxiliary_loss

begin()

# %% [markdown]
# ## A policy that knows nothing about returns
#
# In this toy, a state is eight numbers between −1 and 1. A policy net has learned to look at the third: the larger it
# is, the more likely it goes right. But what a state is *worth* depends on the first two: $G = 3 x_1 x_2$. Here is the
# best that a linear head can make of the policy's features. If the features said it all, the dots would lie on the gray
# line.

# %% tags=["hide-input"]
COPIES = 6
torch.manual_seed(0)
state, fresh = (2 * torch.rand(2, 1, 512, 8) - 1).expand(-1, COPIES, -1, -1)  # fresh: states never learned from
preference = 4 * state[..., 2]
wanted = torch.stack([torch.zeros_like(preference), preference], -1)  # logits of left and right


def worth(x):
    return 3 * x[..., 0] * x[..., 1]


def fit(parameters, loss, steps):
    parameters, everyone = list(parameters), torch.ones(COPIES, dtype=torch.bool)
    optimizer = Adam(parameters, eps=1e-5)
    for _ in range(steps):
        optimizer.step(gradient(loss(), parameters), torch.full((COPIES,), 0.01), everyone)


same = [stream(0, "init") for _ in range(COPIES)]
policy = Net(Dense(same, (8, 32, 32)), Head(same, 32, 2))
fit(policy.parameters(), lambda: Categorical.kl(wanted, policy(state)).mean(1), steps=300)
old = policy(state).detach()  # the logits of π_old
returns = worth(fresh).double().unsqueeze(-1)  # [copies, states, 1]


def best_head(body):
    """What the best linear head on a body's features predicts for fresh states: [copies, states, 1]."""
    features = body(fresh).detach().double()
    features = torch.cat([features, torch.ones_like(features[..., :1])], -1)
    return features @ torch.linalg.lstsq(features, returns).solution


def read_out(body):
    """R² of the best linear head on a body's features: a number for each copy."""
    return 1 - ((returns - best_head(body)).var(1) / returns.var(1)).squeeze(-1)


figure, axis = plt.subplots(figsize=(4.2, 2.5))
axis.axline((0, 0), slope=1, color=style.SOFT, lw=1)
axis.scatter(returns[0, :, 0], best_head(policy.body)[0, :, 0], s=8, color=style.FAULT, alpha=0.6, lw=0)
axis.set(xlabel="what a state is worth, G", ylabel="the best that its\nfeatures say", xlim=(-3, 3), ylim=(-3, 3))
plt.show()
assert 0.15 < read_out(policy.body)[0] < 0.25

# %% [markdown]
# They explain only a fifth of the variance of $G$. So add an **auxiliary head**, one linear layer, and train body and
# head to predict $G$, in six copies with other random heads. `beta` weighs a term that comes later.


# %%
def phase(beta, divergence=Categorical.kl, steps=120):
    """The six policy nets after a phase of learning ½(V_aux − G)² + beta·divergence."""
    net = copy.deepcopy(policy)
    heads = [stream(copy_, "init", 2) for copy_ in range(COPIES)]
    auxiliary = Net(net.body, Head(heads, 32, 1))

    def loss():
        error = 0.5 * (auxiliary(state).squeeze(-1) - worth(state)).square()
        return error.mean(1) + beta * divergence(old, net(state)).mean(1)

    fit([*net.parameters(), *auxiliary.head.parameters()], loss, steps)
    return net


def right(net):
    return net(state).softmax(-1)[..., 1].detach()  # π(right|s): [copies, states]


free = phase(beta=0)

# %% tags=["hide-input"]
for k in range(4):
    after = "  ".join(f"{p:.2f}" for p in right(free)[:, k])
    print(f"state {k}: π(right) before {right(policy)[0, k]:.2f}, after, in six copies: {after}")
moved = (right(free) - right(policy)).abs()
assert read_out(free.body).min() > 0.99 and moved.mean() > 0.1

# %% [markdown]
# The body now explains more than 99% of $G$. But the policy is wrecked: its own head reads features that have moved,
# wherever *another* head sent them.
#
# ## Hold the policy by its probabilities
#
# What has to stay is $\pi(a|s)$. So write down what the policy says before the phase, $\pi_{\text{old}}$, and make
# anything else expensive:
#
# $$L_{\text{joint}} =
#   \underbrace{\mathbb{E}\big[\tfrac12 \big(V_{\text{aux}} - G\big)^2\big]}_{\text{learn the returns}} +
#   \beta_{\text{clone}}
#   \underbrace{\mathbb{E}\big[\mathrm{KL}\big(\pi_{\text{old}} \| \pi\big)\big]}_{\text{keep the policy}}.$$
#
# The Kullback-Leibler divergence is the mean log-ratio under $\pi_{\text{old}}$:
#
# $$\mathrm{KL}(\pi_{\text{old}} \| \pi)
#   = \sum_a \pi_{\text{old}}(a)\, \big(\log \pi_{\text{old}}(a) - \log \pi(a)\big).$$
#
# **Why sum over all actions?** The sum is exact. The log-ratio of the action taken has its mean only if
# $\pi_{\text{old}}$ drew it, but these rows are several updates old.
#
# **How does it pull?** Only $\log \pi$ depends on $\theta$. At the start of the phase, the gradient is minus the mean
# score, which is [zero](00_reinforce.ipynb):
#
# $$\nabla \mathrm{KL}\,\big|_{\pi = \pi_{\text{old}}}
#   = -\sum_a \pi(a) \nabla \log \pi(a) = -\nabla \sum_a \pi(a) = 0.$$
#
# So the first step follows the returns alone. From then on the KL pulls back like a spring. A change of features that
# leaves the probabilities alone costs nothing, and that's where the body can learn.
#
# **Predict.** The same six copies, now with $\beta_{\text{clone}} = 1$. How far does $\pi(\text{right})$ move? And how
# much of the returns can the body still learn?

# %% tags=["predict", "thumbnail", "hide-input"]
kept = phase(beta=1)
panels = (
    ("before", policy, style.INK),
    ("after, without the KL term", free, style.FAULT),
    ("after, with it", kept, style.COLORS["ppg"]),
)
figure, axes = plt.subplots(1, 3, figsize=(8.2, 2.9), sharey=True)
for axis, (title, net, color) in zip(axes, panels, strict=True):
    axis.scatter(state[0, :, 2], right(net)[0], s=7, color=color, alpha=0.6, lw=0)
    axis.set(title=title, xlabel="third number of the state", xticks=(-1, 0, 1))
    axis.text(1, 0.02, f"the body explains\n{read_out(net.body)[0]:.1%} of the returns", ha="right", size=8)
axes[0].set_ylabel("π(right | s)")
plt.show()

held = (right(kept) - right(policy)).abs()
caption(f"Mean change of π(right): without the KL term {moved.mean():.3f}, with it {held.mean():.3f}.")
change = (kept.body(state) - policy.body(state)).abs().mean()
assert held.mean() < 0.1 * moved.mean() and read_out(kept.body).min() > 0.9 and change > 0.05

# %% [markdown]
# Now suppose the sign of $x_1 x_2$ turns out to decide what to do. After ten steps of training, the taught net is right
# in more than 85% of new states. The untaught one still guesses.

# %% tags=["hide-input"]
goal = 4 * worth(state)
new_policy = torch.stack([torch.zeros_like(goal), goal], -1)
share = {}
for name, start in (("untaught", policy), ("taught", kept)):
    net = copy.deepcopy(start)
    fit(net.parameters(), lambda net=net: Categorical.kl(new_policy, net(state)).mean(1), steps=10)
    share[name] = (net(fresh).argmax(-1) == (worth(fresh) > 0)).float().mean().item()
assert share["taught"] > 0.85 and 0.4 < share["untaught"] < 0.6

# %% [markdown]
# If worth and action have nothing in common, none of this helps.
#
# **How large should $\beta_{\text{clone}}$ be?** Here are five weights:

# %% tags=["hide-input"]
found, leashes = {}, {}
for beta, net in {0: free, 0.01: phase(0.01), 1: kept, 100: phase(100), 10_000: phase(10_000)}.items():
    found[beta] = read_out(net.body).mean().item(), Categorical.kl(old, net(state)).mean().item()
    leashes[beta] = right(net)[0, :200].tolist()
    print(f"β {beta:<6} the body explains {found[beta][0]:6.1%}, KL(π_old ‖ π) {found[beta][1]:.5f}")
assert found[0][1] > 100 * found[1][1] and found[10_000][0] < 0.25
explained, kl = zip(*found.values(), strict=True)
picture = {"x": state[0, :200, 2].tolist(), "before": right(policy)[0, :200].tolist(), "after": list(leashes.values())}
store("leash", {"betas": list(found), "explained": explained, "kl": kl, **picture})

# %% [markdown]
# <!-- mechanism: leash -->
#
# From 0.01 to 1, the phase does both.
#
# ## Which loss trains what
#
# Gray is the forward pass, and colors are gradients.

# %% tags=["hide-input"]
ppg_phases()
plt.show()

# %% [markdown]
# The policy phase is PPO with separate nets. In the auxiliary phase, the value net goes over the same rows again: its
# targets are just numbers to fit.

# %%
source(auxiliary_errors, auxiliary_loss)

# %% [markdown]
# A phase follows every $N_\pi$-th update and makes $E_{\text{aux}}$ passes over all rollouts since the last one, [which
# are kept](a2_storing_rows.ipynb). $\pi_{\text{old}}$ is the policy at the start of the phase.

# %%
source(AuxiliaryPhase.minibatches, add_auxiliary_head_)

# %% [markdown]
# Without a single auxiliary pass, PPG **is** PPO, up to rounding. None of PPO's own lines change:

# %% tags=["hide-input"]
tiny = Config("CartPole-v0", seeds=2, steps=1000, lanes=4, horizon=32, aux_every=4)
tiny = replace(tiny, aux_epochs=0)
plain, idle = (train(tiny, tricks).curve["return"] for tricks in (PPO, PPG))
np.testing.assert_allclose(plain, idle, rtol=1e-5)

# %%
diff(PPO, PPG)

# %% [markdown]
# The phase has its own Adam and no [gradient clipping](09_grad_clip.ipynb). It adds 192 gradient steps to the 128 of
# its eight updates.
#
# ## How much is β = 1?
#
# $\beta_{\text{clone}}$ weighs the nats of a KL against squared errors of returns, which can be in the thousands. So is
# 1 enough? Five agents per arm on CartPole, at most 200 steps:

# %%
config = Config("CartPole-v0", seeds=5, steps=8_000, lanes=8, horizon=32)
config = replace(config, lr=0.005, aux_every=4)
raw = replace(PPG, return_norm=False)
normed_runs = {"ppg": train(config, PPG), "without": train(config, PPO)}
without = replace(raw, ppg=False)
raw_runs = {"ppg": train(config, raw), "without": train(config, without)}
raw_runs["ppg, β = 100"] = train(replace(config, clone_coef=100.0), raw)

# %% tags=["hide-input"]
figure, axes = plt.subplots(1, 2, figsize=(8.6, 2.8), sharey=True)
curves(normed_runs, axes[0])
curves(raw_runs, axes[1])
axes[0].set_title("with return_norm")
axes[1].set(title="raw returns", ylabel="")
plt.show()

end, kl, of_updates = {}, {}, {}
for side, runs in (("return_norm", normed_runs), ("raw", raw_runs)):
    for name, run in runs.items():
        end[side, name] = run.late().mean()
        if "ppg" in name:
            kl[side, name] = run.curve.clone_kl.mean()
            of_updates[side, name] = run.curve.approx_kl.mean()
assert kl["raw", "ppg"] > 20 * kl["return_norm", "ppg"] and kl["raw", "ppg"] > 5 * kl["raw", "ppg, β = 100"]
assert end["return_norm", "ppg"] > 150 and end["raw", "ppg"] < end["raw", "ppg, β = 100"]
moves = {side: kl[side, "ppg"] / of_updates[side, "ppg"] for side in ("return_norm", "raw")}
assert moves["return_norm"] < 0.1 and moves["raw"] > 2
usual = Config()
assert usual.aux_every * usual.epochs * usual.minibatches == 128
assert usual.aux_epochs * usual.aux_every * usual.minibatches == 192

# %% [markdown]
# With standardized returns, 1 is enough: the KL of a phase is less than a tenth of an update's. With raw returns it's
# larger than an update's, and the score may pay for it. $\beta_{\text{clone}} = 100$ brings it down.
#
# ## On more tasks
#
# The first row adds `ppg` to a preset: on CartPole and Acrobot to `ppo`, elsewhere to `cleanrl`, whose returns are raw.
# The second adds it to `ppo` without `return_norm`.

# %% tags=["hide-input"]
evidence("ppg").strip()
plt.show()

# %% tags=["hide-input"]
seen = evidence("ppg").table.set_index(["env", "question"])
bases = ("ppo without return_norm", "ppo", "cleanrl")
on_raw, on_normed, older = (seen.xs(f"on top of {base}", level="question") for base in bases)
games = older.verdict[[f"tricks/{name}-v0" for name in ("Bricks", "Treasure", "Squadron", "BricksByRow")]]
for found, verdict in ((on_raw, "hurts"), (on_normed, "practically nothing")):
    assert sorted(found.index) == ["Acrobot-v1", "CartPole-v1"]
    assert set(found.verdict) == {verdict} and (found.confirmed == 1).all()
assert games.tolist() == ["practically nothing", "cannot tell here: no arm learned much", "unknown", "hurts"]
robots = evidence("ppg").table.query("subject == 'continuous'").set_index("env")
assert (robots.verdict == "unknown").all() and robots.low["Hopper-v5"] > 0

# %% [markdown]
# On raw returns, PPG hurts on CartPole and Acrobot, and with `return_norm` it does practically nothing there. Other
# seeds confirmed all four. In pixels, with all arms at the rate 0.01, chosen for `cleanrl` alone, it helps in none of
# four games.

# %% tags=["hide-input"]
evidence("ppg")

# %% [markdown]
# ## What the paper found
#
# Cobbe et al. trained on Procgen, 16 games in pixels, and PPG was ahead of PPO in all of them. From their curves we
# computed mean normalized scores over the last tenth of training: 0.76 with one epoch of the policy and 0.69 with two;
# 0.62 with $E_{\text{aux}}$ = 1 and 0.77 with 9. We have reproduced none of this.
#
# Our own runs: here is $\beta_{\text{clone}}$ on two small tasks, with the learning rate retuned. The line joins the
# best rates, with 95% intervals; gray is every combination.

# %% tags=["hide-input"]
swept("clone_coef", about="ppg")
plt.show()

best = {dial: best_at(dial, "ppg") for dial in ("clone_coef", "aux_every", "aux_epochs")}
best |= {dial: best_at(dial, "separate_optimizers") for dial in ("epochs", "value_epochs")}
clone = best.pop("clone_coef")
for env, least, most in (("CartPole-v1", 50, 100), ("Acrobot-v1", 0, 10)):
    drop = clone[env].loc[0.1:].min() - clone[env][0]
    spans = {dial: each[env].max() - each[env].min() for dial, each in best.items()}
    assert least < drop < most and max(spans.values()) < 10

# %% [markdown]
# Any weight from 0.1 to 10 will do, and on Acrobot even 0 costs little: where a body has little to learn, phases have
# little to teach.

# %% [markdown]
# ## At a glance
#
# | | |
# |---|---|
# | **problem** | two nets share no features, and in one net two losses interfere |
# | **formula** | $\mathbb{E}\big[\tfrac12 (V_{\text{aux}} - G)^2\big] + \beta_{\text{clone}}\, \mathbb{E}\big[\mathrm{KL}(\pi_{\text{old}} \Vert\, \pi)\big]$, every $N_\pi$ updates |
# | **in the loop** | `errors = auxiliary_errors(agent, b, config)` <br> `loss = auxiliary_loss(errors, b.valid, config.clone_coef)` |
# | **defaults** | $N_\pi$ = `aux_every` = 8, $E_{\text{aux}}$ = `aux_epochs` = 6, $\beta_{\text{clone}}$ = `clone_coef` = 1 (the paper: 32, 6, 1) |
# | **watch** | `clone_kl`: it should be small beside `approx_kl` |
# | **skip it when** | features are easy to find, returns are large, or memory and compute are scarce |
# | **evidence** | Hurts on top of ppo without return_norm in CartPole, Acrobot; on top of cleanrl (at one rate; once) in BricksByRow. Practically nothing on top of ppo in CartPole, Acrobot; on top of cleanrl (at one rate) in Bricks. In 8 of 12 environments, these runs can't tell. |
# | **also called** | phasic training; the KL term is *behavioral cloning* |

# %% [markdown]
# ## Exercises
#
# **Exercise 1: write it.** The cloning term of each row, from two batches of logits. You also get the action that was
# taken, in case you need it.


# %%
def my_kl(old, new, action):  # logits [B, A], logits [B, A], [B] -> [B]
    ...


check_kl(my_kl)

# %% [markdown]
# <details><summary>Hint</summary>
#
# Logits aren't log-probabilities yet. An expectation under $\pi_{\text{old}}$ is a sum weighted with its probabilities.
#
# </details>
#
# **Exercise 2: spot the bug.** This is how DI-engine's `ppg_joint_error` computes its cloning term.

# %%
source(cloning_term, errors_of_a_phase)


# %%
def of_the_action(logits_old, logits):
    """The same term in the toy, for actions that were drawn from π_old."""
    action = torch.distributions.Categorical(logits=logits_old).sample()
    old_log_prob = Categorical.log_prob(logits_old, action)
    return cloning_term(old_log_prob, Categorical.log_prob(logits, action))


cloned = phase(beta=1, divergence=of_the_action)
# unwatched: else train ends these agents early
with planted(auxiliary_errors=errors_of_a_phase), unwatched("auxiliary_loss"):
    faulty = train(config, PPG)

# %% tags=["hide-input"]
figure, axes = plt.subplots(1, 3, figsize=(9.5, 2.8))
axes[0].scatter(state[0, :, 2], right(policy)[0], s=5, color=style.SOFT, lw=0)
axes[0].scatter(state[0, :, 2], right(cloned)[0], s=7, color=style.FAULT, alpha=0.6, lw=0)
axes[0].set(title="the toy, after a phase", xlabel="third number of the state", ylabel="π(right | s)")
for run, color, name in ((normed_runs["ppg"], style.COLORS["ppg"], "right"), (faulty, style.FAULT, "bug")):
    mean = run.curve.groupby("update").mean()
    axes[1].plot(mean.entropy.iloc[:20], color=color, label=name)
    axes[2].plot(mean.step / 1000, mean["return"].rolling(5, min_periods=1).mean(), color=color, label=name)
axes[1].set(title="entropy", xlabel="update", ylabel="nats", ylim=(0, 0.72), xticks=(0, 4, 8, 12, 16))
axes[2].set(title="return", xlabel="environment steps (thousands)", ylabel="points", ylim=(0, 210))
for axis in axes[1:]:
    label_lines(axis)
plt.show()

certain = ((right(cloned) < 0.01) | (right(cloned) > 0.99)).float().mean()
entropy = faulty.curve.groupby("update").entropy.mean()
assert certain > 0.95 and entropy[4] < 0.1 < entropy[3] and faulty.late().mean() < end["return_norm", "ppg"] - 20

# %% [markdown]
# After one phase, the policy is all but certain in every state; gray is the policy before. (a)
# `F.kl_div(input, target)` computes $\text{target} \cdot (\log \text{target} - \text{input})$. What is the target here,
# and what is its logarithm? (b) What is the gradient with respect to `log_prob`, and where does it push the actions
# that were taken? (c) The first number to look at is in none of the pictures. Find it in `faulty.curve`.
#
# <details><summary>Hint</summary>
#
# A log-probability is negative.
#
# </details>
#
# **Exercise 3: think.** (a) DI-engine computes advantages from the auxiliary head. Are they worse in the first update
# after a phase, or in the last one before the next? (b) What would the cloning term do in a phase of a *single*
# gradient step on all rows?
#
# <details><summary>Answer</summary>
#
# (a) In the last one: every update has moved the body under the head. (b) Nothing: its gradient is zero at
# $\pi_{\text{old}}$.
#
# </details>
#
# Solutions: [`solutions/18_ppg.py`](solutions/18_ppg.py). Next: [reusing rows](19_ppg_buffers.ipynb), where policy and
# value net each get a buffer of their own.

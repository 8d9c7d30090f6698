# %% [markdown]
# # PPG: teach the body, keep the policy
#
# *Can the policy net learn what the value net knows, without changing what it does?*
#
# [The last chapter](17_shared_trunk.ipynb) left us two bad choices. With **two bodies**, the policy never hears what
# the value net finds out about the world. With **one body**, two losses pull at the same weights in every step.
#
# Phasic Policy Gradient (PPG; Cobbe et al. 2020, arXiv:2009.04416) takes turns. For a few updates it is PPO with two
# bodies. Then comes an **auxiliary phase**, in which the policy's body learns to predict returns.

# %% tags=["hide-input"]
import copy
from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np
import torch

from ablations import style
from chapters.book import begin, best_at, curves, evidence, label_lines, planted, ppg_phases, store, swept, unwatched
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
# In this toy, a state is eight numbers between −1 and 1, and there are two actions. A policy net with 32 features has
# learned to look at the third number $x_3$: the larger it is, the more likely it goes right. But what a state is
# *worth* depends on the first two: $G = 3\, x_1 x_2$. How much do its features know about that? Here is what the best
# possible linear head makes of them.

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
print(f"explained by the best head on the policy's body: {read_out(policy.body)[0]:.0%}")
assert read_out(policy.body)[0] < 0.5

# %% [markdown]
# Only a fifth of the variance of $G$. On the gray line, they would say it all. Now add an **auxiliary head**, a single
# linear layer, and train body and head together to predict $G$. We do it with six copies of the net, to tell chance
# from effect. The head starts with other random weights in each copy. (`beta` weighs a term that comes later; 0
# switches it off.)


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
print(f"explained by the best head, after the phase: at least {read_out(free.body).min():.1%}\n")
for k in range(4):
    after = "  ".join(f"{p:.2f}" for p in right(free)[:, k])
    print(f"state {k}: π(right) before {right(policy)[0, k]:.2f}, after, in six copies: {after}")
moved = (right(free) - right(policy)).abs()
print(f"\nthe mean change over all states: {moved.mean():.2f}")
assert read_out(free.body).min() > 0.9 and moved.mean() > 0.1

# %% [markdown]
# The body has learned nearly everything there is to know about $G$. But the policy is wrecked, in a different way in
# each copy: its own head reads features that have moved, and they moved wherever the random weights of *another* head
# sent them.
#
# ## Hold the policy by its probabilities
#
# What has to stay is not the weights and not the features, but the function $\pi(a|s)$. So write down what the policy
# says before the phase, $\pi_{\text{old}}(\cdot|s)$, in every state of the data, and make it expensive to say anything
# else:
#
# $$L_{\text{joint}} =
#   \underbrace{\mathbb{E}\big[\tfrac12 \big(V_{\text{aux}}(s) - G\big)^2\big]}_{\text{learn the returns}} +
#   \beta_{\text{clone}}\;
#   \underbrace{\mathbb{E}\big[\mathrm{KL}\big(\pi_{\text{old}}(\cdot|s) \,\|\, \pi(\cdot|s)\big)\big]
#   }_{\text{keep the policy}}.$$
#
# The Kullback-Leibler divergence is the mean log-ratio under $\pi_{\text{old}}$,
#
# $$\mathrm{KL}(\pi_{\text{old}} \| \pi)
#   = \sum_a \pi_{\text{old}}(a)\, \big(\log \pi_{\text{old}}(a) - \log \pi(a)\big).$$
#
# It is never negative, and 0 only if the two agree on every action. By hand, with $\pi_{\text{old}} = (½, ½)$ and
# $\pi = (¾, ¼)$:
#
# $$\mathrm{KL}(\pi_{\text{old}} \| \pi) = \tfrac12 \ln \frac{1/2}{3/4} + \tfrac12 \ln \frac{1/2}{1/4}
#   = \tfrac12 \ln \tfrac23 + \tfrac12 \ln 2 = \tfrac12 \ln \tfrac43 \approx 0.144.$$
#
# The other direction is another number: $\tfrac34 \ln \tfrac32 + \tfrac14 \ln \tfrac12 \approx 0.131$.
#
# **Why sum over all actions,** when the data say which one was taken? The sum costs next to nothing and is exact. The
# log-ratio of the action taken would have the right mean only if $\pi_{\text{old}}$ had drawn it, but these rows are up
# to $N_\pi$ updates old.
#
# **How does it pull?** Only $\log \pi$ depends on $\theta$. At the start of the phase, where $\pi = \pi_{\text{old}}$,
# the gradient is minus the mean score, which is zero (see [REINFORCE](00_reinforce.ipynb)):
#
# $$\nabla \mathrm{KL}\,\big|_{\pi = \pi_{\text{old}}}
#   = -\sum_a \pi(a) \nabla \log \pi(a) = -\nabla \sum_a \pi(a) = 0.$$
#
# So the first step of a phase follows the returns alone. From then on the KL pulls back, harder the farther the policy
# has moved, like a spring. A change of features that leaves the probabilities alone costs nothing, and in those
# directions the body can learn.
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
print(f"mean change of π(right): without the KL term {moved.mean():.3f}, with it {held.mean():.3f}")
print(f"explained by the best head: with it, at least {read_out(kept.body).min():.1%}")
change = (kept.body(state) - policy.body(state)).abs().mean()
print(f"the features, which lie between −1 and 1, have moved by {change:.2f} on average")
assert held.mean() < 0.1 * moved.mean() and read_out(kept.body).min() > 0.9 and change > 0.05

# %% [markdown]
# That is the whole trick: other features, which know what states are worth, and the same policy.
#
# What is that good for? Suppose it turns out that the sign of $x_1 x_2$ decides what to do. Train the untaught net and
# the taught one on that for a few steps.

# %% tags=["hide-input"]
goal = 4 * worth(state)
new_policy = torch.stack([torch.zeros_like(goal), goal], -1)
share = {}
for name, start in (("untaught", policy), ("taught", kept)):
    for steps in (0, 10, 20, 40):
        net = copy.deepcopy(start)
        fit(net.parameters(), lambda net=net: Categorical.kl(new_policy, net(state)).mean(1), steps)
        share[name, steps] = (net(fresh).argmax(-1) == (worth(fresh) > 0)).float().mean().item()
    print(f"{name:8} body: " + ", ".join(f"{share[name, n]:.0%} right after {n:2} steps" for n in (0, 10, 20, 40)))
assert share["taught", 10] > share["untaught", 10] + 0.1

# %% [markdown]
# That was the best case: what a state is worth and what to do in it turned on the same product. If they have nothing in
# common, the body has learned something that the policy will never ask for, and has less room for what it needs.
#
# **How large should $\beta_{\text{clone}}$ be?** Here are five weights:

# %% tags=["hide-input"]
found, leashes = {}, {}
for beta, net in {0: free, 0.01: phase(0.01), 1: kept, 100: phase(100), 10_000: phase(10_000)}.items():
    found[beta] = read_out(net.body).mean().item(), Categorical.kl(old, net(state)).mean().item()
    leashes[beta] = right(net)[0, :200].tolist()
    print(f"β {beta:<6} the body explains {found[beta][0]:6.1%}, KL(π_old ‖ π) {found[beta][1]:.5f}")
assert found[0][1] > 100 * found[1][1] and found[10_000][0] < found[1][0]
explained, kl = zip(*found.values(), strict=True)
picture = {"x": state[0, :200, 2].tolist(), "before": right(policy)[0, :200].tolist(), "after": list(leashes.values())}
store("leash", {"betas": list(found), "explained": explained, "kl": kl, **picture})

# %% [markdown]
# <!-- mechanism: leash -->
#
# From 0.01 to 1, the phase can do both: learn, and keep the policy. At 100 it learns less, and at 10,000 it ends up
# explaining even less than the fifth it started with.
#
# ## Which loss trains what
#
# Now the full algorithm. As in the last chapter, gray is the forward pass and colors are gradients.

# %% tags=["hide-input"]
ppg_phases()
plt.show()

# %% [markdown]
# The policy phase is PPO with separate nets; nobody trains the auxiliary head. The auxiliary phase has a third error:
# the value net goes over the same rows again. It may, since its targets are just numbers to fit, while more passes of
# PPO's loss would take the policy too far from the one that played ([reuse](02_reuse.ipynb)).

# %%
source(auxiliary_errors, auxiliary_loss)

# %% [markdown]
# DI-engine clips the auxiliary error by default, as in [value clipping](15_value_clip.ipynb); `aux_value_clip` does
# that here.
#
# A phase follows every $N_\pi$-th update and trains on all rollouts since the last one. (The
# [appendix](a2_storing_rows.ipynb) shows how they are kept.) $\pi_{\text{old}}$ is the policy at the start of the
# phase, computed once for all rows, and not the policy that played them.

# %%
source(AuxiliaryPhase.minibatches, add_auxiliary_head_)

# %% [markdown]
# Without a single auxiliary pass, $E_{\text{aux}} = 0$, PPG should **be** PPO, up to rounding:

# %%
tiny = Config("CartPole-v0", seeds=2, steps=1000, lanes=4, horizon=32, aux_every=4)
tiny = replace(tiny, aux_epochs=0)
plain, idle = (train(tiny, tricks).curve["return"] for tricks in (PPO, PPG))
np.testing.assert_allclose(plain, idle, rtol=1e-5)
equal = np.allclose(plain, idle, equal_nan=True)
print(f"{plain.notna().sum()} returns, equal: {equal}")

# %%
diff(PPO, PPG)

# %% [markdown]
# None of PPO's own lines change. The phase has its own Adam, over both nets, so that one phase's momentum doesn't steer
# the other's steps. [Gradient clipping](09_grad_clip.ipynb) isn't applied in the auxiliary phase. (The authors' code
# clips nowhere, CleanRL's PPG in both phases.)
#
# **A trap.** There are two estimates of $V(s)$ now, and you may be tempted to compute advantages from the auxiliary
# head, as DI-engine's collector does. But between two auxiliary phases, the policy's loss moves the body under that
# head. The library, like the authors' code, asks the value net.
#
# ## How much is β = 1?
#
# In the joint loss, $\beta_{\text{clone}}$ weighs nats (the unit of a KL with natural logarithms) against half squared
# errors of returns. With returns around 100, those can be in the thousands. So is 1 enough?
#
# On CartPole with a limit of 200 steps, five agents take 8,000 steps each: an update every 256, and a phase every
# fourth update. On the left, all arms have `return_norm`. On the right, none does.

# %%
config = Config("CartPole-v0", seeds=5, steps=8_000, lanes=8, horizon=32)
config = replace(config, lr=0.005, aux_every=4)
raw = replace(PPG, return_norm=False)
normed_runs = {
    "ppg": train(config, PPG),
    "without": train(config, PPO),
}
raw_runs = {
    "ppg": train(config, raw),
    "without": train(config, replace(raw, ppg=False)),
}
raw_runs["ppg, β = 100"] = train(replace(config, clone_coef=100.0), raw)

# %% tags=["hide-input"]
figure, axes = plt.subplots(1, 2, figsize=(8.6, 2.8), sharey=True)
curves(normed_runs, axes[0])
curves(raw_runs, axes[1])
axes[0].set_title("with return_norm")
axes[1].set(title="raw returns", ylabel="")
plt.show()

end, kl = {}, {}
for side, runs in (("return_norm", normed_runs), ("raw", raw_runs)):
    for name, run in runs.items():
        end[side, name] = run.late().mean()
        said = f"{side:11} {name:12} last tenth {end[side, name]:.0f} points"
        if "ppg" in name:
            kl[side, name] = run.curve.clone_kl.mean()
            said += f"; mean KL in a phase {kl[side, name]:.4f}, in an update {run.curve.approx_kl.mean():.4f}"
        print(said)
assert kl["raw", "ppg"] > 20 * kl["return_norm", "ppg"] and kl["raw", "ppg"] > 5 * kl["raw", "ppg, β = 100"]
assert end["return_norm", "ppg"] > 150 and end["raw", "ppg"] < end["raw", "ppg, β = 100"]

# %% [markdown]
# With standardized returns, 1 is enough: a phase moves the policy far less than an update does. With raw returns, every
# phase drags the policy along, and the score pays for it; $\beta_{\text{clone}} = 100$ repairs that.
#
# PPG keeps $N_\pi$ rollouts in memory, which takes a lot of it for images, and more than doubles the gradient steps:

# %% tags=["open"]
usual = Config()
steps_of_ppo = usual.aux_every * usual.epochs * usual.minibatches
steps_of_phase = usual.aux_epochs * usual.aux_every * usual.minibatches
print(f"gradient steps in {usual.aux_every} updates: {steps_of_ppo} of PPO", end=", ")
print(f"and {steps_of_phase} of the auxiliary phase")
assert steps_of_phase > steps_of_ppo

# %% [markdown]
# ## On more tasks
#
# The stored runs compare by steps of the environment, not by seconds. They are on top of the preset `cleanrl`, whose
# returns are raw; in the second row, both arms use `return_norm`.

# %% tags=["hide-input"]
evidence("ppg").strip()
plt.show()

# %% tags=["hide-input"]
seen = evidence("ppg").table.set_index(["env", "question"])
bases = ("cleanrl", "cleanrl with return_norm")
on_raw, on_normed = (seen.xs(f"on top of {base}", level="question") for base in bases)
for env in ("CartPole-v1", "Acrobot-v1"):
    print(f"{env}: {on_raw.difference[env]:+.3f}, with return_norm {on_normed.difference[env]:+.3f}")
    assert on_raw.verdict[env] == "hurts" and on_normed.difference[env] > on_raw.difference[env] + 0.1
games = on_raw.verdict[[f"tricks/{name}-v0" for name in ("Bricks", "Treasure", "Squadron", "BricksByRow")]]
print("games in pixels: " + ", ".join(f"{env}: {verdict}" for env, verdict in games.items()))
assert on_normed.verdict["CartPole-v1"] == "helps" and on_normed.verdict["Acrobot-v1"] == "practically nothing"
assert on_raw.confirmed["CartPole-v1"] == on_raw.confirmed["Acrobot-v1"] == on_normed.confirmed["CartPole-v1"] == 1
assert games.tolist() == ["practically nothing", "cannot tell here: no arm learned much", "unknown", "hurts"]
robots = evidence("ppg").table.query("subject == 'continuous'").set_index("env")
assert (robots.verdict == "unknown").all() and robots.low["Hopper-v5"] > 0

# %% [markdown]
# On CartPole and Acrobot, where raw returns are large, PPG hurts, most likely because the KL term is outweighed. With
# `return_norm` the harm is gone: on Acrobot, PPG then does practically nothing, and on CartPole it helps. In MiniGrid,
# where returns lie between 0 and 1 anyway, these seeds can't tell, nor on the robots. (CartPole and Acrobot have 30 seeds,
# and 30 others showed all three effects again. Everywhere else there are ten, and nothing was tried again.)

# %% tags=["hide-input"]
evidence("ppg")

# %% [markdown]
# The four games show images (36 phases each, at one rate for all arms). Where each success pays 1, PPG does practically
# nothing in Bricks. Treasure can't tell, since no arm learns much there, nor can these seeds in Squadron. In `BricksByRow`, where a brick pays up to 100, it
# hurts: probably the size of the returns again, but `return_norm` wasn't tried there. Elsewhere there may be little to
# teach a body, and at $N_\pi = 8$, a run of 100,000 steps has only a dozen phases.
#
# ## What the paper found, and what we reproduced
#
# Cobbe et al. trained on the 16 Procgen games, which are seen as pixels. We computed these scores from the curves that
# come with their code: the last tenth of training, normalized with their bounds for each game, averaged over games.
#
# | | mean normalized score |
# |---|---|
# | PPO, one trunk, three epochs | 0.57 |
# | PPG, two nets | 0.75 (ahead of PPO in 16 of 16 games) |
# | PPG, one net; the value gradient reaches the body only in auxiliary phases | 0.75 |
# | $N_\pi$ = 2, 4, 8, 16, 32 | 0.62, 0.64, 0.73, 0.76, 0.75 |
# | $E_{\text{aux}}$ = 1, 2, 3, 6, 9 | 0.62, 0.67, 0.72, 0.73, 0.77 |
# | $E_\pi$ = 1, 2, 3, 4, 5, 6 epochs for the policy, $E_V = 1$ for the values | 0.76, 0.69, 0.68, 0.54, 0.46, 0.39 |
#
# (The first three rows are means of three runs, the others single runs.) There, phases should be rare and long, and
# more epochs of the policy hurt.
#
# Is it like that in small worlds? Here are three grids: $\beta_{\text{clone}}$ alone, $N_\pi$ with $E_{\text{aux}}$,
# and $E_\pi$ with $E_V$. Each is crossed with three learning rates, on ten seeds per combination, with `return_norm`,
# because the paper normalized rewards, too. (Different epochs for policy and values take [an optimizer for each
# net](09_grad_clip.ipynb).)

# %% tags=["hide-input"]
phases, epochs = ("clone_coef", "aux_every", "aux_epochs"), ("epochs", "value_epochs")
swept(*phases, about="ppg")
swept(*epochs, about="separate_optimizers")
plt.show()

best = {dial: best_at(dial, "ppg") for dial in phases}
best |= {dial: best_at(dial, "separate_optimizers") for dial in epochs}
clone = best.pop("clone_coef")
for env, least, most in (("CartPole-v1", 50, 100), ("Acrobot-v1", 0, 10)):
    drop = clone[env].loc[0.1:].min() - clone[env][0]
    print(f"{env}: without the cloning term {drop:.0f} points less; the others change it by at most", end=" ")
    spans = {dial: each[env].max() - each[env].min() for dial, each in best.items()}
    print(", ".join(f"{span:.0f} ({dial})" for dial, span in spans.items()))
    assert least < drop < most and max(spans.values()) < 10

# %% [markdown]
# On CartPole the cloning term has to be there, but any weight from 0.1 to 10 is nearly as good, and on Acrobot even
# leaving it out costs little. On both, it hardly matters how often phases come, how long they are, or how many epochs
# each net gets, as long as the learning rate is retuned. So the paper's trends aren't laws of the algorithm. Where a
# body has little to learn, phases have little to teach.
#
# **Reproduced and tested:** the algorithm with $E_\pi = E_V$. The auxiliary value loss equals that of DI-engine's
# `ppg_joint_error` without its value clip, which the paper doesn't have.
#
# **Different here:** a policy phase has 4 epochs per update (the paper: 1), $N_\pi$ is 8, advantages are standardized
# per minibatch, and nets are small.
#
# **Not reproduced:** Procgen, and with it every number in the table. The [next chapter](19_ppg_buffers.ipynb) gives the
# two nets different rows.

# %% [markdown]
# ## At a glance
#
# | | |
# |---|---|
# | **problem** | two nets share no features, and in one net the two losses interfere |
# | **formula** | $\mathbb{E}\big[\tfrac12 (V_{\text{aux}} - G)^2\big] + \beta_{\text{clone}}\, \mathbb{E}\big[\mathrm{KL}(\pi_{\text{old}} \Vert\, \pi)\big]$, every $N_\pi$ updates |
# | **in the loop** | `errors = auxiliary_errors(agent, b, config)` <br> `loss = auxiliary_loss(errors, b.valid, config.clone_coef)` |
# | **defaults** | $N_\pi$ = `aux_every` = 8, $E_{\text{aux}}$ = `aux_epochs` = 6, $\beta_{\text{clone}}$ = `clone_coef` = 1 (the paper: 32, 6, 1) |
# | **watch** | `clone_kl`: it should be small beside `approx_kl` |
# | **skip it when** | features are easy to find, returns are large and not normalized, or compute is scarce |
# | **also called** | phasic training; the KL term is *behavioral cloning*, or *self-distillation*, of the policy |

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
# Logits aren't log-probabilities yet. And an expectation under $\pi_{\text{old}}$ is a sum weighted with its
# probabilities.
#
# </details>
#
# **Exercise 2: spot the bug.** This is how DI-engine's `ppg_joint_error` computes its cloning term, with a function
# whose very name is the divergence that we want.

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
axes[2].set(title="return", xlabel="environment steps (thousands)", ylim=(0, 210))
for axis in axes[1:]:
    label_lines(axis)
plt.show()

# %% tags=["hide-input"]
certain = ((right(cloned) < 0.01) | (right(cloned) > 0.99)).float().mean()
entropy, ends = faulty.curve.groupby("update").entropy.mean(), (end["return_norm", "ppg"], faulty.late().mean())
print(f"the toy's states in which one action has a probability below 1%: {certain:.0%}")
print(f"entropy in the fourth update: {entropy[3]:.2f} nats; in the fifth, after the first phase: {entropy[4]:.2f}")
print(f"last tenth of training: right {ends[0]:.0f}, bug {ends[1]:.0f} points")
assert entropy[4] < 0.1 < entropy[3] and ends[1] < ends[0] - 20

# %% [markdown]
# After one phase, the policy (gray: before) is all but certain in every state, of the right action or the wrong one,
# and it stays that way. (a) `F.kl_div(input, target)` computes
# $\text{target} \cdot (\log \text{target} - \text{input})$. What is the target here, and what is its logarithm? (b)
# What is the gradient with respect to `log_prob`, and where does it push the actions that were taken? (c) The first
# number to look at is in none of the three pictures. Find it in `faulty.curve`. It is also part of `auxiliary_loss`,
# which `train` watches: unless told not to, `train` would have ended all of these agents after their first phase.
#
# <details><summary>Hint</summary>
#
# A log-probability is negative.
#
# </details>
#
# **Exercise 3: think.** (a) You compute advantages from the auxiliary head after all. Are your advantages worse in the
# first update after a phase, or in the last one before the next? (b) What would the cloning term do in a phase of a
# *single* gradient step on all rows? (c) You double $N_\pi$ and leave the rest as it is. How many gradient steps does a
# phase take then, and how many an average update?
#
# <details><summary>Answer</summary>
#
# (a) In the last one. Since the phase, every update has moved the body under the head for the policy's sake, and the
# policy visits other states by now. (b) Nothing: its gradient is zero at $\pi_{\text{old}}$. The hold needs a second
# step to be felt. (c) Twice as many, since it passes over twice as many rows. It comes half as often, so an update
# still has $E_{\text{aux}}$ · `minibatches` = 24 of them.
#
# </details>
#
# Solutions: [`solutions/18_ppg.py`](solutions/18_ppg.py). Next: [reusing rows](19_ppg_buffers.ipynb), where policy and
# value net each get a buffer of their own.

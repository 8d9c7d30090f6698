# %% [markdown]
# # PPG: teach the body, keep the policy
#
# *The value net has found out what matters. Can the policy be told, without changing its mind?*
#
# [The last chapter](17_shared_trunk.ipynb) left us with two bad choices. Give policy and value **two bodies**, and
# whatever the value net finds out about the world, the policy never hears of it. Give them **one body**, and two
# losses pull at the same weights in every step, each in the other's way.
#
# Phasic Policy Gradient (PPG; Cobbe et al. 2020, arXiv:2009.04416) takes turns. For some updates it is PPO with two
# bodies. Then comes an **auxiliary phase**, in which the policy's body learns to foretell returns, too. The
# difficulty is in the second half of the sentence: it must do so *without the policy noticing*.

# %%
import copy
from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np
import torch

from ablations import style
from book import begin, curves, evidence, label_lines, planted, store
from exercises.ppg import check_kl, cloning_term, errors_of_a_phase
from tricks import PPG, PPO, Config, diff, source, train
from tricks.core.adam import Adam, gradient
from tricks.core.memory import Memory
from tricks.core.nets import Dense, Head, Net
from tricks.core.policies import Categorical
from tricks.core.seeds import stream
from tricks.ladder import named
from tricks.ppg import add_auxiliary_head_, auxiliary_errors, auxiliary_loss, auxiliary_minibatches
from tricks.ppg_buffers import ages, reused

begin()

# %% [markdown]
# ## A policy that is deaf
#
# A toy. A state is eight numbers between −1 and 1, and there are two actions. A policy net with 32 features has
# learned to look at the third number $x_3$: the larger it is, the more likely *right*. What a state is *worth*,
# though, is decided by the first two: $G = 3\, x_1 x_2$. We make six copies of this one net, to see later what is
# chance.

# %%
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

# %% [markdown]
# How much does its body know about what states are worth? The fairest question: give the best possible linear head to
# its 32 features. Which share of the variance of $G$ does it explain?


# %%
def read_out(body):
    """R² of the best linear read-out of G from a body's features, on fresh states: a number for each copy."""
    features = body(fresh).detach().double()
    features = torch.cat([features, torch.ones_like(features[..., :1])], -1)
    goal = worth(fresh).double().unsqueeze(-1)
    missed = goal - features @ torch.linalg.lstsq(features, goal).solution
    return 1 - (missed.var(1) / goal.var(1)).squeeze(-1)


print(f"explained by the best head on the policy's body: {read_out(policy.body)[0]:.0%}")
assert read_out(policy.body)[0] < 0.5

# %% [markdown]
# Little, and why should it be more? Nobody ever asked this body for a product of two numbers. Now we do: an **auxiliary
# head** is put onto it, a single linear layer, and body and head together learn $G$. Each of the six copies gets a head
# with other random weights. (`beta` is the weight of a term that we will need later; 0 switches it off.)


# %%
def phase(beta, divergence=Categorical.kl, steps=120):
    """The six policy nets after a phase of learning ½(V_aux − G)² + beta·divergence."""
    net, heads = copy.deepcopy(policy), [stream(copy_, "init", 2) for copy_ in range(COPIES)]
    auxiliary = Net(net.body, Head(heads, 32, 1))

    def loss():
        error = 0.5 * (auxiliary(state).squeeze(-1) - worth(state)).square()
        return error.mean(1) + beta * divergence(old, net(state)).mean(1)

    fit([*net.parameters(), *auxiliary.head.parameters()], loss, steps)
    return net


def right(net):
    return net(state).softmax(-1)[..., 1].detach()  # π(right|s): [copies, states]


free = phase(beta=0)
print(f"explained by the best head, after the phase: at least {read_out(free.body).min():.1%}\n")
for k in range(4):
    after = "  ".join(f"{p:.2f}" for p in right(free)[:, k])
    print(f"state {k}: π(right) before {right(policy)[0, k]:.2f}, after, in six copies: {after}")
moved = (right(free) - right(policy)).abs()
print(f"\nthe mean change over all states: {moved.mean():.2f}")
assert read_out(free.body).min() > 0.9 and moved.mean() > 0.1

# %% [markdown]
# The body has learned what it was asked: nearly all that there is to know about $G$ is in its features. And the
# policy is wrecked. No reward asked for that; it is not even the same damage in the six copies. The policy's own head
# reads features that have been moved under it, and they went where the random weights of *another* head sent them.
#
# ## The idea: hold the policy by its probabilities
#
# What has to stay is not the weights and not the features. It is the function $\pi(a|s)$. So before the phase write
# down what the policy says now, $\pi_{\text{old}}(\cdot|s)$, in every state of the data; and then make it expensive
# to say anything else:
#
# $$L_{\text{joint}} = \underbrace{\mathbb{E}\big[\tfrac12 \big(V_{\text{aux}}(s) - G\big)^2\big]}_{\text{learn the returns}} +
#   \beta_{\text{clone}}\; \underbrace{\mathbb{E}\big[\mathrm{KL}\big(\pi_{\text{old}}(\cdot|s) \,\|\, \pi(\cdot|s)\big)\big]}_{\text{keep the policy}}.$$
#
# KL is the Kullback-Leibler divergence, which we have met as a diagnostic: the mean, under $\pi_{\text{old}}$, of how
# much more probable it made an action than $\pi$ does, as a log-ratio,
#
# $$\mathrm{KL}(\pi_{\text{old}} \| \pi) = \sum_a \pi_{\text{old}}(a)\, \big(\log \pi_{\text{old}}(a) - \log \pi(a)\big).$$
#
# It is never negative, and it is 0 only where the two agree in every action.
#
# **Why the sum over all actions,** when the data say which one was taken? Because with two actions, or eighteen, the
# sum is free, and exact. The log-ratio of one drawn action has the right mean if it was drawn from
# $\pi_{\text{old}}$; but the rows of this phase are up to $N_\pi$ updates old and were drawn from older policies. And
# even with the right mean, each row would pull: its gradient is $-\nabla \log \pi(a)$, "do more of what you happened
# to do". That cancels between rows only on average. The full sum has nothing to cancel, as we now see.
#
# ## A leash, not a wall
#
# How does the second term pull? Only $\log \pi$ depends on $\theta$, so
# $\nabla \mathrm{KL} = -\sum_a \pi_{\text{old}}(a) \nabla \log \pi(a)$. At the start of the phase
# $\pi = \pi_{\text{old}}$, and this is minus the mean score, which is zero (the chapter on REINFORCE needed it, too):
#
# $$\nabla \mathrm{KL}\,\big|_{\pi = \pi_{\text{old}}} = -\sum_a \pi(a) \nabla \log \pi(a) = -\nabla \sum_a \pi(a) = 0.$$
#
# **The first gradient of the phase is that of the values alone.** The pull comes with the distance, and to see how
# strong it gets, take another derivative. From $\nabla \log \pi = \nabla \pi / \pi$ follows
# $\pi\, \nabla^2 \log \pi = \nabla^2 \pi - \pi\, \nabla \log \pi\, \nabla \log \pi^\top$ by the quotient rule. Sum
# over the actions; $\sum_a \nabla^2 \pi(a) = \nabla^2 1 = 0$ again, and
#
# $$\nabla^2 \mathrm{KL}\,\big|_{\pi = \pi_{\text{old}}} = -\sum_a \pi(a) \nabla^2 \log \pi(a)
#   = \sum_a \pi(a)\, \nabla \log \pi(a)\, \nabla \log \pi(a)^\top = F,$$
#
# the **Fisher matrix**. So for a small step $\delta$ of the parameters,
# $\mathrm{KL} \approx \tfrac12 \delta^\top F \delta$: a spring. And a selective one. Take the logits themselves as
# parameters, where $\partial \log \pi(a)/\partial \theta_k = [a = k] - \pi(k)$. Then
# $\tfrac12 \delta^\top F \delta = \tfrac12 \operatorname{Var}_{a \sim \pi}(\delta_a)$: to add the same to all logits
# costs nothing, and nothing is what it does to the policy. **Directions that leave $\pi$ alone are free, and in them
# the body may learn.**
#
# ## Check it with numbers
#
# $\pi_{\text{old}} = (½, ½)$ and $\pi = (¾, ¼)$. Then
#
# $$\mathrm{KL}(\pi_{\text{old}} \| \pi) = \tfrac12 \ln \frac{1/2}{3/4} + \tfrac12 \ln \frac{1/2}{1/4}
#   = \tfrac12 \ln \tfrac23 + \tfrac12 \ln 2 = \tfrac12 \ln \tfrac43 \approx 0.144.$$
#
# The other direction is another number: $\tfrac34 \ln \tfrac32 + \tfrac14 \ln \tfrac12 \approx 0.131$. In logits, the
# step was $\delta = (\ln 3, 0)$, with a variance of $(\tfrac12 \ln 3)^2$, so the spring says
# $\tfrac12 (\tfrac12 \ln 3)^2 \approx 0.151$.

# %%
half, tilted = torch.tensor([0.5, 0.5]).log(), torch.tensor([0.75, 0.25]).log()
there, back = Categorical.kl(half, tilted).item(), Categorical.kl(tilted, half).item()
print(f"KL {there:.3f}, the other direction {back:.3f}, the spring {np.log(3) ** 2 / 8:.3f}")
assert np.allclose((there, back), (np.log(4 / 3) / 2, 0.75 * np.log(3 / 2) + 0.25 * np.log(1 / 2)))

logits = torch.tensor([1.0, 0.0, -2.0])
p = logits.softmax(0)
slope = torch.autograd.functional.jacobian(lambda new: Categorical.kl(logits, new), logits)
curvature = torch.autograd.functional.hessian(lambda new: Categorical.kl(logits, new), logits)
torch.testing.assert_close(slope, torch.zeros(3))
torch.testing.assert_close(curvature, p.diag() - p.outer(p))  # Σ π (eₐ − π)(eₐ − π)ᵀ
print("gradient at π_old:", slope.abs().numpy().round(6), " curvature = Fisher matrix")

# %% [markdown]
# ## The same phase on a leash
#
# Once more the six copies, with $\beta_{\text{clone}} = 1$.

# %% tags=["thumbnail"]
kept = phase(beta=1)
panels = (
    ("before", policy, style.INK),
    ("after, not held", free, style.FAULT),
    ("after, held", kept, style.COLORS["ppg"]),
)
figure, axes = plt.subplots(1, 3, figsize=(8.2, 2.9), sharey=True)
for axis, (title, net, color) in zip(axes, panels, strict=True):
    axis.scatter(state[0, :, 2], right(net)[0], s=7, color=color, alpha=0.6, lw=0)
    axis.set(title=title, xlabel="state, its third number", xticks=(-1, 0, 1))
    axis.text(1, 0.02, f"the body explains\n{read_out(net.body)[0]:.1%} of the returns", ha="right", size=8)
axes[0].set_ylabel("π(right | s)")
plt.show()

held = (right(kept) - right(policy)).abs()
print(f"mean change of π(right): not held {moved.mean():.3f}, held {held.mean():.3f}")
print(f"explained by the best head: held, at least {read_out(kept.body).min():.1%}")
change = (kept.body(state) - policy.body(state)).abs().mean()
print(f"the features, which lie between −1 and 1, have moved by {change:.2f} on average")
assert held.mean() < 0.1 * moved.mean() and read_out(kept.body).min() > 0.9 and change > 0.05

# %% [markdown]
# This is the whole trick. The body has become another one, it knows what states are worth, and the policy is the
# same function as before.
#
# What is it good for? Suppose that in the next updates it turns out that the sign of $x_1 x_2$ decides what to do. Both
# nets, the deaf one and the taught one, are trained on that for a few steps.

# %%
goal = 4 * worth(state)
new_policy = torch.stack([torch.zeros_like(goal), goal], -1)
share = {}
for name, start in (("deaf", policy), ("taught", kept)):
    for steps in (0, 10, 20, 40):
        net = copy.deepcopy(start)
        fit(net.parameters(), lambda net=net: Categorical.kl(new_policy, net(state)).mean(1), steps)
        share[name, steps] = (net(fresh).argmax(-1) == (worth(fresh) > 0)).float().mean().item()
    print(f"{name:6} body: " + ", ".join(f"{share[name, n]:.0%} right after {n:2} steps" for n in (0, 10, 20, 40)))
assert share["taught", 10] > share["deaf", 10] + 0.1

# %% [markdown]
# That was the best case: what states are worth, and what to do in them, were the same riddle. Where they have nothing
# to do with each other, the body has learned something that the policy will never ask for. Which of the two it is,
# the task decides.
#
# **How long a leash?** $\beta_{\text{clone}}$ weighs it. Here are five weights, from no leash at all to one that
# hardly lets anything move:

# %%
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
# There is a wide range in which it hardly matters, because the phase can do both: learn, and keep the policy. The
# paper's 1 lies in it. Beyond it, the body stands still.
#
# ## In the library

# %%
source(auxiliary_errors, auxiliary_loss)

# %% [markdown]
# Three errors, not two. The third is nothing new: as the data are there, the value net learns from them, too. A value
# net, the paper finds, can learn from the same rows far more often than a policy can.
#
# Where do the rows come from? A phase comes after every $N_\pi$-th update (`aux_every`). `Memory` keeps the rollouts
# since the last one, in units of reward, since `return_norm` may move its ruler in between. $\pi_{\text{old}}$ is the
# policy at the start of the phase, computed once for all rows, not the one that played them.

# %%
source(auxiliary_minibatches, add_auxiliary_head_)

# %%
source(Memory)

# %% [markdown]
# The phase has an Adam of its own, so that the memory of one loss's gradients does not steer the other's steps.
# And there is a law worth a check. Without a single pass, $E_{\text{aux}} = 0$, PPG **is** PPO, up to rounding:

# %%
tiny = Config("CartPole-v0", seeds=2, steps=1000, lanes=4, horizon=32, aux_every=4)
plain, idle = (train(replace(tiny, aux_epochs=0), tricks).curve["return"] for tricks in (PPO, PPG))
np.testing.assert_allclose(plain, idle, rtol=1e-5)
print(f"{plain.notna().sum()} returns, equal: {np.allclose(plain, idle, equal_nan=True)}")

# %% [markdown]
# And with $\beta_{\text{clone}} = 0$ it is what we began with.
#
# **A trap.** There are now two estimates of $V(s)$, and it is tempting to bootstrap from the auxiliary head, as one
# public implementation does. But that head is trained in auxiliary phases only. In between, the policy's loss moves
# the body under it, and nobody tells the head. The library asks the value net, which learns in every update, as does
# the paper's own code.
#
# ## What changes in the loop

# %%
diff(PPO, PPG)

# %% [markdown]
# PPO's own lines stay as they are. An auxiliary phase is something that happens between two of its updates.
#
# ## A small run
#
# CartPole with a limit of 200 steps, five agents, 8,000 steps each; an update after every 256 of them, and a phase
# after every fourth update. The learning rate and these numbers were found for PPG, on other seeds, so that this is a
# look at PPG and not a contest. (With 30,000 steps three of three agents reach a mean return of 195 over five
# updates; the library's tests check it.)

# %%
config = Config("CartPole-v0", seeds=5, steps=8_000, lanes=8, horizon=32, lr=0.005, aux_every=4)
phasic = replace(PPG, value_clip=False, return_norm=True, bootstrap=True)
runs = {"ppg": train(config, phasic), "without": train(config, replace(phasic, ppg=False))}
curves(runs)
plt.show()

curve = runs["ppg"].curve
print(
    f"last tenth of training: ppg {runs['ppg'].late().mean():.0f} points, without {runs['without'].late().mean():.0f}"
)
print(f"mean KL over the steps of an update {curve.approx_kl.mean():.4f}, of a phase {curve.clone_kl.mean():.4f} nats")
assert runs["ppg"].late().mean() > 150 and curve.clone_kl.max() < 0.01

# %% [markdown]
# The last line is the one to watch in runs of your own: `clone_kl` is how far the policy has been carried away in a
# phase, and it should be small beside what an update moves on purpose.
#
# Mind the bill. A phase is not free:

# %%
usual = Config()
steps_of_ppo = usual.aux_every * usual.epochs * usual.minibatches
steps_of_phase = usual.aux_epochs * usual.aux_every * usual.minibatches
print(
    f"gradient steps in {usual.aux_every} updates: {steps_of_ppo} of PPO, and {steps_of_phase} of the auxiliary phase"
)
assert steps_of_phase > steps_of_ppo

# %% [markdown]
# ## What the stored runs say
#
# The runs compare by steps of the environment, not by seconds: PPG takes more gradient steps from the same experience.
# In an auxiliary phase $\beta_{\text{clone}} = 1$ weighs nats against half squares of returns. Where returns are a
# hundred, a policy can be far off before that weighs anything. So CartPole and Acrobot have a second comparison, in
# which all arms have `return_norm`.

# %%
stored = evidence("ppg")
stored

# %%
stored.plot()
plt.show()

print(stored.verdicts())

# %% [markdown]
# Where returns are large, the pairs of lines tell the story of this chapter once more: with raw returns a phase throws
# the policy back, and with `return_norm` it does not. A harm in a MiniGrid world, where returns lie between 0 and 1,
# cannot come from there. It may be the price of holding still, or of features that nobody needs; nothing stored tells.
#
# **What it does not say.** CartPole gives four numbers, Acrobot six, MiniGrid a small grid of symbols. No eyes are
# needed to see what matters there, so a body may have little to be taught. And these runs are short: with
# $N_\pi = 8$, a run of 100,000 steps has a dozen phases.
#
# The paper's worlds are those of Procgen, which are seen as pixels. From its published curves for one of them, BigFish:
#
# | | score |
# |---|---|
# | PPO | 16.0 |
# | PPG | 33.7 |
# | PPG with a phase every $N_\pi$ = 2, 8, 16, 32 updates | 19.2, 27.3, 32.9, 33.1 |
# | PPG with $E_\pi$ = 1, 3, 6 epochs in each policy phase | 33.5, 25.4, 5.9 |
#
# **Phases should be rare** (the paper's defaults: $N_\pi = 32$, $E_{\text{aux}} = 6$, $\beta_{\text{clone}} = 1$).
# And there, while the values could learn from the same rows again and again, every further epoch cost the *policy*.
#
# ## Two buffers: how often may a row be used?
#
# That last row asks for more. PPO gives policy and value net the same rows, equally often. If values bear more reuse
# than a policy does, let each have a buffer of its own, with its own size and its own number of uses. This is the
# second flag of this chapter, `ppg_buffers`. The policy learns from the last two rollouts, and uses each row at most
# four times; the value net from the last eight, at most sixteen times. (The auxiliary phase takes the value net's.)

# %%
source(reused)

# %% [markdown]
# A row is not dealt by turns but by chance: each epoch takes a share $p$ of all rows, chosen so that a row that stays
# for `rollouts` updates of `epochs` epochs is taken `uses` times on average. In numbers, for the policy,
# $p = 4 / (2 \cdot 4) = ½$; for the values, $16 / (8 \cdot 4) = ½$. Chance can also exceed the limit, so there is a
# counter: who was taken `uses` times stays out.

# %%
diff(PPG, named("ppg_buffers"))

# %% [markdown]
# The two minibatches of a step have nothing to do with each other any more: `b` is the policy's, and for the value
# loss it becomes the other one. We listen in on a run: how old is a row when it is learned from, and how many rows
# get to their first, second, third, ... use?

# %%
seen = {"policy": [], "value": []}  # of every row that is dealt: its age in updates, and which use of it this is


def listen(b, update):
    for net, rows in (("policy", b), ("value", b.critic)):
        seen[net].append(torch.stack([update - rows.born, rows.uses])[:, rows.valid])
    return ages(b, update)


both = replace(named("ppg_buffers"), value_clip=False, return_norm=True, bootstrap=True)
with planted(ages=listen):
    buffered = train(replace(config, seeds=2, steps=5000), both)

figure, axes = plt.subplots(1, 3, figsize=(9, 2.7))
for (net, rows), color in zip(seen.items(), style.OTHERS[2:], strict=False):
    age, use = torch.cat(rows, 1).numpy()
    axes[0].plot(buffered.curve.groupby("update")[f"{net}_age"].mean(), color=color, label=net)
    axes[1].plot(np.bincount(age) / len(age), "o-", color=color)
    reached = np.bincount(use)[1:]
    axes[2].plot(range(1, len(reached) + 1), reached / reached[0], "o-", color=color)
    print(f"{net:6}: mean age {age.mean():.1f} updates, oldest {age.max()}; most uses of a row {use.max()}")
axes[0].set(xlabel="update", ylabel="mean age (updates)", ylim=(0, None))
axes[1].set(xlabel="age of a row when used (updates)", ylabel="share of the rows used", ylim=(0, None))
axes[2].set(xlabel="k", xticks=(1, 4, 8, 12, 16), ylabel="share of rows\nthat get to a k-th use", ylim=(0, 1.05))
label_lines(axes[0])
plt.show()
assert torch.cat(seen["policy"], 1).amax(1).tolist() == [1, 4]
assert torch.cat(seen["value"], 1).amax(1).tolist() == [7, 16]

# %% [markdown]
# Ages are the diagnostic. `policy_age` should stay near 0. An old row's advantage is as old as the row: it says how
# much better an action was than what a *former* policy would have done. And its ratio is to that former policy, so
# that the clip may silence it before the first step. The value net's rows may be older; but their targets age, too.

# %%
buffers = evidence("ppg_buffers")
buffers

# %%
buffers.plot()
plt.show()

print(buffers.verdicts())

# %% [markdown]
# Reuse is no gift: where PPG works, older rows can make it worse.
#
# **What it does not say:** which of the two buffers did it, good or bad; and nothing about other sizes. These numbers
# of rollouts and uses are one choice of many.
#
# ## When it does not help
#
# - **When features are cheap.** A body that sees at a glance what matters need not be taught to see.
# - **When worth and action are different riddles.** The body then spends its features on something the policy does not
#   need, and the leash protects what it does need, but no room for more.
# - **When phases come too often.** Each moves the policy a little, and not for the sake of any reward: see the row of
#   $N_\pi$.
# - **When computing is what you are short of**, not experience: with the phase, the count above is two and a half times
#   PPO's.
# - **When the memory is short of space.** $N_\pi$ rollouts of images have to be kept.
#
# ## Exercises
#
# **Exercise 1: write it.** The cloning term of each row, from two batches of logits. The action that was taken stands
# in the memory, too, and is handed to you, should you need it.


# %%
def my_kl(old, new, action):  # logits [B, A], logits [B, A], [B] -> [B]
    ...


check_kl(my_kl)

# %% [markdown]
# **Exercise 2: spot the bug.** This is the cloning term of a widely used public implementation. It calls a function
# whose very name is the divergence that we want.

# %%
source(cloning_term, errors_of_a_phase)


# %%
def of_the_action(logits_old, logits):
    """The same term in the toy, for actions that were drawn from π_old."""
    action = torch.distributions.Categorical(logits=logits_old).sample()
    return cloning_term(*(Categorical.log_prob(x, action) for x in (logits_old, logits)))


cloned = phase(beta=1, divergence=of_the_action)
with planted(auxiliary_errors=errors_of_a_phase):
    faulty = train(config, phasic)

# %%
figure, axes = plt.subplots(1, 3, figsize=(9.5, 2.8))
axes[0].scatter(state[0, :, 2], right(policy)[0], s=5, color=style.SOFT, lw=0)
axes[0].scatter(state[0, :, 2], right(cloned)[0], s=7, color=style.FAULT, alpha=0.6, lw=0)
axes[0].set(title="the toy, after a phase", xlabel="state, its third number", ylabel="π(right | s)")
for run, color, name in ((runs["ppg"], style.COLORS["ppg"], "right"), (faulty, style.FAULT, "bug")):
    mean = run.curve.groupby("update").mean()
    axes[1].plot(mean.entropy.iloc[:20], color=color, label=name)
    axes[2].plot(mean.step / 1000, mean["return"].rolling(5, min_periods=1).mean(), color=color, label=name)
axes[1].set(title="entropy", xlabel="update", ylabel="nats", ylim=(0, 0.72), xticks=(0, 4, 8, 12, 16))
axes[2].set(title="return", xlabel="environment steps (thousands)", ylim=(0, 210))
for axis in axes[1:]:
    label_lines(axis)
plt.show()

# %%
certain = ((right(cloned) < 0.01) | (right(cloned) > 0.99)).float().mean()
entropy = faulty.curve.groupby("update").entropy.mean()
print(f"the toy's states in which one action has a probability below 1%: {certain:.0%}")
print(f"entropy in the fourth update: {entropy[3]:.2f} nats; in the fifth, after the first phase: {entropy[4]:.2f}")
print(f"last tenth of training: right {runs['ppg'].late().mean():.0f}, bug {faulty.late().mean():.0f} points")
assert entropy[4] < 0.1 < entropy[3] and faulty.late().mean() < runs["ppg"].late().mean() - 20

# %% [markdown]
# After one phase the policy is all but certain in every state, of the right action or of the wrong one, and stays so.
# How long an agent then holds the pole is luck. (a) `F.kl_div(input, target)`
# computes $\text{target} \cdot (\log \text{target} - \text{input})$. What is the target here, and what is its
# logarithm? (b) What is the gradient with respect to `log_prob`, and where does it push the actions that were taken?
# (c) The first number to look at is in none of the three pictures. Look for it in `faulty.curve`.
#
# **Exercise 3: think.** (a) You bootstrap from the auxiliary head. In the first update after a phase, and in the last
# one before the next: in which of them are your advantages worse, and why? (b) What would the cloning term do in a
# phase of a *single* gradient step on all rows? (c) You double $N_\pi$ and leave all else as it is. How many gradient
# steps does an auxiliary phase take then, and how many of them come to one update?
#
# Solutions: [`solutions/18_ppg.py`](solutions/18_ppg.py). Next:
# [Atari](22_atari.ipynb), where all there is to see are pictures.

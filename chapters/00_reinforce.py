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
# # REINFORCE: learning from reward alone
#
# *Nobody says which action was right. How can a policy still get better?*

# %% [markdown] tags=["two-hours"]
# A pole stands on a cart. Fifty times a second you push left or right, and for every step the pole stays up you get one
# point. Push at random, and this is what happens. Each line is the pole's angle in one of twenty episodes. An episode
# ends when the pole has tilted by 12 degrees, or after 500 steps.

# %% tags=["two-hours", "hide-input"]
import gymnasium as gym
import matplotlib.pyplot as plt
import numpy as np

from ablations import style
from chapters.book import at_best_rate, begin, curves, planted, stored_area, stored_curves, studies
from chapters.exercises.reinforce import check_returns, leaking_returns
from tricks import REINFORCE, Config, listing, source, train
from tricks.core.reductions import discounted_sum, reward_to_go

begin()

# %% tags=["two-hours", "hide-input"]
env = gym.make("CartPole-v1")
env.action_space.seed(0)
figure, axis = plt.subplots(figsize=(6.5, 2.6))
lasted = []
for seed in range(20):
    angles, over = [env.reset(seed=seed)[0][2]], False
    while not over:
        observation, _, over, _, _ = env.step(env.action_space.sample())
        angles.append(observation[2])
    axis.plot(np.rad2deg(angles), color=style.SOFT, lw=1)
    axis.plot(len(angles) - 1, np.rad2deg(angles[-1]), "x", color=style.FAULT, ms=5)
    lasted.append(len(angles) - 1)
axis.set(xlabel="step of the episode", ylabel="angle of the pole\n(degrees)", xlim=(0, None), yticks=(-12, 0, 12))
plt.show()
print(f"on average, an episode lasts {np.mean(lasted):.0f} steps, and the longest of these {max(lasted)}")
assert 15 < np.mean(lasted) < 35

# %% [markdown] tags=["two-hours"]
# Nobody ever tells you "you should have gone left there." All you get is points, and that is enough. Here is a complete
# program that learns to balance the pole. It needs PyTorch, Gymnasium, and ten seconds. (Processors round differently,
# and training magnifies the last bit of a number. So here and in all chapters, your results will differ a little from
# those printed.)

# %% tags=["two-hours", "open"]
import gymnasium as gym
import torch
from torch.distributions import Categorical

GAMMA, BATCH, STEPS = 0.99, 1000, 60_000

torch.manual_seed(0)
env = gym.make("CartPole-v1")
policy = torch.nn.Sequential(  # what you see, 4 numbers -> a score for each push
    torch.nn.Linear(4, 64),
    torch.nn.Tanh(),
    torch.nn.Linear(64, 2),
)
optimizer = torch.optim.Adam(policy.parameters(), lr=0.01)


def play_episode(seed=None):
    """One episode of the policy as it is: observations [T, 4], actions [T], rewards."""
    observations, actions, rewards, over = [], [], [], False
    observation, _ = env.reset(seed=seed)
    while not over:
        observations.append(torch.as_tensor(observation))
        with torch.no_grad():
            actions.append(Categorical(logits=policy(observations[-1])).sample())
        observation, reward, terminated, truncated, _ = env.step(actions[-1].item())
        rewards.append(reward)
        over = terminated or truncated
    return torch.stack(observations), torch.stack(actions), rewards


def rewards_to_go(rewards):
    """What was paid from each step on: G_t = r_t + γ G_{t+1}."""
    total, totals = 0.0, []
    for reward in reversed(rewards):
        total = reward + GAMMA * total
        totals.append(total)
    return torch.tensor(totals[::-1])


steps, lengths = 0, []
while steps < STEPS:
    # play: at least BATCH steps of whole episodes
    played = []
    while sum(len(rewards) for _, _, rewards in played) < BATCH:
        played.append(play_episode(seed=0 if steps == 0 and not played else None))
    observations = torch.cat([each[0] for each in played])
    actions = torch.cat([each[1] for each in played])

    # judge: how good was each action?
    returns = torch.cat([rewards_to_go(each[2]) for each in played])

    # learn: make the actions that turned out well more likely
    log_prob = Categorical(logits=policy(observations)).log_prob(actions)
    loss = -(log_prob * returns).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

    steps += len(actions)
    lengths.append(sum(len(rewards) for _, _, rewards in played) / len(played))

late = sum(lengths[-5:]) / 5
print(f"first batch: {lengths[0]:.0f} steps per episode; last five batches: {late:.0f}")
assert late > 5 * lengths[0]

# %% [markdown] tags=["two-hours"]
# The whole idea is in one line: `loss = -(log_prob * returns).mean()`. Where does it come from? You
# need derivatives, logarithms, and averages.

# %% [markdown] tags=["two-hours"]
# ## Three slot machines
#
# Forget the pole for now. Here are three slot machines: the first always pays 1, the second 2, the third 4. Your
# **policy** $\pi_\theta(a)$ gives each machine $a$ a probability. It is made from three numbers $\theta$, the *logits*,
# by a softmax:
#
# $$\pi_\theta(a) = \frac{e^{\theta_a}}{e^{\theta_1} + e^{\theta_2} + e^{\theta_3}}.$$
#
# You want a large **expected reward** $J(\theta) = \sum_a \pi_\theta(a)\, r(a)$. If you knew every payout, this would
# be calculus: compute the gradient $\nabla J$ (the derivatives of $J$ with respect to each number in $\theta$), take a
# step along it, repeat. But you only see the payout of the machine you pulled.
#
# Two ideas. The first: whatever you did, do more of it. The second: do more of it *in proportion to what it paid*. "Do
# more of $a$" means taking a gradient step that raises $\log \pi_\theta(a)$.
#
# **Predict.** Neither idea ever compares two machines. Which one finds the best?

# %% tags=["two-hours"]
PAYS = torch.tensor([1.0, 2.0, 4.0])


def teach(weigh, pays=PAYS, agents=50, steps=300, rate=0.05):
    """Mean probability of the best machine, step by step, over the agents."""
    torch.manual_seed(0)
    theta, share = torch.zeros(agents, 3, requires_grad=True), []
    for _ in range(steps):
        policy = Categorical(logits=theta)
        action = policy.sample()
        loss = -(policy.log_prob(action) * weigh(pays[action])).sum()
        (grad,) = torch.autograd.grad(loss, theta)
        theta = (theta - rate * grad).detach().requires_grad_()
        share.append(policy.probs[:, 2].mean().item())
    return share


unweighted, weighted = teach(torch.ones_like), teach(lambda reward: reward)

# %% tags=["two-hours", "predict", "hide-input"]
figure, axis = plt.subplots(figsize=(6, 2.6))
axis.plot(unweighted, color=style.SOFT)
axis.plot(weighted, color=style.INK)
axis.text(300, unweighted[-1], "  more of whatever it did", va="center", color=style.SOFT)
axis.text(300, weighted[-1], "  in proportion to the reward", va="center", color=style.INK)
axis.set(xlabel="pull", ylabel="probability of the\nbest machine", ylim=(0, 1))
plt.show()
assert abs(unweighted[-1] - 1 / 3) < 0.15 and weighted[-1] > 0.85

# %% [markdown] tags=["two-hours"]
# The first idea goes nowhere: each agent drifts toward whatever it happened to try. The second finds the best machine.
# Why?
#
# ## The derivation
#
# Write down the gradient of what you want, and pull out a factor $\pi_\theta(a)$:
#
# $$\nabla_\theta J
#   = \sum_a r(a)\, \nabla_\theta \pi_\theta(a)
#   = \sum_a \pi_\theta(a)\, r(a)\, \frac{\nabla_\theta \pi_\theta(a)}{\pi_\theta(a)}
#   = \sum_a \pi_\theta(a)\, \underbrace{r(a)\, \nabla_\theta \log \pi_\theta(a)}_{\text{computable from one pull}}.$$
#
# The first step moves the gradient inside the sum, since $r(a)$ doesn't depend on $\theta$. The second multiplies and
# divides by $\pi_\theta(a)$. The third is the chain rule, $\nabla \log x = \nabla x / x$.
#
# The result is a mean over the policy's actions, an **expectation**, and you can estimate that by sampling. Pull once,
# get $a$ and $r(a)$, and
#
# $$g = r(a)\, \nabla_\theta \log \pi_\theta(a) \qquad\text{has}\qquad \mathbb{E}[g] = \nabla_\theta J.$$
#
# That is "do more of it, in proportion to what it paid." Every single $g$ is wrong, but their average is exactly right.
# Williams (1992) named this family of algorithms REINFORCE. The vector $\nabla \log \pi(a)$ is called the *score*.
#
# **By hand.** With $\theta = 0$ every machine has probability ⅓, and $J = 7/3$. For a softmax,
# $\partial \log \pi(a) / \partial \theta_k = [a = k] - \pi(k)$, where $[a = k]$ is 1 if $a$ is $k$ and 0 otherwise. So
#
# $$\frac{\partial J}{\partial \theta_k} = \sum_a \pi(a)\, r(a)\, \big([a = k] - \pi(k)\big)
#   = \pi(k)\, r(k) - \pi(k)\, J = \pi(k)\,\big(r(k) - J\big),$$
#
# which gives $-\tfrac{4}{9}, -\tfrac{1}{9}, +\tfrac{5}{9}$.

# %% tags=["two-hours", "open"]
theta = torch.zeros(3, requires_grad=True)
(exact,) = torch.autograd.grad((theta.softmax(0) * PAYS).sum(), theta)
torch.testing.assert_close(exact, torch.tensor([-4 / 9, -1 / 9, 5 / 9]))

torch.manual_seed(0)
action = torch.randint(3, (100_000,))  # θ = 0: uniform
score = torch.eye(3)[action] - 1 / 3  # ∇ log π(a), by the formula above
samples = PAYS[action].unsqueeze(1) * score  # [pulls, 3]
print("exact         ", exact.numpy().round(3))
print("mean of 100000", samples.mean(0).numpy().round(3))
assert (samples.mean(0) - exact).abs().max() < 0.02

# %% [markdown] tags=["two-hours"]
# How far off is an average of $n$ samples? Here are 400 estimates of the third component, each from $n$ pulls.

# %% tags=["two-hours", "thumbnail", "hide-input"]
figure, axis = plt.subplots(figsize=(6.5, 2.8))
torch.manual_seed(1)
spread = {}
for i, n in enumerate((1, 10, 100, 1000)):
    estimates = samples[torch.randint(len(samples), (400, n)), 2].mean(1)
    spread[n] = estimates.std().item()
    axis.scatter(
        estimates, i + 0.5 * (torch.rand(400) - 0.5), s=6, color=style.COLORS["orthogonal_init"], alpha=0.35, lw=0
    )
axis.axvline(exact[2].item(), color=style.INK, lw=1.2)
axis.text(exact[2].item(), 3.6, " exact", color=style.INK)
axis.set_yticks(range(4), [f"{n} pull{'s' * (n > 1)}" for n in spread])
axis.set(xlabel="estimate of ∂J/∂θ of the best machine", ylim=(-0.5, 4))
plt.show()

print("standard deviation:", ", ".join(f"{n} pulls {deviation:.3f}" for n, deviation in spread.items()))
assert 8 < spread[1] / spread[100] < 12  # a hundred times the samples, a tenth of the error

# %% [markdown] tags=["two-hours"]
# Every row has the right mean, even the lowest, where no single estimate comes close. The error shrinks with
# $1/\sqrt{n}$, so a tenth of it costs a hundred times the pulls. **Unbiased, but noisy.** Most of this book is about
# making that bottom row narrower, or about not falling over because of it.
#
# ## From one pull to a whole episode
#
# Back to CartPole. The policy is now a small neural net: a state goes in, one logit per action comes out, and $\theta$
# is all of its weights. One whole episode, or *trajectory*, $\tau = (s_0, a_0, r_0, s_1, a_1, r_1, \dots)$, is one big
# "pull," and its return $R(\tau) = \sum_t r_t$ is what it pays. The same derivation holds with $\tau$ in place of $a$:
#
# $$\nabla_\theta J = \mathbb{E}_\tau\big[R(\tau)\, \nabla_\theta \log p_\theta(\tau)\big].$$
#
# How probable is an episode? The world deals the states, the policy the actions:
#
# $$p_\theta(\tau) = p(s_0) \prod_t \pi_\theta(a_t | s_t)\; p(s_{t+1} | s_t, a_t).$$
#
# The logarithm turns the product into a sum, and only the policy's terms depend on $\theta$:
#
# $$\nabla_\theta \log p_\theta(\tau) = \sum_t \nabla_\theta \log \pi_\theta(a_t | s_t).$$
#
# The physics, $p(s_{t+1} | s_t, a_t)$, has dropped out. **This is why the method needs no model of the world.**
#
# Two changes turn $R(\tau)$ into the $G_t$ of the program. The first one is free. An action can't change past rewards,
# so they shouldn't count for it. The formula agrees: in any state, the mean score is zero,
#
# $$\sum_a \pi_\theta(a|s)\, \nabla_\theta \log \pi_\theta(a|s) = \sum_a \nabla_\theta \pi_\theta(a|s)
#   = \nabla_\theta \sum_a \pi_\theta(a|s) = \nabla_\theta 1 = 0,$$
#
# and a past reward is a constant factor when $a_t$ is drawn. Those terms only add noise, so drop them.
#
# The second one is not free. Count a reward that comes $k$ steps later as $\gamma^k$ of itself, with a **discount**
# $\gamma$ a little below 1. What happens a thousand steps from now is mostly luck, so discounting removes noise. But
# the mean is then no longer the gradient of the *undiscounted* return: you accept some bias to lose a lot of variance.
# (It isn't quite the gradient of the discounted return either: that would also weight step $t$ by $\gamma^t$. Most code
# leaves that factor out; see Nota & Thomas 2020, arXiv:1906.07073.) Together:
#
# $$G_t = r_t + \gamma\, r_{t+1} + \gamma^2 r_{t+2} + \dots = r_t + \gamma\, G_{t+1}.$$
#
# This is the **reward-to-go**. The loss is $-\frac{1}{n} \sum_t G_t \log \pi_\theta(a_t | s_t)$ over the $n$ steps of a
# batch, with $G_t$ held constant. Its gradient is our estimate per step, with the sign flipped, because optimizers
# minimize.
#
# ## In the library
#
# The right-hand form of $G_t$ says how to compute it: backward, from the last step. Where an episode is `done`, nothing
# follows. (`unbind(1)` cuts a tensor into its time steps; `addcmul(a, b, c)` is $a + b\,c$; `per_seed` lines up one
# $\gamma$ per seed with the rewards.)

# %% tags=["two-hours"]
source(reward_to_go, discounted_sum)

# %% [markdown] tags=["two-hours"]
# The letters mean the same everywhere in this library. `S` agents train side by side, each with its own seed, because
# one agent is an anecdote. `T` is time steps. `N` is the number of *lanes*: copies of the world that each agent plays
# at once.
#
# By hand: rewards 1, 2, 3 end an episode, and the next one begins with a 10. With $\gamma = ½$, from the back:
# $G_3 = 10$. Step 2 ended its episode, so $G_2 = 3$. Then $G_1 = 2 + ½ \cdot 3 = 3.5$ and
# $G_0 = 1 + ½ \cdot 3.5 = 2.75$.

# %% tags=["two-hours"]
reward = torch.tensor([1.0, 2.0, 3.0, 10.0]).view(1, 4, 1)  # [S, T, N]
done = torch.tensor([False, False, True, True]).view(1, 4, 1)
returns = reward_to_go(reward, done, gamma=0.5).flatten()
print(returns.numpy())
torch.testing.assert_close(returns, torch.tensor([2.75, 3.5, 3.0, 10.0]))

# %% [markdown] tags=["two-hours"]
# In the library, the program at the top is one file, `tricks/one_agent.py`, in which every trick of the ladder is a bare
# `if`; `python -m tricks.one_agent reinforce` runs it. One agent is an anecdote, so from here on we train many at once.
# Here is the loop for that, with every trick switched off. Hold it against the program: **play** collects episodes,
# **judge** computes what came of each action, **learn** takes one gradient step. (`t` holds the agents, their optimizer,
# and the numbers of the run, `family` is the kind of distribution that actions are drawn from, and `b.valid` marks the
# rows that are experience. `Adam` is gradient descent with two additions: it divides each weight's step by the recent
# size of its gradient, and it carries over part of the last steps, its *momentum*.)

# %% tags=["two-hours"]
listing(REINFORCE)

# %% [markdown] tags=["two-hours"]
# ## Five agents
#
# Each gets 40,000 steps of CartPole. `at_best_rate` sets the learning rate that did best on other seeds. The band is a
# 95% interval for the mean over agents.

# %% tags=["two-hours"]
config = at_best_rate(Config("CartPole-v1", seeds=5, steps=40_000), REINFORCE)
run = train(config, REINFORCE)

# %% tags=["two-hours", "hide-input"]
curves({"reinforce": run})
plt.show()

first, last = run.curve.groupby("seed")["return"].first().mean(), run.late().mean()
print(f"the first batch of episodes: {first:.0f} points each; the last tenth of training: {last:.0f}")
assert last > 2 * first

# %% [markdown] tags=["two-hours"]
# It learns, and it wobbles: each step follows one noisy estimate, and an unlucky batch can undo part of what was
# learned.

# %% [markdown]
# The ablations behind this book trained it longer, with more seeds, and also on Acrobot, where you swing up a two-link
# arm and every step costs a point until it's up. They score a run by the **area under the curve**, the mean return over
# all of training, which rewards both learning fast and ending high.

# %% tags=["hide-input"]
stored_curves(REINFORCE)
plt.show()

for study in studies()[:2]:
    print(stored_area(study, REINFORCE))
acrobot = studies()[1].grid(REINFORCE).mean(axis=1)
print(f"Acrobot-v1 seeds with a mean over training below -490: {(acrobot < -490).sum()} of {len(acrobot)}")


# %% [markdown]
# On CartPole, REINFORCE gets well off the ground and stays far from the ceiling. On Acrobot, more than a third of the
# seeds never get anywhere, which is why the band is so wide. Closing this gap is what the tricks are for. (With another
# net or batch size it may do better.)
#
# ## When it fails
#
# - **When it never sees a reward.** If every episode pays 0, every gradient is 0: the policy has to stumble on a reward
#   first. (The chapter on [initialization](05_orthogonal_init.ipynb) has such a world.)
# - **When the noise exceeds the budget.** The variance grows with the length of the episode and the size of the
#   rewards. Exercise 2 shows how little it takes, and the [next chapter](01_baseline.ipynb) what helps.
# - **When data is expensive.** Each batch serves a single gradient step, because the derivation needs actions from the
#   *current* policy. [Reuse](02_reuse.ipynb) bends that rule.

# %% [markdown]
# ## At a glance
#
# | | |
# |---|---|
# | **problem** | there are rewards, but no right answers to imitate |
# | **formula** | $\nabla J \approx \mathbb{E}\big[\sum_t G_t\, \nabla \log \pi(a_t \mid s_t)\big]$ (equal at $\gamma = 1$) |
# | **in the loop** | `objective = log_prob * advantage` <br> `loss = -mean(objective, b.valid)` |
# | **defaults** | $\gamma = 0.99$, one gradient step per batch of whole episodes |
# | **watch** | the return, and `entropy` (how undecided the policy is): it should fall slowly |
# | **skip it when** | never; everything else in this book is added to it |
# | **also called** | (Monte Carlo) policy gradient; the policy is the *actor*; learning only from its own latest data is *on-policy* |

# %% [markdown]
# ## Exercises

# %% [markdown] tags=["two-hours"]
# **Exercise 1: write it.** Compute the rewards-to-go of a single lane. Run the cell to see what's wrong with your
# version.


# %% tags=["two-hours"]
def my_returns(reward, done, gamma):  # reward, done [T] -> [T]
    ...


check_returns(my_returns)

# %% [markdown] tags=["two-hours"]
# <details><summary>Hint</summary>
#
# Keep one number, what follows. At each step, first decide whether anything follows at all.
#
# </details>

# %% [markdown]
# **Exercise 2: think.** Let all three machines pay 100 more: 101, 102, 104. What does that do to $\mathbb{E}[g]$? To
# the spread of a single $g$? Then look: `teach(lambda reward: reward, PAYS + 100)`.
#
# <details><summary>Answer</summary>
#
# $\mathbb{E}[g]$ doesn't change, because a constant times the score has mean zero. But the spread of one component of
# $g$ grows from about 1.5 to about 49 for the best machine, and its gradient of 0.56 drowns in that.
#
# </details>

# %% [markdown]
# **Exercise 3: spot the bug.** This version of the rewards-to-go runs, and its shapes are right. Below, `planted`
# trains the library's loop with it.

# %%
source(leaking_returns)

# %%
with planted(reward_to_go=leaking_returns):
    faulty = train(config, REINFORCE)

# %% tags=["hide-input"]
curves({"reinforce": run, "with the bug": faulty})
plt.show()
assert faulty.late().mean() < 0.5 * run.late().mean()

# %% [markdown]
# What's wrong, and which single number would you look at to find out?
#
# <details><summary>Hint</summary>
#
# On CartPole every reward is 1. What must $G_t$ be at the step where the pole falls?
#
# </details>
#
# Solutions: [`solutions/00_reinforce.py`](solutions/00_reinforce.py). Next: [a baseline](01_baseline.ipynb), which
# makes the noise smaller.

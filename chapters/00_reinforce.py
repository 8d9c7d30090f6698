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
# A pole stands on a cart. Fifty times a second you push left or right, and every step the pole stays up pays one point.
# Push at random, and this happens. Each line is the pole's angle in one episode, which ends at 12 degrees, off the
# track, or after 500 steps.

# %% tags=["two-hours", "hide-input"]
import gymnasium as gym
import matplotlib.pyplot as plt
import numpy as np

from ablations import style
from chapters.book import at_best_rate, begin, caption, curves, planted, stored_curves, studies
from chapters.exercises.reinforce import check_returns, returns_backward
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
caption(f"On average, an episode lasts {np.mean(lasted):.0f} steps. The longest of these lasts {max(lasted)}.")
assert 15 < np.mean(lasted) < 35

# %% [markdown] tags=["two-hours"]
# Nobody tells you "you should have gone left there." All you get is points, and that is enough. Here is a complete
# program that learns to balance the pole. Your numbers will differ a little.

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
# The whole idea is in one line: `loss = -(log_prob * returns).mean()`. Where does it come from?

# %% [markdown] tags=["two-hours"]
# ## Three slot machines
#
# Three slot machines pay 1, 2, and 4. Your **policy** $\pi_\theta(a)$ gives each machine $a$ a probability, by a
# softmax of three numbers $\theta$, the *logits*:
#
# $$\pi_\theta(a) = \frac{e^{\theta_a}}{e^{\theta_1} + e^{\theta_2} + e^{\theta_3}}.$$
#
# You want a large **expected reward** $J(\theta) = \sum_a \pi_\theta(a)\, r(a)$. If you knew every payout, you would
# follow its gradient $\nabla J$. But you only see the payout of the machine you pulled.
#
# Two ideas. First: whatever you did, do more of it, with a step that raises $\log \pi_\theta(a)$. Second: do more of it
# *in proportion to what it paid*.
#
# **Predict.** Neither ever compares two machines. Which one finds the best?

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
# The second finds the best machine. Why?
#
# ## The derivation
#
# Write down the gradient that you want, and pull out a factor $\pi_\theta(a)$, by the chain rule:
#
# $$\nabla J
#   = \sum_a r(a)\, \nabla \pi_\theta(a)
#   = \sum_a \pi_\theta(a)\, r(a)\, \frac{\nabla \pi_\theta(a)}{\pi_\theta(a)}
#   = \sum_a \pi_\theta(a)\, \underbrace{r(a)\, \nabla \log \pi_\theta(a)}_{\text{computable from one pull}}.$$
#
# That is a mean over the policy's actions, an **expectation**, which you can estimate by sampling:
#
# $$g = r(a)\, \nabla \log \pi_\theta(a) \qquad\text{has}\qquad \mathbb{E}[g] = \nabla J.$$
#
# Every $g$ is wrong, but their average is right. Williams (1992) named this family of algorithms REINFORCE. The vector
# $\nabla \log \pi(a)$ is the *score*. For a softmax, $\log \pi(a) = \theta_a - \log \sum_j e^{\theta_j}$, so component
# $k$ of the score is $[a = k] - \pi(k)$, where $[a = k]$ is 1 if $a$ is $k$ and 0 otherwise.
#
# So $\partial J / \partial \theta_k = \sum_a \pi(a)\, r(a)\, \big([a = k] - \pi(k)\big) = \pi(k)\,\big(r(k) - J\big)$.
# With equal probabilities, where $J = \tfrac{7}{3}$, that is $-\tfrac{4}{9}, -\tfrac{1}{9}, +\tfrac{5}{9}$. Every
# payout is positive, yet two machines become less likely.

# %% tags=["two-hours", "hide-input"]
theta = torch.zeros(3, requires_grad=True)
(exact,) = torch.autograd.grad((theta.softmax(0) * PAYS).sum(), theta)
torch.testing.assert_close(exact, torch.tensor([-4 / 9, -1 / 9, 5 / 9]))

torch.manual_seed(0)
action = torch.randint(3, (100_000,))  # θ = 0: uniform
score = torch.eye(3)[action] - 1 / 3  # ∇ log π(a), by the formula above
samples = PAYS[action].unsqueeze(1) * score  # [pulls, 3]
caption(f"The mean of 100,000 samples is {', '.join(f'{x:+.3f}' for x in samples.mean(0))}.")
assert (samples.mean(0) - exact).abs().max() < 0.02

# %% [markdown] tags=["two-hours"]
# How far off is an average of $n$ samples? Here are 400 estimates of the third component.

# %% tags=["two-hours", "thumbnail", "hide-input"]
figure, axis = plt.subplots(figsize=(6.5, 2.8))
torch.manual_seed(1)
spread = {}
for i, n in enumerate((1, 10, 100, 1000)):
    estimates = samples[torch.randint(len(samples), (400, n)), 2].mean(1)
    spread[n] = estimates.std().item()
    axis.scatter(estimates, i + 0.5 * (torch.rand(400) - 0.5), s=6, color=style.OTHERS[2], alpha=0.35, lw=0)
axis.axvline(exact[2].item(), color=style.INK, lw=1.2)
axis.text(exact[2].item(), 3.6, " exact", color=style.INK)
axis.set_yticks(range(4), [f"{n} pull{'s' * (n > 1)}" for n in spread])
axis.set(xlabel="estimate of ∂J/∂θ of the best machine", ylim=(-0.5, 4))
plt.show()
assert 8 < spread[1] / spread[100] < 12  # a hundred times the samples, a tenth of the error

# %% [markdown] tags=["two-hours"]
# A tenth of the error costs a hundred times the pulls. **Unbiased, but noisy.** Most of this book is about less noise.
#
# ## From one pull to a whole episode
#
# Back to CartPole. The policy is now a neural net: a state goes in, one logit per action comes out, and $\theta$ is its
# weights. An episode, or *trajectory*, $\tau = (s_0, a_0, r_0, s_1, \dots)$, is one big "pull" that pays its return
# $R(\tau) = \sum_t r_t$, so $\nabla J$ is the mean of $R(\tau)\, \nabla \log p_\theta(\tau)$, where $p_\theta(\tau)$ is
# the probability of the episode. The world deals states, the policy actions:
#
# $$p_\theta(\tau) = p(s_0) \prod_t \pi_\theta(a_t | s_t)\; p(s_{t+1} | s_t, a_t)
#   \quad\Longrightarrow\quad \nabla \log p_\theta(\tau) = \sum_t \nabla \log \pi_\theta(a_t | s_t).$$
#
# Only the policy's terms depend on $\theta$, so the physics has dropped out. **This is why the method needs no model of
# the world.**
#
# An action can't change past rewards, and in any state the mean score is zero:
#
# $$\sum_a \pi_\theta(a|s)\, \nabla \log \pi_\theta(a|s) = \sum_a \nabla \pi_\theta(a|s)
#   = \nabla \sum_a \pi_\theta(a|s) = \nabla 1 = 0.$$
#
# Given everything up to $s_t$, past rewards are constants, so their terms are zero on average. They only add noise.
# Drop them.
#
# The far future is mostly luck as well. So a **discount** $\gamma$ a little below 1 counts a reward $k$ steps later as
# $\gamma^k$ of itself. That isn't free: the mean is no longer the gradient of the return (Nota & Thomas 2020,
# arXiv:1906.07073). What is left is the **reward-to-go**:
#
# $$G_t = r_t + \gamma\, r_{t+1} + \gamma^2 r_{t+2} + \dots = r_t + \gamma\, G_{t+1}.$$
#
# The loss is $-\frac{1}{n} \sum_t G_t \log \pi_\theta(a_t | s_t)$ over a batch of $n$ steps, with $G_t$ held constant.
# It averages over steps, the derivation over episodes. The ratio of the two changes as the agent learns, but here that
# only sets the size of a step; [chapter 31](31_limits.ipynb) comes back to it.
#
# ## In the library
#
# $G_t$ is computed from the last step backward, and where an episode is `done`, nothing follows. `unbind(1)` cuts a
# tensor into its time steps, and `addcmul(a, b, c)` is $a + b\,c$.

# %% tags=["two-hours"]
source(reward_to_go, discounted_sum)

# %% [markdown] tags=["two-hours"]
# `S` is seeds: agents that train side by side, because one agent is an anecdote. `T` is time steps. `N` is *lanes*:
# copies of the world that each agent plays at once.

# %% tags=["two-hours", "hide-input"]
reward = torch.tensor([1.0, 2.0, 3.0, 10.0]).view(1, 4, 1)  # [S, T, N]
done = torch.tensor([False, False, True, True]).view(1, 4, 1)
returns = reward_to_go(reward, done, gamma=0.5).flatten()
caption(
    "Rewards of 1, 2, and 3 end an episode, and 10 begins another. With γ = ½, the rewards-to-go are "
    f"{', '.join(f'{x:g}' for x in returns)}: backward, 3 ends its episode, then 2 + ½ · 3, then 1 + ½ · 3.5."
)
torch.testing.assert_close(returns, torch.tensor([2.75, 3.5, 3.0, 10.0]))

# %% [markdown] tags=["two-hours"]
# Here is the library's loop without any trick. Find play, judge, and learn in `train`, and the loss in `policy_loss`.
# The rest is bookkeeping for tricks to come.

# %% tags=["two-hours"]
listing(REINFORCE, "train", "judge", "learn", "policy_loss")

# %% [markdown] tags=["two-hours"]
# ## Five agents
#
# Each gets 40,000 steps of CartPole, at the learning rate that did best on other seeds. The band is a 95% interval for
# their mean.

# %% tags=["two-hours"]
config = at_best_rate(Config("CartPole-v1", seeds=5, steps=40_000), REINFORCE)
run = train(config, REINFORCE)

# %% tags=["two-hours", "hide-input"]
curves({"reinforce": run})
plt.show()
assert run.late().mean() > 2 * run.curve.groupby("seed")["return"].first().mean()

# %% [markdown] tags=["two-hours"]
# It learns, and it wobbles.

# %% [markdown]
# The runs behind this book are longer, have more seeds, and also try Acrobot, where each step costs a point until a
# two-link arm is up. Their score is the **area under the curve**, the mean return over all of training.

# %% tags=["hide-input"]
stored_curves(REINFORCE)
plt.show()
cartpole, acrobot = (study.grid(REINFORCE) for study in studies()[:2])
ends, stuck = cartpole.iloc[:, -1].mean(), (acrobot.mean(axis=1) < -490).mean()
caption(
    f"CartPole's mean ends at {ends:.0f} of 500. On Acrobot, {stuck:.0%} of the seeds score below −490. "
    f"Each curve is a mean of {len(cartpole)} seeds."
)
assert ends < 400 and stuck > 1 / 3

# %% [markdown]
# The program above was one seed. The mean of many stays far from CartPole's ceiling, and on Acrobot more than a third
# of them never get anywhere. Closing this gap is what the tricks are for. One thing they can't replace is a reward: if
# none ever comes, every gradient of REINFORCE is 0.

# %% [markdown]
# ## At a glance
#
# | | |
# |---|---|
# | **problem** | rewards, but no right answers to imitate |
# | **formula** | $\nabla J \approx \mathbb{E}\big[\sum_t G_t\, \nabla \log \pi(a_t \mid s_t)\big]$ |
# | **in the loop** | `objective = log_prob * advantage` <br> `loss = -mean(objective, b.valid)` |
# | **defaults** | $\gamma = 0.99$, one step per batch |
# | **watch** | `entropy`, how undecided the policy is: it should fall slowly |
# | **skip it when** | never; all else is added to it |
# | **also called** | policy gradient; the policy is the *actor*, and what learns from its own data is *on-policy* |

# %% [markdown]
# ## Exercises

# %% [markdown] tags=["two-hours"]
# **Exercise 1: write it.** Compute the rewards-to-go of a single lane. Run the cell to check your version.


# %% tags=["two-hours"]
def my_returns(reward, done, gamma):  # reward, done [T] -> [T]
    ...


check_returns(my_returns)

# %% [markdown] tags=["two-hours"]
# <details><summary>Hint</summary>
#
# Keep one number, what follows. First decide whether anything follows at all.
#
# </details>

# %% [markdown]
# **Exercise 2: think.** Let all three machines pay 100 more: 101, 102, 104. What does that do to $\mathbb{E}[g]$, and
# to the spread of a single $g$? Look: `teach(lambda reward: reward, PAYS + 100)`.
#
# <details><summary>Answer</summary>
#
# $\mathbb{E}[g]$ doesn't change: a constant times the score has mean zero. But the spread of $g$ grows from about 1.5
# to about 49 for the best machine, whose gradient is 0.56.
#
# </details>

# %% [markdown]
# **Exercise 3: spot the bug.** This version runs, and its shapes are right. `planted` trains the library's loop with
# it.

# %%
source(returns_backward)

# %%
with planted(reward_to_go=returns_backward):
    faulty = train(config, REINFORCE)

# %% tags=["hide-input"]
curves({"reinforce": run, "with the bug": faulty})
plt.show()
assert faulty.late().mean() < 0.5 * run.late().mean()

# %% [markdown]
# What's wrong, and which single number would show it?
#
# <details><summary>Hint</summary>
#
# On CartPole every reward is 1. What must $G_t$ be where the pole falls?
#
# </details>
#
# Solutions: [`solutions/00_reinforce.py`](solutions/00_reinforce.py). Next: [a baseline](01_baseline.ipynb).

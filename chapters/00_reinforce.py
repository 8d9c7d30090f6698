# %% [markdown]
# # REINFORCE: learning from reward alone
#
# *Nobody says which action was right. How can a policy still get better?*
#
# A pole stands on a cart. Every fiftieth of a second you push left or right, and as long as the pole stands you get
# a point. Nobody ever tells you "here, left would have been better". There is a score at the end, and that is all.
#
# This chapter derives the one formula that the whole book is built on. It needs a derivative, a logarithm, and the
# idea of an average.

# %%
import matplotlib.pyplot as plt
import torch

from ablations import style
from book import at_best_rate, begin, curves, planted, stored_area, stored_curves, studies
from exercises.reinforce import check_returns, leaking_returns
from tricks import REINFORCE, Config, listing, source, train
from tricks.core.returns import discounted_sum, reward_to_go

begin()

# %% [markdown]
# ## The smallest problem there is
#
# Forget the pole. Here are three slot machines. The first always pays 1, the second 2, the third 4. Your **policy**
# $\pi_\theta(a)$ is a probability for each machine $a$, made from three numbers $\theta$ (the *logits*) by a softmax:
#
# $$\pi_\theta(a) = \frac{e^{\theta_a}}{e^{\theta_1} + e^{\theta_2} + e^{\theta_3}}.$$
#
# What you want is a large **expected reward** $J(\theta) = \sum_a \pi_\theta(a)\, r(a)$. If you knew what every machine
# pays, this would be calculus: compute $\nabla J$, take a step along it, repeat. ($\nabla J$, the gradient, is the list of the
# derivatives of $J$ with respect to each number in $\theta$; $\mathbb{E}$ below is a mean weighted by probabilities.) But you only see the payout of the
# machine that you pulled.
#
# A first idea: whatever you did, do more of it. A second: do more of it *in proportion to what it paid*. Let us try
# both. "Do more of $a$" means to raise $\log \pi_\theta(a)$ with a gradient step.

# %%
PAYS = torch.tensor([1.0, 2.0, 4.0])


def learn(weigh, agents=50, steps=300, rate=0.05):
    """Mean probability of the best machine, step by step, over some agents that start without a preference."""
    torch.manual_seed(0)
    theta, share = torch.zeros(agents, 3, requires_grad=True), []
    for _ in range(steps):
        policy = torch.distributions.Categorical(logits=theta)
        action = policy.sample()
        loss = -(policy.log_prob(action) * weigh(PAYS[action])).sum()
        (grad,) = torch.autograd.grad(loss, theta)
        theta = (theta - rate * grad).detach().requires_grad_()
        share.append(policy.probs[:, 2].mean().item())
    return share


unweighted, weighted = learn(torch.ones_like), learn(lambda reward: reward)

figure, axis = plt.subplots(figsize=(6, 2.6))
axis.plot(unweighted, color=style.SOFT)
axis.plot(weighted, color=style.INK)
axis.text(300, unweighted[-1], "  more of whatever it did", va="center", color=style.SOFT)
axis.text(300, weighted[-1], "  in proportion to the reward", va="center", color=style.INK)
axis.set(xlabel="pull", ylabel="probability of the\nbest machine", ylim=(0, 1))
plt.show()
assert abs(unweighted[-1] - 1 / 3) < 0.15 and weighted[-1] > 0.85

# %% [markdown]
# The first idea goes nowhere: each agent drifts toward what it happened to try, one to this machine and one to that, and on
# average nothing has been learned. The second finds the best machine, though it never compares two machines, and never learns what any of them
# pays. Why does it work?
#
# ## The derivation
#
# Write the gradient of what we want, and pull a $\pi_\theta(a)$ out by force:
#
# $$\nabla_\theta J
#   = \sum_a r(a)\, \nabla_\theta \pi_\theta(a)
#   = \sum_a \pi_\theta(a)\, r(a)\, \frac{\nabla_\theta \pi_\theta(a)}{\pi_\theta(a)}
#   = \sum_a \pi_\theta(a)\, \underbrace{r(a)\, \nabla_\theta \log \pi_\theta(a)}_{\text{computable from one pull}}.$$
#
# The first step moves the gradient inside the sum: $r(a)$ does not depend on $\theta$. The second multiplies and
# divides by $\pi_\theta(a)$. The third is the chain rule for the logarithm, $\nabla \log x = \nabla x / x$.
#
# Now look at the form of the result. It is a sum over actions, weighted by their probabilities: an **expectation**
# under the policy. And expectations can be estimated by sampling. Pull once, get $a$ and $r(a)$, and
#
# $$g = r(a)\, \nabla_\theta \log \pi_\theta(a) \qquad\text{has}\qquad \mathbb{E}[g] = \nabla_\theta J.$$
#
# That was "do more of it, in proportion to what it paid". Every single $g$ is wrong; their average is exactly right.
# Williams (1992) called the family of such algorithms REINFORCE.
#
# ## Check it with numbers
#
# With $\theta = 0$ every machine has probability ⅓ and $J = 7/3$. For a softmax,
# $\partial \log \pi(a) / \partial \theta_k = [a = k] - \pi(k)$, where $[a = k]$ is 1 if $a$ is $k$ and 0 otherwise. So by hand
#
# $$\frac{\partial J}{\partial \theta_k} = \sum_a \pi(a)\, r(a)\, \big([a = k] - \pi(k)\big)
#   = \pi(k)\, r(k) - \pi(k)\, J = \pi(k)\,\big(r(k) - J\big),$$
#
# which is $-\tfrac{4}{9}, -\tfrac{1}{9}, +\tfrac{5}{9}$.

# %%
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

# %% [markdown]
# ## A picture of the mechanism
#
# How wrong is an average of $n$ samples? Below are 400 estimates of the third component, each from $n$ pulls.

# %% tags=["thumbnail"]
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

# %% [markdown]
# The mean of every row is the truth, also of the lowest, where no single estimate comes near it; and the error shrinks with $1/\sqrt{n}$: a hundred times the pulls for a
# tenth of the error. **Unbiased, but noisy.** Remember the width of that first cloud. Most of the chapters that follow
# are about making it narrower, or about not falling over because of it.
#
# ## From one pull to a whole episode
#
# On CartPole you see a state $s_0$, act, get a reward $r_0$, see $s_1$, act again. The policy
# is now a small neural net: a state goes in, a logit for each action comes out, and $\theta$ are all of its weights.
# $\pi_\theta(a|s)$ is the softmax of these logits. An episode
# $\tau = (s_0, a_0, r_0, s_1, a_1, r_1, \dots)$ is one big "pull", and its return $R(\tau) = \sum_t r_t$ is what it pays.
# The same derivation holds with $\tau$ in place of $a$:
#
# $$\nabla_\theta J = \mathbb{E}_\tau\big[R(\tau)\, \nabla_\theta \log p_\theta(\tau)\big].$$
#
# But how probable is an episode? The world deals the start and the transitions, the policy the actions:
#
# $$p_\theta(\tau) = p(s_0) \prod_t \pi_\theta(a_t | s_t)\; p(s_{t+1} | s_t, a_t).$$
#
# You do not know the physics $p(s_{t+1} | s_t, a_t)$, and you do not need to. The logarithm turns the product into a
# sum, and only the policy's terms depend on $\theta$. The rest vanish from the gradient:
#
# $$\nabla_\theta \log p_\theta(\tau) = \sum_t \nabla_\theta \log \pi_\theta(a_t | s_t).$$
#
# **This is why the method needs no model of the world.**
#
# One improvement comes for free. An action cannot change rewards that lie in the past, so they should not count for it.
# The formula agrees. In any state, the score $\nabla \log \pi$ has mean zero:
#
# $$\sum_a \pi_\theta(a|s)\, \nabla_\theta \log \pi_\theta(a|s) = \sum_a \nabla_\theta \pi_\theta(a|s)
#   = \nabla_\theta \sum_a \pi_\theta(a|s) = \nabla_\theta 1 = 0,$$
#
# and a past reward, which is fixed when $a_t$ is drawn, multiplies it by a constant. So those terms only add noise, and
# each action keeps the rewards from its own step on, the **reward-to-go**
#
# $$G_t = r_t + \gamma\, r_{t+1} + \gamma^2 r_{t+2} + \dots = r_t + \gamma\, G_{t+1}.$$
#
# The **discount** $\gamma$ (0.99 here) counts a reward $k$ steps ahead as $\gamma^k$ of itself. It is a compromise: what
# happens in a thousand steps has little to do with this action and a lot to do with luck.
#
# What is minimized is the *loss* $-\frac{1}{n} \sum_t G_t \log \pi_\theta(a_t | s_t)$, with $G_t$ a constant and $n$ the number of steps
# in the batch: its gradient is the estimate with the sign turned, per step instead of per episode.
#
# ## In the library
#
# The right-hand form of $G_t$ says how to compute it: from the last step backward. Where an episode is `done`,
# nothing follows. (`unbind(1)` cuts a tensor into its time steps, and `addcmul(a, b, c)` is $a + b\,c$.)

# %%
source(reward_to_go, discounted_sum)

# %% [markdown]
# The letters are the same everywhere in this library: `S` agents that are trained side by side, each with its own seed
# (one agent is an anecdote), `T` time steps, and `N` copies of the world that each agent plays at once, its *lanes*.
#
# Let us do one by hand. Rewards 1, 2, 3, then the episode ends; a new one begins with a 10. With $\gamma = ½$, from the
# back: $G_3 = 10$. At step 2 the first episode ended, so $G_2 = 3$. Then $G_1 = 2 + ½ \cdot 3 = 3.5$ and
# $G_0 = 1 + ½ \cdot 3.5 = 2.75$.

# %%
reward = torch.tensor([1.0, 2.0, 3.0, 10.0]).view(1, 4, 1)  # [S, T, N]
done = torch.tensor([False, False, True, True]).view(1, 4, 1)
returns = reward_to_go(reward, done, gamma=0.5).flatten()
print(returns.numpy())
torch.testing.assert_close(returns, torch.tensor([2.75, 3.5, 3.0, 10.0]))

# %% [markdown]
# And this is the whole training loop, with every trick switched off. It is not a copy for this page: it is cut from the
# library's own loop, and if you run the text below, you get the same curve. Read it top to bottom. **Play** collects
# episodes, **judge** computes what came of each action, **learn** takes one gradient step. (`Adam` is gradient descent with two additions: it divides
# each weight's step by the recent size of its gradient, so that a step is about as long as the learning rate, and it
# carries some of the last steps along, its *momentum*.)

# %%
listing(REINFORCE)

# %% [markdown]
# ## A small run
#
# Five agents, each with 40,000 steps of CartPole, each step a fiftieth of a second: about 13 minutes of balancing per
# agent. The band is a 95% interval for the mean over agents.

# %%
config = at_best_rate(Config("CartPole-v1", seeds=5, steps=40_000), REINFORCE)
run = train(config, REINFORCE)
curves({"reinforce": run})
plt.show()

first, last = run.curve.groupby("seed")["return"].first().mean(), run.late().mean()
print(f"the first batch of episodes: {first:.0f} points each; the last tenth of training: {last:.0f}")
assert last > 2 * first

# %% [markdown]
# It learns: no teacher, no model of the cart, one formula.
#
# ## What the stored runs say
#
# The ablations of this project have trained this loop longer, with more seeds, at a learning rate that was chosen on
# other seeds. The score in the tables of this book is the **area under the curve**: the mean return over all of training,
# which rewards both learning fast and ending high.

# %%
stored_curves(REINFORCE)
plt.show()

for study in studies()[:2]:
    print(stored_area(study, REINFORCE))
acrobot = studies()[1].grid(REINFORCE).mean(axis=1)
print(f"Acrobot-v1 seeds below -490, all of training long: {(acrobot < -490).sum()} of {len(acrobot)}")

# %% [markdown]
# On CartPole, REINFORCE gets well off the ground and stays far from the ceiling. On Acrobot, where a two-link arm has to
# be swung up and every step costs a point until it is, most of the way is left, and
# some seeds never get anywhere, as the last line says: that is why the band is so wide. This gap is what the tricks are for.
#
# **What it does not say:** that REINFORCE cannot do better. A larger net, other batch sizes or a learning rate off the
# grid of four would give other curves.
#
# ## When it does not help
#
# - **When no reward is ever seen.** If every episode pays 0, every gradient is 0. The policy must stumble on a reward
#   before it can learn from it (the chapter on `entropy` has such a world).
# - **When the noise is larger than the budget.** The estimate's variance grows with the length of an episode and with
#   the size of the rewards, wanted or not. Exercise 2 shows how little it takes, and the next chapter what helps.
# - **When data is expensive.** Each batch of episodes serves one gradient step and is thrown away, because the derivation
#   needs actions drawn from the *current* policy. The chapter on `reuse` bends that rule.
#
# ## Exercises
#
# **Exercise 1: write it.** Compute the rewards-to-go of a single lane, as a loop from the back. Run the cell to see what
# is wrong with your version.


# %%
def my_returns(reward, done, gamma):  # reward, done [T] -> [T]
    ...


check_returns(my_returns)

# %% [markdown]
# **Exercise 2: think.** Let all three machines pay 100 more: 101, 102, 104. What does that do to $\mathbb{E}[g]$? To the
# spread of a single $g$? Change `PAYS` above and look (the assertions that
# fail then are part of the answer).
#
# **Exercise 3: spot the bug.** Here is a version of the rewards-to-go that was once in a real code base. It runs, the
# shapes are right, the loss looks like a loss. Below, the library's loop is trained with it.

# %%
source(leaking_returns)

# %%
with planted(reward_to_go=leaking_returns):
    faulty = train(config, REINFORCE)
curves({"reinforce": run, "with the bug": faulty})
plt.show()
assert faulty.late().mean() < 0.5 * run.late().mean()

# %% [markdown]
# What is wrong, and which single number would you look at to find out? (On CartPole every reward is 1. What must $G_t$ be
# at the step where the pole falls?)
#
# Solutions: [`solutions/00_reinforce.py`](solutions/00_reinforce.py). Next: [a baseline](01_baseline.ipynb), which makes
# the cloud narrower and moves it nowhere.

# %% [markdown]
# # Your own trick
#
# *You have an idea that should make PPO better. How do you find out whether it does?*

# %% [markdown] tags=["two-hours"]
# Here is an idea. Say that one step in a minibatch got lucky and its advantage is a thousand times the usual size. Why
# should it count a thousand times as much? Let every step in the better half of the minibatch count +1, the others −1.
#
# Writing it takes a minute. Then state laws for it, say *beforehand* where it must help and where it must hurt, and
# only then train.

# %% tags=["two-hours", "hide-input"]
from dataclasses import replace

import gymnasium as gym
import matplotlib.pyplot as plt
import numpy as np
import torch
from scipy import stats

from ablations import area, on_grid, style
from chapters.book import begin, label_lines, planted
from chapters.exercises.your_own_trick import check_law, check_ranks, coupled_half
from tricks import PPO, Config, diff, source, train
from tricks.advantage_norm import standardize
from tricks.ladder import switched

begin()

# %% [markdown] tags=["two-hours"]
# ## One function
#
# `S` is seeds, `B` the rows of a minibatch, and `valid` marks the rows that are experience, not padding.


# %% tags=["two-hours", "open"]
def better_half(advantage, valid):
    """sign(A − median A), per seed, over the valid rows. [S, B], [S, B] -> [S, B]."""
    median = advantage.masked_fill(~valid, torch.nan).nanmedian(1, keepdim=True).values
    return (advantage - median).sign()


# %% [markdown] tags=["two-hours"]
# The median of 5, −1, 0, 2, 1000 is 2. So 5 and 1000 become +1, −1 and 0 become −1, and 2 becomes 0.
#
# **Predict.** What does [standardization](06_advantage_norm.ipynb) make of them? Which of the five will the policy
# learn from?

# %% tags=["two-hours", "predict", "hide-input"]
advantage, valid = torch.tensor([[5.0, -1.0, 0.0, 2.0, 1000.0]]), torch.ones(1, 5, dtype=torch.bool)
figure, axis = plt.subplots(figsize=(6.5, 2.4))
for shift, (name, function) in enumerate({"standardized": standardize, "better half": better_half}.items()):
    weight, color = function(advantage, valid)[0], (style.SOFT, style.FAULT)[shift]
    axis.bar(np.arange(5) + 0.4 * shift - 0.2, weight, 0.36, color=color, label=name)
axis.axhline(0, color=style.INK, lw=0.8)
axis.set_xticks(range(5), [f"{a:g}" for a in advantage[0]])
axis.set(xlabel="advantage of the row", ylabel="what it counts for")
axis.legend(frameon=False)
plt.show()
rest = standardize(advantage, valid)[0, :4]
assert (rest < 0).all() and rest.max() - rest.min() < 0.02
torch.testing.assert_close(better_half(advantage, valid), torch.tensor([[1.0, -1.0, -1.0, 0.0, 1.0]]))

# %% [markdown] tags=["two-hours"]
# Standardized, the other four are all but equal and all negative: the 5, which was good, is pushed down as hard as the
# −1.
#
# ## What must always be true
#
# A known answer checks one input; a *law* checks all of them. Three laws for this trick:
#
# 1. **Only the order counts**: any increasing function of the advantages gives the same result.
# 2. **Padding changes nothing.**
# 3. **Seeds don't mix**: each gets the same result in a stack as alone.

# %% tags=["two-hours", "open"]
torch.manual_seed(0)
many = torch.randn(3, 101)
every = torch.ones_like(many, dtype=torch.bool)
signs = better_half(many, every)

for increasing in (torch.exp, lambda x: x**3, lambda x: 1000 * x + 7):
    assert torch.equal(better_half(increasing(many), every), signs)
padded = torch.cat([many, 1e6 * torch.ones(3, 50)], 1)
mask = torch.cat([every, torch.zeros(3, 50, dtype=torch.bool)], 1)
assert torch.equal(better_half(padded, mask)[:, :101], signs)
alone = [better_half(row[None], every[:1]) for row in many]
assert torch.equal(torch.cat(alone), signs)

# %% [markdown] tags=["two-hours"]
# ## Into the loop without a fork
#
# The trick replaces this line:

# %% tags=["two-hours"]
diff(switched([name for name in PPO.on if name != "advantage_norm"]), PPO)

# %% [markdown] tags=["two-hours"]
# No need to edit it yet: `planted(standardize=better_half)` swaps one function that the loop calls for another, as long
# as the `with` block lasts. **Does the switch do anything?** A flag that is read nowhere has "no detectable effect,"
# too.

# %% tags=["two-hours"]
short = Config("CartPole-v1", seeds=2, steps=5_000, lr=0.003)
with planted(standardize=better_half):
    planted_run = train(short, PPO)

# %% tags=["two-hours", "hide-input"]
assert not planted_run.curve["return"].equals(train(short, PPO).curve["return"])

# %% [markdown] tags=["two-hours"]
# ## Where must it help, and where must it hurt?
#
# In one state, all advantages are payoffs $r$ minus the same $V$, so $\hat{A}$ is the sign of $r - m$, with $m$ the
# median payoff. Action $a$ is pushed up in proportion to the mean
#
# $$\mathbb{E}[\hat{A} \mid a] = P(r > m \mid a) - P(r < m \mid a).$$
#
# So the trick prefers the action that beats the median *more often*, not the one that pays more *on average*. That
# tells us what to build: two machines, one pull per episode.
#
# - **static**: the left machine pays 0, the right one 1. One pull in ten pays 1000 more or 1000 less, whatever you did.
# - **lottery**: the left machine pays 1. The right one pays 10 with probability 0.3, otherwise nothing.
#
# By hand: in static, right's mean is 0.9 above left's, while the raw difference of 1 drowns in noise. In the lottery,
# $m = 1$ with both pulled equally often, so left gets 0, and right $0.3 - 0.7 = -0.4$, although it pays 3 on average.
#
# **Predict.** In which world does standardization find the right machine? And `better_half`? Each line shows five
# agents' probability of it.


# %% tags=["two-hours"]
class Machines(gym.Env):
    """Two machines, one pull per episode."""

    observation_space = gym.spaces.Box(-1.0, 1.0, (1,), np.float32)
    action_space = gym.spaces.Discrete(2)

    def __init__(self, pays):
        self.pays = pays

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return np.zeros(1, np.float32), {}

    def step(self, action):
        paid = self.pays(action, self.np_random.random())
        return np.zeros(1, np.float32), paid, True, False, {}


def static(action, luck):
    return float(action) + 1000.0 * ((luck < 0.05) - (luck > 0.95))


def lottery(action, luck):
    return 1.0 if action == 0 else 10.0 * (luck < 0.3)


# %% tags=["two-hours", "predict", "open"]
config = Config("machines", seeds=5, steps=4_000, lr=0.003)
config = replace(config, lanes=4, horizon=64, hidden=(8,))
ends = {}
for pays in (static, lottery):
    for name, function in (("standardized", standardize), ("better half", better_half)):
        with planted(standardize=function):
            run = train(config, PPO, env=lambda pays=pays: Machines(pays))
        chance = run.agent.policy(torch.zeros(5, 1, 1)).softmax(-1)[:, 0, 1]
        ends[pays.__name__, name] = chance.detach().numpy()
        print(f"{pays.__name__:8} {name:13}", ends[pays.__name__, name].round(2))
assert ends["static", "better half"].min() > 0.9 > ends["static", "standardized"].min()
assert ends["lottery", "better half"].max() < 0.1
assert ends["lottery", "standardized"].min() > 0.9


# %% [markdown] tags=["two-hours"]
# In static, `better_half` is more reliable. In the lottery all five agents end up sure of the wrong machine, as
# predicted: **the trick maximizes something else.**

# %% [markdown]
# ## On CartPole
#
# There, nothing is predicted. A fair comparison needs a learning rate for each arm, chosen on seeds that aren't
# reported ([sensitivity](26_sensitivity.ipynb)):


# %% tags=["open"]
def scores(function, seeds, lr):
    """The area under each seed's curve of PPO with this function for `standardize`."""
    setting = Config("CartPole-v1", seeds=seeds, steps=20_000, lr=lr)
    with planted(standardize=function):
        run = train(setting, PPO)
    return area(on_grid(run.curve, setting.steps, run.diverged)).to_numpy()


rates = (0.001, 0.003, 0.01, 0.03)
five_each, tuners = tuple(np.repeat(rates, 5).tolist()), tuple(range(100, 120))
tuning, final = {}, {}
for name, function in (("standardized", standardize), ("better half", better_half)):
    tuning[name] = scores(function, tuners, five_each).reshape(4, 5)
    means = tuning[name].mean(1)
    best = rates[means.argmax()]
    final[name] = scores(function, tuple(range(30)), best)

# %% [markdown]
# **Predict.** Look at the first five seeds only. How wide will the 95% interval of the difference be?


# %% tags=["predict", "thumbnail", "hide-input"]
def compared(seeds):
    """The difference of the arms' means on the first seeds, its 95% interval (Welch), and what it says."""
    having, without = final["better half"][:seeds], final["standardized"][:seeds]
    low, high = stats.ttest_ind(having, without, equal_var=False).confidence_interval()
    return having.mean() - without.mean(), low, high, "helps" if low > 0 else "hurts" if high < 0 else "can't tell"


figure, axes = plt.subplots(1, 2, figsize=(8, 2.6))
for (name, means), color in zip(tuning.items(), (style.SOFT, style.FAULT), strict=True):
    axes[0].plot(rates, means.mean(1), "o-", color=color, ms=4, label=name)
    axes[0].plot(np.repeat(rates, 5), means.ravel(), ".", color=color, alpha=0.4, ms=5)
axes[0].set(xscale="log", xlabel="learning rate (tuning seeds)", ylabel="area under the curve")
axes[0].set_xticks(rates, [f"{lr:g}" for lr in rates])
axes[0].set_xticks([], minor=True)
label_lines(axes[0])
said_of = {}
for y, seeds in enumerate((5, 10, 30)):
    mean, low, high, said_of[seeds] = compared(seeds)
    axes[1].plot([low, high], [y, y], color=style.FAULT)
    axes[1].plot(mean, y, "o", color=style.FAULT)
axes[1].axvline(0, color=style.SOFT, lw=1)
axes[1].set_yticks(range(3), [f"{seeds} seeds: {said}" for seeds, said in said_of.items()])
axes[1].set(ylim=(2.5, -0.5), xlabel="gain in area from better halves")
plt.show()
few, many = (compared(seeds)[2] - compared(seeds)[1] for seeds in (5, 30))
assert few > 1.3 * many
assert said_of == {5: "can't tell", 10: "can't tell", 30: "hurts"}


# %% [markdown]
# With five seeds, the interval is far wider than with thirty. Report their mean alone, and nobody sees how little it
# says. With thirty, harm is detected once, on CartPole, for 20,000 steps, at the rates chosen here. By our own rule,
# thirty other seeds would have to show it again.
#
# ## Make it a flag
#
# If the idea survives, [a file of your own](../docs/your-own.md#a-trick) can make it a flag, without a fork: with
# `--trick mine.py` on the command line, it is trained, compared, and judged like ours. To give it to everybody, with a
# chapter and tests, follow [CONTRIBUTING](../CONTRIBUTING.md#add-a-trick-step-by-step).

# %% [markdown]
# ## At a glance
#
# | | |
# |---|---|
# | **problem** | standardized with one outlier, all other advantages are nearly equal |
# | **formula** | $\hat{A}_i = \operatorname{sign}(A_i - \operatorname{median} A)$ |
# | **in the loop** | `advantage = standardize(advantage, b.valid)` is the line that it replaces |
# | **defaults** | none; it has no number to tune |
# | **watch** | `approx_kl`: every row now pulls equally hard |
# | **skip it when** | it matters *how much* better an action is |
# | **also called** | a relative of *fitness shaping* by ranks (Wierstra et al. 2014) |

# %% [markdown]
# ## Exercises

# %% [markdown] tags=["two-hours"]
# **Exercise 1: write it.** Signs throw a lot away. Ranks keep more: replace the $B$ advantages of a minibatch by their
# ranks, scaled so that the worst is −1 and the best +1. Assume that they are all different.


# %% tags=["two-hours"]
def my_ranks(advantage):  # [B] -> [B]
    ...


check_ranks(my_ranks)

# %% [markdown] tags=["two-hours"]
# <details><summary>Hint</summary>
#
# `argsort` tells you which row has rank 0, rank 1, and so on. You want the inverse: which rank each row has. So
# `argsort` again.
#
# </details>

# %% [markdown] tags=["two-hours"]
# **Exercise 2: your own.** Does rank beat sign in the lottery? Predict it from $\mathbb{E}[\hat{A} \mid a]$ before you
# train. To plant ranks, rank each seed's valid rows by themselves, and break ties by a tiny random number. Then take an
# idea of your own through the same steps.
#
# <details><summary>Answer</summary>
#
# No. Ranks also see only the order: right has 70% of its pulls at the bottom and 30% at the top, left has all in the
# middle. On the scale from −1 to +1, right's mean rank is 0.4 below left's.
#
# </details>

# %% [markdown]
# **Exercise 3: write the law that catches a bug.** Here the median is taken over the wrong thing:

# %%
source(coupled_half)

# %% [markdown]
# With a single seed it *is* right. The law above compares each seed alone with the stack. Write another that never
# leaves the stack: change what one seed got, and the other seeds' results must stay the same. Return whether that holds
# for `f`, whichever seed you change.


# %%
def my_law(f):  # a function of advantage [S, B] and valid [S, B] -> True or False
    ...


check_law(my_law)

# %% [markdown]
# <details><summary>Hint</summary>
#
# Make up two seeds whose advantages lie far apart. Multiply one row by −2, and compare what `f` makes of the other row
# before and after. Then swap their roles.
#
# </details>

# %% [markdown]
# Solutions: [`solutions/28_your_own_trick.py`](solutions/28_your_own_trick.py). Next: [the same loop on a language
# model](29_language.ipynb).

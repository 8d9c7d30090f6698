# %% [markdown]
# # GRPO: what the group does, and what σ does to it
#
# *Everybody divides by the group's standard deviation. What for?*

# %% [markdown] tags=["two-hours"]
# GRPO (Shao et al. 2024, arXiv:2402.03300) was introduced with DeepSeekMath, and later trained DeepSeek-R1. You know
# most of it: the ratio, the clip, the group's mean as the baseline. New is that each advantage is divided by the
# standard deviation $\sigma$ of its group. Below, agents can say `safe` or `risky`. The safe word earns
# 1. The risky one earns 20 one time in ten, so it is worth twice as much. Ten agents have RLOO's advantages, ten
# GRPO's.

# %% tags=["hide-input", "two-hours"]
from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np
import torch

from ablations import interval, style
from chapters.book import begin, planted
from chapters.exercises.grpo import check_weights, deviations
from tricks import Config, diff, source, train
from tricks.core.rollout import play_episodes
from tricks.group_norm import in_deviations
from tricks.ladder import PRESETS, switched
from tricks.mixed_groups import has_contrast
from tricks.worlds.odds import ODDS

begin()
COLOR = style.COLORS["group_norm"]
IMITATE = switched(("imitate", "lr_anneal"))
CENTERED, DIVIDED = switched(("group_baseline",)), switched(("group_baseline", "group_norm"))
PROMPTS = ("easy", "even", "hard")

odds = Config("tricks/Odds-v0", seeds=10, steps=20_000, lanes=128, horizon=1, hidden=(8,), gamma=1.0, lr=0.01)
start = train(odds, IMITATE)
WINDOWS = ODDS.observe(torch.tensor([[2.0, -1.0], [3.0, -1.0], [4.0, -1.0]])).expand(10, 3, -1)


def yes(run):
    """Each agent's probability of `yes` for the easy, the even, and the hard prompt: [10, 3]."""
    return run.agent.policy(WINDOWS).softmax(-1)[..., 0].detach()


def stakes(*arguments):
    """`yes` pays 20 with probability 0.1, and `no` pays 1."""
    rollout = play_episodes(*arguments)
    wins = torch.from_numpy(luck.random(rollout.reward.shape)) < 0.1
    said_yes = rollout.action.view(rollout.reward.shape) == 0
    return replace(rollout, reward=torch.where(said_yes, 20.0 * wins, 1.0) * rollout.done)


def learned(tricks, steps=12_800, plays=play_episodes, begins=start, **numbers):
    """Ten agents that start from the imitators."""
    with planted(play_episodes=plays):
        return train(replace(odds, steps=steps, **numbers), tricks, start=begins.agent)


risks = {}
for name, tricks in (("centered", CENTERED), ("divided by σ", DIVIDED)):
    luck = np.random.default_rng(0)
    risks[name] = yes(learned(tricks, steps=40_000, plays=stakes, lr=0.003))[:, 1]
figure, axis = plt.subplots(figsize=(6, 1.7))
for row, chance in enumerate(risks.values()):
    axis.plot(chance, [row] * 10, "o", color=(style.SOFT, COLOR)[row], alpha=0.5)
axis.set_yticks(range(2), list(risks))
axis.set(xlim=(-0.02, 1.02), ylim=(1.5, -0.5), xlabel="probability of the better, risky word after training (agents)")
plt.show()
print(", ".join(f"{name}: {chance.mean():.2f} on average" for name, chance in risks.items()))
assert risks["centered"].mean() > 0.8 and risks["divided by σ"].max() < 0.2

# %% [markdown] tags=["two-hours"]
# All ten that divide by $\sigma$ learn the wrong word. Yet this is how GRPO was published, and how many use it. So what
# does $\sigma$ do, why is it there, and when is it safe to keep?
#
# ## All of GRPO on one page
#
# From RLOO to GRPO, flag by flag:

# %% tags=["two-hours"]
diff(PRESETS["rloo"], PRESETS["grpo"])

# %% [markdown] tags=["two-hours"]
# | | `rloo` | `grpo` |
# |---|---|---|
# | advantage | $R_i$ minus the mean of the others | $(R_i - \bar R) / \sigma$ |
# | ratio | none: one step per batch | per token, [clipped](03_clip.ipynb), over [several steps](02_reuse.ipynb) |
# | a reply's tokens | summed | averaged |
# | KL from a reference | in the reward | in the loss |
#
# The last two rows belong to [the next chapter](31_limits.ipynb). What remains is this:

# %% tags=["two-hours"]
source(in_deviations)

# %% [markdown] tags=["two-hours"]
# By hand: two groups of four. In one, the replies earn 1, 0, 0, 0, in the other 1, 1, 0, 0. Their means are ¼ and ½;
# their deviations, with $n - 1$ in the denominator, are ½ and 0.577. So the one right reply of the first group gets
# 1.5, and each right one of the second gets 0.87. Without $\sigma$ that's ¾ and ½. A group in which all four agree gets
# 0.

# %% tags=["open", "two-hours"]
earned = torch.tensor([1.0, 0, 0, 0, 1, 1, 0, 0, 1, 1, 1, 1]).view(1, 1, 12)
centered = earned - earned.view(3, 4).mean(1).repeat_interleave(4)
divided = in_deviations(centered * 4 / 3, group=4)  # it takes leave-one-out advantages
wanted = torch.tensor([1.5, -0.5, -0.5, -0.5, 0.866, 0.866, -0.866, -0.866, 0, 0, 0, 0])
torch.testing.assert_close(divided.flatten(), wanted, atol=1e-3, rtol=0)

# %% [markdown]
# ## What $\sigma$ does to a prompt's weight
#
# Rewards are 1 or 0. For a prompt whose replies are right with probability $p$, the policy's slope along the logit of
# *right* is
#
# $$\underbrace{p \cdot (1 - p)(1 - p)}_{\text{right: } A = 1 - p,\ \text{score } 1 - p}
#   + \underbrace{(1 - p) \cdot (-p)(-p)}_{\text{wrong: } A = -p,\ \text{score } -p} = p (1 - p).$$
#
# That is the true gradient of $p$. The rewards' variance is $p(1-p)$, too. So dividing by $\sigma$ leaves
#
# $$\frac{p (1 - p)}{\sqrt{p (1 - p)}} = \sqrt{p (1 - p)} .$$

# %% tags=["thumbnail", "hide-input"]
p = torch.linspace(0, 1, 201)
figure, axis = plt.subplots(figsize=(6, 2.6))
for weight, name, color in (
    (p * (1 - p) * 4, "p(1 − p)", style.SOFT),
    ((p * (1 - p)).sqrt() * 2, "√(p(1 − p))", COLOR),
):
    axis.plot(p, weight, color=color)
    at = (0.25, 0.66) if color == style.SOFT else (0.73, 0.94)
    axis.text(*at, name, color=color, weight="bold")
for right, name in zip((0.95, 0.5, 0.05), PROMPTS, strict=True):
    axis.axvline(right, ymax=0.93, color=style.FAINT, lw=1, zorder=0)
    axis.text(right, 1.14, name, ha="center", color=style.SOFT)
axis.set(xlabel="how often the prompt is answered right", ylabel="weight, 1 at p = ½", ylim=(0, 1.2))
plt.show()
hard = torch.tensor(0.05)
gain = (hard * (1 - hard)).rsqrt() / 2
print(f"against even prompts, those at 0.05 and 0.95 gain a factor of {gain:.2f}")
assert 2.2 < gain < 2.4

# %% [markdown]
# So $\sigma$ turns up easy and hard prompts. Liu et al. (2025, arXiv:2503.20783) call that a bias and leave it out, in
# Dr. GRPO. Others like it, because hard prompts are where there's something to learn. Both speak of *gradients*.
#
# ## What the optimizer makes of it
#
# Ten agents imitate a demonstrator that says `yes` to easy, even, and hard prompts with probability 0.95, 0.5, and
# 0.05. `yes` pays. Four sets train on from there: with and without $\sigma$, under Adam and under gradient descent with
# momentum, which is Adam with an enormous $\epsilon$. In groups of eight, $\sigma$ multiplies the slope of even prompts
# by 1.74. A fifth set has a learning rate that is smaller by this factor, so that even prompts begin with the same
# slope.
#
# **Predict.** For the hard prompt: by how much is `yes` likelier with $\sigma$, under each optimizer?

# %%
ADAM, DESCENT = {"lr": 0.003}, {"lr": 100.0, "adam_eps": 1e4}
slower = DESCENT | {"lr": 100.0 / 1.74}
runs = {
    "descent, centered": learned(CENTERED, **DESCENT),
    "descent, divided": learned(DIVIDED, **DESCENT),
    "descent, divided, smaller rate": learned(DIVIDED, **slower),
    "Adam, centered": learned(CENTERED, steps=6_400, **ADAM),
    "Adam, divided": learned(DIVIDED, steps=6_400, **ADAM),
}

# %% tags=["predict", "hide-input"]
found = {name: yes(run) for name, run in runs.items()}
figure, axis = plt.subplots(figsize=(7, 2.6))
for row, (name, chance) in enumerate(found.items()):
    color = COLOR if "divided" in name else style.SOFT
    for k in range(3):
        axis.plot(chance[:, k], [row] * 10, "o", color=color, ms=4, alpha=0.4)
        if row == 0:
            axis.text(
                chance[:, k].mean(), -0.75, PROMPTS[k], ha="center", color=style.INK, bbox={"fc": "white", "ec": "none"}
            )
axis.set_yticks(range(5), list(found))
axis.set(ylim=(4.5, -1.1), xlim=(0, 1.02), xlabel="probability of the right answer after training (dots: agents)")
plt.show()
for name, chance in found.items():
    print(f"{name:32}", ", ".join(f"{p} {x:.3f}" for p, x in zip(PROMPTS, chance.mean(0).tolist(), strict=True)))
gains = {}
for kind in ("descent", "Adam"):
    difference = (found[f"{kind}, divided"] - found[f"{kind}, centered"])[:, 2].numpy()
    gains[kind] = interval(difference)
    print(f"{kind}, hard prompts, divided minus centered: {difference.mean():+.3f}", end=" ")
    print(f"[{gains[kind][0]:+.3f}, {gains[kind][1]:+.3f}]")
assert gains["descent"][0] > 0.1 and max(abs(gains["Adam"][0]), abs(gains["Adam"][1])) < 0.03
left = (found["descent, divided, smaller rate"] - found["descent, centered"])[:, 2].numpy()
gains["smaller rate"] = interval(left)
print(f"at the smaller rate: {left.mean():+.3f} [{gains['smaller rate'][0]:+.3f}, {gains['smaller rate'][1]:+.3f}]")
assert gains["smaller rate"][0] > 0 and gains["smaller rate"][1] < 0.2 * gains["descent"][0]
by_group = [check_weights.right(right, 8) / (right * (1 - right)) for right in (0.05, 0.5)]
print(f"groups of eight without a right reply: {0.95**8:.0%}; factors {by_group[0]:.2f} and {by_group[1]:.2f}")
assert [round(factor, 2) for factor in (*by_group, by_group[0] / by_group[1])] == [2.31, 1.74, 1.33]

# %% [markdown] tags=["predict"]
# Under gradient descent, $\sigma$ makes hard prompts learn much faster. But look at the third row: at the smaller rate,
# about a tenth of that is left. **Here, $\sigma$ is mostly a larger step.** Where is the factor of 2.29? It holds for
# large groups. A group of eight with any contrast has a $\sigma$ of at least 0.35, where $\sqrt{p(1 - p)}$ is 0.22: it
# can't see how rare its one right reply is. In groups of eight, hard prompts gain a factor of 2.31 and even ones 1.74.
# Between them, that leaves 1.33, which you will derive in exercise 1.
#
# Under Adam, hardly anything happens at all. Our explanation: $\sigma$ is mostly a larger step, and Adam's steps hardly
# depend on the size of a gradient. In a large model, prompts share most weights, and $\sigma$ may matter more. We
# haven't tried it.

# %% [markdown] tags=["two-hours"]
# ## Where it does harm
#
# With rewards of 0 and 1, $\sigma$ and the gradient agree in sign. With other rewards they need not: [chapter
# 6](06_advantage_norm.ipynb) has the derivation. What makes a group's gradient large, a rare win, makes its $\sigma$
# large as well, and so the win is divided away. Most groups of eight contain no win and push toward `safe` at full
# strength. In this chapter's first example, the mean slope toward the risky word is negative up to groups of 32.
#
# You need no lottery for that. Pay a bonus of 0.1 for the right format: in a group without a right answer, the bonus is
# divided by its own $\sigma$, and so counts as much as a right answer does elsewhere. **Dividing keeps the sign where
# rewards have the same two values; where stakes differ, it may not.**


# %% tags=["hide-input", "two-hours"]
def mean_slope(group, chance=0.1, prize=20.0, divide=True):
    """The mean gradient of the risky word's logit, over everything a group can be, without preference: exact."""
    total, one = 0.0, torch.tensor(1.0)
    for safe in range(group + 1):
        for wins in range(group + 1 - safe):
            counts = torch.tensor([safe, wins, group - safe - wins])
            odds_of = torch.tensor([0.5, 0.5 * chance, 0.5 * (1 - chance)])
            ways = torch.lgamma(one + group) - torch.lgamma(counts + 1.0).sum()
            likely = (ways + (counts * odds_of.log()).sum()).exp()
            pays = torch.tensor([1.0, prize, 0.0]).repeat_interleave(counts)
            worth = (pays - pays.mean()).view(1, 1, -1) * group / (group - 1)
            if divide:
                worth = in_deviations(worth, group)
            score = torch.tensor([-0.5, 0.5, 0.5]).repeat_interleave(counts)
            total += (likely * (worth.flatten() * score).mean()).item()
    return total


slopes = [mean_slope(size) for size in (4, 8, 16, 32, 64)]
assert abs(mean_slope(8, divide=False) - 0.25) < 1e-3 and max(slopes[:4]) < 0 < slopes[4]

# %% [markdown] tags=["two-hours"]
# ## A group that agrees
#
# A group whose replies all earned the same has advantages of 0. Its rows still count in the mean over the batch, so
# they make the step shorter. `mixed_groups` leaves them out:

# %% tags=["two-hours"]
source(has_contrast)

# %% [markdown]
# DAPO (Yu et al. 2025, arXiv:2503.14476) does that and samples other prompts in their place. If Adam undoes a factor
# of the gradient, what is left of the trick when nothing is sampled in their place?
#
# **Predict.** Ten agents under Adam, ten under gradient descent, each with and without `mixed_groups`: who gains?

# %%
MIXED = switched(("group_baseline", "mixed_groups"))
pairs = {"Adam": ADAM | {"steps": 6_400}, "descent": DESCENT}
left_out = {kind: learned(MIXED, **numbers) for kind, numbers in pairs.items()}

# %% tags=["predict", "hide-input"]
for kind, run in left_out.items():
    difference = (yes(run) - found[f"{kind}, centered"])[:, 2].numpy()
    low, high = interval(difference)
    mixed = run.curve.groupby("update").mixed_share.mean()
    print(f"{kind:8} hard prompts, {difference.mean():+.3f} [{low:+.3f}, {high:+.3f}];", end=" ")
    print(f"mixed groups: {mixed.iloc[0]:.0%} at first, {mixed.iloc[-1]:.0%} in the end")
    gains[f"mixed, {kind}"] = low, high
assert gains["mixed, descent"][0] > 0

# %% [markdown] tags=["predict"]
# Under gradient descent, leaving groups out makes the step longer, so agents learn faster, as they would at a higher
# rate. Under Adam, hard prompts gain a hundredth: a factor that is the same for all batches would be undone, but this
# one varies from batch to batch. A group without contrast costs the time that its replies took, and makes the mean
# smaller. Sampling other prompts instead buys signal for more time.

# %% [markdown]
# It doesn't help
#
# - **to divide under Adam,** in this toy. Nothing changes.
# - **to divide where stakes differ.** It can turn the sign.
# - **to leave out groups when most are mixed.** There's nothing to leave out.

# %% [markdown]
# ## At a glance
#
# | | |
# |---|---|
# | **problem** | prompts are not equally hard, and gradients of very easy and very hard ones are small |
# | **formula** | $A_i = (R_i - \bar R)/(\sigma + \epsilon)$ within each group |
# | **in the loop** | `advantage = in_deviations(advantage, config.group)` |
# | **defaults** | $\epsilon = 10^{-4}$, and $\sigma$ with $G - 1$, as in TRL |
# | **watch** | `mixed_share`: the share of groups that say anything |
# | **skip it when** | rewards aren't all from the same two values |
# | **evidence** | `group_norm`: Not tried in the usual environments. It hurts in 1 of 2 trials in worlds made for it, as predicted. <br> `mixed_groups`: Not tried in the usual environments. It does practically nothing in the one world made for it, as predicted. |
# | **also called** | `scale_rewards` in TRL's `GRPOTrainer` |

# %% [markdown]
# ## Exercises
#
# **Exercise 1: write it.** What is the expected weight of a prompt in a group of $G$, exactly? Return the mean slope
# along the logit of *right* when advantages are $(R_i - \bar R)/\sigma$, with $\sigma$ as in the library, but without
# $\epsilon$; a group that agrees counts 0. The number of right replies is binomial.


# %%
def my_weight(p, group):  # numbers -> a number
    ...


check_weights(my_weight)

# %% [markdown]
# <details><summary>Hint</summary>
#
# With $k$ of $G$ right, what are the two advantages? What is the mean of advantage times score? Then sum over $k$ with
# `math.comb`.
#
# </details>
#
# **Exercise 2: predict a variant.** Some divide by the standard deviation of the whole *batch*, after subtracting each
# group's mean, as REINFORCE++ with a baseline does. What becomes of a prompt's weight then? Can the sign still flip?
#
# <details><summary>Answer</summary>
#
# All prompts are divided by the same number, so $p(1-p)$ stays. And in a large batch, $\sigma$ hardly depends on one
# group's luck, so the covariance is small and the sign is right.
#
# </details>

# %% [markdown]
# **Exercise 3: spot the bug.** Some code standardizes like this. Its docstring says "per group."

# %%
source(deviations)

# %% [markdown]
# With one prompt per batch it's right. What happens to a prompt that is always answered right, in a batch with others?
# Give an example of two groups.
#
# <details><summary>Hint</summary>
#
# Which mean does it subtract?
#
# </details>
#
# Solutions: [`solutions/30_grpo.py`](solutions/30_grpo.py). Next: [lengths, limits, and leashes](31_limits.ipynb).

# %% [markdown]
# # The same loop on a language model
#
# *A reply of five words earned 11 points. Was that good? And who pays for a second network just to find out?*

# %% [markdown] tags=["two-hours"]
# A language model writes one token after another, and at the end somebody says what the reply is worth. You know that
# setting: a **token** is an action, the text so far is the state, a **reply** is an episode, and $\gamma = 1$. So this
# chapter needs no new loop. Below, two sets of ten tiny language models learn to add with plain REINFORCE. One is paid
# 1 for a right answer and 0 for a wrong one, the other 11 and 10.

# %% tags=["hide-input", "two-hours"]
from dataclasses import replace

import matplotlib.pyplot as plt
import torch

from ablations import interval, style
from chapters.book import begin, label_lines, planted
from chapters.book.replies import draw_replies, replies, shifted
from chapters.exercises.language import check_advantages, group_mean
from tricks import Config, diff, source, train
from tricks.core.transformer import Transformer
from tricks.group_baseline import leave_one_out
from tricks.imitate import equally_good
from tricks.ladder import REINFORCE, switched

begin()
COLOR = style.COLORS["group_baseline"]
IMITATE, RLOO = switched(("imitate", "lr_anneal")), switched(("group_baseline",))
VALUE = switched(("baseline",))

shown = Config("tricks/SumsShown-v0", seeds=10, steps=150_000, lanes=64, horizon=5, gamma=1.0)
shown = replace(shown, hidden=(128,), activation="relu", lr=0.03)
sums = replace(shown, env="tricks/Sums-v0", lanes=128, horizon=1, steps=30_000, lr=0.003)
start = train(sums, IMITATE, start=train(shown, IMITATE).agent)
config = replace(sums, steps=32_000)
assert (config.lanes, config.group, config.lr, config.hidden) == (128, 8, 0.003, (128,))


def learned(tricks, extra=0.0, **numbers):
    """Ten agents that start from the imitators, paid `extra` more per reply."""
    with planted(play_episodes=shifted(extra)):
        return train(replace(config, **numbers), tricks, start=start.agent)


def by_update(run, column):
    """Each agent's curve over the first 60 updates, or as many as all have: [updates, agents]."""
    return run.curve.pivot(index="update", columns="seed", values=column).iloc[:60].dropna()


def draw_updates(runs, column, axis, colors):
    """Mean over agents against updates, with its 95% interval."""
    for (name, run), color in zip(runs.items(), colors, strict=True):
        rows = by_update(run, column)
        low, high = interval(rows.T.to_numpy())
        axis.plot(rows.mean(axis=1), color=color, label=name)
        axis.fill_between(rows.index, low, high, color=color, alpha=0.2, lw=0)
    axis.set_xlabel("updates of 128 replies")
    label_lines(axis)


runs = {"paid 0 or 1": learned(REINFORCE), "paid 10 or 11": learned(REINFORCE, 10.0)}
figure, axis = plt.subplots(figsize=(6.5, 2.6))
draw_updates(runs, "length", axis, (style.INK, style.FAULT))
axis.set(ylabel="words per reply", ylim=(2, 5.2))
plt.show()
score = {name: replies(run).score.mean(1) for name, run in runs.items()}
print("share of right answers in the end:", ", ".join(f"{name}: {x.mean():.2f}" for name, x in score.items()))
assert score["paid 0 or 1"].min() > 0.7 > 0.45 > score["paid 10 or 11"].mean()

# %% [markdown] tags=["two-hours"]
# When replies are paid 0 or 1, they become right, and longer, which we will come to. But with ten points more for every
# reply, right or wrong, almost nothing is learned: the failure of [chapter 1](01_baseline.ipynb) again. Rewards of 0
# and 1 hide it. A *reward model*, a net that learned to judge replies, doesn't, since its zero means nothing. Chapter
# 1's cure, a value net, would be a second language model, as large as the first. There is a cheaper way.
#
# ## The model, and where it starts
#
# A prompt is four digits. A reply is right if its last digit before `end` is their sum modulo 5. The policy sees a
# window of one-hot tokens, 11 places with 7 words each, and has one hidden layer of 128 (Bengio et al. 2003). Every
# update takes 128 replies, 8 to a prompt; all arms run at one rate, 0.003, for 32,000 tokens.
#
# Nobody starts from random weights. First the model **imitates** demonstrations: play what the demonstrator would do,
# and set every advantage to 1. Then REINFORCE's loss $-\mathbb{E}[A \log \pi]$ is $-\mathbb{E}[\log \pi]$, the
# cross-entropy that all language models are pretrained with.

# %% tags=["two-hours"]
source(equally_good)

# %% [markdown] tags=["two-hours"]
# Our demonstrator guesses nine times out of ten, at once. One time in ten it says `think`, writes down the partial
# sums, and is mostly right. The imitators do the same, about as often. Before that they imitated 150,000 tokens of one
# that always thinks. So they know how to add; what is rare is that they do.

# %% tags=["hide-input", "two-hours"]
before = replies(start)
thinks = before.windows.unflatten(2, (11, 7))[:, :, 4, -1] == 1  # the first word after the prompt
r, g = (before.score[kind].mean().item() for kind in (thinks, ~thinks))
print(f"of the imitators' replies, {thinks.float().mean():.0%} think; right: {r:.2f} of those, {g:.2f} of the others")
assert 0.05 < thinks.float().mean() < 0.2 and r > 0.5 > 0.25 > g

# %% [markdown] tags=["two-hours"]
# ## A baseline from the other replies
#
# A baseline may be anything that doesn't depend on the action. So ask the model the same prompt $G$ times, and compare
# each reply with *the others*:
#
# $$A_i = R_i - \frac{1}{G - 1} \sum_{j \ne i} R_j .$$
#
# Given the prompt, the other replies are drawn independently of reply $i$. With $b_i$ their mean and $\nabla_i$ the
# gradient of $\log \pi$ of reply $i$,
#
# $$\mathbb{E}[b_i \nabla_i] = \mathbb{E}[b_i]\, \mathbb{E}[\nabla_i] = 0,$$
#
# because a score has mean 0. So nothing is biased, and no value net is needed. This is REINFORCE leave-one-out, RLOO
# (Kool et al. 2019; Ahmadian et al. 2024). Its advantages sum to 0 in each group, and any constant on top of all
# rewards cancels.
#
# By hand: four replies earn 1, 0, 0, 1. The first is compared with 1/3, so $A = 2/3$. The second is compared with 2/3,
# so $A = -2/3$.

# %% tags=["open", "two-hours"]
returns = torch.tensor([1.0, 0.0, 0.0, 1.0]).view(1, 1, 4)  # [S, T, N]
worth = leave_one_out(returns, group=4)
torch.testing.assert_close(worth.flatten(), torch.tensor([2, -2, -2, 2]) / 3)
torch.testing.assert_close(leave_one_out(returns + 10, group=4), worth)

# unbiased: all 3 x 3 outcomes of a group of two, each times its probability
logits = torch.tensor([0.5, -1.0, 0.2], requires_grad=True)
pays = torch.tensor([3.0, 1.0, 7.0])
probs = logits.softmax(0)
(exact,) = torch.autograd.grad(probs @ pays, logits, retain_graph=True)
pairs = torch.cartesian_prod(torch.arange(3), torch.arange(3))  # [9, 2]
worth = leave_one_out(pays[pairs].unsqueeze(1), group=2).squeeze(1)
likely = probs[pairs].prod(1).detach()
mean_loss = (likely * (worth * probs.log()[pairs]).mean(1)).sum()
torch.testing.assert_close(torch.autograd.grad(mean_loss, logits)[0], exact)
print("unbiased: the mean of all nine outcomes is the exact gradient")

# %% [markdown] tags=["two-hours"]
# In the loop it is one line, and one episode per lane:

# %% tags=["two-hours"]
diff(REINFORCE, RLOO)

# %% [markdown] tags=["two-hours"]
# ## Ten points more
#
# **Predict.** Ten agents with leave-one-out, paid 0 or 1, and ten more, paid 10 or 11. How far apart are their curves?
# And how does a value net do, paid 10 or 11?

# %% tags=["predict", "thumbnail", "hide-input", "two-hours"]
groups = {extra: learned(RLOO, extra) for extra in (0.0, 10.0)}
arms = {"value net": learned(VALUE, 10.0), "no baseline": runs["paid 10 or 11"], "leave-one-out": groups[10.0]}
figure, axes = plt.subplots(1, 2, figsize=(7.4, 2.7))
palette = (style.COLORS["baseline"], style.FAULT, COLOR)
draw_updates(arms, "length", axes[0], palette)
axes[0].set(ylabel="words per reply", ylim=(2, 5.2))
right = {name: replies(run).score.mean(1) for name, run in arms.items()}
for row, shares in enumerate(right.values()):
    axes[1].plot(shares, [row] * 10, "o", color=palette[row], alpha=0.5)
axes[1].set_yticks(range(3), list(right))
axes[1].set(xlabel="right in the end (dots: agents)", xlim=(0, 1), ylim=(2.5, -0.5))
plt.show()
same = (by_update(groups[0.0], "length") - by_update(groups[10.0], "length")).abs().max().max()
print("paid 10 or 11, right in the end:", ", ".join(f"{name} {x.mean():.2f}" for name, x in right.items()))
print(f"leave-one-out, paid 0 or 1 beside 10 or 11: lengths differ by {same:.3f} words at most")
assert right["leave-one-out"].min() > max(right["no baseline"].max(), right["value net"].max())
assert same < 1e-6

# %% [markdown] tags=["predict", "two-hours"]
# Leave-one-out doesn't notice the ten points: the two curves are the same. The value net gets only part of the way with
# the same number of tokens, perhaps because it first has to learn the 10. A value net that must output 10 is a case for
# [return normalization](08_return_norm.ipynb). The mean of the whole batch, as in [chapter 6](06_advantage_norm.ipynb),
# would remove ten points as well, but not what makes one prompt pay more than another.

# %% [markdown] tags=["two-hours"]
# With rewards of 0 and 1, on the other hand, it is hard to see any difference:

# %% tags=["hide-input", "two-hours"]
plain = {"no baseline": runs["paid 0 or 1"], "value net": learned(VALUE), "leave-one-out": groups[0.0]}
for name, run in plain.items():
    found = replies(run).score.mean(1)
    print(f"paid 0 or 1, {name:13} right in the end: {found.mean():.2f} ± {found.std() / 10**0.5:.2f}")
    assert found.mean() > 0.8
nets = groups[0.0].agent
sizes = [sum(p[0].numel() for p in net.parameters()) for net in (nets.policy_net, nets.value_net)]
print(f"weights of the policy: {sizes[0]:,}; of the value net: {sizes[1]:,}")

# %% [markdown] tags=["two-hours"]
# So here a value net costs as many weights as the policy and buys nothing that ten agents could show. A value net has a
# different virtue: it can tell good tokens from bad ones *within* a reply, where leave-one-out gives all of them the
# same advantage. With replies of five tokens there's little to tell apart.
#
# ## Nobody asked it to think
#
# Here are an imitator's replies and those of the same agent after training, to the same prompts, each with its
# advantage in its group of four: green if it is praised, red if it is blamed. The first two prompts have replies of
# both kinds before training, the third after it.

# %% tags=["hide-input", "two-hours"]
after, first = (replies(run, lanes=400, group=4) for run in (groups[0.0], start))
pair = [("before", first), ("after", after)]
advantages = [leave_one_out(each.score.unsqueeze(1), 4).squeeze(1) for _, each in pair]
contrast = [worth[0].view(-1, 4).any(1) for worth in advantages]
told = [*contrast[0].nonzero()[:2, 0].tolist(), *contrast[1].nonzero()[:1, 0].tolist()]
draw_replies(pair, [4 * k + each for k in told for each in range(4)], advantages)
plt.show()
end = replies(groups[0.0])
for name, each in (("before", before), ("after", end)):
    print(f"{name:6} {each.score.mean():.2f} right, {each.length.float().mean():.2f} words per reply")
assert before.score.mean() < 0.3 and end.score.mean() > 0.8
assert before.length.float().mean() < 2.6 and end.length.float().mean() > 4.8

# %% [markdown] tags=["two-hours"]
# The reward never mentions `think`. Why does the model learn to say it? Let $s$ be the share of replies that work step
# by step, $r$ how often those are right, and $g$ how often guesses are. Then $J = s\,r + (1 - s)\,g$. If $s$ is the
# sigmoid of a logit $z$, its slope is $s(1-s)$, so
#
# $$\frac{\partial J}{\partial z} = s (1 - s)(r - g).$$
#
# That's positive as soon as steps are right more often than guesses, and largest at $s = ½$. So $s$ follows an S: slow,
# fast, slow. First replies get longer; then they get right. **Long reasoning appears because it pays.** DeepSeek-AI
# (2025, arXiv:2501.12948) saw replies grow in a large model, where part of that may be the mean in the loss; see
# [chapter 31](31_limits.ipynb). For the same reason it *wouldn't* appear if $r < g$, or if $s$ were 0: a policy
# gradient can only make likelier what is sampled.
#
# $J$ improves by one more route: within replies that think, each partial sum gets more careful.

# %% tags=["hide-input", "two-hours"]
begun = {}  # the update in which each agent is half of the way up
for column in ("length", "return"):
    rows = by_update(groups[0.0], column)
    begun[column] = ((rows - rows.iloc[0]) / (rows.max() - rows.iloc[0]) > 0.5).idxmax().to_numpy()
low, high = interval(begun["return"] - begun["length"])
means = f"length in update {begun['length'].mean():.1f}, right answers in update {begun['return'].mean():.1f}"
print(f"half of the way: {means}; apart by {low:.1f} to {high:.1f} (95%)")
assert low > 0
chance = end.length.eq(5)
print(f"right if it thinks: {r:.2f} before, {end.score[chance].mean():.2f} after")
assert end.score[chance].mean() > r + 0.1

# %% [markdown]
# ## How many replies to a prompt?
#
# A batch has 128 replies. Is it better to ask 64 prompts twice or 4 prompts 32 times?
#
# **Predict.** The variance of the baseline is that of a mean of $G - 1$ replies. On the other hand, fewer prompts teach
# less. Which of $G = 2$, 8, 32 wins?

# %% tags=["predict", "hide-input"]
sizes = {2: learned(RLOO, group=2), 8: groups[0.0], 32: learned(RLOO, group=32)}
found = {size: replies(run).score.mean(1) for size, run in sizes.items()}
figure, axis = plt.subplots(figsize=(6, 2))
for row, shares in enumerate(found.values()):
    axis.plot(shares, [row] * 10, "o", color=COLOR, alpha=0.4)
    axis.plot(shares.mean(), row, "|", color=style.INK, ms=16)
axis.set_yticks(range(3), [f"G = {size}" for size in found])
axis.set(xlabel="right in the end (dots: agents, line: mean)", ylim=(2.5, -0.5))
plt.show()
gaps = {size: interval((found[8] - shares).numpy()) for size, shares in found.items() if size != 8}
for size, (low, high) in gaps.items():
    print(f"G = 8 minus G = {size}: 95% interval {low:+.3f} to {high:+.3f}")
assert max(abs(x) for gap in gaps.values() for x in gap) < 0.06

# %% [markdown] tags=["predict"]
# Little depends on it here: $G = 2$ and $G = 8$ can't be told apart. With $G = 32$ there are only four prompts in a
# batch, and agents end a point or two lower.

# %% [markdown]
# ## A transformer in the same place
#
# A transformer reads every token with the same weights, and attention decides which tokens matter. The library has a
# small one, which goes where any body goes:

# %% tags=["open"]
small = replace(sums, seeds=2, steps=2_000, hidden=(32,))
run = train(small, IMITATE, body=Transformer)
losses = run.curve.groupby("update").policy_loss.mean()
weights = sum(p[0].numel() for p in run.agent.policy_net.parameters())
print(f"{weights:,} weights; cross-entropy", losses.iloc[[0, -1]].round(2).tolist())
assert losses.iloc[-1] < losses.iloc[0]

# %% [markdown]
# These chapters stay with the dense net, which trains faster here.
#
# A group baseline doesn't help
#
# - **when 0 is already a good baseline.** In this toy, with rewards of 0 and 1, it showed no gain.
# - **when a group agrees.** Eight right replies have advantages of 0; see [the next chapter](30_grpo.ipynb).
# - **when you can't ask twice.** A conversation with a person has no second reply from the same state. That is where a
#   value net is worth its weights.

# %% [markdown]
# ## At a glance
#
# | | |
# |---|---|
# | **problem** | rewards have no natural zero, and a value net is a second model |
# | **formula** | $A_i = R_i - \frac{1}{G-1} \sum_{j \ne i} R_j$, the same for every token of reply $i$ |
# | **in the loop** | `advantage = leave_one_out(returns, config.group)` |
# | **defaults** | $G = 8$; `lanes` = 8 or a multiple; $\gamma = 1$ |
# | **watch** | `length` and `return`, together |
# | **skip it when** | a state can't be visited twice |
# | **evidence** | `imitate`: Not tried in the usual environments. <br> `group_baseline`: Not tried in the usual environments. It helps in the one world made for it, as predicted. |
# | **also called** | RLOO; TRL's `RLOOTrainer` |

# %% [markdown] tags=["two-hours"]
# ## Exercises
#
# **Exercise 1: write it,** for one group, when some of its replies are broken. A broken reply, one whose `usable` is
# False, gets an advantage of 0 and is left out of everyone else's baseline. A reply with no other usable reply in its
# group also gets 0.


# %% tags=["two-hours"]
def my_advantages(returns, usable):  # [G], [G] bool -> [G]
    ...


check_advantages(my_advantages)

# %% [markdown]
# <details><summary>Hint</summary>
#
# Sum what is usable, and subtract each reply's own return from that sum. How many others are left?
#
# </details>
#
# **Exercise 2: predict a variant.** Suppose thinking cost a little: each token costs $c$ of reward. Below which $c$
# does $\partial J / \partial z$ stay positive for our $r$ and $g$, with replies of 5 and 2 tokens? Plant it in place of
# `play_episodes`, as `chapters.book.replies.shifted` does, and see whether lengths follow.
#
# <details><summary>Answer</summary>
#
# $J = s(r - 5c) + (1-s)(g - 2c)$, so the slope has the sign of $r - g - 3c$: it pays to think while $c < (r - g)/3$.
# The threshold rises as the steps get more careful.
#
# </details>

# %% [markdown]
# **Exercise 3: spot the bug.** This version looks a lot like the one above. Its advantages also sum to 0 in each group.

# %%
source(group_mean)

# %% [markdown]
# It trains as well as the right one, with any $G$ and any constant on top. What is wrong, and which number shows it?
#
# <details><summary>Hint</summary>
#
# Compute both for $G = 2$.
#
# </details>
#
# Solutions: [`solutions/29_language.py`](solutions/29_language.py). Next: [GRPO](30_grpo.ipynb).

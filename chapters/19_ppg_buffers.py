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
# # Reusing rows: one buffer for the policy, one for the value net
#
# *How often, and for how long, can each net learn from the same row?*
#
# Every row of experience costs a step in the environment. PPO passes over it four times, with both nets, and throws it
# away. But the two nets have different needs: in the paper's scores in the [last chapter](18_ppg.ipynb), a second epoch
# hurt the policy, while auxiliary phases were best with nine epochs. So why not give each net a buffer of its own, with
# its own size and number of uses? On the tasks in this book, it rarely pays.

# %% tags=["hide-input"]
from dataclasses import replace
from math import comb

import matplotlib.pyplot as plt
import numpy as np
import torch
from torch.distributions import Categorical

from ablations import style
from chapters.book import begin, best_at, curves, evidence, label_lines, planted, swept
from chapters.exercises.ppg_buffers import check_taken, used_up
from tricks import PPG, Config, diff, source, train
from tricks.baseline import squared_error
from tricks.clip import clipped_surrogate
from tricks.core.adam import Adam, gradient
from tricks.core.nets import Dense, Head, Net
from tricks.core.seeds import stream
from tricks.ladder import named
from tricks.ppg_buffers import ages, reused
from tricks.reuse import importance_ratio

begin()
POLICY, VALUE = style.OTHERS[2:4]

# %% [markdown]
# ## Sixty-four passes over one batch
#
# One batch of 256 rows: a state is four numbers $x$ between −1 and 1, and there are two actions. The return is
#
# $$G = \underbrace{\sin(2 x_1 + x_2)}_{V(s)} + \underbrace{\pm\, 0.3}_{A(s, a)} + \text{noise},$$
#
# where the action that matches the sign of $x_3$ gets the plus, and the noise has standard deviation 1. Ten agents pass
# over their batch 64 times. The policy learns with the [clip](03_clip.ipynb) from $G - V(s)$, which we give it, and the
# value net from $G$. After each pass we test both on 2,000 fresh states.


# %% tags=["hide-input"]
AGENTS, ROWS, PASSES = 10, 256, 64
torch.manual_seed(0)
state, fresh = (2 * torch.rand(AGENTS, rows, 4) - 1 for rows in (ROWS, 2000))
everyone, rates = torch.ones(AGENTS, dtype=torch.bool), torch.full((AGENTS,), 0.003)
nets = [stream(seed, "init") for seed in range(AGENTS)]
policy, value = (Net(Dense(nets, (4, 64, 64)), Head(nets, 64, outputs)) for outputs in (2, 1))


def true_value(x):
    return torch.sin(2 * x[..., 0] + x[..., 1])


def best(x):
    return (x[..., 2] > 0).long()


def grades():
    """On fresh states: by how much the policy prefers the better action (0 to 1), and V's explained variance."""
    chance = policy(fresh).softmax(-1).gather(-1, best(fresh).unsqueeze(-1))
    missed = true_value(fresh) - value(fresh).squeeze(-1)
    return (2 * chance - 1).mean().item(), (1 - missed.var(1) / true_value(fresh).var(1)).mean().item()


with torch.no_grad():
    played = Categorical(logits=policy(state))
    action = played.sample()
    played_log_prob = played.log_prob(action)
    advantage = 0.3 * torch.where(action == best(state), 1.0, -1.0) + torch.randn(AGENTS, ROWS)
    returns = true_value(state) + advantage
    scaled = (advantage - advantage.mean(1, keepdim=True)) / advantage.std(1, keepdim=True)
    graded = [grades()]

steppers = [(net, Adam(net.parameters(), eps=1e-5)) for net in (policy, value)]
for _ in range(PASSES):
    for rows in torch.randperm(ROWS).split(64):
        ratio = importance_ratio(
            Categorical(logits=policy(state[:, rows])).log_prob(action[:, rows]), played_log_prob[:, rows]
        )
        objective = clipped_surrogate(ratio, scaled[:, rows], torch.full((AGENTS,), 0.2))
        error = squared_error(value(state[:, rows]).squeeze(-1), returns[:, rows])
        for (net, optimizer), loss in zip(steppers, (-objective.mean(1), error.mean(1)), strict=True):
            optimizer.step(gradient(loss, net.parameters()), rates, everyone)
    with torch.no_grad():
        graded.append(grades())

# %% [markdown]
# **Predict.** Which of the two is still getting better after 16 passes? After 64?

# %% tags=["predict", "hide-input"]
preference, explained = np.array(graded).T
figure, axes = plt.subplots(1, 2, figsize=(7.5, 2.6))
for axis, grade, color, name in (
    (axes[0], preference, POLICY, "policy: preference\nfor the better action"),
    (axes[1], explained, VALUE, "value net:\nexplained variance"),
):
    axis.semilogx(range(1, PASSES + 1), grade[1:], color=color, base=2)
    axis.set(xlabel="passes over the batch", ylabel=name, ylim=(0, None), xticks=[2**k for k in range(7)])
    axis.set_xticklabels([2**k for k in range(7)])
plt.show()
for passes in (1, 2, 4, 16, 64):
    print(f"{passes:2} passes: preference {preference[passes]:.2f}, explained variance {explained[passes]:.2f}")
assert preference.argmax() <= 8 and explained[64] > explained[16] > explained[2] - 0.05

# %% [markdown]
# The policy stops improving after about two passes, and then loses a quarter of what it had gained. That it stops is by
# design: once a row with a positive advantage has a ratio past $1 + \varepsilon$, the clip makes its gradient zero, and
# it falls silent. (What it loses is probably memorized noise: rows that were lucky or unlucky keep pushing until they,
# too, are clipped.) The value net has no such limit. Its targets are numbers to fit, and after a dip it keeps learning
# from the same rows.
#
# ## What an old row can still say
#
# A row can also be kept for the next updates. But then it ages. Take a row with $A = 1$, played with
# $\pi_{\text{old}}(a) = 0.5$. Two updates later, $\pi(a) = 0.65$. The ratio is $\rho = 0.65 / 0.5 = 1.3$, and with
# $\varepsilon = 0.2$ the objective is
#
# $$\min(1.3 \cdot 1,\; 1.2 \cdot 1) = 1.2 ,$$
#
# a constant. The row is silent before the first step. With $A = -1$ the minimum is $-1.3$, which isn't clipped, so the
# gradient is whole. **Where the policy has already followed a row, the row is silent; where it went the other way, the
# row pulls it back.** And $A$ is as old as the row: it compares the action with what a *former* policy would have done.
#
# A value target ages, too: it is a former policy's return. But no ratio silences it.

# %% tags=["open"]
ratio = torch.tensor([[1.3, 1.3]], requires_grad=True)
objective = clipped_surrogate(ratio, torch.tensor([[1.0, -1.0]]), torch.tensor([0.2]))
(slope,) = torch.autograd.grad(objective.sum(), ratio)
print("objective", objective.detach().numpy().round(2), end="  ")
print("its slope in the ratio", slope.numpy())
torch.testing.assert_close(objective, torch.tensor([[1.2, -1.3]]))
assert slope.tolist() == [[0.0, -1.0]]

# %% [markdown]
# ## Drawing rows
#
# The library keeps the last few rollouts for each net ([appendix](a2_storing_rows.ipynb)). Each epoch takes a random
# share of all rows. (The value net's buffer also replaces the memory of the auxiliary phase, which then trains on the
# last `value_rollouts` rollouts.) A row that stays for `rollouts` updates gets `rollouts` · `epochs` chances, so the
# share that makes `uses` the average is
#
# $$p = \frac{\text{uses}}{\text{rollouts} \cdot \text{epochs}},$$
#
# by default $4 / (2 \cdot 4) = ½$ for the policy and $16 / (8 \cdot 4) = ½$ for the value net. By chance, a row could
# get more than that, so a counter stops it at `uses`.

# %%
source(reused)

# %% [markdown]
# The limit pulls the average down. By hand, for one rollout, two epochs, and one use: $p = ½$, the row is skipped twice
# with probability ¼, so it is used $¾$ times on average. In general, count the successes of a binomial distribution:


# %%
def mean_uses(rollouts, uses, epochs=4):
    """Mean number of uses of a row over its time in the memory."""
    chances, p = rollouts * epochs, uses / (rollouts * epochs)
    total = 0
    for k in range(chances + 1):  # drawn k times, of which at most `uses` count
        total += comb(chances, k) * p**k * (1 - p) ** (chances - k) * min(k, uses)
    return total


usual = Config()

# %% tags=["hide-input"]
for net, rollouts, uses in (
    ("policy", usual.policy_rollouts, usual.policy_uses),
    ("value net", usual.value_rollouts, usual.value_uses),
):
    print(f"{net}: a row is used {mean_uses(rollouts, uses):.2f} times on average, and at most {uses} times")
assert mean_uses(rollouts=1, uses=1, epochs=2) == 0.75

# %% [markdown]
# Each gradient step now has two unrelated minibatches: `b` is the policy's, and `b.value_rows` the value net's.

# %%
diff(PPG, named("ppg_buffers"))

# %% [markdown]
# ## Watching a buffer work
#
# How old is a row when a net learns from it, and how many rows get to their first, second, third use? (`planted` puts
# our function in place of the library's.)

# %% tags=["hide-input"]
seen = {"policy": [], "value": []}  # of every row that is dealt: its age in updates, and which use of it this is


def listen(b, update):
    for net, rows in (("policy", b), ("value", b.value_rows)):
        seen[net].append(torch.stack([torch.tensor(update).view(-1, 1) - rows.born, rows.uses])[:, rows.valid])
    return ages(b, update)


small = Config("CartPole-v0", seeds=2, steps=5_000, lanes=8, horizon=32, lr=0.005, aux_every=4)
buffers = named("ppg_buffers")
with planted(ages=listen):
    buffered = train(small, buffers)

# %% tags=["thumbnail", "hide-input"]
figure, axes = plt.subplots(1, 3, figsize=(9, 2.7))
for (net, rows), color in zip(seen.items(), (POLICY, VALUE), strict=True):
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
# The buffers fill, and then both ages stay where they are. Newer rows are used more: many older ones have had all their
# uses (right), and in the first updates of this short run there are no old ones yet.
#
# ## What does age alone cost?
#
# All four arms take the same number of gradient steps and may use a row four times: either all in the update right
# after it was played, or at random over the next eight updates. (Auxiliary phases are off.)

# %%
print(f"mean uses of a row: {mean_uses(1, 4):.1f} in one update", end=", ")
print(f"{mean_uses(8, 4):.1f} spread over eight")
long = Config("CartPole-v1", seeds=10, steps=20_000, lr=0.01)
long = replace(long, policy_uses=4, value_uses=4, aux_epochs=0)
# for each age, the share of a minibatch's rows outside the clip range
runs, clipped = {}, [[] for _ in range(8)]


def note_ratio(log_prob, old_log_prob):
    note_ratio.last = importance_ratio(log_prob, old_log_prob).detach()
    return importance_ratio(log_prob, old_log_prob)


def note_clipped(b, update):
    outside = (note_ratio.last - 1).abs() > long.clip_range
    how_old = torch.tensor(update).view(-1, 1) - b.born  # [S, B], in updates
    for age in how_old[b.valid].unique().tolist():
        of_this_age = outside[b.valid & (how_old == age)]
        clipped[age].append(of_this_age.float().mean().item())
    return ages(b, update)


def kept(for_policy, for_value):
    setting = replace(long, policy_rollouts=for_policy, value_rollouts=for_value)
    return train(setting, buffers)


runs["both fresh"] = kept(1, 1)
runs["old value rows"] = kept(1, 8)
with planted(importance_ratio=note_ratio, ages=note_clipped):
    runs["old policy rows"] = kept(8, 1)
runs["both old"] = kept(8, 8)

# %% [markdown]
# (When its uses are spread out, a row loses some of them to the limit, so age isn't quite the only difference. And
# while a buffer of eight fills, its minibatches are smaller: an eighth of the usual size in the first update, full size
# only from the eighth of the twenty.)
#
# **Predict.** In what order do the four end up?

# %% tags=["predict", "hide-input"]
figure, axes = plt.subplots(1, 2, figsize=(9.6, 2.8), gridspec_kw={"width_ratios": (1.25, 1)})
curves(runs, axes[0])
axes[1].bar(range(8), [np.mean(shares) for shares in clipped], color=POLICY)
axes[1].set(xlabel="age of a policy row (updates)", ylabel="share outside\nthe clip range", title="old policy rows")
plt.show()

area = {name: run.curve.groupby("seed")["return"].mean().mean() for name, run in runs.items()}
print("mean return over all of training:", ", ".join(f"{name} {mean:.0f}" for name, mean in area.items()))
print(f"outside the clip range: {np.mean(clipped[0]):.0%} of new rows, {np.mean(clipped[7]):.0%} of the oldest")
assert area["old policy rows"] < 0.8 * area["both fresh"] and area["old policy rows"] < 0.9 * area["old value rows"]
assert area["old value rows"] < 0.95 * area["both fresh"] and np.mean(clipped[7]) > 1.5 * np.mean(clipped[0])

# %% [markdown]
# Age costs the policy most: more of its old rows lie outside the clip range (right). So its buffer should be short. The
# value net's old rows cost something, too, and a long buffer pays only if the extra uses are worth more.
#
# ## Are they worth it?
#
# The stored runs compare PPG with and without buffers of the default sizes, each at its own learning rate. (In the four
# games seen as pixels, all have 0.01. On the robots, PPG goes on top of `continuous`, and all have 0.0003.)

# %% tags=["hide-input"]
evidence("ppg_buffers").strip()
plt.show()

# %% tags=["hide-input"]
table = evidence("ppg_buffers").table
print(evidence("ppg_buffers").summary())
assert table.env[table.verdict == "helps"].tolist() == ["CartPole-v1", "tricks/Bricks-v0"]
raw, normed = table[table.env == "CartPole-v1"].to_dict("records")
assert raw["confirmed"] == 1 and normed["verdict"] == "practically nothing"
raw, normed = table[table.env == "Acrobot-v1"].to_dict("records")
assert raw["verdict"] == "unknown" and normed["verdict"] == "hurts" and normed["confirmed"] == 1
assert table.verdict[table.env == "HalfCheetah-v5"].item() == "hurts"

# %% [markdown]
# On CartPole, buffers help on raw returns, where PPG by itself does worse than PPO; with `return_norm`, they do
# practically nothing. On Acrobot, 30 seeds can't tell whether they help on raw returns, and with `return_norm` they
# hurt. (Both the gain on CartPole and the loss on Acrobot were seen again on 30 other seeds.) Everywhere else there are
# ten seeds, and nothing was tried again: buffers help a little in Bricks, and hurt on HalfCheetah, a robot. (On DoorKey
# and Hopper the intervals miss 0, but not by enough to be detected after the correction for the number of comparisons.)
# Are the sizes to blame? They can be varied, too, together with the learning rate:

# %% tags=["hide-input"]
swept("policy_rollouts", "value_rollouts", about="ppg_buffers")
plt.show()

for env, best in best_at("policy_rollouts", "ppg_buffers").items():
    print(f"{env}: " + ", ".join(f"{score:.0f} with {n}" for n, score in best.items()))
    assert best.is_monotonic_decreasing

# %% [markdown]
# On both tasks, the mean score falls as the policy's buffer grows, though two rollouts are nearly as good as one, and
# on CartPole all intervals overlap. The best length for the value net's buffer is less clear: eight rollouts are ahead
# on CartPole (where two don't count as nearly as good) and two on Acrobot, but on both the intervals overlap. (Length
# isn't all that differs here. With two rollouts, $p = 16/(2 \cdot 4)$ is above 1, so a row gets 8 uses instead of about
# 15. And the auxiliary phase, which trains on this buffer, too, sees two rollouts instead of eight.)

# %% tags=["hide-input"]
evidence("ppg_buffers")

# %% [markdown]
# The default sizes weren't tuned, and neither source of the idea is reproduced here. Cobbe et al. (2020) keep nothing for
# the next policy phase, but give the two nets separate numbers of epochs, $E_\pi$ and $E_V$. DI-engine keeps two
# buffers, with bolder numbers for CartPole: the policy uses the last 100 rows up to 10 times, the value net the last
# 1000 up to 100 times.

# %% [markdown]
# ## At a glance
#
# | | |
# |---|---|
# | **problem** | PPO uses every row equally often for both nets, and a value net could use it more |
# | **formula** | each epoch takes a row with probability uses / (rollouts · epochs), and at most `uses` times in all |
# | **in the loop** | `batches = dealt_apart(t.policy_buffer, t.memory, agent.return_stats, config, t.update)` <br> `value = t.agent.value(features if rows is b else rows.obs)` |
# | **defaults** | policy: 2 rollouts, 4 uses. Value net: 8 rollouts, 16 uses |
# | **watch** | `policy_age` should stay near 0; `clip_fraction` rises when it doesn't |
# | **skip it when** | PPO's epochs already give you what you need |
# | **also called** | sample reuse; a (small) replay buffer, which makes PPO slightly *off-policy* |

# %% [markdown]
# ## Exercises
#
# **Exercise 1: write it.** Which rows does an epoch take? `keys` are uniform random numbers between 0 and 1, or ∞ for
# filler rows; `used` counts a row's uses so far.


# %%
def my_taken(keys, used, uses, rollouts, epochs):  # [S, B], [S, B] -> bool [S, B]
    ...


check_taken(my_taken)

# %% [markdown]
# <details><summary>Hint</summary>
#
# `keys < p` is true with probability $p$.
#
# </details>
#
# **Exercise 2: think.** You want one epoch for the policy and four for the value net. (a) Which five numbers come
# closest (`epochs`, `policy_rollouts`, `policy_uses`, `value_rollouts`, `value_uses`)? (b) Is it the same thing?
#
# <details><summary>Answer</summary>
#
# (a) 4, 1, 1, 1, 4. The value net's share is then $p = 1$: every row in every epoch. The policy's is ¼. (b) Almost. A
# row is skipped by all four epochs with probability $(¾)^4 = 0.32$, so the policy sees 68% of the rows, once each, in
# 16 small minibatches instead of 4 larger ones. And the auxiliary phase, which reads the value net's buffer, is left
# with a single rollout.
#
# </details>

# %% [markdown]
# **Exercise 3: spot the bug.** This version respects every limit.

# %%
source(used_up)

# %%
with planted(reused=used_up):
    faulty = train(small, buffers)

# %% tags=["hide-input"]
figure, axis = plt.subplots(figsize=(6, 2.6))
curves({"right": buffered, "with the bug": faulty}, axis)
plt.show()

# %% [markdown]
# Nothing looks wrong. Which line is wrong, and which rows are never used? Find the diagnostics that show it.
#
# <details><summary>Hint</summary>
#
# After how many updates has a row had its 16 uses?
#
# </details>
#
# <details><summary>Answer</summary>
#
# The share forgets that a row stays for several updates. Every row is taken in every epoch, until it has had its uses:
# after one update for the policy, after four for the value net. The rest of each buffer is dead weight.
#
# </details>

# %% tags=["predict", "hide-input"]
for name, run in (("right", buffered), ("bug", faulty)):
    late = run.curve[run.curve["update"] >= 8]
    print(f"{name:5} policy_age {late.policy_age.mean():.2f}, value_age {late.value_age.mean():.2f}")
    assert (late.policy_age.max() == 0 and late.value_age.mean() < 2) == (name == "bug")

# %% [markdown]
# Solutions: [`solutions/19_ppg_buffers.py`](solutions/19_ppg_buffers.py). Next: [the KL stop](20_kl_stop.ipynb), which
# ends an update's reuse when the policy has moved far enough.

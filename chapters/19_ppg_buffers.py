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
# This chapter is optional. PPO passes over every row four times, with both nets. But in the curves of the
# [PPG](18_ppg.ipynb) paper, scores are lower with a second policy epoch, and best with nine auxiliary passes. So why
# not give each net its own buffer? On this book's tasks, it rarely pays.

# %% tags=["hide-input"]
from dataclasses import replace

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
# In this toy, a return $G$ is $V(s) \pm 0.3$, with the plus for the better action, plus noise with standard deviation
# 1. Ten agents pass over their 256 rows 64 times. The policy learns with the [clip](03_clip.ipynb) from $G - V(s)$, and
# the value net from $G$. We test both on fresh states.

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
assert preference.argmax() <= 4 and explained[64] > explained[16] > explained[2] - 0.05
assert 45 < explained.argmax() < 60 and explained[64] < explained.max() - 0.01

# %% [markdown]
# After 16 passes, only the value net: the policy peaks after about two and gets worse. Where it has followed a row past
# $1 + \varepsilon$, the clip silences that row. The value net peaks after about 50 and has dipped by 64.
#
# ## Drawing rows
#
# The library [keeps](a2_storing_rows.ipynb) a few rollouts for each net. A row has `rollouts` · `epochs` chances, so
# each epoch takes a random share of
#
# $$p = \frac{\text{uses}}{\text{rollouts} \cdot \text{epochs}}.$$
#
# By default, the policy has 2 rollouts and 4 uses, the value net 8 and 16, so $p$ = ½ for both. A counter stops a row
# at `uses`.

# %%
source(reused)

# %% [markdown]
# Each step now has two minibatches: `b` is the policy's, and `b.value_rows` the value net's.

# %%
diff(PPG, named("ppg_buffers"))

# %% [markdown]
# Each net learns from rows of these ages:

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
axes[0].set(xlabel="update", ylabel="mean age (updates)", ylim=(0, None))
axes[1].set(xlabel="age of a row when used (updates)", ylabel="share of the rows used", ylim=(0, None))
axes[2].set(xlabel="k", xticks=(1, 4, 8, 12, 16), ylabel="share of rows\nthat get to a k-th use", ylim=(0, 1.05))
label_lines(axes[0])
plt.show()
assert (small.policy_rollouts, small.policy_uses, small.value_rollouts, small.value_uses) == (2, 4, 8, 16)
assert torch.cat(seen["policy"], 1).amax(1).tolist() == [1, 4]
assert torch.cat(seen["value"], 1).amax(1).tolist() == [7, 16]

# %% [markdown]
# ## What does age alone cost?
#
# All four arms may use a row four times, either at once or at random over eight updates.

# %%
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
# **Predict.** In what order do the four end up?

# %% tags=["predict", "hide-input"]
figure, axes = plt.subplots(1, 2, figsize=(9.6, 2.8), gridspec_kw={"width_ratios": (1.25, 1)})
curves({name: runs[name] for name in ("both fresh", "both old", "old policy rows", "old value rows")}, axes[0])
axes[1].bar(range(8), [np.mean(shares) for shares in clipped], color=POLICY)
axes[1].set(xlabel="age of a policy row (updates)", ylabel="share outside\nthe clip range", title="old policy rows")
plt.show()

area = {name: run.curve.groupby("seed")["return"].mean().mean() for name, run in runs.items()}
assert area["old policy rows"] < 0.8 * area["both fresh"] and area["old policy rows"] < 0.9 * area["old value rows"]
assert area["old value rows"] < 0.95 * area["both fresh"] and np.mean(clipped[7]) > 1.5 * np.mean(clipped[0])

# %% [markdown]
# Old policy rows cost most, and more of them lie outside the clip range. Are extra uses worth the cost?

# %% tags=["hide-input"]
evidence("ppg_buffers").strip()
plt.show()

# %% tags=["hide-input"]
table = evidence("ppg_buffers").table
assert table.env[table.verdict == "helps"].tolist() == ["tricks/Bricks-v0"]
seen = table.set_index(["env", "question"])
raw, normed = (seen.xs(f"on top of {base}, with ppg", level="question") for base in ("ppo without return_norm", "ppo"))
assert normed.verdict.to_dict() == {"CartPole-v1": "hurts", "Acrobot-v1": "hurts"} and (normed.confirmed == 1).all()
assert raw.verdict.to_dict() == {"CartPole-v1": "hurts", "Acrobot-v1": "unknown"} and raw.confirmed["CartPole-v1"] == 1
assert table.verdict[table.env == "HalfCheetah-v5"].item() == "hurts"

# %% [markdown]
# Not with our defaults: on top of PPG, they hurt on CartPole and Acrobot, and on CartPole also without `return_norm`,
# as other seeds confirmed. Seen once, they help in Bricks and hurt on HalfCheetah. These runs keep two policy rollouts;
# one is best, and two nearly as good:

# %% tags=["hide-input"]
swept("policy_rollouts", about="ppg_buffers")
plt.show()

for best in best_at("policy_rollouts", "ppg_buffers").values():
    assert best.is_monotonic_decreasing and best.idxmax() == 1

# %% [markdown]
# We never compared fresh policy rows and reused value rows with PPG alone.

# %% tags=["hide-input"]
evidence("ppg_buffers")

# %% [markdown]
# ## At a glance
#
# | | |
# |---|---|
# | **problem** | PPO uses a row equally often for both nets, and a value net could use it more |
# | **formula** | each epoch takes a row with probability uses / (rollouts · epochs), and at most `uses` times |
# | **in the loop** | `batches = dealt_apart(t.policy_buffer, t.memory, agent.return_stats, config, t.update)` <br> `value = t.agent.value(features if rows is b else rows.obs)` |
# | **defaults** | policy: 2 rollouts, 4 uses. Value net: 8 rollouts, 16 uses |
# | **watch** | `policy_age` should stay near 0; `clip_fraction` rises when it doesn't |
# | **skip it when** | PPO's epochs already suffice |
# | **evidence** | Helps on top of cleanrl (with ppg; at one rate; once) in Bricks. Hurts on top of ppo (with ppg) in CartPole, Acrobot; on top of ppo without return_norm (with ppg) in CartPole; on robots (at one rate; once) in HalfCheetah. In 8 of 12 environments, these runs can't tell. |
# | **also called** | sample reuse, a replay buffer |

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
# **Exercise 2: think.** You want one policy epoch and four for the value net. (a) Which `epochs`, `policy_rollouts`,
# `policy_uses`, `value_rollouts`, and `value_uses` come closest? (b) Is it the same thing?
#
# <details><summary>Answer</summary>
#
# (a) 4, 1, 1, 1, 4. The value net's share is then $p = 1$: every row in every epoch. The policy's is ¼. (b) Almost. A
# row is skipped by all four epochs with probability $(¾)^4 = 0.32$, so the policy sees 68% of the rows, once each, in
# 16 small minibatches.
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
# Which line is wrong, and which rows are never used? Which diagnostics show it?
#
# <details><summary>Hint</summary>
#
# After how many updates has a row had its 16 uses?
#
# </details>
#
# <details><summary>Answer</summary>
#
# The share forgets that a row stays for several updates. Every row is taken in every epoch until it has had its uses,
# after one update for the policy and four for the value net. So older rows are never used: `policy_age` is 0, and
# `value_age` at most 1.5.
#
# </details>

# %% tags=["hide-input"]
for name, run in (("right", buffered), ("bug", faulty)):
    late = run.curve[run.curve["update"] >= 8]
    assert (late.policy_age.max() == 0 and late.value_age.mean() < 2) == (name == "bug")

# %% [markdown]
# Solutions: [`solutions/19_ppg_buffers.py`](solutions/19_ppg_buffers.py). Next: [the KL stop](20_kl_stop.ipynb), which
# ends reuse when the policy has moved far enough.

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
# # Memory: acting on what you no longer see
#
# *A sign at the entrance says left or right, and the fork comes eight steps later. Who still knows what it said?*
#
# Every policy so far was a function of one observation. That's enough if it holds everything that matters, as
# CartPole's four numbers do. But signs are behind you, and speeds can't be read off a photograph. In this chapter, the
# nets get a state of their own, which they carry from step to step.

# %% tags=["hide-input"]
import time
from dataclasses import replace

import gymnasium as gym
import matplotlib.pyplot as plt
import numpy as np
import torch

from ablations import interval, style
from chapters.book import begin, caption, curves, evidence, planted
from chapters.exercises.recurrent import add_endless_recurrence_, check_rebuilt, through_lanes
from tricks import PPO, Config, diff, source, train
from tricks.core.agent import RecurrentState
from tricks.core.layers import over_time
from tricks.core.rollout import Batch, Player
from tricks.core.sequences import Features, Sequences
from tricks.envs.make import make_env
from tricks.recurrent import Cell, add_recurrence_, as_sequences
from tricks.segments import play_segment
from tricks.worlds import WORLDS
from tricks.worlds.cartpole import CARTPOLE
from tricks.worlds.recall import corridor

begin()
COLOR = style.COLORS["recurrent"]
RECURRENT = replace(PPO, recurrent=True)

# %% [markdown]
# ## A corridor with a sign at its start
#
# The world `Recall8` shows you a cue, −1 or 1. Then come seven cells in which you see $(0, 0)$, and one in which you
# see $(0, 1)$: time to choose. The action that matches the cue pays 1, the other one nothing. In `Recall0`, cue and
# choice are in the same observation.
#
# **Predict.** What does PPO earn in each of them after 60,000 steps? And after 40 million?

# %% tags=["hide-input"]
walk = Config(seeds=5, steps=60_000, lanes=32, horizon=16, hidden=(16,), recurrent_size=16, lr=0.003, minibatches=2)
at_once, later = (train(replace(walk, env=f"tricks/Recall{length}-v0"), PPO) for length in (0, 8))

# %% tags=["predict", "hide-input"]
curves({"no corridor": at_once, "eight steps": later})
plt.show()
assert at_once.late().min() > 0.95 and 0.4 < later.late().mean() < 0.6

# %% [markdown]
# With the corridor, PPO earns what a coin would, and no budget changes that. At the choice, both kinds of episode show
# the same observation, so a policy $\pi(a|x)$ gives both the same probabilities. If it chooses 1 with probability $p$,
# it earns $\tfrac12 p + \tfrac12 (1-p) = \tfrac12$. **The right policy is not among those that this net can express.**
#
# This is a *partially observable* Markov decision process (POMDP). The world has a state $s_t$ that decides what comes
# next, but the agent sees only an observation $x_t$ of it. A policy has to be a function of everything seen so far, or
# of a summary of it.
#
# ## The last few observations
#
# The simplest summary is a window: show the net the last few observations side by side, as `Config(stack=...)` does.
# Take CartPole without its two speeds. Two positions tell the speed *before* the last push, so the window needs the
# action between them, too. How far off is the best linear guess of the speeds, after ten random steps?

# %% tags=["hide-input"]
WINDOWS = {
    "positions alone": [0, 2],
    "two positions": [0, 2, 4, 5],
    "two, and the action": [0, 2, 4, 5, 6],
}


def begun(chance):  # without a past: the same positions twice, and no action
    now = CARTPOLE.initial(chance)
    return torch.cat([now, now[..., [0, 2]], 0 * now[..., :1]], -1)


def moved(state, action, chance):
    now, reward, over = CARTPOLE.dynamics(state[..., :4], action, chance)
    last = (2.0 * action - 1).unsqueeze(-1)
    return torch.cat([now, state[..., [0, 2]], last], -1), reward, over


for number, seen in enumerate(WINDOWS.values()):
    world = replace(CARTPOLE, id=f"tricks/Window{number}-v0", initial=begun, dynamics=moved)
    box = gym.spaces.Box(-np.inf, np.inf, (len(seen),))
    world = replace(world, observation=box, observe=lambda state, seen=seen: state[..., seen])
    WORLDS[world.id] = world

torch.manual_seed(0)
state = begun(torch.rand(2000, 4))
for _ in range(10):
    state, *_ = moved(state, torch.randint(2, (2000,)), None)
speeds, error = state[:, [1, 3]].double(), {}
for name, seen in WINDOWS.items():
    given = torch.cat([state[:, seen], torch.ones(2000, 1)], 1).double()
    off = given @ torch.linalg.lstsq(given, speeds).solution - speeds
    cart_off, pole_off = error[name] = off.square().mean(0).sqrt().tolist()
    print(f"{name + ', off by':28} cart {cart_off:.3f} m/s, pole {pole_off:.3f} per second")
assert min(error["two positions"]) > 0.15 and max(error["two, and the action"]) < 0.01

# %% [markdown]
# With the action, the window says it all.
#
# **Predict.** Which of them can balance the pole? Four arms of ten agents, all with
# [`state_norm`](07_state_norm.ipynb):

# %%
cart = Config(seeds=10, steps=30_000, lr=0.003)
cart = replace(cart, lanes=32, horizon=32, recurrent_size=32)
ARMS = {name: (f"tricks/Window{number}-v0", PPO) for number, name in enumerate(WINDOWS)}
ARMS["recurrent"] = "tricks/Window0-v0", RECURRENT
balanced, seconds = {}, {}
for name, (env, tricks) in ARMS.items():
    start = time.process_time()
    balanced[name] = train(replace(cart, env=env), replace(tricks, state_norm=True))
    seconds[name] = time.process_time() - start

# %% tags=["predict", "hide-input"]
curves(balanced)
plt.show()
score = {name: run.late().to_numpy() for name, run in balanced.items()}
alone, two, action, remembered = (late.mean() for late in score.values())
caption(f"Last tenth: {', '.join(f'{name} {late.mean():.0f}' for name, late in score.items())}.")
assert alone < 0.2 * min(two, action, remembered) < 0.2 * max(two, action)
assert interval(score["two, and the action"] - score["two positions"])[0] < 0 < min(two, action) - remembered + 10
assert seconds["recurrent"] > 2 * seconds["positions alone"]

# %% [markdown]
# One observation isn't enough. Two are: both windows do at least as well as the recurrent net here, and adding the
# action didn't help. So where a short, known past is enough, use it, as Atari agents do with their [four
# frames](23_atari.ipynb). But in the corridor, nobody tells you how far back the sign is.
#
# ## A state
#
# A **recurrent** net sums up the history itself. At every step, it makes a new *recurrent state* from the old one and
# what it sees now: $h_t = f(x_t, h_{t-1})$. The policy reads $h_t$.
#
# With a plain layer, $h_t = \tanh(W x_t + U h_{t-1})$, the sign has to survive eight multiplications by $U$ and eight
# squashings, and so does the gradient on its way back. The **LSTM** (long short-term memory; Hochreiter & Schmidhuber
# 1997) adds instead. It keeps a second vector, the *cell state* $c$, which stays as it is unless a *gate*, a number
# between 0 and 1, says otherwise. In this chapter, $\sigma$ is the sigmoid, and $\odot$ multiplies entry by entry:
#
# $$\begin{aligned}
#   i, f, o &= \sigma(W x_t + U h_{t-1} + b) &&\text{three gates, each with its own weights} \\
#   g &= \tanh(W_g x_t + U_g h_{t-1} + b_g) &&\text{what there is to write} \\
#   c_t &= f \odot c_{t-1} + i \odot g &&\text{keep some, add some} \\
#   h_t &= o \odot \tanh c_t &&\text{show some of it}
# \end{aligned}$$
#
# The **input gate** $i$ decides whether to write, the **forget gate** $f$ how much to keep (Gers et al. 2000), and the
# **output gate** $o$ whether to show it. After $k$ steps, what's left of an entry in $c$, and of its gradient, is
# $f^k$.
#
# By hand: one unit that solves the corridor writes $\tanh(3 \cdot \text{cue})$ through an input gate of $\sigma(5) =
# 0.993$, and shows nothing until the last cell. After a cue of 1, $c = 0.988$. Eight steps later, with a forget gate of
# ½, it is $0.988 / 2^8 = 0.004$. With $\sigma(2) = 0.88$ it is 0.36, and with $\sigma(5)$, 0.94.

# %% tags=["thumbnail", "hide-input"]
figure, axes = plt.subplots(1, 2, figsize=(8, 2.6), sharex=True)
kept = {}
for forget, color in ((0.0, "#AAAAAA"), (2.0, style.INK), (5.0, COLOR)):
    unit = Cell((0,), 0, features=2, config=Config(recurrent_size=1))  # its gates are in the order i, f, g, o
    unit.inward.data = torch.tensor([[[0.0, 0.0, 3.0, 0.0], [0.0, 0.0, 0.0, 8.0]]])  # [S, D, 4]
    unit.onward.data.zero_()
    unit.bias.data = torch.tensor([[[5.0, forget, 0.0, -4.0]]])
    for cue in (1, -1):
        rows = torch.zeros(9, 1, 1, 2)  # [T, S, B, D]: the cue, and whether this is the last cell
        rows[0, ..., 0], rows[8, ..., 1] = cue, 1
        state, path = torch.zeros(1, 1, 2), []  # h and c
        for row in rows:
            state = unit(unit.contribution(row), state)
            path.append(state.flatten().tolist())
        for axis, line in zip(axes, zip(*[(c, h) for h, c in path], strict=True), strict=True):
            axis.plot(line, color=color, ls="-" if cue > 0 else "--")
        kept[forget, cue] = path[-1][1]
    axes[0].text(8.15, kept[forget, 1], f"f = {torch.tensor(forget).sigmoid():.2f}", va="center", color=style.INK)
axes[0].set(title="cell state c", xlabel="step of the episode", ylim=(-1.1, 1.1), xlim=(0, 9.8))
axes[0].set_xticks(range(0, 9, 2))
axes[1].set(title="what it shows, h", xlabel="step of the episode", ylim=(-1.1, 1.1))
axes[1].text(0.3, 0.85, "solid: cue 1; dashed: cue −1", color=style.INK)
plt.show()
assert abs(kept[0.0, 1] - 0.0039) < 1e-4 and abs(kept[2.0, 1] - 0.358) < 1e-3 and kept[5.0, -1] < -0.93

# %% [markdown]
# The **GRU** (gated recurrent unit; Cho et al. 2014) makes do with one vector. What it keeps with weight $z$, it
# overwrites with weight $1 - z$. The reset gate $r$ says how much of the old state counts in the new entry. Cho et al.
# apply $r$ before $U_n$; PyTorch, and we, after:
#
# $$r, z = \sigma(W x_t + U h_{t-1} + b), \qquad
#   n = \tanh\big(W_n x_t + b_n + r \odot (U_n h_{t-1})\big), \qquad
#   h_t = (1 - z) \odot n + z \odot h_{t-1} .$$

# %%
source(Cell.forward)

# %% [markdown]
# ## In the loop
#
# The layer sits between each net's body and its head. Four lines change:

# %%
diff(PPO, RECURRENT)

# %% [markdown]
# 1. `add_recurrence_` builds a layer for each net.
# 2. `RecurrentState` carries the states along in play, and sets them to zero where an episode begins.
# 3. `as_sequences` hands the rollout to the nets as whole lanes, each with its first state.
# 4. `whole_lanes` deals lanes into minibatches, where `minibatches` would shuffle rows.
#
# Here it is in the corridor, with an LSTM (`recurrent`) and with a GRU:

# %%
eight = replace(walk, env="tricks/Recall8-v0")
remembering = train(eight, RECURRENT)
gated = train(replace(eight, recurrent_cell="gru"), RECURRENT)

# %% tags=["hide-input"]
curves({"ppo": later, "recurrent": remembering, "GRU": gated})
plt.show()
assert remembering.late().mean() > 0.9 and gated.late().mean() > 0.9

# %% [markdown]
# Now and then, an agent forgets again for a while.
#
# ## Five details, and the law that holds them
#
# Huang et al. 2022, "The 37 Implementation Details of PPO," list five details of recurrent PPO. All serve the law of
# [reuse](02_reuse.ipynb): before the first gradient step, **the nets that learn must say what the nets that played
# said**. All ratios must be 1.
#
# Let a trained agent play two segments and note its $\log \pi$. Then rebuild the states of the second one, rightly and
# with four faults:


# %% tags=["hide-input"]
def largest_ratio(state=RecurrentState, rebuild=as_sequences, order=None):
    """The ratio farthest from 1, between what an agent said in play and what it says in training."""
    env, agent, said = make_env(eight, purpose="evaluation"), remembering.agent, []
    player = Player(env, eight.horizon)
    player.state = state(agent, env)

    def noted(given, legal):
        said.append(agent.policy(given, legal))
        return said[-1]

    everyone = torch.ones(eight.seeds, dtype=torch.bool)
    _, second = (play_segment(player, noted, eight.horizon, everyone) for _ in range(2))
    batch = Batch.of(second)
    lanes = rebuild(batch, second)
    if order is not None:  # of the rows in time
        lanes = replace(lanes, obs=lanes.obs.unflatten(1, (-1, eight.lanes))[:, order].flatten(1, 2))
    with torch.no_grad():
        logits = agent.policy(lanes).unflatten(1, (-1, eight.lanes))  # [S, T, N, A]
    if order is not None:
        logits = logits[:, order.argsort()]
    now, then = (agent.family.log_prob(x, second.action) for x in (logits, torch.stack(said[-eight.horizon :], 1)))
    return (now - then)[second.valid].abs().max().exp().item()


class Endless(RecurrentState):
    """Goes on across an episode's end."""

    def look(self):
        lanes = Sequences(self.env.now.obs, torch.ones(self.now.shape[:2], dtype=torch.bool), self.now)
        (hidden, policy), (_, value) = (
            self.agent.through(net, lanes) for net in (self.agent.policy_net, self.agent.value_net)
        )
        self.now = torch.stack([policy, value], 2)
        return Features(lanes, hidden)


def from_zero(batch, rollout):
    lanes = as_sequences(batch, rollout)
    return replace(lanes, state=torch.zeros_like(lanes.state))


def of_the_next_lane(batch, rollout):
    lanes = as_sequences(batch, rollout)
    return replace(lanes, state=lanes.state.roll(1, 1))


torch.manual_seed(0)
found = {
    "as it should be": largest_ratio(),
    "play goes on across an end": largest_ratio(state=Endless),
    "training begins at zero": largest_ratio(rebuild=from_zero),
    "training begins in another lane's state": largest_ratio(rebuild=of_the_next_lane),
    "training sees the rows shuffled": largest_ratio(order=torch.randperm(eight.horizon)),
}
for name, ratio in found.items():
    print(f"{name:40} largest ratio {ratio:10.4f}")
assert found.pop("as it should be") < 1.001 and min(found.values()) > 1.5

# %% [markdown]
# - **How the layer begins:** orthogonal weights with gain 1, and biases of 0. Then all gates start near ½, and a trace
#   halves with every step. A larger bias of the forget gate helps (Jozefowicz et al. 2015).
# - **States begin at zero**, in play as in training.
# - **An end resets them.** Otherwise an episode begins with what's left of the one before it.
# - **A minibatch holds whole lanes,** since a state is made by the rows before it. There can't be more minibatches than
#   lanes.
# - **Training rebuilds the states**, from the one before the rollout's first row. Stored states would be stale, and no
#   gradient would flow through them into the steps that made them.

# %%
source(over_time)

# %% [markdown]
# The library computes `old_log_prob` from the rebuilt states, so its column `max_ratio` shows no fault that
# `old_log_prob` and the loss have in common. That's why we noted $\log \pi$ in play.
#
# ## A trap: evaluation
#
# You have to tell an agent with a state when an episode begins, and at no other time. Here are three ways to play 200
# episodes with the same agent:


# %%
def earned(begins):
    """Mean return; `begins` says whether a step, by its number, begins an episode."""
    env, total = gym.make("tricks/Recall8-v0"), 0.0
    agent = remembering.agent[1]
    for episode in range(200):
        seen, _ = env.reset(seed=episode)
        over, step = False, 0
        while not over:
            seen, reward, over, _, _ = env.step(agent.act(seen, begins=begins(step)))
            total, step = total + reward, step + 1
    return total / 200


carried = earned(lambda step: step == 0)
forgot = earned(lambda step: True)
never = earned(lambda step: False)

# %% tags=["hide-input"]
caption(
    f"Mean return if told so at each episode's first step: {carried:.2f}; at every step: {forgot:.2f}; "
    f"never: {never:.2f}."
)
assert carried > 0.95 and max(forgot, never) < 0.7

# %% [markdown]
# Both mistakes leave a coin's rate, and neither raises an error. If evaluation is far worse than training, look at the
# state first, and at [frozen statistics](07_state_norm.ipynb) second.
#
# ## When it doesn't help, and what it costs
#
# Two trials, in the corridor and on CartPole with hidden speeds, were [written down](28_your_own_trick.ipynb) before
# they were trained:

# %% tags=["hide-input"]
found = evidence("recurrent")
found

# %% tags=["hide-input"]
corridors, speeds = (dict(part.split(":") for part in doses.split()) for doses in found.worlds.doses)
assert abs(float(corridors["0"])) < 0.05 < float(corridors["8"]) < float(corridors["2"])
assert float(speeds["0"]) < float(speeds["1"]) < 0 < float(speeds["2"])
assert abs(float(speeds["0"]) + 0.25) < 0.02
assert (found.worlds.seen == 1).all() and (found.worlds.confirmed == 1).all()

# %% [markdown]
# It helps in the corridor and on CartPole without either speed; other seeds confirmed both. **Where at most one speed
# is hidden, it costs score**: on CartPole itself, a quarter of the best score. Tuned recurrent agents can be strong (Ni
# et al. 2022, arXiv:2110.05038), but first make sure that you have a POMDP.
#
# It costs time, too: the rows of a lane go through the layer one after the other. Our 30,000 steps of CartPole took
# more than twice the processor time.
#
# The flag can't go with `ppg` or `separate_optimizers`. With an LSTM in place of Atari's four frames, Hausknecht &
# Stone (2015, arXiv:1507.06527) did about as well.

# %% [markdown]
# ## At a glance
#
# | | |
# |---|---|
# | **problem** | what matters was seen earlier, and the present observation doesn't show it |
# | **formula** | $h_t = f(x_t, h_{t-1})$, and $\pi(a \mid h_t)$ instead of $\pi(a \mid x_t)$; $h = 0$ where an episode begins |
# | **in the loop** | `add_recurrence_(agent, config)` <br> `t.state = t.player.state = RecurrentState(t.agent, t.env)` <br> `batch.obs = as_sequences(batch, rollout)` <br> `batches = whole_lanes(batch, config.seed_list, t.update, config.epochs, config.minibatches)` |
# | **defaults** | an LSTM (`recurrent_cell`) of `recurrent_size` = 64 units in each net |
# | **watch** | training against evaluation: do the scores differ? |
# | **skip it when** | one observation, or a few side by side, show all that matters |
# | **evidence** | Not tried in the usual environments. It helps in 2 of 2 trials in worlds made for it, as predicted. |
# | **also called** | recurrent PPO, PPO-LSTM |

# %% [markdown]
# ## Exercises
#
# **Exercise 1: write it.** Rebuild the states of one lane. `step(x, h)` is the layer, `x[t]` the input of a row,
# `done[t]` says that the row ends its episode, and `h` is the state before the first row. Return the state of each row
# after it has seen `x[t]`, as the policy reads it.


# %%
def my_rebuilt(step, x, done, h):  # x, done [T], h a scalar -> [T]
    ...


check_rebuilt(my_rebuilt)

# %% [markdown]
# <details><summary>Hint</summary>
#
# One loop over the rows. In each: step, keep, and only then look at `done`.
#
# </details>
#
# **Exercise 2: spot the bug.** This author's layer goes through the lanes as below. Thirty agents learn with it, at a
# higher rate, because only some of them show the symptom clearly.

# %%
source(through_lanes)

# %%
with planted(add_recurrence_=add_endless_recurrence_):
    faulty = train(replace(eight, seeds=30, lr=0.01, steps=20_000), RECURRENT)
    one_step = replace(eight, steps=5000, epochs=1, minibatches=1)
    first = train(one_step, RECURRENT).curve  # all ratios are first ones

# %% tags=["hide-input"]
for name, run in (("as it should be", remembering), ("with the bug", faulty)):
    trained, played = run.late().to_numpy(), run.evaluate(40, greedy=False).mean(1)
    better = played > trained + 0.3
    said = f"better by 0.3 in evaluation: {better.sum()} of {len(better)} agents"
    print(f"{name:16} training {trained.mean():.2f}, evaluation {played.mean():.2f}; {said}")
print(f"largest first ratio with the bug: {first.max_ratio.max():.4f}")
assert first.max_ratio.max() < 1.001 and better.any()

# %% [markdown]
# All first ratios are 1, and yet something is wrong. (a) What is missing? (b) Why does the law of the ratios not
# notice? (c) Which two numbers of the printout give it away, and why do they differ? (d) What would you check, without
# training anything?
#
# <details><summary>Hint</summary>
#
# An evaluation plays each game in a lane of its own.
#
# </details>
#
# Solutions: [`solutions/22_recurrent.py`](solutions/22_recurrent.py). Next: [Atari](23_atari.ipynb), where a window of
# four frames stands in for a memory.

# %% [markdown]
# ## Going further
#
# How far back can an agent remember? A cue that is halved at every step arrives as $2^{-16}$ after sixteen. What if the
# forget gates start nearly open, at $\sigma(2) = 0.88$?
#
# There is also a limit that no gate can move. Training rebuilds the states from the one at the segment's start, and
# that one is data. So a gradient reaches back to its first row, and no farther: *truncated backpropagation through
# time*.
#
# **Predict.** What do both kinds of gates do with sixteen steps? And with eight, what do segments (`horizon`) of four
# rows in 128 lanes do, instead of 16 rows in 32?


# %%
def add_open_recurrence_(agent, config):
    add_recurrence_(agent, config)
    size = config.recurrent_size
    for net in (agent.policy_net, agent.value_net):
        net.body.cell.bias.data[..., size : 2 * size] = 2.0  # of the forget gates


WORLDS["tricks/Recall16-v0"] = corridor(16)
sixteen = replace(walk, env="tricks/Recall16-v0", steps=25_000, lanes=16, horizon=32)
long = train(sixteen, RECURRENT)
with planted(add_recurrence_=add_open_recurrence_):
    wide_open = train(sixteen, RECURRENT)
chopped = train(replace(eight, horizon=4, lanes=128), RECURRENT)

# %% tags=["predict", "hide-input"]
shown = {"16 steps": long, "16, gates open": wide_open, "8 steps": remembering, "8, segments of 4": chopped}
curves(shown, **{"8 steps": style.COLORS["recurrent"]})
plt.show()
assert (
    max(long.late().mean(), chopped.late().min()) < 0.7 < 0.9 < min(remembering.late().min(), wide_open.late().mean())
)

# %% [markdown]
# With sixteen steps, no agent gets anywhere in this budget of 25,000; with open gates, all do. But here nothing ever
# has to be forgotten.
#
# In four rows, choice and cue are never together, so the layer was never told to write the cue down. No diagnostic
# gives it away. Keep `horizon` longer than what has to be remembered.
#
# **Exercise 3: think.** Episodes last 1,000 steps, the cue is at the start, and the choice is at the end. The `horizon`
# is 128 steps. (a) Does the agent learn to remember? (b) What would you change? (c) And if memory doesn't allow that?
#
# <details><summary>Answer</summary>
#
# (a) Hardly: the gradient reaches back 128 steps, and what's left of the cue before is there by chance. (b) Make
# segments as long as the episodes, with fewer lanes. (c) Show the cue again on the way, reward something in between, or
# begin with forget gates that are nearly open.
#
# </details>

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
# Every policy so far was a function of one observation. That's enough if the observation holds everything that matters,
# and CartPole's four numbers do. Most of the world isn't like that: signs are behind you, speeds can't be read off a
# photograph, and cards have been played. In this chapter, the nets get a state of their own, which they carry from step
# to step.

# %% tags=["hide-input"]
import time
from dataclasses import replace

import gymnasium as gym
import matplotlib.pyplot as plt
import numpy as np
import torch

from ablations import interval, style
from chapters.book import begin, curves, evidence, planted
from chapters.exercises.recurrent import add_endless_recurrence_, check_rebuilt, through_without_ends
from tricks import PPO, Config, diff, source, train
from tricks.core.agent import RecurrentState
from tricks.core.layers import over_time
from tricks.core.rollout import Batch, Player
from tricks.core.sequences import Features, Sequences
from tricks.envs.make import make_env
from tricks.recurrent import Cell, Recurrent, add_recurrence_, as_sequences, whole_lanes
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
# The world `Recall8` shows you a cue, −1 or 1. Then come seven cells in which you see $(0, 0)$, and in the last one you
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
# A coin's rate, and no budget changes that. At the choice, both kinds of episode show the same observation, so a policy
# $\pi(a \mid x)$ gives both the same probabilities. If it chooses 1 with probability $p$, it earns
# $\tfrac12 p + \tfrac12 (1 - p) = \tfrac12$, whatever $p$ is. The problem isn't learning. **The right policy is not among
# those that this net can express.**
#
# The textbook's name for this is a *partially observable* Markov decision process (POMDP). The world has a state $s_t$
# that decides what comes next, but the agent sees only an observation $x_t$ of it. The Markov property holds for states:
# given $s_t$, the past adds nothing. For observations it doesn't, and then the best action can depend on everything seen
# so far, $x_0, \dots, x_t$. A policy for such a world has to be a function of that history, or of a summary of it.
#
# ## The last few observations
#
# The simplest summary is a window: show the net the last $K$ observations side by side (`--stack K`). Take CartPole
# without its two speeds. A pole that falls to the right and one that swings back up from there look the same in a single
# observation. Two of them differ by the speed times 0.02 s, but that is the speed *before* the last push: CartPole moves
# first and changes the speed afterward. So the window needs one more thing, the action between the two.
#
# The next cell makes three such windows. (In an environment of your own, `--stack 2` gives you the positions, and
# `--wrap my_module:WithLastAction` the action.)

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

# %% [markdown]
# How well can you tell the two speeds from each? Here is the best linear guess after ten random steps, 2000 times:

# %% tags=["hide-input"]
torch.manual_seed(0)
state = begun(torch.rand(2000, 4))
for _ in range(10):
    state, *_ = moved(state, torch.randint(2, (2000,)), None)
speeds, error = state[:, [1, 3]].double(), {}
print(f"{'speeds vary by':28} cart {speeds[:, 0].std():.3f} m/s, pole {speeds[:, 1].std():.3f} per second")
for name, seen in WINDOWS.items():
    given = torch.cat([state[:, seen], torch.ones(2000, 1)], 1).double()
    off = given @ torch.linalg.lstsq(given, speeds).solution - speeds
    cart_off, pole_off = error[name] = off.square().mean(0).sqrt().tolist()
    print(f"{name + ', off by':28} cart {cart_off:.3f} m/s, pole {pole_off:.3f} per second")
assert min(error["two positions"]) > 0.15 and max(error["two, and the action"]) < 0.01

# %% [markdown]
# With the action, the window says it all. Without it, the guess is off by a push to one side or the other.
#
# **Predict.** Which of them can balance the pole? Four arms of ten agents, all with [`state_norm`](07_state_norm.ipynb):

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
for name, late in score.items():
    low, high = interval(late)
    print(f"{name:20} return in the last tenth {late.mean():3.0f} [{low:.0f}, {high:.0f}]")
alone, two, action, remembered = (late.mean() for late in score.values())
low, high = interval(score["two, and the action"] - score["two positions"])
assert alone < 0.2 * min(two, action, remembered) and low < 0 < high
assert all(interval(score[window] - score["recurrent"])[1] > 0 for window in ("two positions", "two, and the action"))

# %% [markdown]
# One observation isn't enough. Two are, although they don't say everything: ten agents can't show that the action adds
# to the score, nor that a window is worse than the recurrent net, and windows are much simpler. Where a short, known
# past is enough, stop reading here and use it, as Atari agents do with their [four frames](23_atari.ipynb).
#
# The corridor is another matter. A window has to reach back to the sign: $K = 9$ here, and a thousand for a corridor
# that takes a thousand steps. Nobody tells you the length, and it may differ from one episode to the next.
#
# ## A state
#
# A **recurrent** net sums up the history itself, one observation at a time. It keeps a vector $h$, the *recurrent
# state*, and at every step makes a new one from the old one and what it sees now: $h_t = f(x_t, h_{t-1})$. The policy
# reads $h_t$.
#
# What should $f$ be? A plain layer, $h_t = \tanh(W x_t + U h_{t-1})$, mixes all of the old state into all of the new one
# at every step. To carry the sign through eight cells, it would have to survive eight multiplications by $U$ and eight
# squashings. Going backward, the gradient has to survive the same, and it shrinks or grows exponentially. The **LSTM**
# (long short-term memory; Hochreiter & Schmidhuber 1997) adds instead. It keeps a second vector, the *cell state* $c$,
# in which a unit stays as it is unless a *gate*, a number between 0 and 1, says otherwise:
#
# $$\begin{aligned}
#   i, f, o &= \sigma(W x_t + U h_{t-1} + b) &&\text{three gates, each with weights of its own} \\
#   g &= \tanh(W_g x_t + U_g h_{t-1} + b_g) &&\text{what there is to write} \\
#   c_t &= f \odot c_{t-1} + i \odot g &&\text{keep some of the old, add some of the new} \\
#   h_t &= o \odot \tanh c_t &&\text{show some of it}
# \end{aligned}$$
#
# The **input gate** $i$ decides whether to write, the **forget gate** $f$ how much to keep (Gers et al. 2000 added it),
# and the **output gate** $o$ whether to show it now. Along $c$, the derivative of one step is $f$ itself. (Some of the
# gradient also flows through $h$.) So after $k$ steps, what's left of an entry, and of its gradient, is $f^k$.
#
# By hand: one unit that solves the corridor. It writes $g = \tanh(3 \cdot \text{cue})$ with $i = \sigma(5) = 0.993$.
# (In the corridor $g = 0$, so the input gate can stay open.) It shows nothing until the last cell: $o = \sigma(8 \cdot
# \text{last} - 4)$. After the cue, $c = 0.993 \cdot \tanh 3 = 0.988$. Eight steps later, with a forget gate of
# $\sigma(0) = ½$, it is $0.988 / 2^8 = 0.004$. With $\sigma(2) = 0.88$ it is 0.36, and with $\sigma(5)$, 0.94.

# %% tags=["thumbnail", "hide-input"]
figure, axes = plt.subplots(1, 2, figsize=(8, 2.6), sharex=True)
kept = {}
for forget, color in ((0.0, style.FAINT), (2.0, style.SOFT), (5.0, COLOR)):
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
print("c at the choice, after a cue of 1:", ", ".join(f"{kept[f, 1]:.3f}" for f in (0.0, 2.0, 5.0)))
assert abs(kept[0.0, 1] - 0.0039) < 1e-4 and abs(kept[2.0, 1] - 0.358) < 1e-3 and kept[5.0, -1] < -0.93

# %% [markdown]
# The **GRU** (gated recurrent unit; Cho et al. 2014) makes do with one vector and two gates. It ties keeping to writing:
# what it keeps with weight $z$, it overwrites with weight $1 - z$. The reset gate $r$ says how much of the old state
# counts when the new entry is made:
#
# $$r, z = \sigma(W x_t + U h_{t-1} + b), \qquad
#   n = \tanh\big(W_n x_t + b_n + r \odot (U_n h_{t-1})\big), \qquad
#   h_t = (1 - z) \odot n + z \odot h_{t-1} .$$
#
# Both are in one function, and `recurrent_cell` chooses.

# %%
source(Cell.forward)

# %% [markdown]
# ## In the loop
#
# The layer sits between each net's body and its head. In the loop, four lines change:

# %%
diff(PPO, RECURRENT)

# %% [markdown]
# 1. `add_recurrence_` builds the layer, one for the policy net and one for the value net, each with a state of its own.
#    (The value net needs one, too. At the choice, a $V$ that can't remember the cue doesn't know what was chosen for.)
# 2. `RecurrentState` carries the states along while the agent plays, and sets them to zero where an episode begins.
# 3. `as_sequences` hands the rollout to the nets as whole lanes, with the state in which each lane began.
# 4. `whole_lanes` deals lanes into minibatches, where `minibatches` would shuffle rows.

# %% [markdown]
# Here it is in the corridor, with each cell:

# %%
eight = replace(walk, env="tricks/Recall8-v0")
remembering = train(eight, RECURRENT)
gated = train(replace(eight, recurrent_cell="gru"), RECURRENT)

# %% tags=["hide-input"]
curves({"ppo": later, "recurrent": remembering, "GRU": gated})
plt.show()
assert remembering.late().mean() > 0.9 and gated.late().mean() > 0.9

# %% [markdown]
# For a while it's no better than a coin, and then it goes up fast: as soon as a trace of the cue arrives at the choice,
# the reward depends on it, and the gradient makes the trace stronger.
#
# ## Five details, and the law that holds them
#
# A state is easy to get wrong, because every place that touches it has to do the same. Huang et al. 2022 ("The 37
# Implementation Details of PPO") list five details of recurrent PPO. All of them serve one law, and it is the law of
# [reuse](02_reuse.ipynb): before the first gradient step, **the nets that learn must say what the nets that played
# said**. The $\log \pi_\text{old}$ of every row has to come out again, so that all ratios are 1.
#
# Let a trained agent play two segments, note its $\log \pi$ as it plays, and rebuild the states of the second one. The
# function below takes the parts that a fault can replace.


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
# What each detail is there for:
#
# - **How the layer begins:** orthogonal weights with gain 1, and biases of 0. Then all gates start near ½, and a trace
#   halves with every step. That's a long way from the unit we set by hand, and the reason for the flat beginning of the
#   curves. (Starting the forget gate's bias at 1 is a known remedy: Gers et al. 2000; Jozefowicz et al. 2015. We try 2
#   below.)
# - **States begin at zero.** Any fixed value would do. It must be the same in play, in training, and in evaluation.
# - **An end resets them.** Otherwise an episode begins with what's left of the one before it. In exercise 2, you'll see
#   what that does when play and training agree on it.
# - **A minibatch holds whole lanes.** A state is made by the rows before it, in their order. So it's lanes that are
#   shuffled, and not rows, and each takes its own first state along. There can't be more minibatches than lanes.
# - **Training rebuilds the states**, from the one before the rollout's first row, with the ends inside. The weights have
#   changed since, so stored states would be stale. More important: a stored state is a number, and no gradient flows
#   through it into the step that made it.

# %%
source(Recurrent.through, over_time, whole_lanes)

# %% [markdown]
# One warning. The library computes `old_log_prob` from the rebuilt states, not from what was said in play. So its column
# `max_ratio` shows a fault of the minibatches, but none on which `old_log_prob` and the loss agree. That is why the cell
# above notes $\log \pi$ in play.
#
# ## A trap: evaluation
#
# An agent with a state is no longer a function of an observation. You have to tell it when an episode begins, and at no
# other time. Here are three ways to play 200 episodes with the same agent:


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
print(f"begins at each episode's first step: {carried:.2f}; at every step: {forgot:.2f}; never: {never:.2f}")
assert carried > 0.95 and max(forgot, never) < 0.7

# %% [markdown]
# Both mistakes leave a coin's rate, and neither raises an error. A state that is thrown away at every step remembers
# nothing. One that is never reset starts an episode with what's left of the last, which this agent never met in
# training. (`run.evaluate`, `python -m tricks play`, and the evaluations during training do it right.) If evaluation is
# far worse than training, look at the state first, and at [frozen statistics](07_state_norm.ipynb) second.
#
# ## When it doesn't help, and what it costs
#
# Twenty seeds each, every arm at its own best learning rate, in the corridor and on CartPole with hidden speeds. Both
# trials were [written down](28_your_own_trick.ipynb) before they were trained:

# %% tags=["hide-input"]
found = evidence("recurrent")
found

# %% tags=["hide-input"]
for trial in found.worlds.itertuples():
    print(f"{trial.place}, by {trial.dose}: gain {trial.doses}, as a share of the best score")
corridors, speeds = (dict(part.split(":") for part in doses.split()) for doses in found.worlds.doses)
assert abs(float(corridors["0"])) < 0.05 < float(corridors["8"]) < float(corridors["2"])
assert float(speeds["0"]) < float(speeds["1"]) < 0 < float(speeds["2"])
assert (found.worlds.seen == 1).all() and (found.worlds.confirmed == 1).all()

# %% [markdown]
# With cue and choice in one observation, the layer neither helps nor hurts. With a corridor of two steps it gains nearly
# all that there is to gain, the half that a coin misses. With eight steps it gains less, as it takes longer to learn.
#
# Without either speed, it helps on CartPole. **Where at most one is hidden, it costs score**, and on CartPole itself
# it costs most: a quarter of the best score, in a budget of 40,000 steps. Our reading: nothing has to be remembered there,
# and a layer that starts as a mix of the present and of fading pasts makes the present harder to read. Further up, the
# window learned faster, too. It's often said that recurrent agents underperform. Ni et al. 2022 (arXiv:2110.05038) show
# that well-tuned ones are strong baselines on many POMDPs, so tune before you give up. But first make sure that you have a
# POMDP.
#
# It costs time, too. The rows of a lane have to go through the layer one after the other, in play and again in every
# minibatch:

# %% tags=["hide-input"]
slower = seconds["recurrent"] / seconds["positions alone"]
print(f"processor time of the same 30,000 steps, recurrent against plain: about {round(slower)} times")
assert slower > 2

# %% [markdown]
# - **When the observation shows it all**, leave it out.
# - **When a short window does**, take `--stack`.
# - **When the past is longer than a segment**, the state alone won't do it.
# - The flag can't go with `ppg` or `separate_optimizers`; with [`shared_trunk`](17_shared_trunk.ipynb), both heads read
#   one state.
#
# None of this is new. Bakker (2001) taught an LSTM to remember a sign down a corridor with a fork, with a different
# algorithm, and Hausknecht & Stone (2015, arXiv:1507.06527) replaced Atari's four frames with an LSTM: it did about as
# well on the whole, and held up better when frames went missing.

# %% [markdown]
# ## At a glance
#
# | | |
# |---|---|
# | **problem** | what matters was seen earlier, and the present observation doesn't show it |
# | **formula** | $h_t = f(x_t, h_{t-1})$, and $\pi(a \mid h_t)$ instead of $\pi(a \mid x_t)$; $h = 0$ where an episode begins |
# | **in the loop** | `add_recurrence_(agent, config)` <br> `t.state = t.player.state = RecurrentState(t.agent, t.env)` <br> `batch.obs = as_sequences(batch, rollout)` <br> `batches = whole_lanes(batch, config.seed_list, t.update, config.epochs, config.minibatches)` |
# | **defaults** | an LSTM (`recurrent_cell`) of `recurrent_size` = 64 units in each net |
# | **watch** | training against evaluation: a state that is handled differently there gives different scores |
# | **skip it when** | one observation, or a few side by side, show all that matters |
# | **also called** | recurrent PPO, PPO-LSTM |

# %% [markdown]
# ## Exercises
#
# **Exercise 1: write it.** Rebuild the states of one lane. `step(x, h)` is the layer, `x[t]` the input of a row, `done[t]`
# says that the row ends its episode, and `h` is the state before the first row. Return the state of each row after it has
# seen `x[t]`, as the policy reads it.


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
source(through_without_ends)

# %%
with planted(add_recurrence_=add_endless_recurrence_):
    faulty = train(replace(eight, seeds=30, lr=0.01, steps=20_000), RECURRENT)
    one_step = replace(eight, steps=5000, epochs=1, minibatches=1)
    first = train(one_step, RECURRENT).curve  # all ratios are first ones

# %% tags=["hide-input"]
for name, run in (("as it should be", remembering), ("with the bug", faulty)):
    trained, played = run.late().to_numpy(), run.evaluate(40, greedy=False).mean(1)
    better = played > trained + 0.3
    print(f"{name:16} training {trained.mean():.2f}, evaluation {played.mean():.2f};", end=" ")
    print(f"better by 0.3 in evaluation: {better.sum()} of {len(better)} agents")
print(f"largest first ratio with the bug: {first.max_ratio.max():.4f}")
assert first.max_ratio.max() < 1.001 and better.any()

# %% [markdown]
# All first ratios are 1, and yet something is wrong. (a) What is missing? (b) Why does the law of the ratios not notice?
# (c) Which two numbers of the printout give it away, and why do they differ? (d) What would you check, without training
# anything?
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
# What does an agent keep in its state, and how long can that be?
#
# ### What it remembers
#
# Here is one of the agents in the corridor, once with each cue. (`begins` tells it that an episode begins.) Rows are
# the units of the policy net's cell state, sorted by what they hold at the choice after a cue of 1.

# %% tags=["hide-input"]
one = remembering.agent[0]
obs = np.zeros((9, 2, 2), np.float32)  # step, lane, (cue, last)
obs[0, :, 0], obs[8, :, 1] = (-1, 1), 1
cells = []
for step, seen in enumerate(obs):
    actions = one.act(seen, begins=step == 0)
    cells.append(one.acting_state[0, :, 0, walk.recurrent_size :])  # [N, H], the second half: c
cells = torch.stack(cells, 1)  # [N, T, H]
whole = Sequences(
    torch.from_numpy(obs).flatten(0, 1)[None], torch.ones(1, 18, dtype=torch.bool), torch.zeros(1, 2, 2, 32)
)
with torch.no_grad():
    chance = one.policy(whole).softmax(-1)[0, :, 1].view(9, 2)  # of action 1

# %% tags=["hide-input"]
figure, axes = plt.subplots(1, 3, figsize=(9.5, 2.9), gridspec_kw={"width_ratios": (1, 1, 1.1)})
order, most = cells[1, -1].argsort(), cells.abs().max()
for axis, lane, cue in zip(axes, cells, ("−1", "1"), strict=False):
    image = axis.imshow(lane[:, order].T, aspect="auto", cmap="RdBu", vmin=-most, vmax=most)
    axis.set(title=f"after a cue of {cue}", xlabel="step of the episode")
axes[0].set_ylabel("unit of the cell state")
figure.colorbar(image, ax=axes[1], label="cell state c")
for lane, dash, cue in ((0, "--", "−1"), (1, "-", "1")):
    axes[2].plot(chance[:, lane], color=COLOR, ls=dash)
    axes[2].text(8.2, chance[8, lane], f"cue {cue}", va="center", color=COLOR)
axes[2].set(title="probability of action 1", xlabel="step of the episode", ylim=(-0.05, 1.05), xlim=(0, 10))
axes[2].set_xticks(range(0, 9, 2))
plt.show()
apart = (cells[0] - cells[1]).norm(dim=-1)
print("distance between the two states, step by step:", apart.numpy().round(1))
print("greedy actions at the choice:", actions.tolist())
assert apart.min() > 0.1 and actions.tolist() == [0, 1]

# %% [markdown]
# The two states are apart all the way to the choice: this is the memory. It looks nothing like the unit we set by hand.
# After a faint start, the two cues drive the units in opposite directions, farther with every step: the agent doesn't
# keep the sign, it amplifies it. That, too, gets it past gates of one half. The probabilities in between don't matter.
# Before the last cell, any action will do.
#
# ### How far back
#
# Longer corridors take longer: a cue that is halved at every step arrives as $2^{-8}$ after eight steps, and as $2^{-16}$
# after sixteen. What if the forget gates start nearly open, at $\sigma(2) = 0.88$?


# %%
def add_open_recurrence_(agent, config):
    add_recurrence_(agent, config)
    size = config.recurrent_size
    for net in (agent.policy_net, agent.value_net):
        net.body.cell.bias.data[..., size : 2 * size] = 2.0  # of the forget gates


WORLDS["tricks/Recall16-v0"] = corridor(16)
sixteen = replace(walk, env="tricks/Recall16-v0", steps=25_000, lanes=16, horizon=32)
short = train(replace(walk, env="tricks/Recall2-v0"), RECURRENT)
long = train(sixteen, RECURRENT)

# %%
with planted(add_recurrence_=add_open_recurrence_):
    wide_open = train(sixteen, RECURRENT)

# %% tags=["hide-input"]
lengths = {"2 steps": short, "8 steps": remembering, "16 steps": long, "16, gates open": wide_open}
curves(lengths)
plt.show()
for name, run in lengths.items():
    print(f"{name:14} return of each agent in the last tenth {run.late().round(2).tolist()}")
assert long.late().mean() < 0.7 < 0.9 < min(run.late().mean() for run in (short, wide_open))

# %% [markdown]
# With sixteen steps, no agent gets anywhere in this budget; with open gates, they all do. The library begins with biases
# of 0, as Huang et al. describe, so where the past is long, one line of your own is worth a try. Don't take it for a law,
# though: this is one setting, five agents, and a world in which nothing ever has to be forgotten.
#
# There is also a limit that no gate can move. Training rebuilds the states from the one at the segment's start, and
# that one is data. This is *truncated backpropagation through time*: a gradient reaches back to the segment's first
# row, and no farther. The agents above learned from segments of 16 rows (`horizon`) in 32 lanes. **Predict.** The cue
# is eight steps before the choice. What do segments of four rows in 128 lanes do, which are as many rows per update?

# %%
chopped = train(replace(eight, horizon=4, lanes=128), RECURRENT)

# %% tags=["predict", "hide-input"]
for rows, run in ((16, remembering), (4, chopped)):
    print(f"segments of {rows:2} rows: return of each agent in the last tenth {run.late().round(2).tolist()}")
assert chopped.late().min() < 0.7 < 0.9 < remembering.late().min()

# %% [markdown]
# The choice and the cue are never in the same segment. What comes before the segment can only be used as far as the
# state *happens* to carry it: the layer was never told to write the cue down, or to keep it. Some agents are lucky. All
# first ratios are 1 here, too, so no diagnostic gives it away. Keep `horizon` longer than what has to be remembered.
#
# **Exercise 3: think.** Episodes last 1,000 steps, the cue is at the start, and the choice is at the end. `horizon` is
# 128. (a) Does the agent learn to remember? (b) What would you change? (c) And if memory doesn't allow that?
#
# <details><summary>Answer</summary>
#
# (a) Hardly: the gradient reaches back 128 steps from the choice, and what's left of the cue in the state before is
# there by chance; with forget gates at one half, nothing is. (b) Make segments as long as the episodes, with fewer
# lanes. (c) Show the cue again on the way, reward something in between, or begin with forget gates that are nearly
# open, so that the state keeps more than it's told to.
#
# </details>

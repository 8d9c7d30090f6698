# %% [markdown]
# # Appendix: how rows are stored and kept
#
# *What happens to a step of experience between the environment and the loss?*
#
# The chapters treat a batch as a table of rows. This page shows how the library makes that table, and how it keeps
# several of them for [PPG](18_ppg.ipynb) and [its buffers](19_ppg_buffers.ipynb).

# %% tags=["hide-input"]
import tempfile
from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np
import torch
from matplotlib.colors import ListedColormap

from ablations import style
from chapters.book import begin
from tricks import PPG, Checkpoints, Config, resume, source, train
from tricks.core.moments import ReturnStats
from tricks.core.rollout import Batch, Player
from tricks.envs.make import make_env
from tricks.ppg import Memory
from tricks.segments import play_segment
from tricks.worlds import WORLDS
from tricks.worlds.cartpole import CARTPOLE

begin()

# %% [markdown]
# ## A rollout is a grid of rows
#
# A `Player` steps all lanes of all agents together and remembers one tuple per step. `rollout()` stacks them into
# columns of shape `[S, T, N, ...]`: agents, time steps, lanes. Below, one agent with a random policy plays six lanes of
# CartPole with a time limit of 25 steps, for a segment of 60.

# %%
WORLDS["CartPole25"] = replace(CARTPOLE, id="CartPole25", time_limit=25)
config = Config("CartPole25", seeds=1, lanes=6, horizon=60)
player = Player(make_env(config), block=config.horizon)


def random_policy(obs, legal):
    return torch.zeros(*legal.shape)  # equal logits


played = play_segment(player, random_policy, config.horizon, torch.tensor([True]))
columns = {name: x for name, x in vars(played).items() if isinstance(x, torch.Tensor)}
print({name: list(column.shape) for name, column in columns.items()})

# %% tags=["thumbnail", "hide-input"]
kinds = {"step": style.FAINT, "terminated": style.FAULT, "truncated": "#0077BB", "cut": style.INK, "filler": "white"}
grid = torch.zeros(config.horizon, config.lanes, dtype=torch.int64)
for number, mask in enumerate((played.terminated, played.truncated, played.cut, ~played.valid), 1):
    grid[mask[0]] = number
figure, axis = plt.subplots(figsize=(8, 2.2))
axis.pcolormesh(grid.T.flip(0), cmap=ListedColormap(list(kinds.values())), vmin=0, vmax=4, edgecolor="white", lw=0.7)
axis.set(xlabel="time step t", ylabel="lane", yticks=())
axis.spines[["left", "bottom"]].set_visible(False)
for k, (kind, color) in enumerate(kinds.items()):
    edge = {"edgecolor": style.SOFT, "lw": 0.5} if kind == "filler" else {}
    axis.scatter(
        61.5, 5.4 - 1.1 * k, s=70, marker="s", color=None if edge else color, facecolor=color, clip_on=False, **edge
    )
    axis.text(62.7, 5.4 - 1.1 * k, kind, va="center")
axis.set_xlim(0, config.horizon)
figure.set_label(
    "A grid of lanes by time steps: after each end of an episode comes one filler row, and each lane's last row is cut"
)
plt.show()

ends = (played.terminated | played.truncated)[0]
assert torch.equal(~played.valid[0, 1:], ends[:-1])  # a filler row follows every end, and nothing else is filler
assert played.cut.sum() + ends[-1].sum() == config.lanes  # each lane's last row is an end or a cut

# %% [markdown]
# - **A filler row follows every end.** In that row the lane is reset (the *reset row* of [segments](13_segments.ipynb))
#   and the action is ignored, so it isn't experience: `valid` is False, its reward is 0, and it has no weight in any
#   loss.
# - **There are $T + 1$ observations.** Row $t + 1$ always follows row $t$, *even at an end*. So the observation after a
#   truncated row is the state that was cut off, which [bootstrapping](14_bootstrap.ipynb) needs, and not the first one
#   of the next episode. That is what the filler row buys.
# - **The last row of a lane is `cut`** if its episode goes on. Segments bootstrap it.
# - **Termination wins.** If a pole falls in the very step in which time runs out, only `terminated` is set.

# %%
source(Player.rollout)

# %% [markdown]
# A *fault* is an environment's mistake, such as an observation that isn't a number. It ends that seed, and the others
# go on.
#
# `Batch.of` then drops the last observation and flattens time and lanes into one axis of rows, `[S, T*N, ...]`. From
# here on a row doesn't know its neighbors, so GAE has to be computed before.
#
# ## Keeping several rollouts
#
# `Memory` is a first-in, first-out list of the last few batches, with two more columns: the update in which a row was
# `born`, and how often it was used. It stores values and targets in units of reward, and converts them when it is read:

# %%
source(Memory.batch)

# %% [markdown]
# Why? With `return_norm` the value net works in standardized units, and the ruler changes with every update. By hand: a
# target of 2 is stored while returns have mean 10 and standard deviation 5. In units of reward that is $10 + 2 \cdot 5
# = 20$. Later the mean is 20 and the standard deviation 10. The same return is now $(20 - 20) / 10 = 0$. A memory that
# had kept the 2 would teach the net a return of 40.


# %%
def stats(mean, std):
    return ReturnStats(torch.tensor([mean]).double(), torch.tensor([std**2]).double())


def one_row(target):
    target = torch.tensor([[target]]).double()
    action, valid = torch.zeros(1, 1).long(), torch.ones(1, 1).bool()
    return Batch(action=action, valid=valid, old_value=target, target=target)


memory = Memory(rollouts=2)
memory.add(one_row(2.0), stats(10.0, 5.0), update=0)

# %% tags=["hide-input"]
stored, later = (rows.target[0, 0].item() for rows in (memory.rows, memory.batch(stats(20.0, 10.0))))
print("stored", stored, " read later", later)
assert (stored, later) == (20, 0)

for update in (1, 2):
    memory.add(one_row(0.0), stats(10.0, 5.0), update)
print("born in", memory.rows.born[0].tolist())
assert memory.rows.born[0].tolist() == [1, 2]  # the oldest is gone

# %% [markdown]
# Everything else is kept as it was when the row was played, also the `old_log_prob` and the `advantage`.
#
# ## How much memory does it take?
#
# A row of $D$ numbers and $A$ discrete actions takes $4D$ bytes for the observation, $A$ for the mask of legal actions,
# and 49 for the other columns. So vectors cost next to nothing, and images are the largest thing in the program:

# %% tags=["hide-input"]
batch = Batch.of(played)
number = torch.zeros(played.reward.shape)
batch.add(advantage=number, old_log_prob=number, old_value=number.double(), target=number.double())
memory = Memory(rollouts=8)
memory.add(batch, stats(0.0, 1.0), update=0)
sizes = {name: column.element_size() * column[0, 0].numel() for name, column in memory.rows.columns.items()}
print(sizes, "sum", sum(sizes.values()))
assert sum(sizes.values()) == 4 * 4 + 2 + 49

usual = Config("ALE/Breakout-v5")
breakout = usual.aux_every * usual.horizon * usual.lanes * (4 * 84 * 84 + 4 + 49)  # a pixel is one byte
procgen = 32 * 256 * 4 * 64 * 3 * 64 * 64  # N_π rollouts of 256 steps in 4 · 64 environments, images alone
print(f"8 rollouts of Breakout: {breakout / 1e6:,.0f} MB per agent; the paper's 32 of Procgen: {procgen / 1e9:.0f} GB")

# %% [markdown]
# ## Surviving an interruption
#
# A run that is interrupted in the middle of an auxiliary cycle must find its memory again, so the memory is part of the
# checkpoint. Random numbers need no saving, since they are drawn by name: seed, purpose, update, epoch. The test: stop
# a run of PPG between two phases, resume it from disk, and compare it with one that ran through.

# %%
tiny = Config("CartPole-v1", seeds=2, steps=2_000, lanes=4, horizon=32, aux_every=4)


def stop_late(rows, agent):
    if min(row["step"] for row in rows) > 1_000:
        raise KeyboardInterrupt


with tempfile.TemporaryDirectory() as folder:
    try:
        checkpoints = Checkpoints(folder, every=256)
        train(tiny, PPG, checkpoints=checkpoints, on_update=stop_late)
    except KeyboardInterrupt:
        print("interrupted")
    resumed = resume(folder).curve
whole = train(tiny, PPG).curve
np.testing.assert_array_equal(resumed["return"], whole["return"])
np.testing.assert_array_equal(resumed.clone_kl, whole.clone_kl)
print(f"{len(whole)} rows of the curve, equal to the last bit")

# %% [markdown]
# Back to [PPG](18_ppg.ipynb), to [reusing rows](19_ppg_buffers.ipynb), or to the [bootstrap](14_bootstrap.ipynb).

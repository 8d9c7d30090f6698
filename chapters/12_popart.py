# %% [markdown]
# # PopArt: new statistics, same predictions
#
# *The statistics of the returns have moved. Does the value net still mean what it said?*
#
# With [return normalization](08_return_norm.ipynb), the value net puts out standardized numbers $n(s)$, which *mean*
# $V(s) = \sigma\, n(s) + \mu$. But $\mu$ and $\sigma$ move at every update, and the weights don't know. So every move
# changes all predictions, even those that were right.

# %% tags=["hide-input"]
import copy
from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np
import torch

from ablations import interval, style
from chapters.book import begin, caption, evidence, label_lines, planted
from chapters.book.results import trials
from chapters.exercises.popart import check_rescaled, rescale_head_
from tricks import Config, diff, source, train
from tricks.core.adam import Adam, gradient
from tricks.core.moments import ReturnStats, denormalize, normalize
from tricks.core.nets import mlp
from tricks.core.seeds import stream
from tricks.ladder import named, switched
from tricks.popart import preserve_outputs_, renormalize
from tricks.return_norm import move_stats, per_task

begin()

# %% [markdown]
# ## One batch moves every value
#
# A small net has learned the returns of 128 states $x$, $50 + 20 \sin 3x$. Now the states with $x > ½$ start to pay ten
# times as much. One batch arrives, and **the statistics move, without any gradient step.**

# %% tags=["thumbnail", "hide-input"]
x = torch.linspace(-1, 1, 128).view(1, -1, 1)
usual = (50 + 20 * torch.sin(3 * x)).view(1, -1).double()  # the return of each state


class Learner:
    """A value net under return statistics that move, with an optional repair of its head."""

    def __init__(self, repair=None):
        self.net, self.repair = mlp([stream(0, "init")], (1, 64, 64, 1), exact=True), repair
        self.optimizer = Adam(self.net.parameters(), eps=1e-5)
        self.stats = ReturnStats(usual.mean(1), usual.var(1, correction=0))

    def value(self):  # V(s), in units of reward
        return denormalize(self.net(x).squeeze(-1), self.stats).detach()[0]

    def move(self, returns):
        old, everything = self.stats, torch.ones(1, 128, 1, dtype=torch.bool)
        self.stats = move_stats(old, returns.unsqueeze(-1), everything, beta=0.1)
        if self.repair:
            self.repair(self.net, old, self.stats)

    def learn(self, returns, steps=8):
        target = normalize(returns, self.stats)
        for _ in range(steps):
            loss = 0.5 * (self.net(x).squeeze(-1) - target).square().mean(1)
            grad = gradient(loss, self.net.parameters())
            self.optimizer.step(grad, torch.tensor([0.001]), torch.tensor([True]))


taught = Learner()
for _ in range(120):
    taught.move(usual)
    taught.learn(usual)
assert (taught.value() - usual[0]).abs().max() < 2

news = torch.where(x.view(1, -1) > 0.5, 10 * usual, usual)
before = taught.value()
art = copy.deepcopy(taught)
art.move(news)

place = 32  # x = −0.5, where nothing has changed
figure, axis = plt.subplots(figsize=(6.5, 2.9))
axis.axvspan(0.5, 1, color=style.FAINT, alpha=0.6, lw=0)
axis.text(0.75, -75, "pays tenfold\nfrom now on", color=style.SOFT, ha="center", size=8)
axis.plot(x.flatten(), before, color=style.SOFT, lw=5, alpha=0.5, label="V before")
axis.plot(x.flatten(), art.value(), color=style.COLORS["return_norm"], label="V after")
axis.set(xlabel="state x", ylabel="V(s), in units of reward", xlim=(-1, 1), ylim=(-90, 220))
label_lines(axis)
plt.show()
(mu, sigma), (new_mu, new_sigma) = ((s.mean.item(), s.std.item()) for s in (taught.stats, art.stats))
output = (before[place].item() - mu) / sigma
caption(
    f"At x = −0.5 the net still says {output:.2f}. That meant {output:.2f} · {sigma:.1f} + {mu:.1f} = {before[place]:.0f}. "
    f"Now it means {output:.2f} · {new_sigma:.1f} + {new_mu:.1f} = {art.value()[place]:.0f}."
)
assert (art.value() - before)[:90].abs().mean() > 30

# %% [markdown]
# ## Solve for the new head
#
# Change the last layer, too: the head $n = W \cdot h + b$, where $h$ is what the hidden layers make of the state. When
# $\mu, \sigma$ become $\mu', \sigma'$, we want $W', b'$ with
#
# $$\sigma' (W' \cdot h + b') + \mu' \;=\; \sigma\, (W \cdot h + b) + \mu \qquad\text{for every } h.$$
#
# Factors of $h$ and constants both have to agree:
#
# $$\sigma' W' = \sigma W, \qquad\qquad \sigma' b' + \mu' = \sigma b + \mu.$$
#
# Divide by $\sigma'$:
#
# $$W' = \frac{\sigma}{\sigma'}\, W, \qquad\qquad b' = \frac{\sigma b + \mu - \mu'}{\sigma'}.$$
#
# This is POP, "preserving outputs precisely" (van Hasselt et al. 2016, arXiv:1602.07714); with ART, it is PopArt.

# %%
source(preserve_outputs_, renormalize)

# %% [markdown]
# `renormalize` does the same to outputs stored for [value clipping](15_value_clip.ipynb). POP also preserves ignorance:
# an untrained net's few tenths, even where returns are thousandths. So with
# [`return_first_batch`](08_return_norm.ipynb), `with_a_scale` leaves the head alone until a first batch has set the
# scale.
#
# <!-- mechanism: popart -->
#
# **The law of this trick: predictions before and after agree**, up to float32 rounding. Test it with statistics that
# move: while they stand still, mistakes in $b'$ don't show.

# %%
pop = copy.deepcopy(taught)
pop.repair = preserve_outputs_
pop.move(news)
torch.testing.assert_close(pop.value(), before, rtol=1e-5, atol=0)

# %% [markdown]
# With the repair, no value has moved. But in the gray part of the picture, they should have.
#
# ## Twenty batches later
#
# On the left, the states with $x > ½$ pay tenfold, and we look at the rest. On the right, **everything** pays tenfold.


# %%
def continued(repair, returns, where):
    """Mean error of V over the states `where`, after each move and before the steps."""
    learner, errors = copy.deepcopy(taught), []
    learner.repair = repair
    for _ in range(20):
        learner.move(returns)
        errors.append((learner.value() - returns[0])[where].abs().mean().item())
        learner.learn(returns)
    return errors


quarter, all_of_it = "a quarter pays tenfold: the rest", "everything pays tenfold"
stories = ((quarter, news, x.flatten() < 0.4), (all_of_it, 10 * usual, x.flatten() < 2))
arms = (("return_norm alone", None), ("with popart", preserve_outputs_))
ends = {}
for title, returns, where in stories:
    for name, repair in arms:
        ends[title, name] = continued(repair, returns, where)

# %% [markdown]
# **Predict.** Which learner has the smaller error after the first batch? And after ten?

# %% tags=["predict", "hide-input"]
figure, axes = plt.subplots(1, 2, figsize=(7.5, 2.8))
for axis, title in zip(axes, (quarter, all_of_it), strict=True):
    for name, trick in (("return_norm alone", "return_norm"), ("with popart", "popart")):
        axis.plot(range(1, 21), ends[title, name], color=style.COLORS[trick], label=name)
    axis.set(title=title, xlabel="batch after the news", ylim=(0, None), xlim=(1, 20))
axes[0].set_ylabel("mean error of V (points)")
label_lines(axes[1])
plt.show()

kept, left = ends[quarter, "with popart"], ends[quarter, "return_norm alone"]
assert kept[0] < 1 < 30 < left[0] and kept[2] > 2 * left[2] and max(kept) < 0.8 * max(left)
assert all(a < b for a, b in zip(kept[7:], left[7:], strict=True))
assert ends[all_of_it, "return_norm alone"][10] < ends[all_of_it, "with popart"][10]

# %% [markdown]
# Left: POP leaves the unchanged states alone, until gradient steps disturb them, because all states share a net. At the
# third batch, its error is the larger one. Its peak is lower, and from the eighth batch on it is ahead.
#
# Right: after some back and forth, POP **lags behind**. Once $\mu$ and $\sigma$ are ten times as large, a head left
# alone says $10 V$, right without learning anything. The preserved head says $V$, which was right yesterday. **Preserve
# what you know while it's still true.**
#
# The order matters: advantages with the old values and statistics; then new statistics, the repair, targets with the
# *new* statistics, and gradient steps.

# %%
diff(named("action_mask"), named("popart"))

# %% [markdown]
# ## Four tasks, four scales
#
# PopArt is best known for one agent that plays many games (Hessel et al. 2018, arXiv:1809.04474). Each task gets its
# own value head, return statistics, and division of its advantages by $\sigma_k$, or the task that pays most drowns out
# the others. `Tasks` has four that pay 1, 10, 100, and 1000, and what is right in one is wrong in the next. In both
# worlds the agent sees its task; `TasksNamed` also tells the library.

# %%
source(per_task)

# %%
flags = ("baseline", "reuse", "clip", "gae", "advantage_norm")
ways = {
    "one head, return_norm": ("tricks/Tasks-v0", ("return_norm",)),
    "heads, no trick": ("tricks/TasksNamed-v0", ()),
    "heads, return_norm": ("tricks/TasksNamed-v0", ("return_norm",)),
    "heads, both tricks": ("tricks/TasksNamed-v0", ("return_norm", "popart")),
}
tasks = Config(seeds=10, steps=30_000, lanes=32, horizon=32, hidden=(32, 32), lr=0.01)
tried = {}
for name, (env, more) in ways.items():
    tried[name] = train(replace(tasks, env=env), switched((*flags, *more)))

# %% tags=["hide-input"]
right = torch.tensor([[(task + cue) % 2 for cue in (0, 1)] for task in range(4)])  # [4, 2]
situations = torch.stack(
    [torch.cat([torch.eye(4)[task], torch.tensor([2.0 * cue - 1, 0.5])]) for task in range(4) for cue in (0, 1)]
)


def share_right(run):
    """Each agent's probability of the right action, by task: its share of what the task can pay. [S, 4]."""
    logits = run.agent.policy(situations.expand(10, -1, -1)).detach()  # [S, 8, 2]
    chance = logits.softmax(-1).gather(-1, right.view(1, 8, 1).expand(10, -1, -1))
    return chance.view(10, 4, 2).mean(2)


figure, axis = plt.subplots(figsize=(6.5, 2.8))
shares = {name: share_right(run) for name, run in tried.items()}
looks = style.INK, style.SOFT, style.COLORS["return_norm"], style.COLORS["popart"]
places = (0.12, 0.2, "left"), (1.15, 0.37, "left"), (0.05, 1.06, "left"), (1.6, 1.06, "left")
for (name, share), color, (x, y, side) in zip(shares.items(), looks, places, strict=True):
    axis.plot(range(4), share.mean(0), "o--" if name == "heads, both tricks" else "o-", color=color)
    axis.fill_between(range(4), *interval(share.numpy()), color=color, alpha=0.15)
    axis.text(x, y, name, color=color, ha=side, va="center")
axis.axhline(0.5, color=style.SOFT, lw=1, ls=":", zorder=0)
axis.text(3.2, 0.49, "guessing", color=style.SOFT, ha="right", va="top", size=8)
axis.set(xlabel="what the task pays", ylabel="share of its own best", ylim=(-0.03, 1.13), xlim=(-0.2, 3.2))
axis.set_xticks(range(4), ["1", "10", "100", "1000"])
plt.show()

end = {name: run.late().mean() for name, run in tried.items()}
shares = {name: share.mean(0) for name, share in shares.items()}
assert shares["one head, return_norm"][1:].min() > 0.9 > 0.45 > shares["one head, return_norm"][0]
assert shares["heads, no trick"][:3].max() < 0.7 and shares["heads, return_norm"].min() > 0.95
assert end["heads, no trick"] < end["one head, return_norm"] < end["heads, return_norm"] - 1
assert abs(end["heads, both tricks"] - end["heads, return_norm"]) < 0.5

# %% [markdown]
# With one head and one scale, the task that pays 1 isn't learned. Heads without statistics learn only the
# largest. Heads with `return_norm` solve all four, and PopArt on top adds nothing that ten agents could show.
# Statistics per task always come with heads and the division here, so we can't say which part counts.
#
# ## Where it helps, and where it hurts

# %% tags=["hide-input"]
stored = evidence("popart")
stored.strip()
plt.show()

(weather,) = stored.worlds[stored.worlds.seen == 1].itertuples()
assert "Weather100" in weather.world and weather.confirmed == 1
assert "return_beta=0.9" in weather.numbers and Config().return_beta == 0.1
doses = next(each for each in trials() if (each.trial.trick, each.trial.varied) == ("popart", "β")).at_every_dose
low, high = interval(np.asarray(doses[0].scores(doses[0].having) - doses[0].scores(doses[0].without)))
assert doses[0].dose.size == 0.1 and low < 0 < high
(leap,) = (row for row in stored.worlds.itertuples() if "Jump" in row.world)
assert leap.low < 0 < leap.high
hurt = stored.table[stored.table.detected < 0]
assert hurt.env.tolist() == ["Acrobot-v1", "tricks/BricksByRow-v0"] and hurt.confirmed.iloc[0] == 1
assert not (stored.table.detected > 0).any()

# %% [markdown]
# It helps in no usual environment. It hurts a little as Acrobot's next rung and, seen once, in `BricksByRow`, a [game
# in pixels](23_atari.ipynb). It helps in `Weather100`, where every state shows whether its batch is lucky; then each
# episode is lent 100 at its first step and repays it at its last. The statistics leap, while no state's value changes.
# But that is detected only with $\beta = 0.9$; at the default 0.1, nothing is.

# %% tags=["hide-input"]
stored

# %% [markdown]
# ## At a glance
#
# | | |
# |---|---|
# | **problem** | when $\mu$ and $\sigma$ move, every $V(s)$ changes |
# | **formula** | $W' = \frac{\sigma}{\sigma'}\, W, \qquad b' = \frac{\sigma b + \mu - \mu'}{\sigma'}$ for the last layer |
# | **in the loop** | `batch.old_value = renormalize(batch.old_value, before, stats)` <br> `preserve_outputs_(net, before, stats)` |
# | **defaults** | `return_beta` and `return_first_batch`, from `return_norm` |
# | **watch** | `return_mean` and `return_std`: do they jump? On a [shared trunk](17_shared_trunk.ipynb), a smaller $W$ sends it a smaller gradient |
# | **skip it when** | a rough baseline will do, the statistics creep, or all returns grow by one factor |
# | **evidence** | Hurts as the next rung in Acrobot; on top of cleanrl (with return_norm; at one rate; once) in BricksByRow. Practically nothing in the full set in Acrobot; alone (on baseline, return_norm) in LunarLander; as the next rung in LunarLander. In 6 of 9 environments, these runs can't tell. It helps in 1 of 4 trials in worlds made for it. |
# | **also called** | POP; with ART (`return_norm`), *PopArt* |

# %% [markdown]
# ## Exercises
#
# **Exercise 1: write it.** Rescale a head with a single weight.


# %%
def rescaled(weight, bias, old, new):  # old and new are (mean, std) -> (weight, bias)
    ...


check_rescaled(rescaled)

# %% [markdown]
# <details><summary>Hint</summary>
#
# $V$ is $\sigma$ times the old output plus $\mu$. Which output means the same $V$ under $\mu'$ and $\sigma'$?
#
# </details>
#
# **Exercise 2: think.** Returns had $\mu = 0$ and $\sigma = 1$. Now all are 10,000, so in the end $\mu' = 10^4$, and
# $\sigma'$ is at its lower limit, $10^{-4}$. What is $b'$, if $b$ was 0? How far apart are float32 numbers of that
# size, and what does that do to outputs of order 1?
#
# <details><summary>Answer</summary>
#
# $b' = (0 + 0 - 10^4)/10^{-4} = -10^8$. There, float32 numbers are 8 apart, and outputs that differ by tenths round to
# the same number. So the bias is float64 here.
#
# </details>

# %% [markdown]
# **Exercise 3: spot the bug.** In `CartPoleJump` a step pays 1, and 1000 once a lane has counted 1500 steps. We train
# through the jump with this rescaling and with the right one.

# %%
source(rescale_head_)

# %%
jump = Config("tricks/CartPoleJump-v0", seeds=5, steps=24_000, lr=0.003)
both = ("baseline", "reuse", "clip", "gae", "return_norm", "segments", "popart")
right = train(jump, switched(both))
with planted(preserve_outputs_=rescale_head_):
    faulty = train(jump, switched(both))

# %% tags=["hide-input"]
figure, axis = plt.subplots(figsize=(6.5, 2.6))
explained = {}
for name, run, color in (("right", right, style.COLORS["popart"]), ("with the bug", faulty, style.FAULT)):
    explained[name] = run.curve.groupby("update").explained_variance.mean()
    axis.plot(explained[name], color=color, label=name)
axis.set(xlabel="update", ylabel="explained variance", ylim=(-0.1, 1), xlim=(0, len(explained["right"]) - 1))
label_lines(axis)
plt.show()

shock = explained["right"].iloc[5:].idxmin()
after = slice(shock + 2, shock + 6)
assert 10 <= shock <= 14
assert explained["with the bug"][after].mean() < explained["right"][after].mean() - 0.1

# %% [markdown]
# What's wrong? By how much does a single move shift every $V(s)$? Which check finds it before any training?
#
# <details><summary>Hint</summary>
#
# Compare $b'$ with the formula, term by term.
#
# </details>
#
# Solutions: [`solutions/12_popart.py`](solutions/12_popart.py). Next: [segments](13_segments.ipynb), or learning before
# the episode ends.

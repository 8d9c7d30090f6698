# %% [markdown]
# # PopArt: move the ruler, keep what was measured
#
# *The statistics of the returns have moved. Does the value net still mean what it said?*
#
# Since the chapter on return normalization, the value net puts out standardized numbers $n(s)$, and what it *means* is
# $V(s) = \sigma\, n(s) + \mu$. The statistics $\mu$ and $\sigma$ move at every update. The net's weights do not know.
# So every time the ruler is changed, everything that was ever measured with it changes, too.
#
# The cure takes two lines, and it is exact. Whether it helps is another question. We will ask it three times in this
# chapter: a toy, a small run, and the stored ones.

# %%
import copy
from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np
import torch

from ablations import interval, style
from book import begin, curves, evidence, label_lines, planted
from exercises.popart import check_rescaled, rescale_head_
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
# ## The failure: news from one place, damage in another
#
# As in the chapter on return normalization, a toy: the states are 128 numbers $x$ between −1 and 1, and each pays its
# return, $50 + 20 \sin 3x$. A small net learns the standardized returns, batch after batch, as the library's value net
# does.

# %%
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


# %%
taught = Learner()
for _ in range(120):
    taught.move(usual)
    taught.learn(usual)
print(f"largest error after 120 batches: {(taught.value() - usual[0]).abs().max():.2f}")
assert (taught.value() - usual[0]).abs().max() < 2

# %% [markdown]
# It knows its returns. Now there is news: the states with $x > ½$ pay ten times as much from now on. The others pay
# what they always paid. A batch arrives, and **the statistics move. No gradient step is taken.**

# %%
news = torch.where(x.view(1, -1) > 0.5, 10 * usual, usual)
before = taught.value()
art = copy.deepcopy(taught)
art.move(news)

place = 32  # x = −0.5, where nothing has changed
print(f"mean of the returns  {taught.stats.mean.item():6.1f} → {art.stats.mean.item():6.1f}")
print(f"standard deviation   {taught.stats.std.item():6.1f} → {art.stats.std.item():6.1f}")
print(f"V at x = {x[0, place].item():.1f}         {before[place]:6.1f} → {art.value()[place]:6.1f}")
assert (art.value() - before)[:90].abs().mean() > 30

# %% [markdown]
# The net at $x = -0.5$ puts out the same number as before. It is read with another ruler, and so it says something else
# about a state that pays what it always did.
#
# ## The idea
#
# Change the net so that the two rulers agree. Only its last layer is needed, the head: $n = W \cdot h + b$, where $h$
# is what the hidden layers make of the state. When $\mu, \sigma$ become $\mu', \sigma'$, we look for $W', b'$ with
#
# $$\sigma' (W' \cdot h + b') + \mu' \;=\; \sigma\, (W \cdot h + b) + \mu \qquad\text{for every } h.$$
#
# "For every $h$" makes it easy. Each side is a factor times $h$ plus a constant, so they agree everywhere only if the factors of $h$
# agree and the rest agrees:
#
# $$\sigma' W' = \sigma W, \qquad\qquad \sigma' b' + \mu' = \sigma b + \mu.$$
#
# Divide both by $\sigma'$:
#
# $$W' = \frac{\sigma}{\sigma'}\, W, \qquad\qquad b' = \frac{\sigma b + \mu - \mu'}{\sigma'}.$$
#
# That is all. van Hasselt et al. (2016, arXiv:1602.07714, proposition 1) call it POP, "preserving outputs precisely";
# with the ART of return normalization, it is PopArt. No state is looked at, no gradient is taken, and it is no
# approximation: all $V(s)$ stay, also those of states that the agent has never seen.
#
# ## In the library

# %%
source(preserve_outputs_, renormalize)

# %% [markdown]
# `renormalize` is the same sentence for outputs that were stored before the move: what would the repaired head have
# said? The chapter on value clipping needs it, because it compares old outputs with new ones, and both must be in one
# unit.
#
# ## Check it with numbers
#
# One weight: $W = 3$, $b = 1$, and $\mu = 10$, $\sigma = 2$. For $h = ½$ the head says 2.5, which means $V = 15$. Now
# $\mu' = 40$, $\sigma' = 8$. So $W' = \tfrac{2}{8} \cdot 3 = 0.75$ and $b' = (2 \cdot 1 + 10 - 40)/8 = -3.5$. The head
# now says $0.375 - 3.5 = -3.125$, and means $8 \cdot (-3.125) + 40 = 15$.


# %%
def statistics(mean, std):
    return ReturnStats(torch.tensor([mean], dtype=torch.float64), torch.tensor([std**2], dtype=torch.float64))


head = mlp([stream(0, "init")], (1, 1), exact=True)  # nothing but a head
weight, bias = head.layers[-1]
weight.data.fill_(3.0)
bias.data.fill_(1.0)
h = torch.full((1, 1, 1), 0.5)

old, new = statistics(10.0, 2.0), statistics(40.0, 8.0)
said = denormalize(head(h), old).item()
preserve_outputs_(head, old, new)
says = denormalize(head(h), new).item()
print(f"W′ = {weight.item()}, b′ = {bias.item()}: V was {said}, and is {says}")
assert (weight.item(), bias.item(), said, says) == (0.75, -3.5, 15, 15)

# %% [markdown]
# <!-- mechanism: popart -->
#
# **The law of this trick: outputs before and after agree**, here to one part in 100,000 (weights are float32). It is
# worth a test, because a mistake in $b'$ is invisible as long as the statistics stand still.

# %%
pop = copy.deepcopy(taught)
pop.repair = preserve_outputs_
pop.move(news)
torch.testing.assert_close(pop.value(), before, rtol=1e-5, atol=0)
print(f"largest change of V, head left alone: {(art.value() - before).abs().max():7.3f}")
print(f"largest change of V, head repaired:   {(pop.value() - before).abs().max():7.3f}")

# %% [markdown]
# ## The same move, twice

# %% tags=["thumbnail"]
figure, axis = plt.subplots(figsize=(6.5, 2.9))
axis.axvspan(0.5, 1, color=style.FAINT, alpha=0.6, lw=0)
axis.text(0.75, -75, "pays tenfold\nfrom now on", color=style.SOFT, ha="center", size=8)
axis.plot(x.flatten(), before, color=style.INK, lw=5, alpha=0.25, label="before the move")
axis.plot(x.flatten(), art.value(), color=style.COLORS["return_norm"], label="return_norm alone")
axis.plot(x.flatten(), pop.value(), color=style.COLORS["popart"], ls="--", label="with popart")
axis.set(xlabel="state x", ylabel="V(s), in units of reward", xlim=(-1, 1), ylim=(-90, 220))
label_lines(axis)
plt.show()

# %% [markdown]
# One batch has moved the statistics. Without the repair, all values have jumped, everywhere. With it, none has.
#
# But look at the gray part, and be fair: *there*, the values should have risen. The head that was left alone rose, if
# only by accident; the repaired one says what was true before. Keep this in mind.
#
# ## And then?
#
# Both learners now go on for 20 batches. We play two stories: in the first, a quarter of the states pays ten times as
# much, and we look at the error where **nothing** has changed. In the second, **everything** pays ten times as much.


# %%
def continued(repair, returns, where):
    """Mean error of V over the states `where`, after each move of the statistics and before its gradient steps."""
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
ends = {(title, name): continued(repair, returns, where) for title, returns, where in stories for name, repair in arms}
for (title, name), errors in ends.items():
    print(f"{title:33} {name:18} batch 1: {errors[0]:6.1f}, batch 2: {errors[1]:6.1f}, batch 11: {errors[10]:6.1f}")
assert ends[quarter, "with popart"][0] < 1 < 30 < ends[quarter, "return_norm alone"][0]
assert ends[all_of_it, "return_norm alone"][10] < ends[all_of_it, "with popart"][10]

# %%
figure, axes = plt.subplots(1, 2, figsize=(7.5, 2.8))
for axis, title in zip(axes, (quarter, all_of_it), strict=True):
    for name, trick in (("return_norm alone", "return_norm"), ("with popart", "popart")):
        axis.plot(range(1, 21), ends[title, name], color=style.COLORS[trick], label=name)
    axis.set(title=title, xlabel="batch after the news", ylim=(0, None), xlim=(1, 20))
axes[0].set_ylabel("mean error of V")
label_lines(axes[1])
plt.show()

# %% [markdown]
# Left: at first the states that have nothing to do with the news are spared. That is what POP promises. It
# promises nothing about the gradient steps that follow, and these disturb all states together, since they share a net.
# The large lead is gone with the third batch; what stays is a small one.
#
# Right: when *all* returns grow by one factor, POP leads for two more batches and then **lags behind**. In the end
# $\mu' = 10 \mu$ and $\sigma' = 10 \sigma$, and then a head that is left alone says $10 \sigma\, n + 10 \mu = 10 V$, which is
# exactly right. Its outputs were right before, and need not be learned again; the statistics carry it there, and the
# gradient steps only have to help on the way. The preserved head says $V$, which was right yesterday, and has to learn a
# tenfold swing in place of the one it shrank.
# **Preserving what you know is good when the knowledge is still true.**
#
# ## Three things to get right
#
# **The order.** Compute advantages with the old values and the old statistics. Then move the statistics, repair the
# head, standardize the targets with the *new* statistics, take gradient steps. Every output of the net is then read
# with the statistics that the head was made for. (One may as well take the steps first and do all the rest after them.
# What one may not do is mix: a head of one ruler, targets of the other.)
#
# **Adam.** The optimizer remembers running averages of the gradient and of its square for every weight. The weights of
# the head were just multiplied by $\sigma/\sigma'$; should its memory be, too? This library leaves it alone. The loss
# is in standardized units, so the gradient for $W$ is $(n - \text{target}) \cdot h$, of order 1 before the move and
# after it, and a memory of its size stays useful. What does change is the worth of a step: Adam moves $W$ by about
# $\alpha$ as ever, and that is $\sigma' \alpha |h|$ in units of reward. When $\sigma$ has grown tenfold, so has every
# step. That is part of the disturbance in the left picture.
#
# **Rounding.** Textbooks track the mean and the mean *square* $v$, and compute $\sigma^2 = v - \mu^2$. In float32,
# numbers near $10^8$ are 8 apart. Give it a constant return near 10,000, whose variance is 0:

# %%
half = np.float32(0.5)
lowest = {}
for constant in (9_999, 10_000, 12_345):
    mean = square = np.float32(0)
    found = []
    for _ in range(100):
        mean = (1 - half) * mean + half * np.float32(constant)
        square = (1 - half) * square + half * np.float32(constant) ** 2
        found.append(float(square - mean**2))
    lowest[constant] = min(found)
    print(f"constant return {constant}: v − μ² falls to {min(found):.0f}, and is {found[-1]:.0f} in the end")
assert min(lowest.values()) < 0

# %% [markdown]
# A negative variance has no square root: NaN. Hence the centered form of the chapter on return normalization, in
# float64, and a lower limit for $\sigma$. The head's bias is float64 for a similar reason (Exercise 2).
#
# ## What changes in the loop

# %%
diff(named("action_mask"), named("popart"))

# %% [markdown]
# Two lines: the repair, and the same for the stored outputs.
#
# ## A small run
#
# In the world `CartPoleJump` a step pays 1 at first, and 1000 once a lane has counted 1500 steps, which is when the
# agent with its 8 lanes has taken 12,000. It cannot see that coming. Five agents each, 30,000 steps, both arms at a
# learning rate of 0.003.

# %%
jump = Config("tricks/CartPoleJump-v0", seeds=5, steps=30_000, lr=0.003)
alone = switched(("baseline", "reuse", "clip", "gae", "return_norm", "segments"))
both = switched((*alone.on, "popart"))
art_run, pop_run = train(jump, alone), train(jump, both)

curves({"return_norm": art_run, "popart": pop_run})
plt.show()


# %%
def explained(run):
    return run.curve.groupby("update").explained_variance.mean()


figure, axis = plt.subplots(figsize=(6.5, 2.6))
for name, run in (("return_norm", art_run), ("popart", pop_run)):
    axis.plot(explained(run), color=style.COLORS[name], label=name)
axis.set(xlabel="update", ylabel="explained variance", ylim=(-0.1, 1), xlim=(0, len(explained(pop_run)) - 1))
label_lines(axis)
plt.show()

shock = explained(pop_run).iloc[5:].idxmin()
late_art, late_pop = (explained(run).iloc[-10:].mean() for run in (art_run, pop_run))
print(f"lowest explained variance after the start: {explained(pop_run)[shock]:.2f}, in update {shock}")
print(f"explained variance in the last ten updates: return_norm {late_art:.2f}, popart {late_pop:.2f}")
assert 10 <= shock <= 14
assert late_pop > late_art + 0.02

# %% [markdown]
# In the batch in which the pay jumps, nothing could have foretold the returns, and both fall to an explained variance
# of about 0. Then both recover. At the jump itself there is nothing to save, since everything grows by one factor, as
# in the story on the right. Later, while the statistics go on moving, the repaired head explains more. And the
# returns? Their bands lie on top of each other: a baseline that is somewhat better is not yet a policy that is.
#
# ## What the stored runs say

# %%
stored = evidence("popart")
stored

# %%
stored.plot()
plt.show()

print(stored.summary())

helped = (stored.worlds.seen == 1).sum()
print(f"worlds in which it was predicted to help: {len(stored.worlds)}; in which it was seen to: {helped}")

# %% [markdown]
# The worlds in italics were built so that PopArt *must* show, and the predictions were written down before the runs. (In
# `CartPoleJump` the runs have 32 lanes, so the jump comes at 32 · 1500 = 48,000 steps.) The last line says what came of them.
#
# - In `Weather100` each batch is lucky or not, at random, and shows which. A lucky one is lent 100 at the first step, and
#   pays it back at the last. With $\beta = 0.5$ the statistics leap from batch to batch, while no state's value changes:
#   what the repair preserves is *right*. That is the case PopArt was made for.
# - In `CartPoleJump` all returns grow together, and that is the case in which a head that is left alone is right by
#   luck. What the repair wins afterward, it wins in explained variance; the policy is shaken by the jump in any case.
# - In `Magnitudes` four tasks pay 1, 10, 100 and 1000 behind one value head. Every batch moves the statistics a bit,
#   and what the head says about the small tasks jumps each time. But the statistics pool all tasks, so $\sigma$ is the
#   largest task's, and the small ones are a rounding error in the loss with or without the repair. The next section
#   gives every task a head of its own.
# - Advantages only need a *rough* baseline. A value that is off for a batch or two costs some variance, and no bias
#   that would last.
# - With usual rewards the statistics creep, at $\beta = 0.1$, and the gradient steps of the same update repair what
#   they have moved. Where returns are in the hundreds, the first moves, from 0 and 1, are anything but small. But then
#   there is nothing to preserve yet.
#
# ## Several tasks at once
#
# PopArt's best-known use is one agent that plays many games whose scores differ by orders of magnitude (Hessel et al.
# 2018, arXiv:1809.04474). The recipe has three parts: a value head for each task, return statistics for each task, and
# advantages divided by the task's own $\sigma_k$:
#
# $$ A_t \;\leftarrow\; \frac{A_t}{\sigma_{k(t)}}. $$
#
# Without the last part, a task that pays 1000 drowns out the one that pays 1 in the policy's gradient, however good the
# baseline is. The world `Tasks` has four such tasks: they pay 1, 10, 100, and 1000, and what is right in one is wrong in
# the next. Its score counts right actions, no matter what they pay: 10 at best, 5 at random. `TasksNamed` is the same
# world, but it tells the agent which rows belong to which task. That alone gives each task a head; `return_norm` also
# gives it statistics.

# %%
source(per_task)

# %%
flags = ("baseline", "reuse", "clip", "gae", "advantage_norm")
ways = {
    "one head": ("tricks/Tasks-v0", ("return_norm", "popart")),
    "a head per task": ("tricks/TasksNamed-v0", ()),
    "+ return_norm": ("tricks/TasksNamed-v0", ("return_norm",)),
    "+ popart": ("tricks/TasksNamed-v0", ("return_norm", "popart")),
}
tasks = Config(seeds=10, steps=30_000, lanes=32, horizon=32, hidden=(32, 32), lr=0.01)
found = {name: train(replace(tasks, env=env), switched((*flags, *more))) for name, (env, more) in ways.items()}

for name, run in found.items():
    low, high = interval(run.late().to_numpy())
    print(f"{name:16} right actions in the last tenth: {run.late().mean():.2f} [{low:.2f}, {high:.2f}]")
named, unnamed = found["+ popart"], found["one head"]
print("σ of each task:", *(f"{sigma:.3g}" for sigma in named.agent.returns.std.mean(0)))

# %%
right = torch.tensor([[(task + cue) % 2 for cue in (0, 1)] for task in range(4)])  # [4, 2]
situations = torch.stack(
    [torch.cat([torch.eye(4)[task], torch.tensor([2.0 * cue - 1, 0.5])]) for task in range(4) for cue in (0, 1)]
)


def share_right(run):
    """Each task's probability of the right action: its share of what the task can pay. [4]."""
    logits = run.agent.policy(situations.expand(10, -1, -1)).detach()  # [S, 8, 2]
    chance = logits.softmax(-1).gather(-1, right.view(1, 8, 1).expand(10, -1, -1))
    return chance.view(10, 4, 2).mean((0, 2))


figure, axis = plt.subplots(figsize=(6.5, 2.6))
for name, color in (("one head", style.COLORS["return_norm"]), ("+ popart", style.COLORS["popart"])):
    axis.plot(range(4), share_right(found[name]), "o-", color=color, label=name)
axis.axhline(0.5, color=style.SOFT, lw=1, label="at random")
axis.set(xlabel="what the task pays", ylabel="share of its own best", ylim=(-0.03, 1.03), xlim=(-0.2, 3.2))
axis.set_xticks(range(4), ["1", "10", "100", "1000"])
label_lines(axis)
plt.show()

assert share_right(unnamed)[3] > 0.95 > 0.5 > share_right(unnamed)[0]
assert share_right(named).min() > 0.95
assert found["+ return_norm"].late().mean() > found["a head per task"].late().mean() + 2
assert abs(named.late().mean() - found["+ return_norm"].late().mean()) < 0.2

# %% [markdown]
# With one head, the agent learns the task that pays 1000. In the one that pays 1 it is worse than random: it does what
# the large task taught it, where that is wrong. Separate heads alone don't help, because nothing tells the policy that
# the small rewards matter. With statistics per task, all four are solved. And what does POP add to ART here? Nothing that ten agents could show: each task's statistics settle within a few
# batches, and after that there is nothing left to preserve. In this world, it is the *scale per task* that counts.
#
# ## When it does not help, or hurts
#
# - When all returns change by one factor: above, on the right.
# - At the start of training, when the net knows nothing. Then POP preserves ignorance: $\sigma$ grows, $W$ shrinks, and
#   the head must learn its swing anew.
# - When the scale is known, or the rewards are: divide by it once.
# - When policy and value share a trunk, it repairs the head only, exactly. But a shrunken $W$ also shrinks the gradient
#   that the value loss sends into the trunk.
#
# ## Exercises
#
# **Exercise 1: write it.** Rescale a head with a single weight.


# %%
def rescaled(weight, bias, old, new):  # old and new are (mean, std) -> (weight, bias)
    ...


check_rescaled(rescaled)

# %% [markdown]
# **Exercise 2: think.** All returns become 10,000 and stay there; before, they had mean 0 and standard deviation 1. In
# the end $\mu' = 10^4$, and $\sigma'$ is at its lower limit, $10^{-4}$. What is $b'$, if $b$ was 0? How far apart are
# the float32 numbers of that size, and what does that do to outputs of order 1?
#
# **Exercise 3: spot the bug.** This rescaling of the head looks like the right one, and is from the family "mixing old
# and new statistics".

# %%
source(rescale_head_)

# %%
with planted(preserve_outputs_=rescale_head_):
    faulty = train(replace(jump, steps=24_000), both)

for name, run in (("right", pop_run), ("with the bug", faulty)):
    after = explained(run)[shock : shock + 8]
    print(f"{name:13} explained variance from the jump on:", *(f"{v:5.2f}" for v in after))
assert explained(faulty)[shock + 2 : shock + 6].mean() < explained(pop_run)[shock + 2 : shock + 6].mean() - 0.1

# %% [markdown]
# Before the jump you would hardly have noticed, and the gap closes with time: each mistake is repaired by
# gradient steps. What is wrong? By how much does a single move shift every $V(s)$? And which check of two lines, from
# this chapter, finds it before any training?
#
# Solutions: [`solutions/12_popart.py`](solutions/12_popart.py). Next: [segments](13_segments.ipynb), or how not to
# wait for the end of an episode.

# %% [markdown]
# # PopArt: new statistics, same predictions
#
# *The statistics of the returns have moved. Does the value net still mean what it said?*
#
# Since the chapter on [return normalization](08_return_norm.ipynb), the value net puts out standardized numbers $n(s)$,
# which *mean* $V(s) = \sigma\, n(s) + \mu$. The statistics $\mu$ and $\sigma$ move at every update, and the net's
# weights don't know. So with every move all predictions change, including those that were right. The repair is two
# lines long, and exact.

# %% tags=["hide-input"]
import copy
from dataclasses import replace

import matplotlib.pyplot as plt
import torch

from ablations import interval, style
from chapters.book import at_each_scale, begin, curves, draw_scales, evidence, label_lines, planted
from chapters.exercises.popart import check_rescaled, rescale_head_
from tricks import REINFORCE, Config, diff, source, train
from tricks.baseline import squared_error
from tricks.core.adam import Adam, gradient
from tricks.core.moments import ReturnStats, denormalize, normalize
from tricks.core.nets import mlp
from tricks.core.reductions import mean, reward_to_go
from tricks.core.rollout import Batch, play_episodes
from tricks.core.seeds import stream
from tricks.ladder import named, switched
from tricks.popart import preserve_outputs_, renormalize, with_a_scale
from tricks.return_norm import move_stats, per_task
from tricks.reuse import minibatches

begin()

# %% [markdown]
# ## One batch moves every value
#
# The states are 128 numbers $x$ between −1 and 1, each with a return of $50 + 20 \sin 3x$. A small net learns the
# standardized returns, as the library's value net does.

# %% tags=["hide-input"]
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

# %% [markdown]
# Now the states with $x > ½$ start to pay ten times as much. One batch arrives, and **the statistics move. No gradient
# step is taken.**

# %% tags=["hide-input"]
news = torch.where(x.view(1, -1) > 0.5, 10 * usual, usual)
before = taught.value()
art = copy.deepcopy(taught)
art.move(news)

place = 32  # x = −0.5, where nothing has changed
figure, axis = plt.subplots(figsize=(6.5, 2.6))
axis.plot(x[0, :, 0], before, color=style.SOFT, label="V before")
axis.plot(x[0, :, 0], art.value(), color=style.FAULT, label="V after")
axis.axvspan(0.5, 1, color=style.FAINT, lw=0)
axis.text(0.75, 30, "pays more\nfrom now on", ha="center", va="center", color=style.INK)
axis.set(xlabel="state x", ylabel="predicted return", xlim=(-1, 1))
label_lines(axis)
plt.show()
print(f"mean of the returns  {taught.stats.mean.item():6.1f} → {art.stats.mean.item():6.1f}")
print(f"standard deviation   {taught.stats.std.item():6.1f} → {art.stats.std.item():6.1f}")
print(f"V at x = {x[0, place].item():.1f}         {before[place]:6.1f} → {art.value()[place]:6.1f}")
assert (art.value() - before)[:90].abs().mean() > 30

# %% [markdown]
# At $x = -0.5$ the net says the same as before, $(30.1 - 50.0)/14.4 \approx -1.38$. But that now stands for $64.4 -
# 1.38 \cdot 93.5 \approx -65$.
#
# ## Solve for the new head
#
# Change the net, too. Its last layer, the head, is enough: $n = W \cdot h + b$, where $h$ is what the hidden layers
# make of the state. When $\mu, \sigma$ become $\mu', \sigma'$, we want $W', b'$ with
#
# $$\sigma' (W' \cdot h + b') + \mu' \;=\; \sigma\, (W \cdot h + b) + \mu \qquad\text{for every } h.$$
#
# Each side is a factor times $h$ plus a constant, so both have to agree:
#
# $$\sigma' W' = \sigma W, \qquad\qquad \sigma' b' + \mu' = \sigma b + \mu.$$
#
# Divide by $\sigma'$:
#
# $$W' = \frac{\sigma}{\sigma'}\, W, \qquad\qquad b' = \frac{\sigma b + \mu - \mu'}{\sigma'}.$$
#
# van Hasselt et al. (2016, arXiv:1602.07714, proposition 1) call it POP, "preserving outputs precisely"; with ART, it
# is PopArt. It is exact: every $V(s)$ stays the same, even in states never seen.

# %%
source(preserve_outputs_, renormalize)

# %% [markdown]
# `renormalize` does the same to outputs stored before the move; [value clipping](15_value_clip.ipynb) compares them
# with new ones. (`with_a_scale` changes nothing except before the first batch; we come back to it.)
#
# By hand: $W = 3$, $b = 1$, $\mu = 10$, $\sigma = 2$. For $h = ½$ the head says 2.5, so $V = 15$. Now $\mu' = 40$ and
# $\sigma' = 8$. Then $W' = \tfrac{2}{8} \cdot 3 = 0.75$ and $b' = (2 \cdot 1 + 10 - 40)/8 = -3.5$. The head now says
# $0.375 - 3.5 = -3.125$, and $8 \cdot (-3.125) + 40 = 15$.


# %%
def statistics(mean, std):
    return ReturnStats(torch.tensor([mean]).double(), torch.tensor([std**2]).double())


head = mlp([stream(0, "init")], (1, 1), exact=True)  # nothing but a head
weight, bias = head.layers[-1]
weight.data.fill_(3.0)
bias.data.fill_(1.0)
h = torch.full((1, 1, 1), 0.5)

old, new = statistics(10.0, 2.0), statistics(40.0, 8.0)
said = denormalize(head(h), old).item()
preserve_outputs_(head, old, new)
says = denormalize(head(h), new).item()

# %% tags=["hide-input"]
print(f"W′ = {weight.item()}, b′ = {bias.item()}: V was {said}, and is {says}")
assert (weight.item(), bias.item(), said, says) == (0.75, -3.5, 15, 15)

# %% [markdown]
# <!-- mechanism: popart -->
#
# **The law of this trick: predictions before and after agree**, here to one part in 100,000, since weights are float32.
# Test it, because mistakes in $b'$ don't show while the statistics stand still:

# %%
pop = copy.deepcopy(taught)
pop.repair = preserve_outputs_
pop.move(news)
torch.testing.assert_close(pop.value(), before, rtol=1e-5, atol=0)

# %% tags=["thumbnail", "hide-input"]
figure, axis = plt.subplots(figsize=(6.5, 2.9))
axis.axvspan(0.5, 1, color=style.FAINT, alpha=0.6, lw=0)
axis.text(0.75, -75, "pays tenfold\nfrom now on", color=style.SOFT, ha="center", size=8)
axis.plot(x.flatten(), before, color=style.INK, lw=5, alpha=0.25, label="before the move")
axis.plot(x.flatten(), art.value(), color=style.COLORS["return_norm"], label="return_norm alone")
axis.plot(x.flatten(), pop.value(), color=style.COLORS["popart"], ls="--", label="with popart")
axis.set(xlabel="state x", ylabel="V(s), in units of reward", xlim=(-1, 1), ylim=(-90, 220))
label_lines(axis)
plt.show()

print(f"largest change of V, head left alone: {(art.value() - before).abs().max():7.3f}")
print(f"largest change of V, head repaired:   {(pop.value() - before).abs().max():7.3f}")

# %% [markdown]
# Without the repair, one batch of news has moved nearly all values. With it, none. But in the gray part they should
# have risen. The head that was left alone did rise there, by accident; the repaired one says what used to be true.
#
# ## Twenty batches later
#
# Let both learners go on. In one story, the states with $x > ½$ pay tenfold, and we look at the error where **nothing**
# has changed. In the other, **everything** pays tenfold.


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
# **Predict.** In each story, which learner has the smaller error after the first batch? And after ten?

# %% tags=["predict", "hide-input"]
figure, axes = plt.subplots(1, 2, figsize=(7.5, 2.8))
for axis, title in zip(axes, (quarter, all_of_it), strict=True):
    for name, trick in (("return_norm alone", "return_norm"), ("with popart", "popart")):
        axis.plot(range(1, 21), ends[title, name], color=style.COLORS[trick], label=name)
    axis.set(title=title, xlabel="batch after the news", ylim=(0, None), xlim=(1, 20))
axes[0].set_ylabel("mean error of V")
label_lines(axes[1])
plt.show()

for (title, name), errors in ends.items():
    print(f"{title:33} {name:18} batch 1: {errors[0]:6.1f}, batch 2: {errors[1]:6.1f}, batch 11: {errors[10]:6.1f}")
assert ends[quarter, "with popart"][0] < 1 < 30 < ends[quarter, "return_norm alone"][0]
assert ends[all_of_it, "return_norm alone"][10] < ends[all_of_it, "with popart"][10]

# %% [markdown]
# Left: at first, POP leaves the values of the unchanged states alone. That is all it promises. Then gradient steps
# disturb all states, because they share a net, and in the third batch POP is even behind. It ends with a small lead.
#
# Right: after some back and forth, POP **lags behind**. In the end $\mu' = 10 \mu$ and $\sigma' = 10 \sigma$, so a head
# that is left alone says $10 \sigma\, n + 10 \mu = 10 V$, which is right without learning anything. The preserved head
# says $V$, which was right yesterday: its weights were divided by ten, and gradient steps have to grow them back.
# **Preserving what you know is good when it is still true.**
#
# ## Real returns
#
# We record all batches of a learning agent, with the return that followed each step, and fit two value nets to the
# *same* recording, one with POP and one without. Neither influences the policy. (`planted` swaps a function of the
# loop, here to record what it plays.)
#
# In CartPole, returns grow as the policy gets better, and the statistics follow at $\beta = 0.1$. In `Weather100`, each
# batch is lucky or not, at random, and every state shows which: in a lucky one, each episode is lent 100 at its first
# step and repays it at its last. With $\beta = 0.5$ the statistics leap from batch to batch, while no state's value
# changes.


# %% tags=["hide-input"]
def recorded(config, tricks):
    """Every batch of a training run in which all agents still play, with its returns as targets."""
    batches = []

    def recording(*arguments):
        rollout = play_episodes(*arguments)
        batch = Batch.of(rollout)
        batch.add(target=reward_to_go(rollout.reward, rollout.terminated | rollout.truncated, config.gamma).double())
        batches.append(batch)
        return rollout

    with planted(play_episodes=recording):
        train(config, tricks)
    return [batch for batch in batches if batch.valid.any(1).all()]


def error_of(net, stats, batch):
    """Root mean squared error of V on a batch, in units of reward, averaged over agents."""
    with torch.no_grad():
        value = denormalize(net(batch.obs).squeeze(-1), stats)
    return mean((value - batch.target).square(), batch.valid).sqrt().mean().item()


def fit_to(batches, config, repair):
    """A new value net fitted to batch after batch. Its error on each as it arrives, and after the statistics moved."""
    seeds, errors = config.seed_list, []
    net = mlp([stream(seed, "init") for seed in seeds], (batches[0].obs.shape[-1], *config.hidden, 1), exact=True)
    optimizer, rate = Adam(net.parameters(), eps=1e-5), torch.full((len(seeds),), 0.003)
    stats = ReturnStats(torch.zeros(len(seeds)).double(), torch.ones(len(seeds)).double())
    for update, batch in enumerate(batches):
        fresh, old = error_of(net, stats, batch), stats
        stats = move_stats(old, batch.target.unsqueeze(-1), batch.valid.unsqueeze(-1), config.return_beta)
        if repair:
            repair(net, old, stats)
        errors.append((fresh, error_of(net, stats, batch)))
        lesson = Batch(**batch.columns | {"target": normalize(batch.target, stats)})
        for b in minibatches(lesson, seeds, update, config.epochs, config.minibatches):
            loss = mean(squared_error(net(b.obs).squeeze(-1), b.target), b.valid)
            optimizer.step(gradient(loss, net.parameters()), rate, b.valid.any(1))
    return torch.tensor(errors)


# %%
cartpole = Config("CartPole-v1", seeds=5, steps=30_000, lr=0.003)
weather = Config("tricks/Weather100-v0", seeds=5, steps=8_000, horizon=10, lr=0.01)
weather = replace(weather, hidden=(32, 32), return_beta=0.5)
fits = {}
for config in (cartpole, weather):
    batches = recorded(config, REINFORCE)
    for name, repair in arms:
        fits[config.env, name] = fit_to(batches, config, repair)

# %% tags=["hide-input"]
figure, axes = plt.subplots(1, 2, figsize=(8, 2.8))
for axis, config in zip(axes, (cartpole, weather), strict=True):
    for name, trick in (("return_norm alone", "return_norm"), ("with popart", "popart")):
        axis.plot(fits[config.env, name][:, 0], color=style.COLORS[trick], lw=1.5, label=name)
    axis.set(title=config.env.split("/")[-1], xlabel="batch", ylim=(0, None), xlim=(0, len(fits[config.env, name]) - 1))
axes[0].set_ylabel("error of V on a batch\nas it arrives (points)")
label_lines(axes[1])
plt.show()

for (env, name), errors in fits.items():
    later = errors[len(errors) // 4 :].mean(0)
    print(f"{env.split('/')[-1]:15} {name:18} error on arrival {later[0]:5.1f}, after the move {later[1]:5.1f}")
assert fits[weather.env, "with popart"][25:, 0].mean() < 0.7 * fits[weather.env, "return_norm alone"][25:, 0].mean()
ratio = fits[cartpole.env, "with popart"].mean(0) / fits[cartpole.env, "return_norm alone"].mean(0)
assert 0.9 < ratio[0] < 1.1

# %% [markdown]
# In `Weather100`, the error on arrival, which is what goes into the advantages, is about halved. In CartPole it differs
# by a few percent: the statistics creep, and gradient steps repair what little they moved.
#
# ## The order, and Adam
#
# **The order.** Compute advantages with the old values and statistics. Then move the statistics, repair the head,
# standardize the targets with the *new* statistics, and take gradient steps. Never mix a head for one pair of
# statistics with targets for the other.

# %%
diff(named("action_mask"), named("popart"))

# %% [markdown]
# **Adam** keeps running averages of each weight's gradient and its square. Should they be multiplied by
# $\sigma/\sigma'$, as $W$ was? This library leaves them alone: the gradient for $W$, $(n - \text{target}) \cdot h$, is
# in standardized units, and of the same order before and after. (The head's bias is float64; Exercise 2 shows why.)
#
# ## When the pay jumps a thousandfold
#
# In `CartPoleJump` a step pays 1 at first, and 1000 once a lane has counted 1500 steps, which is after 12,000 steps of
# an agent with 8 lanes. It can't see that coming. Five agents, both arms at a learning rate of 0.003:

# %%
jump = Config("tricks/CartPoleJump-v0", seeds=5, steps=30_000, lr=0.003)
alone = switched(("baseline", "reuse", "clip", "gae", "return_norm", "segments"))
both = switched((*alone.on, "popart"))
art_run, pop_run = train(jump, alone), train(jump, both)


# %% tags=["hide-input"]
def explained(run):
    return run.curve.groupby("update").explained_variance.mean()


figure, axes = plt.subplots(1, 2, figsize=(9, 2.8))
curves({"return_norm": art_run, "popart": pop_run}, axes[0])
for name, run in (("return_norm", art_run), ("popart", pop_run)):
    axes[1].plot(explained(run), color=style.COLORS[name])
axes[1].set(xlabel="update", ylabel="explained variance", ylim=(-0.1, 1), xlim=(0, len(explained(pop_run)) - 1))
plt.show()

shock = explained(pop_run).iloc[5:].idxmin()
late_art, late_pop = (explained(run).iloc[-10:].mean() for run in (art_run, pop_run))
print(f"lowest explained variance after the start: {explained(pop_run)[shock]:.2f}, in update {shock}")
print(f"last ten updates: explained variance {late_art:.2f} without popart, {late_pop:.2f} with it")
print(f"last tenth: mean return {art_run.late().mean():,.0f} without popart, {pop_run.late().mean():,.0f} with it")
(trial,) = (row for row in evidence("popart").worlds.itertuples() if "Jump" in row.world)
span = f"[{trial.low:+,.0f}, {trial.high:+,.0f}]"
print(f"{trial.seeds} stored agents, area under the curve: {trial.difference:+,.0f} {span} with popart")
assert 10 <= shock <= 14
assert late_pop > late_art + 0.02
assert trial.low < 0 < trial.high

# %% [markdown]
# At the jump, both nets fall to an explained variance of about 0. POP has nothing to save there, since everything grows
# by one factor, as in the second story. Later, while the statistics go on moving, the repaired head explains more.
#
# Does that pay? Five agents are too few to say. In the stored trial there are twenty agents per arm, 32 lanes, and
# 100,000 steps, and each arm has its own rate. The interval of the difference includes 0. A better baseline doesn't
# make a better policy by itself.
#
# ## Four tasks, four scales
#
# PopArt's best-known use is one agent for many games with scores of all sizes (Hessel et al. 2018, arXiv:1809.04474).
# That takes a value head per task, return statistics per task, and advantages divided by the task's own $\sigma_k$.
# Without the division, a task that pays 1000 drowns out one that pays 1 in the policy's gradient, however good the
# baseline is. `Tasks` has four tasks that pay 1, 10, 100, and 1000, and what is right in one is wrong in the next. Its
# score counts right actions: 10 at best, 5 at random. In both, the agent sees which task it has. `TasksNamed` also
# tells the library, which then gives each task a head; `return_norm` adds the statistics and the division.

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
    run = tried[name] = train(replace(tasks, env=env), switched((*flags, *more)))
    low, high = interval(run.late().to_numpy())
    print(f"{name:21} right actions in the last tenth:", end=" ")
    print(f"{run.late().mean():.2f} [{low:.2f}, {high:.2f}]")
sigmas = tried["heads, return_norm"].agent.return_stats.std.mean(0)
print("σ of each task:", *(f"{sigma:.3g}" for sigma in sigmas))

# %% tags=["hide-input"]
right = torch.tensor([[(task + cue) % 2 for cue in (0, 1)] for task in range(4)])  # [4, 2]
situations = torch.stack(
    [torch.cat([torch.eye(4)[task], torch.tensor([2.0 * cue - 1, 0.5])]) for task in range(4) for cue in (0, 1)]
)


def share_right(run):
    """Each task's probability of the right action: its share of what the task can pay. [4]."""
    logits = run.agent.policy(situations.expand(10, -1, -1)).detach()  # [S, 8, 2]
    chance = logits.softmax(-1).gather(-1, right.view(1, 8, 1).expand(10, -1, -1))
    return chance.view(10, 4, 2).mean((0, 2))


figure, axis = plt.subplots(figsize=(6.5, 2.8))
shares = {name: share_right(run) for name, run in tried.items()}
looks = style.INK, style.SOFT, style.COLORS["return_norm"], style.COLORS["popart"]
for (name, share), color in zip(shares.items(), looks, strict=True):
    axis.plot(range(4), share, "o--" if name == "heads, both tricks" else "o-", color=color, label=name)
axis.axhline(0.5, color=style.FAINT, lw=1, zorder=0)
axis.set(xlabel="what the task pays", ylabel="share of its own best", ylim=(-0.03, 1.03), xlim=(-0.2, 3.2))
axis.set_xticks(range(4), ["1", "10", "100", "1000"])
label_lines(axis)
plt.show()

end = {name: run.late().mean() for name, run in tried.items()}
assert shares["one head, return_norm"][1:].min() > 0.9 > 0.45 > shares["one head, return_norm"][0]
assert shares["heads, no trick"][:3].max() < 0.7 and shares["heads, return_norm"].min() > 0.95
assert end["heads, no trick"] < end["one head, return_norm"] < end["heads, return_norm"] - 1
assert abs(end["heads, both tricks"] - end["heads, return_norm"]) < 0.5

# %% [markdown]
# With one head and one scale, the agent neglects the task that pays 1: there it does what is right in the tasks that pay
# 1000 and 10. Separate heads without statistics learn only the largest task. With `return_norm` per task, all four are
# solved, and PopArt's repair on top of it changes nothing that ten agents could show. What counts is the *scale per
# task*, and that is `return_norm`'s doing.
#
# ## Where it helps, and where it hurts

# %% tags=["hide-input"]
stored = evidence("popart")
stored.strip()
plt.show()

(weather,) = stored.worlds[stored.worlds.seen == 1].itertuples()
gains = f"{weather.difference:+.1f} of 10 points with popart, and {weather.again:+.1f} on other seeds"
print(f"{weather.place}: {gains}, with both arms at {weather.lr_with:g}")
print(f"gain as a share of the best score, by β: {weather.doses}")
assert weather.lr_with == weather.lr_without and weather.confirmed == 1 and weather.growth_low > 0
helped = (stored.worlds.seen == 1).sum()
print(f"trials in which it was predicted to help: {len(stored.worlds)}; in which it was seen to: {helped}")
hurt = stored.table[stored.table.detected < 0]
print("detected as hurting:", "; ".join(f"{row.env}, {row.question}" for row in hurt.itertuples()) or "nowhere")
assert (
    helped == 1
    and hurt.env.tolist() == ["Acrobot-v1", "tricks/BricksByRow-v0"]
    and hurt.confirmed.iloc[0] == 1
    and not (stored.table.detected > 0).any()
)

# %% [markdown]
# It helps in `Weather100`, where the statistics jump but the values don't, and the more the further they jump: hardly
# at all at β = 0.1, more at 0.5 (though that isn't detected after the correction for all trials), and most at 0.9. We
# don't see it help in any usual environment. It hurts a little as Acrobot's next rung, on two sets of 30 seeds. It also
# hurts, though barely, in `BricksByRow`, a [game in pixels](23_atari.ipynb) whose bricks pay 1, 10, or 100. That is on
# ten seeds, and wasn't tried again. In `Magnitudes`, four tasks share one head and one $\sigma$, which is the largest
# task's, so the small ones are a rounding error with or without the repair.

# %%
stored

# %% [markdown]
# ## The first ten batches
#
# Preserving what a net says also preserves what it doesn't know. On Pendulum, training starts with $\mu = 0$,
# $\sigma = 1$, and a net that knows nothing; returns then turn out to be large and negative. Ten agents with all the
# tricks, and ten without PopArt:

# %%
full = replace(named("clip_anneal"), action_mask=False)  # Pendulum needs no mask
pendulum = Config("Pendulum-v1", seeds=10, steps=10_000, gamma=0.9, lr=0.03)
starts = {
    "without": train(pendulum, replace(full, popart=False)),
    "popart": train(pendulum, full),
}

# %% tags=["hide-input"]
figure, axis = plt.subplots(figsize=(6.5, 2.6))
for name, run in starts.items():
    axis.plot(explained(run), color=style.COLORS.get(name, style.SOFT), label=name)
axis.set(xlabel="update", ylabel="explained variance", ylim=(-0.1, 1), xlim=(0, len(explained(run)) - 1))
label_lines(axis)
plt.show()

for name, run in starts.items():
    mu, sigma = (x.mean().item() for x in (run.agent.return_stats.mean, run.agent.return_stats.std))
    print(f"{name:8} at the end μ = {mu:.1f} and σ = {sigma:.1f}; mean score {run.curve['return'].mean():,.0f}")
assert explained(starts["without"])[1:5].mean() > explained(starts["popart"])[1:5].mean() + 0.1

# %% [markdown]
# Here POP preserves ignorance. As $\sigma$ grows from 1 to the size of the returns, POP shrinks $W$ by the same factor,
# and gradient steps have to grow it back. A head left alone keeps its outputs around 1, where the targets are. All we
# see is a slow start: in the stored runs, ten times as long, no harm is detected on Pendulum.
#
# Tiny rewards make it worse. From $\mu = 0$ and $\sigma = 1$, statistics need more than a hundred batches to come [down
# to thousandths](08_return_norm.ipynb). All the while, POP multiplies $W$ by $\sigma/\sigma' > 1$, so that the values
# stay what the untrained net happened to say, a few tenths, where returns are thousandths.
#
# With `return_first_batch`, the variance starts at 0 instead. Until the first batch there is no scale, and so nothing
# that the net could have said in it. Then POP leaves the head alone:

# %%
source(with_a_scale)

# %% [markdown]
# **Predict.** CartPole again, with rewards times 0.0001 up to 10,000, six agents at each scale. Which start lets PopArt
# train alike at all of them?

# %%
plain = switched(("baseline", "reuse", "clip", "gae", "advantage_norm"))
popped = switched((*plain.on, "return_norm", "popart"))
starts = {
    "without both": at_each_scale(plain),
    "popart, from 0 and 1": at_each_scale(popped),
    "popart, from the first batch": at_each_scale(popped, first_batch=True),
}

# %% tags=["predict", "hide-input"]
scores = draw_scales(starts, "popart")

unit, batch = scores["popart, from 0 and 1"], scores["popart, from the first batch"]
assert interval(batch[0])[0] > 1.5 * max(interval(unit[0])[1], interval(scores["without both"][0])[1])
assert batch.mean(1).min() > 0.75 * batch.mean(1).max()

# %% [markdown]
# At a ten-thousandth, PopArt from 0 and 1 learns little. So does the agent without both tricks, whose value net has the
# same untrained tenths to unlearn. From the first batch, the scale no longer matters.
#
# Nor will PopArt help
#
#
# - when a rough baseline will do: a value that is off for a batch or two costs some variance, and no lasting bias.
# - when all returns change by one factor.
#
# On a shared trunk, watch the balance: the repair is exact, but a smaller $W$ also sends a smaller gradient of the
# value loss into the trunk. (Hessel et al. have such a trunk, with success.)

# %% [markdown]
# ## At a glance
#
# | | |
# |---|---|
# | **problem** | when $\mu$ and $\sigma$ move, every $V(s)$ changes without a single gradient step |
# | **formula** | $W' = \frac{\sigma}{\sigma'}\, W, \qquad b' = \frac{\sigma b + \mu - \mu'}{\sigma'}$ for the last layer, $n = W \cdot h + b$ |
# | **in the loop** | `batch.old_value = renormalize(batch.old_value, before, stats)` <br> `preserve_outputs_(agent.value_net, before, stats)` |
# | **defaults** | none of its own; `return_beta` says how fast the statistics move, `return_first_batch` where they start |
# | **watch** | `return_mean` and `return_std`: do they jump? And `explained_variance` after a jump |
# | **skip it when** | the statistics creep, or all returns grow by one factor |
# | **also called** | POP, "preserving outputs precisely"; together with ART (`return_norm`), *PopArt* |

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
# **Exercise 2: think.** All returns become 10,000 and stay there; before, they had mean 0 and standard deviation 1. In
# the end $\mu' = 10^4$, and $\sigma'$ is at its lower limit, $10^{-4}$. What is $b'$, if $b$ was 0? How far apart are
# float32 numbers of that size, and what does that do to outputs of order 1?
#
# <details><summary>Answer</summary>
#
# $b' = (0 + 0 - 10^4)/10^{-4} = -10^8$. Near $10^8$, float32 numbers are 8 apart, so outputs that should differ by
# tenths would all round to the same number, and gradient steps of 0.001 would be lost. That's why the bias is float64
# here.
#
# </details>

# %% [markdown]
# **Exercise 3: spot the bug.** We train through the jump with this rescaling and with the right one.

# %%
source(rescale_head_)

# %%
with planted(preserve_outputs_=rescale_head_):
    faulty = train(replace(jump, steps=24_000), both)

# %% tags=["hide-input"]
for name, run in (("right", pop_run), ("with the bug", faulty)):
    after = explained(run)[shock : shock + 8]
    print(f"{name:13} explained variance from the jump on:", *(f"{v:5.2f}" for v in after))
assert explained(faulty)[shock + 2 : shock + 6].mean() < explained(pop_run)[shock + 2 : shock + 6].mean() - 0.1

# %% [markdown]
# (Gradient steps repair each mistake, so the gap closes with time.) What's wrong? By how much does a single move shift
# every $V(s)$? Which check from this chapter finds it before any training?
#
# <details><summary>Hint</summary>
#
# Compare $b'$ with the formula, term by term. Which term isn't multiplied by anything?
#
# </details>
#
# Solutions: [`solutions/12_popart.py`](solutions/12_popart.py). Next: [segments](13_segments.ipynb), or learning before
# the episode ends.

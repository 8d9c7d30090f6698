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
# # Value clipping: the same clip for the value net
#
# *Clipping keeps the policy from moving too far in one update. Why not do the same to the value net?*
#
# The [clip](03_clip.ipynb) keeps the policy near the one that collected the data. The value net learns from the same
# batches, and sixteen gradient steps can pull it a long way toward one noisy sample of the returns. So why not hold it
# back, too? openai/baselines and CleanRL do.

# %% tags=["hide-input"]
from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np
import torch

from ablations import TRIALS, areas_of, effects, flags, interval, numbers, rows_of, scores, style, unpaired
from chapters.book import begin, caption, evidence, label_lines, planted
from chapters.book.results import choice, studies
from chapters.exercises.value_clip import cautious_error, check_slope
from tricks import diff, source, train
from tricks.baseline import squared_error
from tricks.ladder import named
from tricks.value_clip import clipped_error

begin()

# %% [markdown]
# ## A plateau in the loss
#
# The prediction was $V_\text{old}$ when the batch was collected, and the target is $R$, elsewhere $G$. Hold the change
# within $\pm\varepsilon$:
#
# $$V_\text{near} = V_\text{old} + \text{clip}(V - V_\text{old},\, -\varepsilon,\, +\varepsilon).$$
#
# Then be a pessimist and minimize the larger of two errors:
#
# $$L(V) = \tfrac12 \max\big( (V - R)^2,\; (V_\text{near} - R)^2 \big).$$
#
# **Predict.** Set $V_\text{old} = 0$, $\varepsilon = 0.2$, and $R = 1$. For which $V$ is the gradient zero? And for
# $R = 0.15$?

# %% tags=["predict", "thumbnail", "hide-input"]
V = torch.linspace(-1, 3, 801).requires_grad_()
figure, axes = plt.subplots(1, 2, figsize=(6.5, 2.8), sharey=True)
for axis, target in zip(axes, (1.0, 0.15), strict=True):
    loss = clipped_error(V, torch.zeros(801), torch.full((801,), target), 0.2)
    (slope,) = torch.autograd.grad(loss.sum(), V)
    flat = slope == 0
    axis.axvspan(-0.2, 0.2, color=style.FAINT, alpha=0.5, lw=0)
    axis.plot(V.detach(), 0.5 * (V.detach() - target) ** 2, color=style.SOFT, lw=1.2, ls="--")
    axis.plot(V.detach(), loss.detach(), color=style.COLORS["value_clip"])
    axis.plot(V.detach().where(flat, torch.nan), loss.detach(), color="#EE3377", lw=4)
    axis.plot([target], [0], "o", color=style.INK, ms=5)
    axis.text(target, -0.06, "R", color=style.INK, ha="center", va="top")
    axis.set(xlabel="V", xlim=(-1, 2.4), ylim=(-0.2, 1.5), title=f"R = {target:g}")
    assert flat.any() == (target == 1)
axes[0].text(0.62, 0.4, "no gradient", color="#EE3377", weight="bold")
axes[0].text(-0.2, 1.38, " ±ε", color=style.SOFT)
axes[0].set_ylabel("loss")
plt.show()

# %% [markdown]
# Dashed is the plain error. Apart from $V = R$, the gradient vanishes only where the second error is the larger one
# *and* $V_\text{near}$ no longer depends on $V$. Say $V > V_\text{old} + \varepsilon$; the other side mirrors it.
#
# - **$R$ lies above $V_\text{near}$, out of reach.** The second error is larger, and constant: **no gradient**, unless
#   $V$ has overshot $R$ by more than $V_\text{near}$ falls short. This row has moved enough.
# - **$R$ lies below $V_\text{near}$.** $V$ is even farther from it, the first error is larger, and **the full
#   gradient** calls it back.
#
# If $R$ lies within $\pm\varepsilon$ of $V_\text{old}$, the clip changes nothing.

# %%
source(squared_error, clipped_error)

# %% [markdown]
# ## The trouble with units
#
# The policy's ratio $\rho$ is a pure number: 1.2 means 20% more, on any task. But $V$ has the units of the return.
# Around 1, an $\varepsilon$ of 0.2 is a lot; around 100, it is next to nothing.
#
# One value climbs from 0 to $R$. Each update takes eight steps, each at most 0.12 long, however large the gradient, as
# with Adam:


# %%
def climb(target, error, updates, steps=8, length=0.12):
    """The share of the target that one value has reached, update by update."""
    value, reached = torch.zeros(1, requires_grad=True), [0.0]
    for _ in range(updates):
        old = value.detach().clone()
        for _ in range(steps):
            loss = error(value, old, torch.tensor([target])).sum()
            (slope,) = torch.autograd.grad(loss, value)
            value = (value - slope.clamp(-1, 1) * length).detach().requires_grad_()
        reached.append(value.item() / target)
    return reached


def plain_error(value, old, target):
    return squared_error(value, target)


def clipped(value, old, target):
    return clipped_error(value, old, target, clip_range=0.2)


cases = ((1.0, 12), (100.0, 450))  # a target, and for how many updates
paths = {}
for target, updates in cases:
    for error in (plain_error, clipped):
        paths[target, error] = climb(target, error, updates)

# %% tags=["hide-input"]
figure, axes = plt.subplots(1, 2, figsize=(6.5, 2.6), sharey=True)
for axis, (target, _) in zip(axes, cases, strict=True):
    for error, color in ((plain_error, style.SOFT), (clipped, style.COLORS["value_clip"])):
        axis.plot(paths[target, error], color=color)
    axis.set(title=f"R = {target:g}", xlabel="update")
axes[0].set_ylabel("share of R reached")
axes[1].text(120, 0.9, "plain", color=style.SOFT, weight="bold")
axes[1].text(260, 0.5, "clipped", color=style.COLORS["value_clip"], weight="bold")
plt.show()

there = {way: next(i for i, share in enumerate(path) if share > 0.9) for way, path in paths.items()}
caption(
    f"The clip makes it take {there[1.0, clipped]} updates instead of {there[1.0, plain_error]} to get to 90% of R = 1, "
    f"and {there[100.0, clipped]} instead of {there[100.0, plain_error]} for R = 100."
)

# %% [markdown]
# A budget of 100,000 steps in batches of 1,024 is only 98 updates. So choose $\varepsilon$ for each task, or bring all
# returns to one size with [return_norm](08_return_norm.ipynb). On the ladder, that comes first, so $\varepsilon$ is 0.2
# standard deviations of the return.

# %%
diff(named("bootstrap"), named("value_clip"))

# %% [markdown]
# ## The rate decides
#
# `TRIALS` are experiments with a prediction. One says that the clip hurts where returns are around 30 and not
# normalized. The first step lends you 30 points or takes 30, and a sign $z = \pm 1$ shows which; the last step reverses
# it. Each of the ten right actions pays 0.3. Five nets of either kind, all trained at 0.03, judge an episode with
# $z = 1$:

# %%
ours = [trial for trial in TRIALS if trial.trick == "value_clip"]
trial, given = (trial for trial in ours if "Loan" in trial.env)
loan = replace(trial.config, lr=0.03, seeds=5, steps=20_000)
lent = {"plain": train(loan, trial.without), "value_clip": train(loan, trial.having)}

signs, times, cues = (1.0, -1.0), range(10), (-1.0, 1.0)
rows = [[cue, z, 1 - t / 10] for z in signs for t in times for cue in cues]
episodes = torch.tensor(rows).expand(5, -1, -1)  # [S, 2 signs * 10 steps * 2 cues, D]
due = 30 * torch.tensor([(t == 0) - 0.99 ** (9 - t) for t in times])
truth = torch.stack([due, -due])  # V of the loan alone
said = {}
for name, run in lent.items():
    said[name] = run.agent.value(episodes).detach().view(5, 2, 10, 2).mean(3)

# %% tags=["hide-input"]
figure, axes = plt.subplots(1, 2, figsize=(8, 2.8))
colors = {"plain": style.SOFT, "value_clip": style.COLORS["value_clip"]}
for name, run in lent.items():
    axes[0].plot(said[name][:, 0].T, color=colors[name], lw=1, alpha=0.7)  # z = 1
    curve = run.curve.groupby("update")[["step", "explained_variance"]].mean()
    axes[1].plot(curve.step / 1000, curve.explained_variance, color=colors[name], label=name)
    off = ((said[name] - truth)[:, :, 0].abs() > 8).sum()
    first, sixth = run.agent.value_net.body(episodes).detach().view(5, 2, 10, 2, -1)[:, :, [0, 5]].unbind(2)
    telling = ((first - sixth).abs().amax((1, 2)) > 0.5).float().mean()
    assert off >= 3 and 0.5 < telling < 0.7 if name == "plain" else off == 0 and telling > 0.85
axes[0].plot(truth[0], color=style.INK, lw=1.2, ls="--")
axes[0].text(0.9, -8, "dashed: the loan alone", color=style.INK)
axes[0].text(1.5, -16, f"{(said['plain'][:, 0, 0] < -3).sum()} of 5 plain nets begin too low", color=style.SOFT)
axes[0].set(xlabel="step of the episode", ylabel="V(s), one line per net")
axes[1].set(xlabel="environment steps (thousands)", ylabel="explained variance", ylim=(-0.1, 1.03), xlim=(0, 20))
label_lines(axes[1])
plt.show()

# %% [markdown]
# The clipped net takes longer, as predicted. But then it gets the first step right, and the plain one often doesn't.
# Perhaps large errors push the plain net's tanh features toward ±1, where they have hardly any gradient: many never
# learn to tell the first step from the sixth.
#
# Which weighs more? That depends on the rate:

# %% tags=["hide-input"]
rates = {
    name: rows_of(trial.env, trial.config.steps, numbers(trial.config), flags(arm)).set_index("lr")
    for name, arm in (("plain", trial.without), ("value_clip", trial.having))
}
areas = {name: rows.area for name, rows in rates.items()}
figure, axis = plt.subplots(figsize=(6.5, 2.6))
for name, area in areas.items():
    axis.semilogx(area, "o-", ms=4, color=colors[name], label=name)
    kept = {rate: scores for rate, scores in zip(area.index, areas_of(rates[name]), strict=True) if len(scores)}
    axis.fill_between([*kept], *np.transpose([interval(each) for each in kept.values()]), color=colors[name], alpha=0.2)
axis.set(xlabel="learning rate", ylabel="area under the curve\n(3 at best)")
label_lines(axis)
plt.show()

gains = {
    rate: unpaired(*(areas_of(rates[name].loc[[rate]])[0] for name in ("value_clip", "plain")))
    for rate in areas["plain"].index
}
assert [rate for rate, gain in gains.items() if gain.high < 0] == [0.003, 0.01]
assert not any(gain.low > 0 for gain in gains.values())
stored = evidence("value_clip").worlds
own, same = stored[stored.world == trial.env].to_dict("records")
assert (own["lr_without"], own["lr_with"], own["seen"]) == (0.01, 0.03, 0)
assert (same["rate"], same["seen"], same["confirmed"]) == (0.01, -1, 1) and given.rate == 0.01

# %% [markdown]
# At 0.003 and 0.01 the clip hurts; elsewhere these seeds can't tell, nor can they at the best rate of each. **A trick
# and a learning rate can undo each other, so each arm of a comparison needs its own rate.**
#
# ## Where it hurts

# %% tags=["hide-input"]
found = evidence("value_clip")
found.strip()
plt.show()

table, sure = found.table, found.table[(found.table.detected != 0) & (found.table.confirmed == 1)]
assert (sure.detected == -1).all() and set(sure.env) == {"CartPole-v1", "Pendulum-v1"}
assert set(sure.kind[sure.env == "CartPole-v1"]) == {"between CleanRL's set and ppo"}
full = sure[sure.question.str.startswith("taken out")]
alone = table[(table.env == "Pendulum-v1") & table.question.str.startswith("alone")]
assert alone.verdict.item() == "cannot tell here: no arm learned much" and not (table.detected > 0).any()
assert full.env.tolist() == ["Pendulum-v1"] and full.difference.item() > -0.05 and set(found.worlds.seen) == {-1, 0}

# %% [markdown]
# We don't see it help anywhere. In CleanRL's set, it hurts on CartPole and Pendulum. In the full set, where values are
# normalized, it costs a little on Pendulum. Alone on Pendulum, we cannot tell: no arm learned much there.

# %% tags=["hide-input"]
found

# %% [markdown]
# Andrychowicz et al. (2020, arXiv:2006.05990) saw it hurt at every threshold. Engstrom et al. (2020, arXiv:2005.12729)
# count it among the details in which PPO's code differs from the paper. There's also an argument in principle. The
# policy must stay near the old one because its *data* come from there; a value net's targets stay valid however far it
# moves.
#
# ## In the code that everybody copies
#
# CleanRL's `ppo.py`, which the preset `cleanrl` follows, has `value_clip` but not `return_norm`. There, $\varepsilon$
# is 0.2 *points*. Here are its flags with and without `value_clip` at five learning rates; the dots are each one's best
# rate on other seeds, and bands and bars 95% intervals.
#
# **Predict.** Where does one line cost most?

# %% tags=["predict", "hide-input"]
PLACES = ("CartPole-v1", "Acrobot-v1", "Pendulum-v1")
figure, axes = plt.subplots(1, 5, figsize=(12, 2.6), layout="constrained")
lost = {}
for axis, study in zip(axes, choice(), strict=True):
    arms = {arm.name: arm for arm in study.designs[0].arms}
    for name, color in (("cleanrl", style.COLORS["value_clip"]), ("raw", style.SOFT)):
        tuning, best = study.tuning(arms[name]), study.of(arms[name]).lr.iloc[0]
        means = [each.mean() for each in tuning.values()]
        axis.fill_between(
            [*tuning], *np.transpose([interval(each) for each in tuning.values()]), color=color, alpha=0.2
        )
        axis.semilogx([*tuning], means, color=color, label="with" if name == "cleanrl" else "without")
        area = scores(study, arms[name]).area.to_numpy()
        axis.plot((best, best), interval(area), color=color, lw=1.4)
        axis.plot(best, area.mean(), "o", color=color)
    lost[study.env] = unpaired(*(scores(study, arms[name]).score.to_numpy() for name in ("raw", "cleanrl")))
    axis.set(title=study.env, xlabel="learning rate")
label_lines(axes[0])
axes[0].set_ylabel("area (points per episode)")
plt.show()
assert max(lost, key=lambda env: lost[env].mean) == "Pendulum-v1"

other = {}  # on seeds that chose nothing: with minus without, on raw returns and on normalized ones
for study in (study for study in studies() if study.env in PLACES):
    (design,) = (design for design in study.designs if design.name == "presets")
    found = effects(study, design).query("trick == 'value_clip'")
    other[study.env] = dict(zip(("raw", "normed"), found.itertuples(), strict=True))
said = [
    f"{env} {raw.difference:+.2f}" + (f" (again {raw.again:+.2f})" if raw.confirmed == 1 else " (not detected)")
    for env, raw in ((env, both["raw"]) for env, both in other.items())
]
caption(f"With minus without, on thirty seeds that chose nothing, and on thirty more: {', '.join(said)}.")
assert [both["raw"].detected for both in other.values()] == [-1, 0, -1]
first, again = ([round(getattr(both["raw"], name), 2) for both in other.values()] for name in ("difference", "again"))
assert (first[0], first[2], again[0], again[2]) == (-0.06, -0.19, -0.09, -0.25)
assert other["CartPole-v1"]["raw"].confirmed == other["Pendulum-v1"]["raw"].confirmed == 1
assert all(abs(both["normed"].difference) < 0.05 for both in other.values())
assert [both["normed"].detected for both in other.values()] == [-1, 0, 0]
assert other["CartPole-v1"]["normed"].confirmed == 0

# %% [markdown]
# On Pendulum. On seeds that chose nothing, this line costs 0.19 of the way from a random policy to the ceiling there,
# and 0.06 on CartPole; once more, 0.25 and 0.09. On Acrobot nothing is detected. With `return_norm`, the damage on
# Pendulum is nearly gone, and on CartPole some may be left. So drop `value_clip`, or at least normalize the returns.
# The preset `ppo` does both.

# %% [markdown]
# ## At a glance
#
# | | |
# |---|---|
# | **problem** | one batch can pull the value net far toward its own noise |
# | **formula** | $\tfrac12 \max\big((V - R)^2,\; (V_\text{near} - R)^2\big)$, with $V_\text{near} = V_\text{old} + \text{clip}(V - V_\text{old}, \pm\varepsilon)$ |
# | **in the loop** | `error = clipped_error(value, rows.old_value, rows.target, t.value_clip_range.unsqueeze(1))` |
# | **defaults** | `value_clip_range` $\varepsilon = 0.2$, in the value net's own units |
# | **watch** | `explained_variance`: does it lag behind a run without the clip? |
# | **skip it when** | nearly always; if you keep it, normalize the returns first |
# | **evidence** | Hurts on top of cleanrl without value_clip in CartPole, Pendulum; in the full set in Pendulum. Practically nothing as the next rung in CartPole, Acrobot, Pendulum; in the full set in Acrobot; on top of cleanrl without value_clip (with return_norm) in Acrobot, Pendulum; alone (on baseline, reuse) in LunarLander. In 4 of 8 environments, these runs can't tell. It hurts in 1 of 4 trials in worlds made for it. |
# | **also called** | value loss clipping; `clip_vloss` in CleanRL (on), `clip_range_vf` in stable-baselines3 (off) |

# %% [markdown]
# ## Exercises
#
# **Exercise 1: write it.** The derivative of each row's clipped error with respect to $V$.


# %%
def my_slope(value, old, target, clip_range):  # [B] each, a number -> [B]
    ...


check_slope(my_slope)

# %% [markdown]
# <details><summary>Hint</summary>
#
# Which of the two errors is larger, and does it still depend on $V$? Within the range, both are the same.
#
# </details>
#
# **Exercise 2: spot the bug.** This clipping looks even more careful. `OffsetReward` pays 10 points at each of ten
# steps, plus 1 for the right action.

# %%
source(cautious_error)

# %%
(trial,) = (trial for trial in ours if "Offset" in trial.env)
config = replace(trial.config, seeds=5, steps=25_000, lr=0.03)
right = train(config, trial.having)
with planted(clipped_error=cautious_error):  # this function in place of the loop's own
    faulty = train(config, trial.having)
    slower = train(replace(config, lr=0.01), trial.having)

# %% tags=["hide-input"]
figure, axis = plt.subplots(figsize=(6.5, 2.6))
for name, run, color in (
    ("value_clip, rate 0.03", right, style.INK),
    ("bug, rate 0.03", faulty, style.FAULT),
    ("bug, rate 0.01", slower, style.SOFT),
):
    curve = run.curve.groupby("update")[["step", "explained_variance"]].mean()
    axis.plot(curve.step / 1000, curve.explained_variance, color=color, label=name)
axis.set(xlabel="environment steps (thousands)", ylabel="explained variance", ylim=(-0.2, 1))
label_lines(axis)
plt.show()
assert faulty.curve.explained_variance[faulty.curve.step > 20_000].mean() < 0.3

# %% [markdown]
# What's wrong? And why does it work at the rate 0.01, in the end even better than the library's clip?
#
# <details><summary>Hint</summary>
#
# Draw the loss against $V$ for $R = 1$. Where has it no gradient now, and who gets stuck there?
#
# </details>
#
# **Exercise 3: think.** (a) With `return_norm`, the returns have a standard deviation of 50 points. Within one update,
# how many points can $V$ move at $\varepsilon = 0.2$ before the clip silences its row? (b) Somebody stores
# $V_\text{old}$ in points (about 5,000), but the net predicts normalized values (about 0). What becomes of the
# gradient?
#
# <details><summary>Answer</summary>
#
# (a) 10 points. (b) $V - V_\text{old}$ is about $-5000$, so the clipped prediction is $V_\text{old} - 0.2$ whatever $V$
# does. Its error is the larger one, and constant: the value net learns nothing.
#
# </details>
#
# A variant limits the pull of a row instead: [Huber's loss](a7_huber.ipynb).
#
# Solutions: [`solutions/15_value_clip.py`](solutions/15_value_clip.py). Next: [annealing](16_annealing.ipynb), which
# makes all steps smaller, according to plan.

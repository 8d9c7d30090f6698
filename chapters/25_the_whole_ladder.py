# %% [markdown]
# # The whole ladder
#
# *Seventeen flags later: which of them did the work, and how sure can we be?*

# %% [markdown] tags=["two-hours"]
# Here are all tricks side by side, and how to read a table of effects.

# %% tags=["two-hours", "hide-input"]
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from IPython.display import Markdown, display
from scipy import stats

from ablations import RESULTS, clear_of_zero, effects, holm, interval, markdown, scores, sentences, style
from ablations.findings import stored_random
from chapters.book import begin, caption, studies
from chapters.book.results import all_effects, choice
from chapters.exercises.whole_ladder import check_holm, compared
from tricks import PPO, source
from tricks.ladder import CLEANRL, NEEDS

begin()

# %% [markdown] tags=["two-hours"]
# ## Sixteen steps on CartPole
#
# The ladder starts with REINFORCE, and every rung adds one trick, except `action_mask`: CartPole has no illegal
# actions. The score is the area under the learning curve, where 0 is a random policy and 1 the ceiling. Bars are 95%
# intervals over seeds. A step is *seen* if it was detected and then confirmed on 30 other seeds: the same sign, with p
# < 0.05.
#
# **Predict.** Which of the sixteen steps will be seen?

# %% tags=["two-hours", "predict", "thumbnail", "hide-input"]
cartpole = studies()[0]
ladder, whole, alone = (
    next(design for design in cartpole.designs if design.name == name)
    for name in ("ladder", "leave-one-out", "add-one-in")
)
steps = effects(cartpole, ladder).set_index("trick")

figure, axis = plt.subplots(figsize=(6.8, 4.6))
for height, arm in enumerate(ladder.arms):
    score, name, color = scores(cartpole, arm.tricks).score.to_numpy(), arm.label.trick, style.color(arm.label)
    seen = height > 0 and steps.detected[name] != 0 and steps.confirmed[name] == 1
    axis.plot(interval(score), [height, height], color=color, lw=2.5)
    axis.plot(score.mean(), height, "o", color=color, ms=6, mfc=color if seen else "white", mew=1.6)
    if seen:
        said = f"{steps.difference[name]:+.2f}, and {steps.again[name]:+.2f} on other seeds"
        axis.text(score.mean() - 0.05, height, said, ha="right", va="center", color=color, weight="bold")
axis.set_yticks(range(len(ladder.arms)), [arm.label.heading for arm in ladder.arms])
axis.invert_yaxis()
axis.set(
    xlabel="normalized area under the curve", title=f"{cartpole.env}, {cartpole.seeds} seeds; filled: the step is seen"
)
plt.show()

# %% tags=["two-hours", "predict", "hide-input"]
display(Markdown(sentences.of(cartpole)[0]))
seen = list(steps.index[(steps.detected != 0) & (steps.confirmed == 1)])
assert seen == ["clip", "advantage_norm", "bootstrap"]
assert steps.difference[seen].sum() > 0.8 * steps.difference.sum()
small = list(steps.index[steps.verdict == "practically nothing"])
caption(f"Practically nothing: {', '.join(small)}.")
assert len(small) == 5 and steps.confirmed[small].sum() == 4


# %% [markdown] tags=["two-hours"]
# Three of sixteen make up most of the climb: the clip, advantage normalization, and bootstrapping at the time limit.
# Five others are *practically nothing*: their whole interval lies within ±0.05, and for four on other seeds, too. About
# the remaining eight, thirty seeds can't tell. All of that is *on top of the rungs before, on CartPole, at each arm's
# best learning rate*.

# %% [markdown] tags=["two-hours"]
# ## Who gets the credit?
#
# Say that two tricks do the same job: with neither, the score is 0; with either or both, 1. Whichever you climb first
# gets all the credit. Take one out of the full set, and nobody misses it. **What a trick does depends on what is
# already there.**

# %% [markdown]
# The stored runs ask three questions about each trick:
#
# - **alone**: what does it add to REINFORCE, with nothing but what it needs?
# - **as a rung**: what does it add to those before it?
# - **in the full set**: what is lost without it, and without everything that needs it?

# %% tags=["hide-input"]
marks = {alone.name: "o", ladder.name: "D", whole.name: "s"}
figure, axis = plt.subplots(figsize=(7, 6))
rows = [name for name in NEEDS if name in set(steps.index)]
for shift, design in zip((-0.27, 0, 0.27), (alone, ladder, whole), strict=True):
    for row in effects(cartpole, design).itertuples():
        color, y = style.COLORS[row.trick], rows.index(row.trick) + shift
        face = color if row.detected and row.confirmed == 1 else "white"
        axis.plot([row.low, row.high], [y, y], color=color, lw=1.4)
        axis.plot(row.difference, y, marks[design.name], color=color, ms=5, mfc=face, mew=1.4)
for k in range(0, len(rows), 2):
    axis.axhspan(k - 0.5, k + 0.5, color="#f5f5f5", lw=0, zorder=0)
axis.axvline(0, color=style.SOFT, lw=1)
axis.set_yticks(range(len(rows)), rows)
axis.set(ylim=(len(rows) - 0.5, -0.5), xlabel="difference in normalized area, with minus without")
for label in axis.get_yticklabels():
    label.set(color=style.COLORS[label.get_text()], weight="bold")
words = {alone.name: "alone", ladder.name: "as a rung", whole.name: "in the full set"}
handles = [
    plt.Line2D([], [], color=style.INK, marker=marks[name], mfc="white", ls="", label=words[name]) for name in words
]
handles.append(
    plt.Line2D([], [], color=style.INK, marker="o", ls="", label="filled: detected, and again on other seeds")
)
figure.legend(handles=handles, loc="outside upper left", ncols=4, frameon=False, handletextpad=0.2, columnspacing=1)
plt.show()

# %% tags=["hide-input"]
told = pd.concat([effects(cartpole, design) for design in (alone, ladder, whole)])
told = told[(told.detected != 0) & (told.confirmed == 1)]
hurt = {(row.trick, row.design) for row in told.itertuples() if row.detected < 0}
assert hurt == {("segments", "add-one-in"), ("gae", "leave-one-out"), ("state_norm", "leave-one-out")}
norm = told[told.trick == "advantage_norm"].set_index("design").difference
assert 1.8 < norm["add-one-in"] / norm["ladder"] < 2.5

# %% [markdown]
# A filled mark survives the correction for all questions, and the second try; a bar can miss zero without that.
#
# Advantage normalization does about twice as much alone as on its rung. Three tricks hurt in one position each:
# [segments](13_segments.ipynb) alone, [GAE](04_gae.ipynb) and [state normalization](07_state_norm.ipynb) in the full
# set. Taking out `reuse` takes everything that needs it along. All such groups:

# %% tags=["hide-input"]
company = [("taken out together", "difference", "95% interval", "again")]
for row in effects(cartpole, whole).itertuples():
    if row.label.others:
        gone = ", ".join(f"`{name}`" for name in (row.trick, *row.label.others))
        again = "" if np.isnan(row.again) else f"{row.again:+.2f}"
        company.append((gone, f"{row.difference:+.2f}", f"{row.low:+.2f} to {row.high:+.2f}", again))
Markdown(markdown(company))

# %% [markdown]
# ## The same questions everywhere
#
# A number is an effect that was detected and confirmed. A small circle means *practically nothing*, a dash that there
# is nothing to mask. In a blank cell, these seeds can't tell, or no trick could show an effect, because no arm learned
# much or all are near the ceiling. In the full set, `baseline`, `reuse`, `clip`, and `return_norm` stand for groups.

# %% tags=["hide-input"]
every = all_effects()
every = every[every.design.isin([alone.name, ladder.name, whole.name])].copy()
every.loc[every.confirmed == 0, ["detected", "verdict"]] = (0, "unknown")  # seen once, but not again
rows = [name for name in NEEDS if name in set(every.trick)]
places = [(study, design) for study in studies() for design in (alone, ladder, whole)]

figure, axis = plt.subplots(figsize=(1.5 + 0.42 * len(places), 5.6))
for x, (study, design) in enumerate(places):
    here = every[(every.env == study.env) & (every.design == design.name)]
    for row in here.itertuples():
        y, shade = rows.index(row.trick), 0.5 + np.clip(row.difference / 0.6, -0.5, 0.5)
        if row.detected:
            axis.add_patch(plt.Rectangle((x - 0.5, y - 0.5), 1, 1, fc=plt.get_cmap("RdBu")(shade), ec="white"))
            ink = "white" if abs(shade - 0.5) > 0.3 else style.INK
            axis.text(x, y, f"{row.difference:+.2f}".replace("0.", "."), ha="center", va="center", size=7.5, color=ink)
        elif row.verdict == "practically nothing":
            axis.plot(x, y, "o", ms=3, mfc="white", mec=style.SOFT)
    for name in set(rows) - set(here.trick):  # had nothing to do there
        axis.text(x, rows.index(name), "–", ha="center", va="center", color=style.FAINT)
    if x % 3 == 1:
        axis.text(x, -1.0, f"{study.env}\n{study.seeds} seeds", ha="center", va="bottom", size=8.5, weight="bold")
        axis.axvline(x + 1.5, color=style.SOFT, lw=0.8)
figure.set_label(
    f"Heat map of confirmed effects: {len(rows)} tricks by {len(studies())} environments, each alone, as a rung, and in the full set"
)
axis.set_xticks(range(len(places)), ["alone", "rung", "full set"] * len(studies()), rotation=90, size=8)
axis.set_yticks(range(len(rows)), rows)
axis.set(xlim=(-0.5, len(places) - 0.5), ylim=(len(rows) - 0.5, -0.6))
axis.tick_params(length=0)
axis.spines[:].set_visible(False)
for label in axis.get_yticklabels():
    label.set(color=style.COLORS[label.get_text()], weight="bold")
plt.show()

# %% tags=["hide-input"]
single = every[[not (label.sign == "−" and label.others) for label in every.label]]  # one trick, without company
tally = single.groupby("trick").detected.agg(helps=lambda d: (d > 0).any(), hurts=lambda d: (d < 0).any())
tally = tally.reindex(rows)
kinds = {
    "helps somewhere, hurts nowhere": tally.helps & ~tally.hurts,
    "both, depending on the place": tally.helps & tally.hurts,
    "hurts somewhere, helps nowhere": ~tally.helps & tally.hurts,
    "never seen by itself": ~tally.helps & ~tally.hurts,
}
Markdown(
    markdown(
        [
            ("by itself, in these designs", "tricks"),
            *((kind, ", ".join(tally.index[which])) for kind, which in kinds.items()),
        ]
    )
)

# %% tags=["hide-input"]
second = next(study.again for study in studies() if study.env == "Acrobot-v1")
(together,) = (design for design in second.designs if design.name == "together")
((gone, cost),) = ((row.label, row.difference) for row in effects(second, together).itertuples())
assert len((gone.trick, *gone.others)) == 9 and -0.035 < cost < -0.015
group = every[(every.env == "Acrobot-v1") & (every.trick == "clip") & (every.design == whole.name)]
assert group.detected.tolist() == [-1] and group.confirmed.tolist() == [1]

# %% [markdown]
# The second row is the reason for this project: a single environment would have told you half the truth. The last row
# lists tricks whose own effect these runs can't make out. As a group with `clip_anneal`, the clip
# [hurts](03_clip.ipynb) in Acrobot's full set. And small costs add up: taking out the nine that each do practically
# nothing there *gains* 0.025, at the full set's rate.
#
# **So what do you switch on first?** Confirmed effects support this:
#
# 1. several epochs per batch **together with the clip**: removing the group costs CartPole and Pendulum the most;
# 2. a value net, with what needs one, on Acrobot, Pendulum, and Taxi; but GAE [hurts](04_gae.ipynb) on LunarLander, and
#    in CartPole's full set;
# 3. `action_mask` for illegal actions, `bootstrap` for time limits, and `return_norm`, seen everywhere but on CartPole;
# 4. advantage normalization, seen on CartPole, Acrobot, and LunarLander. As Pendulum's rung it
#    [hurts](06_advantage_norm.ipynb).
#
# **And if you can't test at all?** The obvious choice is what CleanRL's `ppo.py` does: the preset `cleanrl`. We let
# runs decide instead, by [rules written before them](../docs/internal/presets.md), each candidate at its own best rate,
# on seeds never used before:

# %% tags=["hide-input"]
SAID = {
    "cleanrl": "cleanrl",
    "six": "the rung advantage_norm",
    "raw": "cleanrl − value_clip",
    "raw-bootstrap": "cleanrl − value_clip + bootstrap",
    "constant-state": "ppo + state_norm",
    "rung": "the rung bootstrap",
    "normed": "cleanrl − value_clip + return_norm",
    "normed-bootstrap-state": "ppo + lr_anneal + state_norm",
    "constant": "ppo",
    "normed-bootstrap": "ppo + lr_anneal",
}
figure, axes = plt.subplots(1, 5, figsize=(12, 3.4), sharex=True, sharey=True)
mean = dict.fromkeys(SAID, 0.0)
for axis, study in zip(axes, choice(), strict=True):
    for height, name in enumerate(SAID):
        arm = next(arm for arm in study.designs[0].arms if arm.name == name)
        score, color = scores(study, arm).score.to_numpy(), style.INK if name == "constant" else style.SOFT
        axis.plot(interval(score), [height, height], color=color, lw=2.5)
        axis.plot(score.mean(), height, "o", color=color, ms=5)
        mean[name] += score.mean() / 5
    axis.set(xlabel="normalized area", title=study.env)
axes[0].set_yticks(range(len(SAID)), [*SAID.values()])
plt.show()
caption("Mean of the five: " + ", ".join(f"{SAID[name]} {score:.2f}" for name, score in mean.items()) + ".")
best = max(mean, key=mean.get)
assert best == "normed-bootstrap" and mean[best] - mean["constant"] < 0.01
taxi = next(study for study in choice() if study.env == "Taxi-v4")
assert max(taxi.designs[0].arms, key=lambda arm: scores(taxi, arm).score.mean()).name == "cleanrl"
for study in studies()[:3]:  # trained again on seeds that chose nothing
    ours, theirs = (scores(study, tricks).score.to_numpy() for tricks in (PPO, CLEANRL))
    assert interval(ours)[0] > interval(theirs)[1] and len(ours) == len(theirs) == 30
assert [study.env for study in studies()[:3]] == ["CartPole-v1", "Acrobot-v1", "Pendulum-v1"]
assert mean["raw"] - mean["cleanrl"] > 0.05 < mean["normed"] - mean["raw"] and min(mean, key=mean.get) == "cleanrl"

# %% [markdown]
# In the mean of these five, the obvious choice comes last, on the seeds that chose; on Taxi, where most sets are about
# equal, it comes first. On [other seeds](../docs/internal/presets.md#on-other-seeds), `ppo` beats it again on CartPole,
# Acrobot, and Pendulum; the other two weren't run. What costs most is [value clipping](15_value_clip.ipynb), on returns
# that nobody [normalized](08_return_norm.ipynb). Fix both, add bootstrapping at time limits, keep the rate constant,
# and you have `ppo`; annealing it would add less than 0.01. If you can't test, start there, on small tasks like these.

# %% tags=["hide-input"]
again = every[(every.detected > 0) & (every.confirmed == 1)]
counts = again.groupby(["trick", "env"]).size().unstack(fill_value=0)
both = counts[(counts > 0).all(axis=1)]
assert set(both.index) == {"reuse"}
lander, rest = again[again.env == "LunarLander-v3"], again[again.env != "LunarLander-v3"]
assert set(rest.design[rest.trick == "reuse"]) == {whole.name}
assert {"reuse", "clip"} < set(lander.trick[lander.design == "ladder"])
assert lander.sort_values("difference").trick.iloc[-1] == "advantage_norm"
assert {env for env, count in counts.loc["return_norm"].items() if count == 0} == {"CartPole-v1"}
assert counts.loc["advantage_norm"].to_dict() == {
    "CartPole-v1": 2,
    "Acrobot-v1": 2,
    "Pendulum-v1": 0,
    "Taxi-v4": 0,
    "LunarLander-v3": 1,
}
groups = again[again.design == whole.name].sort_values("difference").groupby("env").trick.agg(list)
assert {env: names[-1] for env, names in groups.items()} == {
    "CartPole-v1": "reuse",
    "Acrobot-v1": "baseline",
    "Pendulum-v1": "reuse",
    "Taxi-v4": "action_mask",
}
assert all("baseline" in groups[env] for env in ("Pendulum-v1", "Taxi-v4"))
assert all({"bootstrap", "return_norm"} <= set(counts.index[counts[env] > 0]) for env in ("Pendulum-v1", "Taxi-v4"))

# %% [markdown] tags=["two-hours"]
# ## Asking sixteen questions at once
#
# **Asking many questions** makes an ablation invent effects. Suppose that none of 16 tricks does anything. If
# comparisons are independent, at least one is "significant at 5%" with probability $1 - 0.95^{16} = 56\%$.
#
# *Holm's correction*: sort the $m$ p-values. Multiply the smallest by $m$, because it had $m$ chances to be small; the
# next by $m - 1$, and so on. None may end up below the one before it, or above 1. By hand: 0.01, 0.03, 0.04 become $3
# \cdot 0.01 = 0.03$; $2 \cdot 0.03 = 0.06$; and, since 0.04 is below the one before, 0.06.
#
# **Predict.** In five thousand simulated ablations with ten seeds per trick, how often is something "significant"
# without the correction? With it?

# %% tags=["two-hours", "predict", "hide-input"]
np.testing.assert_allclose(holm(np.array([0.01, 0.04, 0.03])), [0.03, 0.06, 0.06])

rng = np.random.default_rng(0)
nothing = rng.normal(size=(5000, 16, 10))
p = stats.ttest_1samp(nothing, 0, axis=2).pvalue
alarms = (p < 0.05).any(axis=1).mean(), np.mean([(holm(row) < 0.05).any() for row in p])
print(f"a false alarm in {alarms[0]:.0%} of the ablations without correction, in {alarms[1]:.0%} with Holm's")
assert alarms[0] > 0.5
assert alarms[1] < 0.07

# %% tags=["hide-input"]
simulated = pd.read_csv(RESULTS / "calibration.csv")
alarms = simulated[simulated.what.str.contains("false alarms: .*as they are")]
once, twice = (alarms[alarms.what.str.endswith(end)]["mean"] for end in ("as they are", "confirmed"))
for found, at_most in ((alarms.env != "Taxi-v4", (0.14, 0.09)), (alarms.env == "Taxi-v4", (0.48, 0.24))):
    first, second = (each[found].groupby(alarms.seeds).max() for each in (once, twice))
    assert (round(first[10], 2), round(first[30], 2)) == at_most and second[30] <= 0.03
tried = all_effects()
tried = tried[(tried.detected != 0) & tried.confirmed.notna()]
assert (len(tried), tried.confirmed.sum()) == (63, 56)

# %% [markdown]
# That noise was Gaussian. On [real scores](../docs/internal/statistics.md), Holm's 5% can become 9% even with thirty
# seeds, and on Taxi 24%. The cure is to try again: of 63 effects, 56 were confirmed on 30 other seeds.

# %% [markdown] tags=["two-hours"]
# ## "No effect" from three seeds
#
# **Too few seeds** hide what is there. The figure shows the chance to detect an effect, by its size in units of the
# spread, or standard deviation, of the differences between seeds. Solid: one trick, one question. Dotted: the same
# trick as one of 16.

# %% tags=["two-hours", "hide-input"]
sizes = np.linspace(0, 2.5, 11)
chance = {}
for seeds in (3, 10, 30):
    samples = rng.normal(size=(1000, 1, seeds)) + sizes[:, None]
    found = stats.ttest_1samp(samples, 0, axis=2).pvalue  # [1000, sizes]
    chance[seeds] = [(found < level).mean(axis=0) for level in (0.05, 0.05 / 16)]

figure, axis = plt.subplots(figsize=(6.5, 2.8))
for (seeds, lines), color in zip(chance.items(), style.OTHERS[2:], strict=False):
    for line, dash in zip(lines, ("-", ":"), strict=True):
        axis.plot(sizes, line, color=color, ls=dash)
    half = np.interp(0.5, lines[0], sizes)
    axis.text(half, 0.5, f"{seeds} seeds", color=color, weight="bold", ha="center", bbox={"fc": "white", "ec": "none"})
axis.set(xlabel="true effect / spread of the differences between seeds", ylabel="chance to detect it", ylim=(0, 1.02))
plt.show()

needed = {seeds: np.interp(0.8, lines[0], sizes) for seeds, lines in chance.items() if seeds > 3}
assert needed[30] < 0.7 < needed[10] < 1.2
assert chance[3][1].max() < 0.2

# %% [markdown] tags=["two-hours"]
# With ten seeds and a single question, an effect must be about as large as that spread to be seen four times in five.
# With three seeds and sixteen questions you hardly ever see anything.

# %% [markdown]
# ## Two thousand random configurations
#
# Every design so far starts from a setting that somebody chose. Andrychowicz et al. (2020, arXiv:2006.05990) drew
# choices at random, one group of related ones at a time around a tuned base: a quarter of a million agents on five
# MuJoCo tasks. Ours is another, smaller design: 2,000 agents on each of two tasks, with all flags and numbers random at
# once. The figure shows how much of the variance of all scores each choice explains by itself, beyond luck, with 95%
# intervals.
#
# **Predict.** They found that five choices (red) matter much: the discount, the learning rate, normalizing
# observations, the scale of the policy's last layer at the start, and the number of epochs. Four (blue) gain little:
# gradient clipping, advantage normalization, annealing the learning rate, and the entropy bonus. Call a choice *clear*
# if its interval is above 0 and shuffled values explain less. Which of the nine are clear on each task?

# %% tags=["predict", "hide-input"]
MUCH = ("gamma", "lr", "state_norm", "orthogonal_init", "epochs")
LITTLE = ("grad_clip", "advantage_norm", "lr_anneal", "entropy")
drawn = {str(agents.env.iloc[0]): (choices, agents) for choices, agents in stored_random(RESULTS)}
shares = {env: choices.drop_duplicates("choice").set_index("choice") for env, (choices, _) in drawn.items()}
order = shares["CartPole-v1"].explained.sort_values().index
colors = {**dict.fromkeys(MUCH, "#CC3311"), **dict.fromkeys(LITTLE, "#0077BB")}
figure, axes = plt.subplots(1, 2, figsize=(8.4, 5.4), sharex=True, sharey=True)
for axis, (env, found) in zip(axes, shares.items(), strict=True):
    for place, row in enumerate(found.loc[order].itertuples()):
        color = colors.get(row.Index, style.SOFT)
        axis.plot((row.explained_low, row.explained_high), (place, place), color=color, lw=1.6)
        axis.plot(row.explained, place, "o", ms=5, color=color)
    axis.axvline(0, color=style.FAINT, lw=1, zorder=0)
    axis.set(title=env)
axes[0].set_yticks(range(len(order)), order)
for label in axes[0].get_yticklabels():
    label.set_color(colors.get(label.get_text(), style.INK))
axes[1].text(0.98, 0.08, "much, on MuJoCo", color="#CC3311", ha="right", transform=axes[1].transAxes)
axes[1].text(0.98, 0.03, "little, on MuJoCo", color="#0077BB", ha="right", transform=axes[1].transAxes)
figure.supxlabel("share of the variance of all scores that the choice explains alone", size=10)
plt.show()

# %% tags=["predict", "hide-input"]
clear = {env: set(found.index[clear_of_zero(found)]) for env, found in shares.items()}
for env, found in clear.items():
    much, little = (", ".join(f"`{name}`" for name in names if name in found) or "none" for names in (MUCH, LITTLE))
    caption(f"{env}: of the five, {much}; of the four, {little}.")
assert clear["CartPole-v1"] & {*MUCH, *LITTLE} == {"gamma", "lr", "epochs"}
assert clear["Acrobot-v1"] & {*MUCH, *LITTLE} == {"lr", "state_norm", "advantage_norm"}
assert [shares[env].explained.rank(ascending=False)["lr"] for env in shares] == [1, 3]
assert not {"value_clip", "bootstrap", "orthogonal_init", "clip"} & (clear["CartPole-v1"] | clear["Acrobot-v1"])
level = {env: choices.set_index(["choice", "level"]) for env, (choices, _) in drawn.items()}
for name in ("baseline", "gae"):
    on, off = level["CartPole-v1"].loc[name, "on"], level["CartPole-v1"].loc[name, "off"]
    assert on["q0.5_high"] < off["q0.5_low"]
    on, off = level["Acrobot-v1"].loc[name, "on"], level["Acrobot-v1"].loc[name, "off"]
    assert on["q0.5_low"] > off["q0.5_high"]
assert level["Acrobot-v1"].loc["baseline", "off"]["q0.5_high"] < -480
on, off = level["Acrobot-v1"].loc["state_norm", "on"], level["Acrobot-v1"].loc["state_norm", "off"]
assert on["q0.95_high"] < off["q0.95_low"]
assert all(found.explained.max() < 0.1 for found in shares.values())

# %% [markdown]
# On CartPole, three of the five are clear and none of the four; on Acrobot, two and one. About the others, these agents
# can't tell, nor about the clip, on either task. The learning rate ranks high on both. Normalizing observations matters
# on Acrobot, but the wrong way around: the best twentieth is worse with it. `baseline` and `gae` *lower* CartPole's
# median and raise Acrobot's, perhaps because their numbers were drawn, too. No single choice is estimated to explain a
# tenth of the variance; the rest is combinations and luck.
#
# Larger tasks may differ. When Engstrom et al. (2020, arXiv:2005.12729) took only the clipped objective out, scores
# fell by 13% on Walker2d and rose by 3% on Humanoid.

# %% [markdown]
# ## At a glance
#
# | | |
# |---|---|
# | **problem** | a score went up after many changes; which of them mattered? |
# | **formula** | effect $= \bar{x}_\text{with} - \bar{x}_\text{without}$, detected if its corrected $p$ is below 0.05 |
# | **in the loop** | `if tricks.gae:` <br> `if tricks.clip:` |
# | **defaults** | 30 seeds per arm, each at its own best learning rate; what is detected is tried again |
# | **watch** | the interval, and the number of questions |
# | **skip it when** | one trick decides your project: give it a trial of its own |
# | **also called** | *ablation study*; an *arm* is one combination of flags |

# %% [markdown]
# ## Exercises
#
# **Exercise 1: write it.** Holm's correction. Return the corrected values in the order in which the p-values came.


# %%
def my_holm(p):  # [m] -> [m]
    ...


check_holm(my_holm)

# %% [markdown]
# <details><summary>Hint</summary>
#
# `np.argsort(p)` gives the order. Walk along it, keep the largest product so far, and write it where its p-value stood.
#
# </details>
#
# **Exercise 2: spot the bug.** This function compares a trick with its absence, on runs at several learning rates. Its
# input here is pure noise.

# %%
source(compared)

# %% tags=["open"]
# experiments, arms, learning rates, seeds: nothing has any effect
runs = rng.normal(size=(1000, 2, 4, 10))
found = np.mean([compared(*experiment) for experiment in runs])
print(f"{found:.0%} of the experiments report a significant gain; 2.5% were promised")
assert found > 0.05

# %% [markdown]
# Where does the gain come from? How would you repair it, so that each arm may still have its own rate?
#
# <details><summary>Answer</summary>
#
# One arm gets the best of four rates, chosen on the very seeds that are then reported; the other gets the first rate.
# Choose each arm's rate on tuning seeds, and compare the arms on others.
#
# </details>
#
# **Exercise 3: plan it.** Take a hollow mark from the CartPole figure of the three questions and read off its interval.
# If only the reported seeds make it wide, about how many would shrink it to ±0.02?
#
# <details><summary>Answer</summary>
#
# The width shrinks with $1/\sqrt{n}$. A half-width of 0.08 at 30 seeds needs $(0.08 / 0.02)^2 = 16$ times as many: 480.
#
# </details>
#
# Solutions: [`solutions/25_the_whole_ladder.py`](solutions/25_the_whole_ladder.py). Next:
# [sensitivity](26_sensitivity.ipynb).

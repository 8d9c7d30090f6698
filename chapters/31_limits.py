# %% [markdown]
# # Lengths, limits, and leashes
#
# *Your model's wrong answers are twice as long as its right ones. Is it thinking harder, or is it your mean?*

# %% [markdown]
# A small model answers `a` or `b` and then writes `more` until it feels like `end`. Only its first word counts. Half of
# the time, a typo replaces it at random, and the model sees that. Below, ten agents are trained with GRPO's mean, over
# the tokens of each reply, and ten with a mean over all tokens of the batch. Ratio, clip, and the rest are left out.

# %% tags=["hide-input"]
from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np
import torch

from ablations import interval, style
from chapters.book import begin, caption, label_lines
from chapters.book.replies import replies
from chapters.exercises.limits import check_penalty, mean_of_batch
from tricks import Config, source, train
from tricks.clip_higher import clipped_apart
from tricks.kl_penalty import estimated_kl
from tricks.ladder import switched
from tricks.reply_mean import mean_of_replies
from tricks.reply_ratio import ratio_of_reply
from tricks.worlds import loophole

begin()
COLORS = {name: style.COLORS[name] for name in ("reply_mean", "clip_higher", "kl_penalty")}
IMITATE = switched(("imitate", "lr_anneal"))
TOKENS, OWN = switched(("group_baseline",)), switched(("group_baseline", "reply_mean"))

typos = Config("tricks/Typos-v0", seeds=10, steps=30_000, lanes=128, horizon=1, gamma=1.0, hidden=(32,))
typos = replace(typos, activation="relu", lr=0.01)
unseen = replace(typos, env="tricks/TyposUnseen-v0")
starts = {world.env: train(world, IMITATE) for world in (typos, unseen)}


def trained(tricks, world=typos, **numbers):
    """Ten agents that start from the imitators of their world."""
    return train(replace(world, steps=40_000, lr=0.01, **numbers), tricks, start=starts[world.env].agent)


def lengths(run):
    """Each agent's mean length of right and of wrong replies: [2, agents]."""
    said = replies(run)
    answered = said.windows.unflatten(2, (13, 4))[:, :, 1, :2].any(-1)  # the first word after the prompt
    right = said.score > 0.5
    kinds = (right & answered, ~right & answered)
    return np.stack([((said.length * kind).sum(1) / kind.sum(1)).numpy() for kind in kinds])


begun = lengths(starts[typos.env])
runs = {"all tokens": trained(TOKENS), "each reply's own": trained(OWN)}
found = {"imitated": begun} | {name: lengths(run) for name, run in runs.items()}


def draw_lengths(found):
    """Right and wrong lengths, a row for each arm; dots are agents."""
    axis = plt.subplots(figsize=(6.8, 0.55 * len(found) + 0.7))[1]
    for row, both in enumerate(found.values()):
        for kind, color, shift in ((0, style.COLORS["gae"], -0.13), (1, style.FAULT, 0.13)):
            axis.plot(both[kind], [row + shift] * both.shape[1], "o", color=color, ms=4, alpha=0.5)
            if row == 0:
                axis.text(12.2, shift * 3, ("right", "wrong")[kind], color=color, weight="bold", va="center")
    axis.set_yticks(range(len(found)), list(found))
    axis.set(ylim=(len(found) - 0.4, -0.6), xlim=(1, 13.5), xlabel="words per reply (dots: agents)")
    plt.show()
    longer = (f"{(both[1] - both[0]).mean():+.1f} ({name})" for name, both in found.items())
    caption(f"Wrong minus right, in words: {', '.join(longer)}.")


draw_lengths(found)
gap = {name: interval(both[1] - both[0]) for name, both in found.items()}
assert gap["each reply's own"][0] > 2 and max(np.abs(gap["all tokens"])) < 0.6
ends = {name: both.mean(1) for name, both in found.items()}  # of right and of wrong replies
short, long = ends["each reply's own"]
assert 1.6 < long / short < 2.4 and short < ends["imitated"][0] < long < ends["all tokens"][1]
assert min(ends["all tokens"] / ends["imitated"]) > 1.8

# %% [markdown]
# Nothing rewards length. Yet with a mean over each reply's own tokens, wrong replies end up twice as long as right
# ones. Under a mean over all tokens, both kinds double, toward the maximum. With GRPO's, wrong replies grow almost as
# much, but right ones stay short. This chapter is about three quiet choices in the loss: which mean, which limits,
# which leash.
#
# ## Two replies by hand
#
# Subtract the mean of both rewards: a right reply of two tokens has the advantage +½, a wrong one of eight −½. The
# agents above have leave-one-out, which for two replies doubles both. In a mean over all ten tokens, each token gets ±½
# · 1/10. In GRPO's mean, a token of a reply of length $|o_i|$ gets
#
# $$\frac{1}{2} \cdot \frac{1}{|o_i|} \cdot A_i: \qquad
#   \text{right } \frac12 \cdot \frac12 \cdot \frac12 = +\frac18, \qquad
#   \text{wrong } \frac12 \cdot \frac18 \cdot \left(-\frac12\right) = -\frac1{32}.$$
#
# So a token of the wrong reply is punished a quarter as hard as in a wrong reply of two tokens. In short replies, `end`
# is punished hardest. That lengthens wrong replies and, with the sign turned, shortens right ones.
#
# There are two cures: a mean over all tokens, as in DAPO and by default in the libraries TRL and verl, or a constant
# instead of $|o_i|$ (Dr. GRPO, Liu et al. 2025).

# %%
source(mean_of_replies)

# %% tags=["hide-input"]
reply = torch.tensor([[0] * 2 + [1] * 8])  # [S, B]: two tokens, and eight
log_prob = torch.zeros(1, 10, requires_grad=True)
worth = torch.tensor([[0.5] * 2 + [-0.5] * 8])
every = torch.ones(1, 10, dtype=torch.bool)
for divisor, wanted in ((0.0, [1 / 8, -1 / 32]), (8.0, [1 / 32, -1 / 32])):
    loss = mean_of_replies(log_prob * worth, reply, every, divisor, lanes=2)
    (each,) = torch.autograd.grad(loss.sum(), log_prob)
    torch.testing.assert_close(each[0, [0, -1]], torch.tensor(wanted))

# %% [markdown]
# ## Only where the model can see it
#
# **Predict.** Now the typo is hidden: only the grader sees it. Are wrong replies still longer under GRPO's mean? And
# what does a constant of 12, the longest reply, do where typos can be seen?

# %% tags=["predict", "hide-input"]
more = {
    "a constant": lengths(trained(OWN, reply_divisor=12.0)),
    "own tokens, typo unseen": lengths(trained(OWN, unseen)),
}
draw_lengths(more)
gap |= {name: interval(both[1] - both[0]) for name, both in more.items()}
low, high = gap["own tokens, typo unseen"]
caption(f"The difference with the typo unseen, 95%: {low:+.1f} to {high:+.1f}.")
assert min(more["a constant"].mean(1) / ends["imitated"]) > 1.8
assert max(np.abs(gap["a constant"])) < 0.6
assert gap["own tokens, typo unseen"][1] < gap["each reply's own"][0]

# %% [markdown] tags=["predict"]
# A constant has no such bias. Under both cures, all replies get twice as long; we don't know why. And where the typo is
# hidden, most of the difference under GRPO's mean is gone: the bias needs a model that *knows*.

# %% [markdown]
# ## The upper limit
#
# The clip stops pushing a probability up once it has grown by a factor of $1 + \epsilon$ in a batch. A token of
# probability 0.9 has no limit then; one of 0.005 is pushed to 0.006. DAPO gives the upper side a limit of its own, so
# that the policy keeps exploring:

# %%
source(clipped_apart)

# %% [markdown]
# In the next world, one of 200 words pays, and at first all are equally likely. By hand: from 0.005 to 0.5 is a factor
# of 100. If every batch reaches the limit, that takes $\ln 100 / \ln 1.2 \approx 26$ batches, 19 with 1.28, and 12 with
# 1.5.
#
# **Predict.** DAPO's own limit is 1.28. How many batches does it save?

# %%
rare = Config("tricks/Rare-v0", seeds=10, steps=128 * 28, lanes=128, horizon=1)
rare = replace(rare, gamma=1.0, hidden=(8,), lr=0.003, epochs=8, minibatches=1)
SAME = switched(("group_baseline", "reuse", "clip", "orthogonal_init"))
HIGHER = replace(SAME, clip_higher=True)
limits = {"1.2": train(rare, SAME)}
for high in (0.28, 0.5):
    limits[f"{1 + high:g}"] = train(replace(rare, clip_high=high), HIGHER)

# %% tags=["predict", "thumbnail", "hide-input"]
figure, axis = plt.subplots(figsize=(6.2, 2.6))
shades = {"1.2": style.COLORS["clip"], "1.28": style.SOFT, "1.5": COLORS["clip_higher"]}
reached, crossed = {}, {}
for name, run in limits.items():
    chance = run.curve.pivot(index="update", columns="seed", values="return")
    axis.plot(chance.mean(axis=1), color=shades[name], label=f"up to {name}")
    axis.fill_between(chance.index, *interval(chance.T.to_numpy()), color=shades[name], alpha=0.2, lw=0)
    crossed[name] = int((chance.mean(axis=1) > 0.5).idxmax())
    reached[name] = (chance.rolling(3, min_periods=1).mean() > 0.5).idxmax().to_numpy()
axis.set(xlabel="batches", ylabel="share of the right word", ylim=(0, 1.02))
label_lines(axis)
plt.show()
saved = {name: interval(reached["1.2"] - reached[name]) for name in ("1.28", "1.5")}
caption(
    f"Half right in batch {', '.join(f'{batch} with {name}' for name, batch in crossed.items())}. Batches saved: "
    + ", ".join(f"{low:.1f} to {high:.1f} by {name}" for name, (low, high) in saved.items())
    + " (95%)."
)
assert crossed["1.2"] < 25 and crossed["1.5"] > 15
assert [int(np.ceil(np.log(100) / np.log(limit))) for limit in (1.2, 1.28, 1.5)] == [26, 19, 12]
assert 0.5 < 0.995**128 < 0.55 and max(run.curve.query("update < 5").max_ratio.max() for run in limits.values()) < 1.2
assert saved["1.28"][0] > 0 and saved["1.28"][1] < 6 and saved["1.5"][0] > 2

# %% [markdown] tags=["predict"]
# It saves a batch or two, and a limit of 1.5 saves more. At 1.2, agents are faster than by hand, since the clip is [no
# bound](03_clip.ipynb). At 1.5 they are slower: at first, more than half of all batches hold no right word, so the
# limit isn't what holds them back.

# %% [markdown]
# ## The leash
#
# In the next world, a reply is one word. `good` earns 1. `flattery` is worth −1 to the users, but a reward model pays
# 1.2 for it. The imitators say `good` one time in ten, and `flattery` one in fifty.

# %% tags=["hide-input"]
hole = Config("tricks/Loophole-v0", seeds=10, steps=15_000, lanes=128, horizon=1, gamma=1.0, hidden=(8,), lr=0.01)
reference = train(hole, IMITATE)
WINDOW = loophole.LOOPHOLE.observe(torch.tensor([[3.0, -1.0]])).expand(10, 1, -1)
TRUE, PAID = torch.tensor(loophole.TRUE), torch.tensor(loophole.PAID)


def words(run):
    """Each agent's probabilities of good, flattery, and plain: [agents, 3]."""
    return run.agent.policy(WINDOW).softmax(-1)[:, 0].detach()


begun = words(reference)
history = []


def follow(rows, agent):
    history.append(agent.policy(WINDOW).softmax(-1)[:, 0].detach())


train(replace(hole, steps=40_000), TOKENS, start=reference.agent, on_update=follow)
figure, axis = plt.subplots(figsize=(6.2, 2.5))
means = []
for name, each, color in (("what is paid", PAID, style.SOFT), ("what it is worth", TRUE, COLORS["kl_penalty"])):
    by_agent = torch.stack(history) @ each  # [updates, agents]
    axis.plot(by_agent.mean(1), color=color, label=name)
    axis.fill_between(range(len(by_agent)), *interval(by_agent.T.numpy()), color=color, alpha=0.2, lw=0)
    means.append(by_agent.mean(1))
paid, worth = means
axis.set(xlabel="updates", ylabel="points per reply")
label_lines(axis)
plt.show()
assert worth.max() > 0.3 and worth[-1] < -0.8 and paid[-1] > 1.1

# %% [markdown]
# First the frequent word wins, then the one that's paid best: Goodhart's law. **Stopping early is a leash, too**, but
# you'd have to know when, and you only see the gray line.
#
# The usual leash is a price on the distance to the imitator, the *reference*: $\beta \operatorname{KL}(\pi \|
# \pi_\text{ref})$. The best policy under it has a closed form. Maximize $\sum_a \pi_a (r_a - \beta \ln(\pi_a /
# \pi_{\text{ref}, a}))$ under $\sum_a \pi_a = 1$: the derivative, $r_a - \beta \ln(\pi_a / \pi_{\text{ref}, a}) -
# \beta$, must be the same for all $a$. So
#
# $$\pi^*_a \propto \pi_{\text{ref}, a}\, e^{r_a / \beta} .$$

# %% tags=["hide-input"]
shown = torch.tensor(loophole.SHOWN)


def best(beta, start):
    """The best policy under the price β, its true worth, and √KL."""
    policy = (start.log() + PAID / beta).softmax(-1)
    return policy, (policy * TRUE).sum(-1), (policy * (policy / start).log()).sum(-1).sqrt()


betas = torch.logspace(1.3, -1.6, 80)
points = [best(beta, shown) for beta in betas]
far, truth = ([point[k].item() for point in points] for k in (2, 1))
proxy = [(point[0] @ PAID).item() for point in points]
figure, axis = plt.subplots(figsize=(6.2, 2.6))
axis.plot(far, proxy, color=style.SOFT, label="what is paid")
axis.plot(far, truth, color=COLORS["kl_penalty"], label="what it is worth")
axis.set(xlabel="√KL from the reference, as the price falls", ylabel="points per reply")
label_lines(axis)
plt.show()
torch.testing.assert_close(torch.stack(best(0.3, shown)[1:]), torch.tensor([0.36, 1.14]), atol=0.01, rtol=0)
torch.testing.assert_close(torch.stack(best(0.03, shown)[1:]), torch.tensor([-0.99, 1.97]), atol=0.01, rtol=0)

# %% [markdown]
# Gao et al. (2022, arXiv:2210.10760) measured this curve on reward models. The axis is √KL because the KL grows with
# the square of a small shift.
#
# ## Three estimators, and where they go
#
# The KL has to be estimated from sampled tokens. With $q = \pi_\text{ref} / \pi$ at such a token, there are three
# usual ways (Schulman 2020): $k_1 = -\ln q$, $k_2 = \frac12 (\ln q)^2$, and
# $k_3 = q - 1 - \ln q$. Take two words, $\pi = (0.8, 0.2)$ and $\pi_\text{ref} = (0.5, 0.5)$. Then
# $q = (0.625, 2.5)$, and the KL is $0.8 \ln 1.6 + 0.2 \ln 0.4 = 0.193$.
#
# | | at the first word | at the second | mean | bias |
# |---|---|---|---|---|
# | $k_1$ | 0.470 | −0.916 | 0.193 | none |
# | $k_2$ | 0.110 | 0.420 | 0.172 | −0.020 |
# | $k_3$ | 0.095 | 0.584 | 0.193 | none |
#
# So $k_3$ looks best: unbiased, never negative, less noisy. But what counts is the gradient, and autograd
# differentiates $k$ at the sampled word, not the probability of sampling it. Along the first word's logit, the score,
# $\nabla = \nabla \ln \pi$, is $(0.2, -0.8)$, and the true gradient of the KL is $0.8 \cdot 0.2 \cdot \ln(1.6/0.4) =
# 0.222$. In the loss:
#
# | | gradient at a word | mean |
# |---|---|---|
# | $k_1$ | $\nabla$ | 0: it pulls nowhere |
# | $k_2$ | $-\ln q \cdot \nabla$ | 0.222: right |
# | $k_3$ | $(1 - q) \cdot \nabla$ | 0.300: that of $\operatorname{KL}(\pi_\text{ref} \| \pi)$ |

# %%
source(estimated_kl)

# %% tags=["hide-input"]
logits = torch.tensor([0.8, 0.2]).log().requires_grad_()
fixed = torch.tensor([0.5, 0.5]).log()
chance = torch.tensor([0.8, 0.2])  # how likely each word is sampled: not differentiated
by_hand = ("k1", 0.193, 0.0), ("k2", 0.172, 0.222), ("k3", 0.193, 0.3)
for name, value, slope in by_hand:
    mean_k = (chance * estimated_kl(logits.log_softmax(0), fixed, name)).sum()
    (pull,) = torch.autograd.grad(mean_k, logits)
    assert abs(mean_k.item() - value) < 1e-3 and abs(pull[0].item() - slope) < 1e-3

# %% [markdown]
# The price can also stand in the reward, as in RLHF since Ziegler et al. (2019, arXiv:1909.08593). There the score
# multiplies it, so $k_1$ has the right gradient: $\mathbb{E}[-\ln q \cdot \nabla]$. GRPO's paper has $k_3$ in the loss.
# TRL now multiplies it by the ratio, gradient and all, which makes it right: `use_bias_correction_kl`, after
# DeepSeek-V3.2 (arXiv:2512.02556). For $k_2$, see exercise 2.
#
# **Predict.** At $\beta = 0.3$ the closed form is worth about 0.2 for our imitators, who aren't exact. Which of
# four leashes hold it there?

# %%
PRICED = switched(("group_baseline", "kl_penalty", "lr_anneal"))


def leashed(place, estimator, beta=0.3):
    """Ten agents under this price."""
    price = {"kl_coef": beta, "kl_in": place, "kl_estimator": estimator}
    return train(replace(hole, steps=32_000, **price), PRICED, start=reference.agent)


kinds = ("loss", "k2"), ("reward", "k1"), ("loss", "k3"), ("loss", "k1")
leashes = {f"{k} in the {place}": leashed(place, k) for place, k in kinds}

# %% tags=["predict", "hide-input"]
_, aim, _ = best(0.3, begun)
worths = {name: words(run) @ TRUE for name, run in leashes.items()}
figure, axis = plt.subplots(figsize=(6.2, 2.1))
for row, worth in enumerate(worths.values()):
    axis.plot(worth, [row] * 10, "o", color=COLORS["kl_penalty"] if row < 2 else style.FAULT, ms=4, alpha=0.5)
axis.axvline(aim.mean(), color=style.SOFT, lw=1)
axis.text(aim.mean(), -0.75, "closed form", color=style.SOFT, ha="center", bbox={"fc": "white", "ec": "none"})
axis.set_yticks(range(4), list(worths))
axis.set(xlim=(-1.05, 1.05), ylim=(3.5, -1), xlabel="worth per reply in the end (dots: agents)")
plt.show()
off = {name: (worth - aim).abs().mean().item() for name, worth in worths.items()}
assert max(off["k2 in the loss"], off["k1 in the reward"]) < 0.08
assert worths["k3 in the loss"].mean() < -0.3 and worths["k1 in the loss"].mean() < -0.9

# %% [markdown] tags=["predict"]
# The two with the right gradient end where the closed form says. $k_3$ in the loss is another leash:
# $\operatorname{KL}(\pi_\text{ref} \| \pi)$ asks that nothing the reference says become *rare*. $k_1$ in the loss does
# nothing at all.

# %% [markdown]
# ## One ratio per reply
#
# Rewards are for whole replies, ratios for tokens. GSPO (Zheng et al. 2025, arXiv:2507.18071) takes one ratio per
# reply, the geometric mean of its tokens', and clips that:

# %%
source(ratio_of_reply)

# %% [markdown]
# If three tokens have ratios 2, ½, and 1, that's 1: nothing is clipped. It can only matter where several steps are
# taken from a batch.

# %% tags=["hide-input"]
three = torch.tensor([[2.0, 0.5, 1.0]]).log()
same = torch.zeros(1, 3, dtype=torch.int64)
whole = ratio_of_reply(three, same, torch.ones(1, 3, dtype=torch.bool), lanes=1)
torch.testing.assert_close(whole, torch.ones(1, 3))
PER_TOKEN = switched(("group_baseline", "reply_mean", "reuse"))
PER_REPLY = replace(PER_TOKEN, reply_ratio=True)
one_step, eight = {"epochs": 1, "minibatches": 1}, {"epochs": 8, "minibatches": 1}
apart = {}
for name, numbers in (("one step", one_step), ("eight steps", eight)):
    few = replace(typos, seeds=2, steps=3_000, lr=0.003, **numbers)
    ends = [train(few, each, start=None).agent for each in (PER_TOKEN, PER_REPLY)]
    nets = zip(*(each.policy_net.parameters() for each in ends), strict=True)
    apart[name] = max((one - other).abs().max().item() for one, other in nets)
assert apart["one step"] < 1e-3 < apart["eight steps"]

# %% [markdown]
# The exponent $1/|o|$ puts replies of all lengths on one narrow scale: GSPO's limits are 3e−4 and 4e−4, not 0.2. It is
# in the gradient, too, so by the same algebra GSPO should have the bias of this chapter's first figure. Its paper's
# reason is stability, which we can't show here.
#
# Our presets in TRL 1.16, where the last four have the same losses and gradients:
#
# | preset | TRL |
# |---|---|
# | `rloo` | `RLOOTrainer`, which also clips a ratio per reply |
# | `grpo` | `loss_type="grpo"`, `beta=0.04`, `use_bias_correction_kl=False` |
# | `dr_grpo` | `loss_type="dr_grpo"`, `scale_rewards="none"` |
# | `dapo` | `loss_type="dapo"`, `epsilon_high=0.28`; it doesn't sample other prompts |
# | `gspo` | `loss_type="grpo"`, `importance_sampling_level="sequence"`, `epsilon=3e-4`, `epsilon_high=4e-4` |

# %% [markdown]
# ## At a glance
#
# | | |
# |---|---|
# | **problem** | the loss decides which lengths pay, how fast what is rare can grow, and how far a proxy is chased |
# | **formula** | $\frac{1}{N}\sum_i \frac{1}{d}\sum_t$; $1 - \epsilon_\text{low} \le \rho \le 1 + \epsilon_\text{high}$; $-\beta k$ |
# | **in the loop** | `objective = clipped_apart(ratio, advantage, t.clip_range, t.clip_high)` |
# | **defaults** | $\epsilon_\text{high} = 0.28$; $\beta = 0.04$ on $k_3$ in the loss, as in GRPO |
# | **watch** | lengths of right and wrong replies; `clip_high_fraction`; `reference_kl` |
# | **skip it when** | replies have one length; one step per batch; the reward is the truth |
# | **evidence** | `clip_higher`: Not tried in the usual environments. It helps in the one world made for it, as predicted. <br> `kl_penalty`: Not tried in the usual environments. It helps in the one world made for it, as predicted. <br> `reply_mean`: Not tried in the usual environments. It does practically nothing in the one world made for it, as predicted. <br> `reply_ratio`: Not tried in the usual environments. |
# | **also called** | `loss_type`, `epsilon_high`, `beta` in TRL |

# %% [markdown]
# ## Exercises
#
# **Exercise 1: write it.** For one state, return the exact expected gradient, along all logits, of a price of $k_3$ in
# the *reward*, where it multiplies the score: the mean over words of $k_3 \nabla \ln \pi$.


# %%
def my_penalty(probs, reference):  # [A] and [A], probabilities -> [A]
    ...


check_penalty(my_penalty)

# %% [markdown]
# <details><summary>Hint</summary>
#
# The score of word $a$ along logit $k$ is $[a = k] - \pi_k$. So component $k$ is $\pi_k (k_3(k) - \overline{k_3})$.
#
# </details>
#
# **Exercise 2: a variant.** In later steps on a batch, actions come from the old policy, not from $\pi$. By what would
# you have to multiply $k_2$ in the loss so that its gradient stays right there?
#
# <details><summary>Answer</summary>
#
# By the ratio $\pi / \pi_\text{old}$, *detached*: then the gradient is the old policy's mean of
# $\frac{\pi}{\pi_\text{old}} \cdot (-\ln q) \nabla$, which is $\pi$'s mean of it. If the ratio carries a gradient,
# there is one more term, $k_2$ times the score, and the sum is wrong again.
#
# </details>

# %% [markdown]
# **Exercise 3: spot the bug.** This version of the mean of replies is shorter.

# %%
source(mean_of_batch)

# %% [markdown]
# With two agents, one of which has lost half of its groups to `mixed_groups`, it goes wrong. Why? And where did
# [chapter 6](06_advantage_norm.ipynb) have the same bug?
#
# <details><summary>Hint</summary>
#
# Over which axis does `.mean()` run?
#
# </details>
#
# Solutions: [`solutions/31_limits.py`](solutions/31_limits.py). Back to [the map](README.md).

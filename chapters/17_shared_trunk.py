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
# # A shared trunk: one body, two heads
#
# *Policy and value look at the same states. Should they share the layers that look?*
#
# Since the [baseline](01_baseline.ipynb) we have trained two nets, and each finds out for itself what matters in an
# observation. Why not share those layers, the *body* or **trunk**, and give each net only a last layer of its own, its
# **head**? That halves the work, and OpenAI's code for Atari does it (Huang et al. 2022). On CartPole it can cost most
# of the score.
#
# Below, gray arrows are the forward pass, and colored ones the gradients of losses. On the right, two of them meet.

# %% tags=["hide-input"]
from dataclasses import replace

import matplotlib.pyplot as plt
import torch

from ablations import area, style
from chapters.book import begin, caption, curves, evidence, label_lines, planted, two_nets_or_one_trunk
from chapters.book.results import beyond
from chapters.exercises.shared_trunk import check_parts, share_body_
from tricks import PPO, Config, diff, source, train
from tricks.baseline import squared_error
from tricks.core.adam import Adam, gradient
from tricks.core.agent import Agent
from tricks.core.nets import Dense, Head, Nature, Net
from tricks.core.reductions import mean
from tricks.core.seeds import stream
from tricks.ladder import named
from tricks.shared_trunk import share_trunk_

begin()
COLOR, NORMED = style.COLORS["shared_trunk"], style.COLORS["return_norm"]

# %% tags=["hide-input"]
two_nets_or_one_trunk()
plt.show()


# %% tags=["hide-input"]
def count(body, places, actions):
    """Parameters of a body and of both heads, and with it shared, the share of the multiplications that is left."""
    parameters = sum(weight.numel() + bias.numel() for weight, bias in body.layers)
    work = sum(weight.numel() * visited for (weight, _), visited in zip(body.layers, places, strict=True))
    heads, head_work = (body.width + 1) * (actions + 1), body.width * (actions + 1)  # logits and one value
    return parameters, heads, (work + head_work) / (2 * work + head_work)


none = [stream(0, "init")]
cartpole = count(Dense(none, (4, 64, 64)), (1, 1), actions=2)
# a convolution uses each weight at every place that its filter visits
breakout = count(Nature(none, (4, 84, 84)), (20 * 20, 9 * 9, 7 * 7, 1), actions=4)
assert cartpole[:2] == (4480, 195) and breakout[:2] == (1_684_128, 2565)
assert 0.49 < min(cartpole[2], breakout[2]) <= max(cartpole[2], breakout[2]) < 0.52

# %% [markdown]
# The net is nearly all body: 4,480 parameters on CartPole, beside 195 in both heads, and 1.7 million beside 2,565 on
# Atari, with the convolutions of Mnih et al. (2015).
#
# ## Where it goes wrong: states on a line
#
# The states are 64 places $x$ from −1 to 1, and the right action is to go toward the middle. Advantages are $\pm 1$.
# The value head learns the return, $k\,(1 - x^2/2)$; with $k = 100$ it is as large as on CartPole. Three agents per
# setting take 300 steps of Adam on the sum of both losses.

# %%
AGENTS, HIDDEN = 3, (1, 32, 32)
x = torch.linspace(-1, 1, 64).view(1, -1, 1).expand(AGENTS, -1, -1).contiguous()
place, everywhere = x.squeeze(-1), torch.ones(AGENTS, dtype=torch.bool)


def train_both(returns, best, shared, value_coef=0.5, steps=300):
    """Where the action is right (a share, by step), and the policy body's features."""
    draws = [stream(seed, "init") for seed in range(AGENTS)]
    body = Dense(draws, HIDDEN)
    policy = Net(body, Head(draws, body.width, 1))
    value = Net(body if shared else Dense(draws, HIDDEN), Head(draws, body.width, 1))
    both_nets = torch.nn.ModuleList([policy, value])  # lists a shared body once
    parameters = list(both_nets.parameters())
    optimizer, right = Adam(parameters, eps=1e-5), []
    for _ in range(steps):
        # of the action whose advantage is `best`; the other's is −best
        chance = policy(x).squeeze(-1).sigmoid()
        policy_loss = -((2 * chance - 1) * best).mean(1)
        value_loss = squared_error(value(x).squeeze(-1), returns).mean(1)
        both = gradient(policy_loss + value_coef * value_loss, parameters)
        optimizer.step(both, torch.full((AGENTS,), 0.003), everywhere)
        right.append(((chance > 0.5) == (best > 0)).float().mean().item())
    return right, body(x).detach()


hill, toward_middle = 1 - place**2 / 2, -place.sign()
apart = train_both(100 * hill, toward_middle, shared=False)
together = {k: train_both(k * hill, toward_middle, shared=True) for k in (1, 10, 100)}

# %% [markdown]
# **Predict.** Separate bodies with $k = 100$, and a shared body with $k = 1$, 10, and 100. Which of the four learn the
# policy?

# %% tags=["predict", "hide-input"]
figure, axis = plt.subplots(figsize=(6.5, 2.6))
axis.plot(apart[0], color=style.SOFT, ls="--", label="separate, k = 100")
for (k, (right, _)), color in zip(together.items(), ("#C9A0B2", "#A05577", COLOR), strict=True):
    axis.plot(right, color=color, label=f"shared, k = {k}")
axis.set(xlabel="gradient step", ylabel="share of places\nwith the right action", xlim=(0, 300), ylim=(0.4, 1.03))
label_lines(axis)
plt.show()
assert apart[0][-1] > 0.95 and together[1][0][-1] > 0.95 and together[100][0][-1] < 0.6

# %% [markdown]
# At $k = 10$, the shared body loses its way and finds it again. At $k = 100$ the policy is lost for good, although its
# own loss is the same. Here is what its head sees at the end, the first agent's 32 features:

# %% tags=["hide-input"]
figure, axes = plt.subplots(1, 3, figsize=(6.5, 2.5), sharey=True)
shown = {"separate": apart[1], "shared, k = 1": together[1][1], "shared, k = 100": together[100][1]}
spread = {}
for axis, (name, features) in zip(axes, shown.items(), strict=True):
    axis.plot(place[0], features[0], color=style.SOFT if name == "separate" else COLOR, lw=0.8, alpha=0.7)
    axis.set(title=name, xlabel="place x", ylim=(-1.08, 1.08))
    spread[name] = features.std(1).mean().item()
axes[0].set_ylabel("features h(x)")
plt.show()
assert spread["separate"] > 0.5 and spread["shared, k = 100"] < 0.01

# %% [markdown]
# With $k = 100$, every feature is stuck at $-1$ or $+1$. All places look the same, so no head can tell left from right.
#
# ## The joint loss has one gradient
#
# Write $\phi$ for the body's weights and $h$ for its features. The heads are linear, and the value is $V = w \cdot h +
# w_0$. One loss trains everything (Mnih et al. 2016, arXiv:1602.01783):
#
# $$L = \underbrace{-\,\text{objective} - c_2\, \text{entropy}}_{L_\pi}
#   + c_1 \underbrace{\tfrac12\, \mathbb{E}\big[(V(s) - G)^2\big]}_{L_V}.$$
#
# Each head hears one of the two losses. The body hears a sum, because a gradient is linear:
#
# $$\nabla_\phi L = \underbrace{\nabla_\phi L_\pi}_{g_\pi} + c_1 \underbrace{\nabla_\phi L_V}_{g_V}.$$
#
# A sum points where its longer term points. Both reach the body through its features. Where action $a$ was taken with
# advantage $A$ and the ratio is still 1, the chain rule gives
#
# $$\frac{\partial L_\pi}{\partial h} = -A\, \nabla_h \log \pi(a|s),
#   \qquad
#   c_1 \frac{\partial L_V}{\partial h} = c_1 (V - G)\, w.$$
#
# - **Size.** $A$ is standardized, so around 1. $V - G$ is in units of reward: up to 100 on CartPole while $V$ is still
#   wrong.
# - **Direction.** $A$ has mean 0, so $g_\pi$ pushes a feature up in some states and down in others. But while $V$ is
#   far below *all* returns, feature $j$ is pushed toward the sign of $w_j$ **in every state**, until its tanh can go no
#   further. That's the last picture above.
#
# **By hand.** Take one feature, $h = ½$, and $c_1 = ½$. The policy head has the weights $(-1, 1)$, so
# $\pi(\text{right}) = 1/(1 + e^{-2h}) = 0.731$. The value head has $w = 2$, so $V = 1$. The agent went right, with $A =
# 1$ and $G = 100$. The policy's part is $-2\,(1 - 0.731) = -0.538$. The value's is $½\,(1 - 100) \cdot 2 = -99$, 184
# times as long. With [`return_norm`](08_return_norm.ipynb), at a mean of 60 and a standard deviation of 30, $G$ becomes
# $(100 - 60)/30 = 1.33$, and the value's part is only $-0.333$:

# %% tags=["open"]
policy_head, value_head = Head(none, 1, 2), Head(none, 1, 1)
for head, weights in ((policy_head, [[-1.0, 1.0]]), (value_head, [[2.0]])):
    head.weight.data = torch.tensor([weights])
    head.bias.data.zero_()

h = torch.full((1, 1, 1), 0.5, requires_grad=True)  # [S, B, features]
logits, value = policy_head(h), value_head(h)[..., 0]
policy_loss = -1.0 * logits.log_softmax(-1)[..., 1].sum(1)
raw = 0.5 * squared_error(value, torch.tensor([[100.0]])).sum(1)
normed = 0.5 * squared_error(value, torch.tensor([[40 / 30]])).sum(1)


def slope(loss):
    return torch.autograd.grad(loss, h, retain_graph=True)[0].item()


losses = (policy_loss, raw, policy_loss + raw, normed)
found = torch.tensor([slope(loss) for loss in losses])
by_hand = torch.tensor([-0.538, -99, -99.538, -0.333])
torch.testing.assert_close(found, by_hand, atol=1e-3, rtol=0)
assert round((found[1] / found[0]).item()) == 184

# %% [markdown]
# ## Sharing is one assignment
#
# `share_trunk_` puts the same object into both nets. Then there is one set of weights, and the backward passes of both
# heads end in it.

# %%
source(share_trunk_, Agent.features)

# %% [markdown]
# The loop calls `agent.features` once per minibatch for both nets, so the preset PPO gets one new line:

# %%
diff(PPO, named("shared_trunk"))

# %% [markdown]
# ## The two gradients, measured on CartPole
#
# In every gradient step we split off the value's gradient on the body.


# %% tags=["hide-input"]
def train_listening(config, tricks):
    """The run, and of each gradient step [steps, 4, S]: ‖g_π‖, ‖c₁g_V‖, their cosine, the whole norm."""
    last, notes = {}, []

    def noting_mean(x, valid):
        last["mean"] = mean(x, valid)
        return last["mean"]

    def noting_gradient(loss, parameters):
        parameters = list(parameters)
        body = parameters[:4]  # two layers, weights and biases; the heads come after them
        of_value = torch.autograd.grad(config.value_coef * last["mean"].sum(), body, retain_graph=True)
        g_value = torch.cat([g.flatten(1) for g in of_value], 1)
        both = gradient(loss, parameters)
        g_policy = both[:, : g_value.shape[1]] - g_value  # with the entropy's part
        cosine = torch.cosine_similarity(g_policy, g_value, dim=1)
        notes.append(torch.stack([g_policy.norm(dim=1), g_value.norm(dim=1), cosine, both.norm(dim=1)]))
        return both

    with planted(mean=noting_mean, gradient=noting_gradient):
        run = train(config, tricks)
    return run, torch.stack(notes)


config = Config("CartPole-v1", seeds=10, steps=40_000, lr=0.003)
shared_normed = named("shared_trunk")
shared = replace(shared_normed, return_norm=False)
runs, heard = {}, {}
for name, tricks in (("shared_trunk", shared), ("with return_norm", shared_normed)):
    runs[name], heard[name] = train_listening(config, tricks)

# %% tags=["thumbnail", "hide-input"]
figure, axes = plt.subplots(1, 2, figsize=(7, 2.8), sharey=True)
for axis, (name, notes) in zip(axes, heard.items(), strict=True):
    of_value = COLOR if name == "shared_trunk" else NORMED
    for row, color, label in ((0, style.INK, "policy"), (1, of_value, "c₁ · value")):
        by_update = notes[:, row].unflatten(0, (-1, 16)).median(1).values[:-1]  # 16 gradient steps per update
        axis.semilogy(by_update, color=color, lw=0.7, alpha=0.3)
        axis.semilogy(by_update.median(1).values, color=color, label=label)
    axis.set(xlabel="update", title=name, xlim=(0, len(by_update) - 1))
for axis in axes:  # whose scale is known only now
    label_lines(axis)
axes[0].set_ylabel("norm of the gradient\non the body")
plt.show()

ratio, left = {}, {}
for name, notes in heard.items():
    of_policy, of_value, _, whole = notes[len(notes) // 2 :].unbind(1)  # the second half of the training
    ratio[name] = (of_value / of_policy).nanmedian().item()  # 0/0 where both are gone
    factor = (config.max_grad_norm / whole.clamp(min=1e-12)).clamp(max=1)
    left[name] = [(factor * part).median().item() for part in (of_policy, of_value)]
caption(
    f"In the second half of training, the value's gradient is {ratio['shared_trunk']:.0f} times as long as the "
    f"policy's; with return_norm, {ratio['with return_norm']:.1f} times. Thin lines are ten agents, thick ones their "
    "median."
)
assert ratio["shared_trunk"] > 50 and ratio["with return_norm"] < 0.5
assert left["shared_trunk"][0] < 0.01 and 0.4 < left["shared_trunk"][1] < 0.5 and left["with return_norm"][0] > 0.1

# %% [markdown]
# On the left, the value's pull on the body grows with the returns. On the right, where targets are around 1, it stays
# below the policy's.
#
# **The value loss also uses up the gradient norm.** `grad_clip` scales the whole gradient down to a norm of ½. On the
# left, that leaves the policy less than 0.01.
#
# **Doesn't Adam undo that?** Adam divides each weight's gradient by its usual size $\sqrt v$, so a factor on the whole
# gradient [cancels](a6_separate_optimizers.ipynb). But in a shared body there is one $\sqrt v$ for both losses, and the
# larger one sets it. **The body is where the scales of the losses always meet.**

# %% [markdown]
# ## Is it the sharing, or the scale?
#
# Three more arms, at the same learning rate: separate nets, $c_1$ a hundred times smaller, and no limit on the gradient
# norm.

# %%
runs["separate nets"] = train(config, replace(PPO, return_norm=False))
runs["c₁ = 0.005"] = train(replace(config, value_coef=0.005), shared)
runs["without grad_clip"] = train(config, replace(shared, grad_clip=False))

# %% tags=["hide-input"]
NAMES = {"separate nets": "separate nets", "shared_trunk": "shared_trunk"}
order = ("separate nets", "with return_norm", "c₁ = 0.005", "shared_trunk", "without grad_clip")
figure, axis = plt.subplots(figsize=(6.5, 3))
curves({NAMES.get(name, f"shared, {name}"): runs[name] for name in order}, axis)
plt.show()

end = {name: runs[name].late().mean() for name in order}
assert max(end["shared_trunk"], end["without grad_clip"]) < 0.5 * min(end["separate nets"], end["with return_norm"])
assert end["c₁ = 0.005"] > 0.9 * end["separate nets"] and end["without grad_clip"] < end["shared_trunk"]

# %% [markdown]
# It's the scale. Standardized returns close the gap between one trunk and two nets, and so does a small $c_1$. Taking
# the limit off the norm doesn't help.
#
# ## On more tasks
#
# So sharing should hurt where returns are large, as on CartPole and Acrobot, and less with `return_norm` in both arms.
# On these two, the stored runs start from `ppo`, and once more from `ppo` without `return_norm`. In pixels and in
# MiniGrid's small rooms, whose returns lie between 0 and 1, they start from `cleanrl`, which has raw returns.

# %% tags=["hide-input"]
evidence("shared_trunk").strip()
plt.show()

# %% tags=["hide-input"]
seen = evidence("shared_trunk").table.set_index(["env", "question"])
bases = ("ppo without return_norm", "ppo", "cleanrl")
raw, normed, older = (seen.xs(f"on top of {base}", level="question") for base in bases)
assert raw.difference.round(1).to_dict() == {"CartPole-v1": -0.5, "Acrobot-v1": -0.7}
assert set(raw.verdict) == {"hurts"} and set(normed.verdict) == {"practically nothing"}
assert (raw.confirmed == 1).all() and (normed.confirmed == 1).all()
games = {
    study.env: {arm.name: area(study.grid(arm.tricks)).mean() for arm in study.designs[0].arms} for study in beyond()
}
score = games["tricks/BricksByRow-v0"]
assert older.verdict["tricks/Bricks-v0"] == "hurts" and older.difference["tricks/Bricks-v0"] > -0.1
assert older.verdict["tricks/Squadron-v0"] == "practically nothing"
assert older.verdict["tricks/Treasure-v0"] == "cannot tell here: no arm learned much"
assert older.verdict["tricks/BricksByRow-v0"] == "hurts" and score["+ shared_trunk"] < 0.35 * score["cleanrl"]

# %% [markdown]
# It does: on raw returns, it costs about half of the way from a random policy to the ceiling on CartPole, and almost
# three quarters on Acrobot. With `return_norm`, it costs practically nothing. Other seeds confirmed all four. In four
# games seen as pixels, all arms run at the rate 0.01, chosen for `cleanrl` alone. Sharing helps in none of them, and
# seen once, hurts in two: in `BricksByRow`, where a brick pays up to 100, it costs two thirds of the little that is
# scored there.

# %% tags=["hide-input"]
evidence("shared_trunk")

# %% [markdown]
# ## When do two heads need the same features?
#
# Sharing pays if both have to see the same thing, *and* seeing it is hard. Back to the line, with a harder policy: four
# stripes, alternating left and right. The returns follow the same stripes, or the hill from above.

# %% tags=["hide-input"]
wave = torch.sin(6 * place)  # changes its sign three times
score = {}
for name, returns, one_body in (
    ("separate bodies", 10 * wave, False),
    ("shared, returns follow the stripes", 10 * wave, True),
    ("shared, the same, three times as large", 30 * wave, True),
    ("shared, returns are the hill", 10 * hill, True),
):
    score[name] = train_both(returns, wave.sign(), one_body, steps=500)[0][-1]
print("\n".join(f"{name:39} right in {share:.0%} of the places" for name, share in score.items()))
helped = score.pop("shared, returns follow the stripes")
assert helped > 0.1 + max(score.values())

# %% [markdown]
# The value head has to tell the stripes apart, and with its features the policy gets all places right. If the returns
# are larger, or have another shape, the gain is gone.
#
# CartPole is that last case: $V$ is the same in mirror images, while the policy has to choose opposite actions. On
# images, both need to find the ball: that's the argument for one trunk.
#
# If you do share, bring returns to a size around 1, keep the limit on the gradient norm, and tune $c_1$.

# %% [markdown]
# ## At a glance
#
# | | |
# |---|---|
# | **problem** | policy and value each learn to see from scratch |
# | **formula** | $\nabla_\phi L = \nabla_\phi L_\pi + c_1 \nabla_\phi L_V$ for the shared weights $\phi$ |
# | **in the loop** | `share_trunk_(agent)` <br> `value = t.agent.value(features if rows is b else rows.obs)` |
# | **defaults** | off; the preset `atari` turns it on. $c_1$ = `value_coef` = 0.5 |
# | **watch** | `value_loss` and `grad_norm`: if they grow with the returns, the value loss owns the trunk |
# | **skip it when** | two nets are affordable: it never helped our scores, and it hurts when returns are large |
# | **evidence** | Hurts on top of ppo without return_norm in CartPole, Acrobot; on top of cleanrl (at one rate; once) in Bricks, BricksByRow. Practically nothing on top of ppo in CartPole, Acrobot; on top of cleanrl (at one rate) in Squadron. In 7 of 12 environments, these runs can't tell. |
# | **also called** | shared network, backbone, or torso |

# %% [markdown]
# ## Exercises
#
# **Exercise 1: write it.** Given each agent's gradients $g_\pi$ and $g_V$ on the body: after clipping, how long is the
# policy's part, and how long is the value's, with its $c_1$? Pretend that the body is all there is.


# %%
def my_parts(g_policy, g_value, value_coef, max_norm):  # two [S, P] -> two lengths [S]
    ...


check_parts(my_parts)

# %% [markdown]
# <details><summary>Hint</summary>
#
# There is only one gradient, the sum, and so only one factor. Compute the factor first.
#
# </details>
#
# **Exercise 2: spot the bug.** Somebody reads "the value net takes the body of the policy net" and writes this.

# %%
source(share_body_)

# %% [markdown]
# At the start, both nets get the same features. And it learns well:

# %%
with planted(share_trunk_=share_body_):
    runs["this version"] = train(config, shared)

# %% tags=["hide-input"]
figure, axis = plt.subplots(figsize=(6.5, 2.6))
curves({name: runs[name] for name in ("separate nets", "this version", "shared_trunk")}, axis)
plt.show()
assert runs["this version"].late().mean() > 1.05 * runs["shared_trunk"].late().mean()

# %% [markdown]
# It beats the library's version. What is wrong, why doesn't the first forward pass show it, and which number would have
# told you before any training?
#
# <details><summary>Hint</summary>
#
# Count the weights: `sum(p.numel() for p in agent.parameters())`.
#
# </details>
#
# <details><summary>Answer</summary>
#
# `deepcopy` makes a second body with equal weights, so the first forward pass agrees. From the first gradient step on,
# each copy hears its own loss. Real sharing removes a whole body, and almost half of the weights; this version removes
# nothing.
#
# </details>

# %% tags=["hide-input"]
torch.manual_seed(0)
states = (2 * torch.rand(1, 1000, 4) - 1) * torch.tensor([1.0, 1.0, 0.2, 1.0])  # position, speed, angle, its speed
for name in ("separate nets", "this version", "shared_trunk"):
    agent = runs[name].agent[0]
    policy_body, value_body = agent.policy_net.body, agent.value_net.body
    apart = (policy_body(states) - value_body(states)).abs().max()
    weights = sum(parameter.numel() for parameter in agent.parameters())
    assert (weights < 5000, apart == 0) == (name == "shared_trunk",) * 2

# %% [markdown]
# **Exercise 3: think.** Let the value head read the policy's features, but stop its gradient there
# (`features.detach()`). (a) Does $c_1$ still matter to the body? (b) What can the value head still learn, and what
# can't it? Which diagnostic shows that? (c) What has become of the reason for sharing?
#
# <details><summary>Answer</summary>
#
# (a) Hardly. Only the clipped norm still covers both, and Adam mostly undoes that. (b) Whatever is linear in features
# that the policy happens to have. `explained_variance` shows it. (c) You still save half the work, but the value loss
# teaches the body nothing. Cobbe et al. (2020) train one net like this between phases in which the value's gradient
# *is* let through. That's the next chapter.
#
# </details>
#
# Solutions: [`solutions/17_shared_trunk.py`](solutions/17_shared_trunk.py). Next: [Phasic Policy
# Gradient](18_ppg.ipynb), where the two losses take turns.

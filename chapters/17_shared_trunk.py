# %% [markdown]
# # A shared trunk: one body, two heads
#
# *Policy and value look at the same states. Why should each of them learn to see on its own?*
#
# Since the chapter on the baseline there have been two nets: one says what to do, the other how well it will go. Both
# get the same observation, and both must first find out what matters in it. It seems a waste. Let them share the
# layers that look, the *body* or *trunk*, and give each only a last layer of its own, its *head*.
#
# It is half the work, and on images it is what one usually does. On CartPole it can cost a good part of the score.
# This chapter is about what the two heads do to each other.

# %%
from dataclasses import replace

import matplotlib.pyplot as plt
import torch

from ablations import style
from book import begin, curves, evidence, label_lines, planted
from exercises.shared_trunk import check_parts, share_body_
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

# %% [markdown]
# ## What a second pair of eyes costs
#
# Here are the two bodies of this library: two layers of 64 for CartPole's four numbers, and for Atari's images (four
# frames of 84 × 84 pixels) the three convolutions and the layer of 512 that Mnih et al. chose in 2015. A weight of a
# dense layer is used in one multiplication for each observation; a convolution's weight in one at each place that its
# filter visits.


# %%
def count(name, body, places, actions):
    """Print what a body and both heads cost, in parameters and in multiplications for one observation."""
    parameters = sum(weight.numel() + bias.numel() for weight, bias in body.layers)
    work = sum(weight.numel() * visited for (weight, _), visited in zip(body.layers, places, strict=True))
    heads, head_work = (body.width + 1) * (actions + 1), body.width * (actions + 1)  # A logits and one value
    apart, shared = 2 * work + head_work, work + head_work
    print(f"{name:8} parameters: body {parameters:9,}, both heads {heads:5,}; multiplications: body {work:9,}")
    print(f"{'':8} multiplications with a shared body: {shared:,} instead of {apart:,}, {shared / apart:.1%}")


none = [stream(0, "init")]
count("CartPole", Dense(none, (4, 64, 64)), (1, 1), actions=2)
count("Breakout", Nature(none, (4, 84, 84)), (20 * 20, 9 * 9, 7 * 7, 1), actions=4)

passes = {bodies: 1 + 1 + 1 + 4 * 3 * bodies for bodies in (2, 1)}
print(f"passes through a body for each row of experience: {passes[2]} with two bodies, {passes[1]} with one")
assert passes == {2: 27, 1: 15}

# %% [markdown]
# The heads are next to nothing; nearly all of the net is body. What is saved in a whole update is a little less than
# half, because not everything is asked twice: a row is passed through a body once to act, once for $V(s)$ and once
# for $\log\pi_{old}$, with or without sharing. Then come 4 epochs, in each of which both nets are run and
# differentiated, which costs about three passes. The last line counts them.
#
# And there is a better reason than cost. What one head has learned to see, the other finds already there. On images,
# where learning to see is most of the task, that is worth a lot.
#
# ## The failure, on a line
#
# The states are 64 places $x$ from −1 to 1. The right action is to go right on the left half and left on the right
# half; there is hardly an easier policy. The advantage of an action is $\pm 1$, known exactly, so nothing is noisy.
# The value head learns the return, which is $c\,(1 - x^2/2)$. With $c = 100$ it looks like CartPole: a hundred in the
# middle, less to either side. Three agents for each $c$, with 300 steps of Adam on both losses at once.


# %%
AGENTS, HIDDEN = 3, (1, 32, 32)
x = torch.linspace(-1, 1, 64).view(1, -1, 1).expand(AGENTS, -1, -1).contiguous()
place, everywhere = x.squeeze(-1), torch.ones(AGENTS, dtype=torch.bool)


def train_both(returns, best, shared, value_coef=0.5, steps=300):
    """The share of places with the right action, step by step, and the features of the policy's body at the end."""
    draws = [stream(seed, "init") for seed in range(AGENTS)]
    body = Dense(draws, HIDDEN)
    policy = Net(body, Head(draws, body.width, 1))
    value = Net(body if shared else Dense(draws, HIDDEN), Head(draws, body.width, 1))
    parameters = list(torch.nn.ModuleList([policy, value]).parameters())  # a shared body is listed once
    optimizer, right = Adam(parameters, eps=1e-5), []
    for _ in range(steps):
        chance = policy(x).squeeze(-1).sigmoid()  # of the action whose advantage is `best`; the other's is −best
        policy_loss = -((2 * chance - 1) * best).mean(1)
        value_loss = squared_error(value(x).squeeze(-1), returns).mean(1)
        both = gradient(policy_loss + value_coef * value_loss, parameters)
        optimizer.step(both, torch.full((AGENTS,), 0.003), everywhere)
        right.append(((chance > 0.5) == (best > 0)).float().mean().item())
    return right, body(x).detach()


hill, toward_middle = 1 - place**2 / 2, -place.sign()
apart = train_both(100 * hill, toward_middle, shared=False)
together = {c: train_both(c * hill, toward_middle, shared=True) for c in (1, 10, 100)}

# %%
figure, axis = plt.subplots(figsize=(6.5, 2.6))
axis.plot(apart[0], color=style.SOFT, ls="--", label="separate, c = 100")
for (c, (right, _)), alpha in zip(together.items(), (0.35, 0.65, 1), strict=True):
    axis.plot(right, color=COLOR, alpha=alpha, label=f"shared, c = {c}")
axis.set(xlabel="gradient step", ylabel="share of places\nwith the right action", xlim=(0, 300), ylim=(0.4, 1.03))
label_lines(axis)
plt.show()
assert apart[0][-1] > 0.95 and together[1][0][-1] > 0.95 and together[100][0][-1] < 0.6

# %% [markdown]
# With two bodies, or with small returns, the policy is learned within a few steps and stays. With one body and
# returns of a hundred it starts just as well, and then what it had learned is pulled from under it: after 30 steps it
# guesses, and it never recovers. The policy's task has not changed, nor has its loss. Look at what its head gets to
# see: the 32 features that the body of the first agent makes of each place, after the 300 steps.

# %%
figure, axes = plt.subplots(1, 3, figsize=(6.5, 2.5), sharey=True)
shown = {"separate": apart[1], "shared, c = 1": together[1][1], "shared, c = 100": together[100][1]}
spread = {}
for axis, (name, features) in zip(axes, shown.items(), strict=True):
    axis.plot(place[0], features[0], color=style.SOFT if name == "separate" else COLOR, lw=0.8, alpha=0.7)
    axis.set(title=name, xlabel="place x", ylim=(-1.08, 1.08))
    spread[name] = features.std(1).mean().item()
axes[0].set_ylabel("features h(x)")
plt.show()
print("mean spread of a feature over the places:", ", ".join(f"{name} {s:.4f}" for name, s in spread.items()))
assert spread["separate"] > 0.5 and spread["shared, c = 100"] < 0.01

# %% [markdown]
# On the right every feature is stuck at $-1$ or $+1$, wherever you stand. To this body all places are the same, and
# no head can tell left from right any more.
#
# ## The joint loss and its one gradient
#
# Write $\phi$ for the weights of the body, and $h_\phi(s)$ for the features that it makes of a state. The heads are
# linear: logits $= U h + d$ and $V = w \cdot h + b$. One loss trains it all, which is the one in Mnih et al. (2016,
# arXiv:1602.01783) and in PPO:
#
# $$L = \underbrace{-\,\text{objective} - c_2\, \text{entropy}}_{L_\pi}
#   \;+\; c_1 \underbrace{\tfrac12\, \mathbb{E}\big[(V(s) - G)^2\big]}_{L_V}.$$
#
# A gradient is linear, so each part of the net gets
#
# $$\nabla_U L = \nabla_U L_\pi, \qquad
#   \nabla_w L = c_1 \nabla_w L_V, \qquad
#   \nabla_\phi L = \underbrace{\nabla_\phi L_\pi}_{g_\pi} + \;c_1 \underbrace{\nabla_\phi L_V}_{g_V}.$$
#
# Each head hears one loss. The body hears a sum, and follows the longer of the two vectors. How long are they? By the
# chain rule, all that reaches the body comes through the features. For one state, where $a$ was taken with advantage
# $A$ (and the ratio is still 1),
#
# $$\frac{\partial L_\pi}{\partial h} = -A\, \nabla_h \log \pi(a|s),
#   \qquad\qquad
#   c_1 \frac{\partial L_V}{\partial h} = c_1\, (V - G)\, w.$$
#
# Compare them:
#
# - **Size.** On the left, advantages are standardized, so $A$ is about 1, and a score for the logits is never longer
#   than $\sqrt 2$. On the right, $V - G$ is in units of reward, and while the value is still wrong, that is up to 100
#   on CartPole.
# - **Direction.** $A$ has mean 0: $g_\pi$ pushes a feature up in some states and down in others, and partly cancels.
#   But if $V$ is far below *all* returns, $V - G$ is negative everywhere. Then feature $j$ is pushed toward the sign
#   of $w_j$ **in every state**, until its tanh can go no further. That was the picture on the right.
#
# Why does the head not settle it alone, with its bias $b$? It does, in the end. But Adam moves a number by about the
# learning rate a step, and at 0.003 it takes a bias some thirty thousand steps to get to 100. But 64 features at
# $\pm 1$, each with a $w_j$ that grows by 0.003 a step, get there in about 500.
#
# ## Check it with numbers
#
# A body with a single feature, $h = ½$. The policy head has the weights $(-1, 1)$, so the logits are $(-½, ½)$ and
# $\pi(\text{right}) = 1/(1 + e^{-1}) = 0.731$. The value head has $w = 2$, so $V = 1$. The agent went right, with
# $A = 1$, and the return was $G = 100$; $c_1 = ½$.
#
# The log-probability of right rises with the difference of the logits, $2h$, at the rate $1 - \pi$. So
# $\partial L_\pi / \partial h = -1 \cdot 2 \cdot (1 - 0.731) = -0.538$. And
# $c_1\, \partial L_V/\partial h = ½ \cdot (1 - 100) \cdot 2 = -99$. The value's part is 184 times as long.
#
# With returns of mean 60 and standard deviation 30, `return_norm` makes a target of $(100 - 60)/30 = 1.33$ of $G$.
# Then the value's part is $½ \cdot (1 - 1.33) \cdot 2 = -0.333$.

# %%
policy_head, value_head = Head(none, 1, 2), Head(none, 1, 1)
for head, weights in ((policy_head, [[-1.0, 1.0]]), (value_head, [[2.0]])):
    head.weight.data = torch.tensor([weights])
    head.bias.data.zero_()

h = torch.full((1, 1, 1), 0.5, requires_grad=True)  # [S, B, features]
logits, value = policy_head(h), value_head(h)[..., 0]
policy_loss = -1.0 * logits.log_softmax(-1)[..., 1].sum(1)
raw, normed = (0.5 * squared_error(value, torch.tensor([[target]])).sum(1) for target in (100.0, 40 / 30))

g_policy, g_value, g_both = (
    torch.autograd.grad(loss, h, retain_graph=True)[0].item() for loss in (policy_loss, raw, policy_loss + raw)
)
(g_normed,) = torch.autograd.grad(normed, h)
print(f"policy {g_policy:.3f}, value {g_value:.3f}, both {g_both:.3f}; value with return_norm {g_normed.item():.3f}")
torch.testing.assert_close(
    torch.tensor([g_policy, g_value, g_both]), torch.tensor([-0.538, -99, -99.538]), atol=1e-3, rtol=0
)
assert abs(g_normed.item() + 1 / 3) < 1e-5 and round(g_value / g_policy) == 184

# %% [markdown]
# ## In the library

# %%
source(share_trunk_, Agent.see)

# %% [markdown]
# `share_trunk_` puts the same object into both nets. There is then one set of weights; `agent.parameters()` lists it
# once, and backward passes through either head arrive at it. For each minibatch the loop calls `agent.see` once and
# hands the result to the policy and to the value net. A head that reads the same body uses its features and does not
# compute them again; a value net with a body of its own starts from the observations. So the loop itself stays the same:

# %%
diff(PPO, named("shared_trunk"))

# %% [markdown]
# ## The two gradients of a real run
#
# Now CartPole. In every gradient step we take the value's gradient on the body apart from the rest. `planted` lets us
# listen at two places of the loop: at `mean`, whose last use before a gradient step is the value loss, and at
# `gradient`. The run itself is not changed.


# %%
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


config = Config(seeds=5, steps=20_000, lr=0.003)
shared = named("shared_trunk")
shared_normed = replace(shared, return_norm=True)
runs, heard = {}, {}
for name, tricks in (("shared_trunk", shared), ("with return_norm", shared_normed)):
    runs[name], heard[name] = train_listening(config, tricks)

# %% tags=["thumbnail"]
figure, axes = plt.subplots(1, 2, figsize=(7, 2.8), sharey=True)
for axis, (name, notes) in zip(axes, heard.items(), strict=True):
    of_value = COLOR if name == "shared_trunk" else NORMED
    for row, color, label in ((0, style.INK, "policy"), (1, of_value, "c₁ · value")):
        by_update = notes[:, row].unflatten(0, (-1, 16)).median(1).values  # 16 gradient steps an update
        axis.semilogy(by_update, color=color, lw=0.7, alpha=0.35)
        axis.semilogy(by_update.median(1).values, color=color, label=label)
    axis.set(xlabel="update", title=name, xlim=(0, len(by_update) - 1))
    label_lines(axis)
axes[0].set_ylabel("norm of the gradient\non the body")
plt.show()

ratio = {}
for name, notes in heard.items():
    late = notes[len(notes) // 2 :]  # the second half of the training
    ratio[name] = (late[:, 1] / late[:, 0]).median().item()
    print(f"{name}: the value's gradient is {ratio[name]:.1f} times the policy's; cosine {late[:, 2].median():+.2f}")
assert ratio["shared_trunk"] > 5 and ratio["with return_norm"] < 2

# %% [markdown]
# A thin line is one of five agents, a thick one their median; each point is the median of an update's 16 gradient
# steps. On the left, the value's pull on the body grows with the returns, as the episodes get longer, and leaves the
# policy's far below it. On the right the targets have size 1, and the two are of one order. The cosines are near 0 in
# both: the two losses are not at odds, they just want different things. The body goes where the longer one points.
#
# **The limit on the norm is spent by the value.** `grad_clip` shortens the whole gradient to ½. Here is what is left
# of each part on the body:

# %%
for name, notes in heard.items():
    of_policy, of_value, _, whole = notes[len(notes) // 2 :].unbind(1)
    factor = (config.max_grad_norm / whole.clamp(min=1e-12)).clamp(max=1)
    left = [(factor * part).median().item() for part in (of_policy, of_value)]
    print(f"{name}: after clipping, policy {left[0]:.3f} and value {left[1]:.3f}, of {config.max_grad_norm} in all")
    assert left[0] < 0.05 < left[1] if name == "shared_trunk" else left[0] > 0.05

# %% [markdown]
# **Does Adam not undo that?** It divides each weight's gradient by that weight's usual size $\sqrt v$. So a factor
# for the whole gradient cancels, as in the chapter on gradient clipping: each head, which hears only one loss, moves
# at its usual speed whatever the other loss is. With two bodies the same is true of every weight, and the sizes of
# the two losses, and $c_1$ with them, hardly matter. In a shared body there is one $\sqrt v$ for both, and it is the
# size of the larger. **The body is the one place where the scales of the losses meet.** Only there does $c_1$ decide
# who is heard.
#
# And do the features lose their spread, as they did on the line? We ask the bodies for the features of a thousand
# states, drawn evenly around the upright pole. For comparison, PPO with its separate nets.

# %%
runs["ppo"] = train(config, PPO)
torch.manual_seed(0)
states = (2 * torch.rand(1, 1000, 4) - 1) * torch.tensor([1.0, 1.0, 0.2, 1.0])  # position, speed, angle, its speed
states = states.expand(5, -1, -1).contiguous()

offset = {}
for name in ("ppo", "shared_trunk", "with return_norm"):
    features = runs[name].agent.policy_net.body(states).detach()
    offset[name] = features.mean(1).abs().mean().item()
    print(f"{name:17} offset of a feature {offset[name]:.2f}, its spread {features.std(1).mean():.2f}")
assert offset["shared_trunk"] > 1.5 * max(offset["ppo"], offset["with return_norm"])

# %% [markdown]
# (The offset is the size of a feature's mean over the states.) A policy's features lie around zero and take sides:
# the mirror image of a state asks for the other action. Those of the shared body have moved off toward their limits,
# to hold up a large $V$, and vary less. With `return_norm` they have no reason to.
#
# ## A small run
#
# The runs above, and two more: $c_1$ a hundred times smaller, and no limit on the norm. Five agents each; one
# learning rate for all, so that nothing but the trunk and its cures differ.

# %%
runs["c₁ = 0.005"] = train(replace(config, value_coef=0.005), shared)
runs["without grad_clip"] = train(config, replace(shared, grad_clip=False))

figure, axis = plt.subplots(figsize=(6.5, 3))
names = {"ppo": "separate nets", "shared_trunk": "shared_trunk"}
order = ("ppo", "with return_norm", "c₁ = 0.005", "shared_trunk", "without grad_clip")
curves({names.get(name, f"shared, {name}"): runs[name] for name in order}, axis)
plt.show()
for name in order:
    print(f"{names.get(name, f'shared, {name}'):25} return at the end {runs[name].late().mean():.0f}")

end = {name: runs[name].late().mean() for name in order}
assert 1.5 * end["without grad_clip"] < end["shared_trunk"] < 0.95 * min(end["ppo"], end["with return_norm"])

# %% [markdown]
# With five seeds the bands are wide, and most of them overlap; only the lowest line stands clear. But the order of
# the means is the one that the two gradients let you expect. What hurts is not that there is one body, but that the
# value shouts: with standardized returns the shared body is, in this small run, back among the separate nets. A small
# $c_1$ does part of that; it makes the value's gradient shorter, but what the value wants of the features is still a hundred. And
# without the limit on the norm it is worst. One explanation is the glue of the chapter on gradient clipping: a few
# very long gradients of the value set $\sqrt v$, and whatever the policy says in between is divided by it.
#
# ## What the stored runs say
#
# Every arm at its own learning rate. What would the mechanism predict? Harm where returns are large numbers: on
# CartPole, where a discounted return is up to 100, and on Acrobot, where it is down to −100. In the MiniGrid worlds
# returns lie between 0 and 1, so the value cannot shout, and there is more to see. Nor can it where `return_norm` is on
# in both arms.

# %%
stored = evidence("shared_trunk")
stored

# %%
stored.plot()
plt.show()

print(stored.summary())
for row in stored.table.itertuples():
    small = row.env.startswith("MiniGrid") or "return_norm" in row.question
    predicted = "no harm" if small else "harm"
    print(f"{row.env}, {row.question}: predicted {predicted}; seen: {row.verdict} ({row.difference:+.3f})")

# %% [markdown]
# A published comparison on such control tasks with small nets had separate nets far ahead, too: about 490 against 275
# on CartPole, −85 against −380 on Acrobot. `return_norm` makes the harm smaller, and need not end it: the value's
# gradient is then of the size of the policy's, and not nothing.
#
# **What it does not say:** whether sharing would help where it is usual, on pixels. The MiniGrid agents see a few
# numbers for each of the cells in front of them, through dense layers; none of these bodies is a convolutional one.
#
# ## When it helps, and when it does not
#
# Sharing pays when what the value must see is what the policy must see, *and* seeing is the hard part. Back to the
# line, with a policy that is harder to see: four stripes, left and right in turn. Let the returns follow the same
# stripes, or else the hill from above.

# %%
wave = torch.sin(6 * place)  # changes its sign three times
score = {}
for name, returns, one_body in (
    ("separate bodies", 10 * wave, False),
    ("shared, the returns follow the stripes", 10 * wave, True),
    ("shared, so they do, three times as large", 30 * wave, True),
    ("shared, the returns are the hill", 10 * hill, True),
):
    score[name] = train_both(returns, wave.sign(), one_body, steps=500)[0][-1]
print("\n".join(f"{name:42} right in {share:.0%} of the places" for name, share in score.items()))
assert score["shared, the returns follow the stripes"] > 0.1 + max(v for n, v in score.items() if "follow" not in n)

# %% [markdown]
# On its own the policy finds two of the three borders. In the stripe that is left it is sure of the wrong action, and
# with a probability near 0 or 1 its gradient has vanished. The value head does not stop there: it must tell the
# stripes apart, the features that it needs are the policy's, too, and so all places come right. But only at this
# weight: with returns three times as large, the value's gradient drowns the policy's once more, and the help is lost.
# And when the returns have another shape, there is nothing to share.
#
# On CartPole there is little to share. Tilted left and tilted right are equally good, so $V$ is the same in mirror
# images, while the policy must choose opposite actions. On images, both need to find the ball. That is why one trunk
# is usual on pixels and two nets are usual for small observations.
#
# Who shares should therefore
#
# - bring the returns to size 1, by `return_norm` or by scaling the rewards,
# - keep the limit on the norm, and look at `grad_norm` and `value_loss`,
# - treat $c_1$ as a number to be tuned, which it hardly is with separate nets.
#
# There is also a way to have both: train two nets, and now and then teach the policy net what the value net knows, at
# a time when its policy is held fast. That is the next chapter.
#
# ## Exercises
#
# **Exercise 1: write it.** From the gradients $g_\pi$ and $g_V$ of each agent: how long is the policy's part of the
# clipped gradient, and how long is $c_1$ times the value's? Take the body to be all there is.


# %%
def my_parts(g_policy, g_value, value_coef, max_norm):  # gradients [S, P] -> two lengths [S]
    ...


check_parts(my_parts)

# %% [markdown]
# **Exercise 2: spot the bug.** Somebody reads "the value net takes the body of the policy net" and writes this.

# %%
source(share_body_)

# %% [markdown]
# At the start both nets get the same features, to the last bit. And look how it learns:

# %%
with planted(share_trunk_=share_body_):
    runs["this version"] = train(config, shared)

names["this version"] = "this version"
figure, axis = plt.subplots(figsize=(6.5, 2.6))
curves({names[name]: runs[name] for name in ("ppo", "this version", "shared_trunk")}, axis)
plt.show()
assert runs["this version"].late().mean() > 1.05 * runs["shared_trunk"].late().mean()

for name in ("ppo", "this version", "shared_trunk"):
    agent = runs[name].agent[0]
    difference = (agent.policy_net.body(states[:1]) - agent.value_net.body(states[:1])).abs().max().item()
    weights = sum(parameter.numel() for parameter in agent.parameters())
    print(f"{name:13} weights {weights:5,}; largest difference between the two nets' features {difference:.2f}")

# %% [markdown]
# On average it does better than the library's, so has the author found the cure? What is wrong, why is a look at the
# first forward pass not enough, and which number would have told you before any training?
#
# **Exercise 3: think.** Another version lets the value head read the policy's features, but stops its gradient there
# (`features.detach()`), so that the body hears the policy alone. (a) What are $c_1$ and the limit on the norm now
# worth to the body, under Adam? (b) What can the value head still learn, and what can it not? Which diagnostic shows
# that? (c) What has become of the reason for sharing? (Cobbe et al., 2020, arXiv:2009.04416, train a single net in
# this manner between their auxiliary phases.)
#
# Solutions: [`solutions/17_shared_trunk.py`](solutions/17_shared_trunk.py). Next:
# [Phasic Policy Gradient](18_ppg.ipynb), which lets the two take turns.

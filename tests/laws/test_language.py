"""The tricks of language models: the KL's estimators, the losses of public code, and a reference that is kept."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
import torch
from support import trl_losses
from support.fixtures import Capture, Patch, refusal
from support.probes import register
from support.recording import Recording, differences
from support.restless import Restless
from support.settings import SMALL
from support.training import interrupted, same, spied
from torch import Tensor

import tricks.loop as loop
from tricks import Config, InputError, Tricks, diff, export, listing, one_agent, resume, train
from tricks.config import LANGUAGE_CONFIGS
from tricks.fast.dispatch import plain
from tricks.fast.formulas import FORMULAS
from tricks.kl_penalty import estimated_kl
from tricks.ladder import DAPO, DR_GRPO, GRPO, GSPO, PPO, PRESETS, RLOO, named, switched


class Judged(Restless):
    """Replies of random length, right or wrong: only the end is paid, with 1 or 0."""

    def step(self, action: object) -> tuple[np.ndarray, float, bool, bool, dict]:
        obs, reward, terminated, truncated, info = super().step(action)
        return obs, float((terminated or truncated) and reward > 0), terminated, truncated, info


register("Judged-v0", Judged)
CONFIG = Config("Judged-v0", seeds=(3, 8), lanes=8, group=2, steps=150, horizon=7, hidden=(5, 4), gamma=1.0, lr=0.03)
CONFIG = replace(CONFIG, epochs=2, minibatches=1)
P, REFERENCE = torch.tensor([0.1, 2.0, -0.7, 0.4]).double(), torch.tensor([1.0, 0.3, 0.0, -0.5]).double()


def slope(value: Tensor, of: Tensor) -> Tensor:
    return torch.autograd.grad(value, of, retain_graph=True)[0]


def test_the_estimators_values_and_gradients_by_enumeration() -> None:
    """All expectations over the four actions of a softmax policy, against the exact KL of either direction."""
    logits = P.clone().requires_grad_()
    log_p, log_r = logits.log_softmax(0), REFERENCE.log_softmax(0)
    weight = log_p.detach().exp()  # how often each action is sampled, which autograd doesn't see
    kl, other = (log_p.exp() * (log_p - log_r)).sum(), (log_r.exp() * (log_r - log_p)).sum()
    exact, wrong_way = (slope(x, logits) for x in (kl, other))
    k = {name: estimated_kl(log_p, log_r, name) for name in ("k1", "k2", "k3")}
    mean = {name: (weight * each).sum() for name, each in k.items()}
    variance = {name: (weight * (each - mean[name]) ** 2).sum() for name, each in k.items()}
    assert mean["k1"].item() == pytest.approx(kl.item()) == mean["k3"].item()
    assert mean["k2"].item() == pytest.approx(0.5834, abs=1e-4) and kl.item() == pytest.approx(0.5846, abs=1e-4)
    assert variance["k1"] > 2 * variance["k3"] and k["k1"].min() < 0 and min(k["k2"].min(), k["k3"].min()) >= 0
    in_loss = {name: slope(x, logits) for name, x in mean.items()}
    torch.testing.assert_close(in_loss["k1"], torch.zeros(4).double())
    torch.testing.assert_close(in_loss["k2"], exact)
    torch.testing.assert_close(in_loss["k3"], wrong_way)
    log_p = logits.log_softmax(0)
    in_reward = {name: slope((weight * each.detach() * log_p).sum(), logits) for name, each in k.items()}
    torch.testing.assert_close(in_reward["k1"], exact)
    torch.testing.assert_close(in_reward["k3"], exact - wrong_way)


def test_the_penalty_in_the_reward_is_per_step_and_leaves_the_score() -> None:
    config = replace(CONFIG, kl_in="reward", kl_coef=(0.5, 2.0), steps=300)
    flags = switched(["kl_penalty"])
    seen = Recording(config, flags)
    for kind in ("k1", "k2", "k3"):
        for _, name, distance in differences(Recording(replace(config, kl_estimator=kind), flags)):
            assert distance < 1e-5, (kind, name)
    free = train(config, Tricks()).curve
    curve = seen.run.curve
    firsts = [x[x["update"] == 0].set_index("seed") for x in (curve, free)]
    assert firsts[0]["return"].equals(firsts[1]["return"]) and (firsts[0].reference_kl == 0).all()
    assert (curve[curve["update"] > 0].reference_kl > 0).all()
    assert curve["return"].dropna().between(0, 1).all()


def by_rows(agent: Any, k: int) -> list[Tensor]:
    """A copy in float64 of the k-th policy net's weights."""
    net = agent.policy_net
    return [p[k].detach().double().requires_grad_() for layer in net.layers for p in layer]


def log_probs(weights: list[Tensor], obs: Tensor, action: Tensor) -> Tensor:
    x = obs.double()
    for w, b in zip(weights[:-2:2], weights[1:-2:2], strict=True):
        x = (x @ w + b).tanh()
    return (x @ weights[-2] + weights[-1]).log_softmax(-1).gather(-1, action.unsqueeze(-1)).squeeze(-1)


def published(kind: str, new: Tensor, old: Tensor, ref: Tensor, mask: Tensor, reward: Tensor, config: Any) -> Tensor:
    """The losses as public trainers compute them, replies in rows: [N, T] each, reward [N]."""
    group = reward.view(-1, config.group)
    advantage = group - group.mean(1, keepdim=True)
    if kind != "dr_grpo":
        advantage = advantage / (group.std(1, keepdim=True) + 1e-4)
    advantage = advantage.view(-1, 1)
    log_ratio = new - old
    if kind == "gspo":
        log_ratio = ((log_ratio * mask).sum(1) / mask.sum(1)).unsqueeze(1).expand_as(mask)
    ratio, low = log_ratio.exp(), config.clip_range
    high = config.clip_high if kind in ("dapo", "gspo") else low
    loss = torch.maximum(-ratio * advantage, -ratio.clip(1 - low, 1 + high) * advantage)
    if kind == "grpo":
        loss = loss + config.kl_coef * ((ref - new).exp() - (ref - new) - 1)
    if kind == "dapo":
        mixed = (group.std(1, keepdim=True) > 0).expand_as(group).reshape(-1, 1)
        return (loss * mask * mixed).sum() / (mask * mixed).sum().clamp(min=1)
    if kind == "dr_grpo":
        return (loss * mask).sum() / (len(mask) * config.reply_divisor)
    return ((loss * mask).sum(1) / mask.sum(1)).mean()


@pytest.mark.parametrize("kind", ["grpo", "dr_grpo", "dapo", "gspo"])
def test_a_presets_loss_and_gradient_are_those_of_public_code(kind: str, monkeypatch: Patch) -> None:
    """In the second epoch, where ratios are no longer 1, some of them beyond their limits, in some groups no contrast.

    Dr. GRPO subtracts the mean of all G returns, so its loss is (G − 1)/G of that with the others' mean.
    """
    config = replace(CONFIG, **{n: getattr(LANGUAGE_CONFIGS[kind], n) for n in ("reply_divisor", "kl_coef")}, seeds=2)
    config = replace(config, clip_range=0.05, clip_high=0.06) if kind != "gspo" else replace(config, clip_range=0.01)
    seen = list[SimpleNamespace]()

    def watched(t: Any, b: Any, features: Any) -> Tensor:
        loss: Tensor = compiled.__wrapped__(t, b, features)
        layers = [p for layer in t.agent.policy_net.layers for p in layer]
        gradient = torch.autograd.grad(loss.sum(), layers, retain_graph=True)
        weights = [by_rows(t.agent, k) for k in range(2)]
        seen.append(SimpleNamespace(loss=loss.detach(), gradient=gradient, weights=weights, update=t.update[0]))
        return compiled.__wrapped__(t, b, features)

    compiled, rollouts = cast(Any, loop.policy_loss), spied(monkeypatch, loop, "judge", lambda t, rollout: rollout)
    monkeypatch.setattr(loop, "policy_loss", watched)
    with plain():
        train(config, PRESETS[kind])
    ties, scale = 0, (config.group - 1) / config.group if kind == "dr_grpo" else 1.0
    for old, new in zip(seen[::2], seen[1::2], strict=True):
        rollout = rollouts[old.update]
        for k in range(2):
            if not rollout.valid[k].any():  # the other seed has some budget left
                continue
            rows = rollout.obs[k, :-1].transpose(0, 1), rollout.action[k].T
            mask, reward = rollout.valid[k].T.double(), (rollout.reward[k] * rollout.valid[k]).sum(0)
            before, ref = (log_probs(s.weights[k], *rows).detach() for s in (old, seen[0]))
            loss = published(kind, log_probs(new.weights[k], *rows), before, ref, mask, reward, config)
            gradient = torch.autograd.grad(loss, new.weights[k])
            ties += int((reward.view(-1, 2).std(1) == 0).sum())
            torch.testing.assert_close(scale * new.loss[k].double(), loss.detach(), rtol=1e-4, atol=1e-6)
            for mine, theirs in zip(new.gradient, gradient, strict=True):
                torch.testing.assert_close(scale * mine[k].double(), theirs, rtol=1e-4, atol=1e-6)
    assert ties > 3 and len(seen) > 4


@pytest.mark.parametrize("kind", trl_losses.KINDS)
def test_these_losses_are_what_trl_computes_on_the_same_replies(kind: str) -> None:
    x, found = trl_losses.stored()
    numbers = {"clip_range": 0.2, "clip_high": 0.28} if kind != "gspo" else {"clip_range": 0.03, "clip_high": 0.04}
    numbers |= {"group": trl_losses.GROUP, "kl_coef": 0.04, "reply_divisor": trl_losses.LONGEST}
    new = x.pop("new").requires_grad_()
    loss = published(kind, new, **x, config=SimpleNamespace(**numbers))
    assert loss.item() == pytest.approx(found[kind]["loss"], rel=1e-12)
    np.testing.assert_allclose(slope(loss, new), found[kind]["slope"], rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("name", [*LANGUAGE_CONFIGS])
def test_presets_and_groups_without_contrast_equal_the_reference(name: str) -> None:
    chosen = {n: getattr(LANGUAGE_CONFIGS[name], n) for n in ("kl_in", "kl_estimator", "reply_divisor", "clip_range")}
    config = replace(SMALL, **chosen, env="Judged-v0", lanes=6, steps=200, adam_eps=1e-2)
    for flags in (PRESETS[name], replace(PRESETS[name], mixed_groups=True)):
        for where, quantity, distance in differences(Recording(config, flags)):
            assert distance < 1e-5, f"{quantity} ({where})"


def test_the_flags_of_each_preset() -> None:
    assert RLOO.on == ("group_baseline", "kl_penalty", "reply_mean")
    assert GRPO.on == ("reuse", "clip", "group_baseline", "group_norm", "kl_penalty", "reply_mean")
    assert DR_GRPO.on == ("reuse", "clip", "group_baseline", "reply_mean")
    assert DAPO.on == ("reuse", "clip", "group_baseline", "group_norm", "mixed_groups", "clip_higher")
    assert GSPO.on == ("reuse", "clip", "group_baseline", "group_norm", "clip_higher", "reply_mean", "reply_ratio")


def test_a_trick_that_excludes_a_part_of_ppo_is_named_without_it() -> None:
    kept = ("reuse", "clip", "orthogonal_init", "grad_clip", "entropy")
    assert named("group_norm").on == (*kept, "group_baseline", "group_norm")
    assert named("clip_higher").on == (*PPO.on, "clip_higher")
    refusal("group_baseline cannot be combined with baseline", named, "ppo+group_norm")


@pytest.mark.parametrize("place", ["loss", "reward"])
def test_a_resumed_run_has_the_same_reference(place: str, tmp_path: Path, monkeypatch: Patch) -> None:
    config = replace(CONFIG, env="CartPole-v1", steps=900, kl_in=place, kl_coef=1.0)
    flags = replace(GRPO, state_norm=True)
    whole = train(config, flags)
    assert whole.curve.reference_kl.iloc[-1] > 0
    interrupted(tmp_path, config, flags, 2, monkeypatch)
    same(resume(tmp_path), whole)


def test_the_reference_is_what_a_training_started_from(monkeypatch: Patch) -> None:
    flags = replace(GRPO, state_norm=True)
    begun = train(CONFIG, replace(flags, kl_penalty=False))
    trainings = spied(monkeypatch, loop, "judge", lambda t, rollout: t)
    run = train(replace(CONFIG, steps=300), flags, start=begun.agent)
    reference, agent = trainings[-1].reference, begun.agent
    assert all(torch.equal(x, agent.state_dict()[name]) for name, x in reference.state_dict().items())
    assert not any(p.requires_grad for p in reference.parameters())
    curve = run.curve[run.curve["update"] == 0]
    assert (curve.reference_kl == 0).all() and run.curve.reference_kl.iloc[-1] > 0


def test_compiled_losses_step_aside_for_what_they_do_not_know(capsys: Capture) -> None:
    found = FORMULAS["tricks.loop.policy_loss"]
    for name in ("clip_higher", "kl_penalty", "reply_mean", "reply_ratio"):
        assert not found.as_written(named(name).on), name
    for name in ("clip", "group_baseline", "group_norm", "mixed_groups"):
        assert found.as_written(named(name).on), name


def test_listings_have_them_and_files_to_take_home_refuse_them() -> None:
    text = listing(GSPO)
    for called in ("whole_replies(batch, config, t.update)", "ratio_of_reply(", "mean_of_replies(", "clipped_apart("):
        assert called in text
    assert "value_loss" not in text
    added = [line for line in diff(DR_GRPO, replace(DR_GRPO, group_norm=True)).splitlines() if line.startswith("+ ")]
    assert added == ["+    advantage = in_deviations(advantage, config.group)"]
    refusal(r"an export has no group_baseline, .*; python -m tricks listing prints", export, GRPO)
    with pytest.raises(InputError, match="one_agent has no group_baseline, group_norm, kl_penalty, reply_mean"):
        one_agent.train(one_agent.Config(), GRPO)

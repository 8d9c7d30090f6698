"""action_mask: probability 0, finite entropy and gradient, the same when acting and when learning."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from support.probes import Endless

from tricks import EVERY, Config, InputError, train
from tricks.action_mask import mask_logits
from tricks.cli.main import main
from tricks.core.policies import Categorical
from tricks.envs.make import make_env
from tricks.ladder import switched

LEGAL = torch.tensor([[[True, False, True, False]]])


class Silent(Endless):
    """Does not say which actions are legal."""

    def reset(self, **options: Any) -> tuple[np.ndarray, dict]:
        return super().reset(**options)[0], {}


def test_a_masked_action_has_probability_zero_and_the_rest_keeps_its_proportions() -> None:
    logits = torch.tensor([[[1.0, 99.0, 2.0, -5.0]]])
    p = mask_logits(logits, LEGAL).softmax(-1)
    assert p[~LEGAL].tolist() == [0, 0]
    torch.testing.assert_close(p[LEGAL], torch.tensor([1.0, 2.0]).softmax(-1))
    noise = torch.full((1, 1, 4), -9.0).masked_fill(~LEGAL, 1e6)
    assert LEGAL[0, 0, Categorical.sample(mask_logits(logits, LEGAL), noise)].all()


@pytest.mark.parametrize("legal", [LEGAL, torch.tensor([[[False, False, True, False]]])])
def test_entropy_and_gradient_stay_finite(legal: torch.Tensor) -> None:
    logits = torch.tensor([[[1.0, 50.0, 2.0, -1e3]]], requires_grad=True)
    masked = mask_logits(logits, legal)
    entropy = Categorical.entropy(masked)
    torch.testing.assert_close(entropy[0], Categorical.entropy(logits[legal].unsqueeze(0)))
    (gradient,) = torch.autograd.grad((entropy + Categorical.log_prob(masked, torch.tensor([[2]]))).sum(), logits)
    assert gradient.isfinite().all()
    assert gradient[~legal].abs().max() == 0


def test_masked_training_never_plays_an_illegal_action() -> None:
    config = Config(env="Forbidding-v0", seeds=2, steps=600, lanes=4, horizon=16)
    masked = train(config, switched(["action_mask", "reuse"]))
    assert (masked.curve["return"] == 0).all()  # the environment pays −1 for each illegal action
    assert masked.curve["max_ratio"].max() < 2
    assert (train(config, switched(["reuse"])).curve["return"] < 0).all()
    assert (masked.evaluate(5) == 0).all()
    only = np.array([[False, False, False, True]] * 64)
    assert (masked.agent[0].act(np.zeros((64, 1)), only, np.random.default_rng(0)) == 3).all()


def test_a_state_without_a_legal_action_is_an_error_that_names_it() -> None:
    with pytest.raises(InputError, match=r"DeadEnd-v0: the action mask leaves no legal action \(seed 0, step 3"):
        train(Config(env="DeadEnd-v0", seeds=1, steps=600, lanes=1), switched(["action_mask"]))


@pytest.mark.parametrize(
    ("id", "backend"),
    [("CartPole-v1", "tensor"), ("CartPole-v1", "gymnasium"), ("Endless-v0", "processes"), ("CartPole-v1", "envpool")],
)
def test_an_environment_without_masks_is_an_error_that_says_what_to_provide(id: str, backend: str) -> None:
    if backend == "envpool":
        pytest.importorskip("envpool")
    message = (
        rf'^action_mask needs info\["action_mask"\] from reset and step, .* 2 zeros and ones .*, and {id} gives none; '
        r"provide it, or leave the trick off with --no-action-mask \(action_mask=False\)$"
    )
    make = Silent if id == "Endless-v0" else None
    with pytest.raises(InputError, match=message):
        train(Config(id, backend=backend, seeds=2, lanes=2, steps=1), EVERY, env=make)


@pytest.mark.parametrize("backend", ["auto", "gymnasium", "processes"])
def test_an_environment_with_masks_trains_whatever_steps_it_and_box_actions_have_none(backend: str) -> None:
    config = Config("tricks/Trading-v0", backend=backend, seeds=1, lanes=2, steps=1, horizon=8, minibatches=1)
    assert len(train(config, EVERY).curve) == 1
    with pytest.raises(InputError, match=r"^action_mask rules out Discrete actions, and those of Pendulum-v1 are"):
        train(Config("Pendulum-v1", backend=backend, seeds=1, steps=1), switched(["action_mask"]))


def test_the_command_line_says_it_in_one_line(refuses: Callable[..., None]) -> None:
    refuses(main, ["train", "every", "--steps", "1"], "or leave the trick off with --no-action-mask")
    assert main(["train", "every", "--no-action-mask", "--seeds", "1", "--steps", "1"]) == 0


def test_a_lane_that_gives_no_mask_has_nothing_forbidden() -> None:
    env, forbidding = make_env(Config(env="ResetMask-v0", seeds=1, lanes=6)), 0
    for _ in range(30):
        resetting = env.now.resetting.clone()
        env.step(torch.zeros(1, 6, dtype=torch.int64), torch.ones(1) > 0)
        assert env.now.legal.any(-1).all()
        assert env.now.legal[~resetting].all()
        forbidding += int((~env.now.legal[resetting]).sum())
    assert forbidding > 0

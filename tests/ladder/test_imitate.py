"""imitate: demonstrations are played, REINFORCE becomes maximum likelihood, and the result is a start like any."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from support.fixtures import Patch, Refuses, refusal
from support.training import interrupted, same, spied

from tricks import Config, InputError, Tricks, loop, named, resume, switched, train
from tricks.cli.main import main
from tricks.core.rollout import Batch
from tricks.worlds import odds
from tricks.worlds.sums import END

IMITATE = Tricks(imitate=True)
SMALL = Config("tricks/Sums-v0", seeds=2, lanes=16, horizon=3, steps=300, hidden=(8,))


def test_the_gradient_is_that_of_the_cross_entropy_of_what_was_demonstrated(monkeypatch: Patch) -> None:
    judged = list[Batch]()
    judge = loop.judge
    monkeypatch.setattr(loop, "judge", lambda *given: judged.append(judge(*given)) or judged[-1])  # type: ignore[func-returns-value]
    run = train(replace(SMALL, steps=1), IMITATE)
    (batch,) = judged
    assert (batch.advantage == 1).all()
    agent, norms = run.agent, []
    start = train(replace(SMALL, steps=1, lr=1e-30), IMITATE).agent
    for s in range(2):
        rows = batch.valid[s]
        logits = start.policy(batch.obs)[s][rows]
        loss = torch.nn.functional.cross_entropy(logits.double(), batch.action[s][rows])
        assert loss.item() == pytest.approx(run.curve["policy_loss"][s], rel=1e-4)
        grads = torch.autograd.grad(loss, list(start.policy_net.parameters()))
        norms.append(sum(g[s].double().square().sum() for g in grads) ** 0.5)
        assert not any(g[1 - s].any() for g in grads)
    assert run.curve["grad_norm"].tolist() == pytest.approx([float(norm) for norm in norms], rel=1e-4)
    assert agent.state_dict().keys() == start.state_dict().keys()


def test_the_policy_becomes_the_demonstrator_and_is_a_start_for_what_pays() -> None:
    config = Config("tricks/Odds-v0", seeds=3, lanes=128, horizon=1, steps=40_000, lr=0.01, hidden=(8,))
    run = train(config, replace(IMITATE, lr_anneal=True))
    seen = odds.ODDS.observe(torch.tensor([[2.0, -1.0], [3.0, -1.0], [4.0, -1.0]])).expand(3, 3, -1)
    found = run.agent.policy(seen).softmax(-1)[..., odds.YES]
    torch.testing.assert_close(found, torch.tensor(odds.RIGHT).expand(3, 3), rtol=0, atol=0.05)
    better = train(replace(config, steps=20_000), Tricks(), start=run.agent)
    first, last = (better.curve[better.curve["update"] == at]["return"] for at in (0, better.curve["update"].max()))
    assert first.mean() == pytest.approx(0.5, abs=0.08) and last.mean() > 0.8


def test_a_training_that_first_imitates_is_one_that_starts_from_a_run_of_imitation() -> None:
    config = Config("tricks/Odds-v0", seeds=2, lanes=16, horizon=1, steps=200, hidden=(4,))
    first = train(replace(config, steps=300, lr=0.01), replace(IMITATE, lr_anneal=True))
    wanted = train(config, named("group_baseline+kl_penalty"), start=first.agent).curve
    found = train(replace(config, imitate_steps=300), named("group_baseline+kl_penalty"))
    assert found.curve.equals(wanted) and found.curve.attrs["from"] == "300 steps of imitation"
    assert found.curve["reference_kl"].iloc[0] < 1e-6  # what was imitated is the reference


def test_resuming_does_not_imitate_again_and_statistics_are_imitated_with(tmp_path: Path, monkeypatch: Patch) -> None:
    config = Config("tricks/Odds-v0", seeds=2, lanes=16, horizon=1, steps=900, hidden=(4,), imitate_steps=100)
    flags = switched(["group_baseline", "kl_penalty", "state_norm"])
    whole = train(config, flags)
    interrupted(tmp_path, config, flags, 2, monkeypatch)
    imitators = spied(monkeypatch, loop, "equally_good", lambda *_: True)
    same(resume(tmp_path), whole)
    assert imitators == []
    refusal("imitate_steps cannot be combined with shared_trunk", train, config, switched(["baseline", "shared_trunk"]))


def test_demonstrations_are_played_in_segments_and_beside_value_nets_too() -> None:
    for tricks in (named("imitate"), named("imitate+recurrent")):
        run = train(replace(SMALL, env="tricks/SumsShown-v0", horizon=20), tricks)
        assert not {"reuse", "advantage_norm", "clip"} & {*tricks.on} and run.curve["return"].mean() > 0.8
        assert run.curve["length"].dropna().eq(END).all()  # five tokens


def test_what_has_no_demonstrations_is_refused(refuses: Refuses) -> None:
    message = "imitate needs a world with demonstrations, such as tricks/Sums-v0, and CartPole-v1 has none; leave"
    refuses(main, ["train", "reinforce", "--imitate", "--env", "CartPole-v1"], message)
    refusal(r"and tricks/Sums-v0 has none", train, replace(SMALL, backend="gymnasium"), IMITATE)
    refusal("imitate cannot be combined with reuse", Tricks, imitate=True, reuse=True)
    train(replace(SMALL, reward_sign=True, steps=1), IMITATE)
    refuses(main, ["train", "reinforce", "--imitate-steps", "9"], "imitate needs a world with demonstrations")
    first = replace(SMALL, imitate_steps=9)
    refusal("has not imitated yet, and imitate imitates all the time", train, first, IMITATE)
    with pytest.raises(InputError, match="and this training starts from another run"):
        train(first, Tricks(), start=train(replace(SMALL, steps=1), IMITATE).agent)

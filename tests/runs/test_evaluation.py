"""Evaluations in the middle of a training: what they measure, and that they change nothing."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import gymnasium as gym
import pandas as pd
import pytest
import torch
from support.fixtures import Capture, Patch, refusal
from support.training import SMALL, UNMASKED, WHOLE_EPISODES, interrupted, same

from tricks import PPO, Agent, Checkpoints, Config, Evaluation, Tricks, further, load, named, resume, train
from tricks.cli.train import summary
from tricks.core.env import Env
from tricks.envs.make import make_env
from tricks.runs import evaluation
from tricks.runs.log import Rows, or_better


@pytest.mark.parametrize("tricks", [PPO, UNMASKED], ids=["ppo", "every"])
def test_it_is_what_the_agent_then_earns_greedily(tricks: Tricks) -> None:
    run = train(SMALL, tricks, evaluation=Evaluation(1, 4))
    last = run.curve.groupby("seed")["eval_return"].last()
    assert last[[3, 1]].tolist() == run.evaluate(4, greedy=True).mean(1).tolist()
    assert run.curve["eval_return"].notna().all()


def test_every_game_of_an_evaluation_has_a_prompt_of_its_own(monkeypatch: Patch) -> None:
    prompts = list[torch.Tensor]()

    def watched(*given: Any, **more: Any) -> Env:
        env = make_env(*given, **more)
        begin = env.reset

        def reset() -> None:
            begin()
            prompts.append(env.now.obs.clone())

        monkeypatch.setattr(env, "reset", reset)
        return env

    run = train(Config("tricks/Sums-v0", seeds=1, steps=64, lanes=8, horizon=1, group=8), Tricks())
    monkeypatch.setattr(evaluation, "make_env", watched)
    run.evaluate(16)
    assert len(prompts[0][0].unique(dim=0)) > 10  # in groups of eight there would be two


def test_each_seed_is_evaluated_when_its_own_steps_are_due_whatever_other_seeds_do() -> None:
    own = Evaluation(250, 3)
    of = {s: train(replace(SMALL, seeds=s), WHOLE_EPISODES, evaluation=own).curve for s in ((1,), (3, 1))}
    for _, part in of[3, 1].groupby("seed"):
        due = part["step"] // 250 > part["step"].shift(fill_value=0) // 250
        assert part["eval_return"].notna().tolist() == due.tolist()
        assert 0 < due.sum() < len(part)
    judged = [tuple(part["eval_return"].notna()) for _, part in of[3, 1].groupby("seed")]
    assert len(set(judged)) == 2  # each at its own times
    alone, stacked = (curve[curve.seed == 1]["eval_return"].tolist() for curve in of.values())
    assert stacked == pytest.approx(alone, nan_ok=True)


FOUR = replace(SMALL, seeds=(3, 1, 0, 2))
KEPT = Evaluation(200, 3, keep_best=True)


@pytest.mark.parametrize("tricks", [PPO, UNMASKED, named("recurrent"), named("shared_trunk")])
def test_each_seed_s_best_agent_is_that_of_its_first_best_evaluation(tricks: Tricks) -> None:
    seen: dict[tuple[int, int], dict[str, torch.Tensor]] = {}

    def watch(rows: Rows, agent: Agent) -> None:
        for row in rows:
            k = FOUR.seed_list.index(int(row["seed"]))
            own = {name: x[k].clone() for name, x in agent.state_dict().items()}
            seen[int(row["seed"]), int(row["update"])] = own

    run = train(FOUR, tricks, on_update=watch, evaluation=KEPT)
    best = run.curve.loc[run.curve.groupby("seed")["eval_return"].idxmax()]
    assert best["update"].nunique() > 1  # not all at the same time
    for _, row in best.iterrows():
        k = FOUR.seed_list.index(int(row["seed"]))
        then = seen[int(row["seed"]), int(row["update"])]
        assert all(torch.equal(x[k], then[name]) for name, x in run.at_best().agent.state_dict().items())
    found = run.at_best().evaluate(3, greedy=True).mean(1)
    assert found.tolist() == best.set_index("seed")["eval_return"][list(FOUR.seed_list)].tolist()


class Lost(gym.Wrapper[Any, Any, Any, Any]):
    """CartPole, in which each step loses 1, as its info says."""

    def __init__(self) -> None:
        super().__init__(gym.make("CartPole-v1"))

    def step(self, action: Any) -> Any:
        obs, reward, terminated, truncated, info = super().step(action)
        return obs, reward, terminated, truncated, info | {"lost": -1}


def test_the_best_can_be_that_of_a_recorded_number() -> None:
    config, by = replace(FOUR, record=("lost:sum",)), replace(KEPT, keep_best="lost")  # the worst score is the best
    run = train(config, PPO, env=Lost, evaluation=by, checkpoints=Checkpoints("x", 200))
    worst = run.curve.groupby("seed")["eval_return"].min()[list(FOUR.seed_list)]
    assert run.at_best().evaluate(3, greedy=True).mean(1).tolist() == worst.tolist()
    assert "\neach agent's best evaluation is the one with the highest mean lost" in summary(run)
    pd.testing.assert_frame_equal(run.curve, train(config, PPO, env=Lost, evaluation=KEPT).curve, check_exact=True)
    mine, theirs = (each.at_best().agent.state_dict() for each in (resume("x", env=Lost), run))
    assert mine.keys() == theirs.keys() and all(torch.equal(mine[name], theirs[name]) for name in mine)


def test_a_recorded_number_that_is_not_there_makes_no_agent_the_best(capsys: Capture) -> None:
    won, lost = replace(KEPT, keep_best="won"), replace(SMALL, record=("lost",))
    refusal("by 'won', but the training records lost; name it in record", train, lost, PPO, env=Lost, evaluation=won)
    refusal("keep_best is empty", replace, KEPT, keep_best="")
    run = train(replace(SMALL, record=("won",)), PPO, env=Lost, evaluation=won)
    assert "an evaluation failed: seed 3 has no 'won'" in capsys.readouterr().err
    assert run.curve.eval_return.isna().all()
    refusal("no best agent", run.at_best)


def test_a_resumed_a_continued_and_a_saved_run_still_know_their_best_agents(monkeypatch: Patch) -> None:
    whole, plain = (train(SMALL, PPO, evaluation=each) for each in (KEPT, replace(KEPT, keep_best=False)))
    same(plain, whole)  # it changes nothing that is learned
    interrupted(Path("x"), SMALL, PPO, 3, monkeypatch, evaluation=KEPT)
    run = resume("x")
    same(run.at_best(), whole.at_best())
    run.save("x")
    loaded = load("x")
    same(loaded, whole)
    same(loaded.at_best(), whole.at_best())
    one = loaded.only(1).at_best()
    assert torch.equal(one.agent.policy_net.head.weight[0], loaded.at_best().agent.policy_net.head.weight[1])
    loaded.at_best().save("best")
    refusal("kept no best agents; only one trained with --keep-best", plain.at_best)
    same(load("best").at_best(), whole.at_best())
    longer = further("x", 1, "end")
    best = longer.curve.groupby("seed")["eval_return"].max()
    assert longer.at_best().evaluate(3, greedy=True).mean(1).tolist() == best[list(SMALL.seed_list)].tolist()


def test_a_seed_that_was_never_evaluated_has_no_best_agent() -> None:
    run = train(replace(SMALL, lr=(1e38, 0.003)), PPO, evaluation=KEPT)
    assert run.only(1).at_best().seconds == run.seconds
    refusal("seed 3 has no best agent, because it was never evaluated", run.at_best)


def test_a_tie_a_missing_score_and_weights_that_are_not_finite_replace_nothing() -> None:
    agent = train(Config(seeds=4, steps=100), PPO).agent
    kept = or_better(None, torch.tensor([1.0, 1, 1, 1]).double(), agent)
    later = Agent(agent.spaces, Config(seeds=4))
    later.policy_net.head.weight.data[3] = torch.nan
    new = or_better(kept, torch.tensor([2.0, 1, torch.nan, 9]).double(), later)
    assert new.score.tolist() == [2, 1, 1, 1]
    name = "policy_net.head.weight"
    assert torch.equal(new.state[name][0], later.state_dict()[name][0])
    assert torch.equal(new.state[name][1:], kept.state[name][1:])
    first = or_better(None, torch.tensor([torch.nan, 1, 1, 1]).double(), agent)
    assert first.score.isnan().tolist() == [True, False, False, False]

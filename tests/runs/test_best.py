"""Each seed's best agent so far, kept on request: it is that of its best evaluation, and survives what a run does."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import gymnasium as gym
import pandas as pd
import pytest
import torch
from support.training import SMALL, UNMASKED, Power, fail

from tricks import PPO, Agent, Checkpoints, Config, Evaluation, InputError, Run, Tricks, further, load, resume, train
from tricks.cli.summary import summary
from tricks.ladder import named
from tricks.runs.best import beginning
from tricks.runs.log import Rows

FOUR = replace(SMALL, seeds=(3, 1, 0, 2))
KEPT = Evaluation(200, 3, keep_best=True)


def state(run: Run) -> dict[str, torch.Tensor]:
    return run.at_best().agent.state_dict()


def alike(one: Run, other: Run) -> None:
    mine, theirs = state(one), state(other)
    assert mine.keys() == theirs.keys()
    assert all(torch.equal(mine[name], theirs[name]) for name in mine)


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
        assert all(torch.equal(x[k], then[name]) for name, x in state(run).items())
    found = run.at_best().evaluate(3, greedy=True).mean(1)
    assert found.tolist() == best.set_index("seed")["eval_return"][list(FOUR.seed_list)].tolist()


class Lost(gym.Wrapper[Any, Any, Any, Any]):
    """Each step loses 1, as its info says."""

    def step(self, action: Any) -> Any:
        obs, reward, terminated, truncated, info = super().step(action)
        return obs, reward, terminated, truncated, info | {"lost": -1}


def lost() -> Any:
    return Lost(gym.make("CartPole-v1"))


def test_the_best_can_be_that_of_a_recorded_number(tmp_path: Path) -> None:
    config, by = replace(FOUR, record=("lost:sum",)), replace(KEPT, keep_best="lost")  # the worst score is the best
    run = train(config, PPO, env=lost, evaluation=by, checkpoints=Checkpoints(tmp_path, 200))
    worst = run.curve.groupby("seed")["eval_return"].min()[list(FOUR.seed_list)]
    assert run.at_best().evaluate(3, greedy=True).mean(1).tolist() == worst.tolist()
    assert "\neach agent's best evaluation is the one with the highest mean lost" in summary(run)
    pd.testing.assert_frame_equal(run.curve, train(config, PPO, env=lost, evaluation=KEPT).curve, check_exact=True)
    alike(resume(tmp_path, env=lost), run)


def test_a_recorded_number_that_is_not_there_makes_no_agent_the_best(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(InputError, match="keep_best is by 'won', but the training records lost; name it in record"):
        train(replace(SMALL, record=("lost",)), PPO, env=lost, evaluation=replace(KEPT, keep_best="won"))
    with pytest.raises(InputError, match="keep_best is empty"):
        replace(KEPT, keep_best="")
    run = train(replace(SMALL, record=("won",)), PPO, env=lost, evaluation=replace(KEPT, keep_best="won"))
    assert "an evaluation failed: seed 3 has no 'won'" in capsys.readouterr().err
    assert run.curve.eval_return.isna().all()
    with pytest.raises(InputError, match="no best agent"):
        run.at_best()


def test_keeping_the_best_changes_nothing_that_is_learned() -> None:
    plain, kept = (train(SMALL, PPO, evaluation=each) for each in (replace(KEPT, keep_best=False), KEPT))
    pd.testing.assert_frame_equal(plain.curve, kept.curve, check_exact=True)
    assert all(torch.equal(x, kept.agent.state_dict()[name]) for name, x in plain.agent.state_dict().items())


def test_a_resumed_and_a_continued_run_still_know_their_best_agents(tmp_path: Path) -> None:
    whole = train(SMALL, PPO, evaluation=KEPT)

    def stop(rows: Rows) -> None:
        if rows[0]["step"] > 700:
            fail()

    with pytest.raises(Power):
        train(SMALL, PPO, checkpoints=Checkpoints(tmp_path, 100), on_update=stop, evaluation=KEPT)
    run = resume(tmp_path)
    alike(run, whole)
    run.save(tmp_path)
    longer = further(tmp_path, 1, "end")
    best = longer.curve.groupby("seed")["eval_return"].max()
    kept = longer.at_best().evaluate(3, greedy=True).mean(1)
    assert kept.tolist() == best[list(SMALL.seed_list)].tolist()


def test_a_saved_run_has_its_last_and_its_best_agents(tmp_path: Path) -> None:
    run = train(SMALL, PPO, evaluation=KEPT)
    run.save(tmp_path)
    loaded = load(tmp_path)
    alike(loaded, run)
    assert all(torch.equal(x, run.agent.state_dict()[name]) for name, x in loaded.agent.state_dict().items())
    one = loaded.only(1).at_best()
    assert torch.equal(one.agent.policy_net.head.weight[0], loaded.at_best().agent.policy_net.head.weight[1])
    loaded.at_best().save(tmp_path / "best")
    assert state(load(tmp_path / "best")).keys() == state(run).keys()


def test_without_a_best_agent_one_line_says_why() -> None:
    with pytest.raises(InputError, match="kept no best agents; only one trained with --keep-best"):
        train(SMALL, PPO, evaluation=Evaluation(200)).at_best()
    run = train(replace(SMALL, lr=(1e38, 0.003)), PPO, evaluation=KEPT)
    assert run.only(1).at_best().seconds == run.seconds
    with pytest.raises(InputError, match="seed 3 has no best agent, because it was never evaluated"):
        run.at_best()


def test_a_tie_a_missing_score_and_weights_that_are_not_finite_replace_nothing() -> None:
    agent = train(Config(seeds=4, steps=100), PPO).agent
    kept = beginning(agent).or_better(torch.tensor([1.0, 1, 1, 1]).double(), agent)
    later = Agent(agent.spaces, Config(seeds=4))
    later.policy_net.head.weight.data[3] = torch.nan
    new = kept.or_better(torch.tensor([2.0, 1, torch.nan, 9]).double(), later)
    assert new.score.tolist() == [2, 1, 1, 1]
    name = "policy_net.head.weight"
    assert torch.equal(new.state[name][0], later.state_dict()[name][0])
    assert torch.equal(new.state[name][1:], kept.state[name][1:])
    first = beginning(agent).or_better(torch.tensor([torch.nan, 1, 1, 1]).double(), agent)
    assert first.score.isnan().tolist() == [True, False, False, False]

"""recurrent: what is done with a run: continue it, start from it, play it, compare it."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from support.training import interrupted, same
from torch import Tensor, nn

from ablations import compare
from tricks import PPO, Checkpoints, Config, InputError, load, resume, train
from tricks.cli.main import main
from tricks.continuing import StartFrom, further
from tricks.core.nets import Layer
from tricks.core.recurrent_state import RecurrentState
from tricks.recurrent import Recurrent

TRICKS = replace(PPO, recurrent=True, lr_anneal=False)
KINDS = pytest.mark.parametrize("kind", ["lstm", "gru"])
CONFIG = Config(seeds=2, steps=600, lanes=4, horizon=16, hidden=(8,), recurrent_size=5, minibatches=2)
SMALL = ["--seeds", "2", "--lanes", "4", "--horizon", "16", "--hidden", "8", "--minibatches", "2"]


@KINDS
def test_a_continued_run_is_the_run_of_the_larger_budget(kind: str, tmp_path: Path) -> None:
    config = replace(CONFIG, recurrent_cell=kind)
    train(config, TRICKS, checkpoints=Checkpoints(tmp_path, 200)).save(tmp_path)
    same(further(tmp_path, 500), train(replace(config, steps=1100), TRICKS))


def test_where_no_episode_can_be_resumed_in_the_middle_every_state_begins_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    config = replace(CONFIG, env="Acrobot-v1", backend="gymnasium")
    interrupted(tmp_path, config, TRICKS, 2, monkeypatch)
    seen, begin = list[Tensor](), RecurrentState.end_rollout

    def noting(state: RecurrentState) -> Tensor:
        seen.append(begin(state))
        return seen[-1]

    monkeypatch.setattr(RecurrentState, "end_rollout", noting)
    run = resume(tmp_path)
    assert "cannot resume in mid-episode" in capsys.readouterr().err
    assert not seen[0].any()
    assert seen[1].any()
    assert run.curve.step.max() >= 600


def test_a_training_starts_from_its_agents_only_if_the_layers_are_the_same(tmp_path: Path) -> None:
    train(CONFIG, TRICKS).save(tmp_path)
    for other in (replace(CONFIG, recurrent_size=6), replace(CONFIG, recurrent_cell="gru")):
        with pytest.raises(InputError, match=r"cell.*here; train with the same --recurrent-size and --recurrent-cell"):
            train(other, TRICKS, checkpoints=StartFrom(tmp_path))
    with pytest.raises(InputError, match="train with the same tricks"):
        train(CONFIG, replace(TRICKS, recurrent=False), checkpoints=StartFrom(tmp_path))


@KINDS
def test_the_shell_evaluates_saves_and_films_it(kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = str(tmp_path / "run")
    words = ["train", "ppo", "--recurrent", "--recurrent-cell", kind, "--recurrent-size", "5", *SMALL, "--steps", "300"]
    assert main([*words, "--eval-every", "100", "--eval-episodes", "2", "--out", out]) == 0
    assert load(out).curve["eval_return"].notna().any()
    pytest.importorskip("pygame", reason="the extra `play` is not installed")
    assert main(["play", out, "--seed", "1"]) == 0
    assert main(["play", out, "--greedy", "--no-gif"]) == 0
    said = capsys.readouterr().out
    assert "play.gif: an episode of" in said
    assert main(["play", out, "--episode-limit", "3", "--no-gif"]) == 2
    assert "an episode has not ended after 3 steps" in capsys.readouterr().err


def test_it_can_be_compared_and_needs_a_lane_for_each_minibatch(tmp_path: Path) -> None:
    config = replace(CONFIG, env="tricks/Corridor-v0", steps=200)
    found = compare(["ppo", "ppo+recurrent"], config, seeds=2, out=tmp_path, workers=1)
    assert {*found.table.arm} == {"ppo", "ppo+recurrent"}
    with pytest.raises(InputError, match=r"arm 'ppo\+recurrent': .* 5 minibatches are more than 4 lanes"):
        compare(["ppo", "ppo+recurrent"], replace(config, minibatches=5), out=tmp_path)


class Doubled(nn.Module):
    """A body without weights, which shows an observation twice."""

    def __init__(self, features: int) -> None:
        super().__init__()
        self.width, self.layers = 2 * features, list[Layer]()

    def forward(self, x: Tensor) -> Tensor:
        return torch.cat([x, x], -1)


def test_what_a_body_of_ones_own_computes_goes_into_the_recurrent_layer() -> None:
    run = train(CONFIG, TRICKS, body=lambda generators, spaces: Doubled(spaces.features))
    body = run.agent.policy_net.body
    assert isinstance(body, Recurrent)
    assert body.cell.inward.shape == (2, 2 * 4, 4 * 5)
    agent, obs = run.agent[0], np.array([0.1, 0, 0.2, 0], np.float32)
    states = list[Tensor]()
    for begins in (True, False, True):
        agent.act(obs, begins=begins)
        assert agent.acting_state is not None
        states.append(agent.acting_state)
    twice = torch.from_numpy(np.tile(obs, 2)).view(1, 1, 8)
    cell = agent.policy_net.body.cell  # type: ignore[attr-defined]
    torch.testing.assert_close(states[0][:, :, 0], cell(cell.contribution(twice), torch.zeros(1, 1, 10)))
    assert states[0].equal(states[2])
    assert not states[0].equal(states[1])

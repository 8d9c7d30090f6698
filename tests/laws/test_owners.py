"""Every state belongs to the run, a seed, a lane or an episode, and what is done with it follows from that."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import torch
from torch import Tensor, nn

from tricks import PPO, Checkpoints, Config, Evaluation, Tricks, further, load, resume, train
from tricks.core.owners import owned, owners_of
from tricks.envs.make import make_env
from tricks.ladder import switched
from tricks.loop import build_agent
from tricks.runs import checkpoint
from tricks.runs.files import LAST
from tricks.runs.state import State
from tricks.training import take_over_

CONFIG = Config("CartPole-v1", seeds=(0, 1), lanes=4, horizon=16, steps=370, hidden=(8,), epochs=2, minibatches=2)
CONFIG = replace(CONFIG, recurrent_size=4, aux_every=2, aux_epochs=1, policy_rollouts=2, value_rollouts=3, value_uses=4)
LARGER = replace(CONFIG, lanes=8, horizon=32, steps=1229)
KEEPING = {  # tricks that keep something from one update to the next, each with what it needs
    "plain": PPO,
    "episodes": switched(["baseline", "reuse", "reward_scaling"]),
    "recurrent": replace(PPO, recurrent=True),
    "gru": replace(PPO, recurrent=True, shared_trunk=True),
    "statistics": replace(PPO, state_norm=True, reward_scaling=True, return_norm=True, popart=True),
    "ppg": replace(PPO, ppg=True, return_norm=True, popart=True),
    "ppg_buffers": replace(PPO, ppg=True, ppg_buffers=True),
    "two optimizers": replace(PPO, separate_optimizers=True, kl_stop=True),
}
KEEPING = {name: replace(tricks, lr_anneal=False) for name, tricks in KEEPING.items()}
EACH = pytest.mark.parametrize("tricks", KEEPING.values(), ids=KEEPING)


def config_for(tricks: Tricks) -> Config:
    """A budget that one of two seeds reaches an update before the other."""
    return LARGER if tricks.ppg else replace(CONFIG, recurrent_cell="gru" if tricks.shared_trunk else "lstm")


class Parts(State):
    """Sees every part of a training after each update."""

    def __init__(self) -> None:
        super().__init__()
        self.active, self.seen = list[Tensor](), list[dict[str, Tensor]]()

    def end_update(self, steps: Tensor) -> None:
        self.active.append(self._parts["log"].active.clone())
        self.seen.append(
            {f"{name}/{entry}": x.clone() for name, part in self._parts.items() for entry, x in owned(part).items()}
        )


@EACH
@pytest.mark.parametrize("why", ["finished", "diverged"])
def test_a_seed_that_waits_keeps_every_number_of_its_own(tricks: Tricks, why: str) -> None:
    parts, lr = Parts(), (1e38, 1e-3) if why == "diverged" else 1e-3
    run = train(replace(config_for(tricks), lr=lr), tricks, checkpoints=parts)
    done = next(i for i, active in enumerate(parts.active) if not active.all())
    (k,) = (~parts.active[done]).nonzero()[:, 0].tolist()
    assert len(parts.seen) > done + 1
    assert (run.config.seed_list[k] in run.diverged) is (why == "diverged")
    before, after = parts.seen[done], parts.seen[-1]
    assert {name for name, x in before.items() if not _same(x[k], after[name][k])} == set()
    assert {name for name, x in before.items() if not _same(x[1 - k], after[name][1 - k])} >= {"log/steps", "env/t"}


def _same(one: Tensor, other: Tensor) -> bool:
    return torch.equal(torch.nan_to_num(one.double(), 7e77), torch.nan_to_num(other.double(), 7e77))


def finished(folder: Path, tricks: Tricks) -> Path:
    train(config_for(tricks), tricks, checkpoints=Checkpoints(folder, every=10**6)).save(folder)
    return folder


@EACH
def test_seeds_that_finished_apart_go_on_as_each_alone_in_one_long_run(tricks: Tricks, tmp_path: Path) -> None:
    config = config_for(tricks)
    joined = further(finished(tmp_path, tricks), config.steps)
    ends = joined.curve[joined.curve.step < config.steps].groupby("seed")["update"].max()
    assert ends.nunique() == 2  # they had finished at different updates
    for seed in (0, 1):
        alone = train(replace(config, seeds=(seed,), steps=2 * config.steps), tricks)
        mine = joined.curve[joined.curve.seed == seed].reset_index(drop=True)
        pd.testing.assert_frame_equal(mine, alone.curve, check_exact=True)
        ours, theirs = joined.agent[seed].state_dict(), alone.agent.state_dict()
        assert [name for name, x in ours.items() if not torch.equal(x, theirs[name])] == []


def test_they_do_so_again_and_after_an_interruption(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tricks = KEEPING["statistics"]
    folder = finished(tmp_path, tricks)
    further(folder, 100).save(folder, overwrite=True)
    saved = checkpoint.read(folder, LAST)
    assert saved.every == 10**6

    def stop(rows: Any) -> None:
        if rows[0]["step"] > CONFIG.steps + 200:
            raise KeyboardInterrupt

    monkeypatch.setattr("tricks.continuing.read", lambda *_: replace(saved, every=1))
    with pytest.raises(KeyboardInterrupt):
        further(folder, 200, on_update=stop)
    monkeypatch.undo()
    alone = train(replace(CONFIG, seeds=(1,), steps=CONFIG.steps + 300), tricks).curve
    curve = resume(folder).curve
    pd.testing.assert_frame_equal(curve[curve.seed == 1].reset_index(drop=True), alone, check_exact=True)


@EACH
def test_a_start_takes_what_is_the_seeds_and_begins_everything_else_anew(tricks: Tricks, tmp_path: Path) -> None:
    run = train(CONFIG, tricks)
    run.save(tmp_path)
    other = replace(CONFIG, lanes=6, minibatches=3)
    agent = build_agent(make_env(other).spaces, other, tricks)
    fresh = {name: x.clone() for name, x in agent.state_dict().items()}
    take_over_(agent, load(tmp_path).agent)
    given, owners = run.agent.state_dict(), owners_of(agent)
    for name, x in agent.state_dict().items():
        assert torch.equal(x, given[name] if owners[name] == "seed" else fresh[name]), name


@EACH
def test_an_evaluation_in_the_middle_changes_no_number(tricks: Tricks) -> None:
    plain, judged = Parts(), Parts()
    train(CONFIG, tricks, checkpoints=plain)
    run = train(CONFIG, tricks, checkpoints=judged, evaluation=Evaluation(every=64, episodes=2))
    assert run.curve.eval_return.notna().sum() > 3
    for mine, theirs in zip(plain.seen, judged.seen, strict=True):
        assert [name for name, x in mine.items() if not torch.equal(x, theirs[name])] == []


def tensors(state: Mapping[str, Any], path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Where there are tensors in a checkpoint."""
    for name, x in state.items():
        if isinstance(x, Mapping):
            yield from tensors(x, (*path, name))
        elif isinstance(x, Tensor):
            yield (*path, name)


def test_every_tensor_in_a_checkpoint_has_an_owner(setting: Tricks, home: str) -> None:
    config, parts = replace(CONFIG, env=home, steps=65), Parts()
    train(config, setting, checkpoints=parts, evaluation=Evaluation(32, 1, keep_best=True))
    assert {len(x) for x in parts.seen[-1].values()} == {len(config.seed_list)}  # what is not the run's
    for name, part in parts._parts.items():
        owners = owners_of(part)
        for path in tensors(part.state_dict()):
            assert path[0] in owners, f"{name}/{'/'.join(path)}"
        for module in part.modules() if isinstance(part, nn.Module) else ():
            kept = set(module._buffers) - module._non_persistent_buffers_set
            assert kept <= getattr(module, "OWNERS", {}).keys(), f"{type(module).__name__} keeps {kept}"

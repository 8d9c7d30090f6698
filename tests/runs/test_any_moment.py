"""An agent at any moment: a training that is stopped, killed or finished can be loaded, played and continued."""

import shlex
import signal
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from support.training import SMALL, UNMASKED, same

from tricks import PPO, Agent, Checkpoints, Evaluation, InputError, Run, Tricks, further, load, resume, train
from tricks.cli.main import main
from tricks.cli.start import stoppable
from tricks.ladder import named
from tricks.runs.folder import CHECKPOINT, LAST
from tricks.runs.listeners import CurveFile
from tricks.runs.log import Rows

STEADY = replace(PPO, lr_anneal=False)
KEPT = Evaluation(200, 2, keep_best=True)


def raising(number: int, update: int) -> Callable[[Rows], None]:
    """A listener that sends the process a signal at the end of an update."""

    def listen(rows: Rows) -> None:
        if rows[0]["update"] == update:
            signal.raise_signal(number)

    return listen


@pytest.mark.parametrize("tricks", [STEADY, named("ppg_buffers"), replace(UNMASKED, lr_anneal=False, recurrent=False)])
def test_any_finished_run_goes_on_as_if_its_budget_had_been_larger(tricks: Tricks, tmp_path: Path) -> None:
    tricks = replace(tricks, lr_anneal=False, clip_anneal=False)
    run = train(SMALL, tricks)
    run.save(tmp_path / "first")
    load(tmp_path / "first").save(tmp_path / "copy")
    whole = train(replace(SMALL, steps=1200), tricks)
    for folder in (tmp_path / "first", tmp_path / "copy"):
        same(further(folder, 300), whole)


def test_a_stopped_training_is_loaded_continued_and_keeps_its_best_agents(tmp_path: Path) -> None:
    states: list[dict[str, torch.Tensor]] = []

    def listen(rows: Rows, agent: Agent) -> None:
        states.append({name: x.clone() for name, x in agent.state_dict().items()})
        raising(signal.SIGINT, 3)(rows)

    with pytest.raises(KeyboardInterrupt):
        train(SMALL, STEADY, checkpoints=Checkpoints(tmp_path), on_update=listen, evaluation=KEPT)
    assert [path.name for path in tmp_path.iterdir() if path.name != ".lock"] == [CHECKPOINT]
    run, whole = load(tmp_path), train(SMALL, STEADY, evaluation=KEPT)
    assert run.curve.equals(whole.curve[whole.curve["update"] <= 3].reset_index(drop=True))
    assert all(torch.equal(x, states[-1][name]) for name, x in run.agent.state_dict().items())
    assert run.evaluate(2).shape == run.at_best().evaluate(2).shape == (2, 2)
    assert (run.config, run.tricks, run.seconds > 0) == (SMALL, STEADY, True)
    run.save(tmp_path / "copy")  # an unfinished run can be kept as it is
    assert load(tmp_path / "copy").curve.equals(run.curve)
    same(further(tmp_path / "copy", 300), train(replace(SMALL, steps=1200), STEADY, evaluation=KEPT))
    same(resume(tmp_path), whole)


def test_a_signal_in_the_last_update_costs_nothing(tmp_path: Path) -> None:
    whole = train(SMALL, STEADY)
    last = int(whole.curve["update"].max())
    with pytest.raises(KeyboardInterrupt):
        train(SMALL, STEADY, checkpoints=Checkpoints(tmp_path), on_update=raising(signal.SIGINT, last))
    same(load(tmp_path), whole)
    same(resume(tmp_path), whole)


def test_a_second_signal_does_not_wait_for_the_update(tmp_path: Path) -> None:
    def twice(rows: Rows) -> None:
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)
        pytest.fail("it went on")

    with pytest.raises(KeyboardInterrupt):
        train(SMALL, STEADY, checkpoints=Checkpoints(tmp_path), on_update=twice)
    assert not (tmp_path / CHECKPOINT).exists()


def test_signals_are_answered_as_before_when_the_training_is_over(tmp_path: Path) -> None:
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    train(SMALL, STEADY, checkpoints=Checkpoints(tmp_path))
    with pytest.raises(InputError):
        train(replace(SMALL, env="nothing-v0"), STEADY, checkpoints=Checkpoints(tmp_path))
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == before


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_the_shell_says_what_is_kept_and_what_goes_on(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out, write = tmp_path / "run", CurveFile.__call__
    stop = raising(getattr(signal, name), 2)
    monkeypatch.setattr(CurveFile, "__call__", lambda file, rows: (write(file, rows), stop(rows)))
    arguments = "train ppo --no-lr-anneal --seeds 1 --steps 900 --lanes 2 --horizon 50 --hidden 8"
    best = "--eval-every 100 --eval-episodes 2 --keep-best"
    with stoppable() as received:
        assert main([*arguments.split(), *best.split(), "--out", str(out)]) == 130
    assert received == [getattr(signal, name)]
    goes_on = f"resume with: python -m tricks train --resume {out}"
    assert capsys.readouterr().err.splitlines()[-1] == f"interrupted at step 288 of 900, which is saved; {goes_on}"
    assert main(["play", str(out), "--no-gif", "--episodes", "2", "--best"]) == 0
    assert f"{out} is unfinished, at step 288 of 900" in capsys.readouterr().err
    assert main(["save-policy", str(out), "--out", str(tmp_path / "policy.pt")]) == 0
    monkeypatch.undo()
    assert main(["train", "--resume", str(out)]) == 0
    assert main(["train", "--continue", str(out), "--steps", "100"]) == 0
    assert load(out).config.steps == 1000


def test_a_continuation_that_was_stopped_is_not_begun_again(tmp_path: Path) -> None:
    train(SMALL, STEADY).save(tmp_path)
    with pytest.raises(KeyboardInterrupt):
        further(tmp_path, 300, on_update=raising(signal.SIGINT, 10))
    assert load(tmp_path).config.steps == 900  # the finished run is still there
    with pytest.raises(InputError, match="holds an unfinished run; resume it with"):
        further(tmp_path, 300)
    same(resume(tmp_path), train(replace(SMALL, steps=1200), STEADY))


def test_a_part_of_a_run_has_no_state_to_go_on_from(tmp_path: Path) -> None:
    run: Run = train(SMALL, STEADY, evaluation=KEPT)
    run.save(tmp_path)
    for part in (run.only(1), run.at_best()):
        part.save(tmp_path, overwrite=True)
        assert load(tmp_path).last is None
        assert not (tmp_path / LAST).exists()
    with pytest.raises(InputError, match="--start-from"):
        further(tmp_path, 100)


def test_what_a_refusal_tells_to_type_does_what_it_says(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def told(*arguments: str) -> list[str]:
        assert main(["train", *arguments]) == 2
        said = capsys.readouterr().err.strip()
        assert "there is no" in said
        return shlex.split(said.split(" with: ")[1].replace("STEPS", "100"))[3:]

    done, cut = tmp_path / "a run", tmp_path / "it's cut"
    train(SMALL, STEADY).save(done)
    with pytest.raises(KeyboardInterrupt):
        train(SMALL, STEADY, checkpoints=Checkpoints(cut), on_update=raising(signal.SIGINT, 2))
    assert main(told("--resume", str(done))) == 0
    assert load(done).config.steps == 1000
    assert main(told("--continue", str(cut), "--steps", "9")) == 0
    assert load(cut).config.steps == 900
    with pytest.raises(InputError, match=r"there is no last\.pt; it holds no run$"):
        further(tmp_path, 9)

"""An agent at any moment: a training that is stopped, killed or finished can be loaded, played and continued."""

import json
import shlex
import signal
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import torch
from support.fixtures import Capture, Patch, Told, refusal
from support.probes import AnySpace
from support.training import SMALL, Power, interrupted, same

from tricks import PPO, REINFORCE, Agent, Checkpoints, Config, Evaluation, Tricks, further, load, resume, train
from tricks.cli.main import main
from tricks.cli.start import Stoppable
from tricks.ladder import closed, switched
from tricks.runs.files import CHECKPOINT, LAST
from tricks.runs.listeners import CurveFile
from tricks.runs.log import Rows

STEADY = replace(PPO, lr_anneal=False)
KEPT = Evaluation(200, 2, keep_best=True)


def raising(number: int, update: int, times: int = 1) -> Callable[[Rows, object], None]:
    """A listener that sends the process a signal at the end of an update."""

    def listen(rows: Rows, agent: object) -> None:
        if rows[0]["update"] == update:
            for _ in range(times):
                signal.raise_signal(number)

    return listen


def test_a_stopped_training_is_loaded_continued_and_keeps_its_best_agents() -> None:
    states: list[dict[str, torch.Tensor]] = []

    def listen(rows: Rows, agent: Agent) -> None:
        states.append({name: x.clone() for name, x in agent.state_dict().items()})
        raising(signal.SIGINT, 3)(rows, agent)

    with pytest.raises(KeyboardInterrupt):
        train(SMALL, STEADY, checkpoints=Checkpoints("x"), on_update=listen, evaluation=KEPT)
    assert [path.name for path in Path("x").iterdir() if path.name != ".lock"] == [CHECKPOINT]
    run, whole = load("x"), train(SMALL, STEADY, evaluation=KEPT)
    assert run.curve.equals(whole.curve[whole.curve["update"] <= 3].reset_index(drop=True))
    assert all(torch.equal(x, states[-1][name]) for name, x in run.agent.state_dict().items())
    assert run.evaluate(2).shape == run.at_best().evaluate(2).shape == (2, 2)
    assert (run.config, run.tricks, run.seconds > 0) == (SMALL, STEADY, True)
    run.save("copy")  # an unfinished run can be kept as it is
    assert load("copy").curve.equals(run.curve)
    same(further("copy", 300), train(replace(SMALL, steps=1200), STEADY, evaluation=KEPT))
    same(resume("x"), whole)


def test_a_signal_in_the_last_update_costs_nothing_and_a_second_one_does_not_wait_for_the_update() -> None:
    before, whole = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)], train(SMALL, STEADY)
    stop = raising(signal.SIGINT, int(whole.curve["update"].max()))
    with pytest.raises(KeyboardInterrupt):
        train(SMALL, STEADY, checkpoints=Checkpoints("x"), on_update=stop)
    same(load("x"), whole)
    same(resume("x"), whole)
    with pytest.raises(KeyboardInterrupt):
        train(SMALL, STEADY, checkpoints=Checkpoints("y"), on_update=raising(signal.SIGINT, 0, times=2))
    assert not Path("y", CHECKPOINT).exists()
    refusal("nothing", train, replace(SMALL, env="nothing-v0"), STEADY, checkpoints=Checkpoints("z"))
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == before


def test_a_signal_while_environments_are_closed_costs_nothing(monkeypatch: Patch) -> None:
    config = replace(SMALL, env="own", lanes=1, seeds=1)
    with monkeypatch.context() as patch:

        def listen(rows: Rows, agent: object) -> None:
            patch.setattr(AnySpace, "close", lambda _: signal.raise_signal(signal.SIGINT))

        with pytest.raises(KeyboardInterrupt):
            train(config, STEADY, env=AnySpace, checkpoints=Checkpoints("x"), on_update=listen)
    same(load("x", env=AnySpace), train(config, STEADY, env=AnySpace))


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_the_shell_says_what_is_kept_and_goes_on(name: str, told: Told, monkeypatch: Patch, capsys: Capture) -> None:
    write, stop = CurveFile.__call__, raising(getattr(signal, name), 2)
    monkeypatch.setattr(CurveFile, "__call__", lambda file, *told: (write(file, *told), stop(*told)))
    small = "train ppo --no-lr-anneal --seeds 1 --steps 900 --lanes 2 --horizon 50 --hidden 8"
    with Stoppable() as stoppable:
        said = told(f"{small} --eval-every 100 --eval-episodes 2 --keep-best --out x", 130)
    assert stoppable.waiting == getattr(signal, name)
    goes_on = "resume with: python -m tricks train --resume x"
    assert said.splitlines()[-1] == f"interrupted at step 288 of 900, which is saved; {goes_on}"
    assert main(["play", "x", "--no-gif", "--episodes", "2", "--best"]) == 0
    assert "x is unfinished, at step 288 of 900" in capsys.readouterr().err
    told("save-policy x --out policy.pt2")
    monkeypatch.setattr(CurveFile, "__call__", write)
    told("train --resume x")
    told("train --continue x --steps 100")
    assert load("x").config.steps == 1000


def test_a_continuation_that_was_stopped_is_not_begun_again() -> None:
    train(SMALL, STEADY).save("x")
    with pytest.raises(KeyboardInterrupt):
        further("x", 300, on_update=raising(signal.SIGINT, 10))
    assert load("x").config.steps == 900  # the finished run is still there
    refusal("holds an unfinished run; resume it with", further, "x", 300)
    same(resume("x"), train(replace(SMALL, steps=1200), STEADY))


def test_what_ends_a_continuation_otherwise_leaves_all_rows_and_it_can_be_begun_again() -> None:
    train(SMALL, REINFORCE).save("x")  # seeds have made different numbers of updates
    rows, whole, file = Path("x/curve.csv").read_text().split(), further("x", 300), CurveFile(Path("x"))

    def stop(*update: Any) -> None:
        file(*update)
        raise Power

    with pytest.raises(Power):
        further("x", 300, on_update=stop)
    assert {*rows} < {*Path("x/curve.csv").read_text().split()} and not Path("x/run.json").exists()
    same(further("x", 300), whole)


def test_a_part_of_a_run_has_no_state_to_go_on_from() -> None:
    run = train(SMALL, STEADY, evaluation=KEPT)
    run.save("x")
    for part in (run.only(1), run.at_best()):
        part.save("x", overwrite=True)
        assert load("x").last is None
        assert not Path("x", LAST).exists()
    refusal("its run was saved without it, as a part of a run is; --start-from", further, "x", 100)


def test_what_a_refusal_tells_to_type_does_what_it_says(capsys: Capture) -> None:
    def advice(*arguments: str) -> list[str]:
        assert main(["train", *arguments]) == 2
        said = capsys.readouterr().err.strip()
        assert "there is no" in said or "holds an unfinished run" in said
        return shlex.split(said.split(" with: ")[1].split(", or")[0].replace("STEPS", "100"))[3:]

    train(SMALL, STEADY).save("a run")
    with pytest.raises(KeyboardInterrupt):
        train(SMALL, STEADY, checkpoints=Checkpoints("it's cut"), on_update=raising(signal.SIGINT, 2))
    assert main(advice("--resume", "a run")) == 0
    assert load("a run").config.steps == 1000
    assert main(advice("--continue", "it's cut", "--steps", "9")) == 0
    assert load("it's cut").config.steps == 900
    refusal(r"there is no last\.pt; it holds no run$", further, ".", 9)


CONFIG = Config(seeds=2, lanes=2, horizon=50, steps=400, hidden=(8,))
PLAIN = switched(closed(["gae", "clip", "state_norm", "return_norm", "segments"]))
ANNEALED = switched([*PLAIN.on, "lr_anneal"])


def finished(folder: str, tricks: Tricks = PLAIN) -> str:
    """The folder of a finished run that wrote checkpoints."""
    train(CONFIG, tricks, checkpoints=Checkpoints(folder, 100)).save(folder)
    return folder


def rates(curve: pd.DataFrame, first: int) -> tuple[pd.Series, pd.Series]:
    """The steps before each update from step `first` on, and its learning rate, of one seed."""
    one = curve[curve.seed == 0]
    before = one.step.shift(fill_value=0)
    return before[before >= first], one.learning_rate[before >= first]


def test_schedules_run_over_the_whole_or_stay_at_their_end() -> None:
    for schedule in ("whole", "end"):
        curve = further(finished(schedule, ANNEALED), 400, schedule).curve
        before, rate = rates(curve, 0)
        old = before < 400
        assert rate[old].to_numpy() == pytest.approx(1e-3 * (1 - before[old] / 400), rel=1e-5)
        going_on = 1e-3 * (1 - before[~old] / 800) if schedule == "whole" else rate[old].iloc[-1]
        assert (~old).sum() >= 3
        assert rate[~old].to_numpy() == pytest.approx(going_on, rel=1e-5)
    finished("x", ANNEALED)
    for more in (200, 100):
        run = further("x", more, "end")
        run.save("x", overwrite=True)
    before, rate = rates(run.curve, 400)
    assert before.max() >= 600 and rate.nunique() == 1  # still where the first end was
    before, rate = rates(further("x", 400).curve, 700)  # over the whole again
    assert len(before) >= 3
    assert rate.to_numpy() == pytest.approx(1e-3 * (1 - before / 1100), rel=1e-5)


def test_it_can_be_trained_on_again_and_again_and_says_where_it_was_joined() -> None:
    finished("x")
    assert not {"joined", "from"} & json.loads(Path("x/run.json").read_text()).keys()
    assert load("x").curve.attrs == {}
    for joined in ([400], [400, 500]):
        further("x", 100).save("x", overwrite=True)
        assert json.loads(Path("x/run.json").read_text())["joined"] == joined
        total = joined[-1] + 100
        assert load("x").config.steps == total
        assert load("x").curve.groupby("seed").step.max().between(total, total + 100).all()
    assert load("x").curve.attrs == load("x").only(1).curve.attrs == {"joined": [400, 500]}


def test_a_run_says_whose_agents_it_started_from_even_if_it_is_resumed(monkeypatch: Patch) -> None:
    interrupted(Path("second"), CONFIG, PLAIN, 1, monkeypatch, start=load(finished("first")).agent)
    resume("second").save("second")
    assert load("second").curve.attrs == {"from": "first"}
    assert further("second", 100).curve.attrs == {"from": "first", "joined": [400]}


def test_other_agents_are_no_start() -> None:
    train(CONFIG, PLAIN).save("x")
    for config, tricks, message in (
        (replace(CONFIG, env="Acrobot-v1"), PLAIN, r"have observations \[4\] and 2 actions, and this task has"),
        (replace(CONFIG, seeds=3, lanes=3), PLAIN, "it has 2 seeds, and this training 3"),
        (replace(CONFIG, hidden=(4,)), PLAIN, r"is \[4, 8\] there and \[4, 4\] here; train with the same --hidden"),
        (CONFIG, PPO, "this training has no obs_stats.rows; train with the same tricks"),
    ):
        refusal(f"^cannot start from x: .*{message}", train, config, tricks, start=load("x").agent)


def test_the_shell_goes_on_and_starts_from(told: Callable[..., str]) -> None:
    small = "train ppo --lr-anneal --seeds 1 --lanes 2 --horizon 50 --hidden 8"
    told(f"{small} --steps 200 --out run --checkpoint-every 100")
    assert "continued from 200 to 300 steps" in told("train --continue run --steps 100 --schedule end")
    assert load("run").config.steps == 300
    assert load("run").curve.learning_rate.iloc[-1] == load("run").curve.learning_rate.iloc[-2]
    told(f"{small} --steps 100 --start-from run")
    for words, message in {
        "--continue run": "--continue needs --steps",
        "--continue run --steps 9 --lr 0.1": "it takes no --lr",
        "--continue run --steps 9 --schedule x": "schedule must be whole or end, not 'x'",
        "--schedule end": "--schedule needs --continue",
        "--start-from .": "no saved run in",
    }.items():
        assert message in told(f"train {words}", 2)

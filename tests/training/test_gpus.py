"""GPUs: one worker for each, jobs that any of them may train, and results that say so. None is needed here."""

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from support.jobs import JOB
from support.studies import study

from ablations.analysis.joining import merged
from ablations.analysis.studies import Done, Study, about_runs
from ablations.cli import main
from ablations.design.designs import ladder
from ablations.training import jobs, workers
from ablations.training.gpus import gpu_count, turns
from ablations.training.jobs import Job, compute, parse_result
from ablations.training.scores import scored
from ablations.training.workers import refuse_too_many, start_trainer, worker_count
from tricks import Config, InputError
from tricks.runs import sizes

KINDS = ("cuda", "cuda:1", "cpu")


def on(device: str) -> Job:
    return replace(JOB, config=replace(JOB.config, device=device))


def test_any_gpu_may_train_a_job_but_a_cpus_result_is_another() -> None:
    assert on("cuda").key == on("cuda:1").key != JOB.key
    assert on("cuda:1").what["config"]["device"] == "cuda"
    assert on("cpu:0").key == JOB.key
    assert "device" not in JOB.what["config"]


def test_a_device_is_looked_for_where_jobs_train() -> None:
    with pytest.raises(InputError, match=r"^no device 'cuda:7'"):
        worker_count(1, "cuda:7")
    assert worker_count(1, "cuda:7", scheduler="10.0.0.1:8786") == 1


def test_there_is_one_worker_per_gpu_unless_told_and_they_take_them_in_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[int] = []
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(torch.cuda, "set_device", taken.append)
    monkeypatch.setattr(workers, "find_device", lambda name: torch.device(name))
    monkeypatch.setattr(workers, "start_worker", lambda: None)
    monkeypatch.setattr(torch, "set_num_threads", lambda count: None)
    assert [worker_count(0, device) for device in KINDS] == [2, 1, os.cpu_count()]
    assert [gpu_count(device) for device in KINDS] == [2, 1, 0]
    assert worker_count(5, "cuda") == 5
    queue = turns("cuda", workers=5)
    for _ in range(5):
        start_trainer(queue)
    assert taken == [0, 1, 0, 1, 0]
    for device in KINDS[1:]:
        start_trainer(turns(device, workers=1))  # its jobs name their GPU, or need none
    assert len(taken) == 5


def test_what_is_on_a_gpu_takes_no_memory_of_the_host(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sizes, "free_memory", lambda device="cpu": 10**9)
    large = Config(seeds=1000, steps=100, lanes=64, horizon=512)
    with pytest.raises(InputError, match="of memory"):
        refuse_too_many([Job(large, JOB.tricks)], 1)
    refuse_too_many([Job(replace(large, device="cuda"), JOB.tricks)], 1)


def placed(device: str, first: int) -> Study:
    """A study on this device with two seeds from the first on."""
    made = study(ladder(["baseline"]), lambda on: 0, seeds=2)
    about, name = made.about.copy(), "made" + f"_from{first}" * (first > 0)
    about["made with"], about["seeds"] = {"device": [device]}, [first, first + 2]
    return replace(made, name=name, runs=made.runs.assign(seed=made.runs.seed + first), about=about)


def test_a_result_names_the_gpu_that_made_it_and_those_of_two_kinds_are_not_joined(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plain = parse_result(JOB, compute(JOB).text)
    monkeypatch.setattr(jobs, "gpu_name", lambda device: "Model T")
    named = parse_result(JOB, compute(JOB).text)
    assert (plain.made_with.get("gpu"), named.made_with["gpu"]) == (None, "Model T")
    there = scored(named, JOB.config.steps)
    made_with = about_runs("x", [Done(on("cuda:1"), "", there), Done(on("cuda:0"), "", there)], [0, 1])["made with"]
    assert (made_with["device"], made_with["gpu"]) == (["cuda"], ["Model T"])
    assert len(merged([placed("cuda", 0), placed("cuda", 2)])) == 1
    assert len(merged([placed("cpu", 0), placed("cuda", 2)])) == 2


SWEEP = "sweep --vary gamma=0.9,0.99"


@pytest.mark.parametrize(
    "command", ["run --suite classic", "run --suite worlds", "run --dry-run", "tune", "worlds", SWEEP, "random"]
)
def test_a_device_that_is_not_there_is_one_line_and_nothing_is_written(
    command: str, tmp_path: Path, refuses: Callable[..., None]
) -> None:
    refuses(main, [*command.split(), "--device", "cuda:7", "--out", str(tmp_path / "out")], "no device 'cuda:7'")
    assert not list(tmp_path.iterdir())


def test_the_default_device_by_any_name_finds_the_jobs_that_are_done(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    few = ["run", "--tricks", "baseline", "--steps", "64", "--seeds", "2", "--workers", "1", "--out", str(tmp_path)]
    for count, device in ((0, []), (2, ["--device", "cpu"]), (2, ["--device", "cpu:0"])):
        assert main([*few, *device]) == 0
        assert f"2 jobs, {count} of them done before" in capsys.readouterr().out

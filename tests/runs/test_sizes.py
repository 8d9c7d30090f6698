"""Sizes that the machine does not have are refused in one line, before memory is taken."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from support.fixtures import Capture, Patch, Refuses, refusal

from tricks import PPG, PPO, REINFORCE, Config, Tricks, named, train, training
from tricks.cli.main import main
from tricks.core import machine
from tricks.core.machine import Need, free_memory, in_words, left_in_groups, refuse_too_large
from tricks.envs.make import make_env
from tricks.reuse import MOST_STEPS, refuse_endless
from tricks.training import needs

TINY = Config(seeds=1, steps=64, lanes=2, horizon=16, hidden=(8,))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("--steps 999999999999999", "lower --steps"),
        ("--hidden 100000000", "lower --hidden"),
        ("--lanes 100000000", "lower --lanes"),
        ("--epochs 100000000000000", "lower --epochs or --minibatches"),
        ("--backend gymnasium --env Acrobot-v1 --lanes 3000000 --horizon 1 --minibatches 1", "30,000,000 lanes"),
        ("--eval-every 10 --eval-episodes 1000000000", "lower --eval-episodes"),
        ("--recurrent --recurrent-size 4096 --lanes 4096", "4,096, and this machine has 100 GB free; lower"),
    ],
)
def test_what_cannot_fit_is_refused_at_once(options: str, said: str, refuses: Refuses, monkeypatch: Patch) -> None:
    monkeypatch.setattr(machine, "free_memory", lambda device="cpu": 10**11)
    refuses(main, ["train", "ppo", *options.split()], said)


def test_games_that_cannot_fit_are_refused() -> None:
    said = r"1,000,000,000 games at once, and this machine has .*; lower --episodes"
    refusal(said, train(TINY, PPO).evaluate, 1_000_000_000)


def test_the_message_says_both_sizes_and_the_most_exceptional_number(monkeypatch: Patch) -> None:
    monkeypatch.setattr(machine, "free_memory", lambda device="cpu": 20 * 10**9)
    said = r"at least 5.94 TB of memory, .* this machine has 20 GB free; lower --lanes or --h"
    refusal(said, refuse_too_large, needs(Config(lanes=10**7, horizon=1024), PPO))
    refuse_too_large([Need("a list", 20 * 10**9, ("lanes",))])  # just fits
    assert [in_words(x) for x in (10, 6.4e12, 2.04e10, 1e30)] == ["10 bytes", "6.4 TB", "20.4 GB", "1.0e+12 EB"]


def test_rollouts_that_are_stored_count_only_as_far_as_the_steps_reach() -> None:
    def stored(aux_every: int) -> int:
        (found,) = (need for need in needs(Config(aux_every=aux_every), PPG) if "stored" in need.what)
        return found.bytes

    assert stored(16) == 2 * stored(8)
    assert stored(10**12) == stored(98)  # 100,000 steps are 98 rollouts of 1024


PEAK = """
import json, sys
from tricks import Config, train
from tricks.ladder import named
def status(name):
    (line,) = (line for line in open("/proc/self/status") if line.startswith(name))
    return int(line.split()[1]) * 1024
config = Config(**json.loads(sys.argv[2]))
train(Config(seeds=1, steps=64, lanes=2, horizon=16, minibatches=2, hidden=(8,)), named(sys.argv[1]))
before = status("VmRSS:")
train(config, named(sys.argv[1]))
print(status("VmHWM:") - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads the peak from /proc")
@pytest.mark.parametrize(
    ("rung", "numbers"),
    [
        ("reinforce", '{"steps": 4000, "lanes": 64, "horizon": 256}'),
        ("recurrent", '{"steps": 2000, "lanes": 16, "horizon": 64, "epochs": 1, "recurrent_size": 128}'),
        pytest.param("ppo", '{"steps": 20000, "lanes": 64, "horizon": 256}', marks=pytest.mark.slow),
        pytest.param("ppo", '{"steps": 1024, "hidden": [512, 512], "epochs": 1}', marks=pytest.mark.slow),
    ],
)
def test_the_bound_is_never_more_than_the_measured_peak(rung: str, numbers: str) -> None:
    command = [sys.executable, "-c", PEAK, rung, numbers]
    peak = int(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    config = Config(**json.loads(numbers))
    env = make_env(replace(config, seeds=1, lanes=1))
    bound = sum(need.bytes for need in needs(config, named(rung), env.spaces))
    assert 0.1 < bound / peak < 1


def test_a_control_group_with_a_limit_counts_and_those_above_it_do(tmp_path: Path) -> None:
    (tmp_path / "job" / "step").mkdir(parents=True)
    (tmp_path / "cgroup").write_text("0::/job/step\n")
    for folder, limit in ((tmp_path, "1000\n"), (tmp_path / "job", "max"), (tmp_path / "job" / "step", "600\n")):
        for name, text in {"max": limit, "current": "700", "stat": "anon 300\nfile 400\n"}.items():
            (folder / f"memory.{name}").write_text(text)
    left = list(left_in_groups(tmp_path / "cgroup", tmp_path))
    assert left == [300, 700]  # the cache of files makes room
    assert 0 < free_memory() < 10**15


@pytest.mark.parametrize(
    ("numbers", "tricks", "said"),
    [
        ({"minibatches": 33}, PPO, "33 minibatches are more than the 32 rows of a batch"),
        ({"minibatches": 33}, PPG, "33 minibatches are more than the 32 rows of a batch"),
        ({"epochs": 10**6}, PPO, "1000000 epochs × 4 minibatches are more than 1,000,000 gradient steps in one update"),
        ({"aux_epochs": 10**6}, PPG, "lower --aux-epochs or --minibatches"),
        ({"aux_epochs": 1000, "aux_every": 1000}, PPG, "1000 aux_epochs × 4 minibatches × 1000 rollouts are more than"),
        ({"value_epochs": 10**6}, named("separate_optimizers"), "lower --value-epochs or --minibatches"),
    ],
)
def test_more_minibatches_than_rows_and_endless_updates_are_refused(numbers: dict, tricks: Tricks, said: str) -> None:
    refusal(said, train, replace(TINY, **numbers), tricks)
    for without_reuse in (REINFORCE, named("baseline+separate_optimizers")):  # which have neither of them
        train(replace(TINY, **numbers), without_reuse)
    refuse_endless("epochs", replace(TINY, epochs=MOST_STEPS // 4))  # as many steps as there may be
    train(replace(TINY, minibatches=32, epochs=1), tricks)  # as many as rows


def test_compile_without_a_compiler_says_so(refuses: Refuses, monkeypatch: Patch) -> None:
    monkeypatch.setenv("CXX", "/nowhere/g++")
    refuses(main, ["train", "ppo", "--compile"], "compile needs the C++ compiler /nowhere/g++, which is not installed")
    monkeypatch.delenv("CXX")
    monkeypatch.setenv("PATH", "/nowhere")
    refuses(main, ["train", "ppo", "--compile"], "which is not installed")


def test_what_takes_much_memory_is_announced_from_the_same_estimate(monkeypatch: Patch, capsys: Capture) -> None:
    monkeypatch.setattr(machine, "free_memory", lambda device="cpu": 10**11)
    large = replace(TINY, steps=10**8, lanes=8000, horizon=500)
    env = training.open_env(large, PPG)
    total = in_words(sum(need.bytes for need in needs(large, PPG, env.spaces)))
    said = f"this needs at least {total} of memory, most of it for 8 stored rollouts\n"
    assert capsys.readouterr().err == said

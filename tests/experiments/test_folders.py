"""A folder holds the answer to one question: another question never replaces it, and more seeds do."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ablations import Arm
from ablations.design.arms import Design
from ablations.experiments.requests import Request, name_of_request, settings_of
from ablations.training import jobs
from tricks import PPO, REINFORCE, Config

CONFIG = Config("tricks/Corridor-v0", steps=320, lanes=2, horizon=16, minibatches=2)
CARTPOLE = replace(CONFIG, env="CartPole-v1")
ARMS = (Arm("ppo", PPO), Arm("other", REINFORCE))
PLAIN = Request(ARMS, CONFIG, (0, 1))


def halved(ratio: Any, advantage: Any, clip_range: Any) -> Any:
    return ratio * advantage / 2


def doubled(ratio: Any, advantage: Any, clip_range: Any) -> Any:
    return ratio * advantage * 2


def with_function(function: Callable[..., Any]) -> tuple[Arm, Arm]:
    return ARMS[0], Arm("other", PPO, functions={"clipped_surrogate": function})


OTHERS = {
    "another environment": PLAIN._replace(config=replace(CONFIG, env="tricks/NoisyChain-v0")),
    "an argument of it": PLAIN._replace(config=replace(CARTPOLE, env_args={"sutton_barto_reward": True})),
    "its plain form": PLAIN._replace(config=CARTPOLE),
    "a wrapper": PLAIN._replace(config=replace(CARTPOLE, wrap=("gymnasium.wrappers:FlattenObservation",))),
    "steps": PLAIN._replace(config=replace(CONFIG, steps=640)),
    "lanes": PLAIN._replace(config=replace(CONFIG, lanes=4)),
    "a backend": PLAIN._replace(config=replace(CONFIG, backend="tensor")),
    "a learning rate": PLAIN._replace(config=replace(CONFIG, lr=0.5)),
    "chosen rates": PLAIN._replace(rates=(0.001, 0.003)),
    "other seeds for them": PLAIN._replace(rates=(0.001, 0.003), rate_seeds=3),
    "tuned": PLAIN._replace(rates=None),
    "flags of an arm of that name": PLAIN._replace(arms=(ARMS[0], Arm("other", replace(PPO, gae=False)))),
    "numbers of an arm of that name": PLAIN._replace(arms=(ARMS[0], Arm("other", REINFORCE, {"lr": 0.7}))),
    "a function": PLAIN._replace(arms=with_function(halved)),
    "another function": PLAIN._replace(arms=with_function(doubled)),
    "a reference": PLAIN._replace(against="other"),
    "a margin": PLAIN._replace(margin=0.5),
    "a first seed": PLAIN._replace(seeds=(1, 2)),
    "a design": PLAIN._replace(design=Design("ppo_vs_other", (), ARMS)),
}


def name_of(asked: Request, out: Path) -> str:
    return name_of_request(asked, settings_of(asked), out)


def test_every_question_has_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = {"as it is": name_of(PLAIN, tmp_path)} | {what: name_of(asked, tmp_path) for what, asked in OTHERS.items()}
    monkeypatch.setattr(jobs, "ALGORITHM", jobs.ALGORITHM + 1)
    names["another algorithm"] = name_of(PLAIN, tmp_path)
    twice = {what: name for what, name in names.items() if list(names.values()).count(name) > 1}
    assert not twice


def test_the_same_question_has_the_same_folder_and_more_seeds_too(tmp_path: Path) -> None:
    name = name_of(PLAIN, tmp_path)
    assert name_of(PLAIN._replace(against="ppo"), tmp_path) == name
    (tmp_path / name).mkdir()
    (tmp_path / name / "runs.csv").write_text("arm,seed\nppo,0\nppo,1\n")
    assert name_of(PLAIN, tmp_path) == name_of(PLAIN._replace(seeds=(0, 1, 2)), tmp_path) == name
    fewer, with_a_gap = (name_of(PLAIN._replace(seeds=seeds), tmp_path) for seeds in ((0,), (0, 2)))
    assert len({name, fewer, with_a_gap}) == 3
    (tmp_path / name / "runs.csv").write_bytes(b"\xff\x00")  # damaged: it can be made again
    assert name_of(PLAIN._replace(seeds=(0,)), tmp_path) == name


def test_a_function_whose_file_changed_is_another_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from ablations.design.own_file import function_from

    file, names = tmp_path / "mine.py", []
    for factor in (2, 3, 2):
        file.write_text(f"def mine(ratio, advantage, clip_range):\n    return ratio * {factor}\n")
        names.append(name_of(PLAIN._replace(arms=with_function(function_from(f"{file}:mine"))), tmp_path))
    assert names[0] == names[2] != names[1]

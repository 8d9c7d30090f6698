"""A folder holds the answer to one question: another question never replaces it, and more seeds do."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from support.studies import study

from ablations import Arm
from ablations.analysis.study_files import load, refuse_another, refuse_others, save
from ablations.design.arms import Design
from ablations.design.designs import ladder
from ablations.experiments.requests import Request, name_of_request, settings_of
from ablations.training import jobs
from ablations.training.plan import plans
from ablations.training.questions import asked_of, refuse_other_answer
from ablations.training.rates import FIXED, Rate
from ablations.training.what import What
from tricks import PPO, REINFORCE, Config, InputError

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
    "an argument of it": PLAIN._replace(config=replace(CARTPOLE, env_args=("sutton_barto_reward=True",))),
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


def stored(folder: Path) -> Path:
    return save(study(ladder(["baseline"]), lambda _: 0, seeds=8), folder)[1]


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"env": "Acrobot-v1"}, "holds another study, on CartPole-v1 with 100,000 steps"),
        ({"steps": 7}, "holds another study, on CartPole-v1 with 100,000 steps"),
        ({"gamma": 0.5}, "with the usual numbers"),
        ({"wrap": ("gymnasium.wrappers:FlattenObservation",)}, "with the usual numbers"),
        ({"env_args": {"x": 1}}, "with the usual numbers"),
        ({"device": "cuda"}, "device cpu"),
    ],
)
def test_a_study_of_one_name_and_another_question_is_not_replaced(
    changed: dict[str, Any], said: str, tmp_path: Path
) -> None:
    path = stored(tmp_path)
    refuse_another(path, Config())
    with pytest.raises(InputError, match=said):
        refuse_another(path, replace(Config(), **changed))


def test_a_study_at_other_rates_or_of_other_code_is_not_replaced(tmp_path: Path) -> None:
    path = stored(tmp_path)  # at a rate of 0.02
    job, tuned, fixed = jobs.Job(Config(), REINFORCE), Rate(0.02), Rate(0.5, FIXED)
    refuse_others(path, {job: tuned})
    refuse_others(path, {job: fixed})  # which the study's name says
    refuse_others(tmp_path / "nothing", {job: Rate(0.03)})
    with pytest.raises(InputError, match=r"reinforce on CartPole-v1 at learning rate 0\.02, which is 0\.03 now"):
        refuse_others(path, {job: Rate(0.03)})
    made = load(path)
    noted = made.about["made with"] | {"own code": ["1a2b"]}
    save(replace(made, about=made.about | {"made with": noted}), tmp_path)
    with pytest.raises(InputError, match="made with another version of your module"):
        refuse_others(path, {job: tuned})


def test_a_module_of_one_s_own_counts_in_every_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After a change of its file, no finished job and no stored study stands for it."""
    home = tmp_path / "mine_of_folders.py"
    home.write_text(
        "import gymnasium as gym\n\ngym.register('Mine-v0', 'gymnasium.envs.classic_control:CartPoleEnv')\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    config, keys = Config("mine_of_folders:Mine-v0"), []
    for line in ("", "# changed\n"):
        home.write_text(home.read_text() + line)
        (plan,) = plans(What(env=config.env, tricks="baseline", steps=64), "1")
        asked = asked_of(config, REINFORCE, [jobs.job_of(config, REINFORCE)])
        keys.append((next(iter(plan.jobs)).key, jobs.job_of(config, REINFORCE).key, asked["own_code"]))
    assert all(before != after for before, after in zip(*keys, strict=True))
    assert jobs.job_of(Config(), REINFORCE).own is None


def test_a_table_of_agents_gives_way_to_the_same_question_only(tmp_path: Path) -> None:
    path, config = tmp_path / "x.sweep.csv", replace(CONFIG, steps=64)
    asked = asked_of(config, PPO, [jobs.Job(config, PPO)])
    refuse_other_answer(path, asked)
    pd.DataFrame([{"score": 1.0, **asked}]).to_csv(path, index=False)
    refuse_other_answer(path, asked)
    for name, other in {
        "env": asked_of(replace(config, env="tricks_Corridor-v0"), PPO, []),
        "steps": asked_of(replace(config, steps=65), PPO, []),
        "flags": asked_of(config, REINFORCE, []),
        "numbers": asked_of(replace(config, gamma=0.5), PPO, []),
        "device": asked_of(replace(config, device="cuda:1"), PPO, []),
        "algorithm": asked | {"algorithm": jobs.ALGORITHM + 1},
        "own code": asked | {"own_code": "1a2b"},
    }.items():
        with pytest.raises(InputError, match=f"holds other results, with {name} .*, where this one has .*; choose"):
            refuse_other_answer(path, other)
    pd.DataFrame([{"score": 1.0, "env": config.env}]).to_csv(path, index=False)
    refuse_other_answer(path, asked)  # an older table, which does not say more
    path.write_bytes(b"\xff\xfe")
    refuse_other_answer(path, asked)

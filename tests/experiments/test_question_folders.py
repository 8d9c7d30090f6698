"""A folder holds the answer to one question: another question never replaces it, and more seeds do."""

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
from ablations.design.own_file import function_from
from ablations.experiments.requests import Request, name_of_request, settings_of
from ablations.training import jobs
from ablations.training.plan import plans
from ablations.training.questions import asked_of, refuse_other_answer
from ablations.training.rates import FIXED, Rate
from ablations.training.what import What
from tricks import PPO, REINFORCE, Config, InputError

Patch = pytest.MonkeyPatch
CONFIG = Config("tricks/Corridor-v0", steps=320, lanes=2, horizon=16, minibatches=2)
CARTPOLE = replace(CONFIG, env="CartPole-v1")
ARMS = (Arm("ppo", PPO), Arm("other", REINFORCE))
PLAIN = Request(ARMS, CONFIG, (0, 1))


def halved(ratio: Any, advantage: Any, clip_range: Any) -> Any:
    return ratio * advantage / 2


def doubled(ratio: Any, advantage: Any, clip_range: Any) -> Any:
    return ratio * advantage * 2


def other_arm(*given: Any, **functions: Any) -> Request:
    return PLAIN._replace(arms=(ARMS[0], Arm("other", *given, functions=functions)))


OTHERS = [
    PLAIN,
    *(
        PLAIN._replace(config=replace(config, **{name: x}))
        for config, name, x in (
            (CONFIG, "env", "tricks/NoisyChain-v0"),
            (CARTPOLE, "env_args", ("sutton_barto_reward=True",)),
            (CARTPOLE, "env", "CartPole-v1"),  # its plain form
            (CARTPOLE, "wrap", ("gymnasium.wrappers:FlattenObservation",)),
            *((CONFIG, name, x) for name, x in (("steps", 640), ("lanes", 4), ("backend", "tensor"), ("lr", 0.5))),
        )
    ),
    PLAIN._replace(rates=(0.001, 0.003)),
    PLAIN._replace(rates=(0.001, 0.003), rate_seeds=3),
    PLAIN._replace(rates=None),  # tuned
    other_arm(replace(PPO, gae=False)),
    other_arm(REINFORCE, {"lr": 0.7}),
    other_arm(PPO, clipped_surrogate=halved),
    other_arm(PPO, clipped_surrogate=doubled),
    PLAIN._replace(against="other"),
    PLAIN._replace(margin=0.5),
    PLAIN._replace(seeds=(1, 2)),
    PLAIN._replace(design=Design("ppo_vs_other", (), ARMS)),
]


def name_of(asked: Request, out: Path) -> str:
    return name_of_request(asked, settings_of(asked), out)


def test_every_question_has_a_folder_of_its_own(tmp_path: Path, monkeypatch: Patch) -> None:
    names = [name_of(asked, tmp_path) for asked in OTHERS]
    file = tmp_path / "mine.py"
    for factor in (2, 3, 2):  # a function whose file changed is another one
        file.write_text(f"def mine(ratio, advantage, clip_range):\n    return ratio * {factor}\n")
        names.append(name_of(other_arm(PPO, clipped_surrogate=function_from(f"{file}:mine")), tmp_path))
    assert names.pop() == names[-2]
    monkeypatch.setattr(jobs, "ALGORITHM", jobs.ALGORITHM + 1)
    names.append(name_of(PLAIN, tmp_path))
    assert len(set(names)) == len(names)


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


USUAL = "with the usual numbers"
CHANGED: list[tuple[dict[str, Any], str]] = [
    *(({name: x}, "on CartPole-v1 with 100,000 steps") for name, x in (("env", "Acrobot-v1"), ("steps", 7))),
    *(({name: x}, USUAL) for name, x in (("gamma", 0.5), ("env_args", {"x": 1}))),
    ({"wrap": ("gymnasium.wrappers:FlattenObservation",)}, USUAL),
    ({"device": "cuda"}, "device cpu"),
]


def test_a_study_of_one_name_and_another_question_rate_or_code_is_not_replaced(tmp_path: Path) -> None:
    _, path = save(study(ladder(["baseline"]), lambda _: 0, seeds=8), tmp_path)  # at a rate of 0.02
    refuse_another(path, Config())
    for changed, said in CHANGED:
        with pytest.raises(InputError, match=f"holds another study, .*{said}"):
            refuse_another(path, replace(Config(), **changed))
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


def test_a_module_of_one_s_own_counts_in_every_command(tmp_path: Path, monkeypatch: Patch) -> None:
    """After a change of its file, no finished job and no stored study stands for it."""
    home = tmp_path / "mine_of_folders.py"
    home.write_text("import gymnasium as gym\ngym.register('Mine-v0', 'gymnasium.envs.classic_control:CartPoleEnv')\n")
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

"""The text of a job's result: older versions' results still count, and anything that is not a result doesn't."""

import hashlib
from dataclasses import field, fields, make_dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from support.jobs import JOB

from ablations.design.flag_sets import signed
from ablations.training import jobs
from ablations.training.jobs import Job, compute, parse_result, result_text
from ablations.training.store import Store
from ablations.training.tagged_csv import tagged, untagged
from tricks import PPO, REINFORCE, Config, train
from tricks.runs.learning_curve import COLUMNS


def test_a_result_without_a_diagnostic_that_is_younger_than_it_still_counts() -> None:
    about, curve = untagged(compute(JOB).text)
    whole = parse_result(JOB, tagged(about, curve, digits=6)).curve
    young = ["policy_age", "entropy"]
    older = parse_result(JOB, tagged(about, curve.drop(columns=young), digits=6)).curve
    assert tuple(older) == COLUMNS
    assert older[young].isna().all(axis=None)
    pd.testing.assert_frame_equal(older.drop(columns=young), whole.drop(columns=young))
    for strange in (curve.drop(columns=["return"]), curve.assign(mood=1.0)):
        with pytest.raises(ValueError, match="it is not the result of a job"):
            parse_result(JOB, tagged(about, strange, digits=6))


def test_what_a_result_says_of_its_training_is_typed() -> None:
    result = parse_result(JOB, compute(JOB).text)
    assert result.diverged == {}
    assert result.steps == sum(result.curve.groupby("seed").step.max())
    assert result.seconds > 0
    assert set(result.made_with) == {"tricks", "torch", "numpy", "numba", "gymnasium", "python", "machine", "commit"}


def test_an_arm_of_the_rewards_sign_is_trained_as_the_switch_would_train_it() -> None:
    config = Config("tricks/CartPoleReward100-v0", seeds=1, steps=400, lanes=2, horizon=16)
    arm, plain, switch = Job(config, signed(PPO.on)), Job(config, PPO), Job(replace(config, reward_sign=True), PPO)
    assert arm.what == switch.what != plain.what
    curves = [parse_result(job, compute(job).text).curve for job in (arm, switch, plain)]
    pd.testing.assert_frame_equal(curves[0], curves[1])
    assert not curves[0].equals(curves[2])
    assert curves[0]["return"].max() >= 500  # the score still is 100 a step


def test_a_tagged_csv_is_read_back() -> None:
    rows = pd.DataFrame({"a": [1, 2], "b": [0.123456789, 2.0]})
    text = tagged({"made with": ["x"]}, rows, digits=3)
    blank = '# {"made with": ["x"], "sha256": ""}\na,b\n1,0.123\n2,2\n'
    checksum = hashlib.sha256(blank.encode()).hexdigest()
    assert text == blank.replace('""', f'"{checksum}"')
    about, again = untagged(text, dtype={"a": str})
    assert about == {"made with": ["x"], "sha256": checksum}
    assert again.a.tolist() == ["1", "2"]


def test_a_job_is_named_by_what_it_computes() -> None:
    same = Job(replace(JOB.config, seeds=2), REINFORCE)
    assert same.key == JOB.key  # a count and the seeds themselves are the same job
    assert Job(replace(JOB.config, seeds=(1, 0)), REINFORCE).key != JOB.key
    assert Job(JOB.config, PPO).key != JOB.key
    other: dict[str, Any] = {"env": "Acrobot-v1", "backend": "gymnasium", "device": "cuda", "seeds": 3, "hidden": (4,)}
    other |= {"activation": "relu", "obs_decay": 0.1, "log_std_init": -1.0}
    other |= {"env_args": {"a": 1}, "wrap": "a:B", "stack": 4, "recurrent_cell": "gru", "record": "cost"}
    for f in fields(Config):
        x = getattr(JOB.config, f.name)
        value: Any = other[f.name] if f.name in other else not x if isinstance(x, bool) else x / 2
        changed: Any = {f.name: value}
        assert Job(replace(JOB.config, **changed), REINFORCE).key != JOB.key, f.name


def test_another_algorithm_makes_another_job_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    before = JOB.key
    monkeypatch.setattr(jobs, "ALGORITHM", jobs.ALGORITHM + 1)
    assert JOB.key != before


def test_a_job_stays_finished_when_the_numbers_become_more() -> None:
    assert set(JOB.what["config"]) == {"env", "seeds", "steps", "lanes", "horizon"}  # what JOB does not leave as it is
    younger: Any = make_dataclass("Younger", [("mood", float, field(default=0.5))], bases=(Config,), frozen=True)
    config = younger(**{f.name: getattr(JOB.config, f.name) for f in fields(Config)})
    assert Job(config, REINFORCE).key == JOB.key
    assert Job(replace(config, mood=0.6), REINFORCE).key != JOB.key


def test_a_result_is_read_back(tmp_path: Path) -> None:
    store, run = Store(tmp_path), train(JOB.config, JOB.tricks)
    assert store.read(JOB) is None
    store.put(JOB, result_text(JOB, run, 1.0))
    result = store.read(JOB)
    assert result is not None
    pd.testing.assert_frame_equal(result.curve, run.curve, rtol=1e-5)

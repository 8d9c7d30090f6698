"""Results of another ALGORITHM are never used as this one's, nor put together with them; each can be read alone."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from support.jobs import SMALL
from support.studies import study

from ablations import compare, read
from ablations.analysis.joining import merged
from ablations.analysis.studies import Study
from ablations.analysis.study_files import load, load_all, save
from ablations.cli import main
from ablations.design.designs import ladder
from ablations.training import jobs, rate_table, workers
from ablations.training.rate_table import COLUMNS, read_table, store_table, use
from ablations.training.store import Store
from ablations.training.tagged_csv import tagged
from ablations.training.workers import run_jobs
from tricks import Config, InputError

NOW = jobs.ALGORITHM


@pytest.fixture
def by(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Sets the library's algorithm; jobs train in this process, since workers would have the real one."""
    monkeypatch.setattr(workers, "in_pool", lambda some, *_: ((job, jobs.compute(job)) for job in some))
    return lambda now: monkeypatch.setattr(jobs, "ALGORITHM", now)


def made_by(algorithm: int | None, env: str = "CartPole-v1", first: int = 0) -> Study:
    made = study(ladder(["baseline"]), lambda _: 0, env=env)
    by = {} if algorithm is None else {"algorithm": [str(algorithm)]}
    about = made.about | {"made with": made.about["made with"] | by, "seeds": [first, first + 8]}
    runs = made.runs.assign(seed=made.runs.seed + first)
    return replace(made, name=f"ladder_{env}" + f"_from{first}" * bool(first), runs=runs, about=about)


def test_a_job_of_another_algorithm_is_trained_anew_and_a_line_says_so(
    tmp_path: Path, by: Callable[[int], None], capsys: pytest.CaptureFixture[str]
) -> None:
    store = Store(tmp_path)
    for now in (NOW, NOW + 1, NOW - 1, NOW - 1):
        by(now)
        known = store.has(SMALL)
        assert not run_jobs([SMALL], store, 1)
        said = f"results are by ALGORITHM {NOW}, and this version's is {now}: 1 of 1 jobs"
        assert (said in capsys.readouterr().out) == (now != NOW and not known)
        assert store.has(SMALL)
    assert len(list(tmp_path.glob("*.csv"))) == 3


@pytest.mark.parametrize("other", [NOW - 1, NOW + 1, None])
def test_studies_of_two_algorithms_are_not_joined_and_not_reported_together(
    other: int | None, tmp_path: Path, refuses: Callable[..., None]
) -> None:
    one, two = made_by(NOW), made_by(other, first=8)
    assert len(merged([one, made_by(NOW, first=8)])) == 1
    assert len(merged([one, two])) == 2
    paths = [save(each, tmp_path)[1] for each in (one, two)]
    named = f"{two.name} is by {f'ALGORITHM {other}' if other else 'an older ALGORITHM'}"
    with pytest.raises(InputError, match=named):
        load_all(tmp_path)
    refuses(main, ["report", "--out", str(tmp_path)], f"{one.name} is by ALGORITHM {NOW}")
    refuses(main, ["plot", *map(str, paths), "--out", str(tmp_path / "plot")], named)
    with pytest.raises(InputError, match="they are never put together"):
        read(tmp_path)
    assert [len(read(path).runs) for path in paths] == [16, 16]
    (tmp_path / "two").mkdir()
    save(made_by(other, env="Acrobot-v1"), tmp_path / "two")  # nor those of two environments
    save(one, tmp_path / "two")
    with pytest.raises(InputError, match=f"ALGORITHM {other}" if other else "an older ALGORITHM"):
        load_all(tmp_path / "two")


def test_a_study_of_another_algorithm_is_kept_beside_the_new_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, path = save(made_by(NOW - 1), tmp_path)
    save(made_by(NOW), tmp_path)
    (kept,) = tmp_path.glob("*-kept")
    assert f"kept {path}, which is of another ALGORITHM, as {kept.name}" in capsys.readouterr().out
    assert load(kept).algorithm == str(NOW - 1)
    assert [each.algorithm for each in load_all(tmp_path)] == [str(NOW)]


def test_comparisons_say_by_which_algorithm_they_are(tmp_path: Path, by: Callable[[int], None]) -> None:
    config = Config("tricks/Corridor-v0", steps=64, lanes=2, horizon=16)
    for now in (NOW, NOW + 1):
        by(now)
        found = compare(["ppo", "reinforce"], config, seeds=1, out=tmp_path, workers=1)
        assert set(read(found.files[0].parent).runs.algorithm) == {str(now)}
    with pytest.raises(InputError, match=r"is by ALGORITHM \d+ and .* is by ALGORITHM \d+"):
        read(tmp_path)


def test_rates_of_another_algorithm_are_refused(tmp_path: Path, by: Callable[[int], None]) -> None:
    path = tmp_path / "rates.csv"
    rows = pd.DataFrame([("CartPole-v1", 100, "", "", 0.01, 1.0, 1.0, 1, "1")], columns=COLUMNS)
    use(path)
    try:
        store_table(rows)
        assert len(read_table(path)) == 1
        by(NOW + 1)
        with pytest.raises(InputError, match=f"ALGORITHM {NOW} chose, and this version's is {NOW + 1}"):
            rate_table.table()
        for others in (rows.assign(surprise=1.0), rows.drop(columns="areas")):  # columns that this version doesn't have
            path.write_text(tagged({"rows": 1, "algorithm": NOW, "mood": "good"}, others, digits=None))
            with pytest.raises(InputError, match=f"ALGORITHM {NOW} chose"):
                read_table(path)
        assert len(read_table(rate_table.TABLE))  # the package's own, of several algorithms, is used as ever
    finally:
        use(None)

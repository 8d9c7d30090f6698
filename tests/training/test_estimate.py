"""Before anything is trained: which jobs are already done, and how long the rest will take."""

from dataclasses import replace
from pathlib import Path

import pytest
from support.jobs import JOB, TINY

from ablations.cli import main
from ablations.training.estimate import PROBES, SHARE, estimate, makespan, price, probes, short
from ablations.training.jobs import Job, compute, parse_result
from ablations.training.plan import plans
from ablations.training.store import Store
from ablations.training.what import What
from ablations.training.workers import record
from tricks import REINFORCE, Config, InputError
from tricks.ladder import NEEDS, switched
from tricks.runs.files import HOST


def test_an_estimate_adds_up_the_prices_of_the_jobs_most_like_each() -> None:
    assert makespan([3, 1, 1, 2], workers=2) == 4  # 3 beside 1, 1, 2
    assert makespan([1, 1, 4], workers=2) == 5  # the long one last
    ladder = [Job(Config(), switched(list(NEEDS)[:k])) for k in range(17)]
    assert len(probes(ladder, workers=2)) == PROBES
    assert probes(ladder, workers=2)[:: PROBES - 1] == [ladder[0], ladder[-1]]
    same = [Job(Config(seeds=(k,)), REINFORCE) for k in range(5)]
    assert probes(same, workers=3) == same[:3]  # as many at once as there will be
    assert short(ladder[0]).config.steps == SHARE * 100_000
    prices = {short(ladder[0]): 1.0, short(ladder[2]): 3.0, short(ladder[6]): 8.0}
    assert price(ladder[5], prices) == 8.0
    assert price(ladder[1], prices) == 2.0  # one flag from both


def test_a_dry_run_says_what_is_done_and_changes_nothing_on_the_disk(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    what = ["run", "--tricks", "baseline", "--steps", "300", "--seeds", "2", "--workers", "1", "--dry-run"]
    assert main([*what, "--out", str(tmp_path / "absent")]) == 0
    assert "2 jobs, 0 of them done before; each arm trains seeds 0 to 9\n" in capsys.readouterr().out
    assert not list(tmp_path.iterdir())
    (plan,) = plans(What(tricks="baseline", steps=300), "2")
    done, damaged = plan.jobs
    store = Store(tmp_path / "jobs")
    assert not record(done, store, compute(done))
    (store.folder / f"{damaged.key}.csv").write_text("damaged")
    (store.folder / f".{done.key}.csv.{HOST}.{2**22 + 1}").write_text("half")  # of a process that cannot be
    before = {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in store.folder.iterdir()}
    assert len(before) == 3
    assert main([*what, "--out", str(tmp_path)]) == 0
    said = capsys.readouterr().out
    assert "1 of them done before" in said
    assert "  reinforce (1 of 1 jobs done)\n  + baseline\n" in said
    assert {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in store.folder.iterdir()} == before
    assert [path.name for path in tmp_path.iterdir()] == ["jobs"]


def test_an_estimate_leaves_out_what_is_done_and_says_what_cannot_be(tmp_path: Path) -> None:
    store = Store(tmp_path)
    assert not record(JOB, store, compute(JOB))
    assert estimate([JOB], store, workers=2) == 0
    with pytest.raises(InputError, match=r"^no job can be trained: .*Nonsense"):
        estimate([Job(replace(TINY, env="Nonsense-v0"), REINFORCE)], store, workers=1)
    assert 0 < estimate([JOB, Job(replace(TINY, lr=0.5), REINFORCE)], store, workers=1) < 60
    assert parse_result(JOB, (tmp_path / f"{JOB.key}.csv").read_text())
    assert len(list(tmp_path.iterdir())) == 1  # probes are no results

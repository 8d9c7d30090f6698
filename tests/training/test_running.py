"""Running jobs: whatever is killed, signaled, truncated or full, finished work stays, and the same command does only
the rest, in workers of its own, on GPUs or on a cluster, and says beforehand how long it will take."""

import multiprocessing
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psutil
import pytest
import torch
from support.commands import begin, ended
from support.jobs import JOB, JOBS, TINY, content
from support.many_jobs import DESIGNS, fill
from support.studies import study
from support.waiting import alive, until

from ablations.analysis.joining import merged
from ablations.analysis.studies import Done, Study, about_runs
from ablations.cli import main
from ablations.design.designs import ladder
from ablations.training import estimate, jobs, workers
from ablations.training.cluster import on_cluster, outcome_of
from ablations.training.gpus import gpu_count, turns
from ablations.training.jobs import Finished, Job, compute, parse_result
from ablations.training.plan import plans
from ablations.training.pools import deaf_children
from ablations.training.scores import scored
from ablations.training.store import Store
from ablations.training.what import What
from ablations.training.workers import in_pool, record, run_jobs, worker_count
from tricks import PPG, PPO, REINFORCE, Config, InputError
from tricks.core import memory
from tricks.ladder import NEEDS, switched
from tricks.runs.files import HOST, write_whole
from tricks.runs.progress import progress

Capture = pytest.CaptureFixture[str]
Patch = pytest.MonkeyPatch
FULL = Path("/dev/full")  # a file on which every write fails as on a full disk
COMMAND = ("run", "--tricks", "baseline", "--seeds", "20", "--workers", "2", "--out", "x")
BROKEN = Job(replace(TINY, env="Nonsense-v0"), REINFORCE)
unix = pytest.mark.skipif(sys.platform == "win32", reason="signals as Unix has them")


def run_all(folder: str) -> None:
    assert not run_jobs(JOBS, Store(Path(folder)), workers=2)


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> list[Any]:
    store = Store(tmp_path_factory.mktemp("reference"))
    assert not any(record(job, store, compute(job)) for job in JOBS)
    return [content(store, job) for job in JOBS]


def test_after_kill_9_no_worker_survives_and_only_the_rest_is_run(tmp_path: Path, reference: list[Any]) -> None:
    command = [sys.executable, "-c", "import sys, test_running; test_running.run_all(sys.argv[1])", str(tmp_path)]
    here = Path(__file__).parent  # and the tree that this process tests
    env = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, Path(__file__).parents[1:3]))}
    parent = subprocess.Popen(command, cwd=here, env=env, stderr=subprocess.DEVNULL)
    until(lambda: list(tmp_path.glob("*.csv")))
    children = psutil.Process(parent.pid).children(recursive=True)
    parent.kill()
    parent.wait()
    assert len(children) >= 2
    until(lambda: not any(map(alive, children)), seconds=10)

    done = {path: path.stat().st_mtime_ns for path in tmp_path.glob("*.csv")}
    assert 1 <= len(done) < len(JOBS)
    stale = tmp_path / f".{JOBS[0].key}.csv.{HOST}.{parent.pid}"  # as if killed while it wrote
    writing = tmp_path / f".{JOBS[1].key}.csv.{HOST}.{os.getppid()}"  # as if another process were at it
    elsewhere = tmp_path / f".{JOBS[1].key}.csv.elsewhere.{parent.pid}"
    for path in (stale, writing, elsewhere):
        path.write_text("half")
    run_all(str(tmp_path))
    assert {path: path.stat().st_mtime_ns for path in done} == done
    assert set(tmp_path.iterdir()) == {*(tmp_path / f"{job.key}.csv" for job in JOBS), writing, elsewhere}
    assert [content(Store(tmp_path), job) for job in JOBS] == reference


def _deadly(job: Job) -> int:
    if job == JOBS[0]:
        os._exit(9)  # as if there were no memory for it
    return job.config.seed_list[0]


def test_killed_workers_cost_nothing(tmp_path: Path, reference: list[Any], capsys: Capture, monkeypatch: Patch) -> None:
    def kill_one() -> None:
        until(lambda: list(tmp_path.glob("*.csv")))
        multiprocessing.active_children()[0].kill()

    killer = threading.Thread(target=kill_one)
    killer.start()
    assert run_jobs(JOBS, Store(tmp_path), workers=2) == {}
    killer.join()
    assert capsys.readouterr().err == "a worker process was killed; starting again with what is missing\n"
    assert [content(Store(tmp_path), job) for job in JOBS] == reference
    monkeypatch.setattr(workers, "TRIES", 2)
    found: list[int] = []
    with pytest.raises(InputError, match="keep being killed"):
        found.extend(seed for _, seed in in_pool(JOBS, 1, _deadly))
    assert sorted(found) == [1, 2, 3]


def test_a_damaged_file_is_named_and_set_aside_and_nothing_else_is_lost(tmp_path: Path, capsys: Capture) -> None:
    store, path, other = Store(tmp_path), tmp_path / f"{JOB.key}.csv", Job(replace(TINY, lr=0.5), REINFORCE)
    assert not record(JOB, store, compute(JOB)) and not record(other, store, compute(other))
    whole = path.read_bytes()
    header, _, rest = whole.partition(b"\n")
    lines = whole.splitlines(keepends=True)
    missing = [whole[:-1], whole[:-3], b"".join(lines[:-2])]  # a number of the last row has lost digits; two rows
    missing += [b"".join([*lines[:-1], last]) for last in (lines[-1].replace(b",", b",x", 1), b"7" + lines[-1])]
    damaged = {
        "it is not the result of a job": [b"", b"not a result", b"a,b\n1,2\n", header, b"[" * 100_000, b"# 5\n" + rest],
        "it belongs to another job": [(tmp_path / f"{other.key}.csv").read_bytes()],
        "rows are missing or damaged": missing,
        "codec can't decode": [b"\xff\xfe\x00" * 99],
    }
    for reason, texts in damaged.items():
        for text in texts:
            path.write_bytes(text)
            assert store.read(JOB) is None
            said = capsys.readouterr().err
            assert said.startswith(f"{path} is damaged and will be recomputed (") and reason in said
            assert said.count("\n") == 1
            assert not path.exists()
    expected = [text for texts in damaged.values() for text in texts]
    numbers = ["", *range(2, len(expected) + 1)]
    assert [path.with_suffix(f".damaged{number}").read_bytes() for number in numbers] == expected
    assert store.read(other) is not None


def test_what_cannot_be_read_written_or_removed_is_one_line_and_the_result_is_kept(tmp_path: Path) -> None:
    store, file, stale = Store(tmp_path), tmp_path / "file", tmp_path / f"{JOB.key}.error.txt"
    stale.mkdir()  # no unlink removes a folder, root's neither
    with pytest.raises(InputError, match=rf"^cannot remove {stale}: .+$"):
        record(JOB, store, compute(JOB))
    assert store.read(JOB) is not None
    (tmp_path / f"{JOBS[0].key}.csv").mkdir()  # as forbidden as anything to root, too
    with pytest.raises(InputError, match=r"^cannot read .*csv: Is a directory$"):
        store.read(JOBS[0])
    file.touch()
    for folder in (file, file / "x", Path("/dev/null/x")):
        with pytest.raises(InputError, match=f"^cannot write results to {folder}: "):
            Store(folder)
        with pytest.raises(InputError, match=f"^cannot write {folder / 'x'}: "):
            write_whole(folder / "x", "text")


@pytest.mark.skipif(not FULL.exists(), reason="this system has no /dev/full")
def test_a_full_disk_ends_in_one_line_and_keeps_what_is_finished(tmp_path: Path) -> None:
    store, jobs = Store(tmp_path), [replace(JOB, config=replace(TINY, seeds=(k,))) for k in range(3)]
    (tmp_path / f".{jobs[1].key}.csv.{HOST}.{os.getpid()}").symlink_to(FULL)  # where the result is written first
    with pytest.raises(InputError, match=rf"^cannot write .*{jobs[1].key}.csv: No space left on device$"):
        run_jobs(jobs, store, workers=1)
    assert [path.name for path in tmp_path.iterdir()] == [f"{jobs[0].key}.csv"]
    assert store.read(jobs[0]) is not None
    assert not multiprocessing.active_children()


def test_the_longest_jobs_start_first_and_a_failing_one_stops_no_other(
    tmp_path: Path, monkeypatch: Patch, capsys: Capture
) -> None:
    given, store = list[tuple[int, int]](), Store(tmp_path)
    assert list(run_jobs([BROKEN, JOB], store, workers=1)) == [BROKEN] and store.read(JOB) is not None
    assert "Nonsense" in (tmp_path / f"{BROKEN.key}.error.txt").read_text()

    def noting(total: int, initial: int, leave: bool) -> object:
        given.append((total, initial))
        return progress(total, initial, leave)

    monkeypatch.setattr(workers, "progress", noting)
    capsys.readouterr()
    assert not run_jobs([JOB], store, workers=1)
    assert given == [(400, 400)]
    assert capsys.readouterr().err == ""  # no terminal, and less than half a minute
    short = Config(seeds=10, steps=1000)
    jobs = [Job(short, REINFORCE), Job(short, PPO), Job(replace(short, steps=5000), REINFORCE), Job(short, PPG)]
    assert [jobs.index(job) for job in workers.longest_first(jobs)] == [2, 3, 1, 0]


@unix
@pytest.mark.parametrize("name", ["SIGINT", "SIGHUP", "SIGTERM"])
def test_a_signal_while_workers_import_torch_is_one_line_and_leaves_none(name: str, tmp_path: Path) -> None:
    process = begin("ablations", COMMAND, tmp_path)
    parent = psutil.Process(process.pid)
    until(lambda: len(parent.children()) == 3)  # two workers, and the tracker of their resources
    children = parent.children()
    os.killpg(process.pid, getattr(signal, name))
    status, _, err = ended(process)
    assert status == 128 + getattr(signal, name)
    assert err == "interrupted; finished jobs are kept, and the same command resumes from there\n"
    until(lambda: not any(map(alive, children)), seconds=10)


@unix
def test_a_signal_that_comes_while_workers_start_is_not_lost() -> None:
    started = []

    def start() -> None:
        with deaf_children():
            signal.pthread_kill(threading.get_ident(), signal.SIGINT)  # other threads block no signals
            started.append("a worker")

    with pytest.raises(KeyboardInterrupt):
        start()
    assert started == ["a worker"]


def test_an_estimate_adds_up_the_prices_of_the_jobs_most_like_those_that_are_not_done(tmp_path: Path) -> None:
    assert estimate.makespan([3, 1, 1, 2], workers=2) == 4  # 3 beside 1, 1, 2
    assert estimate.makespan([1, 1, 4], workers=2) == 5  # the long one last
    ladder = [Job(Config(), switched(list(NEEDS)[:k])) for k in range(17)]
    found = estimate.probes(ladder, workers=2)
    assert (len(found), found[0], found[-1]) == (estimate.PROBES, ladder[0], ladder[-1])
    same = [Job(Config(seeds=(k,)), REINFORCE) for k in range(5)]
    assert estimate.probes(same, workers=3) == same[:3]  # as many at once as there will be
    assert estimate.short(ladder[0]).config.steps == estimate.SHARE * 100_000
    prices = {estimate.short(ladder[k]): x for k, x in ((0, 1.0), (2, 3.0), (6, 8.0))}
    assert estimate.price(ladder[5], prices) == 8.0
    assert estimate.price(ladder[1], prices) == 2.0  # one flag from both
    store = Store(tmp_path)
    assert not record(JOB, store, compute(JOB)) and estimate.estimate([JOB], store, workers=2) == 0
    with pytest.raises(InputError, match=r"^no job can be trained: .*Nonsense"):
        estimate.estimate([BROKEN], store, workers=1)
    assert 0 < estimate.estimate([JOB, Job(replace(TINY, lr=0.5), REINFORCE)], store, workers=1) < 60
    assert parse_result(JOB, (tmp_path / f"{JOB.key}.csv").read_text())
    assert len(list(tmp_path.iterdir())) == 1  # probes are no results


def test_a_dry_run_says_what_is_done_and_changes_nothing_on_the_disk(tmp_path: Path, capsys: Capture) -> None:
    what = ["run", "--tricks", "baseline", "--steps", "300", "--seeds", "2", "--workers", "1", "--dry-run"]
    assert main([*what, "--out", str(tmp_path / "absent")]) == 0
    assert "2 jobs, 0 of them done before; each arm trains seeds 0 to 9\n" in capsys.readouterr().out
    assert not list(tmp_path.iterdir())
    (plan,) = plans(What(tricks="baseline", steps=300), "2")
    (done, damaged), store = plan.jobs, Store(tmp_path / "jobs")
    assert not record(done, store, compute(done))
    (store.folder / f"{damaged.key}.csv").write_text("damaged")
    (store.folder / f".{done.key}.csv.{HOST}.{2**22 + 1}").write_text("half")  # of a process that cannot be

    def files() -> dict[Path, tuple[bytes, int]]:
        return {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in store.folder.iterdir()}

    before = files()
    assert (len(before), main([*what, "--out", str(tmp_path)])) == (3, 0)
    said = capsys.readouterr().out
    assert "1 of them done before" in said and "  reinforce (1 of 1 jobs done)\n  + baseline\n" in said
    assert (files(), [path.name for path in tmp_path.iterdir()]) == (before, ["jobs"])


@pytest.mark.slow
def test_a_thousand_finished_jobs_are_read_and_reported(tmp_path: Path) -> None:
    """How long it takes, and in how much memory: told, not judged."""
    import resource  # which Windows does not have

    seeds, before = 430, resource.getrusage(resource.RUSAGE_CHILDREN)
    plan = fill(tmp_path, seeds)
    command = ["run", "--design", DESIGNS, "--seeds", str(seeds), "--out", str(tmp_path)]
    done = subprocess.run([sys.executable, "-m", "ablations", *command], capture_output=True, text=True, check=True)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert f"{len(plan.jobs)} jobs, {len(plan.jobs)} of them done before" in done.stdout
    assert len(plan.jobs) == 1421
    print(f"{used.ru_utime - before.ru_utime:.0f} s of processor time, {used.ru_maxrss / 1e6:.2f} GB")


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """A scheduler and two worker processes on this machine."""
    from distributed import LocalCluster

    options: dict[str, Any] = {"processes": True, "threads_per_worker": 1, "dashboard_address": None}
    with LocalCluster(n_workers=2, silence_logs=False, **options) as local:
        yield local


def test_a_cluster_s_results_are_local_ones_whatever_fails(tmp_path: Path, cluster: Any, reference: list[Any]) -> None:
    there, victim = Store(tmp_path), next(iter(cluster.workers.values())).pid

    def kill_one() -> None:
        until(lambda: list(there.folder.glob("*.csv")))
        os.kill(victim, signal.SIGKILL)

    killer = threading.Thread(target=kill_one)
    killer.start()
    failed = run_jobs([BROKEN, *JOBS], there, workers=1, scheduler=cluster.scheduler_address)
    killer.join()
    assert list(failed) == [BROKEN] and "Nonsense" in failed[BROKEN]
    assert "Nonsense" in (there.folder / f"{BROKEN.key}.error.txt").read_text()
    assert [content(there, job) for job in JOBS] == reference


def test_workers_get_an_environment_s_module_and_queues_drop(tmp_path: Path, cluster: Any, monkeypatch: Patch) -> None:
    code = "import gymnasium as gym\ndef make():\n    return gym.make('CartPole-v1', max_episode_steps=9)"
    (tmp_path / "sent_rooms.py").write_text(code)
    (tmp_path / "sent_badly.py").write_text("import sys\nif 'distributed.worker' in sys.modules: 1 / 0")
    monkeypatch.syspath_prepend(str(tmp_path))  # of this process alone
    good, bad = (Job(replace(TINY, env=f"{name}:make"), REINFORCE) for name in ("sent_rooms", "sent_badly"))
    ((_, outcome),) = on_cluster([good], cluster.scheduler_address)
    assert (outcome.error, outcome.text[:1]) == ("", "#")
    with pytest.raises(InputError, match=r"the workers cannot import .*sent_badly\.py: .*division by zero"):
        list(on_cluster([bad], cluster.scheduler_address))
    jobs = [replace(JOB, config=replace(TINY, seeds=(k,))) for k in range(50)]
    outcomes = on_cluster(jobs, cluster.scheduler_address)
    assert next(outcomes)[1].text
    assert len(cluster.scheduler.tasks) > 10
    outcomes.close()
    until(lambda: not cluster.scheduler.tasks, seconds=10)


def test_a_scheduler_out_of_reach_is_one_line_another_version_a_failure(tmp_path: Path, monkeypatch: Patch) -> None:
    strange = SimpleNamespace(status="finished", result=lambda: Finished(text='# {"what": 1}\nseed,step\n'))
    assert "it is not the result of a job" in outcome_of(strange, JOB, "tcp://a:1").error
    with socket.create_server(("127.0.0.1", 0)) as mute:  # takes the connection and says nothing
        for address in (f"127.0.0.1:{mute.getsockname()[1]}", "nonsense", "foo://x:1", "tcp://:"):
            start = time.monotonic()
            with pytest.raises(InputError, match=r"^cannot reach a Dask scheduler at .*; give HOST:PORT$"):
                run_jobs([JOB], Store(tmp_path), workers=1, scheduler=address)
            assert time.monotonic() - start < 8
    monkeypatch.setitem(sys.modules, "distributed", None)  # without Dask, the extra is named
    with pytest.raises(InputError, match=r"\[cluster\]"):
        run_jobs([JOB], Store(tmp_path), workers=1, scheduler="127.0.0.1:1")


KINDS = ("cuda", "cuda:1", "cpu")


def on(device: str) -> Job:
    return replace(JOB, config=replace(JOB.config, device=device))


def test_any_gpu_may_train_a_job_and_the_default_device_by_any_name_finds_it(tmp_path: Path, capsys: Capture) -> None:
    assert on("cuda").key == on("cuda:1").key != JOB.key
    assert (on("cuda:1").what["config"]["device"], on("cpu:0").key) == ("cuda", JOB.key)
    assert "device" not in JOB.what["config"]
    with pytest.raises(InputError, match=r"^no device 'cuda:7'"):
        worker_count(1, "cuda:7")
    assert worker_count(1, "cuda:7", scheduler="10.0.0.1:8786") == 1
    few = ["run", "--tricks", "baseline", "--steps", "64", "--seeds", "2", "--workers", "1", "--out", str(tmp_path)]
    for count, device in ((0, []), (2, ["--device", "cpu"]), (2, ["--device", "cpu:0"])):
        assert main([*few, *device]) == 0
        assert f"2 jobs, {count} of them done before" in capsys.readouterr().out


def test_there_is_one_worker_per_gpu_in_turn_and_their_jobs_take_no_memory_of_the_host(monkeypatch: Patch) -> None:
    taken: list[int] = []
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(torch.cuda, "set_device", taken.append)
    monkeypatch.setattr(workers, "find_device", lambda name: torch.device(name))
    monkeypatch.setattr(workers, "start_worker", lambda: None)
    monkeypatch.setattr(torch, "set_num_threads", lambda count: None)
    assert [worker_count(0, device) for device in KINDS] == [2, 1, os.cpu_count()]
    assert ([gpu_count(device) for device in KINDS], worker_count(5, "cuda")) == ([2, 1, 0], 5)
    queue = turns("cuda", workers=5)
    for _ in range(5):
        workers.start_trainer(queue)
    assert taken == [0, 1, 0, 1, 0]
    for device in KINDS[1:]:
        workers.start_trainer(turns(device, workers=1))  # its jobs name their GPU, or need none
    assert len(taken) == 5
    monkeypatch.setattr(memory, "free_memory", lambda device="cpu": 10**9)
    large = Config(seeds=1000, steps=100, lanes=64, horizon=512)
    with pytest.raises(InputError, match="of memory"):
        workers.refuse_too_many([Job(large, JOB.tricks)], 1)
    workers.refuse_too_many([Job(replace(large, device="cuda"), JOB.tricks)], 1)


def placed(device: str, first: int) -> Study:
    """A study on this device with two seeds from the first on."""
    made = study(ladder(["baseline"]), lambda on: 0, seeds=2)
    about, name = made.about.copy(), "made" + f"_from{first}" * (first > 0)
    about["made with"], about["seeds"] = {"device": [device]}, [first, first + 2]
    return replace(made, name=name, runs=made.runs.assign(seed=made.runs.seed + first), about=about)


def test_a_result_names_its_gpu_and_those_of_two_kinds_are_not_joined(monkeypatch: Patch) -> None:
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
def test_a_missing_device_is_one_line_and_no_file(command: str, tmp_path: Path, refuses: Callable[..., None]) -> None:
    refuses(main, [*command.split(), "--device", "cuda:7", "--out", str(tmp_path / "out")], "no device 'cuda:7'")
    assert not list(tmp_path.iterdir())

"""One thread, so that numbers repeat; workers forked from one server; the small environments that the tests play."""

import multiprocessing
import os
import pkgutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch
from gymnasium.envs.classic_control import CartPoleEnv, PendulumEnv
from gymnasium.spaces import Text
from support import kernels, probes
from support.probes import AnySpace, register
from support.restless import Restless, RestlessNested
from support.settings import SETTINGS

import ablations.training.rates
import tricks.fast
import tricks.fused
import tricks.loop
from ablations.training import workers
from ablations.training.rates import table
from tricks.cli.main import main
from tricks.fast.dispatch import loaded
from tricks.ladder import Tricks

WHOLE = Path(__file__).with_name("whole.txt")  # written by `python -m support.tiers`
# These files begin first, in this order. Whoever needs the web book waits for test_site, which makes it.
LONGEST = "site rooms surroundings ablations results chapters contracts grading recurrent reading question"

torch.set_num_threads(1)
os.environ["OMP_NUM_THREADS"] = "1"  # of the commands and notebooks that the tests start: they share the cores
if "forkserver" in multiprocessing.get_all_start_methods():
    # No worker has to import PyTorch again. A command in a process of its own, as in test_running, spawns its workers.
    workers.METHOD = "forkserver"
    multiprocessing.set_forkserver_preload([workers.__name__, tricks.loop.__name__, *kernels.PRELOAD])
    kernels.fork_kernels()

PICTURES = probes.SmallPictures, probes.LargePictures, probes.ChannelsLast
OTHERS = probes.ResetMask, probes.Forbidding, probes.ThreeLives, Restless, RestlessNested
for kind in (*probes.PROBES.values(), *PICTURES, *OTHERS):
    register(f"{kind.__name__}-v0", kind)
register("Endless-v0", probes.Endless, max_episode_steps=1)
register("DeadOnTime-v0", probes.DeadOnTime, max_episode_steps=1)
register("Talking-v0", AnySpace, observation=Text(5))
register("RestlessBox-v0", Restless, discrete=False)
register("RestlessTasks-v0", Restless, tasks=2)
register("RestlessSeen-v0", RestlessNested, picture=True)
# a short limit, so that truncations and terminations both happen within a few dozen steps
register("ShortCartPole-v0", lambda **options: probes.AllLegal(CartPoleEnv(**options)), max_episode_steps=15)
register("ShortPendulum-v0", PendulumEnv, max_episode_steps=15)


def pytest_configure(config: pytest.Config) -> None:
    """Compile once, before workers and commands want to."""
    if not hasattr(config, "workerinput"):
        for room in (tricks.fast, tricks.fused):
            for module in pkgutil.iter_modules(room.__path__, f"{room.__name__}."):
                if ".compiled_" in module.name:
                    loaded(module.name)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--all", action="store_true", help="run every test, and execute every notebook")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out notebooks that would only show again what they show and, of all tests, those in tests/whole.txt.

    The longest files and the other notebooks come first, so that no worker is left with one in the end.
    """
    if config.getoption("--all"):
        return
    left_out = set[str]() if config.option.file_or_dir else set(WHOLE.read_text(encoding="utf-8").splitlines())
    fresh = set[Path]()
    if paths := {item.path for item in items if item.path.suffix == ".ipynb"}:
        from chapters.book.inputs import due

        fresh = {path for path in paths if not due(path)}
    kept = {item: item.path not in fresh and item.nodeid not in left_out for item in items}
    config.hook.pytest_deselected(items=[item for item in items if not kept[item]])
    items[:] = sorted((item for item in items if kept[item]), key=_turn)


def _turn(item: pytest.Item) -> int:
    names = LONGEST.split()
    rest = len(names) + (item.path.suffix != ".ipynb")
    return next((turn for turn, name in enumerate(names) if item.path.stem.endswith(name)), rest)


@pytest.fixture(autouse=True)
def _own_folder(request: pytest.FixtureRequest) -> None:
    """In the rooms whose tests run commands and write files, each has an empty current folder of its own."""
    if request.path.parent.name in ("cli", "envs", "runs"):
        request.getfixturevalue("monkeypatch").chdir(request.getfixturevalue("tmp_path"))


@pytest.fixture
def _nobody_left() -> Iterator[None]:
    """No test leaves a process behind."""
    before = set(multiprocessing.active_children())
    yield
    assert set(multiprocessing.active_children()) == before


@pytest.fixture
def told(capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """Runs `python -m tricks`, or `main`, with these words; it must end as `status` says. Returns what it prints."""

    def run(words: str | list[str], status: int = 0, main: Callable[[list[str]], int] = main) -> str:
        capsys.readouterr()
        assert main(words.split() if isinstance(words, str) else words) == status
        said = capsys.readouterr()
        return said.err if status else said.out

    return run


@pytest.fixture
def refuses(capsys: pytest.CaptureFixture[str]) -> Callable[..., None]:
    """Checks that a command line answers with one line that says `message`, and exit status 2."""

    def check(main: Callable[[list[str]], int], arguments: list[str], message: str) -> None:
        assert main(arguments) == 2
        error = capsys.readouterr().err
        assert error.startswith("error: ")
        assert message in error
        assert error.count("\n") == 1

    return check


@pytest.fixture
def rates(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where the table of learning rates is, which is still empty."""
    monkeypatch.setattr(ablations.training.rates, "TABLE", tmp_path / "rates.csv")
    table.cache_clear()
    yield tmp_path / "rates.csv"
    table.cache_clear()


@pytest.fixture(params=SETTINGS)
def setting(request: pytest.FixtureRequest) -> Tricks:
    """Each flag by itself, with its needs, and each preset."""
    return SETTINGS[request.param]


@pytest.fixture
def home(setting: Tricks) -> str:
    """A small environment in which the setting can train."""
    if setting.imitate:
        return "tricks/Sums-v0"
    return "ShortPendulum-v0" if setting.squash else "ShortCartPole-v0"


@pytest.fixture(params=[name for name, tricks in SETTINGS.items() if not (tricks.squash or tricks.imitate)])
def discrete_setting(request: pytest.FixtureRequest) -> Tricks:
    """Each of them that can train on any Discrete actions."""
    return SETTINGS[request.param]

"""What goes wrong in an environment is one line, in whatever process it is."""

import re
import warnings

import pytest
from support.failing import play, processes
from support.waiting import linux

from tricks import InputError
from tricks.cli.main import main
from tricks.envs.make import make_env

pytestmark = [pytest.mark.usefixtures("_nobody_left"), linux]


HERE = r", in failing\.py, line \d+"
FAULTS = [
    ("Failing-raise-v0", "processes", rf"^Failing-raise-v0: Stubborn: the floor gave way{HERE} \(seed 3\)$"),
    ("Failing-raise-v0", "gymnasium", rf"^Failing-raise-v0: Stubborn: the floor gave way{HERE} \(seed 3\)$"),
    ("BadReset-v0", "processes", rf"^BadReset-v0: FileNotFoundError: \[Errno 2\] the map is lost{HERE} \(seed 3\)$"),
    ("BadReset-v0", "gymnasium", rf"^BadReset-v0: FileNotFoundError: \[Errno 2\] the map is lost{HERE} \(seed 3\)$"),
    (
        "Failing-die-v0",
        "processes",
        r"^Failing-die-v0: the worker process of lane 0 has died \(killed by SIGKILL\) \(seed 3\)$",
    ),
    (
        "Failing-exit-v0",
        "processes",
        r"^Failing-exit-v0: the worker process of lane 0 has died \(exit status 3\) \(seed 3\)$",
    ),
    ("Unmade-v0", "processes", f"^cannot make the environment 'Unmade-v0': ValueError: no such map{HERE}$"),
    ("Unmade-v0", "gymnasium", f"^cannot make the environment 'Unmade-v0': ValueError: no such map{HERE}$"),
    ("Nonsense-v0", "processes", "^cannot make the environment 'Nonsense-v0'"),
]


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(("id", "backend", "message"), FAULTS)
def test_what_goes_wrong_in_an_environment_is_one_line(id: str, backend: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        for _ in play(make_env(processes(id, backend)), 40):
            pass
    assert re.search(message, str(caught.value))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("how", ["raise", "die"])
def test_the_command_line_prints_that_line_and_nothing_else(how: str, capfd: pytest.CaptureFixture[str]) -> None:
    with warnings.catch_warnings():
        rest = ["--env", f"Failing-{how}-v0", "--backend", "processes", "--seeds", "1"]
        assert main(["train", "ppo+action_mask", *rest]) == 2
    error = capfd.readouterr().err
    assert error.startswith(f"error: Failing-{how}-v0: ")
    assert error.count("\n") == 1

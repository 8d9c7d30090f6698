"""What an attacked command or call may do, the cases tried one after the other, and every failure that they find."""

import contextlib
import io
import resource
import signal
import warnings
from collections.abc import Callable, Iterator, Sequence
from types import FrameType
from typing import TypeVar

import psutil
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis.strategies import SearchStrategy

from tricks.errors import InputError

PATIENCE = 30.0  # seconds that a case may take; usual ones take less than one
MEMORY = 4 << 30  # bytes that a case may add, so that what asks for more fails here and not the machine
STATUSES = (0, 1, 2, 130)


class TooLong(BaseException):
    """No answer in time."""


@contextlib.contextmanager
def bounded() -> Iterator[None]:
    """Raise TooLong when patience ends, and let requests for much memory fail."""

    def give_up(number: int, frame: FrameType | None) -> None:
        raise TooLong(f"no answer within {PATIENCE:g} seconds")

    before, (soft, hard) = signal.signal(signal.SIGALRM, give_up), resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (psutil.Process().memory_info().vms + MEMORY, hard))
    signal.setitimer(signal.ITIMER_REAL, PATIENCE)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
        signal.signal(signal.SIGALRM, before)


@contextlib.contextmanager
def heard() -> Iterator[list[warnings.WarningMessage]]:
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("default")
        for kind in (DeprecationWarning, PendingDeprecationWarning, ImportWarning, ResourceWarning):
            warnings.simplefilter("ignore", kind)
        warnings.filterwarnings("ignore", message=".*fork.*")  # of this test's process, which has threads
        yield found


Main = Callable[[list[str]], int]


def run(main: Main, arguments: Sequence[str]) -> tuple[int, str, str]:
    """The status of a command line in this process, what it says on standard error, and how it breaks the law."""
    err, status, broken = io.StringIO(), -1, ""
    with heard() as found, contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(err):
        try:
            with bounded():
                status = main(list(arguments))
        except SystemExit as stop:  # --help
            status = int(stop.code or 0)
        except BaseException as error:  # what a shell would show as a traceback
            broken = in_words(error)
    said = err.getvalue()
    broken = broken or judged(status, said) or "; ".join(f"warns: {each.message}" for each in found)
    return status, said, " ".join(broken.split())[:300]


def in_words(error: BaseException) -> str:
    """An exception in one line, even if it cannot say what it is."""
    try:
        return " ".join(f"{type(error).__name__}: {error}".split())[:300]
    except Exception:
        return type(error).__name__


def judged(status: int, err: str) -> str:
    """How a status and the text on standard error break the law; empty if they don't."""
    errors = [line for line in err.splitlines() if line.startswith("error: ")]
    one_at_the_end = len(errors) == (status == 2) and err.endswith(f"{errors[0]}\n" if errors else "")
    return "" if status in STATUSES and "Traceback" not in err and one_at_the_end else f"status {status}: {err[-200:]}"


def refused(call: Callable[[], object], *named: str) -> tuple[object, str]:
    """The value of a call that may raise InputError in one line that has all of `named`, and how it broke the law."""
    value: object = None
    with heard() as found:
        try:
            with bounded():
                value = call()
        except InputError as error:
            text = str(error)
            right = text and "\n" not in text and all(name in text for name in named)
            return None, "" if right else f"not one line that has {named}: {text}"
        except BaseException as error:
            return None, in_words(error)
    return value, "; ".join(f"warns: {each.message}" for each in found)[:300]


T = TypeVar("T")
EACH = settings(deadline=None, database=None, suppress_health_check=list(HealthCheck), phases=[Phase.generate])


def survives(cases: SearchStrategy[T], attack: Callable[[T], str], count: int) -> None:
    """Try `count` cases, the same ones in every run, and fail with all that broke the law, as `attack` says."""
    broken = list[str]()

    @seed(0)
    @settings(EACH, max_examples=count)
    @given(cases)
    def each(case: T) -> None:
        if said := attack(case):
            broken.append(f"{said}: {case}")

    each()
    assert not broken, "\n".join(broken)

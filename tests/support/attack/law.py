"""What an attacked command or call may do, the cases tried one after the other, and every failure that they find."""

import contextlib
import io
import resource
import signal
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
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
def bounded(seconds: float = PATIENCE) -> Iterator[None]:
    """Raise TooLong after so many seconds, and let requests for much memory fail."""

    def give_up(number: int, frame: FrameType | None) -> None:
        raise TooLong(f"no answer within {seconds:g} seconds")

    before, (soft, hard) = signal.signal(signal.SIGALRM, give_up), resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (psutil.Process().memory_info().vms + MEMORY, hard))
    signal.setitimer(signal.ITIMER_REAL, seconds)
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


@dataclass(frozen=True)
class Said:
    """How a command ended: its status, standard output and error; `broken` says how it broke the law, if it did."""

    status: int
    out: str
    err: str
    broken: str = ""


def run(main: Callable[[list[str]], int], arguments: Sequence[str], seconds: float = PATIENCE) -> Said:
    """Run a command line in this process and judge it."""
    out, err, status, broken = io.StringIO(), io.StringIO(), -1, ""
    with heard() as found, contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            with bounded(seconds):
                status = main(list(arguments))
        except SystemExit as stop:  # --help
            status = int(stop.code or 0)
        except BaseException as error:  # what a shell would show as a traceback
            broken = in_words(error)
    said = err.getvalue()
    broken = broken or judged(status, said) or "; ".join(f"warns: {each.message}" for each in found)
    return Said(status, out.getvalue(), said, " ".join(broken.split())[:300])


def in_words(error: BaseException) -> str:
    """An exception in one line, even if it cannot say what it is."""
    try:
        return " ".join(f"{type(error).__name__}: {error}".split())[:300]
    except Exception:
        return type(error).__name__


def judged(status: int, err: str) -> str:
    """How a status and the text on standard error break the law; empty if they don't."""
    if status not in STATUSES:
        return f"status {status}: {err}"
    if "Traceback" in err:
        return f"traceback: {err[-200:]}"
    errors = [line for line in err.splitlines() if line.startswith("error: ")]
    if len(errors) != (status == 2):
        return f"status {status} with {len(errors)} lines that start with 'error: ': {err}"
    if status == 2 and not err.endswith(f"{errors[0]}\n"):
        return f"more lines after the error: {err}"
    return ""


def refused(call: Callable[[], object], *named: str) -> tuple[object, str]:
    """The value of a call that may raise InputError in one line that has all of `named`, and how it broke the law."""
    value: object = None
    with heard() as found:
        try:
            with bounded():
                value = call()
        except InputError as error:
            text, missing = str(error), [name for name in named if name not in str(error)]
            lines = f"not one line: {text}" if not text or "\n" in text else ""
            return None, lines or (f"does not name {missing[0]}: {text}" if missing else "")
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

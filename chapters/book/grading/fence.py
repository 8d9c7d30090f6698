"""What the process of an answer may do: read the libraries, write into one folder, use so much time and memory.

On Linux the kernel holds it to that (Landlock), and nothing in the process can take it back. Everywhere, Python refuses
what it is asked for, which stops accidents and simple tricks, but not code that goes around Python.
"""

import contextlib
import ctypes
import os
import signal
import struct
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

TOO_LONG = 124  # the exit status of an answer that used up its time on the processor
OTHERS = ("subprocess.", "os.exec", "os.fork", "os.kill", "os.posix_spawn", "os.spawn", "os.startfile", "os.system")
NETWORK = ("socket.bind", "socket.connect", "socket.getaddrinfo", "socket.send")
CHANGING = ("chmod", "chown", "link", "mkdir", "remove", "rename", "rmdir", "symlink", "truncate", "utime")
CHANGES = [f"os.{name}" for name in CHANGING]
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
RULESET, RULE, RESTRICT = 444, 445, 446  # Landlock's calls, the same on every processor
RUN, READ = 0b1, 0b1100  # what Landlock calls the right to run a file, and to read and list
FILE = 0b100000000000111  # all rights that a file can have; the others are a folder's
NO_NEW_PRIVILEGES = 38


def limit(memory: int, seconds: float) -> None:
    """Allow so many bytes beyond what the libraries took, and little more time and disk, where the system can."""
    try:
        import resource
    except ImportError:  # Windows
        return
    used = resource.getrusage(resource.RUSAGE_SELF)
    spent = int(used.ru_utime + used.ru_stime + 2 * seconds) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (spent, spent + 1))
    signal.signal(signal.SIGXCPU, lambda *_: os._exit(TOO_LONG))
    limits = {resource.RLIMIT_FSIZE: 64_000_000, resource.RLIMIT_CORE: 0}
    with contextlib.suppress(OSError):  # no /proc: macOS, which does not enforce it anyway
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        limits[resource.RLIMIT_AS] = pages * resource.getpagesize() + memory
    for kind, most in limits.items():
        resource.setrlimit(kind, (most, most))


def enclose(readable: Sequence[str], folder: str) -> None:
    """Let this process read only these files and folders, and write only into `folder`, from now on."""
    landlock(readable, folder)
    places = {os.path.realpath(each) for each in (*readable, folder)}
    own = os.path.realpath(folder)

    def refuse(event: str, given: tuple[Any, ...]) -> None:
        if event.startswith((*OTHERS, *NETWORK)):
            raise PermissionError(f"an answer may not use {event}")
        if event != "open" and event not in CHANGES:
            return
        writes = event != "open" or (isinstance(given[2], int) and given[2] & WRITING)
        for path in given[: 1 if event == "open" else 2]:
            if not isinstance(path, str | bytes):  # a file that is open already, or no path
                continue
            real = os.path.realpath(os.fsdecode(path))
            above = {real, *map(str, Path(real).parents)}
            if real != os.devnull and not (own in above if writes else above & places):
                raise PermissionError(f"an answer may not {'write' if writes else 'read'} {os.fsdecode(path)}")

    sys.addaudithook(refuse)


def enforced() -> int:
    """The version of Landlock that the kernel has; 0 where there is none."""
    return max(ctypes.CDLL(None).syscall(RULESET, None, 0, 1), 0) if sys.platform == "linux" else 0


def landlock(readable: Sequence[str], folder: str) -> None:
    """Have Linux enforce it for this thread and those to come, where the kernel can."""
    libc, version = ctypes.CDLL(None), enforced()
    if not version:
        return
    rights = (1 << (13 + (version >= 2) + (version >= 3))) - 1  # all that this version knows of files
    scopes = (0b11 if version >= 4 else 0, 0b11 if version >= 6 else 0)  # TCP; signals and sockets to others
    asked = struct.pack("QQQ", rights, *scopes)[: 8 * (1 + (version >= 4) + (version >= 6))]
    rules = libc.syscall(RULESET, asked, len(asked), 0)
    for path, allowed in [*((path, READ) for path in readable), (folder, rights & ~RUN), (os.devnull, rights & ~RUN)]:
        with contextlib.suppress(FileNotFoundError):
            place = os.open(path, os.O_PATH | os.O_CLOEXEC)
            allowed &= rights if os.path.isdir(path) else FILE & rights
            libc.syscall(RULE, rules, 1, struct.pack("<Qi", allowed, place), 0)
            os.close(place)
    libc.prctl(NO_NEW_PRIVILEGES, 1, 0, 0, 0)
    libc.syscall(RESTRICT, rules, 0)
    os.close(rules)

"""What a job trains that is the user's own: functions that make an environment or a net, or that replace ours."""

import hashlib
import inspect
import pickle
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import cloudpickle

from tricks.config import Config

OURS = ("tricks", "ablations")  # packages whose code `version.ALGORITHM` stands for


class Own:
    """The user's functions, and a fingerprint of their code, by which finished jobs are found again.

    env, body: as for `train`. replaced: functions that stand in for ours, by name, as for `patched`. modules: those of
    an environment id `module:Id` and of wrappers. A change anywhere in the files that define these counts as a change
    of their code.
    """

    def __init__(
        self,
        env: Callable[..., Any] | None = None,
        body: Callable[..., Any] | None = None,
        replaced: Mapping[str, Callable[..., Any]] | None = None,
        modules: Sequence[str] = (),
    ) -> None:
        self.given = {name: each for name, each in (("env", env), ("body", body)) if each is not None}
        self.replaced = dict(replaced or {})
        self._modules = modules

    @cached_property
    def pickled(self) -> bytes:
        """The functions for other processes; empty if they cannot go there."""
        try:
            return bytes(cloudpickle.dumps((self.given, self.replaced)))
        except Exception:  # whatever an object's own method raises
            return b""

    @cached_property
    def fingerprint(self) -> str:
        """A hash of the functions and of the files that they are written in.

        Functions that cannot be pickled count as different from all others, and are the same only in this process.
        """
        here = [id(each) for each in (*self.given.values(), *self.replaced.values())]
        found = hashlib.sha256(self.pickled or repr(here).encode())
        functions = [*self.given.values(), *self.replaced.values()]
        for path in sorted({*map(_file, functions), *map(_module_file, self._modules)} - {None}, key=str):
            found.update(Path(str(path)).read_bytes())
        return found.hexdigest()[:16]

    @contextmanager
    def in_place(self) -> Iterator[dict[str, Any]]:
        """Put the replacements in place; the value is what `train` is given."""
        from tricks.replaced import patched

        with patched(**self.replaced):
            yield self.given

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Own) and self.fingerprint == other.fingerprint

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpickled, (self.pickled, self.fingerprint)


def _unpickled(pickled: bytes, fingerprint: str) -> Own:
    given, replaced = pickle.loads(pickled)
    own = Own(**given, replaced=replaced)
    own.__dict__["fingerprint"] = fingerprint
    return own


def own_of(config: Config, **functions: Any) -> Own | None:
    """The user's part of a job; None if there is none: everything is ours, Gymnasium's or another package's."""
    modules = modules_of(config)
    given = {name: each for name, each in functions.items() if each}
    return Own(**given, modules=modules) if given or any(map(_module_file, modules)) else None


def modules_of(config: Config) -> list[str]:
    """The modules that the names of an environment and of its wrappers bring."""
    return [name.partition(":")[0] for name in (config.env, *config.wrap) if ":" in name]


def files_of(configs: Iterable[Config]) -> list[str]:
    """The user's own modules, each in a single file, that the environments of these configs need."""
    names = {name for config in configs for name in modules_of(config) if "." not in name}
    files = (_module_file(name) for name in sorted(names))
    return [file for file in files if file is not None and Path(file).stem != "__init__"]


def _file(function: Callable[..., Any]) -> str | None:
    """The file that a function or a class is written in; None if there is none, as in a notebook."""
    try:
        return inspect.getsourcefile(inspect.unwrap(getattr(function, "func", function)))
    except (TypeError, OSError):
        return None


def _module_file(name: str) -> str | None:
    """The file of the user's own module; None of an installed one, whose version counts, and of one of ours."""
    if not name or name.split(".")[0] in OURS:
        return None
    try:
        found = getattr(sys.modules.get(name), "__file__", None) or getattr(find_spec(name), "origin", None)
    except (ImportError, ValueError):
        return None
    return None if found is None or "site-packages" in found or not Path(found).is_file() else found

"""Jobs of a second or less, what tests ask of their results, and files with damage of every kind."""

import json
from collections.abc import Iterator
from typing import Any

from ablations.training.jobs import Job
from ablations.training.store import Store
from tricks import REINFORCE, Config
from tricks.ladder import switched

TINY = Config(seeds=(0, 1), steps=200, lanes=2, horizon=16)
JOB = Job(TINY, REINFORCE)
SMALL = Job(Config(seeds=1, steps=20, lanes=1, horizon=16), REINFORCE)  # its file has two rows or so
JOBS = [Job(Config(seeds=(k, k + 1), steps=3000, lanes=8, horizon=64), switched(["baseline"])) for k in range(4)]


def content(store: Store, job: Job) -> tuple[dict[str, Any], str]:
    """A result file but for what differs between equal runs."""
    first, _, rest = (store.folder / f"{job.key}.csv").read_text().partition("\n")
    about = json.loads(first.removeprefix("# "))
    return {name: about[name] for name in about if name not in ("seconds", "commit", "sha256")}, rest


def flips(whole: bytes) -> Iterator[bytes]:
    """The bytes with one bit flipped, one for every byte, the bits in turn."""
    for i, byte in enumerate(whole):
        yield whole[:i] + bytes([byte ^ 1 << i % 8]) + whole[i + 1 :]

"""Listeners for `train(on_update=...)` that write each update's rows while the run trains."""

import csv
from collections.abc import Mapping
from math import inf, isnan
from pathlib import Path
from typing import Any

from tricks.core.extras import extra
from tricks.runs.files import LAST, PICTURE, trying, write_whole
from tricks.runs.log import Rows


class CurveFile:
    """Appends rows to `folder`/curve.csv; the first call replaces an earlier run, or what it has after a checkpoint."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.path, self.begun = folder, folder / "curve.csv", False

    def __call__(self, rows: Rows, agent: object = None) -> None:
        with trying(f"write {self.path}"):
            if not self.begun:
                header = ",".join(rows[0]) + "\n"
                kept = earlier_lines(self.path, {str(int(row["seed"])): int(row["update"]) for row in rows}, header)
                last = [] if rows[0]["update"] else [LAST]  # a continued run goes on from it
                for name in ("run.json", "agent.pt", PICTURE, *last):  # of an earlier run
                    (self.folder / name).unlink(missing_ok=True)
                write_whole(self.path, header + "".join(kept))
                self.begun = True
            lines = [["" if isnan(x) else x for x in row.values()] for row in rows]
            with self.path.open("a", encoding="utf-8") as file:
                csv.writer(file, lineterminator="\n").writerows(lines)  # exactly as pandas writes them


def earlier_lines(path: Path, updates: Mapping[str, int], header: str) -> list[str]:
    """The complete lines in curve.csv of each seed before its update, and of others; none if there is no such file."""
    if not any(updates.values()) or not path.is_file():
        return []
    first, *lines = path.read_text(encoding="utf-8", errors="replace").splitlines(keepends=True) or [""]
    whole = [line for line in lines if line.endswith("\n") and line.count(",") == header.count(",")]
    rows = [(line, *line.split(",")[:2]) for line in whole]
    before = [line for line, seed, at in rows if at.isdecimal() and int(at) < updates.get(seed, inf)]
    return before if first == header else []


class TensorBoard:
    """Writes each row's numbers, except NaN, to a TensorBoard log per seed, without what came after a checkpoint."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._new = extra("tensorboard", "torch.utils.tensorboard").SummaryWriter
        self._writers: dict[int, Any] = {}

    def __call__(self, rows: Rows, agent: object = None) -> None:
        for row in rows:
            seed, step = int(row["seed"]), int(row["step"])
            if seed not in self._writers:
                self._writers[seed] = self._new(str(self.folder / f"seed_{seed}"), purge_step=step)
            for name, x in row.items():
                if name not in ("seed", "step") and not isnan(x):
                    self._writers[seed].add_scalar(name, x, step)

    def close(self) -> None:
        for writer in self._writers.values():
            writer.close()

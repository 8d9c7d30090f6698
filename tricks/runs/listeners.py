"""Listeners for `train(on_update=...)` that write each update's rows while the run trains."""

import csv
from math import isnan
from pathlib import Path
from typing import Any

from tricks.core.extras import extra
from tricks.runs.files import PICTURE, trying, write_whole
from tricks.runs.log import Rows


class CurveFile:
    """Appends rows to `folder`/curve.csv; the first call replaces an earlier run, or what it has after a checkpoint."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.path, self.begun = folder, folder / "curve.csv", False

    def __call__(self, rows: Rows, agent: object = None) -> None:
        with trying(f"write {self.path}"):
            if not self.begun:
                header = ",".join(rows[0]) + "\n"
                kept = earlier_lines(self.path, int(rows[0]["update"]), header)
                for name in ("run.json", "agent.pt", PICTURE):  # of an earlier run
                    (self.folder / name).unlink(missing_ok=True)
                write_whole(self.path, header + "".join(kept))
                self.begun = True
            lines = [["" if isnan(x) else x for x in row.values()] for row in rows]
            with self.path.open("a", encoding="utf-8") as file:
                csv.writer(file, lineterminator="\n").writerows(lines)  # exactly as pandas writes them


def earlier_lines(path: Path, update: int, header: str) -> list[str]:
    """The complete lines in curve.csv from updates before this one; none if there is no such file."""
    if update == 0 or not path.is_file():
        return []
    first, *lines = path.read_text(encoding="utf-8", errors="replace").splitlines(keepends=True) or [""]
    whole = [line for line in lines if line.endswith("\n") and line.count(",") == header.count(",")]
    before = [line for line in whole if (of := line.split(",")[1]).isdecimal() and int(of) < update]
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

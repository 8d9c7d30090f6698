"""Listeners for `train(on_update=...)`: they write each update's rows down while the run trains."""

from math import isnan
from pathlib import Path
from typing import Any

from tricks.core.extras import extra
from tricks.errors import InputError
from tricks.runs.files import write_whole
from tricks.runs.log import COLUMNS, Rows

HEADER = ",".join(COLUMNS) + "\n"
REPLACED = ("run.json", "agent.pt", "curve.png")  # of an earlier run in the same folder


class CurveFile:
    """Appends rows to `folder`/curve.csv, so that an interrupted run leaves its curve so far.

    The rows of one update follow those of the one before; `Run.save` writes the same rows seed by seed. The first call
    replaces an earlier run in the folder, unless it goes on with that run: then the rows up to there stay. Raises
    InputError if the file cannot be written.
    """

    def __init__(self, folder: Path) -> None:
        self.folder, self.path = folder, folder / "curve.csv"
        self.begun = False

    def __call__(self, rows: Rows) -> None:
        try:
            if not self.begun:
                self._begin(int(rows[0]["update"]))
            with self.path.open("a", encoding="utf-8") as file:
                file.write("".join(map(as_line, rows)))
        except OSError as error:
            raise InputError(f"cannot write {self.path}: {error.strerror}") from error

    def _begin(self, update: int) -> None:
        kept = earlier_lines(self.path, update)
        for name in REPLACED:
            (self.folder / name).unlink(missing_ok=True)
        write_whole(self.path, HEADER + "".join(kept))
        self.begun = True


def as_line(row: dict[str, float]) -> str:
    """A row as a line of curve.csv, as pandas writes it: NaN is empty, and no digit is lost."""
    return ",".join("" if isnan(row[name]) else repr(row[name]) for name in COLUMNS) + "\n"


def earlier_lines(path: Path, update: int) -> list[str]:
    """The whole lines of a curve.csv that belong to updates before this one; none if there is no such file."""
    if update == 0 or not path.is_file():
        return []
    header, *lines = path.read_text(encoding="utf-8", errors="replace").splitlines(keepends=True) or [""]
    if header != HEADER:
        return []
    whole = [line for line in lines if line.endswith("\n") and line.count(",") == len(COLUMNS) - 1]
    return [line for line in whole if (of := line.split(",")[1]).isdecimal() and int(of) < update]


class TensorBoard:
    """Writes every number of the rows under `folder`, where each seed is a run of its own; NaN is left out.

    If a resumed run goes on in the same folder, TensorBoard drops what was written beyond the checkpoint. Raises
    InputError if the package is missing.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._new = extra("tensorboard", "torch.utils.tensorboard").SummaryWriter
        self._writers: dict[int, Any] = {}

    def __call__(self, rows: Rows) -> None:
        for row in rows:
            seed, step = int(row["seed"]), int(row["step"])
            if seed not in self._writers:
                self._writers[seed] = self._new(str(self.folder / f"seed_{seed}"), purge_step=step)
            for name, x in row.items():
                if name not in ("seed", "step") and not isnan(x):
                    self._writers[seed].add_scalar(name, x, step)

    def close(self) -> None:
        """Write what is still in memory."""
        for writer in self._writers.values():
            writer.close()

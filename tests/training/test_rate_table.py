"""The table of learning rates is whole or refused."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from support.damage import flips

from ablations.training import rate_table
from ablations.training.rate_table import COLUMNS, GRID, store_table, table
from ablations.training.tagged_csv import tagged
from tricks import InputError
from tricks.runs.files import HOST


@pytest.fixture
def rates(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    shipped = rate_table.TABLE.read_text()
    path = tmp_path / "learning_rates.csv"
    path.write_text(shipped)
    monkeypatch.setattr(rate_table, "TABLE", path)
    table.cache_clear()
    yield path
    table.cache_clear()


def test_a_table_of_learning_rates_that_is_not_whole_is_refused_in_one_line(rates: Path) -> None:
    whole = rates.read_text()
    lines, rows = whole.splitlines(keepends=True), pd.read_csv(rates, comment="#", keep_default_na=False)
    damaged = [
        "",
        lines[0],
        "a,b\n1,2\n",
        whole[: len(whole) // 2],
        "".join(lines[: len(lines) // 2]),
        whole + lines[-1],
    ]
    damaged += ["".join(lines[1:]), "# [1]\n" + whole, whole.replace(",5,\n", ",-5,\n", 1)]
    impossible: list[tuple[str, Any]] = [
        ("lr", -1.0),
        ("lr", 0.0),
        ("lr", 1e9),
        ("lr", "fast"),
        ("seeds", -5),
        ("steps", 0),
        ("env", ""),
        ("areas", "1 2 3"),
        ("areas", "one two three four five"),
    ]
    damaged += [tagged({"rows": len(rows)}, rows.assign(**{name: x}), digits=None) for name, x in impossible]
    twice = pd.concat([rows, rows[:1]])
    damaged += [tagged({"rows": len(twice)}, twice, digits=None), tagged({"rows": 7}, rows, digits=None)]
    for text in damaged:
        rates.write_text(text)
        table.cache_clear()
        with pytest.raises(InputError, match=rf"^{rates} is damaged or not a table of learning rates: .+$"):
            table()
    rates.write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match="is damaged or not a table"):
        table()


def test_a_table_that_was_tuned_has_a_checksum_and_loses_no_row(rates: Path) -> None:
    scores = pd.DataFrame(
        [("x", 9, "", arm, lr, 0.1, None, 5, "") for arm in ("", "gae") for lr in GRID], columns=COLUMNS
    )
    store_table(scores)
    assert len(table()) == 2 * len(GRID)
    whole = rates.read_bytes()
    for damaged in [*flips(whole), whole[: whole.index(b"x,9,,gae")]]:
        rates.write_bytes(damaged)
        table.cache_clear()
        with pytest.raises(InputError, match="is damaged or not a table"):
            table()


GOOD = {"env": "x", "steps": 9, "numbers": "", "tricks": "", "lr": 1.0, "area": 2.0, "late": 2.5, "seeds": 2}
ROWS = pd.DataFrame([GOOD | {"areas": "1 3"}, GOOD | {"env": "y", "areas": ""}])[COLUMNS]


@pytest.mark.usefixtures("rates")
@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"steps": 0}, "a budget or a number of seeds is not a positive whole number"),
        ({"seeds": 0, "areas": ""}, "a budget or a number of seeds is not a positive whole number"),
        ({"lr": 0.0}, "a learning rate is not between 0 and 1"),
        ({"lr": 1.5}, "a learning rate is not between 0 and 1"),
        ({"area": float("inf"), "areas": ""}, "a score is infinite, or an environment has no name"),
        ({"late": -float("inf")}, "a score is infinite, or an environment has no name"),
        ({"env": ""}, "a score is infinite, or an environment has no name"),
        ({"env": "y"}, "a row is there twice"),
        ({"areas": "1 2 3"}, "the areas of a row are not those of its seeds"),
        ({"area": 1.0}, "the areas of a row are not those of its seeds"),
    ],
    ids=str,
)
def test_one_impossible_row_is_enough_to_refuse_a_table(wrong: dict[str, Any], said: str) -> None:
    store_table(ROWS)
    assert table().areas.tolist() == ["1 3", ""]
    store_table(pd.DataFrame([ROWS.loc[0].to_dict() | wrong, ROWS.loc[1].to_dict()]))
    with pytest.raises(InputError, match=said):
        table()


def test_a_seed_without_an_episode_has_no_area_and_neither_has_its_row(rates: Path) -> None:
    left = rates.parent / f".rates.csv.{HOST}.999999999"  # by a process that was killed
    left.touch()
    store_table(ROWS.assign(area=[float("nan"), 2.0], areas=["nan 3", ""]))
    assert table().area.isna().tolist() == [True, False]
    assert not left.exists()

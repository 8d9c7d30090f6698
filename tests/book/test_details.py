"""The page on the 37 details: all of them, and what it names is there."""

import re
from collections import Counter
from dataclasses import fields
from importlib import import_module
from pathlib import Path

import pytest

from tricks.config import Config
from tricks.ladder import FILES, NEEDS

DOCS = Path(__file__).parents[2] / "docs"
ROWS = [
    tuple(cell.strip() for cell in line.strip("|").split("|"))
    for line in (DOCS / "details.md").read_text(encoding="utf-8").splitlines()
    if re.match(r"\| [\w ]+ \d+\. ", line)
]
NUMBERS = {field.name for field in fields(Config)}


def test_all_37_and_the_four_others_are_there_in_their_order() -> None:
    known = Counter(re.split(r" \d+\. ", row[0])[0] for row in ROWS)
    assert known == {"core": 13, "Atari": 9, "continuous": 9, "LSTM": 5, "MultiDiscrete": 1, "auxiliary": 4}
    for group in known:
        numbers = [int(m[1]) for row in ROWS if (m := re.match(rf"{group} (\d+)\. ", row[0]))]
        assert numbers == [*range(1, known[group] + 1)]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_a_flag_a_number_a_function_and_a_chapter_are_there(row: tuple[str, ...]) -> None:
    _, here, function, chapter = row
    names = re.findall(r"`(\w+)`", here)
    assert {*names} <= {*NEEDS} | NUMBERS
    if here.startswith("not here"):
        assert (function, chapter) == ("–", "–")
        return
    home, _, name = function.strip("`").rpartition(".")
    assert hasattr(import_module(home), name)
    (page,) = re.findall(r"\]\((.+?)\)", chapter)
    text = (DOCS / page).read_text(encoding="utf-8")
    for flag in (each for each in names if each in NEEDS):
        assert flag in text, page
    assert not {*names} & {*NEEDS} or home.startswith("tricks.core") or home.rpartition(".")[2] in FILES.values()

"""Pages that are tables name what is in the code: the 37 details, the glossary, the wall chart."""

import re
from collections import Counter
from dataclasses import fields
from importlib import import_module
from pathlib import Path

import pytest
from support.pages import PAGES, ROOT

from chapters.book.site.wall_chart import described, in_plain_text, numbers, tables_of_diagnostics, wall_chart
from tricks.config import Config
from tricks.ladder import FILES, NEEDS

DETAILS = [
    tuple(cell.strip() for cell in line.strip("|").split("|"))
    for line in PAGES["docs/details.md"].splitlines()
    if re.match(r"\| [\w ]+ \d+\. ", line)
]
TERMS = re.findall(r"^\| (\w[\w ]*) \|.*\| (`.*`) \|$", PAGES["docs/glossary.md"], re.MULTILINE)


def test_all_37_details_and_the_four_others_are_there_in_their_order() -> None:
    known = Counter(re.split(r" \d+\. ", row[0])[0] for row in DETAILS)
    assert known == {"core": 13, "Atari": 9, "continuous": 9, "LSTM": 5, "MultiDiscrete": 1, "auxiliary": 4}
    for group in known:
        found = [int(m[1]) for row in DETAILS if (m := re.match(rf"{group} (\d+)\. ", row[0]))]
        assert found == [*range(1, known[group] + 1)]


@pytest.mark.parametrize("row", DETAILS, ids=lambda row: row[0])
def test_a_flag_a_number_a_function_and_a_chapter_are_there(row: tuple[str, ...]) -> None:
    _, here, function, chapter = row
    names = {*re.findall(r"`(\w+)`", here)}
    assert names <= {*NEEDS} | {field.name for field in fields(Config)}
    if here.startswith("not here"):
        assert (function, chapter) == ("–", "–")
        return
    home, _, name = function.strip("`").rpartition(".")
    assert hasattr(import_module(home), name)
    (page,) = re.findall(r"\]\((.+?)\)", chapter)
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    assert [flag for flag in names & {*NEEDS} if flag not in text] == []
    assert not names & {*NEEDS} or home.startswith("tricks.core") or home.rpartition(".")[2] in FILES.values()


def test_there_are_few_terms_and_each_has_one_row() -> None:
    assert 25 <= len(TERMS) <= 36
    assert len({term for term, _ in TERMS}) == len(TERMS)
    assert len(TERMS) == PAGES["docs/glossary.md"].count("\n| ") - 1  # without the head


@pytest.mark.parametrize(("term", "where"), TERMS)
def test_a_term_is_something_in_the_code(term: str, where: str) -> None:
    for path in re.findall(r"`([\w.]+)`", where):
        home, _, name = path.rpartition(".")
        if not hasattr(import_module(home), name):
            import_module(path)


def test_the_wall_charts_numbers_are_the_defaults_of_ppo_each_in_one_sentence() -> None:
    found = {name: value for name, value, _ in numbers()}
    assert found["clip_range"] == str(Config.clip_range)
    assert "return_beta" not in found  # PPO does not normalize returns
    assert all(text for _, _, text in numbers())
    assert described()["gamma"] == "Discount γ"
    assert described()["epochs"] == "Passes over each batch"
    assert described()["lanes"] == "N: parallel environments per seed"


def test_the_wall_charts_tables_are_those_of_the_chapter_without_marks() -> None:
    sound, symptoms = tables_of_diagnostics()
    assert [row[0] for row in sound[1:]][:2] == ["approx_kl", "clip_fraction"]
    assert symptoms[0] == ("symptom", "look for")
    assert len(symptoms) > 6
    assert not any("$" in cell or "`" in cell for row in (*sound, *symptoms) for cell in row)
    assert in_plain_text(r" `entropy` stays at $\log A$ ") == "entropy stays at log A"
    assert in_plain_text(r"ratio $\pi/\pi_\text{old}$ of `max_grad_norm`") == "ratio π/πold of max_grad_norm"


def test_the_wall_chart_is_one_page_of_pdf(tmp_path: Path) -> None:
    wall_chart(tmp_path / "chart.pdf")
    written = (tmp_path / "chart.pdf").read_bytes()
    assert written.startswith(b"%PDF")
    assert written.count(b"/Type /Page ") == 1

"""The teacher's kit: the syllabus is the book's, the exam's answers are right, and grading needs no solutions."""

import math
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from support.pages import PAGES, ROOT, blocks_of, region

from ablations.analysis.estimates import holm
from ablations.experiments import compare, judge
from chapters.book.build import CHAPTERS, EXERCISE, names, number
from chapters.book.grading.asked import exercises
from chapters.book.slides.outline import outline
from tricks import Config
from tricks.advantage_norm import standardize
from tricks.cli.parsing import parse
from tricks.cli.train_command import Output
from tricks.clip import clipped_surrogate
from tricks.core.moments import ReturnStats
from tricks.gae import gae
from tricks.grad_clip import shorten
from tricks.popart import renormalize
from tricks.value_clip import clipped_error

EXAM = CHAPTERS / "solutions" / "exam.md"
ANSWERED = pytest.mark.skipif(not EXAM.exists(), reason="a student's copy has no answers")


def answer(question: int) -> str:
    """An answer of the exam, in one line."""
    text = EXAM.read_text(encoding="utf-8")
    return " ".join(re.split(r"^\d+\. ", text, flags=re.MULTILINE)[question].split()).replace("−", "-")


def row(*numbers: float) -> torch.Tensor:
    return torch.tensor([numbers], dtype=torch.float32)


def steps_of(command: str) -> int:
    """The environment steps of a week's experiment."""
    program, name, *words = shlex.split(command)[2:]
    if program == "tricks":
        config = parse(words, name, Config, Output)[1][0]
        return config.steps * len(config.seed_list)
    if name == "judge":
        seeds = int(judge.Options.seeds) + len(judge.RATES) * judge.RATE_SEEDS
        return sum(2 * seeds * config.steps for config in judge.USUAL)
    asked, _ = compare.requested(words)
    return len(asked.arms) * (len(asked.seeds) + len(asked.rates or ()) * asked.rate_seeds) * asked.config.steps


def test_the_syllabus_has_the_chapters_exercises_and_hours() -> None:
    found = re.findall(r'thumbnails/(\w+)\.png".*\| (\d+)(?: \+ (\d+))? \|$', PAGES["chapters/README.md"], re.MULTILINE)
    chapters = {number(name): (name, int(first), int(further or 0)) for name, first, further in found}
    (block,) = (each for each in blocks_of("sh", PAGES["docs/teaching.md"]) if "runs/week1" in each)
    rows = region("syllabus").splitlines()[2:]
    for line, command in zip(rows, block.splitlines(), strict=True):
        _, which, reading, given, experiment, hours, checked, read = (
            each.strip() for each in line.strip("|").split("|")
        )
        week = [chapters[each] for each in which.split(", ")]
        asked = [each for name, _, _ in week for each in exercises(name)]
        minutes = sum(first + further * bool(beyond(name)) for name, first, further in week) - EXERCISE * len(asked)
        running = math.ceil(steps_of(command) / 2_000_000)
        assert (reading, given, experiment) == (f"{minutes} min", f"{15 * len(asked)} min", f"{running} min")
        assert float(hours) == math.ceil((2 * minutes + 15 * len(asked) + running + 30) / 30) / 2
        assert checked == ", ".join(each.label for each in asked if each.check)
        assert read == ", ".join(each.label for each in asked if not each.check)


def beyond(name: str) -> list[str]:
    """The exercises of a chapter that are below "Going further"."""
    further = (CHAPTERS / f"{name}.py").read_text(encoding="utf-8").partition("\n# ## Going further")[2]
    return [each.label for each in exercises(name) if f"**Exercise {each.number}:" in further]


def test_the_page_names_the_exercises_below_going_further() -> None:
    (said,) = re.findall(r"where an exercise is\s\(([\d., ]+)\)", PAGES["docs/teaching.md"])
    weeks = ",".join(line.split("|")[2] for line in region("syllabus").splitlines()[2:]).replace(" ", "").split(",")
    assert said.split(", ") == [label for name in names() if number(name) in weeks for label in beyond(name)]


def test_the_lesson_names_its_slides_by_their_numbers() -> None:
    slides = [slide.heading for slide in outline("03_clip")]
    said = re.findall(r'(?:"([^"]+?)\.?"|exercise 3\.(\d)) \(slide (\d+)\)', PAGES["docs/teaching.md"])
    assert len(said) == 6
    for title, exercise, place in said:
        heading = title or next(each for each in slides if each.startswith(f"Exercise {exercise}:"))
        assert slides[int(place) - 1] == heading
        assert heading == "One lucky pull" or heading not in slides[: int(place) - 1]


@ANSWERED
def test_the_exam_has_an_answer_to_each_question() -> None:
    asked = PAGES["docs/teaching.md"].split("## An exam")[1]
    numbered = re.compile(r"^(\d+)\. ", re.MULTILINE)
    assert numbered.findall(asked) == numbered.findall(EXAM.read_text(encoding="utf-8")) == [*map(str, range(1, 13))]


@ANSWERED
def test_the_answers_on_the_policy_are_the_librarys() -> None:
    logits = torch.zeros(2, requires_grad=True)
    for base, variance in ((0, 1), (2, 0)):
        found = [
            (pay - base) * torch.autograd.grad(logits.log_softmax(0)[action], logits)[0][0].item()
            for action, pay in ((0, 1), (1, 3))
        ]
        assert sum(found) / 2 == -0.5
        assert (found[0] - found[1]) ** 2 / 4 == variance
    old, new = torch.tensor([0.9, 0.1]), torch.tensor([0.5, 0.5])
    ratio = new / old
    assert ((old * ratio).sum().item(), 1 / (old * ratio**2).sum().item()) == pytest.approx((1, 0.36))
    rho = row(1.5, 0.5, 1.5, 0.5).requires_grad_()
    objective = clipped_surrogate(rho, row(1, 1, -1, -1), torch.tensor([0.2]))
    (slope,) = torch.autograd.grad(objective.sum(), rho)
    torch.testing.assert_close(objective, row(1.2, 0.5, -1.5, -0.8))
    assert (slope != 0).tolist() == [[False, True, True, False]]
    assert answer(3).startswith("1.2, 0.5, -1.5, -0.8. The second and the third")
    torch.testing.assert_close(shorten(row(3, 4), torch.tensor([5.0]), 0.5), row(0.3, 0.4))
    every = torch.ones(1, 3, dtype=torch.bool)
    for scale in (1, 100):
        torch.testing.assert_close(standardize(scale * row(1, 2, 3), every), row(-1, 0, 1))
    assert [torch.distributions.Categorical(logits=torch.zeros(k)).entropy().item() for k in (4, 2)] == pytest.approx(
        [1.386, 0.693], abs=1e-3
    )


@ANSWERED
def test_the_answers_on_values_are_the_librarys() -> None:
    def lane(*numbers: float) -> torch.Tensor:
        return torch.tensor(numbers, dtype=torch.float32).reshape(1, -1, 1)

    end = lane(0, 0, 1).bool()
    for lam, wanted in ((0, (2, -1, 1)), (0.5, (1.75, -0.5, 1)), (1, (2, 0, 1))):
        found = gae(lane(1, 0, 2), lane(1, 2, 1), lane(2, 1, 9), end, end, 1.0, lam)
        torch.testing.assert_close(found, lane(*wanted))
        assert f"({', '.join(f'{each:g}' for each in wanted)})" in answer(4)
    before, after = (
        ReturnStats(torch.tensor([mean]).double(), torch.tensor([variance]).double())
        for mean, variance in ((0.0, 1.0), (10.0, 25.0))
    )
    moved = renormalize(torch.tensor([[2.0 * 3 + 1]]), before, after)
    assert moved.item() == pytest.approx(0.4 * 3 - 1.8)
    value = row(0.5, -0.5).requires_grad_()
    loss = clipped_error(value, row(0, 0), row(1, 1), 0.2)
    (slope,) = torch.autograd.grad(loss.sum(), value)
    torch.testing.assert_close(loss, row(0.32, 1.125))
    assert slope.tolist() == [[0, -1.5]]


@ANSWERED
def test_the_answers_on_statistics_are_those_of_the_harness() -> None:
    assert holm(np.array([0.01, 0.03, 0.04])) == pytest.approx([0.03, 0.06, 0.06])
    told = next(line for line in region("take-home").splitlines() if line.startswith("2. "))
    for said in ("-0.51", "+0.47", "+0.09", "-0.000", "+0.17"):
        assert said in told
        assert said in answer(12)


def test_grading_needs_no_solutions(tmp_path: Path) -> None:
    left_out = shutil.ignore_patterns("solutions", "clips", "numbers", "thumbnails", "__pycache__")
    for package in ("chapters", "tricks", "ablations"):
        ignored = left_out if package == "chapters" else shutil.ignore_patterns("results", "__pycache__")
        shutil.copytree(ROOT / package, tmp_path / package, ignore=ignored)
    assert not (tmp_path / "chapters" / "solutions").exists()
    command = [sys.executable, "-P", "-m", "chapters", "grade", "chapters/03_clip.ipynb"]
    environment = os.environ | {"PYTHONPATH": str(tmp_path)}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert "chapter 3, 0 of 2 points" in done.stdout, done.stderr
    assert "unanswered: the function is not written yet" in done.stdout

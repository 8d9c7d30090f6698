"""The teacher's kit: the syllabus is the book's, the exam's answers are right, and grading needs no solutions."""

import math
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

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
from tricks.cli.shell import parse
from tricks.cli.train import Output
from tricks.clip import clipped_surrogate
from tricks.core.moments import ReturnStats
from tricks.gae import gae
from tricks.grad_clip import shorten
from tricks.popart import renormalize
from tricks.value_clip import clipped_error

PAGE = PAGES["docs/teaching.md"]
EXAM = CHAPTERS / "solutions" / "exam.md"
ANSWERED = pytest.mark.skipif(not EXAM.exists(), reason="a student's copy has no answers")


def row(*numbers: float) -> torch.Tensor:
    return torch.tensor([numbers], dtype=torch.float32)


def listed(numbers: torch.Tensor) -> str:
    return ", ".join(f"{x:.4g}" for x in numbers.flatten().tolist())


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
    (block,) = (each for each in blocks_of("sh", PAGE) if "runs/week1" in each)
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


def test_the_page_names_the_exercises_below_going_further_and_slides_by_their_numbers() -> None:
    (said,) = re.findall(r"where an exercise is\s\(([\d., ]+)\)", PAGE)
    weeks = ",".join(line.split("|")[2] for line in region("syllabus").splitlines()[2:]).replace(" ", "").split(",")
    assert said.split(", ") == [label for name in names() if number(name) in weeks for label in beyond(name)]
    slides = [slide.heading for slide in outline("03_clip")]
    places = re.findall(r'(?:"([^"]+?)\.?"|exercise 3\.(\d)) \(slide (\d+)\)', PAGE)
    assert len(places) == 6
    for title, exercise, place in places:
        heading = title or next(each for each in slides if each.startswith(f"Exercise {exercise}:"))
        assert slides[int(place) - 1] == heading
        assert heading == "One lucky pull" or heading not in slides[: int(place) - 1]


@ANSWERED
def test_the_exam_has_an_answer_to_each_question_with_the_numbers_that_the_library_computes() -> None:
    _, *answers = re.split(r"^\d+\. ", EXAM.read_text(encoding="utf-8"), flags=re.MULTILINE)
    asked = re.findall(r"^(\d+)\. ", PAGE.split("## An exam")[1], re.MULTILINE)
    assert asked == [*map(str, range(1, 13))]
    assert len(answers) == 12
    logits = torch.zeros(2, requires_grad=True)
    slopes = [torch.autograd.grad(logits.log_softmax(0)[action], logits)[0][0].item() for action in (0, 1)]
    plain, based = ([(pay - base) * slope for pay, slope in zip((1, 3), slopes, strict=True)] for base in (0, 2))
    old, new = row(0.9, 0.1), row(0.5, 0.5)
    rho, value = row(1.5, 0.5, 1.5, 0.5).requires_grad_(), row(0.5, -0.5).requires_grad_()
    objective = clipped_surrogate(rho, row(1, 1, -1, -1), torch.tensor([0.2]))
    loss = clipped_error(value, row(0, 0), row(1, 1), 0.2)
    slope, value_slope = (torch.autograd.grad(x.sum(), y)[0] for x, y in ((objective, rho), (loss, value)))
    assert (slope != 0).tolist() == [[False, True, True, False]]
    assert value_slope.tolist() == [[0, -1.5]]
    reward, values, after, end = (row(*x).unsqueeze(2) for x in ((1, 0, 2), (1, 2, 1), (2, 1, 9), (0, 0, 1)))
    advantages = [gae(reward, values, after, end.bool(), end.bool(), 1.0, lam) for lam in (0, 0.5, 1)]
    before, later = map(ReturnStats, torch.tensor([[0.0], [10.0]]).double(), torch.tensor([[1.0], [25.0]]).double())
    assert renormalize(row(7), before, later).item() == pytest.approx(0.4 * 3 - 1.8)
    whole = torch.ones(1, 3, dtype=torch.bool)
    table: tuple[tuple[Any, ...], ...] = (
        (1, f"it is {plain[0]:g} or {plain[1]:g}: ", f"With b = 2 it is {based[0]:g} either way"),
        (2, f"The mean is 0.9 · 5/9 + 0.1 · 5 = {new.sum():g}", f"= {1 / (new**2 / old).sum():.0%} of the batch"),
        (3, f"{listed(objective)}. The second and the third have a gradient."),
        (4, *(f"λ = {lam}: ({listed(found)})" for lam, found in zip("0½1", advantages, strict=True))),
        (5, *(f"({listed(standardize(scale * row(1, 2, 3), whole))})" for scale in (1, 100))),
        (6, "5 · (0.4 · 3 - 1.8) + 10 = 7"),
        (7, f"({listed(shorten(row(3, 4), torch.tensor([5.0]), 0.5))})"),
        (8, *(f"ln {k} ≈ {math.log(k):.3f} nats" for k in (4, 2))),
        (10, *(f"= {each}, from" for each in listed(loss).split(", "))),
        (11, listed(torch.tensor(holm(np.array([0.01, 0.03, 0.04]))))),
        (12, "-0.51", "+0.47", "+0.09", "-0.000", "+0.17"),
    )
    for question, *said in table:
        answer = " ".join(answers[question - 1].split()).replace("−", "-")
        assert [each for each in said if each not in answer] == [], question
    told = next(line for line in region("take-home").splitlines() if line.startswith("2. "))
    assert all(each in told for each in ("-0.51", "+0.47", "+0.09", "-0.000", "+0.17"))


def test_grading_needs_no_solutions(tmp_path: Path) -> None:
    left_out = shutil.ignore_patterns("solutions", "clips", "numbers", "thumbnails", "results", "__pycache__")
    for package in ("chapters", "tricks", "ablations"):
        shutil.copytree(ROOT / package, tmp_path / package, ignore=left_out)
    assert not (tmp_path / "chapters" / "solutions").exists()
    command = [sys.executable, "-P", "-m", "chapters", "grade", "chapters/03_clip.ipynb"]
    environment = os.environ | {"PYTHONPATH": str(tmp_path), "NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert "chapter 3, 0 of 2 points" in done.stdout, done.stderr
    assert "unanswered: the function is not written yet" in done.stdout

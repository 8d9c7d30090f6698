"""The chapters: complete, in step with their notebooks, executed, and right in what they ask."""

import ast
import re
import runpy
from collections.abc import Iterable, Iterator
from dataclasses import fields
from functools import cache
from pathlib import Path

import jupytext
import pytest
from jupytext.compare import compare_notebooks

from chapters.book.build import END, START, names, table_of_contents
from chapters.book.setup_cells import stored
from tricks import Tricks

CHAPTERS = Path(__file__).parents[2] / "chapters"
SOLUTIONS = CHAPTERS / "solutions"
NAMES = names()
CHAPTERS_PROPER = [name for name in NAMES if not name.startswith("a")]  # without the appendices


def script(name: str) -> str:
    return (CHAPTERS / f"{name}.py").read_text(encoding="utf-8")


def test_every_flag_has_its_chapter_numbered_as_on_the_ladder() -> None:
    files = dict.fromkeys(f.metadata["chapter"] or f.name for f in fields(Tricks))  # some tricks share one
    asked = [f"{number:02}_{name}" for number, name in enumerate(["reinforce", *files])]
    assert NAMES[: len(asked)] == asked


@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_is_in_step_with_its_script_and_ran_in_order_without_an_error_or_a_warning(name: str) -> None:
    notebook = stored(CHAPTERS / f"{name}.ipynb")
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in code] == list(range(1, len(code) + 1))
    outputs = [out for cell in jupytext.read(CHAPTERS / f"{name}.ipynb").cells for out in cell.get("outputs", [])]
    assert outputs
    assert {out.output_type for out in outputs} <= {"stream", "display_data", "execute_result"}
    assert all(out.name == "stdout" for out in outputs if out.output_type == "stream")
    assert not [out for out in outputs if "<Figure" in out.get("text", "")]
    for cell in code:
        if cell.source.endswith("plt.show()"):
            assert [out for out in cell.outputs if "image/png" in out.get("data", {})], cell.source
    for cell in notebook.cells:
        cell.metadata.pop("jupyter", None)  # made of the tags, and tested with the form of a chapter
    compare_notebooks(jupytext.read(CHAPTERS / f"{name}.py"), notebook, fmt="py:percent")


def functions(nodes: Iterable[ast.AST]) -> Iterator[tuple[tuple[str, list[str]], str]]:
    """The name and the parameters of each function among nodes, without self, and its body without a docstring."""
    for node in nodes:
        if isinstance(node, ast.FunctionDef):
            body = node.body[ast.get_docstring(node) is not None :]
            parameters = [each.arg for each in node.args.args if each.arg != "self"]
            yield (node.name, parameters), ast.dump(ast.Module(body, []))


@cache
def of_the_library() -> list[tuple[tuple[str, list[str]], str]]:
    """The library's functions that do something; `one_agent` says some of it once more."""
    paths = (path for path in (CHAPTERS.parent / "tricks").rglob("*.py") if path.stem != "one_agent")
    code = [path.read_text() for path in paths]
    return [found for each in code for found in functions(ast.walk(ast.parse(each))) if len(found[1]) > 100]


@pytest.mark.parametrize("name", NAMES)
def test_nothing_of_the_library_is_copied_into_a_chapter_and_its_links_lead_somewhere(name: str) -> None:
    signatures, bodies = zip(*of_the_library(), strict=True)
    for cell in jupytext.reads(script(name), "py:percent").cells:
        if cell.cell_type == "code":
            for signature, body in functions(ast.parse(cell.source).body):
                assert signature not in signatures
                assert body not in bodies
    links = re.findall(r"\]\(([\w./-]+)\)", script(name))
    assert links
    assert [link for link in links if not (CHAPTERS / link).exists()] == []


@pytest.mark.parametrize("name", CHAPTERS_PROPER)
def test_a_chapter_has_exercises_with_right_solutions_and_a_card_whose_code_is_the_loops_own(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "Exercise 2" in script(name)
    (row,) = re.findall(r"^# \| \*\*in the loop\*\* \| (.+) \|$", script(name), re.M)
    loop = (CHAPTERS.parent / "tricks" / "loop.py").read_text()
    lines = re.findall(r"`([^`]+)`", row)
    assert lines
    assert [line for line in lines if line not in loop] == []
    if SOLUTIONS.is_dir():  # a student's copy has none
        runpy.run_path(str(SOLUTIONS / f"{name}.py"))
        verdicts = capsys.readouterr().out.splitlines()
        assert verdicts
        assert all(verdict.startswith("Right") for verdict in verdicts)


def exercises() -> list[tuple[str, str]]:
    """Every exercise, by the module and the name that a chapter imports it from."""
    text = "\n".join(map(script, NAMES))
    imports = re.findall(r"^from chapters\.exercises\.(\w+) import \(?([\w\s,]+)\)?$", text, re.M)
    return [(module, name) for module, names in imports for name in re.findall(r"check_\w+", names)]


@pytest.mark.parametrize(("module", "name"), exercises())
def test_an_exercise_names_each_known_mistake(module: str, name: str) -> None:
    exercise = getattr(__import__(f"chapters.exercises.{module}", fromlist=[name]), name)
    assert exercise.verdict(exercise.right).startswith("Right")
    assert exercise.verdict(lambda *_: None).startswith("Not yet: <lambda> returns nothing")
    assert exercise.mistakes
    for said, wrong in exercise.mistakes.items():
        assert exercise.verdict(wrong) == f"Not yet: {said}"


@pytest.mark.skipif(not SOLUTIONS.is_dir(), reason="a student's copy has no answers, whose words the minutes count")
def test_the_map_lists_every_chapter_with_its_question() -> None:
    page = (CHAPTERS / "README.md").read_text()
    assert page.split(START)[1].split(END)[0] == table_of_contents()
    assert all((CHAPTERS / "thumbnails" / f"{name}.png").stat().st_size > 500 for name in NAMES)

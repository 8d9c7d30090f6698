"""The chapters: complete, in step with their notebooks, right in what they ask, and of the form that is theirs."""

import ast
import json
import re
import runpy
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import fields
from functools import cache
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import Any

import jupytext
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
import torch
from IPython.display import Markdown
from jupytext.compare import compare_notebooks
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb, to_rgba
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from nbconvert.preprocessors import ExecutePreprocessor
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output
from support.fixtures import Capture, Patch, refusal

import tricks.loop
from ablations import SCALES, effects, story_of
from ablations.question.arms import added, taken
from ablations.question.designs import DESIGNS
from ablations.report.multiples import spread
from chapters.book import alternative, best_at, build, evidence, lost_at, planted, swept, unwatched
from chapters.book.build import CHAPTERS, names, reading_time, table_of_contents
from chapters.book.evidence import AREA, ROBOTS, with_evidence
from chapters.book.exercise import Exercise
from chapters.book.inputs import is_stale
from chapters.book.results import everything, verdicts_of_trials
from chapters.book.setup_cells import EXTRAS, TAG, badges, code, stored, with_setup, without_setup, write
from chapters.book.site.extension import alternatives
from chapters.book.two_hours import STOPS
from tricks import PPG, Config, InputError, Tricks, __version__, source, train
from tricks.gae import gae
from tricks.ppg import auxiliary_loss
from tricks.version import DISTRIBUTION

SOLUTIONS = CHAPTERS / "solutions"
NAMES = names()
CHAPTERS_PROPER = [name for name in NAMES if not name.startswith("a")]  # without the appendices


def script(name: str) -> str:
    return (CHAPTERS / f"{name}.py").read_text(encoding="utf-8")


@pytest.mark.skipif(not SOLUTIONS.is_dir(), reason="a student's copy has no answers, whose words the minutes count")
def test_every_flag_has_its_chapter_numbered_as_on_the_ladder_and_the_map_lists_its_question() -> None:
    files = dict.fromkeys(f.metadata["chapter"] or f.name for f in fields(Tricks))  # some tricks share one
    last, variants = ([name[3:] for name in build.parts()[part]] for part in ("From PPO to GRPO", "Variants"))
    asked = ["reinforce", *(name for name in files if name not in (*last, *variants))]
    assert NAMES[: len(asked)] == [f"{number:02}_{name}" for number, name in enumerate(asked)]
    assert {*last, *variants} <= {*files}
    assert (CHAPTERS / "README.md").read_text().split(build.START)[1].split(build.END)[0] == table_of_contents()
    assert all((CHAPTERS / "thumbnails" / f"{name}.png").stat().st_size > 500 for name in NAMES)


@pytest.mark.parametrize("name", names())
def test_a_notebook_is_in_step_with_its_script(name: str) -> None:
    notebook = stored(CHAPTERS / f"{name}.ipynb")
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))
    outputs = [out for cell in jupytext.read(CHAPTERS / f"{name}.ipynb").cells for out in cell.get("outputs", [])]
    assert outputs and {out.output_type for out in outputs} <= {"stream", "display_data", "execute_result"}
    assert all(out.name == "stdout" for out in outputs if out.output_type == "stream")
    odd = "<Figure", "\r"  # a figure's name, and a bar that shows how far a training is
    assert not [out for out in outputs if any(each in out.get("text", "") for each in odd)]
    for cell in cells:
        if cell.source.endswith("plt.show()"):
            assert [out for out in cell.outputs if "image/png" in out.get("data", {})], cell.source
        if re.search(r"^(for .*:\n( .*\n)*? {4})?print\(", cell.source, re.MULTILINE):
            assert [out for out in cell.outputs if "text" in out], cell.source
    for cell in notebook.cells:
        cell.metadata.pop("jupyter", None)  # made of the tags, and tested with the form of a chapter
    compare_notebooks(jupytext.read(CHAPTERS / f"{name}.py"), notebook, fmt="py:percent")


@pytest.mark.parametrize("name", names())
def test_a_notebook_is_set_up_by_this_version(name: str) -> None:
    notebook = jupytext.read(CHAPTERS / f"{name}.ipynb")
    assert notebook == with_setup(notebook, name)  # else run `python -m chapters setup`
    assert [TAG in cell.metadata.get("tags", []) for cell in notebook.cells].count(True) == 2
    assert notebook.cells[0].source == badges(name)
    assert next(cell for cell in notebook.cells if cell.cell_type == "code").source == code(name)


def test_a_card_says_what_the_stored_runs_say() -> None:
    assert [name for name in NAMES if script(name) != with_evidence(script(name), name, "# ")] == []  # likewise


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


@pytest.mark.parametrize("name", names())
def test_nothing_of_the_library_is_copied_into_a_chapter_which_needs_its_dependencies_alone(name: str) -> None:
    signatures, bodies = zip(*of_the_library(), strict=True)
    for cell in jupytext.reads(script(name), "py:percent").cells:
        if cell.cell_type == "code":
            for signature, body in functions(ast.parse(cell.source).body):
                assert signature not in signatures
                assert body not in bodies
    links = re.findall(r"\]\(([\w./-]+)\)", script(name))
    assert links and [link for link in links if not (CHAPTERS / link).exists()] == []
    nodes = [*ast.walk(ast.parse(script(name)))]
    modules = [each.name for node in nodes if isinstance(node, ast.Import) for each in node.names]
    modules += [str(node.module) for node in nodes if isinstance(node, ast.ImportFrom)]
    roots = {module.partition(".")[0] for module in modules}
    assert "chapters" in roots and roots - THERE - {*EXTRAS.get(name, ())} == set()


@pytest.mark.parametrize("name", CHAPTERS_PROPER)
def test_a_chapter_has_right_solutions_and_a_card_of_the_loops_own_code(name: str, capsys: Capture) -> None:
    assert "Exercise 2" in script(name)
    (row,) = re.findall(r"^# \| \*\*in the loop\*\* \| (.+) \|$", script(name), re.M)
    loop = (CHAPTERS.parent / "tricks" / "loop.py").read_text()
    lines = re.findall(r"`([^`]+)`", row)
    assert lines and [line for line in lines if line not in loop] == []
    if SOLUTIONS.is_dir():  # a student's copy has none
        runpy.run_path(str(SOLUTIONS / f"{name}.py"))
        verdicts = capsys.readouterr().out.splitlines()
        assert verdicts and all(verdict.startswith("Right") for verdict in verdicts)


SCAFFOLD = re.compile(r"^\s*assert |\bplt\.show\(|\bevidence\(|\bswept\(|\bbegin\(\)", re.M)
WIDE = 88  # characters of code that fit beside the loop on a screen of 1440 pixels
AT_MOST = 25  # minutes
EXERCISES = "**Exercise 1.** Do it.\n\n**Exercise 2.** Do it again.\n"


@cache
def cells_of(name: str) -> list[NotebookNode]:
    return list(stored(CHAPTERS / f"{name}.ipynb").cells)


@pytest.mark.parametrize("name", names())
def test_code_is_folded_unless_it_is_the_lesson_and_what_follows_a_prediction_at_once(name: str) -> None:
    for cell in cells_of(name):
        tags = cell.metadata.get("tags", [])
        if cell.cell_type == "code" and SCAFFOLD.search(cell.source):
            assert build.is_folded(cell) != ("open" in tags), f"tag this cell hide-input or open:\n{cell.source}"
        if re.search(r"^def my_|^(source|listing|diff)\(", cell.source, re.M):  # an exercise, the library's own code
            assert not build.is_folded(cell), cell.source
        hidden = cell.metadata.get("jupyter", {}).get("source_hidden", False)
        assert hidden == build.is_folded(cell), cell.source  # Jupyter folds what the web book folds
        if cell.cell_type == "code" and not build.is_folded(cell):
            assert max(map(len, cell.source.split("\n"))) <= WIDE, cell.source
    for cell, following in pairwise(cells_of(name)):
        if "predict" in cell.metadata.get("tags", []) and following.get("outputs"):
            assert "predict" in following.metadata.get("tags", []), following.source
    first, further = build.minutes(name)
    assert first <= AT_MOST
    headings = [cell.source.split("\n")[0] for cell in cells_of(name) if cell.source.startswith(build.FURTHER)]
    assert headings == [build.FURTHER] * (further > 0)


def test_every_chapter_is_in_one_part_and_jupyter_forgets_a_fold_that_is_gone() -> None:
    folded = new_code_cell("plt.show()", metadata={"tags": ["hide-input"]})
    once = new_code_cell("x = 1", metadata={"jupyter": {"source_hidden": True}})
    cells = build.marked("made_up", new_notebook(cells=[folded, once, new_markdown_cell("# T")])).cells
    assert [cell.metadata.get("jupyter") for cell in cells] == [{"source_hidden": True}, None, None]
    assert [cell.id for cell in cells] == ["made_up-0", "made_up-1", "made_up-2"]
    found = build.parts()
    assert [*found] == [*build.PARTS.values()]
    assert [name for chapters in found.values() for name in chapters] == names()
    assert all(chapters[0] == first for first, chapters in zip(build.PARTS, found.values(), strict=True))
    numbers = {"00_reinforce": "0", "04_gae": "4", "12_popart": "12", "a1_qr_signs": "A1"}
    assert {name: build.number(name) for name in numbers} == numbers


def showing(text: str, code: str = "") -> NotebookNode:
    return new_code_cell(code, outputs=[new_output("display_data", data={"text/markdown": text})])


def test_reading_time_counts_words_code_and_what_goes_further(tmp_path: Path, monkeypatch: Patch) -> None:
    words, code = new_markdown_cell("word " * 2000), new_code_cell("x = 1\n" * 79 + "x = 1")
    further = [new_markdown_cell(text) for text in ("word " * 400, f"{build.FURTHER}\n\n" + "word " * 600)]
    monkeypatch.setattr(build, "CHAPTERS", tmp_path)
    tables, asked = [showing("| a |\n" * 400)], [words, code, new_markdown_cell(EXERCISES)]
    for cells, wanted in ((asked, (22, 0)), (further, (2, 3)), (tables, (0, 0))):
        jupytext.write(new_notebook(cells=cells), tmp_path / "00_made_up.ipynb")
        assert build.minutes("00_made_up") == wanted
    cell = showing("```python\n" + "x = 1\n" * 78 + "```", "x = 1\n" * 39 + "x = 1")
    assert reading_time([cell]) == 3
    cell.metadata["tags"] = ["hide-input"]  # folded code takes no time, and what it shows does
    assert reading_time([cell]) == 2


def test_what_was_compiled_is_not_kept_and_a_planted_fault_is_gone_afterwards() -> None:
    before, after = "compiling for this CPU, once\n", "compiled_rows: compiled for this CPU, once, in 2 s\n"
    assert all(build.COMPILING.fullmatch(said) for said in (before, after, before + after))
    assert not build.COMPILING.fullmatch(f"{after}UserWarning\n") and not build.COMPILING.fullmatch("")
    assert source(gae).startswith("def gae(") and source(gae)._repr_markdown_().startswith("```python\ndef gae(")
    with planted(gae=print):
        assert vars(tricks.loop)["gae"] is print
    assert vars(tricks.loop)["gae"] is gae
    with pytest.raises(InputError, match="no function 'no_such_function'"), planted(no_such_function=print):
        pass


def test_an_unwatched_diagnostic_ends_no_seed(monkeypatch: Patch) -> None:
    monkeypatch.setattr(tricks.loop, "auxiliary_loss", lambda *given: auxiliary_loss(*given) * torch.nan)
    config = Config(seeds=1, steps=4 * 64, lanes=2, horizon=32, aux_every=2)
    assert train(config, PPG).diverged
    with unwatched("auxiliary_loss"):
        unended = train(config, PPG)
    assert not unended.diverged and unended.curve.auxiliary_loss.isna().all()
    with pytest.raises(ValueError, match="not in list"), unwatched("no_such_diagnostic"):
        pass


def test_evidence_says_and_draws_what_the_stored_effects_say_and_counts_every_comparison_once() -> None:
    study = next(s for s in everything() if s.env == "CartPole-v1" and "ladder" in {d.name for d in s.designs})
    ladder = next(design for design in study.designs if design.name == "ladder")
    row = effects(study, ladder).set_index("trick").loc["clip"]
    found = evidence("clip")
    shown = found.table[(found.table.env == "CartPole-v1") & (found.table.question == "as the next rung")].iloc[0]
    assert (shown.difference, shown.low, shown.detected) == (row.difference, row.low, row.detected)
    assert f"{row.difference:+.3f}" in found._repr_markdown_()
    usual, robots, made = found.summary().splitlines()
    of_ladder = found.table[found.table.subject == "ladder"]
    assert usual.startswith(f"{len(of_ladder)} comparisons in {of_ladder.env.nunique()} usual environments: ")
    assert robots.startswith("the preset for robots: ")
    counts = [int(part.split(" × ")[0]) for x in (usual, robots) for part in x.split(": ", 1)[1].split("; ")]
    assert sum(counts) == len(found.table) > len(of_ladder)
    assert made == f"worlds made for it: 1 × {found.worlds.verdict.iloc[0]}"
    said = [text.get_text() for axis in found.strip().axes for text in axis.texts]
    assert len(said) == 2 * (len(found.table) + len(found.worlds))  # the difference, and the verdict below it
    verdicts = pd.concat([found.table, found.worlds])
    detected = verdicts[verdicts.verdict.eq("helps")]
    assert said.count("helps") == detected.confirmed.eq(1).sum() > 0
    assert said.count("helps, once") == detected.confirmed.isna().sum() > 0
    share = found.worlds.share.item()  # CartPole, with 500 points at best
    assert share == found.worlds.difference.item() / 500 and f"{share:+.2f}" in said
    cartpole = found.table[found.table.env == "CartPole-v1"].difference
    assert {f"{x:+.2f}".replace("-", "−") for x in cartpole} <= {*said}
    refusal("unknown trick 'klip'", evidence, "klip")


def colors(figure: Figure) -> list[set[Any]]:
    """The colors of each panel's cells other than white; hatching, which has no face, aside."""
    faces = [[each.get_facecolor() for each in axis.patches if isinstance(each, Rectangle)] for axis in figure.axes]
    return [{to_rgb(face) for face in panel if to_rgba(face)[3]} - {(1.0, 1.0, 1.0)} for panel in faces]


def test_a_strip_colors_what_was_confirmed_and_worlds_only_where_they_have_a_scale_in_common() -> None:
    usual, robots, _ = evidence("clip").strip().axes
    assert (usual.get_title("left"), robots.get_title("left")) == (AREA, ROBOTS[0])
    shown = colors(evidence("clip").strip())
    assert shown[0] and shown[1] == set() and len(shown[2]) == 1  # nothing was tried again on the robots
    popart = evidence("popart")
    assert [popart.worlds.share.isna().sum(), *map(len, colors(popart.strip())[2:])] == [1, 1, 0]
    worlds = evidence("return_norm").worlds.set_index("world")
    large, small = "tricks/CartPoleReward100-v0", "tricks/CartPoleReward0.0001-v0"
    assert worlds.difference[large] > 1000 > 1 > worlds.difference[small]
    assert 0.1 < worlds.share[large] < worlds.share[small] < 0.25


def test_what_other_seeds_did_not_confirm_in_a_world_is_said_with_its_verdict(monkeypatch: Patch) -> None:
    trials, verdicts = verdicts_of_trials(), evidence("clip").worlds.verdict
    for confirmed, end in ((0.0, ", but not again"), (1.0, ""), (np.nan, "")):
        table = trials.assign(confirmed=confirmed)
        monkeypatch.setattr(import_module("chapters.book.evidence"), "verdicts_of_trials", lambda table=table: table)
        assert evidence.__wrapped__("clip").worlds.verdict.tolist() == [f"{said}{end}" for said in verdicts] != []


def test_a_comparison_that_two_designs_share_is_shown_once_and_words_name_what_goes_along() -> None:
    table = evidence("baseline").table  # the first rung is `baseline` alone
    for env, kinds in table[table.subject == "ladder"].groupby("env").kind:
        assert sorted(kinds) == ["alone, on what it needs", "in the full set"], env
    phrases = {name: story_of(DESIGNS[name](["clip"])).phrases for name in ("add-one-in", "leave-one-out", "ladder")}
    assert phrases["add-one-in"].asked(added(["baseline", "gae"])) == "alone, on baseline"
    assert phrases["add-one-in"].asked(added(["entropy"])) == "alone, on REINFORCE"
    assert phrases["leave-one-out"].asked(taken("clip", ["clip_anneal"])) == "taken out of everything, with clip_anneal"
    assert phrases["ladder"].asked(added(["clip"])) == "as the next rung"


def test_a_figure_of_the_ablations_leaves_a_notebook_its_backend(monkeypatch: Patch) -> None:
    plt.close(plt.figure())  # so that some backend is loaded
    chosen: list[str] = []
    monkeypatch.setattr(plt, "switch_backend", chosen.append)
    for backend, then in (("module://matplotlib_inline.backend_inline", []), ("tkagg", ["Agg"])):
        monkeypatch.setattr(plt, "get_backend", lambda backend=backend: backend)
        evidence("clip").strip()
        assert chosen == then  # with another backend, the strip and all figures after it would not be shown


def drawn(columns: int = 1, **labels: str) -> tuple[Figure, list[Axes]]:
    figure = Figure()
    axes = figure.subplots(1, columns, squeeze=False)[0].tolist()
    for axis in axes:
        axis.set(**labels)
    return figure, axes


def test_a_figure_says_in_one_sentence_what_it_shows_against_what_and_by_which_names() -> None:
    figure, (axis,) = drawn(xlabel="steps", ylabel="$\\hat{J}$\nof $\\pi_\\theta$")
    for name, last in (("clip", 480), ("no clip", 110)):
        axis.plot([0, 1, 2], [20, 50, last], label=name)
    axis.axhline(22, label="random")
    lines = "clip from 20 to 480, no clip from 20 to 110, and random at 22"
    assert alternative.sentence(figure) == f"Line chart of hat J of pi_theta against steps: {lines}."
    figure, (axis,) = drawn(xlabel="pull")
    axis.plot(torch.tensor([[0.3, 0.3], [0.5, 0.5], [0.9, 0.4]]))
    assert alternative.sentence(figure) == "Line chart of pull: 2 lines from 0.3 to between 0.4 and 0.9."
    figure, (one, other, rest) = drawn(3, ylabel="score")
    one.set_title("Taxi")
    other.bar(["a", "b"], [1, 2])
    one.scatter([1, 2], [1, 2], label="seed")
    rest.scatter([1, 2], [1, 2], label="seed")
    assert alternative.sentence(figure) == "2 scatter plots of score, for Taxi: seed; bar chart of score."
    figure, (axis,) = drawn()
    axis.barh(["gae", "clip"], [1, 2])
    assert alternative.sentence(figure) == "Bar chart: gae and clip."
    figure, (axis,) = drawn(xlabel="seed")
    axis.plot([1, 2, 3], [4, 5, 6], "o", label="clip")  # dots, not a line
    assert alternative.sentence(figure).startswith("Scatter plot of seed: clip")
    assert alternative.listed(["a, b", "c", *"defghij"]) == "a, b; c; d; e; f; g; h; and 2 more"


def test_a_figure_with_a_label_says_that_as_the_strips_do() -> None:
    said = alternative.sentence(evidence("clip").strip())
    assert said.startswith("Every verdict on clip: ") and evidence("clip").summary().splitlines()[0] in said


def test_a_notebook_stores_with_each_figure_what_it_shows() -> None:
    code = "from chapters.book import begin\nimport matplotlib.pyplot as plt\nbegin()\nplt.plot([1, 2, 3])\nplt.show()"
    notebook = new_notebook(cells=[new_code_cell(code)])
    ExecutePreprocessor(timeout=300, kernel_name="python3").preprocess(notebook, {"metadata": {"path": str(ROOT)}})
    (output,) = notebook.cells[0].outputs
    assert output.metadata["image/png"]["alt"] == "Line chart: from 1 to 3."
    assert list(alternatives(notebook).values()) == ["Line chart: from 1 to 3."]


@pytest.mark.parametrize("name", [*NAMES, *(stop.name for stop in STOPS)])
def test_every_stored_figure_says_what_it_shows(name: str) -> None:
    read = [name] if name in NAMES else next(stop.parts for stop in STOPS if stop.name == name)
    if any(is_stale(CHAPTERS / f"{each}.ipynb") for each in read):
        pytest.skip("its outputs are older than its code: python -m chapters build --stale")
    outputs = [out for cell in jupytext.read(CHAPTERS / f"{name}.ipynb").cells for out in cell.get("outputs", [])]
    figures = [out.metadata.get("image/png", {}) for out in outputs if "image/png" in out.get("data", {})]
    assert figures and all(len(about.get("alt", "").split()) > 2 for about in figures)


PAIR = ({"x": torch.tensor([1.0, 2.0])},)
double = Exercise(lambda x: 2 * x, (*PAIR, {"x": 3}), {"that is half of it": lambda x: x / 2})
backward, both = Exercise(lambda x: x.flip(0), PAIR), Exercise(lambda x: (x, 2 * x), PAIR)
small = Exercise(lambda x: x < 2, ({"x": 1}, {"x": 2}))
riddle = Exercise(lambda x: 1, ({"x": "?"},), otherwise="guess again.")


@pytest.mark.parametrize(
    ("exercise", "answer", "verdict"),
    [
        (double, lambda x: x + x, "Right, in 2 of 2 cases."),
        (double, lambda x: x.mul_(2) if torch.is_tensor(x) else 2 * x, "Right, in 2 of 2 cases."),
        (backward, lambda x: x.numpy()[::-1], "Right, in 1 of 1 cases."),  # a negative stride
        (both, lambda x: [x, 2 * x], "Right, in 1 of 1 cases."),
        (both, lambda x: torch.stack([x, 2 * x]), "Right, in 1 of 1 cases."),
        (double, lambda x: None, "Not yet: <lambda> returns nothing. Write it, and run this cell again."),
        (double, lambda x: x / 2, "Not yet: that is half of it"),
        (double, lambda x: x, "Not yet: <lambda>(x=[1., 2.]) gives\n[1., 2.]\nbut should give\n[2., 4.]"),
        (double, lambda x: torch.ones(3), "Not yet: <lambda>(x=[1., 2.]) has shape [3], but should have [2]"),
        (double, lambda x: "two", "Not yet: <lambda>(x=[1., 2.]) returns str, but should return numbers"),
        (double, lambda x: 1 / 0, "Not yet: <lambda>(x=[1., 2.]) raises ZeroDivisionError: division by zero"),
        (both, lambda x: x[0], "Not yet: <lambda>(x=[1., 2.]) returns Tensor, but should return 2 results"),
        (small, lambda x: 1, "Not yet: <lambda>(x=2) gives\nTrue\nbut should give\nFalse"),
        (riddle, lambda x: 2, "Not yet: guess again."),
    ],
)
def test_an_exercise_says_what_is_wrong(exercise: Exercise, answer: Callable[[Any], object], verdict: str) -> None:
    for _ in range(2):  # the cases are still as they were
        assert exercise.verdict(answer) == verdict


def test_what_was_not_swept_has_an_empty_panel_and_labels_move_apart_in_order(monkeypatch: Patch) -> None:
    assert np.diff(np.array(spread([0.5, 0.1, 0.52, 0.51], gap=0.1))[[1, 0, 3, 2]]).min() > 0.0999
    assert spread([0.2, 0.8], gap=0.1) == [0.2, 0.8]
    told = {"seed": 0, "score": [1.0, 2.0], "env": "CartPole-v1", "rung": "ppo", "flags": ""}
    table = pd.DataFrame({"lr": [0.1, 0.2]} | told)
    others = table.rename(columns={"lr": "gamma"})
    found = [table, others.assign(env="Acrobot-v1"), others.assign(flags="ppg", score=7.0)]
    monkeypatch.setattr(sys.modules["chapters.book.swept"], "_stored", lambda: found)
    figure = swept("lr", "gamma")
    assert [axis.get_visible() for axis in figure.axes] == [True, False, False, True]
    assert [axis.get_ylabel() for axis in figure.axes if axis.get_visible()] == ["area under the curve"] * 2


def test_a_stored_sweep_is_drawn_and_said_and_another_number_is_one_line(monkeypatch: Patch) -> None:
    shown = list[Markdown]()
    monkeypatch.setattr(sys.modules["chapters.book.swept"], "display", shown.append)
    figure = swept("gae_lambda", "gamma")
    assert [axis.get_xlabel() for axis in figure.axes] == ["gae_lambda"] * 3 + ["gamma"] * 3
    titles = [axis.get_title("left") or axis.get_title() for axis in figure.axes]
    assert titles[:2] == ["CartPole-v1\ncleanrl", "Acrobot-v1\ncleanrl"]
    assert titles[2::3] == ["Pendulum-v1\ncleanrl + return_norm with gamma=0.9", "Pendulum-v1\ncleanrl + return_norm"]
    assert "`gae_lambda` is best at 0.95" in shown[0].data and shown[0].data.startswith("<details>")
    best = best_at("gae_lambda")["CartPole-v1"]
    np.testing.assert_allclose(np.asarray(figure.axes[0].lines[0].get_ydata(), float), best)  # what is drawn
    way = best.max() - SCALES["CartPole-v1"].random
    np.testing.assert_allclose(lost_at("gae_lambda")["CartPole-v1"] * way, best.max() - best)
    refusal("no stored sweep of adam_eps", swept, "gamma", "adam_eps")
    refusal("lr has two stored sweeps on CartPole-v1; name what one of them is about", swept, "lr")


THIS, ATARI = f"{DISTRIBUTION}=={__version__}", f"{DISTRIBUTION}[atari]=={__version__}"
NUMBA = 'numba>=0.61; python_version < "3.15"'
NEEDS = ["torch<2.14,>=2.5", "pandas>=2.2", NUMBA, 'ale-py>=0.11.1; extra == "atari"', 'ruff; extra == "dev"']
ROOT = CHAPTERS.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
THERE = {re.split(r"[^\w-]", each)[0] for each in PROJECT["dependencies"]}
THERE |= {"tricks", "ablations", "chapters", *sys.stdlib_module_names, "PIL", "IPython"}  # ours, pillow's, Jupyter's
CPU = ["--extra-index-url", "https://download.pytorch.org/whl/cpu"]


def test_the_badges_open_this_version_and_other_cells_stay_as_they_are(tmp_path: Path) -> None:
    path = CHAPTERS / "04_gae.ipynb"
    plain, copy = without_setup(jupytext.read(path)), tmp_path / path.name
    script = jupytext.read(CHAPTERS / "04_gae.py")
    assert [cell.source for cell in plain.cells] == [cell.source for cell in script.cells]
    write(copy, plain)
    assert copy.read_text(encoding="utf-8") == path.read_text(encoding="utf-8") and stored(copy) == plain
    colab, binder = re.findall(r"\)\]\((https:[^)]+)\)", badges("04_gae"))
    assert colab.endswith(f"/github/OWNER/ppo-tricks/blob/v{__version__}/chapters/04_gae.ipynb")
    assert binder.endswith(f"/gh/OWNER/ppo-tricks/v{__version__}?labpath=chapters%2F04_gae.ipynb")
    (setup,) = (x for x in json.loads(path.read_text(encoding="utf-8"))["cells"] if x["id"] == "04_gae-setup")
    assert setup["metadata"]["jupyter"] == {"source_hidden": True}
    assert setup["metadata"]["cellView"] == "form"  # which shows the title alone
    assert setup["source"][0].startswith("# @title Set-up: ")


@pytest.mark.parametrize("name", ["04_gae", *EXTRAS])
def test_the_set_up_does_nothing_where_the_package_is(name: str, monkeypatch: Patch) -> None:
    for _, module in EXTRAS.values():
        pytest.importorskip(module)
    known: dict[str, object] = {}
    monkeypatch.setitem(sys.modules, "subprocess", None)  # importing it fails
    exec(code(name), known)
    assert "install" not in known


@pytest.mark.parametrize(
    ("name", "torch", "asked"),
    [
        ("04_gae", True, [["--no-deps", THIS], ["pandas>=2.2", NUMBA]]),
        ("23_atari", True, [["--no-deps", THIS], ["pandas>=2.2", NUMBA, "ale-py>=0.11.1"]]),
        ("04_gae", False, [[THIS, *CPU]]),
        ("23_atari", False, [[ATARI, *CPU]]),
    ],
)
def test_the_set_up_keeps_a_torch_that_is_there(name: str, torch: bool, asked: Any, monkeypatch: Patch) -> None:
    found: list[list[str]] = []
    monkeypatch.setitem(sys.modules, "chapters.book", None)
    monkeypatch.setattr("subprocess.run", lambda words, check: found.append(words[4:]))
    monkeypatch.setattr("importlib.util.find_spec", lambda name: object() if torch else None)
    monkeypatch.setattr("importlib.metadata.requires", lambda name: NEEDS)
    exec(code(name), {})
    assert found == [["--quiet", *words] for words in asked]


def test_what_chapters_import_from_us_needs_no_extra() -> None:
    extras = (each for group in PROJECT["optional-dependencies"].values() for each in group)
    others = {re.split(r"[^\w-]", each)[0].replace("-", "_") for each in extras} - THERE - {"sphinx"}  # scipy's
    assert {"jupytext", "ale_py", "nbconvert"} <= others
    ours = {found for name in NAMES for found in re.findall(r"^(?:from|import) (chapters[\w.]*)", script(name), re.M)}
    code = [*(f"sys.modules[{name!r}] = None" for name in others), *(f"import {name}" for name in sorted(ours))]
    subprocess.run([sys.executable, "-c", "\n".join(["import sys", *code])], cwd=ROOT, check=True)

"""Two hours to the core of PPO, and on to GRPO: stops made of the chapters' cells tagged `two-hours`.

So nothing is typed twice. A stop's notebook holds these cells as they are stored, outputs included.
`python -m chapters build` writes all of them, whichever chapters it runs.
"""

import re
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass

from nbformat import NotebookNode
from nbformat.v4 import new_markdown_cell, new_notebook

from chapters.book import inputs, setup_cells
from chapters.book.build import CHAPTERS, marked, reading_time, title, write_between

TAG = "two-hours"
SOLUTION = re.compile(r"\[`[^\]]+\]\(solutions/[^)]+\)")  # a link to the answers of a chapter
Read = Callable[[str], NotebookNode]
START, END = "<!-- two hours -->\n", "<!-- /two hours -->"


@dataclass(frozen=True)
class Stop:
    """What a stop says before the cells of each chapter, and which small playground the web book shows with it."""

    name: str
    title: str
    asks: str
    parts: dict[str, str]
    """The chapters, each with the words that lead to its cells; empty if its first cell needs none."""
    ends: str
    """Its last words, before the way on."""
    plays: str = ""
    """The trick whose small playground it shows, if there is one."""


STOPS = (
    Stop(
        "t1_reinforce",
        "REINFORCE",
        "Nobody says which action was right. How can a policy still get better?",
        {"00_reinforce": ""},
        "You have a complete algorithm, and it is noisy. The next stop takes most of the noise away.",
        plays="reinforce",
    ),
    Stop(
        "t2_baseline",
        "A baseline",
        "A machine paid you 102. Was that good?",
        {"01_baseline": ""},
        "The value net that you have just met will come back at the fourth stop. First, more than one step per batch.",
        plays="baseline",
    ),
    Stop(
        "t3_reuse_and_clip",
        "Reuse and the clip",
        "You played for hours to collect this batch. Must you throw it away after one step?",
        {"02_reuse": "", "03_clip": "## Who says stop?"},
        "Ratio, `min`, and `clip` are PPO's objective. The next stop is about a better advantage.",
        plays="clip",
    ),
    Stop(
        "t4_gae",
        "GAE",
        "A return is honest but noisy; a learned value is calm but wrong. How much of each?",
        {"04_gae": ""},
        "You now have the core of PPO: `python -m tricks listing gae` prints the whole loop, about a hundred lines. It "
        "still plays whole episodes. PPO as published cuts experience into [segments](13_segments.ipynb) instead.",
        plays="gae",
    ),
    Stop(
        "t5_what_matters",
        "What matters, and at which rate",
        "Which of PPO's tricks do the work? And at which learning rate?",
        {
            "25_the_whole_ladder": "Public code for PPO has more parts than the four that you know: how the nets "
            "begin, how experience is cut, what is normalized, what is done at a time limit. Each has a flag in this "
            "library and a [chapter](README.md).",
            "26_sensitivity": "## At which learning rate?",
        },
        "An effect comes with an interval, with the number of questions that were asked, and with a learning rate.",
        plays="reuse",
    ),
    Stop(
        "t6_your_experiment",
        "Your own experiment",
        "You have an idea that should make PPO better. How do you find out whether it does?",
        {
            "28_your_own_trick": "CleanRL and stable-baselines3 standardize the advantages of each minibatch: they "
            "subtract the mean and divide by the standard deviation. Could something simpler do better?",
        },
        "A question about flags and numbers needs no code. This trains two arms with twenty seeds each, and gives you "
        "a table, curves, and a verdict:\n\n"
        '```sh\npython -m ablations compare "ppo" "ppo --no-gae" --env CartPole-v1 --seeds 20\n```\n\n'
        "[Ask your own question](../docs/compare.md) explains it, also for [an environment of your own]"
        "(../docs/your-own.md). If a trick of yours survives, "
        "[CONTRIBUTING](../CONTRIBUTING.md#add-a-trick-step-by-step) makes it a flag.",
        plays="advantage_norm",
    ),
    Stop(
        "t7_grpo",
        "From PPO to GRPO",
        "A reply of five words earned 11 points. Was that good? And who pays for a second network just to find out?",
        {"29_language": "", "30_grpo": "## And why divide by σ?"},
        "What is left of GRPO is the [clip](03_clip.ipynb), a mean over each reply, and a leash to the model that it "
        "started from: [chapter 31](31_limits.ipynb). All of it on your own machine:\n\n"
        "```sh\npython -m tricks train grpo --env tricks/Odds-v0 --imitate-steps 20000 --steps 20000 --hidden 8\n```",
    ),
)


def notebook(number: int, read: Read | None = None) -> NotebookNode:
    """The notebook of a stop, 1 to 7, as the chapters' notebooks have its cells, or what `read` finds instead."""
    read = read or stored
    stop = STOPS[number - 1]
    cells = [new_markdown_cell(f"# {number}. {stop.title}\n\n*{stop.asks}*")]
    for chapter, words in stop.parts.items():
        cells += [new_markdown_cell(words)] if words else []
        cells += deepcopy([cell for cell in read(chapter).cells if TAG in cell.metadata.get("tags", [])])
    cells.append(new_markdown_cell(ending(number, read)))
    for count, cell in enumerate((cell for cell in cells if cell.cell_type == "code"), start=1):
        cell.execution_count = count
        for output in cell.outputs:
            if "execution_count" in output:
                output["execution_count"] = count
    made = marked(stop.name, new_notebook(cells=cells))
    made.metadata = deepcopy(read(next(iter(stop.parts))).metadata)
    made.metadata["jupytext"] = {"formats": "ipynb"}  # no script is paired with it
    made.metadata[inputs.KEY] = inputs.digest(made)
    return made


def ending(number: int, read: Read) -> str:
    """A stop's last words: what was left out, and the way on."""
    stop = STOPS[number - 1]
    whole = " and ".join(f"[{title(chapter)[0]}]({chapter}.ipynb)" for chapter in stop.parts)
    links = [link for chapter in stop.parts for cell in read(chapter).cells for link in SOLUTION.findall(cell.source)]
    way = f"Solutions: {' and '.join(links)}. " if links else ""  # a students' copy has none
    way += f"There is more in {whole}."
    if number < len(STOPS):
        following = STOPS[number]
        way += f" Next stop: [{number + 1}. {following.title}]({following.name}.ipynb)."
    return f"{stop.ends}\n\n{way}"


def stored(name: str) -> NotebookNode:
    """The stored notebook of a chapter."""
    return setup_cells.stored(CHAPTERS / f"{name}.ipynb")


def minutes() -> list[int]:
    """How long each stop takes."""
    return [round(reading_time(notebook(number).cells)) for number in range(1, len(STOPS) + 1)]


def table() -> str:
    """The stops as a table for README.md."""
    rows = [
        f"| {number}. [{stop.title}]({stop.name}.ipynb) | {stop.asks} | {time} |"
        for number, (stop, time) in enumerate(zip(STOPS, minutes(), strict=True), start=1)
    ]
    return "\n".join(["| stop | the question | minutes |", "|---|---|---|", *rows, ""])


def write() -> None:
    """Write the notebooks, and their table into README.md."""
    for number, stop in enumerate(STOPS, start=1):
        setup_cells.write(CHAPTERS / f"{stop.name}.ipynb", notebook(number))
    write_between(START, END, table())

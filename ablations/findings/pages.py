"""`python -m ablations pages`: every region of README and docs that is computed, written from the code and stored runs.

A region stands between `<!-- name -->` and `<!-- /name -->`. The test is that writing them would change nothing, and
that what is written by hand about the runs holds.
"""

import ast
import difflib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from ablations.analysis.outcomes import trial_table_of
from ablations.analysis.records import RESULTS, Study, load_all
from ablations.findings.claims import EVALUATED, claims_text, evaluated_text, published_text
from ablations.findings.said import SAID, untrue
from ablations.findings.take_home import all_effects, having, stored_random, stored_sweeps, take_home, takeaways
from ablations.report import sentences
from ablations.report.agents_in_words import ranges
from ablations.report.trials_section import by_trick, tally
from ablations.tools.calibrate import in_words as calibrated
from ablations.tools.speed import speed_text
from tricks import export
from tricks.errors import InputError
from tricks.ladder import REINFORCE, Tricks, switched
from tricks.reading.ladder_table import table
from tricks.runs.files import write_whole
from tricks.runs.learning_curve import read_table

PAGES = ("README.md", "chapters/README.md", "docs/**/*.md")
REGION = re.compile(r"(?P<start><!-- (?P<name>[\w-]+) -->\n)(?P<text>.*?)(?=<!-- /(?P=name) -->)", re.DOTALL)


@dataclass(frozen=True)
class Options:
    """Where the pages are."""

    root: Path = Path()
    """Folder of a checkout."""
    check: bool = False
    """Write nothing; list the regions that are out of date."""


def main(chosen: Options) -> int:
    """Bring regions up to date. The exit status is 1 if a statement is untrue or, with --check, a region is stale."""
    if not (chosen.root / "README.md").is_file():
        raise InputError(f"{chosen.root} is no checkout of this project: it has no README.md")
    studies = load_all(RESULTS)
    changed = stale(chosen.root, studies)
    for path, (names, text) in changed.items():
        print(*(f"{path.relative_to(chosen.root)}: {name}" for name in names), sep="\n")
        if not chosen.check:
            write_whole(path, text)
    count = sum(len(names) for names, _ in changed.values())
    what = f"{'is' if count == 1 else 'are'} out of date" if chosen.check else "written"
    print(f"{count} region{'s' * (count != 1)} {what}")
    wrong, every = untrue(studies, chosen.root), sum(map(len, SAID.values()))
    print(*wrong, f"{every - len(wrong)} of {every} statements hold", sep="\n")
    return int(bool(wrong) or (chosen.check and bool(changed)))


def stale(root: Path, studies: Sequence[Study]) -> dict[Path, tuple[list[str], str]]:
    """The pages with regions that are out of date: the names of those, and the page's whole text as it should be."""
    found, known = {}, of_code() | of_runs(studies)
    for path in (path for pattern in PAGES for path in sorted(root.glob(pattern))):
        before = path.read_text(encoding="utf-8")
        regions = {each["name"]: each["text"] for each in REGION.finditer(before)}
        if names := [name for name, text in regions.items() if known.get(name, text) != text]:
            found[path] = names, REGION.sub(lambda each: each["start"] + known.get(each["name"], each["text"]), before)
    return found


def of_code() -> dict[str, str]:
    """Regions made from the code and its measured speed."""
    before, after = (losses_and_train(switched(names)).splitlines() for names in (["reuse"], ["reuse", "clip"]))
    changes = difflib.unified_diff(before, after, "reuse", "reuse, clip", lineterm="", n=1)
    return {
        "core": f"```python\n{losses_and_train(REINFORCE)}\n```\n",
        "diff": "```diff\n" + "".join(f"{line}\n" for line in changes) + "```\n",
        "ladder": f"{table(markdown=True)}\n",
        "speed": f"{speed_text(read_table(RESULTS / 'speed.csv'))}\n",
        "calibration": f"{calibrated(read_table(RESULTS / 'calibration.csv'))}\n",
    }


def losses_and_train(tricks: Tricks) -> str:
    """What a training computes, in the one agent with these flags."""
    text = export(tricks)
    body = (node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef))
    return "\n\n\n".join(str(ast.get_source_segment(text, node)) for node in body if node.name in ("losses", "train"))


def of_runs(every: Sequence[Study]) -> dict[str, str]:
    """Regions made from the stored runs."""
    designed = [study for study in every if study.designs]
    subjects = "ladder", "beyond", "continuous", "grpo"
    ladders, beyond, robots, worded = ([study for study in designed if study.subject == name] for name in subjects)
    whole = {study.env: study for study, _ in having(designed, "ladder")}
    trials, swept, drawn = trial_table_of(every), stored_sweeps(RESULTS), stored_random(RESULTS)
    home = take_home(every, trials, swept, drawn)
    envs = {"acrobot": "Acrobot-v1", "pendulum": "Pendulum-v1", "taxi": "Taxi-v4", "lander": "LunarLander-v3"}
    played = read_table(EVALUATED, comment="#")
    return {
        "made": f"{sentences.made(every)}\n",
        "sentences": listed([*sentences.of(whole["CartPole-v1"]), sentences.across(ladders)]),
        **{name: listed(sentences.of(whole[env])) for name, env in envs.items()},
        "worlds": f"{tally(trials)}\n",
        "tricks": f"{by_trick(trials)}\n",
        "grpo": listed([*(said for study in worded for said in sentences.of(study)), sentences.across(worded)]),
        "beyond": listed(sentences.beyond(beyond)),
        "games": f"{evaluated_text(played[played.env.str.startswith('ALE/')])}\n",
        "evaluated": f"{evaluated_text(played[~played.env.str.startswith('ALE/')])}\n",
        "robots": listed([*(said for study in robots for said in sentences.of(study)), sentences.across(robots)]),
        "claims": f"{claims_text(all_effects(robots))}\n",
        "published": f"{published_text(*designed)}\n",
        "sweeps": listed(ranges(runs) for runs in swept),
        "random": listed(said for found in drawn for said in takeaways(*found)),
        "take-home": "".join(f"{k}. {sentence}\n" for k, sentence in enumerate(home, 1)),
    }


def listed(said: Iterable[str]) -> str:
    """Sentences as a list, without the empty ones."""
    return "".join(f"- {sentence}\n" for sentence in said if sentence)

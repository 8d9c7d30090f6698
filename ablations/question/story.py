"""How figures, tables and sentences describe a design. One that nobody has described gets a plain story."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from ablations.question.arms import Design, Label


@dataclass(frozen=True)
class Panels:
    """Small multiples with a panel per arm: the title, with {first} arm, and what bold, dashed and gray lines are."""

    title: str
    lines: tuple[str, str, str]


@dataclass(frozen=True)
class Mark:
    """How a design's effects are drawn: matplotlib's marker, the same shape as a character, and its meaning."""

    shape: str
    glyph: str
    meaning: str


@dataclass(frozen=True)
class Phrases:
    """What sentences say about a design's effects; an empty phrase is left out.

    {up} and {down} are the tricks detected as helping and hurting. `climb` has both, with their sizes, in {seen}.
    """

    climb: str = ""  # a whole sentence: from the first arm's area {first} to the last arm's {last}, over {steps}
    detected: str = ""  # part of a sentence that several designs share; {a_trick} is `it` after the first
    place: str = ""  # where a trick is tried, for one sentence on all environments: `taken out of the full set`
    nowhere: str = ""  # the same after `neither`: `when taken out`
    base: bool = False  # whether a sentence says where each trick helps or hurts, on top of the first arm
    question: str = ""  # what a table asks about a trick: `as the next rung`. {first}: the first arm
    question_with: str = ""  # the same if {others} go along (default: the question, then `, with {others}`)
    curves: str | None = None  # follows the environment's name above the curves of one trick; None: not shown

    def asked(self, label: Label) -> str:
        """A comparison in words: `as the next rung`; `alone, on baseline`; `taken out of everything, with clip`."""
        if self.base and label.sign == "−":  # the arm without it is the last one: everything else is in it
            return f"{self.question}, with all that was added"
        if not label.others:
            return self.question
        return (self.question_with or f"{self.question}, with {{others}}").format(others=", ".join(label.others))


@dataclass(frozen=True)
class Story:
    """What is said about a design."""

    panels: Panels | None = None  # None: no small multiples
    mark: Mark = Mark("o", "○", "with and without")
    phrases: Phrases = Phrases()
    rank: int = 0  # its place among several designs, in the rows of a figure and in sentences: lowest first
    published: bool = False  # whether its arms are shown next to published scores
    around: str = ""  # the preset that it takes apart and adds to, if it does


STORIES: dict[str, Story] = {}


def story_of(design: Design) -> Story:
    """The story of a design; if nobody has told one, panels of all arms that are compared, by the design's name."""
    lines = ("this arm", "the arm that it is compared to", "the other arms")
    told = STORIES.get(design.name) or Story(Panels(design.name, lines) if design.comparisons else None)
    if told.panels is None or not design.arms:
        return told
    first = design.arms[0].name
    title = told.panels.title.format(first="REINFORCE" if first == "reinforce" else first)
    phrases = replace(told.phrases, question=told.phrases.question.format(first=first))
    return replace(told, panels=replace(told.panels, title=title), phrases=phrases)


def subject(design: Design) -> str:
    """What it is about: the `ladder`, what goes `beyond` it, or the preset that it takes apart, by its name."""
    return story_of(design).around or ("beyond" if design.beyond else "ladder")


def by_rank(designs: Iterable[Design]) -> list[Design]:
    """Designs in the order in which figures and sentences show them."""
    return sorted(designs, key=lambda design: story_of(design).rank)


# what a report says beyond a design's own figures and tables: functions, by `module:name`; the findings put theirs here
ON_EFFECTS: list[str] = []  # of the rows of all designs of an environment: texts below its effects
ON_ARMS: list[str] = []  # of a study: texts above the table of each design's arms

"""At which rung of the ladder a chapter stands, and which chapter is about a trick."""

from chapters.book.build import names
from chapters.book.evidence import tricks_of
from tricks.ladder import LADDER


def has_trick(chapter: str) -> bool:
    """Whether a chapter is about a rung of its own."""
    return chapter[3:] == "reinforce" or bool(tricks_of(chapter))


def chapter_of(trick: str) -> str:
    """The chapter about a trick."""
    return next(name for name in names() if trick in tricks_of(name))


def rung_of(chapter: str) -> str:
    """The rung whose loop stands beside a chapter: its trick's; of several on the ladder the last, else the first.

    `reinforce` for the first chapter. Chapters about all tricks have the top of the ladder.
    """
    covered = tricks_of(chapter)
    on_ladder = [name for name in covered if name in LADDER]
    if chapter[3:] == "reinforce":
        return "reinforce"
    return [*on_ladder, *covered[:1], LADDER[-1]][max(0, len(on_ladder) - 1)]

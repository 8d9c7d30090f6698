"""The loop beside the text: every rung's listing, its difference from the rung before, and the shapes on its lines."""

import pytest

from chapters.book.site.growing import body, lines, origins, steps
from chapters.book.site.traced import in_letters, shapes
from tricks import PPO, REINFORCE, diff, listing
from tricks.ladder import LADDER, NEEDS

STEPS = {name: (before, after) for name, before, after in steps()}


def test_every_trick_has_its_rung() -> None:
    assert [*STEPS] == ["reinforce", *NEEDS]


@pytest.mark.parametrize("name", ["reinforce", "gae", "segments", "ppg_buffers"])
def test_a_rung_is_the_listing_and_its_changes_are_those_of_diff(name: str) -> None:
    before, after = STEPS[name]
    shown = lines(before, after)
    assert [line.text for line in shown if line.kind != "gone"] == body(after)
    changed = [f"{'+' if line.kind == 'new' else '-'}{line.text}" for line in shown if line.kind != "same"]
    real = [
        line for line in str(diff(before, after)).splitlines() if line[:1] in "+-" and line[:3] not in ("+++", "---")
    ]
    assert sorted(changed) == sorted(real)


def test_the_shapes_are_those_that_the_comments_give() -> None:
    found = shapes(PPO)
    told = {text.strip(): found.get(n, "") for n, text in enumerate(str(listing(PPO)).splitlines(), 1)}
    line = next(text for text in told if text.startswith("features, advantage = "))
    assert line.endswith("# advantage [S, B]")
    assert told[line] == "b.advantage [S, B], b.obs [S, B, D], advantage [S, B]"
    assert told["loss = -mean(objective, b.valid)  # [S]"] == "objective [S, B], b.valid [S, B], loss [S]"
    assert told["dead = done & ~rollout.cut"] == "done [S, T, N], rollout.cut [S, T, N], dead [S, T, N]"


def test_letters() -> None:
    assert [in_letters(shape) for shape in ((3,), (3, 35), (3, 5, 7), (3, 5, 7, 2), (3, 35, 14))] == [
        *("[S]", "[S, B]", "[S, T, N]", "[S, T, N, D]", "[S, B, A]")
    ]
    assert in_letters((3, 172), parameters=172) == "[S, P]"
    assert in_letters((5, 5)) == "[5, 5]"  # not a stack of seeds


def test_every_line_of_the_whole_comes_from_a_trick_that_is_on() -> None:
    ladder = LADDER[:4]
    brought = [trick for _, trick in origins(ladder)]
    assert {*brought} == {"reinforce", *ladder}
    assert brought.count("reinforce") < len(body(REINFORCE))  # some of its lines were replaced

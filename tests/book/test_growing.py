"""The loop beside the text: every rung's listing, its difference from the rung before, and the shapes on its lines."""

import pytest

from chapters.book.site.growing import body, lines, origins, steps
from chapters.book.site.traced import in_letters, shapes
from tricks import PPO, REINFORCE, diff, listing
from tricks.ladder import LADDER, NEEDS

STEPS = {name: (before, after) for name, before, after in steps()}


@pytest.mark.parametrize("name", ["reinforce", "gae", "segments", "ppg_buffers"])
def test_a_rung_is_the_listing_and_its_changes_are_those_of_diff(name: str) -> None:
    assert [*STEPS] == ["reinforce", *NEEDS]
    before, after = STEPS[name]
    shown = lines(before, after)
    assert [line.text for line in shown if line.kind != "gone"] == body(after)
    changed = [f"{'+' if line.kind == 'new' else '-'}{line.text}" for line in shown if line.kind != "same"]
    said = str(diff(before, after)).splitlines()
    assert sorted(changed) == sorted(x for x in said if x[:1] in "+-" and not x.startswith(("+++", "---")))


def test_the_shapes_are_those_that_the_comments_give() -> None:
    found = shapes(PPO)
    told = {text.strip(): found.get(n, "") for n, text in enumerate(str(listing(PPO)).splitlines(), 1)}
    line = next(text for text in told if text.endswith("# advantage [S, B]"))
    assert told[line] == "b.advantage [S, B], advantage [S, B]"
    assert told["loss = -mean(objective, b.valid)  # [S]"] == "objective [S, B], b.valid [S, B], loss [S]"
    assert told["dead = done & ~rollout.cut"] == "done [S, T, N], rollout.cut [S, T, N], dead [S, T, N]"
    shown = ["[S]", "[S, B]", "[S, T, N]", "[S, T, N, D]", "[S, B, A]", "[5, 5]"]  # the last is no stack of seeds
    assert [*map(in_letters, ((3,), (3, 35), (3, 5, 7), (3, 5, 7, 2), (3, 35, 14), (5, 5)))] == shown
    assert in_letters((3, 172), parameters=172) == "[S, P]"


def test_every_line_of_the_whole_comes_from_a_trick_that_is_on() -> None:
    brought = [trick for _, trick in origins(LADDER[:4])]
    assert {*brought} == {"reinforce", *LADDER[:4]}
    assert brought.count("reinforce") < len(body(REINFORCE))  # some of its lines were replaced

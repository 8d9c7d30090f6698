"""Prompts and replies: the rules against slow ones in plain Python, groups, and the arithmetic of each world's law."""

from collections import Counter
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from tricks import Config, Tricks, train
from tricks.core.rollout import Player, play_episodes
from tricks.envs.tensor import TensorEnv, shared_chances
from tricks.worlds import LANGUAGE, loophole, odds, rare, sums, typos
from tricks.worlds.replies import text
from tricks.worlds.world import World


def told(world: World, prompt: list[int], reply: list[int], chance: list[float]) -> tuple[list[int], float]:
    """By rules in words: what is written of a reply, up to its end, and what is paid for it; the same chance always."""
    written: list[int] = []
    for said in reply:
        slip = chance and chance[0] < 0.5 and not written and said in (0, 1) and world.id == "tricks/Typos-v0"
        written.append(round(chance[1]) if slip else said)
        if world.words[said] == "end" or not world.id.startswith(("tricks/Sums", "tricks/Typos")):
            break
    answer = written[0]
    if world.id.startswith("tricks/Sums"):
        ended = len(written) > 1 and world.words[written[-1]] == "end"
        return written, float(ended and written[-2] == sum(prompt) % 5)
    if world.id.startswith("tricks/Typos"):
        if world.id == "tricks/TyposUnseen-v0" and answer < 2 and chance[0] < 0.5:
            answer = round(chance[1])
        return written, float(answer == prompt[0])
    if world.id == "tricks/Stakes-v0":
        return written, (20.0 if chance[0] < 0.1 else 0.0) if world.words[answer] == "yes" else 1.0
    if world.id == "tricks/OddsPlus10-v0":
        return written, 11.0 if world.words[answer] == "yes" else 10.0
    return written, {"good": 1.0, "flattery": 1.2, "yes": 1.0, "0": 1.0}.get(world.words[answer], 0.0)


@pytest.mark.parametrize("id", LANGUAGE)
def test_what_is_written_shown_and_paid_is_what_the_rules_say_in_words(id: str) -> None:
    world, rng, paid = LANGUAGE[id], np.random.default_rng(0), Counter[float]()
    places, tokens = world.observation.shape or ()
    for _ in range(300):
        state = world.initial(torch.from_numpy(rng.random((1, 1, world.reset_chances), dtype=np.float32)))
        asked = state[0, 0, : world.prompt].int().tolist()
        chance = rng.random(world.step_chances, dtype=np.float32)
        reply = rng.integers(world.action.n, size=places - world.prompt)  # type: ignore[attr-defined]
        if rng.random() < 0.5:  # random replies are hardly ever right
            end = [world.words.index("end")] if "end" in world.words else []
            reply[: 1 + len(end)] = [sum(asked) % 5 if end else 0, *end]
        written, pay = told(world, asked, reply.tolist(), chance.tolist())
        for k, said in enumerate(reply.tolist()):
            state, reward, over = world.dynamics(state, torch.tensor([[said]]), torch.from_numpy(chance)[None, None])
            assert bool(over) == (k + 1 == len(written)) and reward.item() == pytest.approx(pay if over else 0)
            if over:
                break
        paid[pay] += 1
        window = world.observe(state)[0, 0].view(places, tokens)
        assert [int(row.argmax()) for row in window if row.any()] == asked + written
        assert window.sum() == len(asked + written) and not window[len(asked + written) :].any()
        words = [world.words[token] for token in asked + written]
        assert text(world, window.flatten()) == f"{' '.join(words[: len(asked)])} → {' '.join(words[len(asked) :])}"
    assert len(paid) == (3 if id in ("tricks/Loophole-v0", "tricks/Stakes-v0") else 2) or id == "tricks/Rare-v0"


def replies(world: World, replies: int = 4000, group: int = 1) -> tuple[Tensor, Tensor, Tensor]:
    """Demonstrated replies: each one's window after its last token, its prompt, and its score: [B, C, V], [B], [B]."""
    config = Config(world.id, seeds=1, lanes=replies, group=group, horizon=1)
    env = TensorEnv(world, config)
    assert env.demonstrate is not None
    play = play_episodes(Player(env, 1), lambda *_: env.demonstrate(), replies, torch.tensor([True]))  # type: ignore[misc]
    ends = (play.over & play.valid)[0].int()
    first = ends.argmax(0)  # [N]
    windows = play.obs[0, first + 1, torch.arange(replies)].view(replies, *(world.observation.shape or ()))
    return windows, windows[:, 0].argmax(-1), play.score[0, first, torch.arange(replies)]


def length_of(world: World, windows: Tensor) -> Tensor:
    return windows.any(-1).sum(-1) - world.prompt


def near(share: float, count: int) -> object:
    return pytest.approx(share, abs=4 * (share * (1 - share) / count) ** 0.5)


def test_sums_are_demonstrated_step_by_step_so_often_and_right_so_often() -> None:
    for world, share in ((sums.SUMS, 0.1), (sums.SUMS_SHOWN, 1.0)):
        windows, _, score = replies(world)
        length, thinks = length_of(world, windows), windows[:, sums.DIGITS, sums.THINK] == 1
        assert thinks.float().mean().item() == near(share, 4000)
        assert set(length[thinks].tolist()) == {5} and set(length[~thinks].tolist()) <= {2}
        right = 1 / 5 + 4 / 5 * sums.CARE**3  # a chain of guesses and sums is right, or uniform
        assert score[thinks].mean().item() == near(right, int(thinks.sum()))
        assert share == 1 or score[~thinks].mean().item() == near(0.2, int((~thinks).sum()))


def test_odds_a_prompt_is_right_as_often_as_it_says_and_stakes_scores_are_what_a_word_pays() -> None:
    _, prompt, score = replies(odds.ODDS, 9000)
    for k, p in enumerate(odds.RIGHT):
        mine = score[prompt == odds.FIRST + k]
        assert len(mine) / 9000 == near(1 / 3, 9000) and mine.mean().item() == near(p, len(mine))
    _, _, score = replies(odds.STAKES)
    assert {*score.tolist()} == {1.0, 2.0}


def test_typos_half_of_the_answers_are_replaced_and_ends_come_at_a_constant_rate() -> None:
    for world in typos.TYPOS:
        windows, _, score = replies(world)
        length = length_of(world, windows)
        assert score.mean().item() == near(0.5, 4000) and length.max() == typos.LONGEST
        mean = 1 + sum((1 - typos.END_AT) ** k for k in range(typos.LONGEST - 1))
        assert length.double().mean().item() == pytest.approx(mean, abs=0.25)
        state, meant = torch.tensor([0.0] + [-1.0] * 12).expand(1, 4000, 13), torch.zeros(1, 4000)
        chance = torch.from_numpy(np.random.default_rng(0).random((1, 4000, 2), dtype=np.float32))
        after, _, _ = world.dynamics(state, meant, chance)
        wrong = (after[0, :, 1] == 1).float().mean().item()  # as seen; the other half of all typos is right by luck
        assert wrong == (near(0.25, 4000) if world is typos.TYPOS[0] else 0)
        _, reward, _ = world.dynamics(after, torch.full((1, 4000), typos.END), chance.roll(1, 1))
        assert reward.mean().item() == near(0.75, 4000)


def test_loophole_the_true_score_rises_and_falls_in_root_kl_and_plain_ascent_stays_at_what_is_frequent() -> None:
    windows, _, score = replies(loophole.LOOPHOLE)
    said = windows[:, 1].argmax(-1)
    for k, (shown, worth) in enumerate(zip(loophole.SHOWN, loophole.TRUE, strict=True)):
        assert (said == k).float().mean().item() == near(shown, 4000) and set(score[said == k].tolist()) == {worth}
    start, paid, true = (torch.tensor(x).double() for x in (loophole.SHOWN, loophole.PAID, loophole.TRUE))
    found = []
    for beta in (1e9, 0.3, 0.1, 0.03):
        best = (start.log() + paid / beta).softmax(0)
        kl = (best * (best / start).log()).sum().item()
        found.append((kl**0.5, (best * true).sum().item(), (best * paid).sum().item()))
    assert found[1][:2] == pytest.approx((1.14, 0.36), abs=0.01)
    assert found[3][:2] == pytest.approx((1.97, -0.99), abs=0.01)
    assert all(low[2] < high[2] for low, high in pairwise(found)) and found[0][1] == pytest.approx(0.08)
    logits = start.log()
    for _ in range(4000):
        p = logits.softmax(0)
        logits = logits + 0.1 * p * (paid - (p * paid).sum())
    assert (logits.softmax(0) * true).sum() > 0.8


def test_rare_one_in_two_hundred_is_right() -> None:
    _, _, score = replies(rare.RARE, 40_000)
    assert score.mean().item() == near(1 / rare.COUNT, 40_000)
    run = train(Config("tricks/Rare-v0", seeds=2, lanes=1000, horizon=1, steps=1), Tricks(orthogonal_init=True))
    assert run.curve["reward"].mean() == near(1 / rare.COUNT, 2000)


def prompts(group: int, resets: int, seeds: tuple[int, ...] = (3, 7)) -> dict[tuple[int, int, int], list[str]]:
    """Of each seed and lane, after each call of reset: the prompts of its episodes, in their order."""
    found: dict[tuple[int, int, int], list[str]] = {}
    env = TensorEnv(sums.SUMS, Config("tricks/Sums-v0", seeds=seeds, lanes=8, group=group))
    for k in range(resets):
        env.reset()
        rngs, begun = [np.random.default_rng((k, seed)) for seed in seeds], torch.ones(len(seeds), 8)
        for _ in range(120):
            for s, n in begun.nonzero().tolist():
                found.setdefault((k, seeds[s], n), []).append(text(sums.SUMS, env.now.obs[s, n])[:7])
            begun = env.now.resetting
            action = torch.from_numpy(np.stack([rng.integers(7, size=8) for rng in rngs]))
            env.step(action, torch.ones(len(seeds)) > 0)
    return found


def test_lanes_of_a_group_get_the_same_prompts_in_their_own_time_and_others_get_others() -> None:
    found = prompts(group=4, resets=2)
    lists: dict[tuple[int, int, int], list[Any]] = {}
    for (reset, seed, lane), asked in found.items():
        lists.setdefault((reset, seed, lane // 4), []).append(asked)
    for lanes in lists.values():
        fewest = min(map(len, lanes))
        assert fewest > 15 and all(asked[:fewest] == lanes[0][:fewest] for asked in lanes)
        assert len({*map(len, lanes)}) > 1 and len({*lanes[0]}) > 12
    assert len({tuple(lanes[0][:5]) for lanes in lists.values()}) == len(lists) == 8
    assert prompts(group=4, resets=2, seeds=(7,)) == {key: asked for key, asked in found.items() if key[1] == 7}
    assert len({tuple(asked[:5]) for asked in prompts(group=1, resets=1).values()}) == 16


def test_prompts_are_uniform_in_groups_episodes_and_places() -> None:
    chances = shared_chances(torch.tensor([5, -(2**62)]), torch.arange(40), torch.arange(4).repeat(2, 10), 3).double()
    many = shared_chances(torch.tensor([9]), torch.arange(100), torch.arange(500).view(1, 500, 1)[:, :100, 0], 4)
    assert chances.shape == (2, 40, 3) and len(chances.unique()) == 240
    assert many.min() >= 0 and many.max() < 1 and many.mean().item() == pytest.approx(0.5, abs=0.05)
    mask, state, outputs = 2**64 - 1, 5, []
    for _ in range(3):  # Steele, Lea & Flood 2014, figure 17, in Python's own numbers
        state = (state + 0x9E3779B97F4A7C15) & mask
        z = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & mask
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
        outputs.append(((z ^ (z >> 31)) >> 40) / 2**24)
    assert chances[0, 0].tolist() == outputs

"""The moving figures of the web book say what the library says."""

import json
from typing import Any

import numpy as np
import pytest
import torch
from support.browsing import Browser

from chapters.book.ratios import ratios_by_epoch, shares_by_epoch
from chapters.book.store import FOLDER, rounded, store
from tricks import Config
from tricks.core.moments import ReturnStats, denormalize
from tricks.core.nets import mlp
from tricks.core.seeds import stream
from tricks.gae import gae
from tricks.ladder import named
from tricks.orthogonal_init import orthogonal_
from tricks.popart import preserve_outputs_
from tricks.worlds.line import REACH, observe


def moved(browser: Browser, chapter: str, name: str, *values: float) -> dict[str, Any]:
    """What a mechanism tells after its sliders were moved to these values."""
    browser.open(f"chapters/{chapter}.html")
    told: dict[str, Any] = browser.ask("moved", name, values)
    assert browser.complaints() == []
    return told


@pytest.mark.parametrize("b", [92.0, 102.3, 110.0])
def test_the_spread_of_a_gradient_is_that_of_all_that_can_be_drawn(browser: Browser, b: float) -> None:
    pays = torch.tensor([101.0, 102.0, 104.0], dtype=torch.float64)
    theta = torch.zeros(3, dtype=torch.float64)
    score = torch.autograd.functional.jacobian(lambda t: t.log_softmax(0), theta)  # a row per machine
    samples = torch.cat([(pays + luck - b).unsqueeze(1) * score for luck in (-1.0, 1.0)])  # a noise with variance 1
    told = moved(browser, "01_baseline", "baseline", b)
    assert told["deviation"] == pytest.approx(samples.var(0, correction=0).sum().sqrt().item(), abs=1e-9)
    assert told["gradient"] == pytest.approx(samples.mean(0).tolist(), abs=1e-9)


@pytest.mark.parametrize(("lam", "off"), [(0.0, 2.0), (0.6, 3.5), (0.95, 2.0), (1.0, 5.0)])
def test_bias_and_variance_follow_from_the_weights_that_gae_gives(browser: Browser, lam: float, off: float) -> None:
    cells = 30
    unit = torch.eye(cells, dtype=torch.float64).unsqueeze(2)  # one reward, or the V of one cell, is 1: [cells, T, 1]
    last = torch.zeros(cells, cells, 1, dtype=torch.bool)
    last[:, -1] = True
    nothing = torch.zeros_like(unit)
    after = torch.cat([unit[:, 1:], nothing[:, :1]], 1)  # V of the next cell, 0 behind the last one
    of_reward = gae(unit, nothing, nothing, last, last, 1.0, lam)[:, 0, 0]
    of_value = (gae(nothing, unit, after, last, last, 1.0, lam) + unit)[:, 0, 0]
    told = moved(browser, "04_gae", "gae", lam, off)
    assert told["variance"] == pytest.approx(of_reward.square().sum().item(), abs=1e-9)
    assert told["bias"] == pytest.approx(off**2 * of_value.square().sum().item(), abs=1e-9)


def test_the_ratios_are_those_of_a_real_run(browser: Browser) -> None:
    stored = json.loads((FOLDER / "ratios.json").read_text())
    batch = Config(seeds=1, steps=4000, lr=0.003, epochs=10, clip_range=0.1)
    found = shares_by_epoch({"0.1": ratios_by_epoch(batch, named("clip"), update=2)})
    k = stored["ranges"].index("0.1")
    assert np.allclose(stored["outside"][k][:3], found["outside"][0][:3], atol=0.02)  # later epochs differ by machine
    told = moved(browser, "03_clip", "ratios", k, 2)
    assert (told["outside"], told["largest"]) == (stored["outside"][k][1], stored["largest"][k][1])
    told = moved(browser, "02_reuse", "ratios", 0, 10)
    assert told["range"] == "none"
    assert told["outside"] == stored["outside"][0][9]


def test_a_fresh_policy_is_paid_as_often_as_its_chances_say(browser: Browser) -> None:
    gain, nets, cells = 0.1, 30, 2 * REACH + 1
    net = mlp([stream(seed, "init") for seed in range(nets)], (2, 32, 32, 2))
    orthogonal_(net, tuple(range(nets)), 0, gain=2**0.5, head_gain=gain)
    place = torch.arange(-REACH, REACH + 1.0)
    states = torch.stack([torch.stack([place, torch.full_like(place, touched)], -1) for touched in (0, 1)])
    with torch.no_grad():
        logits = net(observe(states).flatten(0, 1).expand(nets, -1, -1)).double()
    right = logits.softmax(-1)[..., 1].unflatten(1, (2, cells)).numpy()  # [nets, touched, cells]
    told = moved(browser, "05_orthogonal_init", "walk", np.log10(gain))
    assert told["mean"] == pytest.approx(np.mean([chance_to_be_paid(each) for each in right]), abs=1e-3)


def chance_to_be_paid(right: np.ndarray) -> float:
    """The left end, then the right end, within 1000 steps: by the powers of the walk's matrix. right [2, cells]."""
    cells = right.shape[1]
    walk = np.zeros((2 * cells + 1, 2 * cells + 1))
    walk[-1, -1] = 1
    for here, chance in enumerate(right.flatten()):
        touched, cell = divmod(here, cells)
        low, high = max(0, cell - 1), min(cells - 1, cell + 1)
        walk[here, (1 if low == 0 else touched) * cells + low] += 1 - chance
        paid = touched and high == cells - 1
        walk[here, -1 if paid else touched * cells + high] += chance
    return float(np.linalg.matrix_power(walk, 1000)[cells // 2, -1])


@pytest.mark.parametrize(("mean", "spread"), [(40.0, 8.0), (-20.0, 0.5), (10.0, 2.0)])
def test_the_ruler_moves_as_the_library_moves_it(browser: Browser, mean: float, spread: float) -> None:
    head = mlp([stream(0, "init")], (1, 1), exact=True)
    weight, bias = head.layers[-1]
    weight.data.fill_(3.0)
    bias.data.fill_(1.0)
    pairs = torch.tensor([[10.0, 2.0], [mean, spread]], dtype=torch.float64)
    old, new = (ReturnStats(m.unsqueeze(0), s.unsqueeze(0) ** 2) for m, s in pairs)
    h = torch.tensor([[[-1.5], [1.5]]])
    before, alone = denormalize(head(h), old), denormalize(head(h), new)
    preserve_outputs_(head, old, new)
    told = moved(browser, "12_popart", "popart", mean, spread)
    assert (told["weight"], told["bias"]) == pytest.approx((weight.item(), bias.item()), rel=1e-6)
    assert told["most"] == pytest.approx((alone - before).abs().max().item(), rel=1e-6)
    assert told["kept"] < 1e-9


def test_the_leash_is_what_the_chapter_found(browser: Browser) -> None:
    stored = json.loads((FOLDER / "leash.json").read_text())
    told = [moved(browser, "18_ppg", "leash", k) for k in range(len(stored["betas"]))]
    assert [each["kl"] for each in told] == stored["kl"]
    assert told[0]["kl"] > 100 * told[2]["kl"]
    assert told[2]["explained"] > 0.9


def test_numbers_are_kept_only_while_chapters_are_built(monkeypatch: pytest.MonkeyPatch) -> None:
    before = sorted(FOLDER.iterdir())
    monkeypatch.delenv("BOOK_BUILDING", raising=False)
    store("nothing", {"a": 1})
    assert sorted(FOLDER.iterdir()) == before
    assert rounded({1: [0.123456, 2], "x": (3.0,)}) == {"1": [0.1235, 2], "x": [3.0]}

"""Trainings of the library as cases for the playground's engine: what went in, and what came out."""

import shutil
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch
from support.browsing import Browser
from support.recording import Recording
from support.reference import Reference
from torch import Tensor

from chapters.book.site.playground import engine
from tricks.core.rollout import Rollout
from tricks.core.seeds import stream

SCRIPTS = ("replay.js", "session.js")
PAGE = "<!doctype html><meta charset='utf-8'>"
PAGE += "".join(f"<script src='{name}'></script>" for name in ("engine.js", *SCRIPTS))


def write_page(folder: Path) -> None:
    """A page that has the engine, and can replay cases and run sessions."""
    (folder / "engine.js").write_text(engine(), encoding="utf-8")
    for name in SCRIPTS:
        shutil.copy(Path(__file__).with_name(name), folder)
    (folder / "index.html").write_text(PAGE, encoding="utf-8")


def given(case: Recording) -> dict[str, Any]:
    """What the first seed of a training was given, as the engine takes it."""
    config, spaces = case.config.only(0), case.agent.spaces
    kept = {name: x for name, x in asdict(config).items() if isinstance(x, bool | int | float | str)}
    whole = config.lanes if case.tricks.group_baseline else 0  # replies that are dealt
    return {
        "world": {"features": spaces.features, "actions": spaces.actions, "legal": True},
        "tricks": dict.fromkeys(case.tricks.on, True),
        "numbers": kept | {"hidden": config.hidden},
        "weights": [_flat(weight[0]) for weight in case.start.values()],
        "rollouts": [rollout_of(each) for each in case.rollouts],
        "orders": [
            [_order(each, config.seed_list[0], update, epoch, whole) for epoch in range(config.epochs)]
            for update, each in enumerate(case.rollouts)
        ],
    }


def weights_after(case: Recording, update: int, minibatch: int, agent: Reference | None = None) -> np.ndarray:
    """All weights in the engine's order, as the library has them or, in float64, the reference: [P]."""
    places = [(update, f"minibatch {minibatch}", f"{name} after grad_norm") for name in case.start]
    parts = [case.found[each][0] if agent is None else torch.as_tensor(agent.trace[each]) for each in places]
    return np.concatenate([_flat(part) for part in parts])


def replayed(browser: Browser, case: Recording, swaps: dict[str, str]) -> list[dict[str, Any]]:
    """What the engine makes of the case with these swaps, by update."""
    found: list[dict[str, Any]] = browser.run("return replay(arguments[0])", given(case) | {"swaps": swaps})
    assert browser.complaints() == []
    return found


def _flat(weight: Tensor) -> list[float]:
    """A weight [in, out] as the engine has it, [out, in]; a bias [1, out] is the same in both."""
    numbers: list[float] = weight.detach().T.double().flatten().tolist()
    return numbers


def rollout_of(rollout: Rollout) -> dict[str, Any]:
    """The rows of experience of the first seed, and the observations that follow the cut and the truncated ones."""
    time, lane = rollout.valid[0].nonzero().unbind(1)
    kept = (rollout.cut | rollout.truncated)[0, time, lane]
    last = torch.where(kept, kept.cumsum(0) - 1, -1)
    names = ("obs", "legal", "action", "reward", "terminated", "truncated")
    columns = {name: getattr(rollout, name)[0, time, lane].double().flatten().tolist() for name in names}
    after = rollout.obs[0, time + 1, lane][kept].double().flatten().tolist()
    columns |= {"lane": lane.tolist(), "last": last.tolist(), "lastObs": after}
    return {"rows": len(time), "lasts": int(kept.sum()), "columns": columns}


def _order(rollout: Rollout, seed: int, update: int, epoch: int, whole: int) -> list[int]:
    valid = np.ones(whole, dtype=bool) if whole else rollout.valid[0].flatten().numpy()
    keys = stream(seed, "minibatch", update, epoch).random(valid.size)[valid]
    order: list[int] = keys.argsort().tolist()
    return order

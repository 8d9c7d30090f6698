"""Trainings of the library as cases for the playground's engine: what went in, and what came out."""

import shutil
from dataclasses import asdict
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from support.browsing import Browser
from support.recording import Recording
from torch import Tensor

import tricks.core.adam as adam
from chapters.book.site.playground import engine
from tricks import Config, Tricks
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


class Case(Recording):
    """A training of one seed, with every gradient as it was before it was shortened."""

    def __init__(self, config: Config, tricks: Tricks) -> None:
        self.gradients: list[Tensor] = []
        plain = adam.gradient

        def heard(*arguments: Any) -> Tensor:
            self.gradients.append(plain(*arguments)[0].clone())
            return self.gradients[-1].unsqueeze(0)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(adam, "gradient", heard)
            super().__init__(config, tricks)

    @property
    def given(self) -> dict[str, Any]:
        config, spaces = self.config.only(0), self.agent.spaces
        plain = asdict(config)
        return {
            "world": {"features": spaces.features, "actions": spaces.actions, "legal": True},
            "tricks": dict.fromkeys(self.tricks.on, True),
            "numbers": {name: x for name, x in plain.items() if isinstance(x, bool | int | float) or name == "hidden"},
            "weights": [_flat(weight[0]) for weight in self.start.values()],
            "rollouts": [rollout_of(each) for each in self.rollouts],
            "orders": [
                [_order(each, config.seed_list[0], update, epoch) for epoch in range(config.epochs)]
                for update, each in enumerate(self.rollouts)
            ],
        }

    def weights_after(self, update: int, minibatch: int) -> np.ndarray:
        """All weights in the engine's order: [P]."""
        place = f"minibatch {minibatch}"
        parts = [self.found[update, place, f"{name} after grad_norm"][0] for name in self.start]
        return np.concatenate([_flat(part) for part in parts])

    def in_engine_order(self, gradient: Tensor) -> np.ndarray:
        """A gradient [P] in the engine's order."""
        shapes = [weight[0].shape for weight in self.start.values()]
        ends = np.cumsum([0, *(shape.numel() for shape in shapes)])
        parts = [gradient[i:j].view(shape) for (i, j), shape in zip(pairwise(ends.tolist()), shapes, strict=True)]
        return np.concatenate([_flat(part) for part in parts])


def replayed(browser: Browser, case: Case, swaps: dict[str, str]) -> list[dict[str, Any]]:
    """What the engine makes of the case with these swaps, by update."""
    found: list[dict[str, Any]] = browser.run("return replay(arguments[0])", case.given | {"swaps": swaps})
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


def _order(rollout: Rollout, seed: int, update: int, epoch: int) -> list[int]:
    valid = rollout.valid[0].flatten().numpy()
    keys = stream(seed, "minibatch", update, epoch).random(valid.size)[valid]
    order: list[int] = keys.argsort().tolist()
    return order

"""The learning curve: a row per seed and update, and who has budget left."""

import torch
from torch import Tensor

from tricks.kl_stop import OF_POLICY, reached
from tricks.reading.skeleton.lanes import Batch
from tricks.reading.skeleton.settings import Config
from tricks.reading.skeleton.switches import images, tricks


class Log:
    """Counts steps, sums up episodes, averages diagnostics, and knows which seeds have budget left."""

    def __init__(self, config: Config) -> None:
        self.update, self.curve, self.notes = 0, list[dict[str, float]](), dict[str, list[Tensor]]()
        self.diverged = dict[int, int]()  # seed -> step, where a loss or gradient was not finite
        self.budget, self.steps = config.steps, torch.zeros(config.seeds, dtype=torch.int64)
        self.active, self.progress = self.steps == 0, self.steps / self.budget  # share of the budget that was used
        self.open = torch.zeros(config.seeds, config.lanes, 2, dtype=torch.float64)  # return, length so far
        if tricks.kl_stop:
            self.near = self.active  # the seeds that no minibatch of the update has stopped
        if tricks.separate_optimizers:
            self.quiet: tuple[str, ...] = ()  # diagnostics that are not recorded for now

    def note(self, of: Tensor | None = None, **diagnostics: Tensor) -> None:
        """Diagnostics [S] of one minibatch; the curve shows their mean over the update (of max_ratio, the max)."""
        if tricks.separate_optimizers:
            diagnostics = {name: x for name, x in diagnostics.items() if name not in self.quiet}
        for name, value in diagnostics.items():
            self.notes.setdefault(name, []).append(value.detach().double())

    def end_update(self, rollout: Batch) -> None:
        """Turn the episodes that ended, and what was noted, into a row per active seed."""
        done = rollout.over if images else rollout.done
        tally = torch.stack([rollout.score, rollout.valid.double()], -1)  # [S, T, N, 2]
        after = done.flip(1).cumsum(1).flip(1) == 0  # rows after the last end of their lane
        unfinished, ended = (tally * after.unsqueeze(-1)).sum(1), done.any(1).unsqueeze(-1)  # [S, N, 2]
        finished = torch.where(ended, self.open + tally.sum(1) - unfinished, 0).sum(1)  # [S, 2]
        self.open = torch.where(ended, 0, self.open) + unfinished
        taken, count, paid = rollout.valid.flatten(1).sum(1), done.flatten(1).sum(1), rollout.score.flatten(1).sum(1)
        self.steps, average = self.steps + taken, finished / count.unsqueeze(1)  # 0/0 = NaN where no episode ended
        columns = {"step": self.steps, "episodes": count, "return": average[:, 0], "length": average[:, 1]}
        for name, note in ({"reward": [paid / taken]} | self.notes).items():
            columns[name] = torch.stack(note, 1).amax(1) if name == "max_ratio" else torch.stack(note, 1).mean(1)
        watched = ("policy_loss", "grad_norm", "value_grad_norm", "auxiliary_loss")
        finite = torch.stack([columns[name] for name in watched if name in columns]).isfinite().all(0)
        if tricks.kl_stop:  # the policy's are over the minibatches up to the one that stopped the seed
            seen = reached(torch.stack(self.notes["steps_taken"])).mT  # [S, M]
            for name in (name for name in OF_POLICY if name in self.notes and name != "steps_taken"):
                notes = torch.stack(self.notes[name], 1).where(seen, 0)
                columns[name] = notes.amax(1) if name == "max_ratio" else notes.sum(1) / seen.sum(1)
        for seed in self.active.nonzero()[:, 0].tolist():
            self.curve.append({"seed": seed, "update": self.update} | {x: columns[x][seed].item() for x in columns})
        self.diverged |= {seed: int(self.steps[seed]) for seed in (self.active & ~finite).nonzero()[:, 0].tolist()}
        if self.update % 10 == 0:
            print(f"{self.progress.mean():4.0%} of the budget, return {average[:, 0].nanmean():8.1f}", flush=True)
        self.active, self.progress = self.active & finite & (self.steps < self.budget), self.steps / self.budget
        if tricks.kl_stop:
            self.near = self.active
        self.notes, self.update = {}, self.update + 1

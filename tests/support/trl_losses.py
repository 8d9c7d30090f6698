"""What TRL's GRPOTrainer computes on a few replies, for `laws/test_language.py`: its loss, and its slope by log π.

pip install trl && PYTHONPATH=tests python -m support.trl_losses     # writes trl_losses.json; TRL is Apache 2.0
"""

import json
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor

FILE = Path(__file__).with_suffix(".json")
GROUP, LONGEST, LENGTHS = 4, 6, (1, 6, 3, 2, 5, 4, 6, 2, 3, 1, 2, 4)
REWARDS = (1, 0, 0, 1, 1, 1, 1, 1, 0, 0, 1, 0)  # the second group has no contrast
KINDS: dict[str, dict[str, Any]] = {
    "grpo": {"loss_type": "grpo", "beta": 0.04},
    "dr_grpo": {"loss_type": "dr_grpo"},
    "dapo": {"loss_type": "dapo", "epsilon_high": 0.28},
    "gspo": {"loss_type": "grpo", "importance_sampling_level": "sequence", "epsilon_low": 0.03, "epsilon_high": 0.04},
}
USUAL = {"beta": 0.0, "epsilon_low": 0.2, "epsilon_high": 0.2, "importance_sampling_level": "token"}


def drawn() -> dict[str, Any]:
    """log π of each token for three policies, and which tokens there are: [N, T]; the replies' rewards [N]."""
    random = torch.Generator().manual_seed(0)
    old = -3 * torch.rand((len(LENGTHS), LONGEST), generator=random)
    new, ref = (old + 0.3 * torch.randn(old.shape, generator=random) for _ in range(2))
    policies = {"new": new, "old": old, "ref": ref}
    mask = torch.arange(LONGEST) < torch.tensor(LENGTHS).unsqueeze(1)
    plain = {name: [[round(p, 3) for p in row] for row in x.tolist()] for name, x in policies.items()}
    return plain | {"mask": mask.int().tolist(), "reward": REWARDS}


def stored() -> tuple[dict[str, Tensor], dict[str, Any]]:
    """The rollouts, and what TRL makes of them."""
    found = json.loads(FILE.read_text(encoding="utf-8"))
    return tensors(found.pop("rollouts")), found


def tensors(plain: dict[str, Any]) -> dict[str, Tensor]:
    return {name: torch.tensor(x, dtype=torch.float64) for name, x in plain.items()}


def advantages(kind: str, reward: Tensor) -> Tensor:
    """As TRL's trainer has them: [N]."""
    group = reward.view(-1, GROUP)
    centered = group - group.mean(1, keepdim=True)
    return (centered if kind == "dr_grpo" else centered / (group.std(1, keepdim=True) + 1e-4)).flatten()


def computed(kind: str, x: dict[str, Tensor]) -> dict[str, Any]:
    """TRL's loss, and its slope by each token's log π. For dapo, of the groups with contrast, which it samples."""
    trainers: Any = import_module("trl.trainer.grpo_trainer")
    kept = torch.ones(len(LENGTHS), dtype=torch.bool)
    if kind == "dapo":
        kept = (x["reward"].view(-1, GROUP).std(1) > 0).repeat_interleave(GROUP)
    new, mask = x["new"].clone().requires_grad_(), x["mask"][kept]
    absent = dict.fromkeys(("delta", "use_bias_correction_kl"))
    own = USUAL | KINDS[kind] | {"max_completion_length": LONGEST, "top_entropy_quantile": 1.0}
    own |= {"current_gradient_accumulation_steps": 1, "aux_loss_enabled": False, "off_policy_mask_threshold": None}
    own |= {"use_vllm": False, "_entropy_bonus_enabled": False, "model": SimpleNamespace(training=True)}
    alone = SimpleNamespace(num_processes=1, gather=lambda x: x, reduce=lambda x, reduction: x)
    own |= {"args": SimpleNamespace(steps_per_generation=1, **absent), "accelerator": alone, "_metrics": Ignored()}
    trainer = SimpleNamespace(**own)
    trainer._get_per_token_logps_and_entropies = lambda *_, **__: (new[kept], torch.zeros_like(mask), None)
    ids = torch.zeros(mask.shape, dtype=torch.int64)
    given = {"prompt_ids": ids, "prompt_mask": ids, "completion_ids": ids, "completion_mask": mask}
    given |= {"advantages": advantages(kind, x["reward"])[kept], "num_items_in_batch": mask.sum()}
    given |= {"old_per_token_logps": x["old"][kept], "ref_per_token_logps": x["ref"][kept]}
    loss = trainers.GRPOTrainer._compute_loss(trainer, None, given)
    return {"loss": loss.item(), "slope": torch.autograd.grad(loss, new)[0].tolist()}


class Ignored(dict[str, Any]):
    """Diagnostics that nobody reads."""

    def __missing__(self, key: str) -> Any:
        return Ignored()

    def append(self, x: Any) -> None:
        pass


def main() -> None:
    plain = drawn()
    found = {"trl": version("trl"), "rollouts": plain} | {kind: computed(kind, tensors(plain)) for kind in KINDS}
    FILE.write_text(json.dumps(found) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

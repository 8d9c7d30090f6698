"""A plain policy as an ONNX graph, held against onnxruntime."""

import logging
import warnings

import numpy as np
import torch
from torch import Tensor, nn

from tricks.core.extras import extra
from tricks.errors import InputError
from tricks.runs.plain_policy import Policy

STEPS = 8  # on which a recurrent policy's graph is checked
STATE = "[batch, {}]: zeros where an episode begins, and next_state of the step before everywhere else"


class Signature(nn.Module):
    """A policy whose inputs are its observation's parts, then `state`, `legal` and `noise` where it has them."""

    def __init__(self, policy: Policy, masked: bool, noisy: bool) -> None:
        super().__init__()
        self.policy, self.masked, self.noisy = policy, masked, noisy

    def forward(self, *inputs: Tensor) -> Tensor | tuple[Tensor, Tensor]:
        given = list(inputs)
        noise = given.pop() if self.noisy else None
        legal = given.pop() if self.masked else None
        state = given.pop() if self.policy.plan["cell"] else None
        found: Tensor | tuple[Tensor, Tensor] = self.policy(*given, state=state, legal=legal, noise=noise)
        return found


def as_graph(policy: Policy, seen: list[Tensor], masked: bool, noise: bool) -> bytes:
    """The policy as an ONNX graph for any number of rows; `masked` adds the input `legal`, and `noise` its own.

    A recurrent policy's graph also takes `state` and returns `next_state`, both [batch, K].
    seen: some observations, part by part, on which it is checked. Raises InputError if a package of the extra `onnx` is
    missing, or it computes other actions.
    """
    for package in ("onnx", "onnxscript", "onnxruntime"):
        extra("onnx", package)
    rows, outputs = len(seen[0]), policy.plan["outputs"]
    named = dict(zip((_name(part["path"]) for part in policy.plan["parts"]), seen, strict=True))
    if policy.plan["cell"]:
        named["state"] = torch.zeros(rows, policy.plan["state"], dtype=torch.float32)
    if masked:
        named["legal"] = torch.ones(rows, outputs, dtype=torch.bool)
    if noise:
        named["noise"] = torch.linspace(-1, 1, rows * outputs, dtype=torch.float32).view(rows, outputs)
    signature = Signature(policy, masked, noise).eval()
    logging.getLogger("torch.onnx").setLevel(logging.ERROR)  # it would speak of packages that nobody needs
    batch = torch.export.Dim("batch")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about the exporter's own calls
        made = torch.onnx.export(
            signature,
            tuple(named.values()),
            input_names=list(named),
            output_names=["action", "next_state"] if policy.plan["cell"] else ["action"],
            dynamic_shapes=(tuple({0: batch} for _ in named),),
            dynamo=True,
            verbose=False,
        )
    assert made is not None
    if policy.plan["cell"]:
        made.model.metadata_props["state"] = STATE.format(policy.plan["state"])
    graph: bytes = made.model_proto.SerializeToString()
    _check(graph, signature, named)
    return graph


def _check(graph: bytes, signature: Signature, named: dict[str, Tensor]) -> None:
    """Raise InputError unless onnxruntime computes the same actions, also for other numbers of rows.

    A recurrent policy is checked over several steps, in which each side carries its own state.
    """
    session = extra("onnx", "onnxruntime").InferenceSession(graph, providers=["CPUExecutionProvider"])
    for rows in (1, len(named["state" if "state" in named else next(iter(named))])):
        mine = {name: x[:rows] for name, x in named.items()}
        theirs = {name: x.numpy() for name, x in mine.items()}
        for _ in range(STEPS if "state" in named else 1):
            with torch.no_grad():
                right = signature(*mine.values())
            found = session.run(None, theirs)
            for a, b in zip(found, right if "state" in named else [right], strict=True):
                if a.shape != b.shape or not np.allclose(a, b.numpy(), atol=1e-4):
                    raise InputError("onnxruntime computes other actions than torch with this policy")
            if "state" in named:
                mine["state"], theirs["state"] = right[1], found[1]


def _name(path: list[str | int]) -> str:
    return ".".join(["observation", *map(str, path)])

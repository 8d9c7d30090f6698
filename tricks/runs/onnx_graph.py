"""A plain policy as an ONNX graph, held against onnxruntime."""

import logging
import warnings

import numpy as np
import torch
from torch import Tensor, nn

from tricks.core.extras import extra
from tricks.errors import InputError
from tricks.runs.plain_policy import Policy


class Signature(nn.Module):
    """A policy whose inputs are its observation's parts, then `legal` and `noise` where it has them."""

    def __init__(self, policy: Policy, masked: bool, noisy: bool) -> None:
        super().__init__()
        self.policy, self.masked, self.noisy = policy, masked, noisy

    def forward(self, *inputs: Tensor) -> Tensor:
        given = list(inputs)
        noise = given.pop() if self.noisy else None
        legal = given.pop() if self.masked else None
        action: Tensor = self.policy(*given, legal=legal, noise=noise)
        return action


def as_graph(policy: Policy, seen: list[Tensor], masked: bool, noise: bool) -> bytes:
    """The policy as an ONNX graph for any number of rows; `masked` adds the input `legal`, and `noise` its own.

    seen: some observations, part by part, on which it is checked. Raises InputError if a package of the extra `onnx` is
    missing, or it computes other actions.
    """
    for package in ("onnx", "onnxscript", "onnxruntime"):
        extra("onnx", package)
    rows, outputs = len(seen[0]), policy.plan["outputs"]
    inputs, names = list(seen), [_name(part["path"]) for part in policy.plan["parts"]]
    if masked:
        inputs, names = [*inputs, torch.ones(rows, outputs, dtype=torch.bool)], [*names, "legal"]
    if noise:
        inputs, names = [*inputs, torch.linspace(-1, 1, rows * outputs).view(rows, outputs)], [*names, "noise"]
    logging.getLogger("torch.onnx").setLevel(logging.ERROR)  # it would speak of packages that nobody needs
    batch = torch.export.Dim("batch")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about the exporter's own calls
        made = torch.onnx.export(
            Signature(policy, masked, noise).eval(),
            tuple(inputs),
            input_names=names,
            output_names=["action"],
            dynamic_shapes=(tuple({0: batch} for _ in inputs),),
            dynamo=True,
            verbose=False,
        )
    assert made is not None
    graph: bytes = made.model_proto.SerializeToString()
    _check(graph, policy, inputs, names, masked, noise)
    return graph


def _check(graph: bytes, policy: Policy, inputs: list[Tensor], names: list[str], masked: bool, noise: bool) -> None:
    """Raise InputError unless onnxruntime computes the same actions, for other numbers of rows, too."""
    session = extra("onnx", "onnxruntime").InferenceSession(graph, providers=["CPUExecutionProvider"])
    for rows in (1, len(inputs[0])):
        some = [x[:rows] for x in inputs]
        with torch.no_grad():
            right = Signature(policy, masked, noise)(*some).numpy()
        (found,) = session.run(None, dict(zip(names, (x.numpy() for x in some), strict=True)))
        if found.shape != right.shape or not np.allclose(found, right, atol=1e-4):
            raise InputError("onnxruntime computes other actions than torch with this policy")


def _name(path: list[str | int]) -> str:
    return ".".join(["observation", *map(str, path)])

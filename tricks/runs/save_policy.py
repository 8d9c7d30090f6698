"""A trained policy to take elsewhere: a graph for PyTorch or for ONNX Runtime, which needs nothing of this package."""

import io
import logging
import warnings
from collections.abc import Callable
from contextlib import closing
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from gymnasium.spaces import Box, Discrete, MultiDiscrete
from torch import Tensor, nn

from tricks.core.extras import extra
from tricks.core.sequences import Features
from tricks.core.spaces import Leaf
from tricks.envs.make import make_env
from tricks.errors import InputError, said
from tricks.fast.dispatch import plain
from tricks.runs.files import as_path, make_folder, write_whole
from tricks.runs.run import Run
from tricks.values import checked

SAMPLES, STEPS = 16, 8  # observations on which a graph is checked, and of a recurrent policy's, the steps
STATE = "[batch, {}]: zeros where an episode begins, and next_state of the step before everywhere else"
Graph = Callable[[list[Tensor], dict[str, Tensor]], list[np.ndarray]]  # its inputs, and its outputs


@checked
def save_policy(run: Run, path: str | Path, seed: int | None = None, noise: bool = False) -> Path:
    """Write one agent of a run as a graph of its policy: policy.pt2 for `torch.export.load`, or policy.onnx.

    Inputs, with any number of rows each: the observation's parts, `state` if the agent is recurrent, `legal` if it
    learned with masks, and with `noise` that of its actions. Raises InputError for a body that cannot be exported.
    """
    path = as_path(path)
    forms = {".pt2": as_program, ".onnx": as_onnx}
    if path.suffix not in forms:
        raise InputError(f"a policy's file ends in .pt2 (for PyTorch) or .onnx, not {path.name!r}")
    if path.exists():
        raise InputError(f"{path} exists; name another file")
    policy = Policy(run.only(seed))
    parts, more = inputs(policy, noise)
    graph, content = forms[path.suffix](policy, parts, more)
    for count in (1, SAMPLES):  # of rows
        refuse_other(policy, graph, [x[:count] for x in parts], {name: x[:count] for name, x in more.items()})
    make_folder(path.parent)
    write_whole(path, content)
    return path


class Policy(nn.Module):
    """π of a run's only agent: observations of the environment in, its actions out, [B, ...] each."""

    def __init__(self, run: Run) -> None:
        super().__init__()
        self.agent, self.rescaled = run.agent[0], run.config.rescale_actions
        del self.agent.value_net  # no graph needs it
        self.space: Any = self.agent.spaces.action  # the environment's own, before it was rescaled
        if self.rescaled:
            config = replace(run.config.only(0), lanes=1, device="cpu", compile=False, rescale_actions=False)
            with closing(make_env(config, make=run.env)) as env:
                self.space = env.spaces.action
        self.eval()

    def forward(
        self, *parts: Tensor, state: Tensor | None = None, legal: Tensor | None = None, noise: Tensor | None = None
    ) -> Tensor | tuple[Tensor, Tensor]:
        """Actions for observations, one argument for each part of a nested one; with state [B, K], also the next state.

        legal [B, A]: bool. noise [B, A]: Gumbel for discrete actions, normal for a Box; else the most likely actions.
        """
        agent, spaces = self.agent, self.agent.spaces
        seen = [encoded(part, leaf) for part, leaf in zip(parts, spaces.leaves, strict=True)]
        given: Any = (seen[0] if len(seen) == 1 else torch.cat([x.flatten(1).float() for x in seen], -1)).unsqueeze(0)
        if state is not None:
            body: Any = agent.policy_net.body
            features = body.cell.contribution(body.body(agent.standardized(given)))
            state = body.cell(features, state.unsqueeze(0))[0]
            given = Features(given, state[None, :, : body.width])
        logits = agent.policy(given, None if legal is None else legal.unsqueeze(0))
        family = agent.family
        chosen = family.mode(logits) if noise is None else family.sample(logits, noise.unsqueeze(0))
        action = self.decoded(family.played(chosen)[0])
        return action if state is None else (action, state)

    def decoded(self, action: Tensor) -> Tensor:
        """Actions in the environment's own format, as `Spaces.decode` and `rescale_actions` make them."""
        space, dtype = self.space, getattr(torch, np.dtype(self.space.dtype).name)
        if isinstance(space, Box):
            low, high = (torch.from_numpy(bound.ravel().astype(float)) for bound in (space.low, space.high))
            if self.rescaled:
                action = (low / 2 + high / 2) + (high / 2 - low / 2) * action.clamp(-1, 1)
            action = action.round() if space.dtype.kind in "iub" else action
            action = torch.minimum(torch.maximum(action, low), high)
        elif isinstance(space, Discrete | MultiDiscrete):
            action = action + torch.from_numpy(np.ravel(space.start).astype(np.int64))
        return action.reshape(-1, *space.shape).to(dtype)


def encoded(part: Tensor, leaf: Leaf) -> Tensor:
    """Rows of one part of an observation as nets see them, like `Leaf.encode`: [B, ...] -> [B, *shape]."""
    if isinstance(leaf.space, Discrete | MultiDiscrete):
        counts, starts = (np.ravel(x).astype(np.int64) for x in leaf.choices)
        index = part.reshape(-1, len(counts)).long() - torch.from_numpy(starts)
        hot = [index[:, k : k + 1] == torch.arange(int(count)) for k, count in enumerate(counts)]
        return torch.cat(hot, -1).float()
    image = part.movedim(-1, -3) if leaf.axes == "HWC" else part
    return image.reshape(-1, *leaf.shape).to(leaf.dtype)


def inputs(policy: Policy, noise: bool) -> tuple[list[Tensor], dict[str, Tensor]]:
    """Some observations, part by part, and what else the policy takes, by name."""
    agent, space = policy.agent, deepcopy(policy.agent.spaces.observation)
    space.seed(0)
    obs = [space.sample() for _ in range(SAMPLES)]
    shape = SAMPLES, agent.spaces.actions
    more = {"state": torch.zeros(SAMPLES, agent.state_size, dtype=torch.float32)} if agent.state_size else {}
    more |= {"legal": torch.ones(shape, dtype=torch.bool)} if agent.mask else {}
    more |= {"noise": torch.linspace(-1, 1, shape[0] * shape[1], dtype=torch.float32).view(shape)} if noise else {}
    return [torch.from_numpy(np.stack([leaf.of(each) for each in obs])) for leaf in agent.spaces.leaves], more


def exported(policy: Policy, parts: list[Tensor], more: dict[str, Tensor]) -> Any:
    """The policy as PyTorch traces it, for any number of rows. Raises InputError if a net cannot be traced."""
    rows = {0: torch.export.Dim("batch")}
    shapes = {"parts": tuple(rows for _ in parts), **dict.fromkeys(more, rows)}
    try:
        with plain():
            return torch.export.export(policy, tuple(parts), more, dynamic_shapes=shapes)
    except Exception as error:  # of a body of the user's own
        raise InputError(f"PyTorch cannot export this policy's nets: {said(error)}") from error


def as_program(policy: Policy, parts: list[Tensor], more: dict[str, Tensor]) -> tuple[Graph, bytes]:
    """The graph as PyTorch runs it, and the content of its file."""
    box = io.BytesIO()
    with warnings.catch_warnings(action="ignore"):  # of PyTorch's about its own calls
        torch.export.save(exported(policy, parts, more), box)
    program = torch.export.load(box).module()
    return lambda parts, more: arrays(program(*parts, **more)), box.getvalue()


def as_onnx(policy: Policy, parts: list[Tensor], more: dict[str, Tensor]) -> tuple[Graph, bytes]:
    """The graph as ONNX Runtime runs it, and the content of its file."""
    for package in ("onnx", "onnxscript", "onnxruntime"):  # those of that extra
        extra("onnx", package)
    spaces, size = policy.agent.spaces, policy.agent.state_size
    known = [".".join(["observation", *map(str, leaf.path)]) for leaf in spaces.leaves]  # such as observation.goal
    logging.getLogger("torch.onnx").setLevel(logging.ERROR)  # it would speak of packages that nobody needs
    outputs = ["action", "next_state"][: 1 + bool(size)]
    with warnings.catch_warnings(action="ignore"):  # about the exporter's own calls
        graph, takes = exported(policy, parts, more), [*known, *more]
        made: Any = torch.onnx.export(graph, input_names=takes, output_names=outputs, verbose=False)
    if size:
        made.model.metadata_props["state"] = STATE.format(size)
    content: bytes = made.model_proto.SerializeToString()
    session = extra("onnx", "onnxruntime").InferenceSession(content, providers=["CPUExecutionProvider"])

    def run(parts: list[Tensor], more: dict[str, Tensor]) -> list[np.ndarray]:
        given = dict(zip(known, parts, strict=True)) | more
        return list(session.run(None, {name: x.numpy() for name, x in given.items()}))

    return run, content


def arrays(came: Any) -> list[np.ndarray]:
    """What a policy returns: the actions, and the next state if it is recurrent."""
    return [x.detach().numpy() for x in (came if isinstance(came, tuple) else (came,))]


def refuse_other(policy: Policy, graph: Graph, parts: list[Tensor], more: dict[str, Tensor]) -> None:
    """Raise InputError unless the graph computes the same actions; over several steps if it has a state."""
    for _ in range(STEPS if "state" in more else 1):
        right = arrays(policy(*parts, **more))
        for a, b in zip(graph(parts, more), right, strict=True):
            if a.shape != b.shape or not np.allclose(a, b, atol=1e-4):
                raise InputError("the graph computes other actions than this policy")
        if "state" in more:
            more["state"] = torch.from_numpy(right[1])

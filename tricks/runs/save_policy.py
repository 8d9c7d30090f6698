"""A trained policy to take elsewhere: a plain torch module with a file of code, or an ONNX graph."""

import inspect
import keyword
import pprint
import re
import sys
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import torch
from gymnasium.spaces import Discrete, MultiDiscrete
from torch import Tensor, nn

from tricks.core.agent import Agent
from tricks.core.images import KERNEL, Joined, Shallow, UnitNature
from tricks.core.leaves import Leaf
from tricks.core.nets import NATURE, Dense, Nature
from tricks.core.spaces import Spaces
from tricks.envs.make import make_env
from tricks.errors import InputError
from tricks.recurrent import Cell, Recurrent
from tricks.runs import plain_policy
from tricks.runs.about import tensor_bytes
from tricks.runs.files import as_path, make_folder, write_whole
from tricks.runs.onnx_graph import as_graph
from tricks.runs.plain_policy import Policy
from tricks.runs.run import Run

SAMPLES = 16  # observations on which a graph is checked
FORMATS = ("torch", "onnx")
PLAIN_BODIES = (Dense, Joined, Nature, UnitNature, Shallow)


def save_policy(
    run: Run, path: str | Path, format: str = "torch", seed: int | None = None, noise: bool = False
) -> list[Path]:
    """Write one agent of a run as a policy that needs nothing of this package. Returns the files.

    torch: weights at `path`, and beside them the module that loads them, of the same name as far as Python can import
    that: my_policy.py for my-policy.pt. onnx: a graph, checked with onnxruntime, whose inputs are the observation's
    parts, `state` if the agent is recurrent, `legal` if it learned with masks, and with `noise` that of its actions.
    Raises InputError for a run with a body of its own, and for files that are there.
    """
    path = as_path(path)
    if format not in FORMATS:
        raise InputError(f"format must be torch or onnx, not {format!r}")
    if noise and format == "torch":
        raise InputError("a torch policy takes noise when it is called; leave out noise")
    if path.suffix == ".py":
        raise InputError(f"{path} would be the code; name the weights, such as {path.with_suffix('.pt')}")
    code = path.with_name(f"{module_name(path.stem)}.py")
    for file in [path, code] if format == "torch" else [path]:
        if file.exists():
            raise InputError(f"{file} exists; name another file")
    policy = plain_module(run.only(seed))
    if format == "torch":
        make_folder(path.parent)
        write_whole(path, tensor_bytes(policy.state_dict()))
        write_whole(code, as_file(policy.plan, path, code.stem))
        return [path, code]
    graph = as_graph(policy, some_observations(run.agent.spaces), run.tricks.action_mask, noise)
    make_folder(path.parent)
    write_whole(path, graph)
    return [path]


def plain_module(run: Run) -> Policy:
    """The policy of a run's only agent as a plain module. Raises InputError for a body of the user's own."""
    agent = run.agent
    (body, cell), (head, bias) = inner_body(agent), agent.policy_net.head.layer
    if type(body) not in PLAIN_BODIES:
        raise InputError(f"only this package's own nets become a plain module, not {type(body).__name__}")
    if agent.obs_stats is not None and agent.spaces.images:
        raise InputError("state_norm on images beside vectors does not become a plain module")
    action = _own_action(run)
    policy = Policy(plan_of(run, action))
    layers = [*body.layers, (head, bias)]
    modules = [m for m in policy.modules() if isinstance(m, nn.Conv2d | nn.Linear)]
    with torch.no_grad():
        for module, (weight, offset) in zip(modules, layers, strict=True):
            module.weight.copy_(weight[0].T.reshape(module.weight.shape))
            assert module.bias is not None
            module.bias.copy_(offset[0, 0])
        if cell is not None:
            policy.cell.weight_ih.copy_(cell.inward[0].T)
            policy.cell.weight_hh.copy_(cell.onward[0].T)
            policy.cell.bias_ih.copy_(cell.bias[0, 0])
            policy.cell.bias_hh.zero_()
        if policy.plan["standardized"]:
            policy.mean.copy_(agent.obs_stats.mean.flatten())  # type: ignore[union-attr]
            policy.scale.copy_(agent.obs_stats.scale.flatten())  # type: ignore[union-attr]
        if policy.plan["action"] == "box":
            policy.log_std.copy_(agent.log_std.flatten())
            policy.low.copy_(torch.from_numpy(action.low.astype(np.float32).ravel()))
            policy.high.copy_(torch.from_numpy(action.high.astype(np.float32).ravel()))
    return policy.eval()


def some_observations(spaces: Spaces) -> list[Tensor]:
    """A few samples of the observation space, part by part."""
    space = deepcopy(spaces.observation)
    space.seed(0)
    obs = [space.sample() for _ in range(SAMPLES)]
    return [torch.from_numpy(np.stack([leaf.of(each) for each in obs])) for leaf in spaces.leaves]


def plan_of(run: Run, action: Any) -> dict[str, Any]:
    """What the observations and actions of a run's agent are, and the sizes of its layers, as plain values.

    action: the environment's own action space.
    """
    agent, spaces = run.agent, run.agent.spaces
    body, cell = inner_body(agent)
    inner = list(body.bodies) if isinstance(body, Joined) else [] if isinstance(body, Dense) else [body]
    shown = [k for k, leaf in enumerate(spaces.leaves) if leaf.axes]
    last = body.dense if isinstance(body, Joined) else body
    linears = last.layers if isinstance(last, Dense) else []
    stats = agent.obs_stats
    return {
        "env": spaces.env,
        "parts": [_part(leaf) for leaf in spaces.leaves],
        "features": spaces.features,
        "standardized": getattr(stats, "mean", None) is not None,
        "images": [_image(net, spaces, k) for net, k in zip(inner, shown, strict=True)],
        "sizes": [linears[0][0].shape[1], *(weight.shape[2] for weight, _ in linears)] if linears else [],
        "activation": run.config.activation,
        "width": body.width,
        "cell": run.config.recurrent_cell if cell else "",
        "size": cell.size if cell else 0,
        "state": agent.state_size,
        "outputs": spaces.actions,
        "action": "discrete" if spaces.discrete else "box",
        "counts": list(spaces.components) or [spaces.actions],
        "starts": _starts(action),
        "shape": list(action.shape or ()),
        "dtype": str(np.dtype(action.dtype)),
        "rescaled": run.config.rescale_actions,
        "squashed": run.tricks.squash,
    }


def inner_body(agent: Agent) -> tuple[Any, Cell | None]:
    """What the policy net makes of one observation, and the cell behind it if the agent is recurrent."""
    body = agent.policy_net.body
    return (body.body, body.cell) if isinstance(body, Recurrent) else (body, None)


def _own_action(run: Run) -> Any:
    """The environment's own action space, before it was rescaled."""
    if not run.config.rescale_actions:
        return run.agent.spaces.action
    config = replace(run.config.only(0), lanes=1, device="cpu", compile=False, rescale_actions=False)
    env = make_env(config, make=run.env)
    env.close()
    return env.spaces.action


def _part(leaf: Leaf) -> dict[str, Any]:
    space = leaf.space
    counts = [int(n) for n in np.ravel(getattr(space, "n", getattr(space, "nvec", ())))] if _hot(space) else []
    return {
        "path": list(leaf.path),
        "space": list(space.shape or ()),
        "dtype": np.dtype(space.dtype).name,
        "axes": leaf.axes,
        "shape": list(leaf.shape),
        "counts": counts,
        "starts": _starts(space) if counts else [],
    }


def _hot(space: gym.Space[Any]) -> bool:
    return isinstance(space, Discrete | MultiDiscrete)


def _starts(space: Any) -> list[int]:
    return [int(start) for start in np.ravel(space.start)] if _hot(space) else [0]


def _image(net: Any, spaces: Spaces, part: int) -> dict[str, Any]:
    """The layers of an image's net, and what its pixels are divided by."""
    channels = spaces.leaves[part].shape[0]
    if isinstance(net, Shallow):
        shapes, divisor = [(net.layers[0][0].shape[2], KERNEL, 1)], net.brightest
    else:
        shapes, divisor = [*NATURE], 1.0 if isinstance(net, UnitNature) else 255.0
    inputs = [channels, *(out for out, _, _ in shapes)]
    convolutions = [[before, *shape] for before, shape in zip(inputs, shapes, strict=False)]
    weight = net.layers[-1][0]
    return {"part": part, "divisor": divisor, "convolutions": convolutions, "linear": list(weight.shape[1:])}


def module_name(stem: str) -> str:
    """The stem as a name that Python can import, and that hides no other module: `my_policy` for my-policy."""
    name = re.sub(r"\W", "_", stem)
    taken = {"torch", "numpy", *sys.stdlib_module_names, *keyword.kwlist}
    return name if name.isidentifier() and name not in taken else f"policy_{name}"


def as_file(plan: dict[str, Any], weights: Path, name: str) -> str:
    """The module `name` that loads the weights, as a file of its own."""
    about = plain_policy.__doc__ or ""
    code = inspect.getsource(plain_policy).replace(
        about,
        f"{about.splitlines()[0]}\n\n`python {name}.py` says what it takes. In Python:\n\n"
        f"    from {name} import PLAN, load\n"
        f'    policy = load("{weights.name}", PLAN)\n'
        f"    action = policy.act(observation{', begins=first_of_an_episode' * bool(plan['cell'])})\n",
    )
    shown = pprint.pformat(plan, sort_dicts=False, width=116)
    return f'{code}\n\nPLAN = {shown}\n\nif __name__ == "__main__":\n    print(PLAN)\n'

"""Whether objects compute what their classes say: nothing hooked in, frozen, or put in a method's place."""

from collections.abc import Iterable
from functools import cache
from types import NoneType
from typing import Any

from torch import Tensor, nn
from torch.nn.modules.module import _has_any_global_hook

from tricks.core.agent import Agent
from tricks.core.nets import Dense, Head, Net
from tricks.core.policies import Categorical, DiagonalGaussian
from tricks.state_norm import ObsStats


def ordinary(agent: Agent, *nets: Net) -> bool:
    """Whether agents have these nets of dense layers with linear heads, the usual policy, and nothing hooked in."""
    dense = all(type(net) is Net and type(net.body) is Dense and type(net.head) is Head for net in nets)
    family = agent.family is (Categorical if agent.spaces.discrete else DiagonalGaussian)
    seen = type(agent.obs_stats) in (NoneType, ObsStats)  # what may stand between an observation and the nets
    return type(agent) is Agent and dense and family and seen and unhooked(agent)


def unhooked(module: nn.Module) -> bool:
    """Whether nobody asked to be called when this module, or a part of it, runs or is differentiated."""
    parts = [*module.modules()]
    hooks = [(x._forward_hooks, x._forward_pre_hooks, x._backward_hooks, x._backward_pre_hooks) for x in parts]
    return not (_has_any_global_hook() or any(map(any, hooks))) and own(*parts)


def free(parameters: Iterable[Tensor]) -> bool:
    """Whether all of these have a gradient, which nobody asked to see."""
    return all(p.requires_grad and not p._backward_hooks and not p._post_accumulate_grad_hooks for p in parameters)


def own(*objects: Any) -> bool:
    """Whether these have the methods of their classes, none of which was replaced on the object itself."""
    return all(methods(type(each)).isdisjoint(vars(each)) for each in objects)  # type: ignore[arg-type] # a class is hashable


@cache
def methods(kind: type) -> frozenset[str]:
    """The names of its methods."""
    return frozenset(name for name in dir(kind) if callable(getattr(kind, name)))

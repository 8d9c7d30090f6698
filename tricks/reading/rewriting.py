"""What an export has instead of the library's: other names, and neither devices nor tasks nor numbers per seed."""

import re
from typing import Any, NamedTuple

import libcst as cst
import libcst.matchers as m

from tricks.ladder import Tricks
from tricks.reading.decide import text
from tricks.reading.parts import defined

NAMES = {  # what an export has instead
    "Player": "Lanes",
    "Policy": "Callable",
    "Rollout": "Batch",
    "Run": "SimpleNamespace",
    "Env": "Lanes",
    "make_env": "Lanes",
    "Spaces": "Lanes",
    "spaces": "env",
    "env.spaces": "env",
    "player.env": "player",
    "self.env.now": "self.env",
    "spaces.tasks": "1",
    "agent.spaces.tasks": "1",
    "spaces.features": "env.inputs",
    "spaces.action": "env.acts",
    "spaces.brightest": "float(env.sees.high.max())",
    "agent.spaces.features": "agent.env.inputs",
    "Body": "nn.Module",
    "InputError": "gym.error.Error",
    "PerSeed": "float",
    "config.rates": "[config.lr] * config.seeds",
    "config.seed_list": "range(config.seeds)",
}
CALLS = {
    "Player": "env",
    "argsort": "keys.argsort(1)",
    "in_passes": "self.head(self.body(x))",
    "Run": "SimpleNamespace(config=config, agent=agent, curve=log.curve, diverged=log.diverged)",
}
DROPPED = ("tricks", "body")  # arguments that its functions do not take


class Facts(NamedTuple):
    """What an export's agents have: heads that share a body, a mask, statistics, images, a recurrent state."""

    shares: bool
    masks: bool
    standardizes: bool
    scales: bool
    images: bool
    recurs: bool

    @classmethod
    def of(cls, tricks: Tricks, images: bool) -> "Facts":
        shares, scales = tricks.shared_trunk or tricks.ppg or tricks.recurrent, tricks.return_norm or tricks.ppg
        return cls(shares, tricks.action_mask, tricks.state_norm, scales, images, tricks.recurrent)


class Rewritten(cst.CSTTransformer):
    """Without devices, and with the names that an export has."""

    def __init__(self, facts: Facts) -> None:
        self.shares, self.recurs, self.standardizes = facts.shares, facts.recurs, facts.standardizes
        same = {"self.standardized": not facts.standardizes, "denormalize": not facts.scales}
        same |= {"agent.features": not facts.shares, "observations": not facts.recurs}
        self.same = {function for function, alike in same.items() if alike}  # which return their argument

    def leave_Call(self, original_node: cst.Call, updated_node: cst.Call) -> cst.BaseExpression:
        func, args = updated_node.func, updated_node.args
        if text(func) == "config.each":
            return cst.parse_expression(f"[config.{text(args[0].value)[1:-1]}] * config.seeds")
        if text(func) == "per_seed" or text(func) in self.same:
            return args[0].value
        if text(func) in ("self.output", "self.read") and not self.shares:  # no net has been asked already
            net, given = (text(arg.value) for arg in args)
            seen = f"self.standardized({given})" if self.standardizes else given
            return cst.parse_expression(f"{net}({seen})" + ".squeeze(-1)" * (text(func) == "self.read"))
        if (instead := CALLS.get(text(original_node.func))) is not None:
            return cst.parse_expression(instead)
        if isinstance(func, cst.Attribute):
            moves = func.attr.value == "to" and args and text(args[0].value).endswith("device")
            if moves or (func.attr.value == "cpu" and not args):
                return func.value
            if text(func) in ("stats.of", "agent.return_stats.of", "self.return_stats.of"):
                return func.value
        left = [arg for arg in args if text(arg.value) not in DROPPED and not m.matches(arg, m.Arg(keyword=DEVICE))]
        return updated_node if len(left) == len(args) else updated_node.with_changes(args=_closed(left))

    def leave_Annotation(self, original_node: cst.Annotation, updated_node: cst.Annotation) -> cst.Annotation:
        seen = {"Given": self.recurs, "Given | Features": self.shares}
        if (several := seen.get(text(updated_node.annotation))) is None or self.recurs:
            return updated_node
        return updated_node.with_changes(annotation=cst.parse_expression("Tensor | Features" if several else "Tensor"))

    def leave_Attribute(self, original_node: cst.Attribute, updated_node: cst.Attribute) -> cst.BaseExpression:
        if original_node.attr.value == "columns":
            return cst.Call(cst.Name("vars"), [cst.Arg(updated_node.value)])
        instead = NAMES.get(text(original_node))
        return updated_node if instead is None else cst.parse_expression(instead)

    def leave_Name(self, original_node: cst.Name, updated_node: cst.Name) -> cst.BaseExpression:
        return cst.parse_expression(NAMES.get(updated_node.value, updated_node.value))


DEVICE = m.Name("device")


class Without(cst.CSTTransformer):
    """Takes a fact out everywhere: as a parameter and an argument, as a field, and from tuples."""

    def __init__(self, fact: str) -> None:
        self.fact = fact

    def leave_Call(self, original_node: cst.Call, updated_node: cst.Call) -> cst.Call:
        left = [arg for arg in updated_node.args if not self._is(arg.value)]
        return updated_node if len(left) == len(updated_node.args) else updated_node.with_changes(args=_closed(left))

    def leave_Parameters(self, original_node: cst.Parameters, updated_node: cst.Parameters) -> cst.Parameters:
        left = [param for param in updated_node.params if param.name.value != self.fact]
        same = len(left) == len(updated_node.params)
        return updated_node if same else updated_node.with_changes(params=_closed(left))

    def leave_Tuple(self, original_node: cst.Tuple, updated_node: cst.Tuple) -> cst.Tuple:
        left = [element for element in updated_node.elements if not self._is(element.value)]
        same = len(left) == len(updated_node.elements)
        return updated_node if same else updated_node.with_changes(elements=_closed(left))

    def leave_SimpleStatementLine(
        self, original_node: cst.SimpleStatementLine, updated_node: cst.SimpleStatementLine
    ) -> cst.SimpleStatementLine | cst.RemovalSentinel:
        return cst.RemoveFromParent() if defined(original_node) == self.fact else updated_node

    def _is(self, value: cst.BaseExpression) -> bool:
        return text(value) == self.fact or re.search(rf"\.{self.fact}\b", text(value)) is not None


class WithoutOwners(cst.CSTTransformer):
    """Takes from the loop the lines about who owns what: no seed of an export goes on after its budget."""

    def leave_SimpleStatementLine(
        self, original_node: cst.SimpleStatementLine, updated_node: cst.SimpleStatementLine
    ) -> cst.SimpleStatementLine | cst.RemovalSentinel:
        owners = re.match(r"(parts|waiting)\b", text(original_node.body[0]))
        return updated_node if owners is None else cst.RemoveFromParent()


def _closed(items: list[Any]) -> list[Any]:
    """The items of a list, the last one without a comma."""
    return [*items[:-1], *(last.with_changes(comma=cst.MaybeSentinel.DEFAULT) for last in items[-1:])]

"""The library as one file needs it: the definitions that an export draws on, simplified where it is simpler."""

from functools import cache
from importlib import resources

import libcst as cst
import libcst.matchers as m

from tricks.ladder import FILES
from tricks.reading.brief import Brief
from tricks.reading.decide import DOORS, CloseDoors, Decide, closed_doors, text
from tricks.reading.parts import Definition, Part, defined, definitions, imports

SKELETON = "tricks.reading.skeleton"
VECTORS = {  # the answers for observations that are vectors
    "self.spaces.pixels": False,
    "spaces.pixels": False,
    "self.pixels": False,
    "rollout.obs.is_floating_point()": True,
    "x.dtype == torch.uint8": False,
    "name not in COLUMNS": False,  # of a batch: an export adds none but those it has
}
NAMES = {"Env": "Lanes", "make_env": "Lanes", "InputError": "ValueError"}  # what an export has instead
GONE = {
    "Agent": ("register_load_state_dict_post_hook",),
    "Categorical": ("dtype",),
    "Config": ("__post_init__",),
    "DiagonalGaussian": ("dtype",),
    "Player": ("_check",),
    "Spaces": ("__post_init__", "shape"),
    "Step": ("to",),
}
GONE = {
    "Agent": ("register_load_state_dict_post_hook",),
    "Categorical": ("dtype",),
    "Config": ("__post_init__",),
    "DiagonalGaussian": ("dtype",),
    "Player": ("_check",),
    "Spaces": ("__post_init__", "shape"),
    "Step": ("to",),
}


@cache
def modules() -> tuple[str, ...]:
    """The modules that an export is made of, in the order in which one would read them."""
    core = sorted(
        path.name[:-3] for path in resources.files("tricks").joinpath("core").iterdir() if path.name[0] != "_"
    )
    tricks = dict.fromkeys(FILES.values())
    return (
        "tricks.config",
        *(f"tricks.core.{name}" for name in core if name.isidentifier()),
        f"{SKELETON}.lanes",
        *(f"tricks.{name}" for name in tricks),
        f"{SKELETON}.curve",
        "tricks.loop",
        f"{SKELETON}.program",
    )


@cache
def library(standardizes: bool, normalizes: bool, shares: bool) -> dict[str, Part]:
    """Every definition with those questions answered that are not the loop's.

    They are those of VECTORS, of doors, which are all closed, and whether observations are ever standardized, returns
    ever normalized, and a body ever shared by two heads.
    """
    parts: dict[str, Part] = {}
    for module in modules():
        for name, part in definitions(module).items():
            assert name not in parts, f"two definitions of {name}"
            parts[name] = Part(module, _flat(part) if isinstance(part.node, cst.ClassDef) else part.node)
    callables = {name: function for name, part in parts.items() if (function := _called(part.node)) is not None}
    known = VECTORS | ({} if standardizes else {"self.standardizes": False})
    known |= {} if shares else {"isinstance(seen, Tensor)": True}
    brief = Brief()
    parts = {name: part if _is_trick(part.module) else _changed(part, brief) for name, part in parts.items()}
    changes = [Decide(known | closed_doors(DOORS)), CloseDoors(callables), _Plain(not normalizes, not shares)]
    parts = {name: _changed(part, *changes) for name, part in parts.items()}
    inline = _Inline({name for part in parts.values() for name in _identities(part.node)})
    return {name: _changed(part, inline) for name, part in parts.items()}


def _changed(part: Part, *changes: cst.CSTTransformer) -> Part:
    """The part after these changes."""
    node = part.node
    for change in changes:
        node = cst.ensure_type(node.visit(change), type(part.node))
    return Part(part.module, node)


def _flat(part: Part) -> cst.ClassDef:
    """A class of the skeleton with what it inherits from the library."""
    node = cst.ensure_type(part.node, cst.ClassDef)
    base = node.bases[0].value if node.bases else None
    found = imports(part.module).get(text(base).split(".")[0]) if base is not None else None
    if base is None or found is None or not part.module.startswith(SKELETON) or not found[0].startswith("tricks"):
        return node
    module, name = found if isinstance(base, cst.Name) else (".".join(found), text(base).split(".")[1])
    inherited = cst.ensure_type(definitions(module)[name].node, cst.ClassDef)
    own = {defined(member): member for member in node.body.body if defined(member)}
    docstring, *rest = node.body.body
    others = [member for member in inherited.body.body if defined(member) and defined(member) not in own]
    body = node.body.with_changes(body=[docstring, *rest, *others])
    return node.with_changes(body=body, bases=inherited.bases, lpar=inherited.lpar, rpar=inherited.rpar)


def _called(node: Definition) -> cst.FunctionDef | None:
    """What runs when this is called: a function, or a class's `__init__`."""
    if isinstance(node, cst.ClassDef):
        inits = [member for member in node.body.body if defined(member) == "__init__"]
        return cst.ensure_type(inits[0], cst.FunctionDef) if inits else None
    return node if isinstance(node, cst.FunctionDef) else None


def _is_trick(module: str) -> bool:
    return module.removeprefix("tricks.") in FILES.values()


class _Plain(cst.CSTTransformer):
    """Takes out devices, and names that an export does not have.

    identity: the return statistics never move, so that values are what the value net puts out. apart: no two heads
    share a body, so that there is nothing to be asked once for both.
    """

    def __init__(self, identity: bool, apart: bool) -> None:
        self.identity, self.apart = identity, apart

    def leave_ClassDef(self, original_node: cst.ClassDef, updated_node: cst.ClassDef) -> cst.ClassDef:
        dropped = GONE.get(original_node.name.value, ())
        body = [member for member in updated_node.body.body if defined(member) not in dropped]
        return updated_node.with_changes(body=updated_node.body.with_changes(body=body))

    def leave_IndentedBlock(
        self, original_node: cst.IndentedBlock, updated_node: cst.IndentedBlock
    ) -> cst.IndentedBlock:
        dropped = {f"self.{name}" for names in GONE.values() for name in names}
        body = []
        for line in updated_node.body:
            calls = [text(cst.ensure_type(call, cst.Call).func) for call in m.findall(line, m.Call())]
            if not (isinstance(line, cst.SimpleStatementLine) and dropped & set(calls)):
                body.append(line)
        return updated_node.with_changes(body=body)

    def leave_Call(self, original_node: cst.Call, updated_node: cst.Call) -> cst.BaseExpression:
        func, args = updated_node.func, updated_node.args
        if isinstance(func, cst.Attribute):
            if self.apart and func.attr.value == "see":
                return args[0].value
            moves = func.attr.value == "to" and args and text(args[0].value).endswith("device")
            if moves or (func.attr.value == "cpu" and not args):
                return func.value
        if self.identity and text(func) == "denormalize" and text(args[1].value) == "self.returns":
            return args[0].value
        left = [arg for arg in args if text(arg.value) != "tricks" and not _is_device(arg)]
        if len(left) < len(args) and left:
            left[-1] = left[-1].with_changes(comma=cst.MaybeSentinel.DEFAULT)
        return updated_node.with_changes(args=left)

    def leave_Annotation(self, original_node: cst.Annotation, updated_node: cst.Annotation) -> cst.Annotation:
        if text(updated_node.annotation).strip('"') != "Body":  # a protocol; here there is but one
            return updated_node
        return updated_node.with_changes(annotation=cst.SimpleString('"Dense"'))

    def leave_Name(self, original_node: cst.Name, updated_node: cst.Name) -> cst.Name:
        return updated_node.with_changes(value=NAMES.get(updated_node.value, updated_node.value))

    def leave_Comment(self, original_node: cst.Comment, updated_node: cst.Comment) -> cst.Comment:
        return updated_node.with_changes(value=updated_node.value.partition("  # type: ignore")[0])

    def leave_TrailingWhitespace(
        self, original_node: cst.TrailingWhitespace, updated_node: cst.TrailingWhitespace
    ) -> cst.TrailingWhitespace:
        if updated_node.comment is None or not updated_node.comment.value.startswith("# type: ignore"):
            return updated_node
        return updated_node.with_changes(comment=None, whitespace=cst.SimpleWhitespace(""))


def _is_device(arg: cst.Arg) -> bool:
    return arg.keyword is not None and arg.keyword.value == "device"


def _identities(node: Definition) -> list[str]:
    """The methods that return what they are given."""
    found = []
    for member in node.body.body if isinstance(node, cst.ClassDef) else ():
        if isinstance(member, cst.FunctionDef) and len(member.params.params) == 2:
            last = member.body.body[-1]
            only = len(member.body.body) == 1 + (member.get_docstring() is not None)
            given = member.params.params[1].name.value
            if only and m.matches(last, m.SimpleStatementLine([m.Return(m.Name(given))])):
                found.append(member.name.value)
    return found


class _Inline(cst.CSTTransformer):
    """Calls of methods that return what they are given, in place."""

    def __init__(self, identities: set[str]) -> None:
        self.identities = identities

    def leave_ClassDef(self, original_node: cst.ClassDef, updated_node: cst.ClassDef) -> cst.ClassDef:
        dropped = set(_identities(original_node))
        body = [member for member in updated_node.body.body if defined(member) not in dropped]
        return updated_node.with_changes(body=updated_node.body.with_changes(body=body))

    def leave_Call(self, original_node: cst.Call, updated_node: cst.Call) -> cst.BaseExpression:
        func = updated_node.func
        if isinstance(func, cst.Attribute) and func.attr.value in self.identities and len(updated_node.args) == 1:
            return updated_node.args[0].value
        return updated_node

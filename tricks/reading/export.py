"""One file to take home: `tricks/one_agent.py` with its flags decided, which needs nothing of this package.

Where observations are images, the definitions of `tricks/one_game.py` take their place in it.
"""

import json
import sys
import textwrap
from collections import Counter
from collections.abc import Iterable
from dataclasses import fields
from importlib import resources
from itertools import chain

import gymnasium as gym
import libcst as cst

from tricks import one_agent
from tricks.config import Config, PerSeed
from tricks.errors import InputError, in_words
from tricks.flags import switch
from tricks.ladder import HYPERPARAMETERS, Tricks
from tricks.one_run import FLAGS
from tricks.reading.dead import unstored, without_dead_stores
from tricks.reading.decide import Decide, assigned, inside, reads, text
from tricks.reading.doors import CloseDoors, takes
from tricks.reading.listing import answers, reduced
from tricks.reading.source import Code
from tricks.replaced import REPLACED
from tricks.values import checked

DEFAULTS = Config()
OURS = {"self", "agent", "player", "config"}  # whose attributes are those of the one agent's classes
Definition = cst.FunctionDef | cst.ClassDef
KEPT = ("__init__", "forward", "reset", "step")  # methods that PyTorch and Gymnasium call
NUMBERS = [f.name for f in fields(one_agent.Config)]
CHECK = "    check(vars(config), tricks)  # raises InputError\n"
LANES = "gym.wrappers.vector.RecordEpisodeStatistics(gym.make_vec(config.env, config.lanes))"
THREADS = "torch.set_num_threads(1)  # tensors this small gain nothing from more\n    "
VECTORS = {"setting": THREADS, "make": 'gym.make_vec(asked["env"], 1)', "axes": 1, "kind": "vectors"}
IMAGES = {"setting": "", "make": 'make(Config(env=asked["env"], lanes=1))', "axes": 3, "kind": "images"}
PROGRAM = """

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    parser.add_argument("--seeds", type=int, default={seeds}, help="agents, one after another: seeds 0, 1, ...")
    for name, default in vars(Config()).items():
        if name != "seed":
            parser.add_argument(f"--{{name.replace('_', '-')}}", type=type(default), default=default, help=" ")
    for name, x in (asked := vars(parser.parse_args())).items():
        if not isinstance(x, str) and not isinstance(x, int) <= x < 2**53:
            parser.error(f"--{{name}} must be at least {{int(isinstance(x, int))}}, not {{x}}")
    {setting}try:
        env = {make}
    except (gym.error.Error, ImportError) as error:
        parser.error(str(error))
    seen, known = env.single_observation_space.shape or (), gym.spaces.Discrete | gym.spaces.Box
    if len(seen) != {axes} or not isinstance(env.single_action_space, known):
        parser.error("--env must have observations that are {kind}, and actions that are Discrete or Box")
    for seed in range(asked.pop("seeds")):
        print(f"seed {{seed}}")
        train(Config(seed=seed, **asked))
"""


@checked
def export(tricks: Tricks, config: Config = DEFAULTS) -> Code:
    """One self-contained file that trains one agent after another with these flags of the ladder.

    It imports torch, numpy and gymnasium only, and is `tricks.one_agent` without what is off. `python FILE --env
    CartPole-v1 --seeds 4` trains; the numbers of `config` are its defaults.

    Raises InputError for what the one agent lacks: flags beyond the ladder, of which `listing` prints the loop, and
    numbers such as a device.
    """
    if REPLACED:
        raise InputError(f"an export has this package's {REPLACED[0]}, not another: call it outside of patched()")
    images = _shows_images(config.env)
    numbers = _numbers(tricks, config, images)
    folder = resources.files("tricks")
    page, game = (folder.joinpath(f"one_{x}.py").read_text(encoding="utf-8") for x in ("agent", "game"))
    known = answers(tricks.on)
    known |= {f"self.{question}": answer for question, answer in known.items()}
    known |= {f"config.{name}": getattr(config, name) for name in ("life_ends", "reward_sign")}
    if tricks.clip_anneal and config.value_clip_anneals:
        page = page.replace("config.value_clip_range", "clip_range")
    assert CHECK in page
    page = page.replace(CHECK, "")
    source = cst.parse_module(page.replace(LANES, "make(config)") if images else page)
    definitions = _definitions(source.visit(Decide(known)))
    if images:
        place = [node.name.value for node in definitions].index("net")
        definitions[place : place + 1] = _definitions(cst.parse_module(game).visit(Decide(known)))
    inner = [(node.name.value, each) for node in definitions for each in inside(node, cst.FunctionDef)]
    functions = {name: each for name, each in inner if each.name.value in (name, "__init__")}  # what a call of it runs
    left = _used(cst.Module(definitions).visit(CloseDoors(functions)), numbers)
    mentioned = {"argparse"} | reads(left)
    imports = "".join(reduced(node, mentioned, without="tricks") for node in source.body)
    named = ", ".join(tricks.on) or "none, so it is REINFORCE"
    about = textwrap.fill(f"One agent in one file, with these tricks of PPO: {named}.", 116)
    title = f'"""{about}\n\n`python FILE --env {config.env}` trains it.\n"""'
    program = PROGRAM.format(seeds=len(config.seed_list), **(IMAGES if images else VECTORS))
    return Code(f"{title}\n\nimport argparse\n{imports.strip()}\n\n\n{left.code.strip()}\n{program}")


def _shows_images(env: str) -> bool:
    """Whether observations are images; of an environment that cannot be made here, they count as vectors."""
    try:
        return "ALE/" in env or len(gym.make(env).observation_space.shape or ()) == 3
    except Exception as error:  # it may exist where the file runs
        said = f"{env} cannot be made here, so the file takes its observations for vectors: {in_words(error)}"
        print(said, file=sys.stderr)
        return False


def _definitions(module: cst.Module) -> list[Definition]:
    return [node for node in module.body if isinstance(node, cst.FunctionDef | cst.ClassDef)]


def _numbers(tricks: Tricks, config: Config, images: bool) -> dict[str, object]:
    """The one agent's numbers as this config has them. Raises InputError for a trick or a number that it lacks."""
    beyond = [name for name in tricks.on if name not in FLAGS or (images and name == "state_norm")]
    if beyond:
        advice = "leave it off; python -m tricks listing prints the loop with any flags"
        raise InputError(f"an export{' for images' * images} has no {', '.join(beyond)}", advice)
    if config.value_clip_anneals and tricks.clip_anneal and config.clip_range != config.value_clip_range:
        raise InputError("an export with value_clip_anneals has one clip range for both, so give them the same number")
    if config.seed_list != tuple(range(len(config.seed_list))):
        raise InputError(f"an export trains seeds 0, 1, ...: give their count as --seeds, not {config.seeds}")
    games = ["value_clip_anneals"] + ["reward_sign"] * images + ["life_ends"] * ("ALE/" in config.env)
    off = set(chain.from_iterable(numbers for name, numbers in HYPERPARAMETERS.items() if name not in tricks.on))
    for f in fields(config):
        own = getattr(config, f.name)
        if f.type == PerSeed and isinstance(own, tuple):
            raise InputError(f"an export has one {switch(f.name)} for all seeds, not {own}")
        known = f.name in {*NUMBERS, *off, *games, "seeds", "backend"} or own == getattr(DEFAULTS, f.name)
        if not known or (f.name == "backend" and own not in ("auto", "gymnasium")):
            raise InputError(f"an export has no {switch(f.name)}, so it cannot be {own}")
    if len(set(config.hidden)) != 1 or len(config.hidden) != 2:
        raise InputError(f"an export has two hidden layers of one width, not {config.hidden}")
    same = {name: getattr(config, name) for name in NUMBERS if name not in ("seed", "hidden")}
    return {"seed": 0, "hidden": config.hidden[0], **same}


def _used(module: cst.Module, numbers: dict[str, object]) -> cst.Module:
    """The definitions without parameters, functions, methods, attributes and numbers that nothing reads any more."""
    before = ""
    while before != (before := module.code):
        functions = {node.name.value: node for node in module.body if isinstance(node, cst.FunctionDef)}
        spare = {name: {*takes(node)} - reads(node.body) for name, node in functions.items()}
        module = module.visit(CloseDoors(functions, spare))
        module = module.visit(_OfUse(module, numbers))
        inner = inside(module, cst.FunctionDef)
        called = {"train", "Config"}.union(*(reads(each.body) | reads(each.params) for each in inner))
        module = module.with_changes(body=[node for node in _definitions(module) if node.name.value in called])
    return module


class _OfUse(cst.CSTTransformer):
    """Takes out what nobody reads: methods, numbers, attributes and stores; and calls that return their argument.

    The numbers that are left get their defaults.
    """

    def __init__(self, module: cst.Module, numbers: dict[str, object]) -> None:
        stored = _attributes(target for each in inside(module, cst.Assign) for target, _ in assigned(each))
        self.read = {*_attributes(inside(module, cst.Attribute)) - stored}
        self.unread = {f"self.{name}" for name in stored.keys() - self.read}
        bodies = {each: [text(line).strip() for line in each.body.body] for each in inside(module, cst.FunctionDef)}
        self.same = {
            each.name.value for each, body in bodies.items() if body == [f"return {x}" for x in takes(each)[-1:]]
        }
        self.numbers = numbers

    def leave_ClassDef(self, original_node: cst.ClassDef, updated_node: cst.ClassDef) -> cst.ClassDef:
        members = updated_node.body.body
        kept = [x for x in members if not isinstance(x, Definition) or x.name.value in {*KEPT, *self.read}]
        return updated_node.with_deep_changes(updated_node.body, body=kept)

    def leave_SimpleStatementLine(
        self, original_node: cst.SimpleStatementLine, updated_node: cst.SimpleStatementLine
    ) -> cst.SimpleStatementLine | cst.RemovalSentinel:
        small = updated_node.body[0]
        if isinstance(small, cst.AnnAssign) and (name := text(small.target)) in self.numbers:
            number = self.numbers[name]
            value = cst.parse_expression(f"{number:_}" if isinstance(number, int) else json.dumps(number))
            return updated_node.with_deep_changes(small, value=value) if name in self.read else cst.RemoveFromParent()
        return unstored(updated_node, self.unread)

    def leave_Call(self, original_node: cst.Call, updated_node: cst.Call) -> cst.BaseExpression:
        called = updated_node.func
        if isinstance(called, cst.Attribute) and text(called.attr) in self.same:
            return updated_node.args[0].value
        return updated_node

    def leave_FunctionDef(self, original_node: cst.FunctionDef, updated_node: cst.FunctionDef) -> cst.FunctionDef:
        left = without_dead_stores(updated_node, _pure)
        if text(left).endswith("    return\n"):
            return left.with_deep_changes(left.body, body=left.body.body[:-1])
        return left


def _attributes(nodes: Iterable[cst.CSTNode]) -> Counter[str]:
    """How often each attribute of OURS is among these nodes."""
    found = [each for each in nodes if isinstance(each, cst.Attribute)]
    return Counter(text(each.attr) for each in found if text(each.value).split(".")[-1] in OURS)


def _pure(call: cst.Call) -> bool:
    """Whether a call changes nothing, so that it can go if nobody reads what it returns."""
    return text(call.func).split(".")[-1] not in ("step", "reset", "observe", "begin", "play", "random")

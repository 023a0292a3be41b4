"""python3 -s -S -B describe_module.py MEMORY_BYTES GIVEN < MODULE: what a module of KernelBench computes on, as JSON.

Runs the module, confined. GIVEN is JSON: whole numbers at the top of the module, and what they are instead.
"""

import contextlib
import inspect
import json
import os
import random
import re
import site
import sys
import traceback
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple

sys.path[0] = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

from warpsmith_reference.confine import confine  # noqa: E402
from warpsmith_reference.extents import Sizes, fitted, influences, only_differs  # noqa: E402
from warpsmith_reference.kernelbench import (  # noqa: E402
    SEED,
    Module,
    is_floating,
    is_tensor,
    listed,
    missing_from,
    named_tensors,
    torch,
)
from warpsmith_worker.lifetime import end_with_parent  # noqa: E402

# Whole numbers below are settings of a layer, such as the size of a kernel, unless inputs or results are as long.
LEAST_SIZE = 32
STEPS = (1, 2, 4, 8, 16, 32, 64, 128)
JOINT_LOOKS = 12
MOST_RAISES = 3
LONGEST_SCAN = 64
# What a virtual GPU judges in a second, and an audit of both sets of checks in a minute or two.
QUICK_WORK = 2e7
LEAST_HALVED = 64
# Of the results, where inputs are drawn.
FINITE = 0.9
# Of a uniform distribution √3; of the normal one's samples, more.
UNIFORM_SPREAD = 1.8

FILE = "module.py"

Place = Tuple[str, Any, int]
Extents = Dict[Place, int]


class Refused(Exception):
    def __init__(self, code: str, message: str, received: str, expected: str, hint: str) -> None:
        super().__init__(message)
        self.fields = {"code": code, "message": message, "received": received, "expected": expected, "hint": hint}


class Fillings:
    """Which tensors came straight from torch.rand, randn or randint."""

    def __init__(self) -> None:
        self._made: List[Tuple[Any, Dict[str, Any]]] = []

    def of(self, tensor: Any) -> Optional[Dict[str, Any]]:
        return next((filling for made, filling in self._made if made is tensor), None)

    @contextlib.contextmanager
    def watched(self) -> Iterator[None]:
        library = torch()
        kinds: Dict[str, Callable[..., Dict[str, Any]]] = {
            "rand": lambda *_: {"kind": "uniform"},
            "randn": lambda *_: {"kind": "normal"},
            "randint": whole_filling,
        }
        before = {name: getattr(library, name) for name in kinds}

        def watching(name: str) -> Callable[..., Any]:
            def made(*given: Any, **named: Any) -> Any:
                tensor = before[name](*given, **named)
                self._made.append((tensor, kinds[name](*given)))
                return tensor

            return made

        for name in kinds:
            setattr(library, name, watching(name))
        try:
            yield
        finally:
            for name, function in before.items():
                setattr(library, name, function)


def whole_filling(*given: Any) -> Dict[str, Any]:
    """randint(high, size) and randint(low, high, size)."""
    numbers = [one for one in given if type(one) is int]
    low, high = (0, numbers[0]) if len(numbers) == 1 else numbers[:2]
    return {"kind": "whole", "low": low, "high": high}


class Scene:
    """The module at some sizes: inputs, model and results."""

    def __init__(self, module: Module, sizes: Mapping[str, int]) -> None:
        fillings = Fillings()
        with fillings.watched():
            names = module.namespace(sizes)
            torch().manual_seed(SEED)
            self.arguments: List[Any] = list(names["get_inputs"]())
        self.model = module.model(sizes)
        self.fillings = [fillings.of(one) if is_tensor(one) else None for one in self.arguments]
        with torch().no_grad():
            self.results: List[Any] = listed(self.model(*[cloned(one) for one in self.arguments]))

    def extents(self) -> Extents:
        shapes = [
            *((("input", i), one) for i, one in enumerate(self.arguments) if is_tensor(one)),
            *((("tensor", name), one) for name, one in named_tensors(self.model)),
            *((("result", i), one) for i, one in enumerate(self.results) if is_tensor(one)),
        ]
        found = {(*place, axis): int(extent) for place, one in shapes for axis, extent in enumerate(one.shape)}
        bounds = ((i, filling) for i, filling in enumerate(self.fillings) if filling and filling["kind"] == "whole")
        return {**found, **{("bound", i, 0): filling["high"] for i, filling in bounds}}


def cloned(value: Any) -> Any:
    return value.clone() if is_tensor(value) else value


class Sight:
    """The module's extents at any sizes. Tensors without memory show them where the library has them."""

    def __init__(self, module: Module, own: Sizes) -> None:
        self._module = module
        self._own = own
        self._known: Dict[str, Optional[Extents]] = {}
        self._is_meta = hasattr(torch(), "device")
        if self._is_meta:
            try:
                # The library lists its constructors at the first use of a device; they are watched from then on.
                with torch().device("meta"):
                    torch().empty(1)
                self._look({})
            except Exception:
                self._is_meta = False
        self.first = self._look({})

    def _look(self, changes: Mapping[str, int]) -> Extents:
        place = torch().device("meta") if self._is_meta else contextlib.nullcontext()
        with place:
            return Scene(self._module, {**self._own, **changes}).extents()

    def at(self, changes: Mapping[str, int]) -> Optional[Extents]:
        """None if the module fails at these sizes, or has tensors of other ranks."""
        key = json.dumps(changes, sort_keys=True)
        if key not in self._known:
            try:
                found: Optional[Extents] = self._look(changes)
            except Exception:
                found = None
            self._known[key] = found if found is not None and found.keys() == self.first.keys() else None
        return self._known[key]


class Dimension:
    def __init__(self, name: str, value: int, step: int, minimum: int) -> None:
        self.name, self.value, self.step, self.minimum = name, value, step, minimum
        self._raises = 0

    def raised(self) -> bool:
        """Whether its least value could grow: some layers need two elements, of whatever sizes."""
        self._raises += 1
        self.minimum += self.step
        return self._raises <= MOST_RAISES and self.minimum <= self.value

    def near(self) -> List[int]:
        around = [self.value + self.step * count for count in (1, 2, 3, 5, 8, -1)] + [self.minimum]
        return [one for one in around if one >= self.minimum]

    def small(self, draw: random.Random) -> int:
        return self.minimum + self.step * draw.randrange(24)

    def fitting(self, value: int) -> int:
        return max(self.minimum, value // self.step * self.step)


def dimension_of(sight: Sight, name: str, value: int) -> Optional[Dimension]:
    """None if it is none: a setting of the module, or a size that can't change."""
    for step in STEPS:
        others = [value + step, value + 3 * step, *([value - step] if value > step else [])]
        if value % step != 0 or any(sight.at({name: other}) is None for other in others):
            continue
        if not is_size(sight.first, sight.at({name: value + step}) or {}, value, value + step):
            return None
        return Dimension(name, value, step, least(sight, name, value, step))
    return None


def is_size(before: Extents, after: Extents, value: int, other: int) -> bool:
    changed = [place for place in before if before[place] != after[place]]
    follows = [place for place in changed if before[place] == value and after[place] == other]
    if any(kind == "input" for kind, _, _ in changed):
        return True
    if any(kind == "result" for kind, _, _ in follows):
        return True
    return value >= LEAST_SIZE and any(kind == "tensor" for kind, _, _ in follows)


def least(sight: Sight, name: str, value: int, step: int) -> int:
    for count in range(1, min(value // step, LONGEST_SCAN) + 1):
        if sight.at({name: step * count}) is not None:
            return step * count
    return value


def dimensions_of(sight: Sight, own: Sizes) -> Tuple[List[Dimension], Dict[Place, str]]:
    """Sizes that may change, all of them together, and every extent as an expression of them."""
    found = [dimension_of(sight, name, value) for name, value in own.items()]
    dimensions = [one for one in found if one is not None]
    while True:
        seen = looks(sight, dimensions)
        if seen is None:
            last = dimensions[-1]
            if not last.raised():
                dimensions.pop()
            continue
        expressions = {}
        for place in sight.first:
            extents = [(sizes, extents[place]) for sizes, extents in seen]
            names = [one.name for one in dimensions]
            text = fitted(extents, names)
            if text is None:
                last = [name for name in names if influences(name, extents)][-1:] or names[-1:]
                dimensions = [one for one in dimensions if one.name not in last]
                break
            expressions[place] = text
        else:
            return dimensions, expressions


def looks(sight: Sight, dimensions: Sequence[Dimension]) -> Optional[List[Tuple[Sizes, Extents]]]:
    """None if the module fails where several sizes change at once."""
    own = {one.name: one.value for one in dimensions}
    draw = random.Random(SEED)
    joint = [{one.name: one.small(draw) for one in dimensions} for _ in range(JOINT_LOOKS)] if dimensions else []
    smallest = [{one.name: one.minimum for one in dimensions}]
    single = [{**own, one.name: value} for one in dimensions for value in one.near()]
    seen = [(own, sight.first)]
    for sizes in [*smallest, *joint, *single]:
        extents = sight.at(sizes)
        if extents is not None:
            seen.append((sizes, extents))
        elif only_differs(own, sizes) is None and sizes != own:
            return None
    return seen


def quick_sizes(sight: Sight, dimensions: Sequence[Dimension]) -> Sizes:
    """The module's sizes, the largest halved until a virtual device judges them quickly."""
    sizes = {one.name: one.value for one in dimensions}
    while work(sight, sizes) > QUICK_WORK:
        able = [one for one in dimensions if one.fitting(sizes[one.name] // 2) < sizes[one.name]]
        able = [one for one in able if sizes[one.name] >= 2 * min(LEAST_HALVED, one.value)] or able
        if not able:
            break
        largest = max(able, key=lambda one: sizes[one.name])
        sizes[largest.name] = largest.fitting(sizes[largest.name] // 2)
    return sizes


def work(sight: Sight, sizes: Sizes) -> float:
    """Elements, or a sum as long as the longest axis for each result."""
    extents = sight.at(sizes) or sight.first
    counts: Dict[Tuple[str, Any], float] = {}
    for (kind, which, _), extent in extents.items():
        if kind != "bound":
            counts[kind, which] = counts.get((kind, which), 1.0) * extent
    results = sum(count for (kind, _), count in counts.items() if kind == "result")
    longest = max((extent for (kind, _, _), extent in extents.items() if kind != "bound"), default=1)
    return max(16 * sum(counts.values()), results * longest)


def described(module: Module, given: Mapping[str, int]) -> Dict[str, Any]:
    names = module.namespace({})
    missing = missing_from(names)
    if missing is not None:
        raise no_module(missing)
    numbers = module.whole_numbers(names)
    unknown = next((name for name in given if name not in numbers), None)
    if unknown is not None:
        raise no_such_size(unknown, numbers)
    own = {**numbers, **given}
    sight = Sight(module, own)
    dimensions, expressions = dimensions_of(sight, own)
    quick = quick_sizes(sight, dimensions)
    scene = Scene(module, {**own, **quick})
    buffers = {name for name, _ in scene.model.named_buffers()}
    state = state_of(module, {**own, **quick}, scene)
    bears = {kind: bears_inputs(module, {**own, **quick}, scene, kind) for kind in ("normal", "positive")}
    return {
        "fixed": dict(given),
        "dimensions": [
            {"name": one.name, "value": one.value, "step": one.step, "minimum": one.minimum} for one in dimensions
        ],
        "quick": quick,
        "bears": bears,
        "reach": reach(module, dimensions, own),
        "inputs": [
            argument(i, name, one, scene.fillings[i], expressions)
            for i, (name, one) in enumerate(zip(argument_names(scene), scene.arguments))
        ],
        "tensors": [
            {
                **{**tensor(one, ("tensor", name), expressions), **spread(one)},
                **{"name": name, "isBuffer": name in buffers, "isState": name in state},
            }
            for name, one in named_tensors(scene.model)
        ],
        "results": [result(i, one, expressions) for i, one in enumerate(scene.results)],
    }


def reach(module: Module, dimensions: Sequence[Dimension], own: Sizes) -> Optional[str]:
    """How many elements of one input a result follows from: as long are its sums. None where gradients don't tell."""
    base = {one.name: one.minimum + one.step * (2 + i % 3) for i, one in enumerate(dimensions)}
    more = {one.name: one.step for one in dimensions}
    single = [{name: base[name] + count * more[name]} for name in base for count in (1, 2)]
    joint = [{name: base[name] + more[name] * ((i + 2 * k) % 4) for i, name in enumerate(base)} for k in range(4)]
    seen: List[Tuple[Sizes, int]] = []
    for changes in [{}, *single, *joint]:
        count = reached(module, {**own, **base, **changes})
        if count is None:
            return None
        seen.append(({**base, **changes}, count))
    return fitted(seen, list(base))


def reached(module: Module, sizes: Sizes) -> Optional[int]:
    """Of a few results, the largest number of an input's elements that one has a gradient in."""
    try:
        scene = Scene(module, sizes)
        arguments = [cloned(one).requires_grad_() if is_floating(one) else cloned(one) for one in scene.arguments]
        inputs = [one for one in arguments if is_floating(one)]
        counts = [0]
        for result in listed(scene.model(*arguments)):
            flat = result.reshape(-1) if is_floating(result) else []
            for at in sorted({0, len(flat) // 2, len(flat) - 1} if len(flat) > 0 else set()):
                found = torch().autograd.grad(flat[at], inputs, retain_graph=True, allow_unused=True)
                counts += [int((one != 0).sum()) for one in found if one is not None]
        return max(counts) or None
    except Exception:
        return None


def bears_inputs(module: Module, sizes: Sizes, scene: Scene, kind: str) -> bool:
    """Whether nearly all results are finite where all inputs and parameters are drawn so: a logarithm takes no zero-mean ones."""
    model = module.model(sizes)
    statistics = {name for name, _ in model.named_buffers()}
    for name, one in named_tensors(model):
        if is_floating(one):
            one.data = drawn(one, "positive" if name in statistics else kind)
    arguments = [drawn(one, kind) if is_floating(one) else cloned(one) for one in scene.arguments]
    try:
        with torch().no_grad():
            results = listed(model(*arguments))
    except Exception:
        return False
    return all(float(((one - one) == 0).double().mean()) >= FINITE for one in results if is_floating(one))


def drawn(like: Any, kind: str) -> Any:
    values = torch().randn(tuple(like.shape)).to(like.dtype)
    return values if kind == "normal" else (values**2) ** 0.5


def tensor(value: Any, place: Tuple[str, Any], expressions: Mapping[Place, str]) -> Dict[str, Any]:
    shape = [expressions[(*place, axis)] for axis in range(len(value.shape))]
    return {"shape": shape, "dtype": str(value.dtype).replace("torch.", "")}


def argument(
    i: int, name: str, value: Any, filling: Optional[Dict[str, Any]], expressions: Mapping[Place, str]
) -> Dict[str, Any]:
    if isinstance(value, (bool, int, float)):
        return {"name": name, "kind": "number", "value": float(value), "isWhole": not isinstance(value, float)}
    if not is_tensor(value):
        raise unsupported(f"get_inputs() returns a {type(value).__name__} for {name}")
    made = {**filling, "high": expressions[("bound", i, 0)]} if filling and filling["kind"] == "whole" else filling
    return {"name": name, "kind": "tensor", **tensor(value, ("input", i), expressions), "filling": made, **spread(value)}


def result(i: int, value: Any, expressions: Mapping[Place, str]) -> Dict[str, Any]:
    if not is_tensor(value):
        raise unsupported(f"the model returns a {type(value).__name__}")
    return tensor(value, ("result", i), expressions)


def spread(value: Any) -> Dict[str, Any]:
    """How its values lie: of one value, uniform or about normal."""
    numbers = value.detach().double()
    if numbers.numel() == 0:
        return {"spread": {"kind": "constant", "value": 0.0}}
    low, high, mean = float(numbers.min()), float(numbers.max()), float(numbers.mean())
    if low == high:
        return {"spread": {"kind": "constant", "value": low}}
    deviation = float(((numbers - mean) ** 2).mean()) ** 0.5
    if max(high - mean, mean - low) <= UNIFORM_SPREAD * deviation:
        return {"spread": {"kind": "uniform", "low": low, "high": high}}
    return {"spread": {"kind": "normal", "mean": mean, "standardDeviation": deviation}}


def argument_names(scene: Scene) -> List[str]:
    places = list(inspect.signature(type(scene.model).forward).parameters.values())[1:]
    named = [one.name for one in places if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)]
    return [named[i] if i < len(named) else f"input{i}" for i in range(len(scene.arguments))]


def state_of(module: Module, sizes: Mapping[str, int], scene: Scene) -> List[str]:
    """Buffers that a run changes. @raises Refused if equal inputs and parameters do not give equal results."""
    first, second = module.model(sizes), module.model(sizes, SEED + 1)
    before = {name: one.clone() for name, one in named_tensors(first)}
    for name, one in named_tensors(second):
        one.data = before[name].clone()
    results = []
    for seed, model in enumerate((first, second)):
        torch().manual_seed(seed)
        with torch().no_grad():
            results.append(listed(model(*[cloned(one) for one in scene.arguments])))
    for one, other in zip(*results):
        if is_tensor(one) and not bool(((one == other) | ((one != one) & (other != other))).all()):
            raise not_a_function()
    return [name for name, one in named_tensors(first) if not bool((one == before[name]).all())]


def no_module(missing: str) -> Refused:
    return Refused(
        "not-a-module",
        f"defines no {missing}",
        f"no {missing}",
        "a module of KernelBench: class Model, get_inputs() and get_init_inputs()",
        "Only definitions of FlashInfer Trace (JSON) and modules of KernelBench (Python) are imported.",
    )


def no_such_size(name: str, numbers: Mapping[str, int]) -> Refused:
    return Refused(
        "no-such-size",
        f"gives the name {name} to no whole number at its top",
        name,
        ", ".join(numbers) or "a whole number at the top of the module",
        "Sizes are the whole numbers that the module names outside of classes and functions.",
    )


def unsupported(message: str) -> Refused:
    return Refused(
        "unsupported-input",
        message,
        message.split(" a ")[-1],
        "tensors, and numbers as inputs",
        "Change the module so that it takes and returns tensors.",
    )


def not_a_function() -> Refused:
    return Refused(
        "not-a-function",
        "gives other results for the same inputs and parameters",
        "two runs with unlike seeds",
        "a model whose results follow from inputs, parameters and buffers, without dropout or random tensors in attributes",
        "Call self.eval() in its __init__, or make such tensors parameters.",
    )


def failure(error: BaseException) -> Dict[str, Any]:
    if isinstance(error, Refused):
        return error.fields
    if isinstance(error, ModuleNotFoundError):
        return {"code": "python-module-missing", "message": str(error), "received": error.name}
    if isinstance(error, MemoryError) or ALLOCATOR in str(error):
        return out_of_memory(error)
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == FILE]
    text = " ".join(str(error).split())
    received = f"{type(error).__name__}: {text}"
    place = {"line": lines[-1]} if lines else {}
    return {"code": "module-failed", "message": f"fails: {received}", "received": received, **place}


# PyTorch says by a RuntimeError that memory has run out.
ALLOCATOR = "DefaultCPUAllocator"


def out_of_memory(error: BaseException) -> Dict[str, Any]:
    needed = re.search(r"allocate (\d+) bytes", str(error))
    received = f"{int(needed[1]) / 2**30:.1f} GiB for one tensor" if needed else type(error).__name__
    library = sys.modules.get("torch")
    sees_without = hasattr(getattr(library, "device", None), "__enter__")
    newer = "" if sees_without else " PyTorch 2.0 and later show shapes without memory: sizes may then stay as they are."
    return {
        "code": "module-memory",
        "message": "needs too much memory",
        "received": received,
        "hint": f"Smaller sizes are said by --value, such as --value batch_size=16.{newer}",
    }


def main(memory_bytes: int, given: Dict[str, int]) -> None:
    end_with_parent()
    site.main()
    # What the module prints is no answer.
    answer = os.dup(1)
    os.dup2(2, 1)
    text = sys.stdin.buffer.read().decode("utf-8", "replace")
    confine(os.path.dirname(os.path.abspath(__file__)), memory_bytes)
    try:
        found = described(Module(FILE, text), given)
    except (Exception, SystemExit) as error:
        found = {"error": failure(error)}
    with os.fdopen(answer, "wb") as stream:
        stream.write(json.dumps(found).encode())


if __name__ == "__main__":
    main(int(sys.argv[1]), json.loads(sys.argv[2]))

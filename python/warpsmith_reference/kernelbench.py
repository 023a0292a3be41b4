"""A module of KernelBench (https://github.com/ScalingIntelligence/KernelBench): Model, get_inputs(), get_init_inputs()."""

import ast
from typing import Any, Callable, Dict, List, Mapping, Optional, Tuple

from .widen import narrowed

NEEDED = ("Model", "get_inputs", "get_init_inputs")
SEED = 0


# Longer ones are no shapes but lists, such as those of a model's layers.
LONGEST_SHAPE = 4
PLACED = "_with_sizes"


class Module:
    """The file, to be run with other numbers for the whole numbers that it names at its top, alone or in short tuples."""

    def __init__(self, file: str, text: Optional[str] = None) -> None:
        if text is None:
            with open(file, encoding="utf-8") as source:
                text = source.read()
        self.file = file
        self.tree = ast.parse(text, file)
        self._tops = [name for statement in self.tree.body for name in assigned(statement)]
        self._shapes = dict(place for statement in self.tree.body for place in places_in(statement, self._tops))

    def namespace(self, sizes: Mapping[str, int]) -> Dict[str, Any]:
        """What the file defines; each of `sizes` gets its number behind the statement that names it."""
        body: List[ast.stmt] = []
        for statement in self.tree.body:
            body.append(statement)
            for name in assigned(statement):
                if any(size == name or size.startswith(f"{name}_") for size in sizes):
                    body += ast.parse(f"{name} = {PLACED}({name!r}, {name})").body
        names: Dict[str, Any] = {"__name__": "kernelbench_module", "__file__": self.file}
        names[PLACED] = lambda name, value: self._with_sizes(name, value, sizes)
        exec(compile(ast.Module(body, []), self.file, "exec"), names)
        return names

    def whole_numbers(self, names: Mapping[str, Any]) -> Dict[str, int]:
        """The positive ones at the top of the file, by name; those of the tuple `shape` as shape_0, shape_1."""
        found = [place for name in self._tops for place in self._places(name, names.get(name))]
        return {name: value for name, value in found if type(value) is int and value > 0}

    def _places(self, name: str, value: Any) -> List[Tuple[str, Any]]:
        if type(value) not in (tuple, list):
            return [(name, value)]
        return [(place, one) for place, one in zip(self._shapes.get(name, []), value) if place is not None]

    def _with_sizes(self, name: str, value: Any, sizes: Mapping[str, int]) -> Any:
        if type(value) not in (tuple, list):
            return sizes.get(name, value)
        places = self._shapes.get(name, [None] * len(value))
        return type(value)(one if place is None else sizes.get(place, one) for place, one in zip(places, value))

    def model(self, sizes: Mapping[str, int], seed: int = SEED) -> Any:
        names = self.namespace(sizes)
        torch().manual_seed(seed)
        return names["Model"](*names["get_init_inputs"]())

    def run(
        self, sizes: Mapping[str, int], tensors: Mapping[str, Any], arguments: List[Any], single: bool = False
    ) -> List[Any]:
        """The results with these parameters and buffers, in float64. What the model keeps of a run is gone after it."""
        if not single:
            return self._results(sizes, tensors, arguments)
        with narrowed():
            rounded = {name: to_single(value) for name, value in tensors.items()}
            results = self._results(sizes, rounded, [to_single(one) for one in arguments])
            return [one.double() if is_floating(one) else one for one in results]

    def _results(self, sizes: Mapping[str, int], tensors: Mapping[str, Any], arguments: List[Any]) -> List[Any]:
        model = self.model(sizes)
        places = dict(named_tensors(model))
        for name, value in tensors.items():
            places[name].data = value.clone()
        with torch().no_grad():
            return listed(model(*[one.clone() if is_tensor(one) else one for one in arguments]))


def torch() -> Any:
    import torch as library

    return library


def is_tensor(value: Any) -> bool:
    return isinstance(value, torch().Tensor)


def is_floating(value: Any) -> bool:
    library = torch()
    return is_tensor(value) and value.dtype in (library.float64, library.float32, library.float16, library.bfloat16)


def to_single(value: Any) -> Any:
    return value.to(torch().float32) if is_floating(value) else value


def is_single(rounding: Callable[..., Any]) -> bool:
    """Whether this run is to compute in float32 all the way."""
    return bool(rounding(1 / 3, "single") != 1 / 3)


def listed(results: Any) -> List[Any]:
    return list(results) if isinstance(results, (tuple, list)) else [results]


def named_tensors(model: Any) -> List[Tuple[str, Any]]:
    return [*model.named_parameters(), *model.named_buffers()]


def assigned(statement: ast.stmt) -> List[str]:
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    if isinstance(statement, ast.AnnAssign) and statement.value is not None:
        targets = [statement.target]
    found = [node for target in targets for node in ast.walk(target)]
    return [node.id for node in found if isinstance(node, ast.Name)]


def places_in(statement: ast.stmt, tops: List[str]) -> List[Tuple[str, List[Optional[str]]]]:
    """Of `shape = (512, width)` that shape_0 is a number of its own, and what follows from another size is none."""
    value, names = getattr(statement, "value", None), assigned(statement)
    if not isinstance(value, (ast.Tuple, ast.List)) or len(names) != 1 or len(value.elts) > LONGEST_SHAPE:
        return []
    name = names[0]
    places = [name if len(value.elts) == 1 else f"{name}_{i}" for i in range(len(value.elts))]
    own = [place == name or place not in tops for place in places]
    return [(name, [place if free and is_constant(one) else None for place, free, one in zip(places, own, value.elts)])]


def is_constant(expression: ast.expr) -> bool:
    return not any(isinstance(node, (ast.Name, ast.Call, ast.Starred)) for node in ast.walk(expression))


def missing_from(names: Mapping[str, Any]) -> Optional[str]:
    return next((name for name in NEEDED if not callable(names.get(name))), None)

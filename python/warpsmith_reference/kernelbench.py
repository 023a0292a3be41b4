"""A module of KernelBench (https://github.com/ScalingIntelligence/KernelBench): Model, get_inputs(), get_init_inputs()."""

import ast
from typing import Any, Callable, Dict, List, Mapping, Optional, Tuple

from .widen import narrowed

NEEDED = ("Model", "get_inputs", "get_init_inputs")
SEED = 0


class Module:
    """The file, to be run with other numbers for the whole numbers that it names at its top."""

    def __init__(self, file: str, text: Optional[str] = None) -> None:
        if text is None:
            with open(file, encoding="utf-8") as source:
                text = source.read()
        self.file = file
        self.tree = ast.parse(text, file)

    def namespace(self, sizes: Mapping[str, int]) -> Dict[str, Any]:
        """What the file defines; each of `sizes` gets its number behind the statement that names it."""
        body: List[ast.stmt] = []
        for statement in self.tree.body:
            body.append(statement)
            for name in assigned(statement):
                if name in sizes:
                    body += ast.parse(f"{name} = {int(sizes[name])}").body
        names: Dict[str, Any] = {"__name__": "kernelbench_module", "__file__": self.file}
        exec(compile(ast.Module(body, []), self.file, "exec"), names)
        return names

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
    return is_tensor(value) and value.dtype in (torch().float64, torch().float32)


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


def whole_numbers(module: Module, names: Mapping[str, Any]) -> Dict[str, int]:
    """The positive whole numbers at the top of the file, by name."""
    tops = [name for statement in module.tree.body for name in assigned(statement)]
    found = {name: names.get(name) for name in tops}
    return {name: value for name, value in found.items() if type(value) is int and value > 0}


def missing_from(names: Mapping[str, Any]) -> Optional[str]:
    return next((name for name in NEEDED if not callable(names.get(name))), None)

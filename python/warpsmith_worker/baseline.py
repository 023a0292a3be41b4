"""The format of baseline.py: a function `baselines(dimensions)` that returns baselines by name."""

import importlib.util
import os
from dataclasses import dataclass
from typing import Any, Callable, Dict, Mapping, Optional

from .errors import WorkerError, describe_exception


class Unsupported(Exception):
    """Raised by `make` or by the callable where the library does not take this shape, dtype or device."""


@dataclass(frozen=True)
class Baseline:
    """One library call that computes the problem.

    make(torch, buffers, scalars, dimensions) returns a callable without arguments, bound to these tensors:
      buffers     every input and output by name, tensors of the declared shape, strides and dtype
      scalars     the problem's scalars by name, Python numbers
      dimensions  the workload's dimensions by name, integers
    Each call computes the outputs: it writes them into their buffers and returns None, or it returns them (one tensor;
    a tuple in the order of problem.json; or a dict by name) with exactly the declared shape and dtype. Everything it
    does on the device happens on the current stream, can be captured in a CUDA graph, and does not wait.
    supports(dimensions) returns None, or in words why these dimensions can't be had; asked before `make`.
    """

    title: str
    make: Callable[[Any, Mapping[str, Any], Mapping[str, float], Mapping[str, int]], Callable[[], Any]]
    supports: Optional[Callable[[Mapping[str, int]], Optional[str]]] = None


class BaselineFile:
    """A loaded baseline.py."""

    def __init__(self, path: str) -> None:
        self.path = path
        if not os.path.isfile(path):
            raise WorkerError("baseline-error", f"{path}: no such file")
        spec = importlib.util.spec_from_file_location("warpsmith_problem_baseline", path)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        try:
            spec.loader.exec_module(module)
        except Exception as error:
            raise WorkerError("baseline-error", f"{path} can't be loaded: {describe_exception(error, path)}") from error
        function = getattr(module, "baselines", None)
        if not callable(function):
            raise WorkerError("baseline-error", f"{path} has no function baselines(dimensions)")
        self._baselines = function

    def baselines(self, dimensions: Mapping[str, int]) -> Dict[str, Baseline]:
        """What the file offers for these dimensions."""
        try:
            found = self._baselines(dict(dimensions))
        except Exception as error:
            message = f"baselines(dimensions) in {self.path} failed: {describe_exception(error, self.path)}"
            raise WorkerError("baseline-error", message) from error
        if not isinstance(found, dict) or not all(
            isinstance(name, str) and isinstance(baseline, Baseline) for name, baseline in found.items()
        ):
            message = f"baselines(dimensions) in {self.path} must return a dict of name to warpsmith_worker.Baseline"
            raise WorkerError("baseline-error", f"{message}, not {type(found).__name__}")
        return found

    def baseline(self, name: str, dimensions: Mapping[str, int]) -> Baseline:
        found = self.baselines(dimensions)
        if name not in found:
            known = ", ".join(found) or "none"
            raise WorkerError("unknown-baseline", f"{self.path} has no baseline '{name}'; it has: {known}")
        return found[name]


def unsupported_reason(baseline: Baseline, dimensions: Mapping[str, int], path: str) -> Optional[str]:
    """Why the baseline does not take these dimensions, by its own account."""
    if baseline.supports is None:
        return None
    try:
        return baseline.supports(dict(dimensions))
    except Exception as error:
        raise WorkerError("baseline-error", f"supports failed: {describe_exception(error, path)}") from error

"""Loads a reference.py and runs it. Its mistakes are answers, as those of reference.ts are (src/core/call-reference.ts)."""

import importlib.util
import inspect
import os
import sys
import traceback
from typing import Any, Callable, Dict, List, Tuple

from .rounding import rounder_for
from .tensors import WrongOutput, input_of, output_of, rows_of

Answer = Tuple[Dict[str, Any], List[memoryview]]

RETURNS = "a dict with float64 values for every output, row-major"
PURE_HINT = "Work on a copy: own = inputs['X'].copy()."
FAILED_HINT = "Correct reference.py; the mistake is the problem’s, not a kernel’s."


class Fault(Exception):
    """A mistake of the reference. `message` goes on after "the reference of NAME"."""

    def __init__(self, code: str, message: str, expected: str, hint: str, **more: str) -> None:
        super().__init__(message)
        self.fields = {"code": code, "message": message, "expected": expected, "hint": hint, **more}


class Reference:
    def __init__(self, file: str, memory_bytes: int) -> None:
        self._file = file
        self._memory_bytes = memory_bytes
        self._module: Any = None

    def load(self) -> Answer:
        # Its own modules are found before those of the same name elsewhere.
        sys.path.insert(0, os.path.dirname(self._file))
        try:
            spec = importlib.util.spec_from_file_location("reference", self._file)
            assert spec is not None and spec.loader is not None
            module = importlib.util.module_from_spec(spec)
            sys.modules["reference"] = module
            spec.loader.exec_module(module)
        except BaseException as error:
            missing = error.name if isinstance(error, ModuleNotFoundError) else None
            answer = {"kind": "not-loaded", "name": type(error).__name__, "message": one_line(error)}
            stack = traceback.format_exc()
            return {**answer, "stack": stack, **({"missingModule": missing} if missing else {})}, []
        self._module = module
        exports = [name for name, value in vars(module).items() if callable(value) and not name.startswith("_")]
        return {"kind": "loaded", "exports": exports, "hasReference": callable(getattr(module, "reference", None))}, []

    def run(self, question: Dict[str, Any], payloads: List[bytearray]) -> Answer:
        try:
            names, results = self._run(question, payloads)
            return {"kind": "done", "names": names}, results
        except Fault as fault:
            return {"kind": "fault", "fault": fault.fields}, []
        except MemoryError:
            most = f"at most {self._memory_bytes // 2**20} MiB"
            hint = "Judge a smaller workload, or let the reference keep less at once."
            fields = {"code": "reference-memory", "message": "takes too much memory", "expected": most, "hint": hint}
            return {"kind": "fault", "fault": fields}, []

    def _run(self, question: Dict[str, Any], payloads: List[bytearray]) -> Tuple[List[str], List[memoryview]]:
        names, shapes = question["names"], question.get("shapes", {})
        rows_of_outputs = question.get("rowsOf")
        before = [bytes(payload) for payload in payloads]
        arguments = [{name: input_of(payload, shapes.get(name)) for name, payload in zip(names, payloads)}]
        arguments += [dict(question["dimensions"]), rounder_for(question["rounding"])]
        function = self._function(question)
        if function is getattr(self._module, "reference_rows", None):
            arguments += [{name: rows_of(rows) for name, rows in zip(rows_of_outputs, payloads[len(names) :])}]
            shapes = {}
        elif not takes_round(function):
            refuse_unrounded(question["rounding"])
            arguments.pop()
        elif getattr(function, "rounds_named_only", False) and "named" not in question["rounding"]:
            refuse_unrounded(question["rounding"])
        outputs = self._call(function, arguments, question["dimensions"])
        for name, payload, bytes_before in zip(names, payloads, before):
            if payload != bytes_before:
                raise changed_input(name)
        if not isinstance(outputs, dict):
            raise wrong_output(WrongOutput(type(outputs).__name__))
        try:
            return list(outputs), [output_of(name, value, shapes.get(name)) for name, value in outputs.items()]
        except WrongOutput as wrong:
            raise wrong_output(wrong) from None

    def _function(self, question: Dict[str, Any]) -> Callable[..., Any]:
        mistake = question.get("mistake")
        if mistake is not None:
            mistakes = getattr(self._module, "mistakes", {})
            if mistake not in mistakes:
                raise no_such_mistake(mistake, mistakes)
            return mistakes[mistake]
        rows = getattr(self._module, "reference_rows", None)
        if question.get("rowsOf") is not None and callable(rows):
            return rows
        return self._module.reference

    def _call(self, function: Callable[..., Any], arguments: List[Any], dimensions: Dict[str, int]) -> Any:
        try:
            return function(*arguments)
        except MemoryError:
            raise
        except BaseException as error:
            text = one_line(error)
            at = ", ".join(f"{name}={value}" for name, value in dimensions.items())
            raise Fault(
                "reference-failed",
                f"throws {text}",
                f"a function that returns {RETURNS}, for every shape that problem.json admits",
                FAILED_HINT,
                received=f"{text} for {at}",
                stack=traceback.format_exc(),
            ) from None


def one_line(error: BaseException) -> str:
    """As the last line of a traceback."""
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def takes_round(function: Callable[..., Any]) -> bool:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return True
    places = [one for one in parameters if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)]
    return len(places) >= 3 or any(one.kind == one.VAR_POSITIONAL for one in parameters)


def refuse_unrounded(rounding: Any) -> None:
    """A function without `round` rounds nothing; results that say otherwise would be wrong."""
    if rounding == "exact" or (isinstance(rounding, dict) and rounding.get("named") == {}):
        return
    raise Fault(
        "reference-rounds-nothing",
        "takes no `round`, so its intermediate results can't be rounded",
        "reference(inputs, dimensions, round)",
        "Take `round` as third parameter and call it on the results that problem.json names: round(weights, 'P').",
        received="reference(inputs, dimensions)",
    )


def changed_input(name: str) -> Fault:
    return Fault(
        "reference-changed-input",
        f"changes its input '{name}'",
        "a pure function of its inputs",
        PURE_HINT,
        received=f"other values in '{name}' after the call",
    )


def wrong_output(wrong: WrongOutput) -> Fault:
    expected = f"{RETURNS}: {wrong.expected}" if wrong.expected else RETURNS
    hint = "docs/reference/problem-json.md shows an example."
    return Fault("reference-output", f"returns {wrong.received}", expected, hint, received=wrong.received)


def no_such_mistake(mistake: str, mistakes: Dict[str, Any]) -> Fault:
    return Fault(
        "reference-failed",
        f"has no mistake '{mistake}', which problem.json names",
        f"mistakes = {{'{mistake}': lambda inputs, dimensions, round: …}}",
        "docs/reference/problem-json.md shows an example.",
        received=", ".join(mistakes) or "no mistakes",
    )

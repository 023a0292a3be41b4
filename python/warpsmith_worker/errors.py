"""Failures that are answered, not fatal."""

import traceback
from typing import Optional


class WorkerError(Exception):
    """A request that can't be met. `kind` is one of the words of KINDS; the message is for the user."""

    def __init__(self, kind: str, message: str) -> None:
        assert kind in KINDS, kind
        super().__init__(message)
        self.kind = kind


KINDS = (
    "bad-request",
    "missing-torch",
    "missing-gpu",
    "missing-tool",
    "unknown-baseline",
    "unsupported",
    "baseline-error",
    "out-of-memory",
    "gpu-error",
    "worker-error",
)


def describe_exception(error: BaseException, path: Optional[str] = None) -> str:
    """Type and text of an exception, with the last line of `path` it came through."""
    text = " ".join(str(error).split()) or "no message"
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == path]
    where = f" (line {lines[-1]})" if lines else ""
    return f"{type(error).__name__}: {text}{where}"

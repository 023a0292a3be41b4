"""Runs library baselines beside candidates: what a problem's baseline.py imports, and the worker that serves it.

Python 3.9 or later; nothing but the standard library is imported until a command needs PyTorch.
"""

from .baseline import Baseline, Unsupported

__all__ = ["Baseline", "Unsupported"]

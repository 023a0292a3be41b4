"""PyTorch's transpose as a copy: what a kernel is compared with."""

from warpsmith_worker import Baseline


def baselines(dimensions):
    return {"transpose": Baseline("x.t().contiguous()", make)}


def make(torch, buffers, scalars, dimensions):
    X, Y = buffers["X"], buffers["Y"]
    # What contiguous() does, into the buffer that is there.
    return lambda: Y.copy_(X.t())

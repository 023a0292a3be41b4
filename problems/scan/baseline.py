"""PyTorch's cumulative sum: what a kernel is compared with."""

from warpsmith_worker import Baseline


def baselines(dimensions):
    return {"torch-cumsum": Baseline("torch.cumsum", make)}


def make(torch, buffers, scalars, dimensions):
    x, y = buffers["x"], buffers["y"]
    # Sums of integers are int64 unless one says otherwise.
    return lambda: torch.cumsum(x, dim=0, dtype=torch.int32, out=y)

"""PyTorch's sum: what a kernel is compared with."""

from warpsmith_worker import Baseline


def baselines(dimensions):
    return {"torch-sum": Baseline("torch.sum", make)}


def make(torch, buffers, scalars, dimensions):
    x, y = buffers["x"], buffers["y"]
    # One element either way: reducing axis 0 and keeping it gives y's shape.
    return lambda: torch.sum(x, dim=0, keepdim=True, out=y)

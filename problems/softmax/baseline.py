"""PyTorch's softmax, and the formula step by step: what a kernel is compared with."""

from warpsmith_worker import Baseline


def baselines(dimensions):
    return {
        "torch-softmax": Baseline("torch.softmax", make_softmax),
        "max-exp-sum": Baseline("torch.amax, exp, sum and a division", make_steps),
    }


def make_softmax(torch, buffers, scalars, dimensions):
    x, y = buffers["X"], buffers["Y"]
    return lambda: torch.softmax(x, dim=-1, out=y)


def make_steps(torch, buffers, scalars, dimensions):
    """Every intermediate in device memory, as the formula is written without a library's softmax."""
    x, y = buffers["X"], buffers["Y"]

    def call():
        torch.sub(x, torch.amax(x, dim=-1, keepdim=True), out=y)
        y.exp_()
        y.div_(torch.sum(y, dim=-1, keepdim=True))

    return call

"""PyTorch's layer_norm, and the formula step by step: what a kernel is compared with."""

from warpsmith_worker import Baseline


def baselines(dimensions):
    return {
        "torch-layer-norm": Baseline("torch.nn.functional.layer_norm", make_layer_norm),
        "mean-variance-scale": Baseline("torch.var_mean, then the formula in fp32", make_steps),
    }


def make_layer_norm(torch, buffers, scalars, dimensions):
    x, gamma, beta = buffers["X"], buffers["gamma"], buffers["beta"]
    shape = (dimensions["N"],)
    return lambda: torch.nn.functional.layer_norm(x, shape, gamma, beta, scalars["eps"])


def make_steps(torch, buffers, scalars, dimensions):
    """Every intermediate in device memory, in fp32, as the formula is written without a library's layer_norm."""
    x, y = buffers["X"], buffers["Y"]
    gamma, beta = buffers["gamma"], buffers["beta"]

    def call():
        wide = x.float()
        variance, mean = torch.var_mean(wide, dim=-1, correction=0, keepdim=True)
        y.copy_((wide - mean) * torch.rsqrt(variance + scalars["eps"]) * gamma + beta)

    return call

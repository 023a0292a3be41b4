"""PyTorch's matrix product, which runs cuBLAS: what a kernel is compared with."""

from warpsmith_worker import Baseline


def baselines(dimensions):
    return {"matmul": Baseline("torch.matmul (cuBLAS), fp32 without TF32", make)}


def make(torch, buffers, scalars, dimensions):
    # TF32 keeps 10 of fp32's 23 bits of each factor: another product than the problem asks for.
    torch.backends.cuda.matmul.allow_tf32 = False
    A, B, C = buffers["A"], buffers["B"], buffers["C"]
    return lambda: torch.matmul(A, B, out=C)

"""PyTorch's matrix product, which runs cuBLAS: what a kernel is compared with."""

from warpsmith_worker import Baseline


def baselines(dimensions):
    return {"matmul": Baseline("torch.matmul (cuBLAS), sums in fp32", make)}


def make(torch, buffers, scalars, dimensions):
    # PyTorch lets cuBLAS split K and add the parts in fp16 unless told otherwise; the problem asks for fp32 sums.
    torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction = False
    A, B, C = buffers["A"], buffers["B"], buffers["C"]
    return lambda: torch.matmul(A, B, out=C)

"""PyTorch's matrix product, which runs cuBLAS: what a kernel is compared with."""

from warpsmith_worker import Baseline


def baselines(dimensions):
    return {"matmul": Baseline("torch.matmul (cuBLAS), sums in fp32, no TF32", make)}


def make(torch, buffers, scalars, dimensions):
    settings = torch.backends.cuda.matmul
    # TF32 keeps 10 of fp32's 23 bits of each factor: another product than the problem asks for.
    settings.allow_tf32 = False
    # PyTorch lets cuBLAS split K and add the parts in 16 bits unless told otherwise; the problem asks for fp32 sums.
    settings.allow_fp16_reduced_precision_reduction = False
    settings.allow_bf16_reduced_precision_reduction = False
    A, B, C = buffers["A"], buffers["B"], buffers["C"]
    return lambda: torch.matmul(A, B, out=C)

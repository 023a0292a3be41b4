"""PyTorch's histograms: what a kernel is compared with.

All of them want another dtype than bytes for the values, or return one: what a program would have to convert is part of the
call. torch.bincount is not among them: it asks the GPU for the largest value and waits for the answer, which no CUDA graph
can hold.
"""

from warpsmith_worker import Baseline


def baselines(dimensions):
    return {
        "torch-histc": Baseline("torch.histc", make_histc),
        "torch-index-add": Baseline("zero_ and index_add_ of ones", make_index_add()),
    }


def make_histc(torch, buffers, scalars, dimensions):
    bins = dimensions["BINS"]
    # Integer values from 0 to BINS in BINS bins of width one, counted in the values' dtype. Both ends are given, so PyTorch need not look for them.
    return lambda: torch.histc(buffers["x"].to(torch.int32), bins=bins, min=0, max=bins)


def make_index_add():
    shared = {}

    def make(torch, buffers, scalars, dimensions):
        x, counts = buffers["x"], buffers["counts"]
        if "ones" not in shared:
            shared["ones"] = torch.ones(1, dtype=counts.dtype, device=counts.device).expand(dimensions["N"])

        def call():
            counts.zero_()
            counts.index_add_(0, x.to(torch.int32), shared["ones"])

        return call

    return make

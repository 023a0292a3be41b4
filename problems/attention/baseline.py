"""PyTorch's attention, each of its backends pinned, and the three-step formula: what a kernel is compared with."""

from warpsmith_worker import Baseline, Unsupported


# What PyTorch says where the one backend allowed can't run.
REFUSALS = ("No available kernel", "No viable backend", "cuDNN Frontend error")


def baselines(dimensions):
    pinned = {
        "sdpa-flash": ("FlashAttention-2", "FLASH_ATTENTION"),
        "sdpa-efficient": ("memory-efficient attention", "EFFICIENT_ATTENTION"),
        "sdpa-cudnn": ("cuDNN attention", "CUDNN_ATTENTION"),
        "sdpa-math": ("math backend", "MATH"),
    }
    return {
        "sdpa": Baseline("PyTorch SDPA, its own choice of backend", make_default),
        **{
            name: Baseline(f"PyTorch SDPA, {what}", make_pinned(backend)) for name, (what, backend) in pinned.items()
        },
        "matmul-softmax-matmul": Baseline("torch.matmul, softmax, torch.matmul", three_steps()),
    }


def make_default(torch, buffers, scalars, dimensions):
    """SDPA as called by a program that asks for nothing in particular."""
    return lambda: attend(torch, buffers, scalars, dimensions)


def make_pinned(backend):
    """SDPA with one backend allowed: it raises where that one can't run, and never falls back."""

    def make(torch, buffers, scalars, dimensions):
        from torch.nn.attention import SDPBackend, sdpa_kernel

        allowed = getattr(SDPBackend, backend)

        def call():
            try:
                with sdpa_kernel(allowed):
                    return attend(torch, buffers, scalars, dimensions)
            except RuntimeError as error:
                if not any(words in str(error) for words in REFUSALS):
                    raise
                # PyTorch gives the reasons as warnings, which the worker adds.
                raise Unsupported(f"PyTorch has no {backend} kernel for this shape") from error

        return call

    return make


def attend(torch, buffers, scalars, dimensions):
    # is_causal masks key j of query i where j > i, top-left, as the problem does.
    return torch.nn.functional.scaled_dot_product_attention(
        buffers["Q"],
        buffers["K"],
        buffers["V"],
        is_causal=dimensions["causal"] == 1,
        scale=scalars["softmaxScale"],
    )


def three_steps():
    """Scores, softmax and weights in device memory between the steps, as the formula is written."""
    masks = []

    def make(torch, buffers, scalars, dimensions):
        queries, keys, values = buffers["Q"], buffers["K"], buffers["V"]
        if dimensions["causal"] == 1 and not masks:
            # Added before the softmax; made once, since no program would make it anew for every call.
            shape = (dimensions["S"], dimensions["S"])
            masks.append(torch.full(shape, float("-inf"), dtype=queries.dtype, device=queries.device).triu_(1))

        def call():
            scores = torch.matmul(queries, keys.transpose(-2, -1)).mul_(scalars["softmaxScale"])
            for mask in masks:
                scores.add_(mask)
            return torch.matmul(torch.softmax(scores, dim=-1), values)

        return call

    return make

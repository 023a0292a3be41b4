"""PyTorch's attention, each of its backends pinned, and the three-step formula: what a kernel is compared with."""

import importlib.util
import os

from warpsmith_worker import Baseline, Unsupported

# A shared library that registers torch.ops.flash_attn_3, as FlashAttention's own build leaves it (flash_attn_3/_C.*.so).
FA3_LIBRARY = "WARPSMITH_FA3"
FA3_PACKAGE = "flash_attn_3"

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
        **({"fa3": Baseline("FlashAttention-3", make_fa3())} if has_fa3() else {}),
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
    refuse_lse(dimensions)
    # is_causal masks key j of query i where j > i, top-left, as the problem does; PyTorch has an object for the other corner.
    mask = {"is_causal": dimensions["causal"] == 1}
    if dimensions["causal"] == 1 and dimensions["bottomRight"] == 1 and dimensions["S"] != dimensions["Skv"]:
        if dimensions["S"] > dimensions["Skv"]:
            raise Unsupported("queries that see no key become NaN")
        from torch.nn.attention.bias import causal_lower_right

        mask = {"attn_mask": causal_lower_right(dimensions["S"], dimensions["Skv"])}
    return torch.nn.functional.scaled_dot_product_attention(
        buffers["Q"],
        buffers["K"],
        buffers["V"],
        **mask,
        scale=scalars["softmaxScale"],
        **({} if dimensions["Hkv"] == dimensions["H"] else {"enable_gqa": True}),
    )


def refuse_lse(dimensions):
    if dimensions["lse"] == 1:
        raise Unsupported("it returns no logarithms of sums")


def has_fa3():
    """Whether somebody installed or built it; nothing is imported, and nothing tells here whether it loads."""
    return bool(os.environ.get(FA3_LIBRARY)) or importlib.util.find_spec(FA3_PACKAGE) is not None


def make_fa3():
    """FlashAttention-3's forward. It takes [B, S, H, D] with any strides: these views copy nothing."""
    loaded = []

    def make(torch, buffers, scalars, dimensions):
        if not loaded:
            loaded.append(load_fa3(torch))
        refuse_lse(dimensions)
        if dimensions["causal"] == 1 and not dimensions["bottomRight"] and dimensions["S"] != dimensions["Skv"]:
            raise Unsupported("FlashAttention-3: its causal mask is aligned with the bottom right corner")
        queries, keys, values, output = (buffers[name].transpose(1, 2) for name in ("Q", "K", "V", "O"))
        # One query leaves most SMs without work unless the keys are split: 0 lets it choose by its own rule.
        splits = 0 if dimensions["S"] == 1 else 1

        def call():
            try:
                loaded[0](
                    queries,
                    keys,
                    values,
                    out=output,
                    softmax_scale=scalars["softmaxScale"],
                    is_causal=dimensions["causal"] == 1,
                    num_splits=splits,
                )
            except RuntimeError as error:
                # A build may leave out head dimensions and dtypes; it says which.
                raise Unsupported(f"FlashAttention-3: {str(error).splitlines()[0]}") from error

        return call

    return make


def load_fa3(torch):
    path = os.environ.get(FA3_LIBRARY)
    try:
        if path:
            torch.ops.load_library(path)
        else:
            importlib.import_module(f"{FA3_PACKAGE}._C")
        return torch.ops.flash_attn_3.fwd
    except (AttributeError, ImportError, OSError) as error:
        where = f"{FA3_LIBRARY}={path}" if path else f"the package {FA3_PACKAGE}"
        raise Unsupported(f"{where} does not load: {error}") from error


def three_steps():
    """Scores, softmax and weights in device memory between the steps, as the formula is written."""
    masks = []

    def make(torch, buffers, scalars, dimensions):
        refuse_lse(dimensions)
        queries, keys, values = buffers["Q"], buffers["K"], buffers["V"]
        if dimensions["bottomRight"] == 1 and dimensions["S"] > dimensions["Skv"]:
            raise Unsupported("queries that see no key become NaN")
        if dimensions["causal"] == 1 and not masks:
            # Added before the softmax; made once, since no program would make it anew for every call.
            shape = (dimensions["S"], dimensions["Skv"])
            first = 1 + (dimensions["Skv"] - dimensions["S"] if dimensions["bottomRight"] == 1 else 0)
            masks.append(torch.full(shape, float("-inf"), dtype=queries.dtype, device=queries.device).triu_(first))
        # A group's queries become rows of one matrix, so that nothing of K and V is copied.
        heads, group = dimensions["Hkv"], dimensions["H"] // dimensions["Hkv"]
        if group > 1:
            if dimensions["causal"] == 1 and dimensions["S"] > 1:
                raise Unsupported("grouped heads and a mask would need a copy of K and V")
            queries = queries.reshape(dimensions["B"], heads, group * dimensions["S"], dimensions["D"])

        def call():
            scores = torch.matmul(queries, keys.transpose(-2, -1)).mul_(scalars["softmaxScale"])
            for mask in masks:
                scores.add_(mask)
            output = torch.matmul(torch.softmax(scores, dim=-1), values)
            return output.reshape(buffers["O"].shape) if group > 1 else output

        return call

    return make

"""Calls exported attention packages on a real GPU, beside PyTorch's own SDPA, and writes what it saw as JSON.

    python3 on_gpu.py FOLDER OUTPUT.json

FOLDER holds the package `attention_table`. Every check has a name, whether it passed, and figures. Exit code 1 if one failed.
"""
import json
import math
import sys
import threading
import time
import traceback

sys.path.insert(0, sys.argv[1])

import torch  # noqa: E402
import torch.nn.functional as F  # noqa: E402

import attention_table as package  # noqa: E402

attention = package.attention
HALF = torch.float16
checks = []


def check(name):
    """Runs a check at once; it returns (passed, figures)."""

    def run(function):
        start = time.perf_counter()
        try:
            passed, figures = function()
        except Exception as error:  # noqa: BLE001 - whatever it is, the others go on
            passed, figures = False, {"error": f"{type(error).__name__}: {error}"[:2000], "trace": traceback.format_exc()[-2000:]}
        checks.append({"name": name, "passed": bool(passed), "seconds": round(time.perf_counter() - start, 2), "figures": figures})
        return function

    return run


def draw(*shape, seed=1):
    generator = torch.Generator("cuda").manual_seed(seed)
    return torch.randn(*shape, generator=generator, device="cuda", dtype=torch.float32).to(HALF)


def inputs(B, H, S, D, Hkv=None, Skv=None, seed=1):
    Hkv, Skv = Hkv or H, Skv or S
    return draw(B, H, S, D, seed=seed), draw(B, Hkv, Skv, D, seed=seed + 1), draw(B, Hkv, Skv, D, seed=seed + 2)


def reference(Q, K, V, causal=False, bottom_right=False):
    """Attention in float64, and the logarithms of the sums."""
    group = Q.shape[1] // K.shape[1]
    Q, K, V = (tensor.double() for tensor in (Q, K.repeat_interleave(group, 1), V.repeat_interleave(group, 1)))
    scores = Q @ K.transpose(-1, -2) / math.sqrt(Q.shape[-1])
    if causal:
        shift = K.shape[2] - Q.shape[2] if bottom_right else 0
        rows = torch.arange(Q.shape[2], device="cuda")[:, None]
        scores.masked_fill_(torch.arange(K.shape[2], device="cuda")[None] > rows + shift, -math.inf)
    sums = torch.logsumexp(scores, -1, keepdim=True)
    return torch.nan_to_num(torch.exp(scores - sums)) @ V, sums


def sdpa(Q, K, V, causal=False):
    return F.scaled_dot_product_attention(Q, K, V, is_causal=causal, enable_gqa=Q.shape[1] != K.shape[1])


SHAPES = [
    dict(B=1, H=1, S=32, D=64), dict(B=1, H=1, S=128, D=64, causal=True), dict(B=1, H=1, S=512, D=64),
    dict(B=1, H=8, S=512, D=64), dict(B=1, H=8, S=512, D=64, causal=True), dict(B=4, H=8, S=128, D=64),
    dict(B=4, H=8, S=512, D=64), dict(B=2, H=16, S=1024, D=64), dict(B=1, H=4, S=4096, D=64, causal=True),
    dict(B=2, H=4, S=512, D=128), dict(B=1, H=4, S=2048, D=128, causal=True), dict(B=1, H=2, S=4096, D=128),
    dict(B=1, H=32, Hkv=8, S=1, Skv=8192, D=128), dict(B=1, H=8, S=1, Skv=4096, D=64), dict(B=4, H=32, Hkv=8, S=1, Skv=1000, D=128),
    dict(B=2, H=3, S=77, D=96), dict(B=1, H=2, S=130, D=32, causal=True), dict(B=2, H=6, Hkv=2, S=17, Skv=67, D=32),
]


@check("right on every shape, at most twice as far from float64 as SDPA")
def _():
    rows, passed = [], True
    for shape in SHAPES:
        causal = shape.get("causal", False)
        Q, K, V = inputs(*(shape[name] for name in "BHSD"), shape.get("Hkv"), shape.get("Skv"))
        ours, right = attention(Q, K, V, causal=causal), reference(Q, K, V, causal)[0]
        theirs = sdpa(Q, K, V, causal)
        error, bound = (ours.double() - right).abs().max().item(), (theirs.double() - right).abs().max().item()
        same = torch.equal(ours, attention(Q, K, V, causal=causal))
        fits = error <= 2 * bound + 2**-12 and same
        passed = passed and fits
        rows.append({**shape, "kernel": package.chosen(Q, K, V, causal=causal), "error": error, "sdpa": bound, "repeats": same})
    return passed, rows


@check("lse, bottom-right mask, heads inside positions")
def _():
    Q, K, V = inputs(2, 6, 17, 64, 2, 67)
    O, LSE = attention(Q, K, V, causal=True, bottomRight=True, lse=True)
    right, sums = reference(Q, K, V, True, True)
    Q2, K2 = draw(2, 35, 6, 64).transpose(1, 2), draw(2, 130, 2, 64, seed=2).transpose(1, 2)
    O2 = attention(Q2, K2, K2)
    dense = attention(Q2.contiguous(), K2.contiguous(), K2.contiguous())
    figures = {
        "O": (O.double() - right).abs().max().item(), "LSE": (LSE.double() - sums).abs().max().item(),
        "strides": list(O2.stride()), "same": (O2.double() - dense.double()).abs().max().item(),
    }
    return figures["O"] < 4e-3 and figures["LSE"] < 1e-4 and O2.stride() == Q2.stride() and figures["same"] < 1e-3, figures


@check("out=")
def _():
    Q, K, V = inputs(1, 8, 512, 64)
    out = torch.full_like(Q, math.nan)
    version = out._version
    returned = attention(Q, K, V, out=out)
    return returned is out and torch.equal(out, attention(Q, K, V)) and out._version > version, {}


@check("torch.library.opcheck")
def _():
    Q, K, V = inputs(1, 8, 512, 64)
    operator = torch.ops.attention_table.attention.default
    tests = ("test_schema", "test_faketensor", "test_aot_dispatch_static", "test_aot_dispatch_dynamic")
    seen = torch.library.opcheck(operator, (Q, K, V), test_utils=tests)
    into = torch.library.opcheck(
        torch.ops.attention_table.attention_out.default, (Q, K, V, torch.empty_like(Q), None), test_utils=tests
    )
    return all(text == "SUCCESS" for text in [*seen.values(), *into.values()]), {**seen, "out": into}


@check("torch.compile, fullgraph, sizes left open")
def _():
    from torch._dynamo.testing import CompileCounterWithBackend

    counter = CompileCounterWithBackend("inductor")
    compiled = torch.compile(lambda Q, K, V: attention(Q * 2, K, V).relu() + 1, fullgraph=True, backend=counter)
    same = []
    for S in (128, 256, 384, 512):
        Q, K, V = inputs(1, 8, S, 64)
        same.append((compiled(Q, K, V).float() - (attention(Q * 2, K, V).relu() + 1).float()).abs().max().item())
    return max(same) <= 1e-3 and counter.frame_count <= 2, {"differences": same, "compilations": counter.frame_count}


@check("torch.compile with CUDA graphs (reduce-overhead)")
def _():
    compiled = torch.compile(lambda Q, K, V: attention(Q + 0, K, V) * 2, fullgraph=True, mode="reduce-overhead")
    differences = []
    for S, D in ((512, 64), (1024, 128)):
        for seed in range(4):
            Q, K, V = inputs(2, 8, S, D, seed=seed)
            differences.append((compiled(Q, K, V).float() - (attention(Q, K, V) * 2).float()).abs().max().item())
    return max(differences) <= 1e-3, {"differences": differences}


GRAPH_SHAPES = {"kept workspace": (2, 16, 1024, 64), "small": (1, 8, 512, 64), "two steps": (1, 32, 1, 128, 8, 4096)}


@check("a CUDA graph, replayed with other inputs, beside eager calls on the same stream")
def _():
    figures = {}
    for name, shape in GRAPH_SHAPES.items():
        tensors = inputs(*shape)
        attention(*tensors)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            first = attention(*tensors)
            second = attention(*tensors)
        same = True
        for seed in range(5):
            fresh = inputs(*shape, seed=10 * seed)
            for tensor, values in zip(tensors, fresh):
                tensor.copy_(values)
            graph.replay()
            eager = attention(*fresh)
            same = same and torch.equal(first, eager) and torch.equal(second, eager)
        figures[name] = {"kernel": package.chosen(*tensors), "same": same}
    return all(row["same"] for row in figures.values()), figures


@check("a first call while a graph is captured")
def _():
    tensors = inputs(1, 5, 333, 64)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        captured = attention(*tensors)
    graph.replay()
    return torch.equal(captured, attention(*tensors)), {}


@check("two streams at once, eager and as graphs")
def _():
    figures = {}
    for name, shape in GRAPH_SHAPES.items():
        sets = [inputs(*shape, seed=seed) for seed in (1, 50)]
        right = [attention(*tensors) for tensors in sets]
        streams = [torch.cuda.Stream() for _ in sets]
        torch.cuda.synchronize()
        results = [[], []]
        for _ in range(50):
            for index, stream in enumerate(streams):
                with torch.cuda.stream(stream):
                    results[index].append(attention(*sets[index]))
        graphs, outputs = [], []
        torch.cuda.synchronize()
        for index, stream in enumerate(streams):
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph, stream=stream):
                outputs.append([attention(*sets[index]) for _ in range(20)])
            graphs.append(graph)
        torch.cuda.synchronize()
        for _ in range(10):
            for graph, stream in zip(graphs, streams):
                with torch.cuda.stream(stream):
                    graph.replay()
        torch.cuda.synchronize()
        same = all(torch.equal(result, right[index]) for index in (0, 1) for result in results[index] + outputs[index])
        figures[name] = {"kernel": package.chosen(*sets[0]), "same": same}
    return all(row["same"] for row in figures.values()), figures


@check("four threads at once, each on a stream of its own")
def _():
    sets = [inputs(1, 8, 256 + 64 * index, 64, seed=index) for index in range(4)]
    right = [attention(*tensors) for tensors in sets]
    torch.cuda.synchronize()
    wrong = []

    def work(index):
        try:
            with torch.cuda.stream(torch.cuda.Stream()):
                for _ in range(200):
                    result = attention(*sets[index])
                torch.cuda.current_stream().synchronize()
            if not torch.equal(result, right[index]):
                wrong.append(index)
        except Exception as error:  # noqa: BLE001
            wrong.append(f"{type(error).__name__}: {error}")

    threads = [threading.Thread(target=work, args=(index,)) for index in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return not wrong, {"wrong": wrong}


@check("errors say what was expected, and launch nothing")
def _():
    Q, K, V = inputs(1, 8, 512, 64)
    odd = torch.empty(8 * 512 * 64 + 1, dtype=HALF, device="cuda")[1:].view(1, 8, 512, 64)
    cases = {
        "dtype": (TypeError, "Q is torch.float32; expected torch.float16", lambda: attention(Q.float(), K, V)),
        "mixed dtype": (TypeError, "V is torch.bfloat16", lambda: attention(Q, K, V.bfloat16())),
        "device": (ValueError, "Q is on cpu; expected a CUDA device", lambda: attention(Q.cpu(), K.cpu(), V.cpu())),
        "mixed devices": (ValueError, "K is on cpu", lambda: attention(Q, K.cpu(), V)),
        "rank": (ValueError, "expected 4 axes", lambda: attention(Q, K[0], V)),
        "shape": (ValueError, "V has shape (1, 8, 100, 64); expected", lambda: attention(Q, K, V[:, :, :100].contiguous())),
        "strides": (ValueError, "expected strides", lambda: attention(Q[:, :, :100], K, V)),
        "alignment": (ValueError, "multiple of 2 bytes; expected one of 16", lambda: attention(odd, K, V)),
        "dimension": (ValueError, "D is 48; expected one of", lambda: attention(*inputs(1, 1, 32, 48))),
        "no kernel": (ValueError, "does not take this call: constraints", lambda: attention(*inputs(1, 2, 130, 256))),
        "limit": (ValueError, "causal || !bottomRight does not hold", lambda: attention(Q, K, V, bottomRight=True)),
        "gradient": (RuntimeError, "has no gradient", lambda: attention(Q.clone().requires_grad_(), K, V)),
        "out": (ValueError, "out: O has shape", lambda: attention(Q, K, V, out=Q[:, :4].contiguous())),
        "a word": (TypeError, "unexpected keyword", lambda: attention(Q, K, V, casual=True)),
    }
    figures, passed = {}, True
    for name, (kind, text, call) in cases.items():
        try:
            call()
            figures[name] = "nothing was raised"
        except Exception as error:  # noqa: BLE001
            figures[name] = f"{type(error).__name__}: {error}"
            passed = passed and isinstance(error, kind) and text in str(error)
            continue
        passed = False
    torch.cuda.synchronize()
    return passed and torch.equal(attention(Q, K, V), attention(Q, K, V)), figures


@check("no memory is lost")
def _():
    tensors = inputs(2, 16, 1024, 64)
    attention(*tensors)
    torch.cuda.synchronize()
    before = torch.cuda.memory_allocated()
    for _ in range(1000):
        attention(*tensors)
    torch.cuda.synchronize()
    return torch.cuda.memory_allocated() == before, {"bytes": torch.cuda.memory_allocated() - before}


@check("every device")
def _():
    count = torch.cuda.device_count()
    right = attention(*inputs(1, 8, 512, 64)).cpu()
    same = [torch.equal(attention(*(t.to(f"cuda:{i}") for t in inputs(1, 8, 512, 64))).cpu(), right) for i in range(count)]
    return all(same), {"devices": count}


def host_us(call, count=300):
    """Host time of a call in microseconds: the least of several rows of calls, with an idle GPU before each."""
    for _ in range(20):
        call()
    best = math.inf
    for _ in range(7):
        torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(count):
            call()
        best = min(best, (time.perf_counter() - start) / count * 1e6)
    return round(best, 2)


def device_us(call, count=50):
    """Device time of a call in microseconds, in a graph of `count` calls; the least of several replays."""
    for _ in range(3):
        call()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(count):
            call()
    best = math.inf
    for _ in range(8):
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        graph.replay()
        end.record()
        end.synchronize()
        best = min(best, start.elapsed_time(end) * 1000 / count)
    return round(best, 2)


@check("host time of a call (figures only)")
def _():
    from attention_table import _op

    figures = {}
    with torch.no_grad():
        empty = torch.library.Library("attention_on_gpu", "DEF")
        empty.define("nothing(Tensor Q, Tensor K, Tensor V, int causal=0, int lse=0) -> Tensor[]")
        empty.impl("nothing", lambda *values: [], "CUDA")
        nothing = torch.ops.attention_on_gpu.nothing.default
        for name, shape in {"one launch": (1, 1, 32, 64), **GRAPH_SHAPES}.items():
            Q, K, V = inputs(*shape)
            out = torch.empty_like(Q)
            figures[name] = {
                "kernel": package.chosen(Q, K, V),
                "call": host_us(lambda: attention(Q, K, V)),
                "call with out": host_us(lambda: attention(Q, K, V, out=out)),
                "below the dispatcher": host_us(lambda: _op._run(Q, K, V)),
                "dispatch of an empty operator": host_us(lambda: nothing(Q, K, V, 0, 0)),
                "SDPA": host_us(lambda: sdpa(Q, K, V)),
                "device": device_us(lambda: attention(Q, K, V)),
                "SDPA device": device_us(lambda: sdpa(Q, K, V)),
            }
        lengths = iter(range(1000, 100_000))
        Q, K, V = inputs(1, 32, 1, 128, 8, 8192)
        figures["a shape seen for the first time"] = host_us(lambda: attention(Q, *[draw(1, 8, next(lengths), 128)] * 2), 30)
    return True, figures


def draw_shape(length):
    return torch.empty(1, 8, length, 128, dtype=HALF, device="cuda")


report = {
    "device": torch.cuda.get_device_name(0), "torch": torch.__version__, "cuda": torch.version.cuda,
    "python": sys.version.split()[0], "date": time.strftime("%Y-%m-%d", time.gmtime()), "checks": checks,
    "failed": [one["name"] for one in checks if not one["passed"]],
}
with open(sys.argv[2], "w") as file:
    json.dump(report, file, indent=1)
for one in checks:
    print("passed" if one["passed"] else "FAILED", f"{one['seconds']:6.2f} s", one["name"])
sys.exit(1 if report["failed"] else 0)

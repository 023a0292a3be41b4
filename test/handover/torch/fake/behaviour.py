"""What a package of attention kernels does beside launching, on a fake PyTorch and a fake driver.

Standard input: {"folder", "argumentBytes", "dimensions": [[...]]}; prints JSON that torch-behaviour.test.ts looks at.
"""
import importlib
import json
import sys
import threading

import torch

from fake_driver import OUT_OF_MEMORY, FakeDriver

request = json.load(sys.stdin)
sys.path.insert(0, request["folder"])
package = importlib.import_module("table")
operator = importlib.import_module("table._op").OPERATOR
Driver = importlib.import_module("table._driver").Driver
fake = FakeDriver(request["argumentBytes"], sm_count=132, shared_bytes=232_448)
operator._open_driver = lambda: Driver(fake)
answers = {}


def tensor(*shape, where="cuda:0", dtype=torch.float16, **options):
    return torch.Tensor(shape, torch._dense(shape), dtype, torch.device(where), **options)


def attention(B=2, H=16, S=1024, D=64, where="cuda:0", **options):
    return package.attention(*[tensor(B, H, S, D, where=where) for _ in range(3)], **options)


def launches():
    events = [event for event in fake.events if "launch" in event]
    fake.events.clear()
    return events


def error(call):
    try:
        call()
    except Exception as raised:
        return f"{type(raised).__name__}: {raised}"
    return "nothing"


# Dispatch by shape.
answers["chosen"] = [operator.choose(tuple(dimensions), 0)[0] for dimensions in request["dimensions"]]

# What a kernel keeps: one piece for each stream, and for each captured call.
KEPT = 4
kept = []
for stream, capturing in ((0, False), (0, False), (5, False), (0, True), (0, True), (0, False)):
    torch._state.stream, torch._state.capturing = stream, capturing
    attention()
    (event,) = launches()
    kept.append({"at": event["arguments"][KEPT], "stream": event["stream"]})
torch._state.stream, torch._state.capturing = 0, False
answers["kept"] = kept

# The same tensors again: nothing is encoded or written anew; other ones: their addresses.
maps = fake.maps
same = [tensor(2, 16, 1024, 64) for _ in range(3)]
for _ in range(3):
    package.attention(*same)
answers["mapsOfOneCall"] = fake.maps - maps
maps = fake.maps
package.attention(same[1], same[0], same[2])
answers["mapsOfOthers"] = fake.maps - maps
launches()

# Workspaces of a call are its own.
for _ in range(2):
    package.attention(tensor(1, 32, 1, 128), *[tensor(1, 8, 8192, 128)] * 2)
answers["workspaces"] = [event["arguments"][3] for event in launches() if event["launch"].startswith("_split")]

# Another device: its own module, and current while the launch is made.
loads = fake.loads
on_other = attention(where="cuda:1")
answers["otherDevice"] = {"loads": fake.loads - loads, "result": str(on_other.device), "current": torch.cuda.current_device()}
attention(where="cuda:1")
answers["loadedAgain"] = fake.loads - loads - answers["otherDevice"]["loads"]
launches()

# Threads have prepared calls of their own.
counts = []


def count():
    attention()
    counts.append(len(operator.calls))


threads = [threading.Thread(target=count) for _ in range(2)]
for thread in threads:
    thread.start()
    thread.join()
answers["threads"] = counts
launches()

# out=: the caller's tensor, whose version moves on.
out = tensor(2, 16, 1024, 64)
answers["out"] = {"same": attention(out=out) is out, "version": out.version}
launches()

# A launch that fails, and the next one.
fake.fail_launches = OUT_OF_MEMORY
answers["failure"] = error(attention)
fake.fail_launches = 0
attention()
answers["afterFailure"] = len(launches())

before = len(fake.events)
Q, K, V = (tensor(1, 8, 512, 64) for _ in range(3))
odd = torch.Tensor(Q.shape, Q.stride(), Q.dtype, Q.device, address=(1 << 41) + 2)
answers["errors"] = {
    "dtype": error(lambda: package.attention(tensor(1, 8, 512, 64, dtype=torch.float32), K, V)),
    "cpu": error(lambda: package.attention(*[tensor(1, 8, 512, 64, where="cpu")] * 3)),
    "devices": error(lambda: package.attention(Q, tensor(1, 8, 512, 64, where="cuda:1"), V)),
    "rank": error(lambda: package.attention(Q, tensor(8, 512, 64), V)),
    "shape": error(lambda: package.attention(Q, K, tensor(1, 8, 100, 64))),
    "strides": error(lambda: package.attention(torch.Tensor((1, 8, 100, 64), Q.stride(), Q.dtype, Q.device), K, V)),
    "layouts": error(
        lambda: package.attention(Q, K, torch.Tensor((1, 8, 512, 64), (262144, 64, 512, 1), Q.dtype, Q.device))
    ),
    "told": error(lambda: package.attention(Q, K, V, bshd=True)),
    "alignment": error(lambda: package.attention(odd, K, V)),
    "value": error(lambda: package.attention(Q, K, V, causal=2)),
    "head": error(lambda: package.attention(*[tensor(1, 1, 32, 48)] * 3)),
    "limit": error(lambda: package.attention(Q, K, V, bottomRight=True)),
    "kernel": error(lambda: package.attention(*[tensor(1, 2, 64, 256)] * 3)),
    "gradient": error(lambda: package.attention(tensor(1, 8, 512, 64, requires_grad=True), K, V)),
    "outShape": error(lambda: package.attention(Q, K, V, out=tensor(1, 8, 512, 32))),
    "outDtype": error(lambda: package.attention(Q, K, V, out=tensor(1, 8, 512, 64, dtype=torch.float32))),
    "outMany": error(lambda: package.attention(Q, K, V, out=(Q, K, V))),
    "outUnwanted": error(lambda: package.attention(Q, K, V, out=(tensor(1, 8, 512, 64), tensor(1, 8, 512, 1)))),
}
answers["launchedByErrors"] = len(fake.events) - before

# A layout that the strides tell, and the tracing of shapes.
swapped = torch.Tensor((2, 3, 35, 64), (35 * 3 * 64, 64, 3 * 64, 1), Q.dtype, Q.device)
answers["told"] = package.attention(swapped, swapped, swapped).stride()
launches()
traced = package.attention(*[tensor(1, 8, 512, 64, where="meta")] * 3, lse=True)
answers["traced"] = [[made.shape, made.dtype.name, made.device.type] for made in traced]
answers["launchedByTracing"] = len(launches())
answers["schema"] = [torch.ops.table.attention.schema, torch.ops.table.attention_out.schema]

# Machine code: the best that fits, or none.
kernels = {kernel.name: kernel for kernel in operator.kernels}
answers["architectures"] = {
    f"{major}.{minor}": [kernels[name].architecture_for((major, minor)) for name in ("09_lean", "11_sums_first")]
    for major, minor in ((7, 5), (8, 0), (8, 9), (9, 0), (10, 0))
}
old = FakeDriver(request["argumentBytes"], capability=(7, 5))
operator._devices.clear()
operator._driver = Driver(old)
operator._local.calls = {}
answers["noCode"] = error(attention)

json.dump(answers, sys.stdout)

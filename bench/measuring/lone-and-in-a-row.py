"""How one cuDNN attention call times alone and in an unbroken row, with the board's clock and power beside it.

    python3 bench/measuring/lone-and-in-a-row.py docs/results/h200-lone-and-in-a-row.json

Needs PyTorch with CUDA and nvidia-smi. Each row replays one captured call for 2.5 s; the board is read every 20 ms, the
first 0.3 s left out.
"""

import json
import statistics
import subprocess
import sys
import threading
import time

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

SHAPE = (4, 16, 4096, 128)
ROWS = ((1, 0.004), (5, 0.004), (20, 0.004), (20, 0), (100, 0))
SECONDS = 2.5
SETTLING_SECONDS = 0.3
QUERY = "clocks.sm,power.draw,clocks_event_reasons.sw_power_cap"


class Board:
    """Clock (MHz), power (W) and power cap of the GPU, read beside what runs."""

    def __init__(self) -> None:
        self.samples: list[tuple[float, float, float, bool]] = []
        command = ["nvidia-smi", f"--query-gpu={QUERY}", "--format=csv,noheader,nounits", "-lms", "20"]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        threading.Thread(target=self.read, daemon=True).start()

    def read(self) -> None:
        for line in self.process.stdout:
            clock, power, capped = (field.strip() for field in line.split(","))
            self.samples.append((time.time(), float(clock), float(power), capped == "Active"))

    def between(self, begin: float, end: float) -> dict:
        seen = [sample for sample in self.samples if begin <= sample[0] <= end]
        return {
            "smClockMhz": statistics.median(sample[1] for sample in seen),
            "powerW": statistics.median(sample[2] for sample in seen),
            "maximumPowerW": max(sample[2] for sample in seen),
            "powerCappedShare": sum(sample[3] for sample in seen) / len(seen),
            "samples": len(seen),
        }


def captured(is_causal: bool) -> torch.cuda.CUDAGraph:
    query, key, value = (torch.randn(*SHAPE, device="cuda", dtype=torch.float16) for _ in range(3))

    def call() -> torch.Tensor:
        with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
            return torch.nn.functional.scaled_dot_product_attention(query, key, value, is_causal=is_causal)

    for _ in range(5):
        call()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        call()
    return graph


def timed(graph: torch.cuda.CUDAGraph, board: Board, calls: int, pause: float) -> dict:
    times_ns: list[float] = []
    begin = time.time()
    while time.time() - begin < SECONDS:
        first, last = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        first.record()
        for _ in range(calls):
            graph.replay()
        last.record()
        last.synchronize()
        times_ns.append(first.elapsed_time(last) / calls * 1e6)
        if pause:
            time.sleep(pause)
    times_ns.sort()
    count = len(times_ns)
    return {
        "callsInARow": calls,
        "pauseMs": pause * 1e3,
        "medianNs": times_ns[count // 2],
        "p5Ns": times_ns[count // 20],
        "p95Ns": times_ns[count - 1 - count // 20],
        "sampleCount": count,
        "board": board.between(begin + SETTLING_SECONDS, time.time()),
    }


def main(output: str) -> None:
    board = Board()
    time.sleep(0.5)
    batch, heads, length, width = SHAPE
    rows = []
    for is_causal in (False, True):
        graph = captured(is_causal)
        flop = 4 * batch * heads * length * length * width / (2 if is_causal else 1)
        workload = f"b{batch}h{heads}s{length}d{width}{'-causal' if is_causal else ''}"
        for calls, pause in ROWS:
            row = timed(graph, board, calls, pause)
            rows.append({**row, "workload": workload, "baseline": "sdpa-cudnn", "flopPerSecond": flop / row["medianNs"] * 1e9})
    board.process.terminate()
    recording = {
        "schemaVersion": 1,
        "kind": "lone-and-in-a-row",
        "device": torch.cuda.get_device_name(0),
        "torch": torch.__version__,
        "cudnn": torch.backends.cudnn.version(),
        "rows": rows,
    }
    with open(output, "w", encoding="utf-8") as file:
        json.dump(recording, file, indent=2)
        file.write("\n")


main(sys.argv[1])

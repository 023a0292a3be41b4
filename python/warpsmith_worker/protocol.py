"""Messages between warpsmith and this worker: one line of JSON, then as many raw bytes as its `payloadBytes` add up to.

Standard output carries only answers: whatever else prints goes to standard error.
"""

import json
import os
import queue
import sys
import threading
from typing import Any, BinaryIO, Dict, List, Sequence, Tuple

Header = Dict[str, Any]
Payload = bytearray


class Channel:
    """The two ends of the pipe. Reads in a thread of its own, so that the worker ends with its parent even while a call hangs."""

    def __init__(self) -> None:
        self._input, self._output = _take_standard_streams()
        self._received: "queue.Queue[Tuple[Header, List[Payload]]]" = queue.Queue()
        threading.Thread(target=self._read_all, name="requests", daemon=True).start()

    def receive(self) -> Tuple[Header, List[Payload]]:
        return self._received.get()

    def send(self, header: Header, payloads: Sequence[Any] = ()) -> None:
        if payloads:
            header = {**header, "payloadBytes": [len(payload) for payload in payloads]}
        # NaN and infinity are not JSON.
        self._output.write(json.dumps(header, allow_nan=False).encode() + b"\n")
        for payload in payloads:
            self._output.write(payload)
        self._output.flush()

    def _read_all(self) -> None:
        try:
            while True:
                line = self._input.readline()
                if not line:
                    break
                header = json.loads(line)
                payloads = [self._read_exactly(size) for size in header.get("payloadBytes", [])]
                self._received.put((header, payloads))
        except Exception as error:  # A broken request can't be answered: nobody knows where the next one starts.
            print(f"the request can't be read: {error}", file=sys.stderr, flush=True)
            os._exit(65)
        os._exit(0)

    def _read_exactly(self, size: int) -> Payload:
        payload = bytearray(size)
        view, filled = memoryview(payload), 0
        while filled < size:
            count = self._input.readinto(view[filled:])  # type: ignore[attr-defined]
            if not count:
                raise EOFError("the payload ends early")
            filled += count
        return payload


def _take_standard_streams() -> Tuple[BinaryIO, BinaryIO]:
    """Standard input and output for this protocol alone; prints of libraries, from C as well, go to standard error."""
    channel_in = os.fdopen(os.dup(0), "rb", buffering=1 << 20)
    channel_out = os.fdopen(os.dup(1), "wb", buffering=1 << 20)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    return channel_in, channel_out

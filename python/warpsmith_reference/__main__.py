"""python3 -s -S -B warpsmith_reference/__main__.py FILE MEMORY_BYTES: serves runs of the reference until standard input ends."""

import os
import site
import sys

sys.path[0] = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

from warpsmith_reference.confine import confine  # noqa: E402
from warpsmith_reference.reference import Reference  # noqa: E402
from warpsmith_worker.lifetime import end_with_parent  # noqa: E402
from warpsmith_worker.protocol import Channel  # noqa: E402


def main(file: str, memory_bytes: int) -> None:
    end_with_parent()
    # -S left it out: packages of this Python and of its virtual environment, none of the user's own.
    site.main()
    # Before the first thread: what a thread may do, those before it don't know.
    confine(os.path.dirname(file), memory_bytes)
    channel = Channel()
    reference = Reference(file, memory_bytes)
    while True:
        question, payloads = channel.receive()
        answer, results = reference.load() if question["command"] == "load" else reference.run(question, payloads)
        channel.send(answer, results)


main(sys.argv[1], int(sys.argv[2]))

"""python3 -m warpsmith_worker [--backend FILE]: serves requests until standard input ends."""

import sys

from .backend import load_backend
from .lifetime import end_with_parent
from .protocol import Channel
from .worker import Worker


def main(arguments: "list[str]") -> int:
    if sys.version_info < (3, 9):
        print(f"Python 3.9 or later is needed, this is {sys.version.split()[0]}", file=sys.stderr)
        return 69
    backend_file = arguments[1] if len(arguments) == 2 and arguments[0] == "--backend" else None
    if arguments and backend_file is None:
        print("usage: python3 -m warpsmith_worker [--backend FILE]", file=sys.stderr)
        return 64
    end_with_parent()
    channel = Channel()
    Worker(load_backend(backend_file)).serve(channel)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

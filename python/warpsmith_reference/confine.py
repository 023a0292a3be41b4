"""Takes from this process all but computing. What the kernel enforces comes first; a fence inside Python catches the rest, with better words.

Each measure is taken where the system has it, and can't be taken back. None of them needs rights.
"""

import ctypes
import os
import resource
import struct
import sys
import tempfile
from typing import Any, List, Tuple


def confine(folder: str, memory_bytes: int) -> None:
    """Leaves reading of Python itself, its packages and `folder`; no writing, network, other processes, or more memory."""
    limit_resources(memory_bytes)
    # Libraries ask where temporary files and caches go while they load, and fail if there is no such folder. Nothing is written there.
    tempfile.tempdir = os.environ["TORCHINDUCTOR_CACHE_DIR"] = folder
    if sys.platform.startswith("linux"):
        libc = ctypes.CDLL(None, use_errno=True)
        libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
        restrict_files(libc, readable(folder))
        filter_calls(libc)
    sys.addaudithook(Fence(readable(folder)))


def limit_resources(memory_bytes: int) -> None:
    for limit, value in (
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_DATA, memory_bytes),
    ):
        _, hard = resource.getrlimit(limit)
        most = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(limit, (most, most))


def readable(folder: str) -> List[str]:
    """What importing and computing needs."""
    own = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    python = [sys.prefix, sys.base_prefix, sys.exec_prefix, sys.base_exec_prefix, *sys.path]
    libraries = ["/usr", "/lib", "/lib64", "/etc/ld.so.cache"]
    # Libraries of numbers look at the processor.
    machine = ["/proc/self", "/proc/cpuinfo", "/proc/meminfo", "/proc/stat", "/sys/devices/system"]
    devices = ["/dev/null", "/dev/zero", "/dev/urandom"]
    paths = [own, folder, *python, *libraries, *machine, *devices]
    return sorted({path for path in paths if path and path != "/" and os.path.exists(path)})


# Landlock, from Linux 5.13. Source: linux/landlock.h; the numbers of its calls are the same on every architecture.
LANDLOCK_CREATE_RULESET, LANDLOCK_ADD_RULE, LANDLOCK_RESTRICT_SELF = 444, 445, 446
VERSION_OF_LANDLOCK = 1
RULE_PATH_BENEATH = 1
READ_FILE, READ_DIR = 1 << 2, 1 << 3
# Bits that each version added, counted from version 1: rename across folders, truncate, (network,) control of devices.
FILE_RIGHTS = {1: 13, 2: 14, 3: 15, 4: 15, 5: 16}
NETWORK_FROM, SCOPES_FROM = 4, 6
PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 38, 22, 2


def restrict_files(libc: Any, paths: List[str]) -> bool:
    version = libc.syscall(LANDLOCK_CREATE_RULESET, None, 0, VERSION_OF_LANDLOCK)
    if version < 1:
        return False
    rights = (1 << FILE_RIGHTS[min(version, 5)]) - 1
    rules = struct.pack("Q", rights)
    if version >= NETWORK_FROM:
        rules += struct.pack("Q", 0b11)
    if version >= SCOPES_FROM:
        rules += struct.pack("Q", 0b11)
    ruleset = libc.syscall(LANDLOCK_CREATE_RULESET, rules, len(rules), 0)
    if ruleset < 0:
        return False
    for path in paths:
        try:
            place = os.open(path, os.O_PATH | os.O_CLOEXEC)
        except OSError:
            continue
        access = READ_FILE | READ_DIR if os.path.isdir(path) else READ_FILE
        libc.syscall(LANDLOCK_ADD_RULE, ruleset, RULE_PATH_BENEATH, struct.pack("=Qi", access, place), 0)
        os.close(place)
    done = libc.syscall(LANDLOCK_RESTRICT_SELF, ruleset, 0)
    os.close(ruleset)
    return done == 0


# Seccomp, on x86-64. Sources: linux/filter.h, linux/seccomp.h, asm/unistd_64.h.
LOAD, EQUAL, AT_LEAST, ANY_BIT, RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
ALLOW, ERROR = 0x7FFF0000, 0x00050000
EPERM, ENOSYS = 1, 38
NUMBER, ARCHITECTURE, FIRST_ARGUMENT = 0, 4, 16
X86_64, X32 = 0xC000003E, 0x40000000
CLONE_THREAD = 0x10000
CLONE, CLONE3, KILL, TGKILL = 56, 435, 62, 234
REFUSED = {
    "socket": 41,
    "connect": 42,
    "bind": 49,
    "socketpair": 53,
    "fork": 57,
    "vfork": 58,
    "execve": 59,
    "execveat": 322,
    "tkill": 200,
    "pidfd_open": 434,
    "pidfd_send_signal": 424,
    "ptrace": 101,
    "process_vm_readv": 310,
    "process_vm_writev": 311,
    "shmget": 29,
    "msgget": 68,
    "semget": 64,
    "mq_open": 240,
    "unshare": 272,
    "setns": 308,
    "mount": 165,
    "add_key": 248,
    "request_key": 249,
    "keyctl": 250,
    "bpf": 321,
    "userfaultfd": 323,
    "perf_event_open": 298,
    "io_uring_setup": 425,
}

Instruction = Tuple[int, int, int, int]


def filter_calls(libc: Any) -> bool:
    """No sockets, no other programs or processes, no signals to others; threads stay."""
    if os.uname().machine != "x86_64" or sys.maxsize < 2**32:
        return False
    refuse = (RETURN, 0, 0, ERROR | EPERM)

    def only_if(number: int, test: Instruction) -> List[Instruction]:
        return [(EQUAL, 0, 4, number), (LOAD, 0, 0, FIRST_ARGUMENT), test, (RETURN, 0, 0, ALLOW), refuse]

    program: List[Instruction] = [(LOAD, 0, 0, ARCHITECTURE), (EQUAL, 1, 0, X86_64), refuse]
    program += [(LOAD, 0, 0, NUMBER), (AT_LEAST, 0, 1, X32), refuse]
    for number in REFUSED.values():
        program += [(EQUAL, 0, 1, number), refuse]
    # glibc then makes threads with `clone`, whose flags a filter can see.
    program += [(EQUAL, 0, 1, CLONE3), (RETURN, 0, 0, ERROR | ENOSYS)]
    program += only_if(CLONE, (ANY_BIT, 0, 1, CLONE_THREAD))
    for number in (KILL, TGKILL):
        program += only_if(number, (EQUAL, 0, 1, os.getpid()))
    program += [(RETURN, 0, 0, ALLOW)]
    # struct sock_filter: code, where to go if true, if false, constant.
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *instruction) for instruction in program))
    header = struct.pack("HxxxxxxQ", len(program), ctypes.addressof(code))
    return libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, header, 0, 0) == 0


# Events of sys.audit that lead out of the process. Source: docs.python.org, "Audit events table".
LEADING_OUT = ("socket.", "subprocess.", "shutil.", "os.exec", "os.posix_spawn", "os.spawn", "os.fork", "os.kill")
CHANGING = ("os.system", "os.remove", "os.rename", "os.rmdir", "os.mkdir", "os.link", "os.symlink", "os.truncate")
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


class Fence:
    """An audit hook. Not a wall: code that calls C goes round it (PEP 578)."""

    def __init__(self, paths: List[str]) -> None:
        self._paths = [os.path.realpath(path) for path in paths]

    def __call__(self, event: str, arguments: Tuple[Any, ...]) -> None:
        if event == "open":
            self._open(*arguments)
        elif event.startswith(LEADING_OUT) or event in CHANGING:
            raise PermissionError(f"{event} is refused: a reference may only compute")

    def _open(self, path: Any, _mode: Any, flags: Any) -> None:
        if isinstance(path, int) or path is None:
            return
        name = os.path.realpath(os.fsdecode(path))
        if isinstance(flags, int) and flags & WRITING and name != os.devnull:
            raise PermissionError(f"writing {name} is refused: a reference may only compute")
        if not any(name == place or name.startswith(place + os.sep) for place in self._paths):
            raise PermissionError(f"reading {name} is refused: a reference may read files of its own folder")

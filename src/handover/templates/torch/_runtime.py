"""Chooses a kernel for a call, prepares its launches once for each shape, and puts them on PyTorch's current stream.

A prepared call holds every launch with its arguments; a call writes the tensors' addresses into them and launches. Prepared
calls belong to one thread, since two threads must not write into one set of arguments. A call never waits for the device.
"""
import ctypes
import math
import threading
from pathlib import Path

import torch

from ._checks import buffer_bytes, check_range, check_result, dimensions_of, failure
from ._driver import Driver, LaunchConfig, Memory, ZeroedMemory, launch_attributes
from ._plan import Copy, DeviceFacts, Launch, Memset, kept_layout, table_layout

_CUBINS = Path(__file__).parent / "cubins"
# Entries nearer than this are equally near, so that no library's last bit decides.
_TIE = 1e-9
# Prepared calls of a thread, and encoded tensor maps of an argument; beyond it they start anew.
_MOST_CALLS = 1024
_MOST_MAPS = 64

_current_stream = torch._C._cuda_getCurrentRawStream if hasattr(torch._C, "_cuda_getCurrentRawStream") else (
    lambda index: torch.cuda.current_stream(index).cuda_stream
)
_current_device = getattr(torch._C, "_cuda_getDevice", torch.cuda.current_device)
_is_capturing = torch.cuda.is_current_stream_capturing
_empty, _empty_strided = torch.empty, torch.empty_strided


class Kernel:
    """A kernel's generated module, with its machine code: {"sm_90a": (file, symbols of its functions)}."""

    def __init__(self, name, module, code):
        self.name, self.code, self.plan, self.refusal = name, code, module.plan, module.refusal
        self.asks_residency = module.ASKS_RESIDENCY

    def architecture_for(self, capability):
        """The best machine code for a device; None if there is none."""
        fitting = [name for name in self.code if _runs_on(name, capability)]
        return max(fitting, key=lambda name: (_version(name), name[-1] in "af"), default=None)


def _version(architecture):
    digits = architecture[3:].rstrip("af")
    return int(digits[:-1]), int(digits[-1])


def _runs_on(architecture, capability):
    """Machine code runs on its major version from its minor version on; `a`: on its own only."""
    major, minor = _version(architecture)
    if architecture[-1] == "a":
        return (major, minor) == capability
    return major == capability[0] and minor <= capability[1]


class Entry:
    """A row of the dispatch table: a workload, its dimensions, and the number of its kernel."""

    def __init__(self, workload, dimensions, kernel):
        self.workload, self.dimensions, self.kernel = workload, dimensions, kernel


class _Device:
    """One device: its facts, and the functions of the kernels that have code for it, by number of the kernel."""

    def __init__(self, index, driver, kernels):
        self.index, self.driver = index, driver
        self.capability, self.sm_count, self.shared_bytes = driver.device_facts(index)
        self.zeroed, self.kept = ZeroedMemory(driver), {}
        self.functions = {}
        for number, kernel in enumerate(kernels):
            architecture = kernel.architecture_for(self.capability)
            if architecture is not None:
                file, symbols = kernel.code[architecture]
                self.functions[number] = driver.load((_CUBINS / file).read_bytes(), symbols)


class Operator:
    """A problem with its kernels. `problem` is the generated module that describes it."""

    def __init__(self, problem, kernels, open_driver=Driver):
        self.kernels, self._problem, self._open_driver = kernels, problem, open_driver
        self._driver, self._devices, self._lock = None, {}, threading.Lock()
        self._local = threading.local()

    @property
    def calls(self):
        """This thread's prepared calls, by everything that they depend on."""
        try:
            return self._local.calls
        except AttributeError:
            self._local.calls = {}
            return self._local.calls

    def load(self, index):
        """The device with every kernel loaded."""
        device = self._devices.get(index)
        if device is None:
            with self._lock, torch.cuda.device(index):
                if self._driver is None:
                    self._driver = self._open_driver()
                self._driver.ensure_context(index)
                device = self._devices.get(index) or _Device(index, self._driver, self.kernels)
                self._devices[index] = device
        return device

    def choose(self, dimensions, index):
        """(workload, number of the kernel) for a call on a device; the workload is None for the fallback.

        An entry may take the call if it has the same values where the problem lists values, and its kernel takes the
        dimensions and has code for the device. Of those the nearest in the logarithms of the others, the first of equals.
        """
        available = self.load(index).functions
        takes = {}
        chosen, nearest = None, 0.0
        for entry in self._problem.ENTRIES:
            if any(entry.dimensions[at] != dimensions[at] for at in self._problem.CATEGORICAL):
                continue
            number = entry.kernel
            if number not in takes:
                takes[number] = number in available and failure(self.kernels[number], dimensions) is None
            if not takes[number]:
                continue
            away = sum(_distance(dimensions[at], entry.dimensions[at]) for at in self._problem.MEASURED)
            if chosen is None or away < nearest - _TIE:
                chosen, nearest = entry, away
        return (None, self._problem.FALLBACK) if chosen is None else (chosen.workload, chosen.kernel)

    def prepare(self, key, tensors, given, results=None):
        """The call of these tensors, kept under `key`; `results` are what the caller wants them in.

        Raises TypeError or ValueError for what the problem or its kernel does not take.
        """
        dimensions = dimensions_of(self._problem, tensors, given)
        check_range(self._problem, dimensions)
        index = tensors[0].device.index
        with torch.cuda.device(index):
            device = self.load(index)
            self._driver.ensure_context(index)
            call = self._call(dimensions, device)
        if results is not None:
            call.check_results(results)
        calls = self.calls
        if len(calls) >= _MOST_CALLS:
            calls.clear()
        calls[key] = call
        return call

    def _call(self, dimensions, device):
        _, number = self.choose(dimensions, device.index)
        kernel = self.kernels[number]
        if number not in device.functions:
            raise RuntimeError(_without_code(kernel, device))
        refused = failure(kernel, dimensions)
        if refused is not None:
            raise ValueError(f"{kernel.name} does not take this call: {refused}")
        try:
            plan = _plan(self._problem, kernel, dimensions, device, device.functions[number])
        except (ArithmeticError, ValueError) as error:
            raise ValueError(f"{kernel.name} can't be launched for this call: {error}") from None
        return _Call(self._problem, plan, device, number, dimensions)


def _without_code(kernel, device):
    major, minor = device.capability
    return (
        f"{kernel.name} has no machine code for device {device.index} (sm_{major}{minor}), "
        f"only for {', '.join(kernel.code)}; export again with --arch sm_{major}{minor}"
    )


def _distance(value, other):
    difference = math.log(max(1, value)) - math.log(max(1, other))
    return difference * difference


def _plan(problem, kernel, dimensions, device, functions):
    """`kernel.ctasPerSm` is the fewest CTAs of a plan's launches that an SM holds at once; 1 to find that out."""
    sizes = buffer_bytes(problem, dimensions)
    plan = kernel.plan(dimensions, sizes, DeviceFacts(device.sm_count, device.shared_bytes))
    if not plan.steps:
        raise ValueError("no step of kernel.json applies to these dimensions")
    _configure(plan, functions)
    residents = [_residents(step, functions) for step in plan.steps if isinstance(step, Launch) and kernel.asks_residency]
    if not residents or min(residents) <= 1:
        return plan
    plan = kernel.plan(dimensions, sizes, DeviceFacts(device.sm_count, device.shared_bytes, min(residents)))
    _configure(plan, functions)
    return plan


def _configure(plan, functions):
    for step in plan.steps:
        if isinstance(step, Launch):
            functions[step.function].configure(step.shared_bytes, step.cluster, step.carve_out)


def _residents(step, functions):
    threads = step.block[0] * step.block[1] * step.block[2]
    return functions[step.function].ctas_per_sm(threads, step.shared_bytes)


class _PreparedLaunch:
    """A CUlaunchConfig with the arguments of one launch."""

    def __init__(self, step, function):
        self.function, self.name = function.handle, function.name
        self._attributes = launch_attributes(step.cluster, step.cooperative, step.programmatic)
        self.config = LaunchConfig()
        self.config.grid[:], self.config.block[:] = step.grid, step.block
        self.config.shared_bytes = step.shared_bytes
        self.config.attributes = ctypes.addressof(self._attributes) if len(self._attributes) else 0
        self.config.attribute_count = len(self._attributes)
        self.config_address = ctypes.addressof(self.config)
        offsets, end = [], 0
        for argument in step.arguments:
            end = -(-end // argument.alignment) * argument.alignment
            offsets.append(end)
            end += argument.size
        self._values = Memory(max(8, end))
        self.slots = (ctypes.c_uint64 * (max(8, end) // 8 + 1)).from_address(self._values.address)
        self.parameters = (ctypes.c_uint64 * max(1, len(offsets)))(*[self._values.address + at for at in offsets])
        self.parameters_address = ctypes.addressof(self.parameters)
        for offset, argument in zip(offsets, step.arguments):
            if argument.data:
                self._values.write(offset, argument.data)
        self.offsets = offsets


class _Call:
    """A launch sequence for one set of dimensions on one device."""

    def __init__(self, problem, plan, device, kernel, dimensions):
        self._problem, self._index, self._driver, self._owner = problem, device.index, device.driver, device
        self._device = torch.device("cuda", device.index)
        self.results = [
            (known, tuple(shape), tuple(strides))
            for known, (wanted, shape, strides) in zip(problem.RESULTS, problem.results(dimensions))
            if wanted
        ]
        present = [known for known, _, _ in self.results]
        # In the order of the addresses that `run` collects: operands, wanted results, workspace, kept workspace.
        self._tensors = [*problem.OPERANDS, *present]
        sources = {known.name: number for number, known in enumerate(self._tensors)}
        offsets, tables, self._bytes = table_layout(plan)
        kept_offsets, self._kept_bytes = kept_layout(plan)
        places = {name: (number, 0) for name, number in sources.items()}
        places.update({name: (len(self._tensors), offset) for name, offset in offsets.items()})
        places.update({name: (len(self._tensors) + 1, offset) for name, offset in kept_offsets.items()})
        self._kept_key = (kernel, dimensions)
        self._addresses = self._stream = None
        self._mask = max((known.alignment for known in self._tensors), default=1) - 1
        self._workspace_alignment = max([workspace.alignment for workspace in plan.workspaces] + [1])
        self._launches, self._steps = [], []
        # (launch, slot, source, offset) of every address, (launch, parameter, argument, source, maps) of every tensor map.
        self._slots, self._maps, self._tables = [], [], []
        for workspace in plan.workspaces:
            if workspace.init == "zero":
                self._steps.append((None, *places[workspace.name], 0, workspace.size))
        for number, step in enumerate(plan.steps):
            if isinstance(step, Memset):
                self._steps.append((None, *places[step.buffer], step.byte_value, plan.sizes[step.buffer]))
            elif isinstance(step, Copy):
                ends = [(places[name][0], places[name][1] + offset) for name, offset in (step.target, step.source)]
                self._steps.append(("copy", *ends, step.size, 0))
            else:
                self._add_launch(number, step, device.functions[kernel][step.function], places, tables)

    def _add_launch(self, number, step, function, places, tables):
        launch = _PreparedLaunch(step, function)
        for index, argument in enumerate(step.arguments):
            slot = launch.offsets[index] // 8
            if argument.kind == "pointer":
                source, offset = places[argument.buffer]
                self._slots.append((launch.slots, slot, source, offset + argument.offset))
            elif argument.kind == "tensor map":
                source, offset = places[argument.buffer]
                self._maps.append((launch, index, argument, source, offset, {}))
            elif argument.kind == "pointers":
                table = tables[number, index]
                self._slots.append((launch.slots, slot, len(self._tensors), table))
                for at, (buffer, offset) in enumerate(argument.targets):
                    source, base = places[buffer]
                    self._steps.append(("pointer", table + 8 * at, source, base + offset, 0))
        self._launches.append(launch)
        self._steps.append((launch, 0, 0, 0, 0))

    def check_results(self, results):
        wanted = {known.name: (shape, strides) for known, shape, strides in self.results}
        for known, tensor in zip(self._problem.RESULTS, results):
            if known.name in wanted:
                check_result(known, tensor, *wanted[known.name], self._device)
            elif tensor is not None:
                raise ValueError(f"out: {known.name} is not computed by this call; expected None")

    def new_results(self):
        return [_empty_strided(shape, strides, dtype=known.dtype, device=self._device) for known, shape, strides in self.results]

    def run(self, tensors):
        """Puts the launches on the current stream; `tensors` are the operands and the wanted results, in order."""
        if _current_device() != self._index:
            with torch.cuda.device(self._index):
                return self._run(tensors)
        return self._run(tensors)

    def _run(self, tensors):
        stream = _current_stream(self._index)
        addresses = [tensor.data_ptr() for tensor in tensors]
        union = 0
        for address in addresses:
            union |= address
        if union & self._mask:
            self._check_alignment(addresses)
        # The allocator hands these bytes out again on this stream only, so behind what is launched here.
        workspace = large = None
        if self._bytes:
            workspace = self._allocate(self._bytes)
            addresses.append(self._aligned(workspace))
        if self._kept_bytes:
            if not self._bytes:
                addresses.append(0)
            if self._kept_bytes <= ZeroedMemory.LARGEST:
                addresses.append(self._kept_address(stream))
            else:
                large = self._allocate(self._kept_bytes)
                addresses.append(self._aligned(large))
                self._driver.call("cuMemsetD8Async", addresses[-1], 0, self._kept_bytes, stream)
        if addresses != self._addresses:
            self._write(addresses)
        if stream != self._stream:
            for launch in self._launches:
                launch.config.stream = stream
            self._stream = stream
        launch_kernel = self._driver.launch
        for launch, first, second, third, fourth in self._steps:
            if launch is None:
                self._driver.call("cuMemsetD8Async", addresses[first] + second, third, fourth, stream)
            elif launch == "copy":
                target, source = (addresses[number] + offset for number, offset in (first, second))
                self._driver.call("cuMemcpyDtoDAsync_v2", target, source, third, stream)
            elif launch == "pointer":
                self._store_pointer(addresses[len(self._tensors)] + first, addresses[second] + third, stream)
            else:
                code = launch_kernel(launch.config_address, launch.function, launch.parameters_address, None)
                if code:
                    # Nothing is known of what the arguments hold now.
                    self._addresses = self._stream = None
                    self._driver.check(code, f"launch of {launch.name}")

    def _allocate(self, size):
        return _empty(size + (self._workspace_alignment if self._workspace_alignment > 512 else 0),
                      dtype=torch.uint8, device=self._device)

    def _aligned(self, memory):
        return -(-memory.data_ptr() // self._workspace_alignment) * self._workspace_alignment

    def _kept_address(self, stream):
        """Zeros before its first use, then the kernel's own: one for each stream, as two streams may run at once.

        Each call that is captured has one of its own, since a graph may be replayed on any stream.
        """
        if _is_capturing():
            return self._owner.zeroed.take(self._kept_bytes, self._workspace_alignment)
        key = (stream, *self._kept_key)
        address = self._owner.kept.get(key)
        if address is None:
            address = self._owner.zeroed.take(self._kept_bytes, self._workspace_alignment)
            # Another thread on this stream may have been faster.
            address = self._owner.kept.setdefault(key, address)
        return address

    def _write(self, addresses):
        self._addresses = None
        for slots, slot, source, offset in self._slots:
            slots[slot] = addresses[source] + offset
        for launch, index, argument, source, offset, maps in self._maps:
            address = addresses[source] + offset
            encoded = maps.get(address)
            if encoded is None:
                if len(maps) >= _MOST_MAPS:
                    maps.clear()
                encoded = maps[address] = self._driver.encode_tensor_map(argument.spec, address, argument.place)
            launch.parameters[index] = encoded.address
        self._addresses = addresses

    def _store_pointer(self, place, address, stream):
        # Two fills, since a copy from host memory would be read again by every replay of a graph.
        self._driver.call("cuMemsetD32Async", place, address & 0xFFFFFFFF, 1, stream)
        self._driver.call("cuMemsetD32Async", place + 4, address >> 32, 1, stream)

    def _check_alignment(self, addresses):
        for known, address in zip(self._tensors, addresses):
            if address % known.alignment:
                raise ValueError(
                    f"{known.name} begins at a multiple of {address & -address} bytes; expected one of {known.alignment}; "
                    f"{known.name}.clone() is aligned"
                )

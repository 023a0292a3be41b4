"""A launch plan: what the generated modules fill in for one set of dimensions, in numbers."""
from ._numbers import NoValue, integer, packed

# On every CUDA device since sm_30. Source: CUDA C++ Programming Guide, technical specifications.
_GRID = (2**31 - 1, 65_535, 65_535)
_BLOCK = (1024, 1024, 64)
_THREADS = 1024
_CLUSTER_CTAS = 16
_LARGEST = 2**53 - 1
_REPEATS = 10_000
_TENSOR_MAP_LIMITS = {"global_dim": 2**32, "strides_bytes": 2**40 - 16, "box_dim": 256, "element_strides": 8}
_TABLE_ALIGNMENT = 256
# Offsets from a base that torch's allocator aligns to 512 bytes.
_TENSOR_MAP = (128, 128)


class DeviceFacts:
    """What a plan depends on beside the dimensions."""

    def __init__(self, sm_count, shared_bytes_per_cta, ctas_per_sm=1):
        self.sm_count, self.shared_bytes_per_cta, self.ctas_per_sm = sm_count, shared_bytes_per_cta, ctas_per_sm


class Workspace:
    def __init__(self, name, size, alignment, init):
        self.name, self.size, self.alignment, self.init = name, size, alignment, init


class Memset:
    def __init__(self, buffer, byte_value):
        self.buffer, self.byte_value = buffer, byte_value


class Copy:
    """Of bytes from one (buffer, offset) to another."""

    def __init__(self, source, target, size):
        self.source, self.target, self.size = source, target, size


class TensorMap:
    """What cuTensorMapEncodeTiled takes beside an address; axes innermost first."""

    def __init__(self, buffer, dtype, global_dim, strides_bytes, box_dim, element_strides, **modes):
        self.buffer, self.dtype, self.global_dim, self.strides_bytes = buffer, dtype, global_dim, strides_bytes
        self.box_dim, self.element_strides = box_dim, element_strides
        self.interleave, self.swizzle = modes["interleave"], modes["swizzle"]
        self.l2_promotion, self.fill = modes["l2_promotion"], modes["fill"]

    def __str__(self):
        return ", ".join(f"{name} {value}" for name, value in vars(self).items())


class Argument:
    """Bytes of a launch's argument; `kind` says what is put there at the call: nothing, an address, or a tensor map."""

    def __init__(self, kind, size, alignment, data=b"", buffer=None, offset=0, spec=None, targets=(), place=""):
        self.kind, self.size, self.alignment, self.data = kind, size, alignment, data
        self.buffer, self.offset, self.spec, self.targets, self.place = buffer, offset, spec, targets, place


class Launch:
    def __init__(self, function, grid, block, shared_bytes, cluster, cooperative, programmatic, carve_out, arguments):
        self.function, self.grid, self.block, self.shared_bytes = function, grid, block, shared_bytes
        self.cluster, self.cooperative, self.programmatic, self.carve_out = cluster, cooperative, programmatic, carve_out
        self.arguments = arguments


class Plan:
    """Steps in order. `sizes` are the bytes of every buffer, 0 for one that is not wanted."""

    def __init__(self, sizes, device):
        self.sizes, self.device = dict(sizes), device
        self.workspaces, self.steps = [], []

    def workspace(self, name, size, place, alignment, init):
        self.sizes[name] = integer(size, place, 1, _LARGEST)
        self.workspaces.append(Workspace(name, self.sizes[name], alignment, init))

    def memset(self, buffer, byte_value):
        if self.sizes[buffer] > 0:
            self.steps.append(Memset(buffer, byte_value))

    def copy(self, path, source, target, size):
        """Places are (buffer, offset, place of the offset), `size` is (value, place), or None for all of the source."""
        if self.sizes[source[0]] == 0 or self.sizes[target[0]] == 0:
            return
        from_place, to_place = ((name, self._offset(name, offset, place)) for name, offset, place in (source, target))
        from_room, to_room = (self.sizes[name] - offset for name, offset in (from_place, to_place))
        value, place = size or (float(from_room), f"{path}.bytes: all of {source[0]}")
        count = integer(value, place, 0, min(from_room, to_room))
        if from_place[0] == to_place[0] and abs(from_place[1] - to_place[1]) < count:
            raise NoValue(f"{path}: reads and writes the same bytes of {from_place[0]}")
        if count > 0:
            self.steps.append(Copy(from_place, to_place, count))

    def repeats(self, count, place):
        return map(float, range(integer(count, place, 0, _REPEATS)))

    def launch(self, function, path, grid, block, arguments, shared=(0.0, ""), cluster=None, cooperative=False,
               programmatic=False, carve_out=-1):
        """Each extent is a list of (value, text); `programmatic`: may start before a launch right before it ends."""
        grid = _extents(grid, f"{path}.grid", _GRID)
        block = _extents(block, f"{path}.block", _BLOCK)
        if block[0] * block[1] * block[2] > _THREADS:
            raise NoValue(f"{path}.block: {block} has more than {_THREADS} threads")
        if cluster is not None:
            cluster = _extents(cluster, f"{path}.cluster", (_CLUSTER_CTAS,) * 3)
            divides = all(whole % part == 0 for whole, part in zip(grid, cluster))
            if not divides or cluster[0] * cluster[1] * cluster[2] > _CLUSTER_CTAS:
                raise NoValue(
                    f"{path}.cluster: a grid of {grid} in clusters of {cluster}; "
                    f"expected whole clusters of at most {_CLUSTER_CTAS} CTAs"
                )
        shared_bytes = integer(shared[0], f"{path}.sharedBytes: {shared[1]}", 0, _LARGEST)
        if shared_bytes > self.device.shared_bytes_per_cta:
            raise NoValue(
                f"{path}.sharedBytes: {shared_bytes} bytes of shared memory; "
                f"this device allows {self.device.shared_bytes_per_cta} per CTA"
            )
        # Only ever right behind a launch of the same sequence: whatever else is on the stream must have ended.
        follows = bool(self.steps) and isinstance(self.steps[-1], Launch)
        early = programmatic and follows and not any(argument.kind == "pointers" for argument in arguments)
        self.steps.append(
            Launch(function, grid, block, shared_bytes, cluster, cooperative, early, carve_out, arguments)
        )

    def pointer(self, buffer, offset=0.0, place=""):
        if self.sizes[buffer] == 0:
            return Argument("bytes", 8, 8, bytes(8))
        return Argument("pointer", 8, 8, buffer=buffer, offset=self._offset(buffer, offset, place))

    def pointers(self, targets):
        """A device array of pointers: (buffer, offset, place) each."""
        known = [(buffer, self._offset(buffer, offset, place)) for buffer, offset, place in targets]
        return Argument("pointers", 8, 8, targets=known)

    def _offset(self, buffer, offset, place):
        return integer(offset, place, 0, self.sizes[buffer])

    def tensor_map(self, place, buffer, dtype, modes, **axes):
        numbers = {
            key: [integer(value, f"{place}.{key}: {text}", 1, _TENSOR_MAP_LIMITS[key]) for value, text in values]
            for key, values in axes.items()
        }
        spec = TensorMap(buffer, dtype, **numbers, **modes)
        return Argument("tensor map", *_TENSOR_MAP, buffer=buffer, spec=spec, place=place)


def _extents(values, path, limits):
    sizes = [integer(value, f"{path}[{axis}]: {text}", 1, limits[axis]) for axis, (value, text) in enumerate(values)]
    return tuple(sizes + [1] * (3 - len(sizes)))


def null():
    return Argument("bytes", 8, 8, bytes(8))


def scalar(dtype, value, place):
    try:
        data = packed(dtype, value)
    except (ArithmeticError, ValueError) as error:
        raise NoValue(f"{place}: {error}") from None
    return Argument("bytes", len(data), 8, data)


def struct_of(fields):
    """C layout: each field at the next multiple of its size, the whole padded to the largest; (dtype, value, place) each."""
    data, largest = b"", 1
    for dtype, value, place in fields:
        field = scalar(dtype, value, place).data
        largest = max(largest, len(field))
        data += bytes(-len(data) % len(field)) + field
    return Argument("bytes", len(data) + -len(data) % largest, 8, data + bytes(-len(data) % largest))


def raw(hexadecimal):
    data = bytes.fromhex(hexadecimal)
    # Raw bytes may be a struct of any alignment.
    return Argument("bytes", len(data), 16, data)


def table_layout(plan):
    """Where what one call needs lies: name -> offset, offsets of pointer tables by step and argument, and all bytes."""
    end, offsets, tables = 0, {}, {}
    for workspace in plan.workspaces:
        if workspace.init != "once":
            end = offsets[workspace.name] = _rounded_up(end, workspace.alignment)
            end += workspace.size
    for index, step in enumerate(plan.steps):
        for place, argument in enumerate(getattr(step, "arguments", ())):
            if argument.kind == "pointers":
                end = tables[index, place] = _rounded_up(end, _TABLE_ALIGNMENT)
                end += 8 * len(argument.targets)
    return offsets, tables, end


def kept_layout(plan):
    """As `table_layout`, of what a kernel keeps from call to call."""
    end, offsets = 0, {}
    for workspace in plan.workspaces:
        if workspace.init == "once":
            end = offsets[workspace.name] = _rounded_up(end, workspace.alignment)
            end += workspace.size
    return offsets, end


def _rounded_up(value, multiple):
    return -(-value // multiple) * multiple

"""One thing to be timed, and the blocks it is timed in."""

from typing import Any, Dict, List, Mapping, Optional, Sequence

from .backend import Backend, BufferSpec, Ring
from .errors import WorkerError

Slot = Dict[str, Any]

# Rules whose values hang together within one buffer; all others fill any number of elements alike.
WHOLE_BUFFER_RULES = ("permutation",)


class Subject:
    """Computes a problem's outputs for slots of tensors."""

    def __init__(self, backend: Backend, buffers: Sequence[BufferSpec]) -> None:
        self.backend = backend
        self.buffers = buffers
        # Inputs of the last check, whose right outputs the parent knows.
        self.known_inputs: Mapping[str, bytearray] = {}

    def make_calls(self, slots: Sequence[Slot]) -> List[Any]:
        """A callable for each slot."""
        raise NotImplementedError

    def try_once(self) -> None:
        """One call on values of its own, so that what can't work fails here."""
        with self.backend.scope():
            slot = self._trial_slot()
            [call] = self.make_calls([slot])
            self._collect(slot, call())
            self.backend.synchronize()

    def run_on(self, inputs: Mapping[str, bytearray]) -> Dict[str, bytes]:
        """Bytes of every output for these bytes of the inputs."""
        self.known_inputs = inputs
        with self.backend.scope():
            [slot] = self.allocate(1, seed=0).slots
            self.write_known(slot)
            [call] = self.make_calls([slot])
            self._collect(slot, call())
            self.backend.synchronize()
            return {buffer.name: self.backend.read(slot[buffer.name], buffer) for buffer in self.outputs()}

    def eager_ns(self, calls: int) -> List[float]:
        with self.backend.scope():
            slot = self._trial_slot()
            [call] = self.make_calls([slot])
            call()  # The first call sets up what the others find.
            return [self.backend.eager_ns(call) for _ in range(calls)]

    def kernel_names(self) -> List[str]:
        with self.backend.scope():
            slot = self._trial_slot()
            [call] = self.make_calls([slot])
            call()
            return self.backend.kernel_names(call)

    def inputs(self) -> List[BufferSpec]:
        return [buffer for buffer in self.buffers if buffer.is_input]

    def outputs(self) -> List[BufferSpec]:
        return [buffer for buffer in self.buffers if buffer.is_output]

    def allocate(self, slot_count: int, seed: int) -> Ring:
        """Slots whose workspaces are as before a first run."""
        ring = self.backend.allocate(self.buffers, slot_count, seed)
        for buffer in self.buffers:
            if buffer.init == "once":
                for slot in ring.slots:
                    self.backend.write(slot[buffer.name], buffer, buffer.starting_bytes())
        return ring

    def draw(self, ring: Ring, seed: int, planted: Optional[int] = None) -> None:
        """Fills every input that has a rule, in all slots but the planted one."""
        for number, buffer in enumerate(self.inputs()):
            if buffer.rule is None:
                continue
            if buffer.rule["kind"] in WHOLE_BUFFER_RULES:
                for index, slot in enumerate(ring.slots):
                    if index != planted:
                        self.backend.draw(slot[buffer.name], buffer.rule, _mix(seed, number, index))
                continue
            column = ring.columns[buffer.name]
            parts = [column] if planted is None else [column[:planted], column[planted + 1 :]]
            for index, part in enumerate(parts):
                if len(part) > 0:
                    self.backend.draw(part, buffer.rule, _mix(seed, number, index))

    def write_known(self, slot: Slot) -> None:
        for buffer in self.inputs():
            self.backend.write(slot[buffer.name], buffer, self.known_inputs[buffer.name])

    def _trial_slot(self) -> Slot:
        """Inputs drawn where they can be, else zero: a valid index of anything."""
        ring = self.allocate(1, seed=0)
        self.draw(ring, seed=0)
        for buffer in self.inputs():
            if buffer.rule is None:
                self.backend.write(ring.slots[0][buffer.name], buffer, bytearray(buffer.bytes))
        return ring.slots[0]

    def _collect(self, slot: Slot, result: Any) -> None:
        """Brings what a call returned into the output buffers, refusing another shape or dtype than declared."""
        for buffer, value in self.returned(result):
            self.backend.copy(slot[buffer.name], value)

    def returned(self, result: Any) -> "list[tuple[BufferSpec, Any]]":
        """What a call returned, by output; nothing when it wrote into the buffers."""
        outputs = self.outputs()
        if result is None:
            return []
        if isinstance(result, dict):
            values = [result.get(buffer.name) for buffer in outputs]
        elif isinstance(result, (tuple, list)):
            values = list(result)
        else:
            values = [result]
        if len(values) != len(outputs) or any(value is None for value in values):
            names = ", ".join(buffer.name for buffer in outputs)
            raise WorkerError("baseline-error", f"the call must return every output ({names}) or None")
        for buffer, value in zip(outputs, values):
            difference = self.backend.mismatch(value, buffer)
            if difference is not None:
                raise WorkerError("baseline-error", f"output '{buffer.name}' came back as {difference}")
        return list(zip(outputs, values))


class Block:
    """Fresh slots and one graph over them: call i works on slot i modulo the number of slots."""

    def __init__(
        self, subject: Subject, slot_count: int, sequence_count: int, seed: int, contents: Mapping[str, bytearray]
    ) -> None:
        self._subject, self._backend = subject, subject.backend
        self._fixed = {buffer.name: buffer for buffer in subject.inputs() if buffer.rule is None}
        self._contents = contents
        self._known: Optional[Slot] = None
        missing = [name for name in self._fixed if name not in contents]
        if missing:
            raise WorkerError("bad-request", f"contents of {', '.join(missing)} are missing: they can't be drawn here")
        with self._backend.scope():
            self._ring = subject.allocate(slot_count, seed)
            self._write_fixed(("in", "inout"))
            subject.draw(self._ring, seed)
            calls = subject.make_calls(self._ring.slots)
            self._graph = self._backend.capture([calls[index % slot_count] for index in range(sequence_count)])
            self._results = [subject.returned(result) for result in self._graph.results]
            self._backend.time_ns(self._graph)  # The first replay uploads the graph.

    def sample(self, seed: int, planted: Optional[int], rereads_inputs: bool) -> float:
        """Draws every input anew, poisons every output, then times one replay, in ns.

        One slot may be planted with inputs whose right outputs are known, to be read afterwards. Inputs that L2 can't hold are
        read once more, so that the replay does not wait for dirty lines of theirs to be written back.
        """
        with self._backend.scope():
            self._write_fixed(("inout",))
            self._poison()
            # First: what is drawn after it leaves it no warmer in the caches than the others.
            if planted is not None:
                self._plant(self._ring.slots[planted])
            self._subject.draw(self._ring, seed, planted)
            if rereads_inputs:
                self._backend.reread([self._ring.columns[buffer.name] for buffer in self._subject.inputs()], seed)
            return self._backend.time_ns(self._graph)

    def read_slot(self, index: int) -> Dict[str, bytes]:
        """Bytes of every output of a slot after the last sample."""
        slot, slot_count = self._ring.slots[index], len(self._ring.slots)
        with self._backend.scope():
            # Of the calls that worked on this slot, the last.
            results = self._results[index::slot_count][-1]
            for buffer, value in results:
                self._backend.copy(slot[buffer.name], value)
            self._backend.synchronize()
            return {
                buffer.name: self._backend.read(slot[buffer.name], buffer) for buffer in self._subject.outputs()
            }

    def close(self) -> None:
        self._graph, self._results, self._ring, self._known = None, [], Ring([], {}), None

    def _plant(self, slot: Slot) -> None:
        """Copies the known inputs on the device: a copy from the host takes longer, and leaves them colder than drawing does."""
        inputs = self._subject.inputs()
        if self._known is None:
            [self._known] = self._backend.allocate(inputs, 1, seed=0).slots
            self._subject.write_known(self._known)
        for buffer in inputs:
            self._backend.write_again(slot[buffer.name], self._known[buffer.name], buffer)

    def _poison(self) -> None:
        for results in self._results:
            for _, value in results:
                self._backend.poison(value)
        for buffer in self._subject.outputs():
            if not buffer.is_input:
                self._backend.poison(self._ring.columns[buffer.name])

    def _write_fixed(self, roles: Sequence[str]) -> None:
        for slot in self._ring.slots:
            for name, buffer in self._fixed.items():
                if buffer.role in roles:
                    self._backend.write(slot[name], buffer, self._contents[name])


def _mix(seed: int, buffer: int, slot: int) -> int:
    """A seed of its own for each buffer: neighbours must not share their values."""
    value = (seed * 0x9E3779B97F4A7C15 + slot * 0xBF58476D1CE4E5B9 + buffer * 0x94D049BB133111EB) % (1 << 64)
    value ^= value >> 31
    return (value * 0xD6E8FEB86659FD93) % (1 << 63)

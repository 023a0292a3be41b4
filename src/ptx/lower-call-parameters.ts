import type { PtxFunction, PtxInstruction, PtxOperand, PtxStatement, PtxVariable } from './ast.ts';
import { rewritten } from './instruction-parts.ts';
import { definitionsAndUses, memoryActionOf, runsAs } from './instructions/properties.ts';
import { leavesOf, renameInstruction } from './operands.ts';
import { sizeOfPtxType } from './types.ts';

/**
 * Replaces the `.param` variables that once passed arguments. Where every load reads one stored element or a part of
 * it, each element becomes a register and each access a move; where the address is taken or elements overlap, the
 * variable becomes a local one.
 */
export function lowerCallParameters(fn: PtxFunction): PtxFunction {
  const variables = new Map(fn.variables.filter((v) => v.space === 'param').map((v) => [v.name, v]));
  if (variables.size === 0) return fn;
  const accesses = collectAccesses(fn, variables);
  const registers = new Map(fn.registers);
  const slotsOf = new Map<string, Slots | undefined>();
  for (const name of variables.keys()) slotsOf.set(name, slotsFor(name, accesses.get(name), registers));
  const moves = new Set<PtxInstruction>();
  const body = fn.body.flatMap((statement) => {
    if (statement.kind === 'label') return [statement];
    return lowerInstruction(statement.instruction, slotsOf, registers, moves).map(
      (instruction): PtxStatement => ({ kind: 'instruction', instruction }),
    );
  });
  const kept = fn.variables.flatMap((variable): PtxVariable[] => {
    if (!slotsOf.has(variable.name)) return [variable];
    return slotsOf.get(variable.name) ? [] : [{ ...variable, space: 'local' }];
  });
  return removeCopies({ ...fn, registers, variables: kept, body }, moves);
}

/** `offset` in bytes from the start of the variable. */
interface Span {
  offset: number;
  sizeBytes: number;
}

/** One scalar of an access. */
interface Element extends Span {
  operand: PtxOperand;
}

interface Accesses {
  stores: Element[];
  loads: Element[];
  addressTaken: boolean;
}

/** The variable an `ld.param`/`st.param` accesses, if it is one of `variables`. */
function accessedVariable(instruction: PtxInstruction, variables: { has(name: string): boolean }): string | undefined {
  if (runsAs(instruction) !== 'access' || instruction.modifiers[0] !== 'param') return undefined;
  const address = instruction.operands[memoryActionOf(instruction) === 'load' ? 1 : 0];
  if (address?.kind !== 'address' || address.base?.kind !== 'symbol') return undefined;
  return variables.has(address.base.name) ? address.base.name : undefined;
}

function elementsOf(instruction: PtxInstruction): Element[] {
  const isLoad = memoryActionOf(instruction) === 'load';
  const address = instruction.operands[isLoad ? 1 : 0] as Extract<PtxOperand, { kind: 'address' }>;
  const value = instruction.operands[isLoad ? 0 : 1]!;
  const sizeBytes = sizeOfPtxType(instruction.modifiers.at(-1)!);
  const operands = value.kind === 'vector' ? value.elements : [value];
  return operands.map((operand, i) => ({ offset: address.offset + i * sizeBytes, sizeBytes, operand }));
}

function collectAccesses(fn: PtxFunction, variables: ReadonlyMap<string, PtxVariable>): Map<string, Accesses> {
  const accesses = new Map<string, Accesses>();
  for (const name of variables.keys()) accesses.set(name, { stores: [], loads: [], addressTaken: false });
  for (const statement of fn.body) {
    if (statement.kind === 'label') continue;
    const { instruction } = statement;
    const name = accessedVariable(instruction, variables);
    if (name !== undefined) {
      const { stores, loads } = accesses.get(name)!;
      (memoryActionOf(instruction) === 'store' ? stores : loads).push(...elementsOf(instruction));
      continue;
    }
    for (const leaf of instruction.operands.flatMap(leavesOf)) {
      const found = leaf.kind === 'symbol' ? accesses.get(leaf.name) : undefined;
      if (found) found.addressTaken = true;
    }
  }
  return accesses;
}

interface Slot extends Span {
  register: string;
  isLoaded: boolean;
}
type Slots = Slot[];

const overlaps = (a: Span, b: Span): boolean => a.offset < b.offset + b.sizeBytes && b.offset < a.offset + a.sizeBytes;

const contains = (outer: Span, inner: Span): boolean =>
  outer.offset <= inner.offset && inner.offset + inner.sizeBytes <= outer.offset + outer.sizeBytes;

/** One register per stored element; undefined when the variable must stay in memory. */
function slotsFor(name: string, accesses: Accesses | undefined, registers: Map<string, string>): Slots | undefined {
  if (!accesses || accesses.addressTaken) return undefined;
  const slots: Slots = [];
  for (const store of accesses.stores) {
    const same = slots.find((slot) => overlaps(slot, store));
    if (!same) {
      slots.push({ offset: store.offset, sizeBytes: store.sizeBytes, register: '', isLoaded: false });
    } else if (same.offset !== store.offset || same.sizeBytes !== store.sizeBytes) return undefined;
  }
  for (const load of accesses.loads) {
    const inside = slots.find((slot) => contains(slot, load));
    if (inside) inside.isLoaded = true;
    else if (slots.some((slot) => overlaps(slot, load))) return undefined;
    // A load of something never stored gives an undefined value: a register never written will do.
    else slots.push({ offset: load.offset, sizeBytes: load.sizeBytes, register: '', isLoaded: true });
  }
  if (slots.some((slot) => slot.sizeBytes > 8)) return undefined;
  for (const slot of slots) {
    slot.register = `${name}$${slot.offset}`;
    while (registers.has(slot.register)) slot.register += '$';
    registers.set(slot.register, `b${Math.max(16, slot.sizeBytes * 8)}`);
  }
  return slots;
}

function lowerInstruction(
  instruction: PtxInstruction,
  slotsOf: ReadonlyMap<string, Slots | undefined>,
  registers: Map<string, string>,
  moves: Set<PtxInstruction>,
): PtxInstruction[] {
  const name = accessedVariable(instruction, slotsOf);
  if (name === undefined) return [instruction];
  const slots = slotsOf.get(name);
  if (!slots) return [rewritten(instruction, instruction.opcode, ['local', ...instruction.modifiers.slice(1)])];
  return elementsOf(instruction).flatMap((element) => {
    const slot = slots.find((candidate) => contains(candidate, element))!;
    if (element.operand.kind === 'sink' || !slot.isLoaded) return [];
    const lowered =
      memoryActionOf(instruction) === 'store'
        ? storeToSlot(instruction, element, slot, registers)
        : loadFromSlot(instruction, element, slot, registers);
    for (const move of lowered) if (move.opcode === 'mov') moves.add(move);
    return lowered;
  });
}

const bitsOf = (operand: PtxOperand, registers: ReadonlyMap<string, string>): number | undefined =>
  operand.kind === 'register' ? sizeOfPtxType(registers.get(operand.name) ?? '') * 8 : undefined;

/** `st.param` of one element: keeps only the element's own bits, as memory would. */
function storeToSlot(
  instruction: PtxInstruction,
  element: Element,
  slot: Slot,
  registers: ReadonlyMap<string, string>,
): PtxInstruction[] {
  const bits = element.sizeBytes * 8;
  const register: PtxOperand = { kind: 'register', name: slot.register };
  const sourceBits = bitsOf(element.operand, registers);
  if (sourceBits === undefined || sourceBits === bits) {
    const width = Math.max(16, bits);
    return [rewritten(instruction, 'mov', [`b${width}`], [register, maskImmediate(element.operand, bits)])];
  }
  const width = bits === 8 ? 'u16' : `u${bits}`;
  return [rewritten(instruction, 'cvt', [width, `u${bits}`], [register, element.operand])];
}

const maskImmediate = (operand: PtxOperand, bits: number): PtxOperand =>
  operand.kind === 'immediate' && operand.type === 'integer' && bits === 8
    ? { ...operand, value: BigInt.asUintN(8, operand.value) }
    : operand;

/** `ld.param` of one element, which may be a part of what was stored. */
function loadFromSlot(
  instruction: PtxInstruction,
  element: Element,
  slot: Slot,
  registers: Map<string, string>,
): PtxInstruction[] {
  const destinationBits = bitsOf(element.operand, registers) ?? element.sizeBytes * 8;
  const bits = element.sizeBytes * 8;
  const slotBits = Math.max(16, slot.sizeBytes * 8);
  const source: PtxOperand = { kind: 'register', name: slot.register };
  const signedness = instruction.modifiers.at(-1)!.startsWith('s') ? 's' : 'u';
  const convert = (from: PtxOperand): PtxInstruction =>
    rewritten(instruction, 'cvt', [`${signedness}${destinationBits}`, `${signedness}${bits}`], [element.operand, from]);
  const shift = (element.offset - slot.offset) * 8;
  if (shift === 0) {
    if (element.sizeBytes === slot.sizeBytes && destinationBits === slotBits && (bits > 8 || signedness === 'u')) {
      return [rewritten(instruction, 'mov', [`b${slotBits}`], [element.operand, source])];
    }
    return [convert(source)];
  }
  const scratch: PtxOperand = { kind: 'register', name: `${slot.register}$${shift}` };
  registers.set(scratch.name, `b${slotBits}`);
  const amount: PtxOperand = { kind: 'immediate', type: 'integer', value: BigInt(shift) };
  return [rewritten(instruction, 'shr', [`u${slotBits}`], [scratch, source, amount]), convert(scratch)];
}

/**
 * Drops the moves that lowering made where both registers have one definition: the copy then always equals its source
 * (each use of the copy is dominated by the move, and the move by the source's definition).
 */
function removeCopies(fn: PtxFunction, moves: ReadonlySet<PtxInstruction>): PtxFunction {
  const definitionCount = new Map<string, number>();
  const count = (name: string): void => {
    definitionCount.set(name, (definitionCount.get(name) ?? 0) + 1);
  };
  for (const statement of fn.body) {
    if (statement.kind === 'label') continue;
    const { definitions } = definitionsAndUses(statement.instruction);
    definitions.forEach(count);
    // A guarded definition may leave the old value: as good as another definition.
    if (statement.instruction.guard) definitions.forEach(count);
  }
  const sourceOf = new Map<string, string>();
  const isCopy = (instruction: PtxInstruction): boolean => {
    const [to, from] = instruction.operands;
    if (!moves.has(instruction) || instruction.guard || to?.kind !== 'register' || from?.kind !== 'register')
      return false;
    return definitionCount.get(to.name) === 1 && definitionCount.get(from.name) === 1;
  };
  const body = fn.body.filter((statement) => {
    if (statement.kind === 'label' || !isCopy(statement.instruction)) return true;
    const [to, from] = statement.instruction.operands as [PtxOperand & { name: string }, PtxOperand & { name: string }];
    sourceOf.set(to.name, from.name);
    return false;
  });
  const resolve = (name: string): string => {
    let at = name;
    for (let next = sourceOf.get(at); next !== undefined; next = sourceOf.get(at)) at = next;
    return at;
  };
  const registers = new Map([...fn.registers].filter(([name]) => !sourceOf.has(name)));
  return { ...fn, registers, body: body.map((statement) => renameStatement(statement, resolve)) };
}

function renameStatement(statement: PtxStatement, nameOf: (name: string) => string): PtxStatement {
  if (statement.kind === 'label') return statement;
  return { kind: 'instruction', instruction: renameInstruction(statement.instruction, nameOf) };
}

import type { PtxFunction, PtxInstruction, PtxOperand } from '../../ptx/ast.ts';
import { instructionsOf, spaceOf } from '../../ptx/instruction-parts.ts';
import { definitionsAndUses, memoryActionOf, synchronisationOf } from '../../ptx/instructions/properties.ts';
import type { MemoryAction } from '../../ptx/instructions/row.ts';
import { LOADED, OriginTracer } from '../../ptx/pointer-origins.ts';
import { isMarkedStrong } from '../race-detector/watched-access.ts';

/** Spaces that hold what a host gave to the launch or the module, not values that were computed. */
const GIVEN: ReadonlySet<string> = new Set(['param', 'const']);

const READING: ReadonlySet<MemoryAction> = new Set(['load', 'matrix-load', 'matrix', 'texture']);
const WRITING: ReadonlySet<MemoryAction> = new Set(['store', 'atomic', 'reduction', 'matrix-store', 'copy']);

/** Special registers that nobody chooses: what one holds differs from run to run. */
const CHANCE = /^%(?:clock|globaltimer|smid|warpid)/;

/** Special registers that tell one launch from another, and where a grid's barrier lies. */
const PASSING = /^%(?:gridid|pm|envreg)/;

/** From where values are loaded: `device memory` alone, or also from shared and local memory, where a kernel keeps counts and the like beside values. */
export type LoadedFrom = 'anywhere' | 'device memory';

/** Registers by what they depend on. */
export interface Provenance {
  /** Values that the function loads. */
  readonly values: ReadonlySet<string>;
  /** A clock, or the number of an SM or of a place for a warp. */
  readonly chance: ReadonlySet<string>;
  /** What other threads have done so far. */
  readonly progress: ReadonlySet<string>;
}

/**
 * Finds what depends on loaded values, on chance, and on other threads. Volatile, relaxed and acquiring loads, and atomics, say how far other threads are if they read memory to which the function writes only numbers that do not
 * depend on loaded values: a flag, a count. Any other load is one of values. What only decides whether a value is computed is not followed.
 */
export function provenanceOf(fn: PtxFunction, from: LoadedFrom): Provenance {
  const instructions = instructionsOf(fn);
  const memory = new WrittenMemory(fn, instructions);
  const found = { values: new Set<string>(), chance: new Set<string>(), progress: new Set<string>() };
  const size = (): number => found.values.size + found.chance.size + found.progress.size + memory.holdingValues;
  for (let before = -1; before < size(); ) {
    before = size();
    for (const instruction of instructions) {
      const { definitions, uses } = definitionsAndUses(instruction);
      const begins = beginningOf(instruction, from, memory);
      const passes = passesOn(instruction);
      for (const [kind, registers] of Object.entries(found))
        if (begins === kind || (passes && uses.some((one) => registers.has(one))))
          for (const register of definitions) registers.add(register);
      if (storesValues(instruction, found.values)) memory.takeValues(instruction);
    }
  }
  return found;
}

function beginningOf(
  instruction: PtxInstruction,
  from: LoadedFrom,
  memory: WrittenMemory,
): keyof Provenance | undefined {
  const action = memoryActionOf(instruction);
  if (readsSpecial(instruction, CHANCE)) return 'chance';
  if (readsSpecial(instruction, PASSING) || synchronisationOf(instruction) === 'object') return 'progress';
  if (action === 'atomic' || (READING.has(action) && isMarkedStrong(instruction))) {
    if (memory.isOfProgress(instruction)) return 'progress';
  } else if (!READING.has(action)) return undefined;
  return isRead(instruction, from) ? 'values' : undefined;
}

function isRead(instruction: PtxInstruction, from: LoadedFrom): boolean {
  const action = memoryActionOf(instruction);
  if (from === 'device memory') return action === 'load' && spaceOf(instruction) === 'global';
  return action !== 'load' || !GIVEN.has(spaceOf(instruction));
}

const readsSpecial = ({ operands }: PtxInstruction, names: RegExp): boolean =>
  operands.some((operand) => operand.kind === 'special' && names.test(operand.name));

/** Computes with its operands. An address is no value: what is read there may be. */
const passesOn = (instruction: PtxInstruction): boolean => ['none', 'matrix'].includes(memoryActionOf(instruction));

/** A copy brings values from other memory. */
function storesValues(instruction: PtxInstruction, values: ReadonlySet<string>): boolean {
  const action = memoryActionOf(instruction);
  if (!WRITING.has(action)) return false;
  return (
    action === 'copy' || instruction.operands.some((operand) => registersIn(operand).some((one) => values.has(one)))
  );
}

/** But those of addresses. */
function registersIn(operand: PtxOperand): string[] {
  if (operand.kind === 'vector') return operand.elements.flatMap(registersIn);
  return operand.kind === 'register' ? [operand.name] : [];
}

/** Memory that a function writes, by the parameters that lead there; shared and local memory are one. */
class WrittenMemory {
  readonly #tracer: OriginTracer;
  readonly #pointers: ReadonlySet<string>;
  readonly #written = new Set<string>();
  readonly #holding = new Set<string>();

  constructor(fn: PtxFunction, instructions: readonly PtxInstruction[]) {
    this.#tracer = new OriginTracer(fn, new Set());
    this.#pointers = new Set(fn.parameters.filter(({ sizeBytes }) => sizeBytes >= 8).map(({ name }) => name));
    for (const instruction of instructions)
      if (WRITING.has(memoryActionOf(instruction)))
        for (const place of this.#placesOf(instruction)) this.#written.add(place);
  }

  /** Places that values are written to. */
  get holdingValues(): number {
    return this.#holding.size;
  }

  takeValues(instruction: PtxInstruction): void {
    for (const place of this.#placesOf(instruction)) this.#holding.add(place);
  }

  /** Whether the function writes what is read here, and never values. */
  isOfProgress(instruction: PtxInstruction): boolean {
    const places = this.#placesOf(instruction);
    return places.some((one) => this.#written.has(one)) && !places.some((one) => this.#holding.has(one));
  }

  #placesOf({ operands }: PtxInstruction): string[] {
    const origins = operands.filter(({ kind }) => kind === 'address').flatMap((one) => [...this.#tracer.of(one)]);
    return origins.flatMap((origin) => {
      const names = origin.split('+').filter((name) => this.#pointers.has(name));
      return names.length > 0 ? names : [origin === LOADED ? LOADED : PRIVATE];
    });
  }
}

/** Shared and local memory. */
const PRIVATE = 'private';

import type { PtxFunction, PtxInstruction, PtxOperand } from './ast.ts';
import { instructionsOf, spaceOf } from './instruction-parts.ts';
import { definitionsAndUses, resultOf } from './instructions/properties.ts';
import type { Result } from './instructions/row.ts';
import { elementsOf } from './operands.ts';

/**
 * The possible origins of a value: a set of alternatives, because a register may have several definitions. Each alternative
 * lists the parameters and variables from which the value was computed, sorted and joined by `+`. `*` stands for a value
 * loaded from memory, which may be a pointer; `#` for an address outside device memory; the empty text for numbers.
 */
export type Origins = ReadonlySet<string>;

export const LOADED = '*';
const PRIVATE = '#';
const NUMBER = '';

const NUMBERS: Origins = new Set([NUMBER]);
const UNKNOWN: Origins = new Set([LOADED]);

/** More alternatives than this are not told apart. */
const MAXIMUM_ALTERNATIVES = 24;

/** Number of sources of which the result is one, for instructions that select instead of compute. */
const ALTERNATIVES: Partial<Record<Result, number>> = { copy: 1, choice: 2 };

/** Finds the origins of the operands of a function's instructions. */
export class OriginTracer {
  #parameters: ReadonlySet<string>;
  /** Variables in device memory. */
  #globals: ReadonlySet<string>;
  #origins = new Map<string, Set<string>>();
  /** Registers with too many alternatives. They stay unknown, so that the analysis ends. */
  #unknown = new Set<string>();

  /** @param globals Names of the variables that lie in device memory. */
  constructor(fn: PtxFunction, globals: ReadonlySet<string>) {
    this.#parameters = new Set(fn.parameters.map((p) => p.name));
    this.#globals = globals;
    const instructions = instructionsOf(fn);
    for (let changed = true; changed; ) {
      changed = false;
      for (const instruction of instructions) changed = this.#propagate(instruction) || changed;
    }
  }

  /** Origins of an operand; of an address, of its base. */
  of(operand: PtxOperand | null): Origins {
    switch (operand?.kind) {
      case 'register':
        return this.#origins.get(operand.name) ?? NUMBERS;
      case 'symbol':
        if (this.#globals.has(operand.name)) return new Set([operand.name]);
        // A tensor map's address leads to the map's buffer.
        return new Set(this.#parameters.has(operand.name) ? [operand.name, PRIVATE] : [PRIVATE]);
      case 'address':
        return this.of(operand.base);
      default:
        return NUMBERS;
    }
  }

  #propagate(instruction: PtxInstruction): boolean {
    const { definitions } = definitionsAndUses(instruction);
    if (definitions.length === 0) return false;
    const incoming = this.#result(instruction);
    let changed = false;
    for (const register of definitions) {
      if (this.#unknown.has(register)) continue;
      const known = this.#origins.get(register) ?? new Set<string>();
      const before = known.size;
      for (const alternative of incoming) known.add(alternative);
      if (known.size > MAXIMUM_ALTERNATIVES) {
        known.clear();
        known.add(LOADED);
        this.#unknown.add(register);
      }
      this.#origins.set(register, known);
      changed ||= known.size !== before || this.#unknown.has(register);
    }
    return changed;
  }

  #result(instruction: PtxInstruction): Origins {
    const { operands } = instruction;
    const result = resultOf(instruction);
    if (result === 'memory') return spaceOf(instruction) === 'param' ? this.#parameterLoad(operands.at(-1)!) : UNKNOWN;
    const sources = operands.slice(1).flatMap(elementsOf);
    const alternatives = ALTERNATIVES[result];
    if (alternatives === undefined || sources.length !== operands.length - 1)
      return sources.reduce<Origins>((origins, source) => combine(origins, this.#pending(source)), NUMBERS);
    const chosen = sources.slice(0, alternatives);
    return new Set(chosen.flatMap((source) => [...this.#pending(source)]));
  }

  #parameterLoad(address: PtxOperand): Origins {
    if (address.kind !== 'address' || address.base?.kind !== 'symbol') return UNKNOWN;
    return this.#parameters.has(address.base.name) ? new Set([address.base.name]) : UNKNOWN;
  }

  /** Like `of`, but empty for a register whose definitions have not been reached. */
  #pending(operand: PtxOperand): Origins {
    return operand.kind === 'register' ? (this.#origins.get(operand.name) ?? new Set()) : this.of(operand);
  }
}

/** Every alternative of one with every alternative of the other. */
function combine(a: Origins, b: Origins): Origins {
  if (a === NUMBERS) return b;
  const result = new Set<string>();
  for (const left of a)
    for (const right of b) {
      if (left === NUMBER || right === NUMBER || left === right) {
        result.add(left === NUMBER ? right : left);
        continue;
      }
      const names = new Set([...left.split('+'), ...right.split('+')]);
      result.add([...names].sort().join('+'));
    }
  return result.size > MAXIMUM_ALTERNATIVES ? UNKNOWN : result;
}

/**
 * The buffers into which an address may point, for one launch. A loaded number that is added to a buffer's address is an
 * index; a loaded number alone is a pointer to any buffer. Undefined: any buffer.
 * @param buffersOf buffers behind a parameter or variable; none for scalars.
 */
export function reachableBuffers<B>(
  origins: Origins,
  buffersOf: (name: string) => readonly B[],
): ReadonlySet<B> | undefined {
  const reachable = new Set<B>();
  let isPrivate = false;
  for (const alternative of origins) {
    const names = alternative.split('+');
    const buffers = names.flatMap((name) => buffersOf(name));
    for (const buffer of buffers) reachable.add(buffer);
    if (buffers.length > 0) continue;
    if (names.includes(PRIVATE)) isPrivate = true;
    else if (names.includes(LOADED)) return undefined;
  }
  return reachable.size > 0 || isPrivate ? reachable : undefined;
}

import type { PtxFunction, PtxInstruction } from '../../ptx/ast.ts';
import { spaceOf } from '../../ptx/instruction-parts.ts';
import { definitionsAndUses, memoryActionOf } from '../../ptx/instructions/properties.ts';
import { isMarkedStrong } from '../race-detector/watched-access.ts';

/** Spaces that hold what a host gave to the launch or the module, not values that were computed. */
const GIVEN: ReadonlySet<string> = new Set(['param', 'const']);

const READING: ReadonlySet<string> = new Set(['load', 'matrix-load', 'matrix', 'texture']);

/** From where values are loaded: `device memory` alone, or also from shared and local memory, where a kernel keeps counts and the like beside values. */
export type LoadedFrom = 'anywhere' | 'device memory';

/**
 * Registers that depend on values which the function loads. Volatile, relaxed and acquiring loads do not count, nor do atomics: what they read says how far other threads are, and not
 * what the inputs are. What only decides whether a value is computed is not followed.
 */
export function registersOfLoadedValues({ body }: PtxFunction, from: LoadedFrom): ReadonlySet<string> {
  const instructions = body.flatMap((statement) => (statement.kind === 'instruction' ? [statement.instruction] : []));
  const found = new Set<string>();
  for (let before = -1; before < found.size; ) {
    before = found.size;
    for (const instruction of instructions) {
      const { definitions, uses } = definitionsAndUses(instruction);
      if (loadsValues(instruction, from) || (passesOn(instruction) && uses.some((register) => found.has(register))))
        for (const register of definitions) found.add(register);
    }
  }
  return found;
}

function loadsValues(instruction: PtxInstruction, from: LoadedFrom): boolean {
  const action = memoryActionOf(instruction);
  if (!READING.has(action) || isMarkedStrong(instruction)) return false;
  if (from === 'device memory') return action === 'load' && spaceOf(instruction) === 'global';
  return action !== 'load' || !GIVEN.has(spaceOf(instruction));
}

/** Computes with its operands. An address is no value: what is read there may be. */
const passesOn = (instruction: PtxInstruction): boolean => ['none', 'matrix'].includes(memoryActionOf(instruction));

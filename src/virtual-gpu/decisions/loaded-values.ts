import type { PtxFunction, PtxInstruction } from '../../ptx/ast.ts';
import { spaceOf } from '../../ptx/instruction-parts.ts';
import { definitionsAndUses, memoryActionOf } from '../../ptx/instructions/properties.ts';
import { isMarkedStrong } from '../race-detector/watched-access.ts';

/** Spaces that hold what a host gave to the launch or the module, not values that were computed. */
const GIVEN: ReadonlySet<string> = new Set(['param', 'const']);

const READING: ReadonlySet<string> = new Set(['load', 'matrix-load', 'matrix', 'texture']);

/**
 * Registers that depend on values which the function loads. Volatile, relaxed and acquiring loads do not count, nor do atomics: what they read says how far other threads are, and not
 * what the inputs are. What only decides whether a value is computed is not followed.
 */
export function registersOfLoadedValues({ body }: PtxFunction): ReadonlySet<string> {
  const instructions = body.flatMap((statement) => (statement.kind === 'instruction' ? [statement.instruction] : []));
  const found = new Set<string>();
  for (let before = -1; before < found.size; ) {
    before = found.size;
    for (const instruction of instructions) {
      const { definitions, uses } = definitionsAndUses(instruction);
      if (loadsValues(instruction) || (passesOn(instruction) && uses.some((register) => found.has(register))))
        for (const register of definitions) found.add(register);
    }
  }
  return found;
}

const loadsValues = (instruction: PtxInstruction): boolean =>
  READING.has(memoryActionOf(instruction)) &&
  !isMarkedStrong(instruction) &&
  !(memoryActionOf(instruction) === 'load' && GIVEN.has(spaceOf(instruction)));

/** Computes with its operands. An address is no value: what is read there may be. */
const passesOn = (instruction: PtxInstruction): boolean => ['none', 'matrix'].includes(memoryActionOf(instruction));

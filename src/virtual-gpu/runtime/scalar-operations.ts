import type { PtxInstruction, PtxOperand } from '../../ptx/ast.ts';
import { lastModifier } from '../../ptx/instruction-parts.ts';
import { sizeOfPtxType } from '../../ptx/types.ts';
import { pickedBytes } from '../codegen/lane/forms/immediates.ts';
import { select, selectBySign, setPredicate, setValue } from './scalar/compare-functions.ts';
import { convert } from './scalar/convert-functions.ts';
import { elementName, FLOAT_FUNCTIONS } from './scalar/float-functions.ts';
import { INTEGER_FUNCTIONS } from './scalar/integer-functions.ts';
import type { ScalarCompiler, ScalarFunction } from './scalar/scalar-function.ts';
import type { WarpContext } from './warp-context.ts';

/** prmt of four bytes per lane, on numbers, because varying selectors are common. */
function permute(context: WarpContext): void {
  const [destination, a, b, selector] = context.operands;
  for (const lane of context.lanes) {
    const [low, high] = [context.word(a!, lane), context.word(b!, lane)];
    const picked = pickedBytes(context.instruction, context.word(selector!, lane));
    context.setWord(destination!, lane, permuteBytes(low, high, picked));
  }
}

function permuteBytes(a: number, b: number, picked: readonly number[]): number {
  let result = 0;
  for (const [i, pick] of picked.entries()) {
    const byte = (((pick & 4) === 0 ? a : b) >>> ((pick & 3) * 8)) & 255;
    // Bit 3 replicates the byte's sign.
    const chosen = (pick & 8) === 0 ? byte : (byte & 128) === 0 ? 0 : 255;
    result |= chosen << (i * 8);
  }
  return result;
}

/** Destinations and sources among the flattened operands: a pair is two destinations, `mov {a, b}, c` as many. */
function splitOperands(instruction: PtxInstruction, operands: readonly PtxOperand[]): [PtxOperand[], PtxOperand[]] {
  const first = instruction.operands[0];
  if (first?.kind === 'pair') return [[first.first, first.second], operands.slice(1)];
  const count = first?.kind === 'vector' ? first.elements.length : 1;
  return [operands.slice(0, count), operands.slice(count)];
}

/** Instructions of all types. */
export const GENERAL_FUNCTIONS: ReadonlyMap<string, ScalarCompiler> = new Map([
  ['cvt', convert],
  ['setp', setPredicate],
  ['set', setValue],
  ['selp', select],
  ['slct', selectBySign],
]);

/**
 * The function of one lane of an instruction: exact, in every form of the ISA, and slow; undefined if it is not lane-wise.
 */
export function compileScalar(instruction: PtxInstruction): ScalarFunction | undefined {
  const type = lastModifier(instruction);
  const table = elementName(type) ? FLOAT_FUNCTIONS : INTEGER_FUNCTIONS;
  return (GENERAL_FUNCTIONS.get(instruction.opcode) ?? table.get(instruction.opcode))?.(instruction);
}

/** The exact implementation of any lane-wise form. */
function exactOperation(instruction: PtxInstruction): ((context: WarpContext) => void) | undefined {
  const compute = compileScalar(instruction);
  if (!compute) return undefined;
  return (context) => {
    const [destinations, sources] = splitOperands(instruction, context.operands);
    for (const lane of context.lanes) {
      const results = compute({
        unsigned: (index, type) => BigInt.asUintN(8 * sizeOfPtxType(type), context.integer(sources[index - 1]!, lane)),
        predicate: (index) => context.predicate(sources[index - 1]!, lane),
      });
      results.forEach((value, i) => {
        context.setInteger(destinations[i]!, lane, value);
      });
    }
  };
}

/** Instructions with code of their own. */
const OPERATIONS: ReadonlyMap<string, (context: WarpContext) => void> = new Map([['prmt', permute]]);

/** The lane-by-lane implementation of an instruction too rare for vector code, if there is one. */
export const scalarOperation = (instruction: PtxInstruction): ((context: WarpContext) => void) | undefined =>
  OPERATIONS.get(instruction.opcode) ?? exactOperation(instruction);

import type { PtxInstruction } from '../../../ptx/ast.ts';
import { select, selectBySign, setPredicate, setValue } from './compare-functions.ts';
import { convert } from './convert-functions.ts';
import { elementName, FLOAT_FUNCTIONS } from './float-functions.ts';
import { INTEGER_FUNCTIONS } from './integer-functions.ts';
import type { ScalarCompiler, ScalarFunction } from './scalar-function.ts';

export const GENERAL_FUNCTIONS: ReadonlyMap<string, ScalarCompiler> = new Map([
  ['cvt', convert],
  ['setp', setPredicate],
  ['set', setValue],
  ['selp', select],
  ['slct', selectBySign],
]);

/**
 * The function of one lane of an instruction: exact, in every form the ISA has, and slow. For forms too rare for
 * vector code. Undefined for opcodes that are not lane-wise.
 */
export function compileScalar(instruction: PtxInstruction): ScalarFunction | undefined {
  const type = instruction.modifiers.at(-1) ?? '';
  const table = elementName(type) ? FLOAT_FUNCTIONS : INTEGER_FUNCTIONS;
  return (GENERAL_FUNCTIONS.get(instruction.opcode) ?? table.get(instruction.opcode))?.(instruction);
}

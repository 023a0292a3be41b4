import type { PtxInstruction, PtxOperand } from '../../ptx/ast.ts';
import { formOf } from '../../ptx/instruction-parts.ts';
import { sizeOfPtxType } from '../../ptx/types.ts';
import { compileScalar } from './scalar/compile-scalar.ts';
import type { WarpContext } from './warp-context.ts';

/** Instructions too rare for vector code, lane by lane. `inputs` are the bit patterns of the source operands. */
type WordFunction = (inputs: number[]) => number;

/** Byte permutation with PTX's sign-replicating selector bit. */
function permuteBytes(a: number, b: number, selector: number): number {
  let result = 0;
  for (let i = 0; i < 4; i++) {
    const pick = (selector >>> (i * 4)) & 15;
    const byte = ((pick & 7) < 4 ? a >>> ((pick & 3) * 8) : b >>> ((pick & 3) * 8)) & 255;
    result |= ((pick & 8) !== 0 ? ((byte & 128) !== 0 ? 255 : 0) : byte) << (i * 8);
  }
  return result;
}

function extractField(signed: boolean): WordFunction {
  return ([value, position, length]) => {
    const [p, n] = [position! & 255, length! & 255];
    let result = 0;
    for (let i = 0; i < Math.min(n, 32); i++) {
      const bit = p + i <= 31 ? (value! >>> (p + i)) & 1 : signed ? value! >>> 31 : 0;
      result |= bit << i;
    }
    if (!signed || n === 0 || n >= 32) return result;
    const sign = (value! >>> Math.min(p + n - 1, 31)) & 1;
    return sign ? result | (-1 << n) : result;
  };
}

const insertField: WordFunction = ([field, into, position, length]) => {
  const [p, n] = [position! & 255, length! & 255];
  let result = into!;
  for (let i = 0; i < n && p + i < 32; i++) result = (result & ~(1 << (p + i))) | (((field! >>> i) & 1) << (p + i));
  return result;
};

const lop3: WordFunction = ([a, b, c, table]) => {
  let result = 0;
  for (let bit = 0; bit < 32; bit++) {
    const index = (((a! >>> bit) & 1) << 2) | (((b! >>> bit) & 1) << 1) | ((c! >>> bit) & 1);
    result |= ((table! >>> index) & 1) << bit;
  }
  return result;
};

const WORD_FUNCTIONS: ReadonlyMap<string, WordFunction> = new Map<string, WordFunction>([
  ['prmt.b32', ([a, b, s]) => permuteBytes(a!, b!, s!)],
  ['bfe.u32', extractField(false)],
  ['bfe.s32', extractField(true)],
  ['bfi.b32', insertField],
  ['lop3.b32', lop3],
]);

/** The fast implementation of a few forms on 32-bit numbers. */
const wordOperation =
  (compute: WordFunction) =>
  (context: WarpContext): void => {
    const [destination, ...sources] = context.operands;
    for (const lane of context.lanes)
      context.setWord(destination!, lane, compute(sources.map((operand) => context.word(operand, lane))));
  };

/** Destinations and sources among the flattened operands: a pair is two destinations, `mov {a, b}, c` as many. */
function splitOperands(instruction: PtxInstruction, operands: readonly PtxOperand[]): [PtxOperand[], PtxOperand[]] {
  const first = instruction.operands[0];
  if (first?.kind === 'pair') return [[first.first, first.second], operands.slice(1)];
  const count = first?.kind === 'vector' ? first.elements.length : 1;
  return [operands.slice(0, count), operands.slice(count)];
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

/** The lane-by-lane implementation of an instruction, if there is one. */
export function scalarOperation(instruction: PtxInstruction): ((context: WarpContext) => void) | undefined {
  const word = WORD_FUNCTIONS.get(formOf(instruction));
  return word ? wordOperation(word) : exactOperation(instruction);
}

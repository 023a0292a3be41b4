import type { InstructionClass } from '../core/vocabulary.ts';
import type { PtxFunction, PtxInstruction, PtxOperand, PtxStatement } from '../ptx/ast.ts';
import { instructionsOf, lastModifier, rewritten } from '../ptx/instruction-parts.ts';
import { definitionsAndUses, flopPerLane, instructionClass, resultOf } from '../ptx/instructions/properties.ts';
import { uniqueName } from '../ptx/unique-name.ts';

const computes = (instruction: PtxInstruction): boolean => flopPerLane(instruction)?.kind === 'fp32';

/** Whether it takes the bits of a number apart. Moves, selections, shuffles and stores take them as they are. */
const readsBits = (instruction: PtxInstruction): boolean =>
  READING_BITS.has(instructionClass(instruction)!) && /^[bsu]32$/.test(lastModifier(instruction));

const READING_BITS: ReadonlySet<InstructionClass> = new Set(['integer', 'predicate', 'conversion']);

/**
 * Where code looks at the bits of an f32 that it has computed, a NaN has the GPU's: 0x7fffffff, whatever the operands were (PTX ISA, "Floating-Point
 * Instructions"). WebAssembly leaves them open, and x64 makes 0xffc00000. So `mov.canonical.b32`, an instruction of our own that counts for
 * nothing, stands before whole-number arithmetic on such a value. NaNs that were loaded keep their bits.
 */
export function withCanonicalNans(fn: PtxFunction): PtxFunction {
  const computed = computedNumbers(fn);
  const registers = new Map(fn.registers);
  const used = new Set(registers.keys());
  const body = fn.body.flatMap((statement): PtxStatement[] => {
    if (statement.kind === 'label' || !readsBits(statement.instruction)) return [statement];
    const { instruction } = statement;
    const moves: PtxStatement[] = [];
    const canonical = (operand: PtxOperand): PtxOperand => {
      if (operand.kind !== 'register' || !computed.has(operand.name)) return operand;
      const scratch = { ...operand, name: uniqueName(used, '%canonical') };
      registers.set(scratch.name, 'b32');
      const { guard: _, ...move } = rewritten(instruction, 'mov', ['canonical', 'b32'], [scratch, operand]);
      moves.push({ kind: 'instruction', instruction: { ...move, countedAs: null } });
      return scratch;
    };
    const [destination, ...sources] = instruction.operands;
    const operands = [destination!, ...sources.map(canonical)];
    return moves.length === 0
      ? [statement]
      : [...moves, { kind: 'instruction', instruction: { ...instruction, operands } }];
  });
  return { ...fn, registers, body };
}

/** Registers that hold results of f32 arithmetic, or copies of these, and nothing else but constants. */
function computedNumbers(fn: PtxFunction): ReadonlySet<string> {
  const arithmetic = new Set<string>();
  const others = new Set<string>();
  /** What registers that are copied to get. */
  const sources = new Map<string, string[]>();
  for (const instruction of instructionsOf(fn)) {
    const copied = copiesOf(instruction);
    for (const register of definitionsAndUses(instruction).definitions) {
      if (computes(instruction)) arithmetic.add(register);
      else if (copied) sources.set(register, [...(sources.get(register) ?? []), ...copied]);
      else others.add(register);
    }
  }
  if (arithmetic.size === 0) return arithmetic;
  const spread = (reached: Set<string>): Set<string> => {
    for (let before = -1; before !== reached.size; ) {
      before = reached.size;
      for (const [register, copied] of sources) if (copied.some((source) => reached.has(source))) reached.add(register);
    }
    return reached;
  };
  // A loaded value, or what may be one, is nobody's arithmetic; a register that is never written is not either.
  const unknown = [...sources.values()].flat().filter((one) => !arithmetic.has(one) && !sources.has(one));
  const spoilt = spread(new Set([...others, ...unknown]));
  return new Set([...spread(arithmetic)].filter((register) => !spoilt.has(register)));
}

/** The registers that a move or a selection of 32 bits takes its result from; undefined of other instructions. */
function copiesOf(instruction: PtxInstruction): string[] | undefined {
  const result = resultOf(instruction);
  const isMove = instructionClass(instruction) === 'move' && (result === 'copy' || result === 'choice');
  if (!isMove || !/^[bsuf]32$/.test(lastModifier(instruction))) return undefined;
  const values = instruction.operands.slice(1, result === 'choice' ? 3 : 2);
  if (!values.every(({ kind }) => kind === 'register' || kind === 'immediate')) return undefined;
  return values.flatMap((value) => (value.kind === 'register' ? [value.name] : []));
}

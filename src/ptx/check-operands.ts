import type { PtxFunction, PtxInstruction, PtxModule, PtxOperand } from './ast.ts';
import { PtxSyntaxError } from './errors.ts';
import { vectorLength } from './instruction-parts.ts';
import { runsAs } from './instructions/properties.ts';
import type { Place } from './instructions/row.ts';
import { INSTRUCTIONS } from './instructions/table.ts';
import { leavesOf } from './operands.ts';
import { bitsOfPtxType } from './types.ts';

/** Instructions of packed halves that test two values at once have two predicates; elsewhere a pair is a second result. */
const pairsOf = (operand: PtxOperand): PtxOperand[] =>
  operand.kind === 'pair' ? [operand.first, operand.second] : [operand];

/**
 * Checks the operands of the instructions whose operands depend on the opcode alone: how many there are, and that each
 * register is as wide as the instruction's type says. A PTX assembler would refuse what is refused here. Names must be
 * declared.
 *
 * @throws PtxSyntaxError for the first instruction that is not well formed.
 */
export function checkOperands(fn: PtxFunction, module: PtxModule): void {
  const names = new Set(
    [...module.variables, ...fn.variables, ...fn.parameters, ...fn.returns].map(({ name }) => name),
  );
  for (const { name } of module.functions) names.add(name);
  for (const statement of fn.body) {
    if (statement.kind !== 'instruction') continue;
    const { instruction } = statement;
    const problem = problemOf(fn, instruction, names);
    if (problem !== undefined) throw new PtxSyntaxError(problem, instruction.ptxLine, instruction.text);
  }
}

function problemOf(fn: PtxFunction, instruction: PtxInstruction, names: ReadonlySet<string>): string | undefined {
  const { operands, guard, text } = instruction;
  if (guard && bitsOfPtxType(fn.registers.get(guard.register)!) !== 1) return `${guard.register} is not a predicate`;
  for (const leaf of operands.flatMap(leavesOf))
    if (leaf.kind === 'symbol' && !names.has(leaf.name)) return `nothing is named \`${leaf.name}\``;
  const places = INSTRUCTIONS.get(instruction.opcode)?.operands(instruction);
  if (!places) return undefined;
  const required = places.filter((place) => !('optional' in place)).length;
  if (operands.length < required || operands.length > places.length)
    return `\`${text}\` takes ${required} operands, not ${operands.length}`;
  for (const [index, operand] of operands.entries()) {
    const problem = misfit(fn, instruction, operand, places[index]!);
    if (problem !== undefined) return `operand ${index + 1} of \`${text}\` ${problem}`;
  }
  return undefined;
}

function misfit(fn: PtxFunction, instruction: PtxInstruction, operand: PtxOperand, place: Place): string | undefined {
  if (place.is === 'anything') return undefined;
  if (place.is === 'label') return operand.kind === 'label' ? undefined : 'is not a label';
  if (place.is === 'address') return operand.kind === 'address' ? addressProblem(fn, operand) : 'is not an address';
  if (operand.kind === 'vector') return vectorProblem(fn, instruction, operand.elements, place);
  if (operand.kind === 'address' || operand.kind === 'label')
    return `is ${operand.kind === 'label' ? 'a label' : 'an address'}`;
  const [first, second] = pairsOf(operand);
  const widthProblem = first && registerProblem(fn, first, place);
  if (widthProblem !== undefined) return widthProblem;
  return second && registerProblem(fn, second, { is: 'value', bits: 1 });
}

/** An address is a name or a register of 32 or 64 bits. */
function addressProblem(fn: PtxFunction, { base }: Extract<PtxOperand, { kind: 'address' }>): string | undefined {
  if (base?.kind !== 'register') return undefined;
  const bits = bitsOfPtxType(fn.registers.get(base.name)!);
  return bits === 32 || bits === 64 ? undefined : `has an address of ${bits} bits`;
}

/** A vector of a load or store has elements of its type; one of a mov makes up the type's width. */
function vectorProblem(
  fn: PtxFunction,
  instruction: PtxInstruction,
  elements: readonly PtxOperand[],
  place: Extract<Place, { is: 'value' }>,
): string | undefined {
  const width = vectorLength(instruction);
  const isAccess = runsAs(instruction) === 'access';
  if (isAccess && elements.length !== width) return `has ${elements.length} elements, not ${width}`;
  if (!isAccess && instruction.opcode !== 'mov') return `can't be a vector in \`${instruction.text}\``;
  const each = isAccess ? place : { is: 'value' as const, bits: place.bits / elements.length };
  return elements.map((element) => registerProblem(fn, element, each)).find((problem) => problem !== undefined);
}

function registerProblem(
  fn: PtxFunction,
  operand: PtxOperand,
  { bits, orMore }: Extract<Place, { is: 'value' }>,
): string | undefined {
  if (operand.kind !== 'register') return undefined;
  const type = fn.registers.get(operand.name)!;
  const width = bitsOfPtxType(type);
  const fits = width === bits || (orMore === true && width > bits);
  return fits ? undefined : `is ${operand.name}, a .${type} register, where ${bits} bits are wanted`;
}

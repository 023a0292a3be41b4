/** Looks up an instruction's properties in the table. An opcode without a row is assumed to compute. */
import { LANES_PER_WARP } from '../../core/gpu-sizes.ts';
import { onceFor } from '../../core/once-for.ts';
import type { InstructionClass } from '../../core/vocabulary.ts';
import type { PtxInstruction, PtxOperand } from '../ast.ts';
import { has, lastModifier, typesOf } from '../instruction-parts.ts';
import { collectRegisters } from '../operands.ts';
import { floatOf } from '../types.ts';
import type { Control, MachineCode, MemoryAction, OrRule, Result, Runs, Synchronisation } from './row.ts';
import { INSTRUCTIONS } from './table.ts';

const resolve = <T>(property: OrRule<T>, instruction: PtxInstruction): T =>
  typeof property === 'function' ? (property as (instruction: PtxInstruction) => T)(instruction) : property;

/** Class of an instruction, or undefined for an opcode that is not in the table. */
export function instructionClass(instruction: PtxInstruction): InstructionClass | undefined {
  const row = INSTRUCTIONS.get(instruction.opcode);
  return row && resolve(row.class, instruction);
}

/** What it becomes in machine code, if that is not one instruction. */
export const expansionOf = (instruction: PtxInstruction): MachineCode | undefined =>
  INSTRUCTIONS.get(instruction.opcode)?.expansion(instruction);

/** How a warp runs it, or undefined for an opcode that is not in the table. */
export function runsAs(instruction: PtxInstruction): Runs | undefined {
  const row = INSTRUCTIONS.get(instruction.opcode);
  return row && resolve(row.runs, instruction);
}

/** Who meets at an instruction. */
export function synchronisationOf(instruction: PtxInstruction): Synchronisation {
  const row = INSTRUCTIONS.get(instruction.opcode);
  return row ? resolve(row.synchronises, instruction) : 'none';
}

/** The mask of the lanes that meet, where a warp does; undefined if all 32 must. */
export const namedLanesOf = (instruction: PtxInstruction): PtxOperand | undefined =>
  INSTRUCTIONS.get(instruction.opcode)?.namesLanes && synchronisationOf(instruction) === 'warp'
    ? instruction.operands.at(-1)
    : undefined;

export const memoryActionOf = ({ opcode }: PtxInstruction): MemoryAction => INSTRUCTIONS.get(opcode)?.memory ?? 'none';

/** Whether it shows that an address of shared memory holds the rank of its CTA. */
export const showsRanks = ({ opcode }: PtxInstruction): boolean => INSTRUCTIONS.get(opcode)?.showsRanks ?? false;

/** Whether its result is a sum or a product of whole numbers, or a copy of one: no bits of it are lost but by overflow. */
export const isSumOrProduct = (instruction: PtxInstruction): boolean =>
  (INSTRUCTIONS.get(instruction.opcode)?.isSumOrProduct ?? false) &&
  typesOf(instruction).every((type) => /^[bsu]\d+$/.test(type)) &&
  !has(instruction, 'hi');

export const controlOf = ({ opcode }: PtxInstruction): Control => INSTRUCTIONS.get(opcode)?.control ?? 'next';

/** Where the value of the destination, the first operand, comes from; `none` when nothing is written. */
export function resultOf(instruction: PtxInstruction): Result {
  const row = INSTRUCTIONS.get(instruction.opcode);
  const result = row ? resolve(row.result, instruction) : 'operands';
  return instruction.operands[0]?.kind === 'address' ? 'none' : result;
}

/**
 * Registers an instruction writes and reads, guard included. A guarded instruction may leave its definitions as they
 * were. Accumulators are both.
 */
export const definitionsAndUses = onceFor(namedRegisters);

/** Once, because instructions do not change after parsing and are looked up dozens of times. */
function namedRegisters(instruction: PtxInstruction): DefinitionsAndUses {
  const { operands, guard } = instruction;
  const [definitions, uses]: [string[], string[]] = [[], []];
  const result = resultOf(instruction);
  operands.forEach((operand, index) => {
    const isDestination = index === 0 && result !== 'none';
    if (isDestination) collectRegisters(operand, definitions);
    if (!isDestination || result === 'accumulator') collectRegisters(operand, uses);
  });
  if (guard) uses.push(guard.register);
  return { definitions, uses };
}

export interface DefinitionsAndUses {
  readonly definitions: readonly string[];
  readonly uses: readonly string[];
}

/** Kind of floating-point work, as in `CounterTotals.flop`. */
export type FlopKind = 'fp16' | 'fp32' | 'fp64' | 'tensor';

/** Floating-point operations per active lane. A fused multiply-add is two; comparisons, moves and conversions none. */
export interface FlopPerLane {
  kind: FlopKind;
  count: number;
}

/** Flop of one lane of `instruction`; undefined when it does no floating-point arithmetic. */
export function flopPerLane(instruction: PtxInstruction): FlopPerLane | undefined {
  const flop = INSTRUCTIONS.get(instruction.opcode)?.flop ?? 0;
  if (flop === 'matrix') return matrixFlop(instruction);
  const type = floatOf(lastModifier(instruction));
  return flop > 0 && type ? { kind: type.kind, count: flop * type.elements } : undefined;
}

const MATRIX_SHAPE = /^m(\d+)n(\d+)k(\d+)$/;
const INTEGER_ELEMENT = /^[su][48]$|^b1$/;
const WARPS_PER_WARPGROUP = 4;

/** Work of a whole matrix instruction, spread over the lanes that issue it. */
function matrixFlop(instruction: PtxInstruction): FlopPerLane | undefined {
  const { modifiers } = instruction;
  const shape = modifiers.map((modifier) => MATRIX_SHAPE.exec(modifier)).find((match) => match !== null);
  if (!shape || instructionClass(instruction) !== 'tensor') return undefined;
  if (modifiers.some((modifier) => INTEGER_ELEMENT.test(modifier))) return undefined;
  const [m, n, k] = shape.slice(1).map(Number) as [number, number, number];
  const warps = synchronisationOf(instruction) === 'warpgroup' ? WARPS_PER_WARPGROUP : 1;
  return { kind: 'tensor', count: (2 * m * n * k) / (LANES_PER_WARP * warps) };
}

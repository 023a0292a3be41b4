import type { DType } from '../../../core/dtype.ts';
import type { PtxInstruction } from '../../../ptx/ast.ts';
import { has, typeOf } from '../../../ptx/instruction-parts.ts';
import { sizeOfPtxType } from '../../../ptx/types.ts';
import { doubleCombination, wordCombination } from '../combinations.ts';
import type { ElementReduction } from './parts.ts';

const OPERATIONS = ['add', 'min', 'max', 'inc', 'dec', 'and', 'or', 'xor'] as const;
type Operation = (typeof OPERATIONS)[number];

const operationOf = ({ modifiers }: PtxInstruction): Operation | undefined =>
  OPERATIONS.find((operation) => modifiers.includes(operation));

/** What `cp.reduce.async.bulk` does to each element, by the type it names; undefined for forms that virtual GPUs lack. */
export function bulkReduction(instruction: PtxInstruction): ElementReduction | undefined {
  const type = typeOf(instruction);
  const operation = operationOf(instruction);
  const isOfFloats = type.includes('f');
  const isHalf = isOfFloats && sizeOfPtxType(type) === 2;
  if (operation === undefined || (isOfFloats && !(isHalf ? HALF : FLOATING).includes(operation))) return undefined;
  return reductionOf(operation, type);
}

const INTEGER: readonly Operation[] = ['add', 'min', 'max', 'and', 'or', 'xor'];
const HALF: readonly Operation[] = ['add', 'min', 'max'];
const FLOATING: readonly Operation[] = ['add'];

/**
 * The types of tensor maps that can be reduced into, in PTX, and how. The PTX ISA names the operations and leaves the types to the map: this is what
 * docs/results/h200-instructions.json has.
 */
const TENSOR_REDUCTIONS: Partial<Record<DType, { type: string; operations: readonly Operation[] }>> = {
  i32: { type: 's32', operations: INTEGER },
  u32: { type: 'u32', operations: OPERATIONS },
  // An H200 stops at the others with an illegal instruction.
  i64: { type: 's64', operations: ['min', 'max'] },
  u64: { type: 'u64', operations: INTEGER },
  f16: { type: 'f16', operations: HALF },
  bf16: { type: 'bf16', operations: HALF },
  f32: { type: 'f32', operations: FLOATING },
  f64: { type: 'f64', operations: FLOATING },
};

/** What `cp.reduce.async.bulk.tensor` does to each element of a tensor; undefined for what virtual GPUs lack. */
export function tensorReduction(instruction: PtxInstruction, dtype: DType): ElementReduction | undefined {
  const operation = operationOf(instruction);
  const known = TENSOR_REDUCTIONS[dtype];
  return operation !== undefined && known?.operations.includes(operation)
    ? reductionOf(operation, known.type)
    : undefined;
}

/** True for reductions into tensors, of whatever elements. */
export const isTensorReduction = (instruction: PtxInstruction): boolean =>
  has(instruction, 'tensor') && operationOf(instruction) !== undefined;

function reductionOf(operation: Operation, type: string): ElementReduction | undefined {
  const elementBytes = sizeOfPtxType(type);
  const apply = elementBytes === 8 ? onDoubles(operation, type) : onWords(operation, type, elementBytes);
  return apply && { elementBytes, apply };
}

function onDoubles(operation: Operation, type: string): ElementReduction['apply'] | undefined {
  const combine = doubleCombination(operation, type);
  return (
    combine &&
    ((to, at, from, fromAt) =>
      to.setBigUint64(at, combine(to.getBigUint64(at, true), from.getBigUint64(fromAt, true), 0n), true))
  );
}

function onWords(operation: Operation, type: string, elementBytes: number): ElementReduction['apply'] | undefined {
  const combine = wordCombination(operation, type, elementBytes * 8);
  if (!combine) return undefined;
  return elementBytes === 4
    ? (to, at, from, fromAt) => to.setUint32(at, combine(to.getUint32(at, true), from.getUint32(fromAt, true), 0), true)
    : (to, at, from, fromAt) =>
        to.setUint16(at, combine(to.getUint16(at, true), from.getUint16(fromAt, true), 0), true);
}

import type { PtxInstruction } from '../../../ptx/ast.ts';
import { formOf } from '../../../ptx/instruction-parts.ts';
import type { LaneEmitter } from './context.ts';
import { BIT_FORMS } from './forms/bits.ts';
import { CONVERSION_FORMS } from './forms/conversions.ts';
import { FLOAT_TO_INTEGER_FORMS } from './forms/float-to-integer.ts';
import { FLOAT_FORMS } from './forms/floats.ts';
import { HALF_FORMS } from './forms/halves.ts';
import { IMMEDIATE_FORMS } from './forms/immediates.ts';
import { INTEGER_FORMS } from './forms/integers.ts';
import { MOVE_FORMS } from './forms/moves.ts';
import { NARROW_CONVERSION_FORMS } from './forms/narrow-conversions.ts';
import { PACKED_INTEGER_FORMS } from './forms/packed-integers.ts';
import { PREDICATE_FORMS } from './forms/predicates.ts';
import { SHIFT_FORMS } from './forms/shifts.ts';

const TABLES = [
  BIT_FORMS,
  SHIFT_FORMS,
  PACKED_INTEGER_FORMS,
  INTEGER_FORMS,
  FLOAT_FORMS,
  HALF_FORMS,
  CONVERSION_FORMS,
  FLOAT_TO_INTEGER_FORMS,
  NARROW_CONVERSION_FORMS,
  PREDICATE_FORMS,
  MOVE_FORMS,
];

/** Every lane-wise instruction form that has its own vector code. */
export const LANE_FORMS: ReadonlyMap<string, LaneEmitter> = new Map(TABLES.flatMap((table) => [...table]));

/** Forms that are only right where the host's multiply-add rounds once. */
const NEED_FUSED: ReadonlySet<string> = new Set(['fma.f64', 'mad.f64']);

/** The vector code of a lane-wise instruction, if it has any on such a host. */
export function laneEmitter(instruction: PtxInstruction, fusedMultiplyAdd: boolean): LaneEmitter | undefined {
  const form = formOf(instruction);
  if (!fusedMultiplyAdd && NEED_FUSED.has(form)) return undefined;
  const withImmediates = IMMEDIATE_FORMS.get(form);
  const applies = withImmediates?.operands.every((index) => instruction.operands[index]?.kind === 'immediate');
  return applies ? withImmediates!.emit : LANE_FORMS.get(form);
}

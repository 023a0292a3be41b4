import type { PtxInstruction } from '../../ptx/ast.ts';
import type { LaneEmitter } from './lane-context.ts';
import { BIT_FORMS } from './lane-forms/bits.ts';
import { CONVERSION_FORMS } from './lane-forms/conversions.ts';
import { FLOAT_TO_INTEGER_FORMS } from './lane-forms/float-to-integer.ts';
import { FLOAT_FORMS } from './lane-forms/floats.ts';
import { HALF_FORMS } from './lane-forms/halves.ts';
import { IMMEDIATE_FORMS, INTEGER_FORMS } from './lane-forms/integers.ts';
import { MOVE_FORMS } from './lane-forms/moves.ts';
import { NARROW_CONVERSION_FORMS } from './lane-forms/narrow-conversions.ts';
import { PACKED_INTEGER_FORMS } from './lane-forms/packed-integers.ts';
import { PREDICATE_FORMS } from './lane-forms/predicates.ts';

const TABLES = [
  BIT_FORMS,
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

/** Modifiers that do not change what is computed here: the default rounding, and hints. `ftz` is handled apart. */
const NEUTRAL: ReadonlySet<string> = new Set(['rn', 'ftz', 'uni', 'full']);

/** Opcode with the modifiers that matter, e.g. `fma.f32` for `fma.rn.ftz.f32`. */
export function formOf(instruction: PtxInstruction): string {
  const modifiers = instruction.modifiers.filter((m) => !NEUTRAL.has(m));
  return [instruction.opcode, ...modifiers].join('.');
}

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

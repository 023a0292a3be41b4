import type { PtxInstruction } from '../ast.ts';
import { has, lastModifier } from '../instruction-parts.ts';
import type { MachineCode } from './row.ts';

/*
 * PTX instructions that become several. The figures follow from the algorithms and from the latencies of an H200: they are
 * estimates, not measured.
 */

type ExpansionOf = (instruction: PtxInstruction) => MachineCode | undefined;

const isInteger = (type: string): boolean => /^[sub]\d/.test(type);
const isWide = (instruction: PtxInstruction): boolean =>
  /^[sub]64$/.test(lastModifier(instruction)) && !has(instruction, 'wide');

/** Divides integers by way of a reciprocal in floating point; floating-point numbers with Newton steps, and a test for hard ones. */
export const divided: ExpansionOf = (instruction) => {
  const type = lastModifier(instruction);
  if (isInteger(type))
    return isWide(instruction) ? { instructions: 70, extraClocks: 300 } : { instructions: 18, extraClocks: 85 };
  if (type === 'f64') return { instructions: 20, extraClocks: 150 };
  return has(instruction, 'rn') ? { instructions: 10, extraClocks: 45 } : { instructions: 3, extraClocks: 8 };
};

/** A value scaled on its way in and out of the special-function unit, unless subnormal numbers are flushed. */
export const scaled: ExpansionOf = (instruction) =>
  lastModifier(instruction) === 'f32' && !has(instruction, 'ftz') ? { instructions: 3, extraClocks: 8 } : undefined;

/** Exact ones take a Newton step. */
export const rooted: ExpansionOf = (instruction) =>
  lastModifier(instruction) === 'f32' && has(instruction, 'rn')
    ? { instructions: 7, extraClocks: 30 }
    : scaled(instruction);

/** Two halves of 32 bits, with a carry. */
export const inHalves: ExpansionOf = (instruction) =>
  isWide(instruction) ? { instructions: 2, extraClocks: 2 } : undefined;

/** Three products of 32 bits. */
export const multiplied: ExpansionOf = (instruction) =>
  isWide(instruction) ? { instructions: 3, extraClocks: 8 } : undefined;

/**
 * The driver's vprintf writes to a queue in the host's memory: 24.6 µs for one line on an H200 of 1.98 GHz (`prints` in
 * docs/results/h200-times.json), in which its warp does nothing else.
 */
export const printed: ExpansionOf = () => ({ instructions: 48_700, extraClocks: 0 });

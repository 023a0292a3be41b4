import fc from 'fast-check';
import type { PtxInstruction } from '../../../src/ptx/ast.ts';
import { instructionsOf, parseBody } from '../../ptx/support.ts';
import { errorBound } from '../../support/ptx-interpreter/approximate.ts';
import { decode, type FloatType, isFloatType, isNanBits, numberOf } from '../../support/ptx-interpreter/formats.ts';
import { executeWarp } from '../../support/ptx-interpreter/index.ts';
import type { LaneState } from '../../support/ptx-interpreter/lane.ts';
import type { OpcodeForm } from './forms.ts';
import {
  declarations,
  instantiate,
  type Mode,
  resultRegister,
  sourceRegister,
  UNTOUCHED,
  WARP_LANES,
} from './kernel.ts';
import { type Cases, warpMask } from './launch-inputs.ts';
import { valuesOf } from './values.ts';

/** Draws inputs for `warps` warps. */
export function drawCases(form: OpcodeForm, warps: number, seed: number): Cases {
  const threads = warps * WARP_LANES;
  const draw = <T>(arbitrary: fc.Arbitrary<T>, count: number, salt: number): T[] =>
    fc.sample(arbitrary, { numRuns: count, seed: seed * 31 + salt });
  const values = form.sources.map((kind, s) => draw(valuesOf(kind), threads + 1, s));
  return {
    threads,
    sources: values.map((drawn) => drawn.slice(0, threads)),
    uniform: values.map((drawn) => drawn[threads]!),
    // At least one lane of every warp is on.
    active: draw(fc.boolean(), threads, 99).map((on, t) => on || t % WARP_LANES === 5),
  };
}

/** Source values of a thread in a mode. */
export const inputsOf = (cases: Cases, mode: Mode, thread: number): bigint[] =>
  mode === 'uniform' ? cases.uniform : cases.sources.map((values) => values[thread]!);

/** True when the thread executes the form in a mode. */
export const executes = (cases: Cases, mode: Mode, thread: number): boolean =>
  mode === 'full' || mode === 'uniform' || cases.active[thread]!;

export interface ParsedForm {
  instructions: PtxInstruction[];
  types: ReadonlyMap<string, string>;
}

export function parseForm(form: OpcodeForm, mode: Mode): ParsedForm {
  const fn = parseBody(`${declarations(form)} ${instantiate(form, mode)}`);
  return { instructions: instructionsOf(fn), types: fn.registers };
}

const bitsOf: Record<string, number> = { pred: 1, b16: 16, b32: 32, b64: 64 };

/** What a result register holds where the lane did not execute. */
export const untouched = (type: string): bigint => (type === 'pred' ? 1n : BigInt.asUintN(bitsOf[type]!, UNTOUCHED));

/** The interpreter's results: `[r][t]`; undefined where the ISA gives no value. */
export function expectedResults(form: OpcodeForm, cases: Cases, mode: Mode): (bigint | undefined)[][] {
  const { instructions, types } = parseForm(form, mode);
  const results = form.results.map((type) =>
    Array.from({ length: cases.threads }, (): bigint | undefined => untouched(type)),
  );
  for (let first = 0; first < cases.threads; first += WARP_LANES) {
    const lanes = new Map<number, LaneState>();
    for (let lane = 0; lane < WARP_LANES; lane++) {
      if (executes(cases, mode, first + lane)) lanes.set(lane, startOf(cases, mode, first + lane));
    }
    for (const instruction of instructions) executeWarp(instruction, types, lanes);
    for (const [lane, { registers }] of lanes) {
      form.results.forEach((_, r) => {
        results[r]![first + lane] = registers.get(resultRegister(mode, r));
      });
    }
  }
  return results;
}

function startOf(cases: Cases, mode: Mode, thread: number): LaneState {
  const registers = new Map<string, bigint>([
    ['%activeMask', BigInt(warpMask(cases, thread))],
    ['%allLanes', 0xffffffffn],
  ]);
  inputsOf(cases, mode, thread).forEach((value, s) => {
    registers.set(sourceRegister(mode, s), value);
  });
  return { registers, carry: 0n };
}

/** Opcodes whose result is not of their last modifier's type. */
const INTEGER_RESULT: ReadonlySet<string> = new Set(['setp', 'testp', 'copysign', 'abs', 'neg', 'mov', 'selp', 'slct']);

/** Floating-point type of the result, when NaNs are to be compared as NaN rather than by payload. */
function resultFloatType({ opcode, modifiers }: PtxInstruction): FloatType | undefined {
  if (INTEGER_RESULT.has(opcode) && opcode !== 'abs' && opcode !== 'neg') return undefined;
  const name = (opcode === 'cvt' || opcode === 'set' ? modifiers.at(-2) : modifiers.at(-1))!.replace('x2', '');
  return isFloatType(name) ? name : undefined;
}

/**
 * Why `got` is not an acceptable result, or undefined when it is. Bits must be equal, except that any NaN stands for
 * another, and that approximate functions may err within the ISA's bound.
 */
export function disagreement(
  instruction: PtxInstruction,
  inputs: readonly bigint[],
  got: bigint,
  want: bigint,
  resultType: string,
): string | undefined {
  if (got === want) return undefined;
  const type = resultFloatType(instruction);
  if (!type) return 'bits differ';
  const elementBits = { f16: 16, bf16: 16, f32: 32, f64: 64, e4m3: 8, e5m2: 8 }[type];
  for (let shift = 0; shift < bitsOf[resultType]!; shift += elementBits) {
    const cut = (bits: bigint): bigint => BigInt.asUintN(elementBits, bits >> BigInt(shift));
    const problem = elementDisagreement(instruction, type, inputs.map(cut), cut(got), cut(want));
    if (problem) return problem;
  }
  return undefined;
}

function elementDisagreement(
  instruction: PtxInstruction,
  type: FloatType,
  inputs: readonly bigint[],
  got: bigint,
  want: bigint,
): string | undefined {
  if (got === want || (isNanBits(type, got) && isNanBits(type, want))) return undefined;
  const bound = errorBound(instruction);
  if (!bound) return 'bits differ';
  const [x, y] = inputs.map((bits) => numberOf(decode(type, bits)));
  if (bound.domain && !bound.domain(x!, y ?? 0)) return undefined;
  const [a, b] = [numberOf(decode(type, got)), numberOf(decode(type, want))];
  // Below the normal range an approximate result may be flushed.
  const smallest = type === 'f16' ? 2 ** -14 : 2 ** -126;
  const allowed = Math.max(bound.absolute, bound.relative * Math.abs(b), Math.abs(b) <= smallest ? smallest : 0);
  return Math.abs(a - b) <= allowed ? undefined : `|${a} − ${b}| > ${allowed}`;
}

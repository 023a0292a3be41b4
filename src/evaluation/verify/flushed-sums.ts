import { type CompiledCode, ptxOf } from '../../core/compiled-code.ts';
import { onceFor } from '../../core/once-for.ts';
import type { Expectations } from '../oracle/expectations.ts';

/**
 * What a sum in fp32 may lose where additions take subnormal numbers for zeros: less than 2⁻¹²⁶ in each of them, and a thousand million of
 * them in a sum of nothing else.
 */
const LOST = 2 ** -96;

/** `atom.global.add.f32`, `red.add.f32`, `red.global.add.v4.f32`: not in shared memory, where subnormal numbers are kept. */
const ADDITION = /\b(?:atom|red)\.(?!(?:[\w:]+\.)*shared)(?:[\w:]+\.)*add\.(?:v[248]\.)?f32\b/;

/** `add.ftz.f32`, `fma.rn.ftz.f32`: flags of the compiler ask for them, so that hardware is no excuse for what they lose. */
const FLUSHING = /\b(?:add|sub|fma|mad)\.(?:\w+\.)*ftz\.(?:\w+\.)*f32\b/;

/** Whether the code may add to device memory by f32 atomics, and flushes nowhere else; also where only machine code is there. */
const addsAtomically = onceFor((code: CompiledCode): boolean => {
  const ptx = ptxOf(code);
  return ptx === undefined || (ADDITION.test(ptx) && !FLUSHING.test(ptx));
});

/**
 * Atomic additions of f32 in device memory take subnormal numbers for zeros on every GPU (PTX ISA, `atom`; an H200 did). A kernel that adds up
 * so may lose them: where tolerances are smaller than that, they become as large. Exact comparisons stay exact. Code whose other additions
 * flush, because its flags say so, may lose nothing: of a thousand elements it would lose a thousand, and its atomics one.
 */
export function allowFlushedSums(expectations: Expectations, code: CompiledCode): Expectations {
  if (!addsAtomically(code)) return expectations;
  return new Map(
    [...expectations].map(([name, expectation]) => {
      const { tolerances, rmsLimit } = expectation;
      if (!hasSmaller(tolerances)) return [name, expectation];
      const wider = tolerances.map((tolerance) => (tolerance > 0 ? Math.max(tolerance, LOST) : tolerance));
      return [name, { ...expectation, tolerances: wider, rmsLimit: rmsLimit && Math.max(rmsLimit, LOST) }];
    }),
  );
}

/** A loop: a callback for each of millions of elements takes several times as long. */
function hasSmaller(tolerances: Float64Array): boolean {
  for (let i = 0; i < tolerances.length; i++) if (tolerances[i]! > 0 && tolerances[i]! < LOST) return true;
  return false;
}

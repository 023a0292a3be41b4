import type { OpcodeForm } from './forms.ts';
import { WARP_LANES } from './kernel.ts';

/** Inputs of one launch: `sources[s][t]` for thread t, one value per source for uniform mode, and which lanes are on. */
export interface Cases {
  threads: number;
  sources: bigint[][];
  uniform: bigint[];
  active: boolean[];
}

/** Bit per active lane of the thread's warp. */
export function warpMask(cases: Cases, thread: number): number {
  const first = thread - (thread % WARP_LANES);
  let mask = 0;
  for (let lane = 0; lane < WARP_LANES; lane++) if (cases.active[first + lane]) mask |= 1 << lane;
  return mask >>> 0;
}

/** As `kernelText` expects them in `in`. */
export function packInputs(form: OpcodeForm, cases: Cases): BigUint64Array<ArrayBuffer> {
  const { threads, sources, active } = cases;
  const words = new BigUint64Array((sources.length + 2) * threads);
  for (let t = 0; t < threads; t++) {
    form.sources.forEach((_, s) => {
      words[s * threads + t] = sources[s]![t]!;
    });
    words[sources.length * threads + t] = active[t] ? 1n : 0n;
    words[(sources.length + 1) * threads + t] = BigInt(warpMask(cases, t));
  }
  return words;
}

import { createStream } from '../../../src/stats/random.ts';
import { byThread0, kernelText, POINTER } from '../hopper/ptx.ts';
import { drawerOf } from './draw-floats.ts';
import type { RecordedCase } from './recorded-case.ts';

const STEPS = 40;
/** After each step: what was pending before an arrival, and whether the phases of both parities are over. */
const WORDS_OF_A_STEP = 3;
const NO_ARRIVAL = '0xffffffff';

/** An mbarrier as the PTX ISA has it, to keep a sequence of operations allowed. */
interface Counts {
  expected: number;
  pending: number;
  bytes: number;
}

function endPhase(counts: Counts): void {
  if (counts.pending > 0 || counts.bytes > 0) return;
  counts.pending = counts.expected;
}

const arriveBy = (count: number, opcode = 'arrive'): string =>
  `mbarrier.${opcode}.shared::cta.b64 %rd1, [%r10], ${count}; mbarrier.pending_count.b64 %r20, %rd1;`;

/** A step that is allowed, and what becomes of the counts. */
function drawStep(counts: Counts, next: () => number): string {
  const kind = next() % 6;
  if (counts.bytes > 0 && (kind < 2 || counts.pending === 0)) {
    const bytes = 1 + (next() % counts.bytes);
    counts.bytes -= bytes;
    endPhase(counts);
    return `mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%r10], ${bytes};`;
  }
  if (kind === 2 && counts.bytes < 1000) {
    const bytes = 16 * (1 + (next() % 8));
    counts.bytes += bytes;
    return `mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%r10], ${bytes};`;
  }
  if (kind === 3) {
    const bytes = 16 * (1 + (next() % 8));
    counts.bytes += bytes;
    counts.pending -= 1;
    return `mbarrier.arrive.expect_tx.shared::cta.b64 %rd1, [%r10], ${bytes}; mbarrier.pending_count.b64 %r20, %rd1;`;
  }
  if (kind === 4 && counts.expected > 2) {
    counts.expected -= 1;
    counts.pending -= 1;
    endPhase(counts);
    return arriveBy(1, 'arrive_drop');
  }
  const count = 1 + (next() % counts.pending);
  counts.pending -= count;
  endPhase(counts);
  return arriveBy(count);
}

function caseOf(expected: number): RecordedCase {
  const next = drawerOf(createStream('recorded mbarrier', expected));
  const counts: Counts = { expected, pending: expected, bytes: 0 };
  const tell = (step: number): string => {
    const at = step * WORDS_OF_A_STEP * 4;
    const ended = (parity: number, word: number): string =>
      `mbarrier.test_wait.parity.shared::cta.b64 %p1, [%r10], ${parity}; selp.u32 %r21, 1, 0, %p1; st.global.b32 [%rd2+${at + word * 4}], %r21;`;
    return `st.global.b32 [%rd2+${at}], %r20; ${ended(0, 1)} ${ended(1, 2)}`;
  };
  const steps = Array.from(
    { length: STEPS },
    (_, step) => `mov.u32 %r20, ${NO_ARRIVAL}; ${drawStep(counts, next)} ${tell(step)}`,
  );
  const bytes = STEPS * WORDS_OF_A_STEP * 4;
  return {
    name: `mbarrier of ${expected} arrivals`,
    family: 'mbarriers',
    ptx: kernelText({
      parameters: [POINTER('out')],
      threads: 32,
      body: `
  mov.u32 %r10, smem; ld.param.u64 %rd2, [out]; cvta.to.global.u64 %rd2, %rd2;
  ${byThread0(`mbarrier.init.shared::cta.b64 [%r10], ${expected};
  ${steps.join('\n  ')}`)}`,
    }),
    buffers: () => ({ out: bytes }),
    launches: [{ block: 32, dynamicSharedBytes: 64, arguments: ['out'] }],
    parts: [{ name: 'steps', bytes }],
  };
}

export const MBARRIER_CASES: readonly RecordedCase[] = [1, 2, 5, 17, 1000].map(caseOf);

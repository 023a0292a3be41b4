import { describe, expect, it } from 'vitest';
import { buildControlFlowGraph } from '../../src/ptx/control-flow.ts';
import { issueTimes } from '../../src/ptx/issue-times.ts';
import { parseBody, REGISTERS } from './support.ts';

/** The pieces of a body. `p` is in %rd1, and loaded values are stored at the end, so that something waits for them. */
function timesOf(text: string) {
  const fn = parseBody(`${REGISTERS} .reg .f32 %g<40>; ${text}`);
  return issueTimes(fn, buildControlFlowGraph(fn)).map(({ time: { issued, waits } }) => ({
    issued,
    waits: Object.fromEntries([...waits].map(([name, count]) => [name, Number(count.toFixed(2))])),
  }));
}

const waitsOf = (text: string) => timesOf(text)[0]!.waits;
const range = (count: number): number[] => Array.from({ length: count }, (_, i) => i);

describe('waits for loads', () => {
  it('cover each other where the loads are independent: about one latency for eight', () => {
    const loads = range(8).map((i) => `ld.global.f32 %g${i}, [%rd1+${4 * i}];`);
    const sums = range(7).map((i) => `add.f32 %g${i + 1}, %g${i}, %g${i + 1};`);
    const waits = waitsOf([...loads, ...sums, 'st.shared.f32 [0], %g7;', 'ret;'].join(' '));
    expect(waits['global-load']).toBeGreaterThan(0.9);
    expect(waits['global-load']).toBeLessThan(1.05);
  });

  it('follow each other where an address is loaded', () => {
    const chase = range(4).map(() => 'ld.global.b64 %rd1, [%rd1];');
    expect(waitsOf([...chase, 'st.shared.b64 [0], %rd1;', 'ret;'].join(' '))['global-load']).toBeCloseTo(4, 1);
  });

  /** Loads and stores in turns, the stores to [%rd2], or beside the loads. */
  const inTurns = (store: (i: number) => string): string =>
    [...range(4).flatMap((i) => [`ld.global.f32 %g${i}, [%rd1+${4 * i}];`, store(i)]), 'ret;'].join(' ');

  it('follow each other where a store between them may change what is loaded', () => {
    expect(waitsOf(inTurns((i) => `st.global.f32 [%rd2+${4 * i}], %g${i};`))['global-load']).toBeCloseTo(4, 1);
  });

  it('cover each other where the stores are to other bytes at the same address, or to another space', () => {
    expect(waitsOf(inTurns((i) => `st.global.f32 [%rd1+${64 + 4 * i}], %g${i};`))['global-load']).toBeLessThan(1.1);
    expect(waitsOf(inTurns((i) => `st.shared.f32 [${4 * i}], %g${i};`))['global-load']).toBeLessThan(1.1);
    // The same bytes after all, or at an address that has changed.
    expect(waitsOf(inTurns((i) => `st.global.f32 [%rd1+${4 * i + 4}], %g${i};`))['global-load']).toBeGreaterThan(3);
    const moves = (i: number): string => `st.global.f32 [%rd1+64], %g${i}; add.s64 %rd1, %rd1, %rd3;`;
    expect(waitsOf(inTurns(moves))['global-load']).toBeGreaterThan(3);
  });

  it('are not covered past an atomic', () => {
    const between = (i: number): string => `atom.shared.add.f32 %f1, [${4 * i}], %g${i};`;
    expect(waitsOf(inTurns(between))['global-load']).toBeCloseTo(4, 1);
  });
});

describe('loops', () => {
  const loop = (end: string): string =>
    `mov.b32 %r1, 0; mov.f32 %f1, 0f00000000; $L: ld.global.f32 %f2, [%rd1]; add.s64 %rd1, %rd1, 4;
     add.f32 %f1, %f1, %f2; add.s32 %r1, %r1, 1; setp.ne.s32 %p1, %r1, ${end}; @%p1 bra $L;
     st.shared.f32 [0], %f1; ret;`;
  const perRound = (end: string): number =>
    Math.max(...timesOf(loop(end)).map(({ waits }) => waits['global-load'] ?? 0));

  it('of a constant number of rounds are repeated, so that their loads overlap', () => {
    expect(perRound('64')).toBeLessThan(0.4);
  });

  it('that may end after each round are not', () => {
    expect(perRound('%r2')).toBeGreaterThan(0.9);
  });
});

describe('what a warp issues and waits for besides', () => {
  it('is four clocks for each addition of a chain', () => {
    const chain = range(20).map(() => 'add.f32 %f1, %f1, %f2;');
    const [time] = timesOf([...chain, 'st.shared.f32 [0], %f1;', 'ret;'].join(' '));
    // Issued in one, so three quarters of a latency are waited.
    expect(time!.waits.fp32).toBeCloseTo(20 * 0.75, 0);
    expect(time!.issued).toBe(22);
  });

  it('is a barrier, and a branch', () => {
    expect(waitsOf('bar.sync 0; st.shared.b32 [0], 1; ret;').barrier).toBeCloseTo(1, 1);
    expect(waitsOf('setp.eq.s32 %p1, %r1, 0; @%p1 bra $L; st.shared.b32 [0], 1; bar.sync 0; $L: ret;').control).toBe(1);
  });

  it('is more for what becomes several machine instructions', () => {
    const issued = (text: string): number => timesOf(`${text} st.shared.b64 [0], %rd1; ret;`)[0]!.issued - 2;
    expect(issued('add.s64 %rd1, %rd2, %rd3;')).toBe(2);
    expect(issued('mul.lo.s64 %rd1, %rd2, %rd3;')).toBe(3);
    expect(issued('div.u64 %rd1, %rd2, %rd3;')).toBe(70);
    expect(issued('div.u32 %r1, %r2, %r3;')).toBe(18);
    expect(issued('div.rn.f32 %f1, %f2, %f3;')).toBe(10);
    expect(issued('ex2.approx.ftz.f32 %f1, %f2;')).toBe(1);
    expect(issued('mul.wide.s32 %rd1, %r2, %r3;')).toBe(1);
  });
});

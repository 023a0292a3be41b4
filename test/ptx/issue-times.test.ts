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

describe('waits for loads that other code uses', () => {
  /** A branch that is too long to become a guard. */
  const long = (register: string): string =>
    range(10)
      .map(() => `add.f32 ${register}, ${register}, %f9;`)
      .join(' ');
  const total = (text: string): number =>
    timesOf(text).reduce((sum, { waits }) => sum + (waits['global-load'] ?? 0), 0);

  it('come where the result is used, not where the piece that began them ends', () => {
    const sides = `@%p1 bra $A; ${long('%f5')} bra $B; $A: ${long('%f6')} $B:`;
    const used = total(`ld.global.f32 %f1, [%rd1]; ${sides} ld.global.f32 %f2, [%rd1+4]; add.f32 %f3, %f1, %f2;
      st.shared.f32 [0], %f3; st.shared.f32 [4], %f5; st.shared.f32 [8], %f6; ret;`);
    // The first load goes on beside the branch and the second load.
    expect(used).toBeLessThan(1.1);
    expect(used).toBeGreaterThan(0.8);
  });

  it('cover each other over branches of which each makes the value: a whole tile, or its edge', () => {
    const load = (i: number): string =>
      `@%p1 bra $A${i}; ${long(`%g${10 + i}`)} mov.f32 %g${i}, %g${10 + i}; bra $B${i}; $A${i}: ld.global.f32 %g${i}, [%rd1+${8 * i}]; $B${i}:`;
    const sum = range(4).map((i) => `add.f32 %f1, %f1, %g${i};`);
    const four = total([...range(4).map(load), ...sum, 'st.shared.f32 [0], %f1; ret;'].join(' '));
    expect(four).toBeLessThan(1.1);
  });

  it('come before where only one of two ways has begun them: a lane that asks for all', () => {
    const guarded = `@%p1 bra $A; ld.global.f32 %f1, [%rd1]; ${long('%f5')} bra $B; $A: mov.f32 %f6, %f5; $B:`;
    const times = timesOf(`mov.f32 %f1, 0f00000000; ${guarded} st.shared.f32 [0], %f1; st.shared.f32 [4], %f5;
      st.shared.f32 [8], %f6; ret;`);
    expect(times.at(-1)!.waits['global-load']).toBeUndefined();
    expect(times.some(({ waits }) => (waits['global-load'] ?? 0) > 0.8)).toBe(true);
  });

  it('are one for loads from shared memory that ptxas merges', () => {
    const wide = range(4).map((i) => `ld.shared.f32 %g${i}, [%r1+${4 * i}];`);
    const sums = range(4).map((i) => `add.f32 %f1, %f1, %g${i};`);
    const issuedAt = (base: string): number =>
      timesOf([`mov.b32 %r1, ${base};`, ...wide, ...sums, 'st.global.f32 [%rd1], %f1; ret;'].join(' '))[0]!.issued;
    expect(issuedAt('4') - issuedAt('16')).toBe(3);
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

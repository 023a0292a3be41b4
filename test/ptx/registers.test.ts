import { describe, expect, it } from 'vitest';
import { buildControlFlowGraph } from '../../src/ptx/control-flow.ts';
import { estimateRegisters, spilledRegisters } from '../../src/ptx/registers.ts';
import { parseBody, REGISTERS } from './support.ts';

const range = (count: number): number[] => Array.from({ length: count }, (_, i) => i);
const bodyOf = (text: string) =>
  parseBody(`${REGISTERS} .reg .b32 %x<300>; .reg .b32 %y<300>; .reg .b64 %z<100>; ${text}`);

interface Bounds {
  maxThreads?: readonly [number, number, number];
  minCtasPerSm?: number;
  maxRegisters?: number;
}

/** With one CTA of 1024 threads at most, so that the next step of the occupancy is far. */
function estimate(text: string, bounds: Bounds = { maxThreads: [256, 1, 1] }, target = 'sm_90a'): number {
  const fn = { ...bodyOf(text), ...bounds };
  return estimateRegisters(fn, buildControlFlowGraph(fn), target);
}

/** Loads `count` values, then stores them: all are alive at once. */
const held = (count: number): string =>
  [
    'ld.param.b64 %rd1, [p];',
    ...range(count).map((i) => `ld.global.b32 %x${i}, [%rd1+${4 * i}];`),
    'bar.sync 0;',
    ...range(count).map((i) => `st.global.b32 [%rd1+${4 * i}], %x${i};`),
    'ret;',
  ].join(' ');

describe('estimateRegisters', () => {
  it('counts 64-bit values twice and predicates not at all', () => {
    const values = (type: string, name: string): string =>
      [
        ...range(80).map((i) => `ld.shared.${type} ${name}${i}, [${8 * i}];`),
        'bar.sync 0;',
        ...range(80).map((i) => `st.shared.${type} [${8 * i}], ${name}${i};`),
        'ret;',
      ].join(' ');
    expect(estimate(values('b32', '%x'))).toBe(86);
    expect(estimate(values('b64', '%z'))).toBe(166);
  });

  it('stays within launch bounds', () => {
    expect(estimate(held(200), {})).toBeGreaterThanOrEqual(202);
    expect(estimate(held(200), { maxThreads: [256, 2, 1] })).toBe(128);
    expect(estimate(held(200), { maxThreads: [128, 1, 1], minCtasPerSm: 5 })).toBe(96);
    expect(estimate(held(200), { maxRegisters: 40 })).toBe(40);
  });

  it('gives a kernel that moves registers between its warps all that its bounds allow', () => {
    expect(estimate('setmaxnreg.dec.sync.aligned.u32 24; ret;', { maxThreads: [384, 1, 1] })).toBe(168);
  });

  it('has no place for parameters and constants, and one for addresses that differ by a constant', () => {
    const sums = (term: (i: number) => string): string =>
      [
        'ld.param.b32 %r3, [p]; mov.u32 %r1, %tid.x; mul.lo.s32 %r2, %r1, %r1;',
        ...range(60).flatMap((i) => [term(i), `add.s32 %y${i}, %x${i}, %r2;`]),
        'bar.sync 0;',
        ...range(60).map((i) => `st.shared.b32 [%y${i}], 0;`),
        'ret;',
      ].join(' ');
    expect(estimate(sums((i) => `add.s32 %x${i}, %r1, ${64 * i};`))).toBeLessThan(16);
    expect(estimate(sums((i) => `mul.lo.s32 %x${i}, %r1, ${i + 2};`))).toBeGreaterThan(60);
  });

  it('has two halves of a register in the register that they come from', () => {
    const halves = [
      'ld.param.b64 %rd1, [p]; .reg .b16 %h<200>;',
      ...range(60).map((i) => `ld.global.b32 %x${i}, [%rd1+${4 * i}]; mov.b32 {%h${2 * i}, %h${2 * i + 1}}, %x${i};`),
      'bar.sync 0;',
      ...range(120).map((i) => `st.global.b16 [%rd1+${2 * i}], %h${i};`),
      'ret;',
    ].join(' ');
    expect(estimate(halves)).toBe(66);
  });

  it('does not keep accumulators that wgmma overwrites: its predicate is false', () => {
    const product = (scale: number): string => {
      const sums = range(64).map((i) => `%x${i}`);
      const multiply = `wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 {${sums.join(', ')}}, %rd1, %rd2, %p1, 1, 1, 0, 0;`;
      return [
        'ld.param.b64 %rd1, [p]; ld.param.b64 %rd2, [p+8]; mov.b32 %r1, 0;',
        `mov.b32 %r2, ${scale}; setp.ne.b32 %p1, %r2, 0;`,
        `$loop: ${range(60)
          .map((i) => `ld.shared.b32 %y${i}, [${4 * i}];`)
          .join(' ')} bar.sync 0;`,
        ...range(60).map((i) => `st.shared.b32 [${4 * i}], %y${i};`),
        `bar.sync 0; ${multiply} ${sums.map((sum, i) => `st.shared.b32 [${4 * i}], ${sum};`).join(' ')}`,
        'add.s32 %r1, %r1, 1; setp.lt.s32 %p2, %r1, 9; @%p2 bra $loop; ret;',
      ].join(' ');
    };
    expect(estimate(product(1))).toBeGreaterThan(124);
    expect(estimate(product(0))).toBeLessThan(80);
  });

  it('goes to the next step of the occupancy, not beyond, to move loads up', () => {
    const dependent = (count: number): string =>
      [
        'ld.param.b64 %rd1, [p]; mov.b32 %r1, 0;',
        ...range(count).map((i) => `ld.global.b32 %x${i}, [%rd1+${4 * i}]; add.s32 %r1, %r1, %x${i};`),
        'st.global.b32 [%rd1], %r1; ret;',
      ].join(' ');
    expect(estimate(dependent(60), { maxThreads: [1024, 1, 1] })).toBe(32);
    expect(estimate(dependent(60), { maxThreads: [1024, 1, 1] }, 'sm_89')).toBeGreaterThan(32);
    expect(estimate(dependent(8), { maxThreads: [1024, 1, 1] }, 'sm_89')).toBeLessThan(16);
  });

  it('repeats a short loop', () => {
    const loop = (fence: string): string => `ld.param.b64 %rd1, [p]; mov.b32 %r1, 0; mov.b32 %r2, 0;
      $loop: ${range(4)
        .map((i) => `ld.global.b32 %x${i}, [%rd1+${4 * i}]; add.s32 %r2, %r2, %x${i};`)
        .join(' ')} ${fence}
      add.s64 %rd1, %rd1, 16; add.s32 %r1, %r1, 1; setp.lt.s32 %p1, %r1, 99; @%p1 bra $loop;
      st.global.b32 [%rd1], %r2; ret;`;
    expect(estimate(loop(''))).toBeGreaterThanOrEqual(estimate(loop('bar.sync 0;')) + 6);
  });

  it('takes a small branch for guards, so that loads behind several move up together', () => {
    const guarded = (waits: string): string =>
      [
        'ld.param.b64 %rd1, [p]; mov.b32 %r1, 0; mov.u32 %r2, %tid.x;',
        ...range(12).map(
          (i) => `setp.gt.s32 %p1, %r2, ${i}; @%p1 bra $skip${i}; ld.global.b32 %x${i}, [%rd1+${4 * i}];
            st.shared.b32 [${4 * i}], %x${i}; ${waits} $skip${i}:`,
        ),
        'st.global.b32 [%rd1], %r1; ret;',
      ].join(' ');
    expect(estimate(guarded(''))).toBeGreaterThan(estimate(guarded('bar.sync 0;')));
  });
});

describe('spilledRegisters', () => {
  const spilled = (text: string, bounds: Bounds): number => {
    const fn = { ...bodyOf(text), ...bounds };
    return spilledRegisters(fn, buildControlFlowGraph(fn));
  };

  it('are what the bounds leave no room for', () => {
    expect(spilled(held(200), { maxThreads: [512, 1, 1] })).toBe(74);
    expect(spilled(held(100), { maxThreads: [512, 1, 1] })).toBe(0);
  });
});

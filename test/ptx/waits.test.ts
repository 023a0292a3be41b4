import { describe, expect, it } from 'vitest';
import { predictionCaveats } from '../../src/evaluation/predict-outcome.ts';
import { parsePtx } from '../../src/ptx/parse.ts';
import { drawsOf, pollsOf, spinsOf, waitsIn } from '../../src/ptx/waits.ts';

const module = (...lines: string[]): string =>
  [
    ...['.version 8.0', '.target sm_80', '.address_size 64', '.visible .entry f(.param .u64 p)', '{'],
    ...['.reg .pred %p<2>;', '.reg .b32 %r<4>;', '.reg .b64 %rd<2>;'],
    ...lines,
    ...['ret;', '}'],
  ].join('\n');

const loop = (...lines: string[]): string => module('$L:', ...lines, 'setp.eq.s32 %p1, %r1, 0;', '@%p1 bra $L;');

describe('code that waits', () => {
  it.each([
    ['sleeps', module('nanosleep.u32 100;'), ['sleep']],
    ['sleeps while it waits', loop('nanosleep.u32 %r2;', 'ld.volatile.global.u32 %r1, [%rd1];'), ['sleep', 'poll']],
    ['polls a flag', loop('ld.acquire.gpu.global.u32 %r1, [%rd1];'), ['poll']],
    ['takes a lock', loop('atom.global.cas.b32 %r1, [%rd1], 0, 1;'), ['poll']],
    ['waits at an mbarrier', loop('mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r2], 0;'), ['mbarrier']],
    ['waits for the cluster', module('barrier.cluster.arrive;', 'barrier.cluster.wait;'), ['cluster']],
    ['arrives at one', loop('mbarrier.arrive.shared::cta.b64 _, [%r2];'), []],
    ['reads a flag once', module('ld.acquire.gpu.global.u32 %r1, [%rd1];'), []],
    ['polls shared memory', loop('ld.volatile.shared.u32 %r1, [%r2];'), []],
    ['loops over data', loop('ld.global.nc.u32 %r1, [%rd1];'), []],
    ['counts in a loop', loop('atom.global.add.u32 %r1, [%rd1], 1;'), []],
    ['branches on', module('ld.volatile.global.u32 %r1, [%rd1];', 'bra $L;', '$L:'), []],
  ])('%s', (_, ptx, kinds) => {
    expect(waitsIn(ptx).map(({ kind }) => kind)).toEqual(kinds);
  });

  it('is noted once for each kind, for predictions of PTX', () => {
    const text = loop('nanosleep.u32 1;', 'nanosleep.u32 2;', 'ld.volatile.global.u32 %r1, [%rd1];');
    const code = { kind: 'ptx', text, key: 'k', architecture: 'sm_80', diagnostics: [] } as never;
    expect(predictionCaveats(code).map(({ message }) => message)).toEqual([
      expect.stringContaining('leaves out __nanosleep'),
      expect.stringContaining('leaves out waiting for other CTAs'),
    ]);
  });
});

describe('atomics by which CTAs draw work', () => {
  const DRAW = 'atom.global.add.u32 %r2, [%rd1], 1;';
  it.each([
    ['decide a branch', loop(DRAW, 'add.u32 %r1, %r2, 7;'), 1],
    ['are told to the CTA', loop(DRAW, 'mov.u32 %r0, %r2;', 'st.shared.u32 [%r3], %r0;'), 1],
    ['are none that give a place alone', loop(DRAW, 'st.shared.u32 [%r2], %r3;'), 0],
    ['are none that take a lock', loop('atom.global.cas.b32 %r2, [%rd1], 0, 1;', 'st.shared.u32 [%r3], %r2;'), 0],
    ['are none outside loops', module(DRAW, 'st.shared.u32 [%r3], %r2;'), 0],
    ['are none of shared memory', loop('atom.shared.add.u32 %r2, [%r3], 1;', 'st.shared.u32 [%r3], %r2;'), 0],
  ])('%s', (_, ptx, count) => {
    const [fn] = parsePtx(ptx).functions;
    expect(drawsOf(fn!, pollsOf(fn!)).size).toBe(count);
  });
});

describe('reads with which a warp waits for others of its CTA', () => {
  it.each([
    ['are made anew in a loop', loop('ld.volatile.shared.u32 %r1, [%r2];'), 1],
    ['may have any address', loop('ld.relaxed.cta.u32 %r1, [%rd1];'), 1],
    [
      'are none where the loop changes memory',
      loop('ld.volatile.shared.u32 %r1, [%r2];', 'st.shared.u32 [%r2], 1;'),
      0,
    ],
    ['are none outside loops', module('ld.volatile.shared.u32 %r1, [%r2];'), 0],
    ['are none that registers may answer', loop('ld.shared.u32 %r1, [%r2];'), 0],
  ])('%s', (_, ptx, count) => {
    expect(spinsOf(parsePtx(ptx).functions[0]!).size).toBe(count);
  });
});

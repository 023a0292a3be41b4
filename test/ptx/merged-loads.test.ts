import { describe, expect, it } from 'vitest';
import { alignmentsOf } from '../../src/ptx/alignments.ts';
import { buildControlFlowGraph } from '../../src/ptx/control-flow.ts';
import { mergedLoads } from '../../src/ptx/merged-loads.ts';
import { instructionsOf, parseBody, REGISTERS } from './support.ts';

const TILE = '.shared .align 4 .b8 tile[4096]; mov.b32 %r1, tile;';

/** Bytes and number of the loads that are merged in a body. */
function mergedIn(text: string): [number, number][] {
  const { blocks } = buildControlFlowGraph(parseBody(`${REGISTERS} ${TILE} ${text} ret;`));
  return [...new Set(mergedLoads(blocks).values())].map(({ bytes, loads }) => [bytes, loads.length]);
}

const loads = (type: string, offsets: readonly number[], base = '%r1'): string[] =>
  offsets.map((offset, i) => `ld.shared.${type} ${type.endsWith('16') ? '%rs' : '%f'}${i}, [${base}+${offset}];`);

// What `ptxas -arch=sm_90a` (13.0.88) makes of such loads in gemm/02_tiled, attention/02_tiled, layernorm/04_vectorised.
describe('loads from shared memory that ptxas merges', () => {
  it('are four of 4 bytes or of 2, side by side, and two of 4', () => {
    expect(mergedIn(loads('f32', [0, 4, 8, 12]).join(' '))).toEqual([[16, 4]]);
    expect(mergedIn(loads('b16', [0, 2, 4, 6]).join(' '))).toEqual([[8, 4]]);
    expect(mergedIn(loads('f32', [16, 20]).join(' '))).toEqual([[8, 2]]);
  });

  it('may leave one of four unread, but are not two halves', () => {
    expect(mergedIn(loads('f32', [4, 8, 12]).join(' '))).toEqual([[16, 3]]);
    expect(mergedIn(loads('b16', [0, 2]).join(' '))).toEqual([]);
  });

  it('start at a multiple of their width', () => {
    expect(mergedIn(loads('f32', [4, 8]).join(' '))).toEqual([]);
    // Of %r2 nothing is known; of %r3 that it is a multiple of 8.
    expect(mergedIn(loads('f32', [0, 4, 8, 12], '%r2').join(' '))).toEqual([]);
    const atEight = 'mov.u32 %r4, %tid.x; shl.b32 %r5, %r4, 3; add.s32 %r3, %r1, %r5;';
    const two = [8, 2];
    expect(mergedIn([atEight, ...loads('f32', [0, 4, 8, 12], '%r3')].join(' '))).toEqual([two, two]);
  });

  it('have no store, barrier or change of the register between them', () => {
    const between = (what: string): string =>
      [...loads('f32', [0, 4]), what, 'ld.shared.f32 %f4, [%r1+8];', 'ld.shared.f32 %f5, [%r1+12];'].join(' ');
    expect(mergedIn(between('add.f32 %f6, %f6, %f6;'))).toEqual([[16, 4]]);
    expect(mergedIn(between('st.global.f32 [%rd1], %f6;'))).toEqual([[16, 4]]);
    for (const what of ['st.shared.f32 [%r2], %f6;', 'bar.sync 0;', 'add.s32 %r1, %r1, 16;'])
      expect(mergedIn(between(what)), what).toEqual([
        [8, 2],
        [8, 2],
      ]);
  });
});

describe('alignments', () => {
  const alignments = (text: string) => alignmentsOf(instructionsOf(parseBody(`${REGISTERS} ${TILE} ${text}`)));

  it('follow sums, products, shifts and masks', () => {
    const of = alignments(
      `mov.u32 %r2, %tid.x; shl.b32 %r3, %r2, 2; mad.lo.s32 %r4, %r2, 24, %r1; add.s32 %r5, %r4, 2; and.b32 %r6, %r2, -16;
       mul.wide.u32 %rd1, %r3, 4; or.b32 %r7, %r6, %r3;`,
    );
    const registers = ['%r1', '%r2', '%r3', '%r4', '%r5', '%r6', '%rd1', '%r7', '%r9'];
    expect(registers.map(of)).toEqual([16, 1, 4, 8, 2, 16, 16, 4, 1]);
  });

  it('of a register that a loop changes are the least', () => {
    expect(alignments('mov.b32 %r2, 0; $L: add.s32 %r2, %r2, 24; setp.lt.s32 %p1, %r2, 99; @%p1 bra $L;')('%r2')).toBe(
      8,
    );
  });
});

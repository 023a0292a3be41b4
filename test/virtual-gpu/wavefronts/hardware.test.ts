import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { broadcastWavefronts, sharedCost } from '../../../src/virtual-gpu/runtime/access-costs.ts';

interface Recording {
  patterns: { op: 'load' | 'store'; bytes: number; offsets: number[]; wavefronts: number }[];
}

const recording = JSON.parse(
  readFileSync(new URL('../../../docs/results/h200-shared-wavefronts.json', import.meta.url), 'utf8'),
) as Recording;
const lanes = Array.from({ length: 32 }, (_, lane) => lane);

describe('shared-memory wavefronts against an H200', () => {
  for (const op of ['load', 'store'] as const)
    for (const bytes of [2, 4, 8, 16]) {
      const patterns = recording.patterns.filter((p) => p.op === op && p.bytes === bytes);
      it.skipIf(patterns.length === 0)(`${op}s of ${bytes} bytes: every recorded pattern`, () => {
        for (const { offsets, wavefronts } of patterns)
          expect(sharedCost(offsets, lanes, bytes, op === 'store').wavefronts, offsets.join()).toBe(wavefronts);
      });
    }

  it('a broadcast is a pattern like any other', () => {
    for (const bytes of [2, 4, 8, 16])
      for (const isStore of [false, true])
        expect(broadcastWavefronts(bytes, isStore)).toBe(
          sharedCost(new Array(32).fill(0), lanes, bytes, isStore).wavefronts,
        );
  });
});

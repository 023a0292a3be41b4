import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { makeCandidate } from '../../../src/core/candidate.ts';
import type { Kernel } from '../../../src/core/kernel.ts';
import { skeletonOf } from '../../../src/optimizer/authoring/near-duplicate.ts';
import { kernel } from '../fakes.ts';

const LN = readFileSync('problems/layernorm/01_naive/kernel.cu', 'utf8');
const WARP = readFileSync('examples/row-sum/02_warp_per_row/kernel.cu', 'utf8');

const of = (text: string, file: Partial<Kernel['file']> = {}): string =>
  skeletonOf(makeCandidate({ ...kernel('k', file), sources: { 'kernel.cu': text } }, {}));

describe('the skeleton of a kernel', () => {
  it.each([
    ['comments', `// by me\n${WARP.replaceAll(/\/\/[^\n]*/g, '')}`],
    ['white space', WARP.replaceAll('\n', '\n\n  ')],
    ['names of variables', WARP.replaceAll(/\bsum\b/g, 'accumulated').replaceAll(/\blane\b/g, 'l')],
  ])('stays the same with other %s', (_what, changed) => {
    expect(changed).not.toBe(WARP);
    expect(of(changed)).toBe(of(WARP));
  });

  it.each([
    ['a type', (text: string) => text.replace('float sum', 'double sum')],
    ['a vector type', (text: string) => text.replace('const float* __restrict__ x', 'const float4* __restrict__ x')],
    ['an intrinsic', (text: string) => text.replace('__shfl_xor_sync', '__shfl_down_sync')],
    ['a barrier', (text: string) => text.replace('float sum', '__syncthreads(); float sum')],
    ['a number', (text: string) => text.replace('c += 32', 'c += 64')],
    ['a condition', (text: string) => text.replace('row >= rows', 'row > rows')],
    ['which of two variables is read', (text: string) => text.replace('c < columns', 'c < rows')],
  ])('is another with %s', (_what, change) => {
    expect(change(WARP)).not.toBe(WARP);
    expect(of(change(WARP))).not.toBe(of(WARP));
  });

  it('has launches in it, but neither the name nor the values of parameters', () => {
    const values = { parameters: { TILE: { values: [16, 32, 64], default: 64 } } };
    expect(of(LN, { name: 'other', description: 'better', ...values })).toBe(of(LN));
    const [step] = kernel('k').file.steps;
    expect(of(LN, { steps: [{ ...step!, grid: ['N'] }] })).not.toBe(of(LN));
  });
});

import { expect, it } from 'vitest';
import { allowFlushedSums } from '../../../src/evaluation/verify/flushed-sums.ts';
import { ptxCode } from '../../support/launch/launch-kernel.ts';

const expectations = (tolerance: number) =>
  new Map([['y', { want: Float64Array.of(1), tolerances: Float64Array.of(tolerance), groupSize: 1 }]]);
const allowed = (ptx: string, tolerance: number): number =>
  allowFlushedSums(expectations(tolerance), ptxCode(ptx)).get('y')!.tolerances[0]!;

it('sums by f32 atomics in device memory may lose what hardware takes for zero', () => {
  for (const adds of [
    'red.global.add.f32 [%rd1], %f1;',
    'atom.add.f32 %f2, [%rd1], %f1;',
    'red.relaxed.gpu.global.add.f32 [%rd1], %f1;',
    'red.global.add.v2.f32 [%rd1], {%f1, %f2};',
  ])
    expect(allowed(adds, 1e-45)).toBe(2 ** -96);
});

it('but not where flags of the compiler make other additions flush', () => {
  for (const flushing of [
    'add.ftz.f32 %f1, %f2, %f3;',
    'fma.rn.ftz.f32 %f1, %f2, %f3, %f4;',
    'sub.rn.ftz.f32 %f1, %f2, %f3;',
  ])
    expect(allowed(`${flushing}\nred.global.add.f32 [%rd1], %f1;`, 1e-45)).toBe(1e-45);
  expect(allowed('ex2.approx.ftz.f32 %f1, %f2;\nred.global.add.f32 [%rd1], %f1;', 1e-45)).toBe(2 ** -96);
});

it('nothing else may, and no tolerance becomes smaller', () => {
  for (const other of [
    'red.shared.add.f32 [%r1], %f1;',
    'atom.global.add.u32 %r2, [%rd1], %r1;',
    'add.f32 %f1, %f2, %f3;',
  ])
    expect(allowed(other, 1e-45)).toBe(1e-45);
  expect(allowed('red.global.add.f32 [%rd1], %f1;', 1e-6)).toBe(1e-6);
  expect(allowed('red.global.add.f32 [%rd1], %f1;', 0)).toBe(0);
});

import { expect, it } from 'vitest';
import { meaningOf } from '../../../src/devices/cuda/driver/results.ts';

/** Source: CUresult in cuda.h, and what a virtual GPU says of the same faults. */
const CASES = [
  [1, 'launch-failed', false],
  [2, 'device-failed', false],
  [218, 'compile-failed', false],
  [222, 'unsupported', false],
  [209, 'unsupported', false],
  [214, 'device-failed', true],
  [700, 'unsafe', true],
  [716, 'unsafe', true],
  [717, 'unsafe', true],
  [701, 'launch-failed', false],
  [720, 'launch-failed', false],
  [912, 'launch-failed', false],
  [702, 'timed-out', true],
  [710, 'crashed', true],
  [715, 'crashed', true],
  [718, 'crashed', true],
  [719, 'crashed', true],
  [999, 'device-failed', true],
  [4242, 'device-failed', true],
] as const;

it.each(CASES)('CUresult %i: %s, context lost: %s', (code, status, sticky) => {
  expect(meaningOf(code)).toMatchObject({ status, sticky });
});

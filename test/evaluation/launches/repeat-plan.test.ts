import { expect, it } from 'vitest';
import type { LaunchPlan, PlannedBuffer, PlannedLaunch } from '../../../src/core/launch-plan.ts';
import { nameInSlot, repeatPlan } from '../../../src/evaluation/launches/repeat-plan.ts';

const buffer = (name: string): PlannedBuffer => ({
  name,
  role: 'out',
  dtype: 'f32',
  shape: [4],
  strides: [1],
  bytes: 16,
  alignmentBytes: 16,
});

const launch: PlannedLaunch = {
  kind: 'launch',
  functionName: 'kernel',
  grid: [1, 1, 1],
  block: [32, 1, 1],
  dynamicSharedBytes: 0,
  cooperative: false,
  programmaticDependent: false,
  arguments: [
    { kind: 'buffer', buffer: 'X', offsetBytes: 8 },
    { kind: 'scalar', dtype: 'i32', value: 3 },
    { kind: 'pointers', targets: [{ buffer: 'Y', offsetBytes: 4 }] },
  ],
};

it('gives every launch sequence buffers of its own, wherever they are named', () => {
  const plan: LaunchPlan = {
    buffers: [buffer('X'), buffer('Y')],
    steps: [{ kind: 'memset', buffer: 'Y', byteValue: 0 }, launch],
  };
  const repeated = repeatPlan(plan, 3);
  expect(repeated.buffers.map(({ name }) => name)).toEqual(['X#0', 'Y#0', 'X#1', 'Y#1', 'X#2', 'Y#2']);
  expect(repeated.steps).toHaveLength(6);
  expect(repeated.steps[2]).toEqual({ kind: 'memset', buffer: 'Y#1', byteValue: 0 });
  expect(repeated.steps[3]).toEqual({
    ...launch,
    arguments: [
      { kind: 'buffer', buffer: 'X#1', offsetBytes: 8 },
      { kind: 'scalar', dtype: 'i32', value: 3 },
      { kind: 'pointers', targets: [{ buffer: 'Y#1', offsetBytes: 4 }] },
    ],
  });
  expect(nameInSlot('X', 2)).toBe('X#2');
});

it('lets no sequence start before the one in front of it has ended', () => {
  const dependent = { ...launch, programmaticDependent: true };
  const { steps } = repeatPlan({ buffers: [buffer('X'), buffer('Y')], steps: [dependent, dependent] }, 2);
  const dependence = steps.map((step) => step.kind === 'launch' && step.programmaticDependent);
  expect(dependence).toEqual([false, true, false, true]);
});

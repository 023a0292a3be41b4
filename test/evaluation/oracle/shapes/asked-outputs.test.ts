import { expect, it } from 'vitest';
import { shapesBeside } from '../../../../src/evaluation/oracle/shapes/around.ts';
import { askingForOutputs } from '../../../../src/evaluation/oracle/shapes/asked-outputs.ts';
import { drawingOf } from '../../../../src/evaluation/oracle/shapes/drawing.ts';
import { attentionProblem, attentionShape } from '../../../support/attention-problem.ts';
import { copying } from '../../../support/toy-problem.ts';

const { file: attention } = attentionProblem();
const timed = attentionShape({ B: 1, H: 2, S: 64, D: 64, causal: 0 });
const beside = (takes: (shape: Record<string, number>) => boolean) =>
  Array.from({ length: 20 }, (_, seed) =>
    shapesBeside(drawingOf({ problem: attention, takes, timed, seed }, 'test'), {
      ...{ name: 'S', size: 100 },
      most: { flop: 1e9, elements: 1e7 },
    }),
  ).flat();

it('flags that ask for an output are set, others stay, and a shape that asks for all is itself', () => {
  expect(askingForOutputs(attention, timed)).toEqual({ ...timed, lse: 1 });
  const asking = { ...timed, lse: 1 };
  expect(askingForOutputs(attention, asking)).toBe(asking);
  const plain = { R: 3, C: 4 };
  expect(askingForOutputs(copying('R', 'C'), plain)).toBe(plain);
});

it('half of the shapes of a chosen size ask for it, and none where the kernel does not take it', () => {
  const asking = beside(() => true).filter(({ lse }) => lse === 1).length;
  expect(asking).toBeGreaterThan(10);
  expect(asking).toBeLessThan(50);
  expect(beside(({ lse }) => lse === 0).every(({ lse }) => lse === 0)).toBe(true);
});

import { describe, expect, it } from 'vitest';
import { expandBuffers } from '../../../src/core/plan/expand-buffers.ts';
import { encode } from '../../../src/core/rounding.ts';
import { drawInputs } from '../../../src/evaluation/draw-inputs.ts';
import { type DeviceReference, decodeInputs } from '../../../src/evaluation/expectations.ts';
import { createSlotJudge } from '../../../src/evaluation/measure/slot-judge.ts';
import { runHostReference } from '../../../src/evaluation/reference-runs.ts';
import { toyProblem } from '../../support/toy-problem.ts';

const problem = toyProblem();
const dimensions = { R: 4, C: 64 };
const buffers = expandBuffers(problem.file, dimensions);
const inputs = drawInputs({ problem, buffers, dimensions, seed: 5, generatorSet: 'declared' }).bytes;

/** A device that runs the reference, and whether each time on perturbed inputs, too. */
const counted = () => {
  const runs: boolean[] = [];
  const deviceReference: DeviceReference = {
    async run({ leastTolerances = false }) {
      runs.push(!leastTolerances);
      const { perturbed, ...exact } = await runHostReference(
        problem,
        buffers,
        decodeInputs(buffers, inputs),
        dimensions,
      );
      return { ...exact, ...(!leastTolerances && perturbed && { perturbed }) };
    },
    close: async () => {},
  };
  return { deviceReference, runs };
};

const outputsOff = async (relative: number) => {
  const { oracle } = await runHostReference(problem, buffers, decodeInputs(buffers, inputs), dimensions);
  return new Map([
    [
      'Y',
      encode(
        oracle.Y!.map((value) => value * (1 + relative)),
        'f16',
      ),
    ],
  ]);
};

describe('slots compared with the oracle', () => {
  it('right to the last bit: one run of the device reference, none on perturbed inputs', async () => {
    const { deviceReference, runs } = counted();
    const judge = createSlotJudge({ problem, dimensions, deviceReference });
    expect(await judge({ inputs, outputs: await outputsOff(0) })).toBeUndefined();
    expect(runs).toEqual([false]);
  });

  it('wrong by more than any tolerance: said after the runs on perturbed inputs', async () => {
    const { deviceReference, runs } = counted();
    const judge = createSlotJudge({ problem, dimensions, deviceReference });
    const verdict = await judge({ inputs, outputs: await outputsOff(0.5) });
    expect(runs).toEqual([false, true]);
    // As a judge without the shortcut says it.
    expect(verdict).toBe(await createSlotJudge({ problem, dimensions })({ inputs, outputs: await outputsOff(0.5) }));
  });
});

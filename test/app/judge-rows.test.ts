import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { type Judge, judgeRows } from '../../src/app/judge-rows.ts';
import { loadKernel } from '../../src/app/loading/load-kernel.ts';
import { chooseWorkloads } from '../../src/app/workload.ts';
import { makeCandidate } from '../../src/core/candidate.ts';
import type { Evaluation, Evaluator } from '../../src/core/evaluation.ts';

const ROW_SUM = fileURLToPath(new URL('../../examples/row-sum', import.meta.url));
const ASKED = ['rows=64,columns=8', 'rows=96,columns=8', 'rows=33,columns=8', 'rows=5,columns=8'];

/** A device on which every kernel passes, unless it fails at these rows. @param told [device, rows of the workload] of each evaluation. */
const judge = (name: string, told: [string, number][], failsAt?: number): Judge => {
  const evaluator: Evaluator = {
    async evaluate({ id, workload }) {
      told.push([name, workload.dimensions.rows!]);
      await new Promise((resolve) => setTimeout(resolve, 1));
      if (workload.dimensions.rows === failsAt) throw new Error('the device is gone');
      return { id, status: 'passed', timing: { kind: 'predicted', medianNs: 1 } } as Evaluation;
    },
    close: async () => {},
  };
  const identity = { id: name, kind: 'virtual', name: 'GPU', driver: '' };
  return { session: { device: { identity }, evaluator }, kept: undefined } as unknown as Judge;
};

async function rowsOf(judges: readonly [Judge, ...Judge[]]) {
  const { kernel, problem } = await loadKernel(join(ROW_SUM, '02_warp_per_row'));
  const contenders = [4, 8].map((WARPS) => ({ name: `w${WARPS}`, candidate: makeCandidate(kernel, { WARPS }) }));
  const options = { seed: 1, tier: 'accept' } as const;
  return judgeRows({ options, judges, problem, contenders }, chooseWorkloads(problem.file, ASKED));
}

it('judges workloads on several devices, all contenders of one on one device', async () => {
  const told: [string, number][] = [];
  const rows = await rowsOf([judge('first', told), judge('second', told)]);
  expect(rows.map(({ dimensions }) => dimensions.rows)).toEqual([64, 96, 33, 5]);
  for (const { contenders } of rows) expect(contenders).toHaveLength(2);
  const devicesAt = Map.groupBy(told, ([, at]) => at);
  for (const evaluations of devicesAt.values()) expect(new Set(evaluations.map(([name]) => name)).size).toBe(1);
  expect(new Set(told.map(([name]) => name))).toEqual(new Set(['first', 'second']));
});

it('loses one row when a device fails at it', async () => {
  const rows = await rowsOf([judge('first', [], 96), judge('second', [], 96)]);
  expect(rows.map(({ failure }) => failure)).toEqual([undefined, 'the device is gone', undefined, undefined]);
});

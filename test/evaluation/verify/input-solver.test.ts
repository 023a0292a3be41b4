import { expect, it } from 'vitest';
import type { Device } from '../../../src/core/device.ts';
import { WarpsmithError } from '../../../src/core/errors.ts';
import { InputSolver, type SolverRequest } from '../../../src/evaluation/verify/input-solver.ts';
import { MetInputs } from '../../../src/evaluation/verify/met-inputs.ts';
import { toyProblem } from '../../support/toy-problem.ts';

it('works out no inputs where a device has no memory left for a copy of the module', async () => {
  let asked = 0;
  const device: Partial<Device> = {
    decisions: () => ({
      decisions: [{ kind: 'comparison', comparison: 'eq' }] as never,
      leftOut: 0,
    }),
    logOperands() {
      asked += 1;
      throw new WarpsmithError({ code: 'device-memory', message: 'a copy does not fit' });
    },
  };
  const met = new MetInputs(() => [0]);
  const solver = new InputSolver({ device, problem: toyProblem() } as unknown as SolverRequest, met);
  met.learn({ dimensions: { R: 4, C: 4 }, generatorSet: 'declared' }, [{ wasTrue: false, wasFalse: true }]);
  expect(await solver.next()).toBeUndefined();
  expect(asked).toBe(1);
  await solver[Symbol.asyncDispose]();
});

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loadKernel } from '../../../src/app/loading/load-kernel.ts';
import { loadProblem } from '../../../src/app/loading/load-problem.ts';
import { optimizeProblem } from '../../../src/app/optimize.ts';
import { openSession, type Session } from '../../../src/app/session.ts';
import type { Device } from '../../../src/core/device.ts';
import type { Kernel, ParameterValues } from '../../../src/core/kernel.ts';
import { expandPlan } from '../../../src/core/plan/expand-plan.ts';
import { validAssignments } from '../../../src/core/plan/parameters.ts';
import type { Dimensions, Problem } from '../../../src/core/problem.ts';
import { openDevice } from '../../../src/devices/open-device.ts';
import { describeCheck } from '../../../src/evaluation/oracle/check.ts';
import { shapeChecks } from '../../../src/evaluation/oracle/checks/listed.ts';
import { createDeviceReference } from '../../../src/evaluation/oracle/device-reference.ts';
import { prepareCheck } from '../../../src/evaluation/oracle/expectation-cache.ts';
import type { DeviceReference } from '../../../src/evaluation/oracle/expectations.ts';
import { runHostReference } from '../../../src/evaluation/oracle/reference-runs.ts';
import { NOTHING_KEPT, UNLIMITED } from '../../../src/store/events.ts';
import { createClangToolchain } from '../../../src/toolchains/clang.ts';
import { judgeRung } from '../../support/judge-rung.ts';
import { narrowCopy } from '../../support/narrowed.ts';
import { agreementOf, climb, rungsOf } from './matrices.ts';

const VIRTUAL_DEVICES = ['virtual:l4', 'virtual:h200'] as const;

/** A shape as the command line takes it: `N=5003,BINS=37`. */
export const workloadOf = (dimensions: Dimensions): string =>
  Object.entries(dimensions)
    .map(([name, value]) => `${name}=${value}`)
    .join();

export interface Ladder {
  readonly problem: string;
  readonly rungs: readonly string[];
  /** No multiple of any tile, larger than some. */
  readonly ragged: Dimensions;
  /** Large enough for the ladder's order, small enough for a test. */
  readonly search: Dimensions;
  /** Device → the rung that the search ends with, where that is not the last. */
  readonly ends?: Readonly<Record<string, string>>;
  /** What keeps the search's confirmation small. */
  readonly narrow: readonly string[];
  /** Relative error that float64 sums in another order may have; 0 for integers. */
  readonly referenceError: number;
  /** Evaluations of its search that lead to no other rung; 0 if absent. */
  readonly detours?: number;
}

/** What holds for every ladder. Call it once in a test file. */
export function describeLadder({
  problem: name,
  rungs,
  ragged,
  search,
  ends = {},
  narrow,
  referenceError,
  detours = 0,
}: Ladder): void {
  const folder = `problems/${name}`;

  describe(`the ladder of ${name}`, () => {
    let problem: Problem;
    let session: Session;
    const kernels: Kernel[] = [];
    beforeAll(async () => {
      problem = await loadProblem(folder);
      for (const rung of rungs) kernels.push((await loadKernel(path.join(folder, rung))).kernel);
      session = await openSession({ device: 'virtual:l4' });
    });
    afterAll(async () => await session?.[Symbol.asyncDispose]());

    it('is listed in problem.json in this order and starts at its first rung', () => {
      expect(problem.file.rungs).toEqual(rungs);
      expect(kernels.map(({ file }) => file.name)).toEqual(rungs);
      expect(problem.file.start).toBe(rungs[0]);
    });

    it('has between 60 and 160 valid configurations, more than one on every rung', () => {
      const counts = kernels.map(({ file }) => validAssignments(file).length);
      const sum = counts.reduce((total, count) => total + count, 0);
      expect(sum).toBeGreaterThanOrEqual(60);
      expect(sum).toBeLessThanOrEqual(160);
      for (const count of counts) expect(count).toBeGreaterThan(1);
    });

    it('plans every valid configuration on every check shape within 48 KiB of shared memory', () => {
      for (const kernel of kernels) {
        for (const parameters of validAssignments(kernel.file)) {
          for (const { dimensions } of problem.file.checkShapes) {
            const device = { smCount: 58, sharedBytesPerCta: 48 * 1024 };
            const plan = expandPlan({ problem: problem.file, kernel: kernel.file, parameters, dimensions, device });
            expect(plan.steps.some(({ kind }) => kind === 'launch')).toBe(true);
          }
        }
      }
    });

    // The first and the last that each rung admits; the declared ones run in the search below.
    rungsOf(name, rungs)('%s is right on every check shape and a ragged workload', async (rung) => {
      const { file } = kernels[rungs.indexOf(rung)]!;
      const assignments = validAssignments(file);
      const tried: ParameterValues[] = [assignments[0]!, assignments.at(-1)!];
      for (const parameters of tried) {
        const { status, reason } = await judgeRung(session, {
          folder: path.join(folder, rung),
          workload: workloadOf(ragged),
          parameters,
        });
        expect({ parameters, status, reason }).toEqual({ parameters, status: 'passed', reason: undefined });
      }
    });
  });

  describe(`the device reference of ${name}`, () => {
    let device: Device;
    let deviceReference: DeviceReference;
    beforeAll(async () => {
      device = await openDevice('virtual:h200');
      deviceReference = createDeviceReference({ device, toolchain: await createClangToolchain() });
    });
    afterAll(async () => {
      await deviceReference?.close();
      await device?.close();
    });

    agreementOf(name)('agrees with reference.ts on every check', async () => {
      const problem = await loadProblem(folder);
      for (const check of shapeChecks(problem.file)) {
        const { dimensions, generatorSet } = check;
        const { buffers, inputs } = prepareCheck({ problem, dimensions, generatorSet, seed: 1 });
        const host = await runHostReference(problem, buffers, inputs.tensors, dimensions);
        const runs = (await deviceReference.run({ problem, dimensions, inputs: inputs.bytes }))!;
        for (const [output, values] of Object.entries(host.oracle)) {
          const scale = inputs.tensors.x!.reduce((sum, x) => (Number.isFinite(x) ? sum + Math.abs(x) : sum), 1);
          // Infinities and NaN have to be the same; of two infinities the difference would be NaN.
          const errorAt = (x: number, y: number): number => (Object.is(x, y) ? 0 : Math.abs(x - y));
          const error = values.reduce((most, x, i) => Math.max(most, errorAt(x, runs.oracle[output]![i]!)), 0);
          expect(error, describeCheck(check)).toBeLessThanOrEqual(referenceError * scale);
        }
      }
    });
  });

  describe(`optimising ${name}`, () => {
    let store: string;
    beforeAll(async () => {
      store = await mkdtemp(path.join(tmpdir(), `warpsmith-${name}-`));
    });
    afterAll(async () => rm(store, { recursive: true, force: true }));

    for (const device of VIRTUAL_DEVICES) {
      const best = ends[device] ?? rungs.at(-1)!;
      climb(`${name} on ${device}`)(`climbs to ${best} on ${device} because of findings`, async () => {
        const { result, view } = await optimizeProblem({
          target: narrowCopy(folder, store, narrow, { name: 'climbed', dimensions: search }),
          device,
          workloads: [workloadOf(search)],
          parameters: {},
          seed: 1,
          store,
          budgets: { ...UNLIMITED, allowance: NOTHING_KEPT, maximumEvaluations: rungs.length + detours },
        });
        expect(result.best?.candidate.kernel.file.name).toBe(best);
        expect(result.speedup).toBeGreaterThan(2);
        expect(view.progression[1]?.why?.finding).toBeDefined();
      });
    }
  });
}

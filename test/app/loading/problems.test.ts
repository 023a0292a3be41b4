import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { loadKernel } from '../../../src/app/loading/load-kernel.ts';
import { loadProblem } from '../../../src/app/loading/load-problem.ts';
import type { DType } from '../../../src/core/dtype.ts';
import { expandPlan } from '../../../src/core/plan/expand-plan.ts';
import { failedLimit } from '../../../src/core/plan/limits.ts';
import { completeParameters, failedConstraint, validAssignments } from '../../../src/core/plan/parameters.ts';

const root = fileURLToPath(new URL('../../../problems/', import.meta.url));
const problems = readdirSync(root, { withFileTypes: true }).filter((entry) => entry.isDirectory());

describe.each(problems.map(({ name }) => name))('problems/%s', (name) => {
  const { dtypes, rungs }: { dtypes?: object; rungs: string[] } = JSON.parse(
    readFileSync(join(root, name, 'problem.json'), 'utf8'),
  );
  // A problem of one dtype for each buffer is loaded without naming any.
  const asked: (DType | undefined)[] = dtypes === undefined ? [undefined] : (Object.keys(dtypes) as DType[]);

  it.each(asked.map((dtype) => ({ dtype, said: dtype ?? 'its dtypes' })))(
    'loads in $said, and so does every rung, on every workload it takes',
    async ({ dtype }) => {
      const problem = await loadProblem(join(root, name), { dtype });
      for (const rung of problem.file.rungs) {
        const { kernel } = await loadKernel(join(root, name, rung), { problem });
        if (dtype !== undefined && !(kernel.file.dtypes?.includes(dtype) ?? true)) continue;
        const parameters = completeParameters(kernel.file, {});
        expect(failedConstraint(kernel.file, parameters), `${rung}: defaults`).toBeUndefined();
        expect(validAssignments(kernel.file).length, rung).toBeGreaterThan(0);
        const taken = problem.file.workloads.filter(
          ({ dimensions }) => failedLimit(kernel.file, dimensions) === undefined,
        );
        expect(taken.length, `${rung} takes no workload`).toBeGreaterThan(0);
        for (const { dimensions } of taken) {
          const request = { problem: problem.file, kernel: kernel.file, parameters, dimensions };
          expect(expandPlan({ ...request, device: { smCount: 58 } }).steps.length).toBeGreaterThan(0);
        }
      }
    },
  );

  it('has no rung that takes none of its dtypes', async () => {
    for (const rung of rungs) {
      const { dtypes: own = asked } = JSON.parse(readFileSync(join(root, name, rung, 'kernel.json'), 'utf8'));
      expect(
        own.some((dtype: DType) => asked.includes(dtype)),
        rung,
      ).toBe(true);
    }
  });

  it('lists every kernel folder as a rung or as its reference on a GPU', async () => {
    const { file } = await loadProblem(join(root, name));
    const folders = readdirSync(join(root, name), { withFileTypes: true }).filter((entry) => entry.isDirectory());
    const named = file.deviceReference === undefined ? file.rungs : [...file.rungs, file.deviceReference];
    expect(folders.map((folder) => folder.name).toSorted()).toEqual(named.toSorted());
  });
});

import { join } from 'node:path';
import { makeCandidate } from '../core/candidate.ts';
import type { DeviceSpec } from '../core/device-spec.ts';
import type { Kernel, ParameterValues } from '../core/kernel.ts';
import { completeParameters, countAssignments } from '../core/plan/parameters.ts';
import { whyNotTaken } from '../core/plan/takes-workload.ts';
import type { Problem, Workload } from '../core/problem.ts';
import type { RequestOf } from '../core/requests/request.ts';
import { planLaunches } from '../evaluation/launches/plan-launches.ts';
import { DEVICE_SPECS } from '../hardware/device-specs.ts';
import type { CheckedKernel, CheckedPlan, CheckReport } from '../reports/documents/check.ts';
import { loadKernel } from './loading/load-kernel.ts';
import { loadProblem } from './loading/load-problem.ts';
import { findTarget } from './target.ts';
import { chooseWorkload } from './workload.ts';

/**
 * A check runs nothing, so it expands plans for a device's data sheet: the first spec whose architecture the kernel
 * supports, or the first of all.
 */
function assumedSpec({ file }: Kernel): DeviceSpec {
  const specs = [...DEVICE_SPECS.values()];
  const { architectures } = file.source;
  return specs.find(({ architecture }) => architectures?.includes(architecture) ?? true) ?? specs[0]!;
}

function checkPlan(problem: Problem, kernel: Kernel, parameters: ParameterValues, workload: Workload): CheckedPlan {
  const refused = whyNotTaken({ kernel, parameters }, workload.dimensions);
  if (refused !== undefined) return { workload, refused, plan: null };
  const plan = planLaunches({
    problem,
    candidate: makeCandidate(kernel, parameters),
    dimensions: workload.dimensions,
    spec: assumedSpec(kernel),
  });
  return { workload, refused: null, plan };
}

function checkKernel(
  problem: Problem,
  kernel: Kernel,
  values: ParameterValues,
  workloads: readonly Workload[],
): CheckedKernel {
  const parameters = completeParameters(kernel.file, values);
  return {
    name: kernel.file.name,
    folder: kernel.folder,
    parameters,
    assumedDevice: `virtual:${assumedSpec(kernel).id}`,
    validConfigurationCount: countAssignments(kernel.file) ?? null,
    remedies: kernel.file.remedies ?? [],
    plans: workloads.map((workload) => checkPlan(problem, kernel, parameters, workload)),
  };
}

async function loadAll({ target, dtype }: RequestOf<'check'>): Promise<{ problem: Problem; kernels: Kernel[] }> {
  const { kind, folder } = findTarget(target);
  if (kind === 'kernel') {
    const { kernel, problem } = await loadKernel(folder, { dtype });
    return { problem, kernels: [kernel] };
  }
  const problem = await loadProblem(folder, { dtype });
  const kernels: Kernel[] = [];
  for (const rung of new Set([problem.file.start, ...problem.file.rungs])) {
    kernels.push((await loadKernel(join(problem.folder, rung), { problem })).kernel);
  }
  return { problem, kernels };
}

/**
 * Validates a problem folder with all its rungs, or one kernel folder, and expands the launch plan of every workload.
 * Compiles and runs nothing.
 *
 * @throws WarpsmithError for the first mistake, with file and path.
 */
export async function checkTarget(options: RequestOf<'check'>): Promise<CheckReport> {
  const { problem, kernels } = await loadAll(options);
  const { file, folder } = problem;
  const workloads =
    options.workload === undefined
      ? file.workloads.map(({ name }) => chooseWorkload(file, name))
      : [chooseWorkload(file, options.workload)];
  return {
    schemaVersion: 1,
    kind: 'check',
    problem: { name: file.name, folder, start: file.start, rungs: file.rungs },
    kernels: kernels.map((kernel) => checkKernel(problem, kernel, options.parameters ?? {}, workloads)),
  };
}

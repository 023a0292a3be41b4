import { WarpsmithError } from '../errors.ts';
import type { KernelFile } from '../kernel.ts';
import { deviceReferenceWorkspaces } from '../plan/device-reference-workspaces.ts';
import type { ProblemFile } from '../problem.ts';

/**
 * Checks that a device reference has a workspace for the oracle of every output, and one for its naive run if tolerances
 * depend on it.
 *
 * @throws WarpsmithError naming the missing workspace.
 */
export function checkDeviceReference(kernel: KernelFile, problem: ProblemFile, file: string): void {
  const declared = Object.keys(kernel.workspaces ?? {});
  for (const { name, what } of deviceReferenceWorkspaces(problem)) {
    if (declared.includes(name)) continue;
    throw new WarpsmithError({
      code: 'missing-workspace',
      message: `The device reference has no workspace \`${name}\` for ${what}.`,
      file,
      path: 'workspaces',
      received: declared.length === 0 ? 'no workspaces' : declared.join(', '),
      expected: `a workspace \`${name}\``,
      hint: 'problems/attention/reference is an example.',
    });
  }
}

import { completeRequest, type RequestOf } from '../core/requests/request.ts';
import { type AuditReport, auditProblem } from '../evaluation/audit/audit.ts';
import { loadKernel } from './loading/load-kernel.ts';
import { loadProblem } from './loading/load-problem.ts';
import { ensureTrustedFor } from './loading/trust.ts';
import type { Surroundings } from './session.ts';
import { findTarget } from './target.ts';

type AuditOptions = RequestOf<'audit'> & Surroundings;

/**
 * Runs a problem's checks on generic wrong kernels and reports those that would pass. Needs no device.
 *
 * @throws WarpsmithError for files that can't be used.
 */
export async function audit(request: AuditOptions): Promise<AuditReport> {
  const { target, dtype, seed, signal, onStep } = completeRequest('audit', request);
  const { kind, folder } = findTarget(target);
  const problem =
    kind === 'kernel' ? (await loadKernel(folder, { dtype })).problem : await loadProblem(folder, { dtype });
  await ensureTrustedFor(request, problem);
  const onCheck = (check: string, index: number, count: number) => onStep?.(`check ${index + 1} of ${count}: ${check}`);
  return auditProblem({ problem, seed, signal, onCheck });
}

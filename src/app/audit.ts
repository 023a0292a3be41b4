import { type AuditReport, auditProblem } from '../evaluation/audit.ts';
import { loadKernel } from './loading/load-kernel.ts';
import { loadProblem } from './loading/load-problem.ts';
import { type AskTrust, ensureTrusted } from './loading/trust.ts';
import { targetKind } from './target.ts';

export interface AuditOptions {
  /** A problem folder; a kernel folder stands for its problem. */
  target: string;
  seed: number;
  signal?: AbortSignal;
  /** Asks whether the problem's host code may run; where it must ask and is absent, it may not. */
  askTrust?: AskTrust;
  /** Called before each check. */
  onCheck?: (check: string, index: number, count: number) => void;
}

/**
 * Plays generic wrong kernels against a problem's checks and says which would slip through. Needs no device.
 *
 * @throws WarpsmithError for files that can't be used.
 */
export async function audit({ target, askTrust, ...options }: AuditOptions): Promise<AuditReport> {
  const problem = targetKind(target) === 'kernel' ? (await loadKernel(target)).problem : await loadProblem(target);
  await ensureTrusted(problem, { namedBy: 'user', ask: askTrust });
  return auditProblem({ problem, ...options });
}

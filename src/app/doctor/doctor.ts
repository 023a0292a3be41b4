import { messageOf, WarpsmithError } from '../../core/errors.ts';
import type { Check, DoctorCheck, Machine } from './check.ts';
import { GPU_CHECKS } from './gpu-checks.ts';
import { HOST_CHECKS } from './host-checks.ts';

export interface DoctorReport {
  schemaVersion: 1;
  kind: 'doctor';
  /** Everything that is needed works. */
  ok: boolean;
  checks: DoctorCheck[];
}

async function lookAround(): Promise<Machine> {
  const [{ listDevices }, { locateCudaToolkit }] = await Promise.all([
    import('../../devices/open-device.ts'),
    import('../../toolchains/cuda-toolkit.ts'),
  ]);
  return { gpus: listDevices().filter(({ kind }) => kind === 'cuda'), toolkit: await locateCudaToolkit() };
}

/** A check that throws counts as failed; the doctor always runs all checks. */
async function diagnoseOne({ id, title, run }: Check, machine: Machine): Promise<DoctorCheck> {
  try {
    const { verdict, detail, hint } = await run(machine);
    return { id, title, verdict, detail, hint: hint ?? null };
  } catch (error) {
    const hint = error instanceof WarpsmithError ? error.details.hint : undefined;
    return { id, title, verdict: 'failed', detail: messageOf(error), hint: hint ?? null };
  }
}

/** Reports what works on this machine and what is missing. Its findings never make it throw. */
export async function doctor(): Promise<DoctorReport> {
  const machine = await lookAround();
  const checks: DoctorCheck[] = [];
  for (const check of [...HOST_CHECKS, ...GPU_CHECKS]) checks.push(await diagnoseOne(check, machine));
  return { schemaVersion: 1, kind: 'doctor', ok: checks.every(({ verdict }) => verdict !== 'failed'), checks };
}

import type { DeviceIdentity } from '../../core/device.ts';
import type { Evaluation, EvaluationRequest } from '../../core/evaluation.ts';

/** What is said of a candidate that nobody could judge. It blames no candidate. */
export const notJudged = (
  { id = 'e0', candidate, workload }: EvaluationRequest,
  device: DeviceIdentity,
  reason: string,
): Evaluation => ({
  schemaVersion: 1,
  id,
  candidate: {
    id: candidate.id,
    kernel: candidate.kernel.file.name,
    folder: candidate.kernel.folder,
    parameters: candidate.parameters,
  },
  device,
  workload: { name: workload.name, dimensions: workload.dimensions },
  status: 'device-failed',
  reason,
  findings: [],
  elapsedMs: { compile: 0, verify: 0, time: 0, total: 0 },
});

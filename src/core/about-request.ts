import type { DeviceIdentity } from './device.ts';
import type { Evaluation, EvaluationRequest } from './evaluation.ts';

/** What an evaluation says of its request: names and places, and nothing that was found. */
export const aboutRequest = (
  { id = 'e0', candidate, workload }: EvaluationRequest,
  device: DeviceIdentity,
): Pick<Evaluation, 'schemaVersion' | 'id' | 'candidate' | 'device' | 'workload'> => ({
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
});

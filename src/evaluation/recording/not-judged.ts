import { aboutRequest } from '../../core/about-request.ts';
import type { DeviceIdentity } from '../../core/device.ts';
import type { Evaluation, EvaluationRequest } from '../../core/evaluation.ts';

/** What is said of a candidate that nobody could judge. It blames no candidate. */
export const notJudged = (request: EvaluationRequest, device: DeviceIdentity, reason: string): Evaluation => ({
  ...aboutRequest(request, device),
  status: 'device-failed',
  reason,
  findings: [],
  elapsedMs: { compile: 0, verify: 0, time: 0, total: 0 },
});

import type { PlannedBuffer } from '../../../core/launch-plan.ts';
import type { DrawRule } from '../../../core/measuring-device.ts';
import type { FailureStatus } from '../../../core/status.ts';

/** Why the worker refused a request: python/warpsmith_worker/errors.py. */
export type WorkerErrorKind =
  | 'bad-request'
  | 'missing-torch'
  | 'missing-gpu'
  | 'missing-tool'
  | 'unknown-baseline'
  | 'unsupported'
  | 'baseline-error'
  | 'out-of-memory'
  | 'gpu-error'
  | 'worker-error';

/** What each refusal means for the baseline that was to be measured. */
export const STATUS_OF_KIND: Readonly<Record<WorkerErrorKind, FailureStatus>> = {
  'bad-request': 'device-failed',
  'missing-torch': 'unsupported',
  'missing-gpu': 'unsupported',
  'missing-tool': 'unsupported',
  'unknown-baseline': 'invalid',
  unsupported: 'unsupported',
  'baseline-error': 'invalid',
  'out-of-memory': 'unsupported',
  'gpu-error': 'launch-failed',
  'worker-error': 'device-failed',
};

/** A buffer as the worker needs it; an input without a rule gets its contents from here. */
export interface BufferMessage {
  readonly name: string;
  readonly role: PlannedBuffer['role'];
  readonly dtype: PlannedBuffer['dtype'];
  readonly shape: readonly number[];
  readonly strides: readonly number[];
  readonly bytes: number;
  readonly rule?: DrawRule;
  readonly init?: PlannedBuffer['init'];
}

export const bufferMessage = (buffer: PlannedBuffer, rule: DrawRule | undefined): BufferMessage => {
  const { name, role, dtype, shape, strides, bytes, init } = buffer;
  return { name, role, dtype, shape, strides, bytes, rule, init };
};

/** What a baseline ran on, e.g. `{ python: '3.12.3', torch: '2.11.0+cu130', cuda: '13.0', cudnn: '9.19.0', gpu: … }`. */
export type Versions = Readonly<Record<string, string>>;

/** A baseline of baseline.py for some dimensions. */
export interface BaselineListing {
  readonly name: string;
  readonly title: string;
  /** Why it can't be had for these dimensions, by its own account. */
  readonly unsupported: string | null;
}

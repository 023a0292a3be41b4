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

/** The effect of each refusal on the baseline. */
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

/** A buffer in the worker's format. An input without a rule gets its contents from the host. */
export interface BufferMessage {
  readonly name: string;
  readonly role: PlannedBuffer['role'];
  readonly dtype: PlannedBuffer['dtype'];
  readonly shape: readonly number[];
  readonly strides: readonly number[];
  readonly bytes: number;
  readonly rule?: DrawRule;
  readonly init?: PlannedBuffer['init'];
  /** Hexadecimal digits of what is repeated over a workspace with `once`. */
  readonly contents?: string;
}

export function bufferMessage(buffer: PlannedBuffer, rule: DrawRule | undefined): BufferMessage {
  const { name, role, dtype, shape, strides, bytes, init } = buffer;
  const contents = buffer.contents && Buffer.from(buffer.contents).toString('hex');
  return { name, role, dtype, shape, strides, bytes, rule, init, contents };
}

/** The baseline's software, e.g. `{ python: '3.12.3', torch: '2.11.0+cu130', cuda: '13.0', cudnn: '9.19.0', gpu: … }`. */
export type Versions = Readonly<Record<string, string>>;

/** A baseline of baseline.py for some dimensions. */
export interface BaselineListing {
  readonly name: string;
  readonly title: string;
  /** Why it does not take these dimensions, in its own words. */
  readonly unsupported: string | null;
}

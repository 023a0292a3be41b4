import type { DeviceIdentity } from '../../core/device.ts';
import type { DeviceSpec } from '../../core/device-spec.ts';
import { type ErrorDetails, WarpsmithError } from '../../core/errors.ts';
import type { MeasuredPeaks } from '../../core/measured-peaks.ts';
import type { Answer, Job, Requirements, WholeCandidate } from '../../evaluation/pool/job.ts';
import type { Session, SessionOptions } from '../session.ts';

/** What a worker says of itself. */
export interface WorkerDescription {
  readonly device: DeviceIdentity;
  readonly spec: DeviceSpec;
  readonly toolchain: Session['toolchain']['identity'];
  readonly environment: Session['environment'];
  /** What it can give jobs that require it. */
  readonly offers: Requirements;
}

/** What of a session's options a worker needs. */
export type WorkerOptions = Pick<
  SessionOptions,
  'device' | 'threads' | 'toolchain' | 'runTimeoutSeconds' | 'fresh' | 'codeFolder'
>;

/** What a worker process is asked, by command, with its answers. */
export interface WorkerCommands {
  open: { message: WorkerOptions; reply: WorkerDescription };
  peaks: { message: null; reply: MeasuredPeaks | null };
  /** Begins to compile these, beside what is judged. `folder`: where their problem lies on this machine. */
  prepare: { message: { readonly candidates: readonly WholeCandidate[]; readonly folder: string }; reply: null };
  /** `folder`: where the job's problem lies on this machine. */
  judge: { message: { readonly job: Job; readonly folder: string }; reply: Answer };
}

export type WorkerCommand = keyof WorkerCommands;

/** A mistake of the user comes back as a value, because an exception would lose what it says. */
export type WorkerAnswer<C extends WorkerCommand> =
  | { readonly ok: true; readonly value: WorkerCommands[C]['reply'] }
  | { readonly ok: false; readonly error: ErrorDetails; readonly exitCode: number };

/** @throws WarpsmithError as the worker met it. */
export function replyOf<C extends WorkerCommand>(answer: WorkerAnswer<C>): WorkerCommands[C]['reply'] {
  if (answer.ok) return answer.value;
  throw new WarpsmithError(answer.error, answer.exitCode);
}

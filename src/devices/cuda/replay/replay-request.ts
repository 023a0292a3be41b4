import { readFileSync } from 'node:fs';
import { deserialize, serialize } from 'node:v8';
import type { CompiledCode } from '../../../core/compiled-code.ts';
import type { DeviceFailure } from '../../../core/device-values.ts';
import type { LaunchPlan } from '../../../core/launch-plan.ts';

/** One launch sequence to be run. */
export interface ReplayRun {
  /** What is run, for messages: e.g. a check shape. */
  readonly name: string;
  readonly plan: LaunchPlan;
  /** Initial bytes of every `in` and `inout` buffer, including padding. */
  readonly contents: ReadonlyMap<string, Uint8Array>;
  /** Every buffer starts at an address with only its declared alignment. */
  readonly minimumAlignment?: boolean;
}

/** The work of a replay process, which a profiler or sanitizer watches. */
export interface ReplayRequest {
  readonly ordinal: number;
  readonly code: CompiledCode;
  readonly runs: readonly ReplayRun[];
  /** Each buffer is an allocation of its own, of its exact size and without guard zones. */
  readonly exactAllocations: boolean;
  /** Outputs, and workspaces that no step zeroes, are not written before the kernel runs. */
  readonly leaveUnwritten: boolean;
  /** Times each sequence is run, one after the other. */
  readonly repeatCount: number;
  /** Return the outputs of the last repetition. */
  readonly readOutputs: boolean;
  /** Of each repetition. */
  readonly timeoutMs: number;
}

/** How a run ended, with its outputs if they were requested. */
export type ReplayRunResult =
  | { readonly ok: true; readonly name: string; readonly outputs: ReadonlyMap<string, Uint8Array> }
  | (DeviceFailure & { readonly name: string });

export interface ReplayResult {
  /** One for each run, up to and including the first that failed. */
  readonly runs: readonly ReplayRunResult[];
  /** Why nothing could run: no driver, no such device, code that does not load. */
  readonly failure?: string;
}

/** Requests and results travel as files, because the tool that starts the process uses its streams. */
export const toFile = (value: ReplayRequest | ReplayResult): Uint8Array => serialize(value);

/** Reads a file that {@link toFile} of the same program wrote. */
export const readRequest = (path: string): ReplayRequest => deserialize(readFileSync(path)) as ReplayRequest;
export const readResult = (path: string): ReplayResult => deserialize(readFileSync(path)) as ReplayResult;

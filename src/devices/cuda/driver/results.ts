import type { FailureStatus } from '../../../core/status.ts';

/** What a CUresult says about the run. */
export interface ResultMeaning {
  readonly status: FailureStatus;
  /** One sentence part, after the name of what was launched. */
  readonly sentence: string;
  /** Whether the context is lost, so that no call works in this process any more. */
  readonly sticky: boolean;
}

const once = (status: FailureStatus, sentence: string): ResultMeaning => ({ status, sentence, sticky: false });
const sticky = (status: FailureStatus, sentence: string): ResultMeaning => ({ status, sentence, sticky: true });

/**
 * Results with a meaning for candidates. A virtual GPU gives the same faults the same statuses. Source: CUresult in cuda.h.
 */
const MEANINGS: ReadonlyMap<number, ResultMeaning> = new Map([
  [2, once('device-failed', 'the GPU is out of memory')],
  [200, once('invalid', 'the compiled code is not a valid image for this driver')],
  [209, once('unsupported', 'the code was compiled for another GPU')],
  [214, sticky('device-failed', 'the GPU has an uncorrectable memory error')],
  [218, once('compile-failed', 'the driver cannot compile the PTX')],
  [220, sticky('device-failed', 'NVLink has an uncorrectable error')],
  [221, once('unsupported', 'the driver has no PTX compiler (libnvidia-ptxjitcompiler is missing)')],
  [222, once('unsupported', 'the PTX is of a newer version than the driver knows: update the driver')],
  [226, sticky('device-failed', 'the GPU contained a hardware error')],
  [302, once('unsupported', 'the code uses a function that it does not contain')],
  [500, once('invalid', 'the compiled code has no such function')],
  [700, sticky('unsafe', 'accessed memory outside every allocation (illegal address)')],
  [701, once('launch-failed', 'asks for more registers, shared memory or threads than a CTA may have')],
  [702, sticky('timed-out', 'was stopped by the driver’s own time limit')],
  [710, sticky('crashed', 'stopped at a failed device-side assertion')],
  [714, sticky('crashed', 'overflowed its call stack (hardware stack error)')],
  [715, sticky('crashed', 'executed an illegal instruction')],
  [716, sticky('unsafe', 'accessed memory at an address that is not a multiple of the access size')],
  [717, sticky('unsafe', 'accessed memory through a pointer to another address space')],
  [718, sticky('crashed', 'jumped to an invalid address')],
  [719, sticky('crashed', 'stopped with a trap or another exception')],
  [720, once('launch-failed', 'is a cooperative launch of more CTAs than the GPU holds at once')],
  [721, sticky('crashed', 'ended without giving its tensor memory back')],
  [801, once('unsupported', 'uses a feature that this GPU or driver does not support')],
  [912, once('launch-failed', 'asks for clusters larger than the GPU can hold')],
  [915, once('launch-failed', 'asks for a resource configuration that the GPU does not have')],
]);

/** Launch-time refusals that the driver reports as an invalid value. */
const INVALID_VALUE = 1;

/** The meaning of a call's result for the launched or running kernel. */
export function meaningOf(code: number): ResultMeaning {
  if (code === INVALID_VALUE) return once('launch-failed', 'has a launch configuration that the driver refuses');
  return MEANINGS.get(code) ?? sticky('device-failed', 'met trouble with the GPU or its driver');
}

/** A driver call that did not succeed. */
export class CudaError extends Error {
  readonly code: number;
  /** e.g. `CUDA_ERROR_ILLEGAL_ADDRESS`. */
  readonly codeName: string;
  /** The driver function. */
  readonly call: string;
  /** The function that was being launched, if one was. */
  functionName: string | undefined;

  constructor(call: string, code: number, codeName: string, text: string) {
    super(`${call}: ${codeName} (${code}): ${text}`);
    this.name = 'CudaError';
    this.call = call;
    this.code = code;
    this.codeName = codeName;
  }
}

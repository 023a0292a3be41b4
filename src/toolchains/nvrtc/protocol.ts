/** What the parent asks of the process that holds NVRTC. */
export type NvrtcRequest = { kind: 'describe' } | ({ kind: 'compile' } & NvrtcProgram);

/** One program, complete: NVRTC reads nothing else but the toolkit's headers. */
export interface NvrtcProgram {
  /** Source text and the name under which messages show it. */
  readonly unit: string;
  readonly unitName: string;
  /** Texts by the name under which they are included. */
  readonly headers: readonly (readonly [name: string, text: string])[];
  readonly options: readonly string[];
  /** C++ names of the kernels wanted. */
  readonly functions: readonly string[];
}

export interface NvrtcDescription {
  /** e.g. `13.0`. */
  readonly version: string;
  /** e.g. 90 for sm_90. */
  readonly computeCapabilities: readonly number[];
}

export type NvrtcOutcome =
  | {
      ok: true;
      cubin: Uint8Array;
      ptx: string;
      /** C++ name → symbol. */
      symbols: Readonly<Record<string, string>>;
      log: string;
    }
  /** `code`: an nvrtcResult, by name. */
  | { ok: false; code: string; log: string };

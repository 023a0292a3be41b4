export const SANITIZER_TOOLS = ['memcheck', 'racecheck', 'initcheck', 'synccheck'] as const;
export type SanitizerTool = (typeof SANITIZER_TOOLS)[number];

export interface SanitizerToolReport {
  tool: SanitizerTool;
  /** Only `clean` is clean: a tool that is absent, fails to start or times out has shown nothing. */
  outcome: 'clean' | 'errors' | 'absent' | 'failed' | 'timed-out';
  errorCount: number;
  /** First errors, or why there is no result. */
  detail: string;
  elapsedMs: number;
}

/** What compute-sanitizer said of a candidate on the check shapes. */
export interface SanitizerReport {
  /** `clean`: every tool ran and found nothing; `errors`: one found something; `unsanitized`: one showed nothing. */
  outcome: 'clean' | 'errors' | 'unsanitized';
  version: string | null;
  tools: SanitizerToolReport[];
}

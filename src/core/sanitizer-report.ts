export const SANITIZER_TOOLS = ['memcheck', 'racecheck', 'initcheck', 'synccheck'] as const;
export type SanitizerTool = (typeof SANITIZER_TOOLS)[number];

export interface SanitizerToolReport {
  tool: SanitizerTool;
  /** A tool that is absent, fails to start or times out has shown nothing, so it is not `clean`. */
  outcome: 'clean' | 'errors' | 'absent' | 'failed' | 'timed-out';
  errorCount: number;
  /** First errors, or why there is no result. */
  detail: string;
  elapsedMs: number;
}

/** What compute-sanitizer said of a candidate on the check shapes. */
export interface SanitizerReport {
  /**
   * `clean`: every tool ran and found nothing. `errors`: some tool found something. `unsanitized`: some tool did not run to
   * its end.
   */
  outcome: 'clean' | 'errors' | 'unsanitized';
  version: string | null;
  tools: SanitizerToolReport[];
}

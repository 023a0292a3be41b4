/** Fields of the one error shape that every command prints, in text or under `--json` as `{ error: … }`. */
export interface ErrorDetails {
  /** Stable kebab-case code, e.g. `unknown-dimension`. */
  code: string;
  /** One sentence: what is wrong. */
  message: string;
  /** File the error is about, if any. */
  file?: string;
  /** The place in that file: a JSON path such as `steps[0].grid[1]`, or `line:column`. */
  path?: string;
  /** The value received, as text. */
  received?: string;
  /** What would have been right. */
  expected?: string;
  /** The next step for the user. */
  hint?: string;
}

/** Exit codes of the command line. */
export const EXIT = {
  ok: 0,
  judgedFailed: 1,
  usage: 2,
  deviceOrToolMissing: 3,
  unverified: 4,
  /** A rented GPU that was to be released was not. */
  notReleased: 5,
  interrupted: 130,
} as const;

/** A user-facing error: bad file, bad argument, missing tool. Anything else thrown is a bug. */
export class WarpsmithError extends Error {
  readonly details: ErrorDetails;
  readonly exitCode: number;

  constructor(details: ErrorDetails, exitCode: number = EXIT.usage) {
    super(details.message);
    this.name = 'WarpsmithError';
    this.details = details;
    this.exitCode = exitCode;
  }
}

/** What work gives; undefined if a {@link WarpsmithError} refuses it. Anything else thrown goes on. */
export function unlessRefused<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch (error) {
    if (error instanceof WarpsmithError) return undefined;
    throw error;
  }
}

/** What was thrown, in words. */
export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

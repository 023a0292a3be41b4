import { EXIT, WarpsmithError } from '../core/errors.ts';
import { findExecutable, isExecutableFile } from './find-executable.ts';

/** What wants a Python, for the error. */
export interface PythonNeed {
  /** A sentence. */
  readonly message: string;
  /** Version and packages. */
  readonly expected: string;
}

/**
 * The given Python, else `WARPSMITH_PYTHON`, else `python3` on the search path.
 *
 * @throws WarpsmithError `python-missing` if there is none.
 */
export function findPython(need: PythonNeed, given: string | undefined = process.env.WARPSMITH_PYTHON): string {
  const wanted = given === undefined || given === '' ? 'python3' : given;
  const found = wanted.includes('/') ? (isExecutableFile(wanted) ? wanted : undefined) : findExecutable(wanted);
  if (found !== undefined) return found;
  throw new WarpsmithError(
    {
      code: 'python-missing',
      ...need,
      received: wanted,
      hint: 'Install it, or name one with WARPSMITH_PYTHON=/path/to/python3. Everything else works without it.',
    },
    EXIT.deviceOrToolMissing,
  );
}

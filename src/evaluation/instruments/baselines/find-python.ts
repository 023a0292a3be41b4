import { EXIT, WarpsmithError } from '../../../core/errors.ts';
import { findExecutable, isExecutableFile } from '../../../process/find-executable.ts';

/**
 * The Python for library baselines: the given one, else `WARPSMITH_PYTHON`, else `python3` on the search path.
 *
 * @throws WarpsmithError if there is none.
 */
export function findPython(given: string | undefined = process.env.WARPSMITH_PYTHON): string {
  const wanted = given === undefined || given === '' ? 'python3' : given;
  const found = wanted.includes('/') ? (isExecutableFile(wanted) ? wanted : undefined) : findExecutable(wanted);
  if (found !== undefined) return found;
  throw new WarpsmithError(
    {
      code: 'python-missing',
      message: 'Library baselines need Python, and it is not there.',
      received: wanted,
      expected: 'Python 3.9 or later with PyTorch for CUDA',
      hint: 'Install it, or name one with WARPSMITH_PYTHON=/path/to/python3. Everything else works without it.',
    },
    EXIT.deviceOrToolMissing,
  );
}

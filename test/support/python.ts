import { findExecutable } from '../../src/process/find-executable.ts';
import { runProcess } from '../../src/process/run-process.ts';

/** Whether references in Python can import it. */
export const hasPythonModule = (name: string): Promise<boolean> => hasPython(`import ${name}`);

/** Whether the Python that references run in takes these lines without an error. */
export async function hasPython(lines: string): Promise<boolean> {
  const command = process.env.WARPSMITH_PYTHON || findExecutable('python3');
  if (command === undefined) return false;
  const { exitCode } = await runProcess({
    ...{ command, args: ['-s', '-c', lines], cwd: '/' },
    ...{ timeoutMs: 60_000, maximumOutputBytes: 1 << 16 },
  });
  return exitCode === 0;
}

/** Why tests are left out. */
export const NO_NUMPY = 'this Python has no NumPy';

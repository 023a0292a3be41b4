import { join, resolve } from 'node:path';
import { EXIT, WarpsmithError } from '../../../core/errors.ts';
import { findPython } from '../../../process/find-python.ts';
import { packageFolder } from '../../../process/package-folder.ts';
import { runProcess } from '../../../process/run-process.ts';
import { startOnDemand } from '../../launches/start-on-demand.ts';
import type { ReferencePlace, ReferenceProgram } from './reference-program.ts';

/** reference.py. Its process takes from itself all but computing, before it loads the module: python/warpsmith_reference/confine.py. */
export const pythonProgram: ReferenceProgram = {
  // PyTorch from a cold disk.
  loadTimeoutMs: 180_000,
  takesShapes: true,
  keepsInputs: false,
  async command({ file }, { memoryBytes }) {
    const command = await interpreter();
    const args = [...FLAGS, join(packageFolder('python'), 'warpsmith_reference', '__main__.py'), file];
    return { command, args: [...args, String(Math.round(memoryBytes))], env: ENVIRONMENT };
  },
  notLoaded: (place, answer) =>
    answer.missingModule === undefined
      ? cannotLoad(place, answer.message, answer.stack && pythonProgram.placeIn(answer.stack, place.file))
      : moduleMissing(place, answer.missingModule),
  rowsFunction: 'reference_rows',
  declaration: 'def reference(inputs, dimensions, round)',
  example: 'docs/reference/problem-json.md shows an example.',
  isOutOfMemory: (stderr) => /MemoryError|can't allocate memory/.test(stderr),
  placeIn(stack, file) {
    const lines = [...stack.matchAll(/File "([^"]+)", line (\d+)/g)].filter(([, name]) => name === file);
    return lines.at(-1)?.[2];
  },
};

/** No packages of the user's own, none at all before the process asks for them, and no compiled files written. */
export const FLAGS = ['-s', '-S', '-B'];

/** One thread, so that sums have one order; hashes of one seed, so that sets have one; no GPU. */
export const ENVIRONMENT = {
  LANG: 'C.UTF-8',
  OMP_NUM_THREADS: '1',
  OPENBLAS_NUM_THREADS: '1',
  MKL_NUM_THREADS: '1',
  PYTHONHASHSEED: '0',
  CUDA_VISIBLE_DEVICES: '',
} as const;

const NEED = {
  message: 'A reference in Python needs Python, and it is not there.',
  expected: 'Python 3.9 or later, with what reference.py imports',
};

const PROBE = 'import sys; print(sys.executable); print(*sys.version_info[:2])';
const PROBE_TIMEOUT_MS = 30_000;
const OLDEST = [3, 9] as const;

const interpreters = startOnDemand(probe);

/**
 * The interpreter itself, not a script that looks for it: without a search path such a script finds nothing.
 *
 * @throws WarpsmithError `python-missing`, `python-too-old`.
 */
export const interpreter = (): Promise<string> => interpreters.get(findPython(NEED));

async function probe(python: string): Promise<string> {
  const { exitCode, stdout, stderr } = await runProcess({
    command: python,
    args: [...FLAGS, '-c', PROBE],
    cwd: '/',
    timeoutMs: PROBE_TIMEOUT_MS,
    maximumOutputBytes: 1 << 16,
  });
  const [executable = '', version = ''] = stdout.split('\n');
  const [major = 0, minor = 0] = version.split(' ').map(Number);
  if (exitCode === 0 && executable !== '' && (major > OLDEST[0] || (major === OLDEST[0] && minor >= OLDEST[1])))
    return executable;
  const isOld = exitCode === 0 && executable !== '';
  throw new WarpsmithError(
    {
      code: isOld ? 'python-too-old' : 'python-missing',
      message: isOld ? `${python} is too old for a reference in Python.` : `${python} does not run.`,
      received: isOld ? `Python ${major}.${minor}` : (stderr.trim().split('\n').at(-1) ?? ''),
      expected: NEED.expected,
      hint: 'Name another with WARPSMITH_PYTHON=/path/to/python3.',
    },
    EXIT.deviceOrToolMissing,
  );
}

/** A function at the top of a file. */
export interface PythonFunction {
  readonly name: string;
  readonly parameters: readonly string[];
  /** How many of them have no default. */
  readonly needed: number;
}

/**
 * The functions of a file, read and not run.
 *
 * @throws WarpsmithError `reference-failed` for what is no Python; as {@link interpreter}.
 */
export async function functionsInPython(file: string): Promise<PythonFunction[]> {
  const { exitCode, stdout, stderr } = await runProcess({
    command: await interpreter(),
    args: [...FLAGS, join(packageFolder('python'), 'warpsmith_reference', 'signature.py'), resolve(file)],
    ...{ cwd: '/', env: ENVIRONMENT, timeoutMs: PROBE_TIMEOUT_MS, maximumOutputBytes: 1 << 20 },
  });
  if (exitCode === 0) return JSON.parse(stdout) as PythonFunction[];
  const place = { problem: file, file, folder: file };
  throw cannotLoad(place, stderr.trim().split('\n').at(-1) ?? '', undefined);
}

const cannotLoad = ({ file }: ReferencePlace, message: string, path: string | undefined): WarpsmithError =>
  new WarpsmithError({
    code: 'reference-failed',
    message: `${file} can't be loaded: ${message}`,
    file,
    path,
    received: message,
    expected: 'a module that Python loads as it is, and that only computes',
    hint: `Read it; then python3 -i ${file} shows the whole error, but confines nothing.`,
  });

export const moduleMissing = ({ file }: ReferencePlace, name: string): WarpsmithError =>
  new WarpsmithError(
    {
      code: 'python-module-missing',
      message: `${file} imports ${name}, which ${findPython(NEED)} does not have.`,
      file,
      received: `no module ${name}`,
      expected: `${name} among the packages of that Python, not of its user (pip install --user)`,
      hint: `Install it (python3 -m pip install ${name.split('.')[0]}), or name a Python that has it: WARPSMITH_PYTHON=/path/to/venv/bin/python3.`,
    },
    EXIT.deviceOrToolMissing,
  );

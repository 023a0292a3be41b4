import { fileURLToPath } from 'node:url';
import { WarpsmithError } from '../../../core/errors.ts';
import { entryFile, entryFolder } from '../../../process/entry-file.ts';
import { REFUSED } from './confine.ts';
import type { ReferenceLimits, ReferenceProgram } from './reference-program.ts';

const ENTRY = fileURLToPath(entryFile(new URL('./reference-main.ts', import.meta.url)));
/** Everything that the child imports of ours lies below. */
const OWN_FOLDER = fileURLToPath(entryFolder());

/** reference.ts, under Node's permission model: with access to its folder only. */
export const nodeProgram: ReferenceProgram = {
  loadTimeoutMs: 60_000,
  takesShapes: false,
  keepsInputs: true,
  async command({ file, folder }, limits) {
    return { command: process.execPath, args: [...nodeArguments(folder, limits), ENTRY, pathToModule(file)], env: {} };
  },
  notLoaded: ({ file }, { name, message, stack }) =>
    new WarpsmithError({
      code: 'reference-failed',
      message: `${file} can't be loaded: ${message}`,
      file,
      path: stack && nodeProgram.placeIn(stack, file),
      received: name,
      expected:
        'a module that Node loads as it is: erasable TypeScript only, imports of files beside it with their extension',
      // Not to run it with node instead: outside of this process, it would have the network and the user's environment.
      hint: message.includes(REFUSED)
        ? 'Let it compute from its arguments alone.'
        : 'Correct the reference; the mistake is the problem’s, not a kernel’s.',
    }),
  rowsFunction: 'referenceRows',
  sparseRowsFunction: 'referenceRowsOfSparse',
  declaration: 'export const reference: ReferenceFunction = (inputs, dimensions, round) => …',
  example: 'problems/attention/reference.ts is an example.',
  isOutOfMemory: (stderr) => stderr.includes('JavaScript heap out of memory'),
  placeIn(stack, file) {
    const frame = stack.split('\n').find((line) => line.includes(file.slice(file.lastIndexOf('/'))));
    return frame && /:(\d+(?::\d+)?)\)?$/.exec(frame)?.[1];
  },
};

const pathToModule = (file: string): string =>
  new URL(`file://${encodeURI(file).replaceAll('#', '%23').replaceAll('?', '%3F')}`).href;

/**
 * It can read only our files and the problem's, and write none; no child process, worker thread, addon, WASI or inspector.
 * Node 24's permission model leaves network, signals and SQLite open: confine.ts removes these, and a wall around the
 * process cuts off the network if the system has one.
 */
const nodeArguments = (folder: string, { memoryBytes }: ReferenceLimits): string[] => [
  '--permission',
  `--allow-fs-read=${OWN_FOLDER}`,
  `--allow-fs-read=${folder}`,
  '--no-addons',
  '--no-experimental-sqlite',
  '--disallow-code-generation-from-strings',
  '--no-warnings',
  `--max-old-space-size=${Math.round(memoryBytes / 1024 ** 2)}`,
];

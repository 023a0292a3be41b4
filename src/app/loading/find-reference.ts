import { realpath, stat } from 'node:fs/promises';
import { dirname, join, sep } from 'node:path';
import { WarpsmithError } from '../../core/errors.ts';
import { nodeProgram } from '../../evaluation/oracle/reference-process/node-program.ts';
import { pythonProgram } from '../../evaluation/oracle/reference-process/python-program.ts';
import type { ReferenceProgram } from '../../evaluation/oracle/reference-process/reference-program.ts';
import { readUserFile } from './read-user-file.ts';

/** A problem's reference: which file, and what runs it. */
export interface FoundReference {
  /** Absolute, symbolic links resolved. */
  readonly file: string;
  readonly program: ReferenceProgram;
}

const IN_NODE = ['reference.ts', 'reference.js'] as const;
const IN_PYTHON = 'reference.py';

/**
 * The file that problem.json names as `referenceFile`, else the one that is there.
 *
 * @throws WarpsmithError `missing-file`, `two-references`, `file-outside-problem`.
 */
export async function findReference(folder: string, named: string | undefined): Promise<FoundReference> {
  const name = named ?? (await onlyReference(folder));
  const file = join(folder, name);
  await readUserFile({
    file,
    expected: 'reference.ts or reference.py, which has a function `reference`',
    hint: 'problems/attention/reference.ts is an example.',
  });
  const real = await realpath(file);
  if (dirname(real) !== (await realpath(folder))) throw outsideProblem(file, real);
  return { file: real, program: name.endsWith('.py') ? pythonProgram : nodeProgram };
}

/** Node refuses to strip types under node_modules. There the package contains reference.js, built from reference.ts. */
async function onlyReference(folder: string): Promise<string> {
  const isInstalled = (await realpath(folder)).split(sep).includes('node_modules');
  const wanted = isInstalled ? IN_NODE.slice(1) : IN_NODE;
  const there = await Promise.all([...wanted, IN_PYTHON].map((name) => isFile(join(folder, name))));
  const inNode = wanted.find((_, i) => there[i]);
  const inPython = there.at(-1) === true;
  if (inNode !== undefined && inPython) throw twoReferences(folder, inNode);
  return inNode ?? (inPython ? IN_PYTHON : wanted[0]!);
}

const isFile = async (path: string): Promise<boolean> => (await stat(path).catch(() => undefined))?.isFile() ?? false;

const twoReferences = (folder: string, name: string): WarpsmithError =>
  new WarpsmithError({
    code: 'two-references',
    message: `${folder} has two references, and problem.json does not say which decides.`,
    file: join(folder, 'problem.json'),
    path: 'referenceFile',
    received: `${name} and ${IN_PYTHON}`,
    expected: `"referenceFile": "${name}" or "referenceFile": "${IN_PYTHON}"`,
    hint: 'Name one of them in problem.json, or remove the other.',
  });

/** A module behind a link would import files beside the link's target, to which nobody has agreed. */
const outsideProblem = (file: string, received: string): WarpsmithError =>
  new WarpsmithError({
    code: 'file-outside-problem',
    message: `${file} is a link to a file outside the problem's folder.`,
    file,
    received,
    expected: 'a file inside the problem folder',
    hint: 'Copy the file into the problem folder.',
  });

import { basename, resolve } from 'node:path';
import { EXIT, WarpsmithError } from '../core/errors.ts';
import type { RequestOf } from '../core/requests/request.ts';
import type { NewProblemView } from '../reports/documents/new-problem.ts';
import { writeFolder } from '../store/write-folder.ts';
import { agreeToOwn } from './loading/trust.ts';
import { readOwnFiles } from './own-files.ts';

const EXAMPLE = 'row-sum';

/** As people name folders and read them in tables. */
const NAME = /^[A-Za-z][\w-]*$/;

/** @throws WarpsmithError `bad-problem-name`. */
function requireName(folder: string): string {
  const name = basename(resolve(folder));
  if (NAME.test(name)) return name;
  throw new WarpsmithError(
    {
      code: 'bad-problem-name',
      message: `${name} can't be the name of a problem.`,
      path: '<name>',
      received: folder,
      expected: 'a letter, then letters, digits, _ or -',
      hint: 'For example: warpsmith new my-problem',
    },
    EXIT.usage,
  );
}

/**
 * Makes a problem folder that is right as it stands: the sum of each row of a matrix, with a simple kernel and a better one. What
 * it computes is the user's to replace.
 *
 * @throws WarpsmithError `bad-problem-name`; `folder-not-empty`: nothing is ever replaced.
 */
export async function newProblem({ name: folder }: RequestOf<'new'>): Promise<NewProblemView> {
  const name = requireName(folder);
  const files = await readOwnFiles('examples', EXAMPLE);
  files['problem.json'] = files['problem.json']!.replace(`"name": "${EXAMPLE}"`, `"name": "${name}"`);
  writeFolder(folder, files, { option: '<name>', earlier: () => [] });
  await agreeToOwn(folder);
  return { schemaVersion: 1, kind: 'new-problem', name, folder, files: Object.keys(files) };
}

import { join } from 'node:path';
import { WarpsmithError } from '../../core/errors.ts';
import { suggestName } from '../../core/nearest-name.ts';
import type { Problem } from '../../core/problem.ts';
import { parseSuitesFile } from '../../core/schemas/parse-files.ts';
import type { Suite } from '../../core/suites.ts';
import { readUserText } from './read-user-file.ts';

const SUITES_FILE = 'suites.json';

/**
 * The named suites of a problem, in this order.
 *
 * @throws WarpsmithError `unknown-suite`; for a missing suites.json, or a mistake in it.
 */
export async function loadSuites({ folder, file: problem }: Problem, names: readonly string[]): Promise<Suite[]> {
  if (names.length === 0) return [];
  const file = join(folder, SUITES_FILE);
  const text = await readUserText({
    file,
    expected: `${SUITES_FILE} beside problem.json`,
    hint: 'problems/attention/suites.json is an example.',
  });
  const suites = parseSuitesFile(text, file, problem);
  const known = suites.map(({ name }) => name);
  return [...new Set(names)].map((name) => {
    const suite = suites.find((other) => other.name === name);
    if (suite) return suite;
    throw new WarpsmithError({
      code: 'unknown-suite',
      message: `${problem.name} has no suite \`${name}\`.`,
      file,
      path: '--suite',
      received: name,
      expected: `one of ${known.join(', ')}`,
      hint: suggestName(name, known, 'Suites'),
    });
  });
}

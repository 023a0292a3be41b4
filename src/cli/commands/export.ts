import { commitRun } from '../../app/commit.ts';
import { exportCandidate } from '../../app/export.ts';
import { EXIT, WarpsmithError } from '../../core/errors.ts';
import type { ParameterValues } from '../../core/kernel.ts';
import type { Run } from '../context.ts';
import { printJson } from '../output.ts';

interface Options {
  target: string;
  store: string;
  set?: ParameterValues;
  output?: string;
  name?: string;
  commit?: boolean;
  json?: boolean;
}

/** Where files go, unless the kept changes are committed and no folder is asked for. */
const DEFAULT_FOLDER = 'export';

/** A branch has neither a launch header nor other values than the run's. @throws WarpsmithError `conflicting-options`. */
function refuseConflicts({ set, name, output, commit }: Options): void {
  if (!commit || output !== undefined || (set === undefined && name === undefined)) return;
  const flag = set === undefined ? '--name' : '--set';
  throw new WarpsmithError({
    code: 'conflicting-options',
    message: `${flag} has nothing to say to --commit, which commits what the run kept.`,
    path: flag,
    received: `--commit and ${flag}, without --output`,
    expected: `${flag} with a folder to write to`,
    hint: `Leave ${flag} out, or give --output as well.`,
  });
}

export const run: Run<Options> = async (options, { streams }) => {
  refuseConflicts(options);
  const { target, store, set, output, name, commit, json } = options;
  const folder = output ?? (commit ? undefined : DEFAULT_FOLDER);
  const exported =
    folder === undefined
      ? null
      : await exportCandidate({
          target,
          store,
          parameters: set ?? {},
          output: folder,
          name,
        });
  // Last: a branch that is there already would refuse the second try, once the folder is right.
  const branch = commit ? await commitRun(target, { store }) : null;
  for (const note of exported?.notes ?? []) streams.err.write(`Note: ${note}.\n`);
  if (json) {
    printJson(streams, { schemaVersion: 1, kind: 'export', exported, branch });
    return EXIT.ok;
  }
  const lines = [
    ...(exported ? [...exported.evidence, ...exported.files.map((file) => `  ${file}`)] : []),
    ...(branch ? branch.subjects.map((subject, index) => `${branch.commits[index]!.slice(0, 10)} ${subject}`) : []),
    ...(branch ? [`Branch: ${branch.branch} in ${branch.repository}`] : []),
    ...(exported ? [`Folder: ${exported.folder}`] : []),
  ];
  streams.out.write(`${lines.join('\n')}\n`);
  return EXIT.ok;
};

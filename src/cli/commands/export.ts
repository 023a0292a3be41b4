import { commitRun } from '../../app/commit.ts';
import { exportCandidate } from '../../app/export.ts';
import { EXIT, WarpsmithError } from '../../core/errors.ts';
import { completeRequest, type RequestOf } from '../../core/requests/request.ts';
import type { Run } from '../context.ts';
import { printJson } from '../output.ts';

/** Where files go, unless the kept changes are committed and no folder is asked for. */
const DEFAULT_FOLDER = 'export';

/** A branch has neither a launch header nor other values than the run's. @throws WarpsmithError `conflicting-options`. */
function refuseConflicts({ parameters, name, output, commit }: RequestOf<'export'>): void {
  if (!commit || output !== undefined || (parameters === undefined && name === undefined)) return;
  const flag = parameters === undefined ? '--name' : '--set';
  throw new WarpsmithError({
    code: 'conflicting-options',
    message: `${flag} has no effect on --commit, which commits the changes that the run kept.`,
    path: flag,
    received: `--commit and ${flag}, without --output`,
    expected: `${flag} with a folder to write to`,
    hint: `Leave ${flag} out, or give --output as well.`,
  });
}

export const run: Run<RequestOf<'export'>> = async (request, { streams, json }) => {
  refuseConflicts(request);
  const { target, store, output, commit } = completeRequest('export', request);
  const folder = output ?? (commit ? undefined : DEFAULT_FOLDER);
  const exported = folder === undefined ? null : await exportCandidate({ ...request, output: folder });
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

import { commitRun } from '../../app/commit.ts';
import { exportCandidate } from '../../app/export.ts';
import { exportTorch, type TorchExportReport } from '../../app/export-torch.ts';
import { EXIT, WarpsmithError } from '../../core/errors.ts';
import { completeRequest, type RequestOf } from '../../core/requests/request.ts';
import type { Run } from '../context.ts';
import { printJson } from '../output.ts';
import { withStatus } from '../status-line.ts';

/** Default of --output, unless --commit alone is given. */
const DEFAULT_FOLDER = 'export';

/** A branch has neither a launch header nor other values than the run's. @throws WarpsmithError `conflicting-options`. */
function refuseConflicts({ parameters, name, output, commit, torch, ...rest }: RequestOf<'export'>): void {
  if (torch === undefined && (rest.architectures !== undefined || rest.toolchain !== undefined))
    throw onlyWithTorch(rest.toolchain === undefined ? '--arch' : '--toolchain');
  if (!commit || torch !== undefined || output !== undefined || (parameters === undefined && name === undefined))
    return;
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

const onlyWithTorch = (flag: string): WarpsmithError =>
  new WarpsmithError({
    code: 'conflicting-options',
    message: `${flag} has no effect without --torch: nothing else that is exported is compiled.`,
    path: flag,
    received: `${flag} without --torch`,
    expected: `${flag} with --torch and a folder to write to`,
    hint: `Give --torch, or leave ${flag} out.`,
  });

export const run: Run<RequestOf<'export'>> = async (request, { streams, json, signal }) => {
  refuseConflicts(request);
  const { target, store, output, commit } = completeRequest('export', request);
  const folder = output ?? (commit || request.torch !== undefined ? undefined : DEFAULT_FOLDER);
  const exported = folder === undefined ? null : await exportCandidate({ ...request, output: folder });
  const torch =
    request.torch === undefined
      ? null
      : await withStatus(streams.err, ({ onStep }) =>
          exportTorch({ ...request, torch: request.torch!, signal, onStep }),
        );
  // The branch comes last: if the folder fails, a second try must not find the branch already there.
  const branch = commit ? await commitRun(target, { store }) : null;
  for (const note of [...(exported?.notes ?? []), ...(torch?.notes ?? [])]) streams.err.write(`Note: ${note}.\n`);
  if (json) {
    printJson(streams, { schemaVersion: 1, kind: 'export', exported, torch, branch });
    return EXIT.ok;
  }
  const lines = [
    ...(exported ? [...exported.evidence, ...exported.files.map((file) => `  ${file}`)] : []),
    ...(torch ? describeTorch(torch) : []),
    ...(branch ? branch.subjects.map((subject, index) => `${branch.commits[index]!.slice(0, 10)} ${subject}`) : []),
    ...(branch ? [`Branch: ${branch.branch} in ${branch.repository}`] : []),
    ...(exported ? [`Folder: ${exported.folder}`] : []),
  ];
  streams.out.write(`${lines.join('\n')}\n`);
  return EXIT.ok;
};

const describeTorch = ({ folder, name, functionName, kernels, evidence }: TorchExportReport): string[] => [
  ...evidence,
  ...kernels.map(({ kernel, candidate, architectures }) => `  ${kernel} (${candidate}): ${architectures.join(', ')}`),
  `Package: ${folder}`,
  `Python: from ${name} import ${functionName}`,
];

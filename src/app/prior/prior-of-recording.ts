import type { KnownTimes } from '../../store/events.ts';
import { type RecordedEvaluation, readRecording } from '../../store/recording.ts';
import { knownTimes, searchedKernels, timeOf } from './known-times.ts';
import type { Searched } from './prior-of-store.ts';

/**
 * What a recording knows of kernels of these names: on the workload that is searched, or else on the one that it has most of.
 *
 * @throws WarpsmithError as `readRecording`.
 */
export function priorOfRecording(path: string, searched: Searched): KnownTimes | undefined {
  const { problem, workloads } = searched;
  const names = new Set(searchedKernels(searched).map(({ file }) => file.name));
  const { evaluations, sessions } = readRecording(path);
  const known = evaluations.filter(
    ({ request }) => request.problem.name === problem.file.name && names.has(request.candidate.kernel),
  );
  const tables = [...Map.groupBy(known, ({ evaluation }) => evaluation.workload.name)].sort(
    ([, a], [, b]) => b.length - a.length,
  );
  const [workload, rows] = tables.find(([name]) => name === workloads[0]!.name) ?? tables[0] ?? [];
  if (workload === undefined || !rows) return undefined;
  const device = sessions[0].device.name;
  return knownTimes({ source: path, kind: 'recording', device, workload }, rows.flatMap(settingOf));
}

function settingOf({ request: { candidate }, evaluation: { status, timing } }: RecordedEvaluation) {
  const time = timeOf(status, timing?.medianNs);
  return time === undefined ? [] : [{ kernel: candidate.kernel, parameters: candidate.parameters, time }];
}

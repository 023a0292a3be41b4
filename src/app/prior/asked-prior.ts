import { basename } from 'node:path';
import type { DeviceIdentity } from '../../core/device.ts';
import { WarpsmithError } from '../../core/errors.ts';
import type { Kernel, ParameterValues } from '../../core/kernel.ts';
import { deviceRefusal } from '../../core/plan/runs-on.ts';
import { type KernelSpace, kernelSpace } from '../../search/kernel-space.ts';
import { latinHypercube } from '../../search/latin-hypercube.ts';
import { type Configuration, configurationAt } from '../../search/list-space.ts';
import { randomSource } from '../../stats/random.ts';
import type { KnownTimes } from '../../store/events.ts';
import { type RecordedEvaluation, readRecording } from '../../store/recording.ts';
import { findRun } from '../../store/run-folder.ts';
import { openSession } from '../session.ts';
import { type KnownSetting, knownTimes, searchedKernels, timeOf } from './known-times.ts';
import { type AskedPrior, priorOfRun, type Searched } from './prior-of-store.ts';
import { readTuningResults } from './read-tuning-results.ts';

const NONE = 'none';

type Read = (asked: AskedPrior & Searched) => KnownTimes | undefined | Promise<KnownTimes | undefined>;

/** The first whose pattern a source has reads it. */
const READERS: readonly { readonly reads: RegExp; readonly read: Read }[] = [
  { reads: /^virtual:/, read: (asked) => predictTimes(asked.request.prior, asked) },
  { reads: /\.jsonl(\.gz)?$/, read: (asked) => priorOfRecording(asked.request.prior, asked) },
  { reads: /\.json(\.gz)?$/, read: (asked) => priorOfResults(asked.request.prior, asked) },
  {
    reads: /^/,
    read: (asked) =>
      priorOfRun(asked.request.store, basename(findRun(asked.request.store, asked.request.prior)), asked),
  },
];

/**
 * The times that the user wants a search to begin with.
 *
 * @throws WarpsmithError `nothing-known` if the source knows no setting of these kernels; as those that read it.
 */
export async function askedPrior(
  asked: AskedPrior,
  { device }: { readonly device: { readonly identity: DeviceIdentity } },
): Promise<KnownTimes | undefined> {
  const { prior } = asked.request;
  if (prior === NONE) return undefined;
  const read = READERS.find(({ reads }) => reads.test(prior))!.read;
  const found = await read({ ...asked, device: device.identity });
  if (found) return found;
  throw new WarpsmithError({
    code: 'nothing-known',
    message: `--prior ${prior} has no time of these kernels.`,
    path: '--prior',
    received: prior,
    expected: `settings of ${asked.rungs.map(({ file }) => file.name).join(', ')}`,
    hint: 'A prior is of the same problem and kernels, on another device or workload; --prior none begins without.',
  });
}

/**
 * What a recording knows of kernels of these names: on the workload that is searched, or else on the one that it has most of.
 *
 * @throws WarpsmithError as `readRecording`.
 */
function priorOfRecording(path: string, searched: Searched): KnownTimes | undefined {
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
  return knownTimes({ source: path, kind: 'recording', device, workload }, rows.flatMap(evaluatedSetting));
}

function evaluatedSetting({ request: { candidate }, evaluation: { status, timing } }: RecordedEvaluation) {
  const time = timeOf(status, timing?.medianNs);
  return time === undefined ? [] : [{ kernel: candidate.kernel, parameters: candidate.parameters, time }];
}

/**
 * What results of an auto-tuner know of kernels that have all their parameters among those of the file.
 *
 * @throws WarpsmithError as `readTuningResults`.
 */
function priorOfResults(path: string, searched: Searched): KnownTimes | undefined {
  const { space, outcomes } = readTuningResults(path);
  const kernels = searchedKernels(searched).filter(({ file }) => Object.keys(file.parameters ?? {}).length > 0);
  const settings = outcomes.flatMap((outcome, index): KnownSetting[] => {
    const configuration = configurationAt(space, index);
    const time = outcome.kind === 'failed' ? null : outcome.timeNs;
    return kernels.flatMap((kernel) => {
      const parameters = parametersOf(kernel, configuration);
      return parameters ? [{ kernel: kernel.file.name, parameters, time }] : [];
    });
  });
  return knownTimes({ source: path, kind: 'tuning-results', device: null, workload: null }, settings);
}

/** Undefined if the configuration lacks a parameter, or is of another kernel by its own `kernel`. */
function parametersOf({ file }: Kernel, configuration: Configuration): ParameterValues | undefined {
  const names = Object.keys(file.parameters ?? {});
  const isOther = !names.includes('kernel') && (configuration.kernel ?? file.name) !== file.name;
  if (isOther || names.some((name) => typeof configuration[name] !== 'number')) return undefined;
  return Object.fromEntries(names.map((name) => [name, configuration[name] as number]));
}

/** Settings that are predicted; of a larger space, so many that are spread over it. */
const MOST_PREDICTED = 1000;
/** Parts of the work that are said. */
const STEPS_TOLD = 10;
/** Always the same, so that what was predicted before is not predicted again. */
const SEED = 1;

/**
 * Predicts the settings of a run's kernels on a virtual device, on the run's first workload.
 *
 * @throws WarpsmithError `prior-is-the-device`; as {@link openSession}; the abort reason of the request's signal.
 */
async function predictTimes(device: string, asked: AskedPrior): Promise<KnownTimes | undefined> {
  const { request, problem, workloads } = asked;
  if (device === request.device) throw priorIsTheDevice(device);
  const { name, dimensions, cache } = workloads[0]!;
  const { threads, fresh, runTimeoutSeconds, signal, onStep } = request;
  await using session = await openSession({ device, threads, fresh, runTimeoutSeconds, signal });
  const kernels = searchedKernels(asked).filter(({ file }) => deviceRefusal(file, session.device) === undefined);
  const space = kernelSpace(kernels, dimensions);
  const places = spread(space);
  const step = Math.ceil(places.length / STEPS_TOLD);
  const settings: KnownSetting[] = [];
  for (const [count, place] of places.entries()) {
    signal?.throwIfAborted();
    if (count % step === 0) onStep?.(`predicting setting ${count + 1} of ${places.length} on ${device}`);
    const candidate = space.candidateAt(place);
    const workload = { name, dimensions, cache };
    const { status, timing } = await session.evaluator.evaluate({ problem, candidate, workload, seed: SEED, signal });
    const time = timeOf(status, timing?.medianNs);
    if (time === undefined) continue;
    settings.push({ kernel: candidate.kernel.file.name, parameters: candidate.parameters, time });
  }
  return knownTimes(
    { source: device, kind: 'predictions', device: session.device.identity.name, workload: name },
    settings,
  );
}

const spread = ({ space }: KernelSpace): number[] =>
  space.size <= MOST_PREDICTED
    ? Array.from({ length: space.size }, (_, place) => place)
    : latinHypercube(space, MOST_PREDICTED, randomSource(SEED));

const priorIsTheDevice = (device: string): WarpsmithError =>
  new WarpsmithError({
    code: 'prior-is-the-device',
    message: `--prior ${device} would judge every setting on the device of the run.`,
    path: '--prior',
    received: device,
    expected: 'another virtual device, a run, a file or none',
    hint: 'Leave --prior out, or search all settings with --strategy exhaustive.',
  });

import { WarpsmithError } from '../../core/errors.ts';
import { deviceRefusal } from '../../core/plan/runs-on.ts';
import { type KernelSpace, kernelSpace } from '../../search/kernel-space.ts';
import { latinHypercube } from '../../search/latin-hypercube.ts';
import { randomSource } from '../../stats/random.ts';
import type { KnownTimes } from '../../store/events.ts';
import { openSession } from '../session.ts';
import { type KnownSetting, knownTimes, searchedKernels, timeOf } from './known-times.ts';
import type { AskedPrior } from './prior-of-store.ts';

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
export async function predictTimes(device: string, asked: AskedPrior): Promise<KnownTimes | undefined> {
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

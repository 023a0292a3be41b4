import { basename } from 'node:path';
import type { DeviceIdentity } from '../../core/device.ts';
import { WarpsmithError } from '../../core/errors.ts';
import type { KnownTimes } from '../../store/events.ts';
import { findRun } from '../../store/run-folder.ts';
import { predictTimes } from './predict-times.ts';
import { priorOfRecording } from './prior-of-recording.ts';
import { priorOfResults } from './prior-of-results.ts';
import { type AskedPrior, priorOfRun, type Searched } from './prior-of-store.ts';

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

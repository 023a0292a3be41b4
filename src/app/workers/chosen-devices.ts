import type { DeviceIdentity } from '../../core/device.ts';
import { EXIT, WarpsmithError } from '../../core/errors.ts';
import { listDevices } from '../../devices/open-device.ts';

/** What chooses the devices of a run. */
export interface DeviceChoice {
  readonly device: string;
  readonly workers?: string;
  readonly queue?: string;
  readonly replay?: string;
}

const ALL_GPUS = 'cuda:all';

/**
 * The devices of a run's workers, one for each: `cuda:0,cuda:1`, `cuda:all`, or one device as often as there are workers. Undefined if the
 * run judges one candidate at a time in its own process.
 *
 * @throws WarpsmithError `bad-option-value` or `conflicting-options`.
 */
export function chosenDevices({ device, workers: asked, replay, queue }: DeviceChoice): readonly string[] | undefined {
  if (replay !== undefined || queue !== undefined) return undefined;
  const ids = device === ALL_GPUS ? allGpus() : device.split(',').map((id) => id.trim());
  const workers = asked === undefined ? undefined : countOf(asked);
  if (workers === undefined) return ids.length > 1 ? distinct(ids) : undefined;
  if (ids.length === 1) return workers === 1 ? undefined : Array(workers).fill(ids[0]);
  if (workers === ids.length) return distinct(ids);
  throw new WarpsmithError({
    code: 'conflicting-options',
    message: 'Of several GPUs, each judges one candidate at a time.',
    path: '--workers',
    received: `--device ${device} --workers ${asked}`,
    expected: 'as many devices as workers, or --workers with one device',
    hint: 'Leave --workers out, or name one GPU, e.g. --device cuda:0 --workers 2.',
  });
}

function countOf(workers: string): number {
  const count = Number(workers);
  if (Number.isInteger(count)) return count;
  throw new WarpsmithError({
    code: 'conflicting-options',
    message: `--workers ${workers} names workers of a queue, and no --queue is given.`,
    path: '--workers',
    received: workers,
    expected: 'a number of processes, or --queue as well',
    hint: 'For example --workers 2.',
  });
}

function allGpus(): string[] {
  const ids = listDevices().flatMap(({ id, kind }) => (kind === 'cuda' ? [id] : []));
  if (ids.length > 0) return ids;
  throw mistake(ALL_GPUS, 'a machine with NVIDIA GPUs', '`warpsmith devices` lists what there is.');
}

function distinct(ids: readonly string[]): readonly string[] {
  const received = ids.join(',');
  const virtual = ids.find((id) => !id.startsWith('cuda:'));
  if (virtual !== undefined)
    throw mistake(received, 'GPUs, e.g. cuda:0,cuda:1', `${virtual} spreads over processes with --workers.`);
  if (new Set(ids).size < ids.length)
    throw mistake(received, 'each GPU once', 'One GPU judges several candidates at a time with --workers.');
  return ids;
}

const mistake = (received: string, expected: string, hint: string): WarpsmithError =>
  new WarpsmithError({
    code: 'bad-option-value',
    message: `--device can't be "${received}".`,
    path: '--device',
    received,
    expected,
    hint,
  });

/** Times of two models say nothing about each other. @throws WarpsmithError `mixed-devices`. */
export function refuseMixed([first, ...others]: readonly Pick<DeviceIdentity, 'id' | 'name'>[]): void {
  const other = others.find(({ name }) => name !== first!.name);
  if (!other) return;
  throw new WarpsmithError(
    {
      code: 'mixed-devices',
      message: `${first!.id} and ${other.id} are different GPUs; one run can't use both.`,
      path: '--device',
      received: `${first!.name} and ${other.name}`,
      expected: 'GPUs of one model',
      hint: 'Start a run for each model.',
    },
    EXIT.deviceOrToolMissing,
  );
}

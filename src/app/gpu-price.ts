import { readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { WarpsmithError } from '../core/errors.ts';
import { AUTO, describeGpuPrice, findGpuPrice, type GpuPrices } from '../core/gpu-prices.ts';
import type { RequestOf } from '../core/requests/request.ts';
import { parseGpuPrices } from '../core/schemas/parse-files.ts';
import { listDevices } from '../devices/open-device.ts';
import { packageFolder } from '../process/package-folder.ts';
import type { Budgets } from '../store/events.ts';
import { readUserText } from './loading/read-user-file.ts';
import type { OnDevice } from './session.ts';

export type GpuPriceOfRun = Pick<Budgets, 'gpuPricePerHour' | 'gpuPriceSource'>;

type Request = Pick<OnDevice<RequestOf<'optimize'>>, 'gpuPricePerHour' | 'prices' | 'device' | 'workers' | 'onStep'>;

/**
 * The price that the user gives, or one of a list, which is said with its date.
 *
 * @throws WarpsmithError `no-gpu-price`, `option-missing`; for a list that can't be used.
 */
export async function gpuPriceOf({ gpuPricePerHour: asked, prices, onStep, ...on }: Request): Promise<GpuPriceOfRun> {
  if (typeof asked !== 'string') {
    if (prices !== undefined) throw nothingToLookUp(prices, asked);
    return { gpuPricePerHour: asked ?? null };
  }
  const { list, file } = await readPrices(prices);
  const found = findGpuPrice(list, { file, ...lookedUp(asked, on) });
  const gpuPriceSource = describeGpuPrice(found, list.currency);
  onStep?.(`GPU price: ${gpuPriceSource}. If yours differs: --gpu-price AMOUNT or --prices FILE.`);
  return { gpuPricePerHour: found.perHour, gpuPriceSource };
}

/** What `auto` stands for: the driver's name of the run's first GPU, or the model of a queue's workers. */
function lookedUp(asked: string, { device, workers }: Request): { asked: string; driverName?: string } {
  const [, from] = asked.split('@');
  const isAuto = asked === AUTO || asked.startsWith(`${AUTO}@`);
  const model = /^gpu=([\w-]+)$/.exec(workers ?? '')?.[1]?.toLowerCase();
  if (isAuto && model !== undefined) return { asked: from === undefined ? model : `${model}@${from}` };
  const [first = ''] = device.split(',');
  const id = first === 'cuda:all' ? 'cuda:0' : first;
  return { asked, driverName: listDevices().find((listed) => listed.id === id)?.name };
}

async function readPrices(prices: string | undefined): Promise<{ list: GpuPrices; file: string }> {
  if (prices === undefined) {
    const file = join(packageFolder('prices'), 'gpu-prices.json');
    return { list: parseGpuPrices(await readFile(file, 'utf8'), file), file };
  }
  const text = await readUserText({
    file: prices,
    expected: 'a list of prices of GPUs',
    hint: 'prices/gpu-prices.json of warpsmith is one to copy.',
  });
  return { list: parseGpuPrices(text, prices), file: resolve(prices) };
}

const nothingToLookUp = (prices: string, asked: number | undefined): WarpsmithError =>
  new WarpsmithError({
    code: 'option-missing',
    message: '--prices is a list to look a GPU up in.',
    path: '--gpu-price',
    received: `--prices ${prices} and ${asked === undefined ? 'no --gpu-price' : `--gpu-price ${asked}`}`,
    expected: '--gpu-price auto, or a GPU of the list',
    hint: 'For example --gpu-price auto.',
  });

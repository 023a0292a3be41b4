import { launchesOf } from '../../../core/plan/declared-steps.ts';
import { createStream } from '../../../stats/random.ts';
import type { ChecksRequest } from './request.ts';

/** Multiprocessors of GPUs: a part of one, up to more than any has; more than an H200 has in every second shape. */
const MULTIPROCESSORS = { least: 1, many: 133, most: 192 } as const;

/**
 * A kernel whose launches depend on the number of multiprocessors is to be right on other GPUs, too: a number by lot, few as often as many, because a
 * CTA of few has so much to do that its counters end. All CTAs of a cooperative launch must be resident on the device, so it is at most the device's own.
 */
export function otherGpu({ kernel, isEmulated, smCount, seed }: ChecksRequest, index: number): number | undefined {
  if (!isEmulated || !JSON.stringify(kernel.steps).includes('device.smCount')) return undefined;
  const { least, many, most } = MULTIPROCESSORS;
  const stream = createStream(seed, 'multiprocessors');
  const isCooperative = launchesOf(kernel.steps).some(({ cooperative }) => cooperative);
  if (isCooperative) return least + (stream.bits(index) % Math.min(smCount ?? 1, most));
  if (index % 2 === 0) return many + (stream.bits(index) % (most - many + 1));
  return Math.floor(least * (many / least) ** stream.uniform(index));
}

import type { DeviceFailure } from '../../../core/device.ts';
import { sizeOfDType } from '../../../core/dtype.ts';
import type { LaunchPlan } from '../../../core/launch-plan.ts';
import type { BufferPair, Draw, Fill, Rerun, RerunOutcome } from '../../../core/measuring-device.ts';
import {
  type CompareJob,
  type DrawJob,
  type FillJob,
  type PackedJobs,
  packCompareJobs,
  packDrawJobs,
  packFillJobs,
} from '../harness/harness.ts';
import type { CudaContext } from './cuda-context.ts';
import type { HarnessRunner } from './harness-runner.ts';
import { enqueueSequence, localBytesOf, type PreparedSequence, prepareSequence, releaseSequence } from './launch.ts';
import type { CudaBuffer } from './memory.ts';
import type { CudaModule } from './module.ts';

export type On<T> = Omit<T, 'buffer'> & { buffer: CudaBuffer };
export type CudaSlot = ReadonlyMap<string, CudaBuffer>;
export type CudaPair = Omit<BufferPair, 'left' | 'right'> & { left: CudaBuffer; right: CudaBuffer };
export type CudaRerun = Pick<Rerun, 'sequence'> & {
  readonly draws: readonly On<Draw>[];
  readonly fills: readonly On<Fill>[];
  readonly pairs: readonly CudaPair[];
};

/** Launch sequences that can be run one by one. */
export interface CudaSequences {
  readonly module: CudaModule;
  readonly plan: LaunchPlan;
  readonly slots: readonly CudaSlot[];
  /** Ready to be enqueued; a module with variables is loaded anew for each run instead. */
  readonly prepared: readonly PreparedSequence[] | undefined;
}

/** Lays the arguments of every sequence out. */
export function prepareSequences(
  context: CudaContext,
  module: CudaModule,
  plan: LaunchPlan,
  slots: readonly CudaSlot[],
): { ok: true; sequences: CudaSequences } | DeviceFailure {
  if (module.hasState) return { ok: true, sequences: { module, plan, slots, prepared: undefined } };
  const prepared: PreparedSequence[] = [];
  const release = () => releaseAll(context, prepared);
  try {
    for (const slot of slots) {
      const one = prepareSequence(context.target, module, plan, slot);
      if (!one.ok) {
        release();
        return one;
      }
      prepared.push(one.sequence);
    }
    return { ok: true, sequences: { module, plan, slots, prepared } };
  } catch (error) {
    try {
      return context.failureOf(error, plan);
    } finally {
      release();
    }
  }
}

export const releaseSequences = (context: CudaContext, { prepared = [] }: CudaSequences): void =>
  releaseAll(context, prepared);

const releaseAll = (context: CudaContext, prepared: readonly PreparedSequence[]): void => {
  if (context.isLost) return;
  for (const sequence of prepared) releaseSequence(context.driver, sequence);
};

/** What is put into the stream for one rerun. */
interface PackedRerun {
  readonly sequence: number;
  readonly draw: PackedJobs;
  readonly fill: PackedJobs;
  readonly compare: PackedJobs;
}

/** Runs sequences one at a time, each over a scrubbed chip, and counts what is equal as soon as each has ended. */
export function rerun(
  context: CudaContext,
  harness: HarnessRunner,
  sequences: CudaSequences,
  reruns: readonly CudaRerun[],
  key: number,
): RerunOutcome {
  const packed = reruns.map(
    (one): PackedRerun => ({
      sequence: one.sequence,
      draw: packDrawJobs(drawJobs(context, one.draws)),
      fill: packFillJobs(fillJobs(context, one.fills)),
      compare: packCompareJobs(compareJobs(context, one.pairs)),
    }),
  );
  const pairCount = reruns.reduce((sum, { pairs }) => sum + pairs.length, 0);
  try {
    const staged = harness.stage(
      packed.flatMap(({ draw, fill, compare }) => [draw, fill, compare]),
      pairCount,
    );
    context.driver.call('cuCtxSynchronize');
    let countsAt = staged.countsAt;
    for (const [i, one] of packed.entries()) {
      const refusal = runAlone(context, sequences, one.sequence, (enqueue, localBytes) => {
        harness.enqueueJobs('draw', one.draw, staged.places[3 * i]!);
        harness.enqueueJobs('fill', one.fill, staged.places[3 * i + 1]!);
        harness.enqueueScrub((BigInt(key) << 32n) | BigInt(i), localBytes);
        enqueue();
        harness.enqueueJobs('compare', one.compare, staged.places[3 * i + 2]!, countsAt);
      });
      if (refusal) return refusal;
      countsAt += BigInt(8 * one.compare.jobCount);
    }
    context.driver.call('cuStreamSynchronize', context.stream);
    const counts = harness.readCounts(staged.countsAt, pairCount);
    return { ok: true, equalElements: reruns.map(({ pairs }) => counts.splice(0, pairs.length)) };
  } catch (error) {
    return context.failureOf(error, sequences.plan);
  }
}

/** Hands over what enqueues the sequence; one of a module with variables starts from their initial values. */
function runAlone(
  context: CudaContext,
  { module, plan, slots, prepared }: CudaSequences,
  index: number,
  use: (enqueue: () => void, localBytes: number) => void,
): DeviceFailure | undefined {
  const { driver, stream } = context;
  const useSequence = (sequence: PreparedSequence) =>
    use(() => enqueueSequence(driver, sequence, stream), localBytesOf(sequence));
  if (prepared) {
    useSequence(prepared[index]!);
    return undefined;
  }
  const loaded = context.load(module.code);
  if (!loaded.ok) return loaded;
  const outcome = context.withSequence(loaded.module, plan, slots[index]!, (sequence): { ok: true } => {
    useSequence(sequence);
    driver.call('cuStreamSynchronize', stream);
    return { ok: true };
  });
  if (!context.isLost) context.unload(loaded.module);
  return outcome.ok ? undefined : outcome;
}

/** @throws Error when a buffer has been freed. */
export const drawJobs = (context: CudaContext, draws: readonly On<Draw>[]): DrawJob[] =>
  draws.map(({ buffer, dtype, rule, key }) => {
    context.mustBeAllocated(buffer);
    const elementCount = Math.floor(buffer.bytes / sizeOfDType(dtype));
    return { address: buffer.address, elementCount, dtype, rule, key };
  });

/** @throws Error when a buffer has been freed. */
export const fillJobs = (context: CudaContext, fills: readonly On<Fill>[]): FillJob[] =>
  fills.map(({ buffer, pattern }) => {
    context.mustBeAllocated(buffer);
    return { address: buffer.address, bytes: buffer.bytes, pattern };
  });

/** @throws Error when a buffer has been freed, or the two of a pair are not of one size. */
const compareJobs = (context: CudaContext, pairs: readonly CudaPair[]): CompareJob[] =>
  pairs.map(({ left, right, dtype, tolerance }) => {
    for (const buffer of [left, right]) context.mustBeAllocated(buffer);
    if (left.bytes !== right.bytes)
      throw new Error(`${left.name} has ${left.bytes} bytes and what it is compared with ${right.bytes}`);
    const elementCount = Math.floor(left.bytes / sizeOfDType(dtype));
    return { left: left.address, right: right.address, elementCount, dtype, tolerance };
  });

import type { DeviceFailure } from '../../../core/device-values.ts';
import { sizeOfDType } from '../../../core/dtype.ts';
import type { LaunchPlan } from '../../../core/launch-plan.ts';
import type { BufferPair, Draw, Fill, ReplayRound } from '../../../core/measuring-device.ts';
import { belowOf, createStream, shuffle } from '../../../stats/random.ts';
import {
  type CompareJob,
  type DrawJob,
  type FillJob,
  type PackedJobs,
  packCompareJobs,
  packDrawJobs,
  packFillJobs,
  packGuardJobs,
} from '../harness/harness.ts';
import type { ArenaGap } from './arena.ts';
import type { CudaContext } from './cuda-context.ts';
import { type PreparedSequence, prepareSequence, releaseSequence } from './launch.ts';
import { isShort, type LongFill, type LongFills } from './long-fills.ts';
import { type CudaBuffer, GUARD_VALUE } from './memory.ts';
import type { CudaModule } from './module.ts';

export type CudaSlot = ReadonlyMap<string, CudaBuffer>;
export type CudaRound = ReplayRound<CudaBuffer>;

/** Launch sequences with their arguments, of one loaded module. */
export interface PreparedReplay {
  readonly module: CudaModule;
  /** One for each slot of the graph. */
  readonly inGraph: readonly PreparedSequence[];
  /** One for each slot of the reruns. */
  readonly alone: readonly PreparedSequence[];
}

/** Sequences that are captured together and rerun one by one. */
export interface CudaReplay {
  readonly module: CudaModule;
  readonly plan: LaunchPlan;
  readonly slots: readonly CudaSlot[];
  readonly alone: readonly CudaSlot[];
  /** The graph of all sequences; absent if variables can't be restored, so that every run must load the module again. */
  readonly ready: { readonly prepared: PreparedReplay; readonly exec: bigint } | undefined;
}

/** Whether a module can run again as if it had never run. */
export const isRepeatable = ({ hasState, initial }: CudaModule): boolean => !hasState || initial !== undefined;

/** Packs the arguments of every sequence. @throws CudaError, with everything freed. */
export function prepareSequences(
  context: CudaContext,
  module: CudaModule,
  plan: LaunchPlan,
  { slots, alone }: { slots: readonly CudaSlot[]; alone: readonly CudaSlot[] },
): { ok: true; prepared: PreparedReplay } | DeviceFailure {
  const all: PreparedSequence[] = [];
  try {
    for (const slot of [...slots, ...alone]) {
      const one = prepareSequence(context.target, module, plan, slot);
      if (!one.ok) {
        releaseAll(context, all);
        return one;
      }
      all.push(one.sequence);
    }
  } catch (error) {
    releaseAll(context, all);
    throw error;
  }
  return { ok: true, prepared: { module, inGraph: all.slice(0, slots.length), alone: all.slice(slots.length) } };
}

export const releasePrepared = (context: CudaContext, { inGraph, alone }: PreparedReplay): void =>
  releaseAll(context, [...inGraph, ...alone]);

function releaseAll(context: CudaContext, sequences: readonly PreparedSequence[]): void {
  if (context.isLost) return;
  for (const sequence of sequences) releaseSequence(context.driver, sequence);
}

interface PackedRerun {
  readonly sequence: number;
  readonly fill: PackedJobs;
  readonly longFills: readonly LongFill[];
  readonly compare: PackedJobs;
}

/** Work of the trusted device code around one replay, as job lists. */
export interface PackedRound {
  readonly draw: PackedJobs;
  readonly fill: PackedJobs;
  readonly longFills: readonly LongFill[];
  readonly reread: PackedJobs;
  readonly match: PackedJobs;
  readonly guards: PackedJobs;
  readonly held: PackedJobs;
  readonly reruns: readonly PackedRerun[];
}

/** @throws Error when a buffer has been freed. */
export const packRound = (
  context: CudaContext,
  round: CudaRound,
  { gaps, longFills }: { gaps: readonly ArenaGap[]; longFills: LongFills },
): PackedRound => ({
  draw: packDrawJobs(drawJobs(context, round.draws)),
  fill: packFillJobs(fillJobs(context, round.fills)),
  longFills: longFills.of(round.fills),
  reread: packFillJobs(piecesOf(context, round)),
  match: packDrawJobs(drawJobs(context, round.unchanged)),
  guards: packGuardJobs(gaps, GUARD_VALUE),
  held: packFillJobs(fillJobs(context, round.poisons)),
  reruns: round.reruns.map(({ sequence, fills, pairs }) => ({
    sequence,
    fill: packFillJobs(fillJobs(context, fills)),
    longFills: longFills.of(fills),
    compare: packCompareJobs(compareJobs(context, pairs)),
  })),
});

/** @throws Error when a buffer has been freed. */
export const drawJobs = (context: CudaContext, draws: readonly Draw<CudaBuffer>[]): DrawJob[] =>
  draws.map(({ buffer, dtype, rule, key }) => {
    context.mustBeAllocated(buffer);
    const elementCount = Math.floor(buffer.bytes / sizeOfDType(dtype));
    return { address: buffer.address, elementCount, dtype, rule, key };
  });

/** Those with short patterns. @throws Error when a buffer has been freed. */
export const fillJobs = (context: CudaContext, fills: readonly Fill<CudaBuffer>[]): FillJob[] =>
  fills.filter(isShort).map(({ buffer, pattern }) => {
    context.mustBeAllocated(buffer);
    return { address: buffer.address, bytes: buffer.bytes, pattern };
  });

/** Large enough that its launch order hardly mixes with its neighbours', small beside any L2. */
const PIECE_BYTES = 2 ** 20;

/** The buffers to read again in pieces, shuffled. @throws Error when a buffer has been freed. */
function piecesOf(context: CudaContext, { reread, chip }: CudaRound): FillJob[] {
  const pattern = Uint8Array.of(0);
  const pieces = reread.flatMap((buffer) => {
    context.mustBeAllocated(buffer);
    return Array.from({ length: Math.ceil(buffer.bytes / PIECE_BYTES) }, (_, i): FillJob => {
      const from = i * PIECE_BYTES;
      return { address: buffer.address + BigInt(from), bytes: Math.min(PIECE_BYTES, buffer.bytes - from), pattern };
    });
  });
  return shuffle(pieces, belowOf(createStream(chip.key, 'reread')));
}

/** @throws Error if a buffer has been freed, or the two buffers of a pair differ in size. */
const compareJobs = (context: CudaContext, pairs: readonly BufferPair<CudaBuffer>[]): CompareJob[] =>
  pairs.map(({ left, right, dtype, tolerance }) => {
    for (const buffer of [left, right]) context.mustBeAllocated(buffer);
    if (left.bytes !== right.bytes)
      throw new Error(`${left.name} has ${left.bytes} bytes, but its counterpart has ${right.bytes}`);
    const elementCount = Math.floor(left.bytes / sizeOfDType(dtype));
    return { left: left.address, right: right.address, elementCount, dtype, tolerance };
  });

import type { DeviceBuffer, DeviceFailure, LoadedModule } from './device.ts';
import type { DType } from './dtype.ts';
import type { LaunchPlan } from './launch-plan.ts';
import type { MeasuredPeaks } from './measured-peaks.ts';
import type { GpuState } from './measurement.ts';

/**
 * How a device fills a dense buffer by itself from a secret key: element i is a pure function of (rule, key, i), so that
 * what lies there later can be compared with what was drawn. Source of the counter-based bits: evaluation/random.ts.
 */
export type DrawRule =
  | { kind: 'normal'; mean: number; standardDeviation: number }
  /** Uniform in [low, high). */
  | { kind: 'uniform'; low: number; high: number }
  /** Whole numbers from `low` to `high`, both included. */
  | { kind: 'integers'; low: number; high: number }
  /** Every whole number from 0 to count − 1 once. */
  | { kind: 'permutation' }
  | { kind: 'constant'; value: number };

/** One buffer to be drawn. */
export interface Draw {
  readonly buffer: DeviceBuffer;
  readonly dtype: DType;
  readonly rule: DrawRule;
  /** Two 32-bit words. */
  readonly key: readonly [number, number];
}

/** A pattern of 1, 2, 4 or 8 bytes repeated over a buffer. */
export interface Fill {
  readonly buffer: DeviceBuffer;
  readonly pattern: Uint8Array;
}

/** Launch sequences captured as one graph: one sequence for each slot, in the order given. */
export interface Replay {
  readonly sequenceCount: number;
}

/** The buffers one launch sequence works on, by their names in the plan. */
export type Slot = ReadonlyMap<string, DeviceBuffer>;

/** Launch sequences ready to be launched one by one, outside graphs, each on its own slot. */
export interface Sequences {
  readonly sequenceCount: number;
}

/** Two dense buffers of one size whose elements should be equal. */
export interface BufferPair {
  readonly left: DeviceBuffer;
  readonly right: DeviceBuffer;
  readonly dtype: DType;
  /** Floating values that differ by at most this share of |left| + |right| are equal, too; 0: only equal bits are. */
  readonly tolerance: number;
}

/** A launch sequence to be run by itself: what its buffers hold before, and what they are compared with after it. */
export interface Rerun {
  /** Which of the {@link Sequences}. */
  readonly sequence: number;
  readonly draws: readonly Draw[];
  readonly fills: readonly Fill[];
  readonly pairs: readonly BufferPair[];
}

/** For each rerun, the elements of each of its pairs that are equal. */
export type RerunOutcome = { ok: true; equalElements: number[][] } | DeviceFailure;

/** In what state the chip is left before a replay is timed. */
export interface ChipState {
  /** What shared memory, registers and local memory are overwritten with follows from this. */
  readonly key: number;
  /** Whether L2 holds nothing of the replay's buffers; else what was written last is there. */
  readonly isL2Swept: boolean;
}

export type ReplayOutcome = { ok: true; replay: Replay } | DeviceFailure;
/** `ns`: device time between the events around one replay. */
export type TimedOutcome = { ok: true; ns: number } | DeviceFailure;

/**
 * What a real GPU offers beside {@link Device}: memory for many slots, graphs, an event clock, and trusted device code
 * that draws inputs, poisons outputs and looks for what changed. All calls but `time` are untimed.
 */
export interface MeasuringDevice {
  /**
   * Buffers at fresh places of one arena, in an order and with gaps drawn from `seed`, guard zones between them. Freed
   * together by `freeArena` with any of its buffers.
   */
  allocateArena(
    requests: readonly { name: string; bytes: number; alignmentBytes: number }[],
    seed: number,
  ): Promise<DeviceBuffer[]>;
  freeArena(buffers: readonly DeviceBuffer[]): Promise<void>;
  /** Guard bytes of the whole arena that no longer hold the guard pattern, by the buffer before them. */
  damagedArenaGuards(buffers: readonly DeviceBuffer[]): Promise<{ buffer: string; bytes: number }[]>;
  draw(draws: readonly Draw[]): Promise<void>;
  /** Elements of each buffer that differ from what {@link draw} put there. */
  changedSinceDraw(draws: readonly Draw[]): Promise<number[]>;
  fillAll(fills: readonly Fill[]): Promise<void>;
  /** Elements, as large as the pattern, of each buffer that hold the pattern. */
  elementsHolding(fills: readonly Fill[]): Promise<number[]>;
  writeAll(writes: readonly { buffer: DeviceBuffer; bytes: Uint8Array }[]): Promise<void>;
  readAll(buffers: readonly DeviceBuffer[]): Promise<Uint8Array[]>;
  /** Whether the module has variables that outlive a launch; then `prepareReplay` starts from their initial values. */
  hasState(module: LoadedModule): boolean;
  /** Captures one sequence for each slot; module variables hold their initial values when the replay first runs. */
  prepareReplay(module: LoadedModule, plan: LaunchPlan, slots: readonly Slot[]): Promise<ReplayOutcome>;
  /**
   * Overwrites what earlier launches left on the chip, gives up L2 lines that they marked as persisting, runs the graph once
   * and reads the event clock. A replay of a module with state may be timed once only.
   */
  time(replay: Replay, timeoutMs: number, chip: ChipState): Promise<TimedOutcome>;
  releaseReplay(replay: Replay): Promise<void>;
  prepareSequences(
    module: LoadedModule,
    plan: LaunchPlan,
    slots: readonly Slot[],
  ): Promise<{ ok: true; sequences: Sequences } | DeviceFailure>;
  /**
   * Runs sequences one at a time, in the order given, and compares what each leaves as soon as it has ended. Before each,
   * what earlier launches left on the chip is overwritten and module variables get their initial values.
   */
  rerun(sequences: Sequences, reruns: readonly Rerun[], key: number, timeoutMs: number): Promise<RerunOutcome>;
  releaseSequences(sequences: Sequences): Promise<void>;
  /** Device time that a replay takes beside its launches: a graph of one empty kernel, less what one more costs. */
  replayOverheadNs(): Promise<number>;
  /** Device time of one launch between two events, outside graphs: what a lone call costs. */
  timeEager(module: LoadedModule, plan: LaunchPlan, slot: Slot, timeoutMs: number): Promise<TimedOutcome>;
  /** What NVML says now; fields it does not tell are absent. */
  state(): Promise<GpuState>;
  /** What this board was seen to reach: measured once, then remembered. */
  peaks?(): Promise<MeasuredPeaks>;
  /** L2 size of the device, which says what is hot and what is cold. */
  readonly l2Bytes: number;
}

import type { DeviceBuffer, DeviceFailure, LoadedModule } from './device-values.ts';
import type { DType } from './dtype.ts';
import type { LaunchPlan } from './launch-plan.ts';
import type { MeasuredPeaks } from './measured-peaks.ts';
import type { GpuState } from './measurement.ts';

/**
 * The rule by which a device fills a dense buffer from a secret key. Element i is a pure function of (rule, key, i), so the
 * device can later compare contents with the drawn values. Source of the counter-based bits: stats/random.ts.
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

/** One buffer to be drawn. `B`: what names a buffer, here as in all parts of a round. */
export interface Draw<B = DeviceBuffer> {
  readonly buffer: B;
  readonly dtype: DType;
  readonly rule: DrawRule;
  /** Two 32-bit words. */
  readonly key: readonly [number, number];
}

/** A pattern of 1, 2, 4 or 8 bytes repeated over a buffer. */
export interface Fill<B = DeviceBuffer> {
  readonly buffer: B;
  readonly pattern: Uint8Array;
}

/** Bytes of a buffer, all of it unless told. */
export interface ReadRange {
  readonly buffer: DeviceBuffer;
  readonly offsetBytes?: number;
  readonly bytes?: number;
}

/** Launch sequences of one plan, captured as one graph in the order of their slots, and prepared to run one by one. */
export interface Replay {
  readonly sequenceCount: number;
}

/** The buffers of one launch sequence, by their names in the plan. */
export type Slot = ReadonlyMap<string, DeviceBuffer>;

/** Two dense buffers of one size whose elements should be equal. */
export interface BufferPair<B = DeviceBuffer> {
  readonly left: B;
  readonly right: B;
  readonly dtype: DType;
  /**
   * Floating-point values are also equal if they differ by at most this share of |left| + |right|; 0: only equal bits are.
   */
  readonly tolerance: number;
}

/** A launch sequence to run alone: the contents of its buffers before it, and the buffers to compare them with after it. */
export interface Rerun<B = DeviceBuffer> {
  /** Which of the replay's sequences, on its slot for reruns. */
  readonly sequence: number;
  readonly fills: readonly Fill<B>[];
  readonly pairs: readonly BufferPair<B>[];
}

/** State of the chip before a timed replay. */
export interface ChipState {
  /** Seed of the bytes that overwrite shared memory, registers and local memory. */
  readonly key: number;
  /** Whether to evict the replay's buffers from L2. If false, L2 holds the bytes written last. */
  readonly isL2Swept: boolean;
}

/** One replay and the work around it, in this order. Only the replay itself is timed. */
export interface ReplayRound<B = DeviceBuffer> {
  readonly draws: readonly Draw<B>[];
  readonly fills: readonly Fill<B>[];
  readonly chip: ChipState;
  /**
   * Read whole before the replay, in pieces whose order follows from `chip.key`, so that no line of them is dirty and no order
   * of reading finds more of them in L2 than another.
   */
  readonly reread: readonly B[];
  /** Number of sequences after which the replay ends. If these are not all, it has a graph of its own. */
  readonly sequenceCount: number;
  /** What must still hold what these draws put there: some of `draws`. */
  readonly unchanged: readonly Draw<B>[];
  /** Buffers of arenas whose guard bytes are checked, all buffers of each arena. */
  readonly guarded: readonly B[];
  /** Patterns that are looked for. */
  readonly poisons: readonly Fill<B>[];
  /**
   * Sequences that run again one at a time, in this order, and are each compared as soon as they have ended. Before each,
   * the device overwrites the chip's memory that earlier launches may have used, and restores module variables.
   */
  readonly reruns: readonly Rerun<B>[];
}

/** A replay alone. */
export const NOTHING_AROUND: Omit<ReplayRound, 'sequenceCount'> = {
  draws: [],
  fills: [],
  chip: { key: 1, isL2Swept: false },
  reread: [],
  unchanged: [],
  guarded: [],
  poisons: [],
  reruns: [],
};

export type ReplayOutcome = { ok: true; replay: Replay } | DeviceFailure;
export type RoundOutcome =
  | {
      ok: true;
      ns: number;
      /** For each of `unchanged`, the elements that differ from the drawn values. */
      changedElements: readonly number[];
      /** Guard bytes that no longer hold the guard pattern, by the buffer before them. */
      damagedGuards: readonly { buffer: string; bytes: number }[];
      /** For each of `poisons`, the number of pattern-sized elements that still hold it. */
      heldElements: readonly number[];
      /** For each rerun, the elements of each of its pairs that are equal. */
      equalElements: readonly (readonly number[])[];
    }
  | DeviceFailure;

/** What was done between two ticks of the board's energy counter, or why there is no such counter. */
export type EnergyOutcome =
  | { ok: true; joules: number; seconds: number; replays: number }
  | { ok: true; why: string }
  | DeviceFailure;

/** What of a GPU's work may go on beside what. */
export interface GpuUse {
  /** Anything but timing: beside other such work, never beside what is timed. */
  beside<T>(work: () => Promise<T>): Promise<T>;
  /** Timing: begins when all other work on the GPU has ended, and none begins until it has ended, but what it does itself. Not within `beside`. */
  alone<T>(work: () => Promise<T>): Promise<T>;
}

/** Of a GPU that does one thing at a time anyway. */
export const UNSHARED: GpuUse = { beside: (work) => work(), alone: (work) => work() };

/**
 * The additional abilities of a real GPU: memory for many slots, graphs, an event clock, and trusted device code that draws
 * inputs, poisons outputs and detects changes.
 */
export interface MeasuringDevice {
  /** Whatever is timed asks it; all other commands do so by themselves. */
  readonly use: GpuUse;
  /**
   * Buffers in a new arena, with order and gaps drawn from `seed` and guard zones between them. `freeArena` with any of its
   * buffers frees all.
   */
  allocateArena(
    requests: readonly { name: string; bytes: number; alignmentBytes: number }[],
    seed: number,
  ): Promise<DeviceBuffer[]>;
  freeArena(buffers: readonly DeviceBuffer[]): Promise<void>;
  draw(draws: readonly Draw[]): Promise<void>;
  fillAll(fills: readonly Fill[]): Promise<void>;
  writeAll(writes: readonly { buffer: DeviceBuffer; bytes: Uint8Array }[]): Promise<void>;
  readAll(ranges: readonly ReadRange[]): Promise<Uint8Array[]>;
  /** Whether the module has variables that outlive a launch. */
  hasState(module: LoadedModule): boolean;
  /**
   * Captures one sequence per slot, and prepares one for each of `alone` to run by itself.
   *
   * @param alone buffers for reruns; none if absent.
   */
  prepareReplay(
    module: LoadedModule,
    plan: LaunchPlan,
    slots: readonly Slot[],
    alone?: readonly Slot[],
  ): Promise<ReplayOutcome>;
  /**
   * Draws and fills buffers, overwrites leftovers of earlier launches on the chip, resets L2 lines that they marked as
   * persisting, and restores module variables. Then runs the graph once and reads the event clock. Then checks and runs
   * sequences again. All of this is one request: separate messages and waits would cost more than most replays take.
   *
   * @param timeoutMs of the replay, and of all reruns together.
   */
  replayOnce(replay: Replay, round: ReplayRound, timeoutMs: number): Promise<RoundOutcome>;
  releaseReplay(replay: Replay): Promise<void>;
  /** Device time of a replay beyond its launches: a graph of one empty kernel, minus the extra time of one more kernel. */
  replayOverheadNs(): Promise<number>;
  /**
   * Device times of single launches between two events, outside graphs: the cost of a lone call. `runs` of them, or fewer
   * if one after the first takes at least `longNs`.
   */
  timeEager(
    module: LoadedModule,
    plan: LaunchPlan,
    slot: Slot,
    limits: { runs: number; longNs: number; timeoutMs: number },
  ): Promise<{ ok: true; times: readonly number[] } | DeviceFailure>;
  /**
   * Runs a replay again and again on what lies in its buffers, for at least `leastMs`, and counts the board's energy
   * meanwhile. Nothing is drawn or checked between the runs; module variables are restored. Without a replay: of an idle GPU.
   *
   * @param timeoutMs of one run.
   */
  energyOf?(replay: Replay | undefined, limits: { leastMs: number; timeoutMs: number }): Promise<EnergyOutcome>;
  /** NVML's current readings; fields that it does not report are absent. */
  state(): Promise<GpuState>;
  /** Peak rates of this board, measured once and cached. */
  peaks?(): Promise<MeasuredPeaks>;
  /** L2 size of the device; it decides the sizes of hot and cold rings. */
  readonly l2Bytes: number;
}

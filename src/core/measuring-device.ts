import type { DeviceBuffer, DeviceFailure, LoadedModule } from './device-values.ts';
import type { DType } from './dtype.ts';
import type { LaunchPlan } from './launch-plan.ts';
import type { MeasuredPeaks } from './measured-peaks.ts';
import type { GpuState } from './measurement.ts';

/**
 * How a device fills a dense buffer by itself from a secret key: element i is a pure function of (rule, key, i), so that
 * what lies there later can be compared with what was drawn. Source of the counter-based bits: stats/random.ts.
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

/** Bytes of a buffer, all of it unless told. */
export interface ReadRange {
  readonly buffer: DeviceBuffer;
  readonly offsetBytes?: number;
  readonly bytes?: number;
}

/** Launch sequences of one plan, captured as one graph in the order of their slots, and ready to be run one by one. */
export interface Replay {
  readonly sequenceCount: number;
}

/** The buffers one launch sequence works on, by their names in the plan. */
export type Slot = ReadonlyMap<string, DeviceBuffer>;

/** Two dense buffers of one size whose elements should be equal. */
export interface BufferPair {
  readonly left: DeviceBuffer;
  readonly right: DeviceBuffer;
  readonly dtype: DType;
  /** Floating values that differ by at most this share of |left| + |right| are equal, too; 0: only equal bits are. */
  readonly tolerance: number;
}

/** A launch sequence to run alone: the contents of its buffers before it, and the buffers to compare them with after it. */
export interface Rerun {
  /** Which of the replay's sequences, on its slot for reruns. */
  readonly sequence: number;
  readonly fills: readonly Fill[];
  readonly pairs: readonly BufferPair[];
}

/** In what state the chip is left before a replay is timed. */
export interface ChipState {
  /** What shared memory, registers and local memory are overwritten with follows from this. */
  readonly key: number;
  /** Whether L2 holds nothing of the replay's buffers. If false, it holds the bytes written last. */
  readonly isL2Swept: boolean;
}

/** One replay and everything around it, in the order in which it is done; only the replay itself is timed. */
export interface ReplayRound {
  readonly draws: readonly Draw[];
  readonly fills: readonly Fill[];
  readonly chip: ChipState;
  /** Sequences after which the replay ends, from a graph of its own if these are not all. */
  readonly sequenceCount: number;
  /** What must still hold what these draws put there. */
  readonly unchanged: readonly Draw[];
  /** Buffers of arenas whose guard bytes are looked at, all of each arena. */
  readonly guarded: readonly DeviceBuffer[];
  /** Patterns that are looked for. */
  readonly poisons: readonly Fill[];
  /**
   * Sequences that are run again one at a time, in this order, each compared as soon as it has ended. Before each, what earlier
   * launches left on the chip is overwritten and module variables get their initial values.
   */
  readonly reruns: readonly Rerun[];
}

export type ReplayOutcome = { ok: true; replay: Replay } | DeviceFailure;
/** `ns`: device time between the events around one replay or launch. */
export type TimedOutcome = { ok: true; ns: number } | DeviceFailure;
export type RoundOutcome =
  | {
      ok: true;
      ns: number;
      /** For each of `unchanged`, the elements that differ from the drawn values. */
      changedElements: readonly number[];
      /** Guard bytes that no longer hold the guard pattern, by the buffer before them. */
      damagedGuards: readonly { buffer: string; bytes: number }[];
      /** For each of `poisons`, the elements, as large as the pattern, that hold it. */
      heldElements: readonly number[];
      /** For each rerun, the elements of each of its pairs that are equal. */
      equalElements: readonly (readonly number[])[];
    }
  | DeviceFailure;

/**
 * What a real GPU offers beside {@link Device}: memory for many slots, graphs, an event clock, and trusted device code
 * that draws inputs, poisons outputs and looks for what changed.
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
  draw(draws: readonly Draw[]): Promise<void>;
  fillAll(fills: readonly Fill[]): Promise<void>;
  writeAll(writes: readonly { buffer: DeviceBuffer; bytes: Uint8Array }[]): Promise<void>;
  readAll(ranges: readonly ReadRange[]): Promise<Uint8Array[]>;
  /** Whether the module has variables that outlive a launch. */
  hasState(module: LoadedModule): boolean;
  /**
   * Captures one sequence for each slot, and prepares one for each of `alone` to be run by itself.
   *
   * @param alone where reruns happen; none when absent.
   */
  prepareReplay(
    module: LoadedModule,
    plan: LaunchPlan,
    slots: readonly Slot[],
    alone?: readonly Slot[],
  ): Promise<ReplayOutcome>;
  /**
   * Draws and fills; overwrites what earlier launches left on the chip, gives up L2 lines that they marked as persisting, gives
   * module variables their initial values; runs the graph once and reads the event clock; then looks and runs again. All of
   * it is handed over in one piece: a message, and a wait for the device, would otherwise cost more than most replays take.
   *
   * @param timeoutMs of the replay, and of all reruns together.
   */
  replayOnce(replay: Replay, round: ReplayRound, timeoutMs: number): Promise<RoundOutcome>;
  releaseReplay(replay: Replay): Promise<void>;
  /** Device time that a replay takes beside its launches: a graph of one empty kernel, less what one more costs. */
  replayOverheadNs(): Promise<number>;
  /**
   * Device times of single launches between two events, outside graphs: what a lone call costs. `runs` of them, or fewer if
   * one but the first takes `longNs` or longer.
   */
  timeEager(
    module: LoadedModule,
    plan: LaunchPlan,
    slot: Slot,
    limits: { runs: number; longNs: number; timeoutMs: number },
  ): Promise<{ ok: true; times: readonly number[] } | DeviceFailure>;
  /** What NVML says now; fields it does not tell are absent. */
  state(): Promise<GpuState>;
  /** What this board was seen to reach: measured once, then remembered. */
  peaks?(): Promise<MeasuredPeaks>;
  /** L2 size of the device; it decides the sizes of hot and cold rings. */
  readonly l2Bytes: number;
}

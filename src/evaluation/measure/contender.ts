import type { DeviceFailure } from '../../core/device-values.ts';
import type { EnergyWindow } from '../../core/energy.ts';
import type { MeasurementConditions } from '../../core/measurement.ts';
import type { FailureStatus } from '../../core/status.ts';

/** Why a contender could not be measured. Statuses such as `unsafe` and `wrong` come from the checks after a sample. */
export interface ContenderFailure {
  readonly ok: false;
  readonly status: FailureStatus;
  readonly reason: string;
}

/** A device's failure as a contender's. */
export const contenderFailure = ({ status, message }: DeviceFailure): ContenderFailure => ({
  ok: false,
  status,
  reason: message,
});

/** Number of launch sequences and slots of a sample. */
export interface Ring {
  readonly cache: 'hot' | 'cold';
  /** Slots, each with its own inputs, outputs and workspaces. */
  readonly slotCount: number;
  /** Bytes of all slots together. */
  readonly ringBytes: number;
  /** Sequences in one graph replay, one for each slot. */
  readonly sequencesPerReplay: number;
  /**
   * Whether the inputs are read once more before each replay, in an order of pieces that nobody knows: a ring that should be hot
   * but exceeds its share of L2. Else the replay would pay for writing back what drawing left dirty.
   */
  readonly rereadsInputs: boolean;
  /** Replays whose times add up to one sample; everything is drawn again between them. */
  readonly replaysPerSample: number;
}

/**
 * A candidate on a device, or a library call in its own process, that is timed beside others. Names are unique within a
 * measurement.
 */
export interface Contender {
  readonly name: string;
  readonly kind: 'kernel' | 'library';
  /** Bytes of one slot. */
  readonly slotBytes: number;
  /**
   * Estimated time of one sequence, for the size of the ring; runs it a few times. `eagerNs`: median device time of a
   * single sequence outside a graph.
   */
  estimateNs(): Promise<{ ok: true; ns: number; eagerNs?: number } | ContenderFailure>;
  /**
   * Allocates memory and builds the graph for one block. `seed` is secret: a kernel sees nothing derived from it except the
   * drawn values.
   * @param comparesSlot whether a slot of a secret sample is compared whole with the oracle.
   * @param within for kernels: secret numbers of sequences after which uncounted replays end, to check the work done until
   * then; and the number of samples of the block.
   */
  openBlock(
    ring: Ring,
    seed: number,
    comparesSlot: boolean,
    within?: { readonly cuts: readonly number[]; readonly sampleCount: number },
  ): Promise<{ ok: true; block: ContenderBlock } | ContenderFailure>;
}

/** Slots that a block kept for the oracle, in the host's memory. */
export interface KeptOfBlock {
  readonly bytes: number;
  /** Compares them. */
  judge(): Promise<{ ok: true } | ContenderFailure>;
}

export interface ContenderBlock {
  /** Device time of a replay beyond its launches, subtracted from every sample's replays. */
  readonly replayOverheadNs: number;
  readonly inputs: MeasurementConditions['inputs'];
  /**
   * Untimed: draws inputs, poisons outputs, restores initial contents. Then times. Then, untimed, checks. Returns the mean
   * device time of one sequence in ns.
   */
  sample(seed: number): Promise<{ ok: true; ns: number } | ContenderFailure>;
  /** Kernels: a checked replay, then the same replay again and again for at least `leastMs`, with the energy of those. */
  energy?(seed: number, leastMs: number): Promise<{ ok: true; window: EnergyWindow } | ContenderFailure>;
  /** Number of slots compared with the oracle, including what was kept, once that is judged. */
  readonly checkedSlotCount: number;
  /** Kernels: number of launch sequences that ran again alone and were compared with the replay's results. */
  readonly rerunCount?: number;
  /**
   * Runs what was postponed until after all timing, then frees everything in any case. What it `kept` is compared later.
   */
  close(): Promise<{ ok: true; kept?: KeptOfBlock } | ContenderFailure>;
  /** Frees everything without checks, for a block that no longer counts. */
  discard(): Promise<void>;
}

import type { MeasurementConditions } from '../../core/measurement.ts';
import type { FailureStatus } from '../../core/status.ts';

/** Why a contender could not be measured. `unsafe`, `wrong` and the like come from the checks after a sample. */
export interface ContenderFailure {
  readonly ok: false;
  readonly status: FailureStatus;
  readonly reason: string;
}

/** How many launch sequences a sample takes, and on how many slots. */
export interface Ring {
  readonly cache: 'hot' | 'cold';
  /** Slots, each with its own inputs, outputs and workspaces. */
  readonly slotCount: number;
  /** Bytes of all slots together. */
  readonly ringBytes: number;
  /** Sequences in one graph replay, one for each slot. */
  readonly sequencesPerReplay: number;
  /** Replays, with everything drawn anew between them, whose times add up to one sample. */
  readonly replaysPerSample: number;
}

/**
 * What is timed beside others: a candidate on a device, or a library call in its own process. Names are unique within a
 * measurement.
 */
export interface Contender {
  readonly name: string;
  readonly kind: 'kernel' | 'library';
  /** Bytes of one slot. */
  readonly slotBytes: number;
  /**
   * Rough time of one sequence, which the ring is sized by; runs it a few times. `eagerNs`: median device time of one
   * sequence launched alone, outside a graph.
   */
  estimateNs(): Promise<{ ok: true; ns: number; eagerNs?: number } | ContenderFailure>;
  /**
   * Fresh allocation, fresh graph. `seed` is secret: nothing derived from it reaches a kernel but the drawn values.
   * @param comparesSlot whether a slot of a secretly chosen sample is compared whole with the oracle.
   * @param within of kernels: secret numbers of sequences after which replays that do not count end, to see what is done by
   * then; and how many samples the block will have.
   */
  openBlock(
    ring: Ring,
    seed: number,
    comparesSlot: boolean,
    within?: { readonly cuts: readonly number[]; readonly sampleCount: number },
  ): Promise<{ ok: true; block: ContenderBlock } | ContenderFailure>;
}

export interface ContenderBlock {
  /** Device time that a replay takes beside its launches, which every sample's replays are rid of. */
  readonly replayOverheadNs: number;
  readonly inputs: MeasurementConditions['inputs'];
  /**
   * Untimed: draws inputs, poisons outputs, restores what must be as at first; then times; then, untimed, checks. Returns
   * the mean device time of one sequence in ns.
   */
  sample(seed: number): Promise<{ ok: true; ns: number } | ContenderFailure>;
  /** Slots compared with the oracle, those that `close` compares included once it has ended. */
  readonly checkedSlotCount: number;
  /** Kernels: launch sequences run again by themselves and compared with what a replay left. */
  readonly rerunCount?: number;
  /** Makes the checks postponed until after all timing, then frees everything in any case. */
  close(): Promise<{ ok: true } | ContenderFailure>;
  /** Frees everything and checks nothing: for a block whose samples do not count any more. */
  discard(): Promise<void>;
}

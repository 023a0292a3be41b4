import type { SourceLocation } from './compiled-code.ts';

/** A warp to follow: of a step of the launch plan, by the linear index of its CTA, and its own in it. */
export interface TracedPlace {
  readonly step: number;
  readonly cta: number;
  readonly warp: number;
}

/** A run of instructions without branches that some lanes of a warp executed together. */
export interface WarpTurn {
  /** Bit per lane that took part. */
  readonly lanes: number;
  /** Warp instructions. */
  readonly instructions: number;
  /** Lines of the user's files that they came from, in order. */
  readonly lines: readonly SourceLocation[];
}

/** One warp-level access to memory. */
export interface TracedRequest {
  /** Index of the turn it belongs to. */
  readonly turn: number;
  readonly instruction: string;
  readonly ptxLine: number;
  readonly source?: SourceLocation | undefined;
  readonly space: 'global' | 'shared' | 'cluster' | 'local';
  readonly kind: 'load' | 'store' | 'atomic';
  /** Of one lane. */
  readonly bytes: number;
  readonly lanes: readonly number[];
  /** By position, of the lanes: an offset in the buffer if one is named, else in the space. */
  readonly addresses: readonly number[];
  readonly buffer?: string | undefined;
  /** Sectors of 32 bytes, or wavefronts of shared memory; 0 elsewhere. */
  readonly units: number;
  /** Wavefronts beyond those that the request needs without bank conflicts. */
  readonly conflicts: number;
}

/** What one warp did in one launch, in the order in which it did it. */
export interface WarpTrace {
  readonly turns: readonly WarpTurn[];
  readonly requests: readonly TracedRequest[];
  /** Whether the warp was followed to its end; else it did more than is kept. */
  readonly isWhole: boolean;
}

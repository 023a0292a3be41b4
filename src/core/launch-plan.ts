import type { DType } from './dtype.ts';
import type { Generator } from './problem.ts';

export type Dim3 = readonly [x: number, y: number, z: number];

/** Where the CTA or thread with this number lies, x first. */
export const coordinatesOf = (index: number, [x, y]: Dim3): [x: number, y: number, z: number] => [
  index % x,
  Math.floor(index / x) % y,
  Math.floor(index / (x * y)),
];

/** CTAs of a grid along x, y and z on every GPU (CUDA C++ Programming Guide, compute capabilities). */
export const GRID_LIMITS: Dim3 = [2 ** 31 - 1, 65_535, 65_535];
/** Limits of launches on every CUDA device since sm_30. Source: CUDA C++ Programming Guide, technical specifications. */
export const BLOCK_LIMITS: Dim3 = [1024, 1024, 64];
export const MAXIMUM_THREADS_PER_CTA = 1024;
/** Non-portable cluster size of sm_90. */
export const MAXIMUM_CTAS_PER_CLUSTER = 16;
export const CLUSTER_LIMITS: Dim3 = [MAXIMUM_CTAS_PER_CLUSTER, MAXIMUM_CTAS_PER_CLUSTER, MAXIMUM_CTAS_PER_CLUSTER];
/** Most launches of one step; more are certainly a mistake. */
export const MAXIMUM_REPEAT = 10_000;
/** Alignment of a problem's buffer that declares none, in bytes. */
export const BUFFER_ALIGNMENT_BYTES = 16;
/** Of a workspace: what cudaMalloc guarantees, so that it can hold anything. */
export const WORKSPACE_ALIGNMENT_BYTES = 256;

/** A problem buffer or workspace with every expression evaluated. */
export interface PlannedBuffer {
  readonly name: string;
  readonly role: 'in' | 'out' | 'inout' | 'workspace';
  readonly dtype: DType;
  /** Outermost first; `[bytes]` of `u8` for a workspace. */
  readonly shape: readonly number[];
  /** In elements. */
  readonly strides: readonly number[];
  /** Span of the strided layout. */
  readonly bytes: number;
  readonly alignmentBytes: number;
  readonly init?: 'undefined' | 'zero' | 'once';
  /** With `once`: bytes that are repeated over the workspace before the first sequence; zeros when absent. */
  readonly contents?: Uint8Array;
  readonly generator?: Generator;
  /** Outputs of which not every element matters. */
  readonly significant?: SignificantPart;
}

/** Along an axis, the elements in front that matter. */
export interface SignificantPart {
  readonly axis: number;
  /** So many, or the buffer that holds a number for each list along the axis. */
  readonly first: number | string;
}

export type PlannedArgument =
  | { kind: 'buffer'; buffer: string; offsetBytes: number }
  | { kind: 'null' }
  | { kind: 'scalar'; dtype: DType; value: number }
  | { kind: 'bytes'; bytes: Uint8Array; alignmentBytes: number }
  | { kind: 'pointers'; targets: { buffer: string; offsetBytes: number }[] }
  | {
      kind: 'tensor-map';
      buffer: string;
      dtype: DType;
      globalDim: number[];
      globalStridesBytes: number[];
      boxDim: number[];
      elementStrides: number[];
      swizzle: string;
      interleave: string;
      l2Promotion: string;
      fill: string;
    };

/** Names of the buffers that an argument lets a launch access. */
export function buffersOf(argument: PlannedArgument): string[] {
  if (argument.kind === 'buffer' || argument.kind === 'tensor-map') return [argument.buffer];
  return argument.kind === 'pointers' ? argument.targets.map(({ buffer }) => buffer) : [];
}

export interface PlannedLaunch {
  readonly kind: 'launch';
  readonly functionName: string;
  readonly grid: Dim3;
  readonly block: Dim3;
  readonly dynamicSharedBytes: number;
  readonly cluster?: Dim3;
  readonly cooperative: boolean;
  readonly programmaticDependent: boolean;
  readonly carveOut?: number;
  readonly arguments: readonly PlannedArgument[];
}

export interface PlannedMemset {
  readonly kind: 'memset';
  readonly buffer: string;
  readonly byteValue: number;
}

/** Of device memory, between two buffers or two places of one that do not overlap. */
export interface PlannedCopy {
  readonly kind: 'copy';
  readonly from: PlannedPlace;
  readonly to: PlannedPlace;
  readonly bytes: number;
}

/** Of the first of these bytes. */
export interface PlannedPlace {
  readonly buffer: string;
  readonly offsetBytes: number;
}

export type PlannedStep = PlannedLaunch | PlannedMemset | PlannedCopy;

const ZERO = new Uint8Array(1);

/** What is repeated over a workspace that starts with given contents. */
export const startingPattern = ({
  init,
  contents,
}: Pick<PlannedBuffer, 'init' | 'contents'>): Uint8Array | undefined =>
  init === 'once' ? (contents ?? ZERO) : undefined;

/** Everything that a device needs to run a candidate on one workload, except code and contents. */
export interface LaunchPlan {
  readonly buffers: readonly PlannedBuffer[];
  readonly steps: readonly PlannedStep[];
}

/** What each memset of a plan writes. */
export const memsetBytesOf = ({ buffers, steps }: LaunchPlan): number[] =>
  steps.flatMap((step) =>
    step.kind === 'memset' ? [buffers.find(({ name }) => name === step.buffer)?.bytes ?? 0] : [],
  );

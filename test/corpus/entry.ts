import type { Dim3 } from '../../src/core/launch-plan.ts';
import { seededOrder } from '../../src/stats/random.ts';
import type { LaunchArgument } from '../support/launch/launch-kernel.ts';

type Typed =
  | Float32Array
  | Int32Array
  | Uint32Array
  | Uint8Array
  | Int8Array
  | Uint16Array
  | Float16Array
  | BigUint64Array;
export type Buffers = Readonly<Record<string, Typed>>;
/** Contents before the launch, as numbers, by name. */
export type Values = Readonly<Record<string, readonly number[]>>;

/** One kernel of kernels/, one launch of it, and what must come out. */
export interface Entry {
  readonly file: string;
  /** As C++ names it: `sgemm_2d<64, 64, 8, 8, 8>`. */
  readonly kernel: string;
  readonly grid: number | Dim3;
  readonly block: number | Dim3;
  readonly sharedBytes?: number;
  readonly cooperative?: boolean;
  readonly args: readonly LaunchArgument[];
  /** Inputs are named in `inputs`; the others are written. */
  readonly buffers: Buffers;
  readonly inputs?: readonly string[];
  /** The buffers that count, from the contents before. Same order, or any where the kernel promises none. */
  readonly wanted: (before: Values) => Readonly<Record<string, readonly number[]>>;
  readonly anyOrder?: boolean;
  /** Largest |got − want| ÷ max(1, |want|); 0 when absent. */
  readonly error?: number;
}

/** A kernel that must stop, and with which words. */
export interface Refused {
  readonly file: string;
  readonly kernel: string;
  readonly reason: string;
}

/** Reproducible draws in [0, 1). */
function draws(seed: number): () => number {
  let state = (seed * 2654435761 + 12345) >>> 0;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

export const range = (n: number): number[] => Array.from({ length: n }, (_, i) => i);

export function floats(n: number, seed: number, low = -1, high = 1): Float32Array {
  const draw = draws(seed);
  return Float32Array.from({ length: n }, () => low + (high - low) * draw());
}

export function integers(n: number, seed: number, high: number, low = 0): Int32Array {
  const draw = draws(seed);
  return Int32Array.from({ length: n }, () => low + Math.floor(draw() * (high - low)));
}

export const shuffled = (n: number, seed: number): Int32Array => Int32Array.from(seededOrder(n, seed));

export const i32 = (value: number): LaunchArgument => ({ i32: value });
export const f32 = (value: number): LaunchArgument => ({ f32: value });
export const i64 = (value: number): LaunchArgument => ({ kind: 'scalar', dtype: 'i64', value });

export const sum = (values: readonly number[]): number => values.reduce((a, b) => a + b, 0);

/** Row-major product of M × K and K × N. */
export const product = (a: readonly number[], b: readonly number[], [M, N, K]: readonly [number, number, number]) =>
  range(M * N).map((i) => sum(range(K).map((k) => a[Math.floor(i / N) * K + k]! * b[k * N + (i % N)]!)));

/** bf16 bits of values that it holds exactly. */
export const bfloat16 = (values: Float32Array): Uint16Array =>
  Uint16Array.from(new Uint32Array(values.buffer), (bits) => bits >>> 16);
export const fromBfloat16 = (bits: readonly number[]): number[] => [
  ...new Float32Array(Uint32Array.from(bits, (word) => word << 16).buffer),
];

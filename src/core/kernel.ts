import type { DType, WrittenDType } from './dtype.ts';
import type { Expression } from './expressions/syntax-tree.ts';

/**
 * Whole numbers from `from` up to `to` (included if a step reaches it): each is `step` more than the previous one, or
 * `factor` times as much.
 */
export type ParameterRange = { from: number; to: number; step: number } | { from: number; to: number; factor: number };

export interface ParameterDeclaration<V = number> {
  description?: string;
  /** Allowed values: listed, in ascending order of "more" where there is one, or as a range. */
  values: V[] | ParameterRange;
  default: V;
}

export interface WorkspaceDeclaration {
  bytes: Expression;
  alignmentBytes?: number;
  /**
   * `zero`: zeroed before each launch sequence, and timed. `once`: zeroed before the first one; then the kernel keeps it
   * valid.
   */
  init: 'undefined' | 'zero' | 'once';
}

export type ArgumentDeclaration<T = DType> =
  | { buffer: string; offsetBytes?: Expression }
  | { null: true }
  | { scalar: Expression; dtype: T }
  /** By-value struct: fields laid out in order with natural alignment. */
  | { struct: { dtype: T; value: Expression }[] }
  /** Raw by-value bytes, hex-encoded. */
  | { bytes: string }
  /** Device array of pointers to these buffers. */
  | { pointers: { buffer: string; offsetBytes?: Expression }[] }
  | {
      tensorMap: {
        buffer: string;
        dtype: T;
        /** Innermost first, as cuTensorMapEncodeTiled takes them. */
        globalDim: Expression[];
        globalStridesBytes: Expression[];
        boxDim: Expression[];
        elementStrides?: Expression[];
        swizzle?: 'none' | '32B' | '64B' | '128B';
        interleave?: 'none' | '16B' | '32B';
        l2Promotion?: 'none' | '64B' | '128B' | '256B';
        fill?: 'zeros' | 'nan';
      };
    };

export interface LaunchStepDeclaration<T = DType> {
  /** An extern "C" name, or an explicit template instantiation such as `attention<64, 128>`. */
  function: string;
  grid: Expression[];
  block: Expression[];
  /** Dynamic shared memory. */
  sharedBytes?: Expression;
  cluster?: Expression[];
  cooperative?: boolean;
  programmaticDependent?: boolean;
  /** Preferred shared-memory carve-out in percent. */
  carveOut?: number;
  arguments: ArgumentDeclaration<T>[];
  when?: Expression;
  repeat?: Expression;
}

export interface MemsetStepDeclaration {
  memset: { buffer: string; byteValue: number };
  when?: Expression;
}

export type StepDeclaration<T = DType> = LaunchStepDeclaration<T> | MemsetStepDeclaration;

/** A kernel for a problem of one dtype. All code except loading uses this type. */
export interface KernelFile {
  $schema?: string;
  schemaVersion: 1;
  name: string;
  description: string;
  /** Relative path of problem.json. */
  problem: string;
  /** Of a problem's several dtypes, those in which this kernel computes; all by default. */
  dtypes?: DType[];
  /** What `T` stood for; in files that warpsmith wrote. */
  dtype?: DType;
  source: {
    kind: 'cuda' | 'ptx' | 'cubin';
    files: string[];
    flags?: string[];
    includes?: string[];
    architectures?: string[];
  };
  parameters?: Readonly<Record<string, ParameterDeclaration>>;
  /** A parameter assignment is valid if every one of these is non-zero. */
  constraints?: Expression[];
  /** Ids of the findings this rung answers. */
  remedies?: string[];
  /** Conditions over the dimensions; a workload that fails one is `unsupported` by this kernel. */
  limits?: Expression[];
  workspaces?: Readonly<Record<string, WorkspaceDeclaration>>;
  steps: StepDeclaration[];
}

/** kernel.json as written: `T` may stand for a dtype, and expressions and parameters may name `dtype.bytes`. */
export interface KernelSource extends Omit<KernelFile, 'parameters' | 'steps'> {
  parameters?: Readonly<Record<string, ParameterDeclaration<Expression>>>;
  steps: StepDeclaration<WrittenDType>[];
}

/** A loaded kernel folder. `sources` maps each listed file to its text. */
export interface Kernel {
  readonly folder: string;
  readonly file: KernelFile;
  readonly sources: Readonly<Record<string, string>>;
}

export type ParameterValues = Readonly<Record<string, number>>;

/** Kernel + parameter values; `id` is the first 12 hex digits of a SHA-256 over everything that defines it. */
export interface Candidate {
  readonly id: string;
  readonly kernel: Kernel;
  readonly parameters: ParameterValues;
}

import type { DType, WrittenDType } from './dtype.ts';
import type { Expression } from './expressions/syntax-tree.ts';
import type { Kernel } from './kernel.ts';
import type { Rounding } from './rounding.ts';

/** Values of the dimensions, e.g. `{ B: 1, H: 8, S: 512, D: 64, causal: 0 }`. All are integers. */
export type Dimensions = Readonly<Record<string, number>>;

export interface DimensionDeclaration {
  description: string;
  minimum?: number;
  maximum?: number;
  /** When given, the only values allowed. */
  values?: number[];
  /** Used when a workload list leaves the dimension out; an expression may name dimensions declared before. */
  default?: Expression;
}

export const SPECIAL_VALUES = ['subnormal', '-infinity', 'infinity', 'nan', 'zero'] as const;
export type SpecialValue = (typeof SPECIAL_VALUES)[number];

/** The rule that fills an input. Every generator is seeded; the seed never reaches a kernel. */
export type Generator =
  | { kind: 'normal'; mean?: number; standardDeviation?: number }
  | { kind: 'uniform'; low: number; high: number }
  | { kind: 'positive'; low?: number; high?: number }
  | { kind: 'large'; magnitude: number }
  | { kind: 'one-hot'; magnitude?: number }
  | { kind: 'constant'; value: number }
  | { kind: 'index-range'; low: Expression; high: Expression }
  | { kind: 'zipf'; count: Expression; exponent?: number }
  | { kind: 'permutation' }
  | { kind: 'csr'; rows: Expression; columns: Expression; density: number }
  | { kind: 'npy'; file: string }
  | { kind: 'special'; value: SpecialValue; ratio?: number; of?: Generator }
  | { kind: 'sparse'; count?: number; magnitude?: number }
  | { kind: 'off-grid' }
  | { kind: 'alternating'; low?: number; high?: number; axis?: number }
  | { kind: 'ramp'; low: number; high: number; axis?: number };

export interface BufferDeclaration<T = DType> {
  description?: string;
  dtype: T;
  /** One expression per axis, outermost first. */
  shape: Expression[];
  /** Elements per step of each axis; row-major (last axis contiguous) by default. */
  strides?: Expression[];
  /** Names of the axes, e.g. `BHSD`; documentation only. */
  layout?: string;
  /** Default 16. */
  alignmentBytes?: number;
  access: 'in' | 'out' | 'inout';
  /** How the values are drawn; default `{ kind: 'normal' }`. Inputs only. */
  generator?: Generator;
  /** Outputs only: the buffer is there where this is not 0; else kernels get a null pointer for it. */
  when?: Expression;
  /** Outputs only, where the problem's comparison does not fit. */
  comparison?: Tolerance<T>;
  /** Special values that callers pass among ordinary ones; each adds a generator set. Floating-point inputs only. */
  domain?: SpecialValue[];
  /** How far callers' values may differ in size from the generator's; `false`: not at all. Floating-point inputs only. */
  scaling?: Scaling | false;
}

/** Callers' values x against drawn ones z: x = factor · (z + shift). */
export interface Scaling {
  /** Smallest factor, at most 1. */
  least: number;
  /** Largest factor, at least 1. */
  most: number;
  /** Largest |shift|. */
  offset: number;
  /** Largest factor between values of the input; `most` if absent. 1: all values are scaled alike. */
  contrast?: number;
}

export interface ScalarDeclaration<T = DType> {
  description?: string;
  dtype: T;
  value: Expression;
}

export interface WorkloadDeclaration {
  name: string;
  dimensions: Dimensions;
  cache?: 'hot' | 'cold';
  weight?: number;
}

/** A shape that is only verified: run whole, once per generator set. */
export interface CheckShape {
  dimensions: Dimensions;
  /** Names of generator sets; all of them when absent. */
  generators?: string[];
}

/** One way to fill all inputs: input name → generator. Missing inputs use their own declaration. */
export type GeneratorSet = Readonly<Record<string, Generator>>;

export type Tolerance<T = DType> =
  | { kind: 'exact' }
  | { kind: 'ulp'; maximumUlps: number }
  | {
      kind: 'calibrated';
      /** Dtype of inputs and outputs, narrower than the accumulator. */
      storage: T;
      accumulate: 'f32';
      /**
       * Intermediate results that a kernel may round, by their names in reference.ts (`round(weight, 'P')`), with the
       * dtype. `{}`: only the result may be rounded. Absent: one unnamed rounding of the result's own size is allowed.
       */
      roundings?: Readonly<Record<string, T>>;
      /** Additions behind one output, for errors of the accumulator. Default 256. */
      terms?: Expression;
      /** Allowed maximum error as a multiple of the naive run's. Default 2. */
      factor?: number;
      /** Tolerances are set row by row (last axis), or for the whole output. Default `row`. */
      group?: 'row' | 'all';
      /** Allowed RMS error as a multiple of the naive run's. Default 1.5. */
      rmsFactor?: number;
    }
  /** |got − want| ≤ atol + rtol · |want|, as in torch.allclose and numpy.allclose; for matching another test suite. */
  | { kind: 'allclose'; atol: number; rtol: number }
  | { kind: 'conditioned'; constant: number; unit: T; terms: Expression };

/** A problem of one dtype: what everything but loading knows. */
export interface ProblemFile {
  $schema?: string;
  schemaVersion: 1;
  /** `gemm`; `gemm-f16` for a dtype that is not the first of several. */
  name: string;
  description: string;
  /** What `T` stands for, where problem.json takes several dtypes. */
  dtype?: DType;
  dimensions: Readonly<Record<string, DimensionDeclaration>>;
  /** Conditions over the dimensions. A shape that violates one does not belong to the problem and is never judged. */
  limits?: Expression[];
  inputs: Readonly<Record<string, BufferDeclaration>>;
  outputs: Readonly<Record<string, BufferDeclaration>>;
  scalars?: Readonly<Record<string, ScalarDeclaration>>;
  /** Floating-point operations of the usual algorithm; for FLOP/s figures. */
  flop: Expression;
  /** Floating-point operations no algorithm can avoid; for the lower bound. */
  minimumFlop: Expression;
  /** Bytes that must be read from DRAM when caches are cold; for the lower bound. */
  minimumReadBytes: Expression;
  /** Axis of the inputs the operation reduces over, for `audit`'s generic wrong kernels. */
  reducedAxis?: {
    input: string;
    axis: number;
    /** Whether the output is independent of the order along the axis, like a sum. */
    symmetric?: boolean;
  };
  /** Dimensions whose growth only adds independent work, in the order in which to grow them, for workload advice. */
  independentDimensions?: string[];
  workloads: WorkloadDeclaration[];
  checkShapes: CheckShape[];
  generatorSets?: Readonly<Record<string, GeneratorSet>>;
  /** Mistakes of kernels for this problem: name → description. reference.ts exports them, for `audit`. */
  mistakes?: Readonly<Record<string, string>>;
  comparison: Tolerance;
  /** Largest tolerance ÷ spread of the right values at which a check is not blind. Default ¼. */
  toleranceShare?: number;
  determinism: 'bitwise' | 'tolerance';
  /** Folder name of the kernel a run starts from. */
  start: string;
  /** Folder names of all rungs, in ladder order. */
  rungs: string[];
  /**
   * Folder name of a kernel that computes the reference on a GPU. It fills a workspace `<output>_exact` (f64, the oracle)
   * for every output and, if the comparison names roundings, `<output>_naive` (the output's dtype), both dense.
   */
  deviceReference?: string;
}

/** What is said once more for a dtype. */
export interface DTypeVariant {
  description?: string;
  comparison?: Tolerance<WrittenDType>;
  /** Generator sets that replace the problem's sets of the same names, or add to them. */
  generatorSets?: Readonly<Record<string, GeneratorSet>>;
}

/** problem.json as written: `T` may stand for a dtype, and expressions may name `dtype.bytes`. */
export interface ProblemSource extends Omit<ProblemFile, 'dtype' | 'inputs' | 'outputs' | 'scalars' | 'comparison'> {
  /** The dtypes for which `T` may stand, with the fields that differ between them. The first is the default. */
  dtypes?: Readonly<Partial<Record<DType, DTypeVariant>>>;
  inputs: Readonly<Record<string, BufferDeclaration<WrittenDType>>>;
  outputs: Readonly<Record<string, BufferDeclaration<WrittenDType>>>;
  scalars?: Readonly<Record<string, ScalarDeclaration<WrittenDType>>>;
  comparison: Tolerance<WrittenDType>;
}

/** Reference inputs and outputs are decoded element by element to float64, row-major. */
export type ReferenceTensors = Readonly<Record<string, Float64Array>>;
/** What reference.ts exports. Pure: it changes none of its inputs. */
export type ReferenceFunction = (
  inputs: ReferenceTensors,
  dimensions: Dimensions,
  /** Called on the result of each operation; with a `name` for results that problem.json may allow kernels to round. */
  round: (value: number, name?: string) => number,
) => ReferenceTensors;

/** Output → numbers of rows, ascending; a row is a run along the output's last axis. */
export type Rows = Readonly<Record<string, Uint32Array>>;

/**
 * Optional export `referenceRows` of reference.ts: computes only some rows of `reference`'s result, for shapes for which
 * the whole takes long. Returns, for every output, the requested rows one after the other.
 */
export type ReferenceRowsFunction = (
  inputs: ReferenceTensors,
  dimensions: Dimensions,
  round: (value: number, name?: string) => number,
  rows: Rows,
) => ReferenceTensors;

/** One run of a problem's reference. */
export interface ReferenceRun {
  readonly inputs: ReferenceTensors;
  readonly dimensions: Dimensions;
  readonly rounding: Rounding;
  /** Compute only these rows of every output, if the reference can; otherwise it returns all. */
  readonly rows?: Rows | undefined;
  /** One of problem.json's `mistakes` instead of the reference. */
  readonly mistake?: string | undefined;
  /** Aborting ends the run at once. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Runs a problem's reference, in any process. Rejects with a WarpsmithError if the reference is at fault, and with the
 * signal's reason if aborted.
 */
export type RunReference = (run: ReferenceRun) => Promise<ReferenceTensors>;

/** A loaded problem folder. */
export interface Problem {
  readonly folder: string;
  readonly file: ProblemFile;
  readonly reference: RunReference;
  /** Throws if the problem's host code may not run. Absent if the host code is the caller's own. */
  readonly requireTrusted?: () => void;
  /** Trusted as reference.ts is; problem.json's `deviceReference`. */
  readonly deviceReference?: Kernel;
}

/** One binding of the dimensions. `name` is the declared name, or a canonical one such as `b1h8s512d64`. */
export interface Workload {
  readonly name: string;
  readonly dimensions: Dimensions;
  readonly cache: 'hot' | 'cold';
}

import type { DType } from '../../core/dtype.ts';
import { WarpsmithError } from '../../core/errors.ts';
import type { KernelSource } from '../../core/kernel.ts';
import type { ProblemSource, Tolerance } from '../../core/problem.ts';
import { identifierOf } from '../drafted-problem.ts';

/** Files of the problem folder, and what is to be said of it. */
export interface Imported {
  readonly files: Readonly<Record<string, string>>;
  readonly problem: ProblemSource;
  readonly kernel: KernelSource;
  readonly notes: readonly string[];
  /** How the original checks a kernel. */
  readonly original: OriginalChecks;
}

/** Checks of where a problem comes from, as far as a problem can express them. */
export interface OriginalChecks {
  /** For people: all but the tolerance. */
  readonly inputs: string;
  readonly tolerances: readonly Tolerance[];
  /** How inputs are drawn, one set a trial; as declared where absent. */
  readonly generatorSets?: ProblemSource['generatorSets'];
}

/** PyTorch's and NumPy's names. */
export const DTYPES: Readonly<Record<string, DType>> = {
  ...{ float16: 'f16', bfloat16: 'bf16', float32: 'f32', float64: 'f64' },
  ...{ int8: 'i8', uint8: 'u8', int16: 'i16', int32: 'i32', int64: 'i64' },
};

/** @param hint what to do about a type that problems can't hold. @throws WarpsmithError `unsupported-type`. */
export const dtypeNamed =
  (hint: string) =>
  (name: string, file: string): DType => {
    const dtype = DTYPES[name];
    if (dtype) return dtype;
    throw new WarpsmithError({
      ...{ code: 'unsupported-type', message: `Elements of type ${name} are not among those of a problem.` },
      ...{ file, received: name, expected: `one of ${Object.keys(DTYPES).join(', ')}`, hint },
    });
  };

/** The kernel of every imported problem. */
export const START = '01_start';

/** What a kernel that is still to be written is passed, in order. */
export interface Signature {
  readonly name: string;
  /** What it is a kernel of, for people. */
  readonly about: string;
  readonly inputs: readonly { readonly name: string; readonly dtype: DType; readonly isScalar?: boolean }[];
  readonly outputs: readonly { readonly name: string; readonly dtype: DType }[];
  readonly dimensions: readonly string[];
  /** Sizes that never change. */
  readonly constants?: Readonly<Record<string, number>>;
}

export const stubKernel = ({ name, about, inputs, outputs, dimensions }: Signature): KernelSource => ({
  schemaVersion: 1,
  name: START,
  description: `Of ${about}; to be written.`,
  problem: '../problem.json',
  source: { kind: 'cuda', files: ['kernel.cu'] },
  steps: [
    {
      function: identifierOf(name),
      grid: [1],
      block: [128],
      arguments: [
        ...inputs.map((one) => (one.isScalar ? { scalar: one.name, dtype: one.dtype } : { buffer: one.name })),
        ...outputs.map((one) => ({ buffer: one.name })),
        ...dimensions.map((one) => ({ scalar: one, dtype: 'i32' as const })),
      ],
    },
  ],
});

const CPP: Readonly<Partial<Record<DType, string>>> = {
  ...{ f16: '__half', bf16: '__nv_bfloat16', f32: 'float', f64: 'double' },
  ...{ i8: 'signed char', u8: 'unsigned char', i16: 'short', i32: 'int', i64: 'long long' },
};

export function stubText({ name, about, inputs, outputs, dimensions, constants = {} }: Signature): string {
  const parameters = [
    ...inputs.map((one) => (one.isScalar ? `${CPP[one.dtype]} ${one.name}` : `const ${CPP[one.dtype]}* ${one.name}`)),
    ...outputs.map((one) => `${CPP[one.dtype]}* ${one.name}`),
    ...dimensions.map((one) => `int ${one}`),
  ];
  return [
    '#include <cuda_bf16.h>',
    '#include <cuda_fp16.h>',
    '',
    `// STUB of ${about}: writes nothing.`,
    ...Object.entries(constants).map(([constant, value]) => `constexpr int ${constant} = ${value};`),
    '',
    `extern "C" __global__ void ${identifierOf(name)}(${parameters.join(', ')}) {}`,
    '',
  ].join('\n');
}

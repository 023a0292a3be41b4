import { type DType, isFloating } from '../../../core/dtype.ts';
import { generatorSetsOf } from '../../../core/plan/generator-sets.ts';
import type { ProblemFile, ReferenceTensors } from '../../../core/problem.ts';
import type { Mutant, MutantContext } from './mutant.ts';

/** Smallest normal numbers: `-ftz` and careless conversions flush smaller ones to zero. */
const SMALLEST_NORMAL: { readonly [D in DType]?: number } = {
  f16: 2 ** -14,
  bf16: 2 ** -126,
  f32: 2 ** -126,
  f64: 2 ** -1022,
};

/** The reference on inputs with some special values replaced by others; `undefined` if the inputs have none of them. */
function taking(context: MutantContext, change: (value: number, dtype: DType) => number) {
  let changed = false;
  const inputs: ReferenceTensors = Object.fromEntries(
    Object.entries(context.inputs).map(([name, values]) => {
      const { dtype } = context.prepared.buffers.find((buffer) => buffer.name === name)!;
      if (!isFloating(dtype)) return [name, values];
      return [
        name,
        values.map((value) => {
          const taken = change(value, dtype);
          changed ||= !Object.is(taken, value);
          return taken;
        }),
      ];
    }),
  );
  return changed ? context.compute({ inputs }) : undefined;
}

const uses = (problem: ProblemFile, value: string): boolean =>
  Object.values(generatorSetsOf(problem)).some((set) =>
    Object.values(set).some((generator) => generator.kind === 'special' && generator.value === value),
  );

/** Kernels that confuse special values of the problem's domain. */
export const specialValueMutants = (problem: ProblemFile): Mutant[] => [
  ...(uses(problem, 'subnormal')
    ? [
        {
          id: 'subnormals-flushed',
          title: 'takes subnormal inputs as zeros',
          outputs: (context: MutantContext) =>
            taking(context, (value, dtype) => (Math.abs(value) < SMALLEST_NORMAL[dtype]! && value !== 0 ? 0 : value)),
        },
      ]
    : []),
  ...(uses(problem, '-infinity')
    ? [
        {
          id: 'masks-dropped',
          title: 'takes −∞ as zero',
          outputs: (context: MutantContext) =>
            taking(context, (value) => (value === Number.NEGATIVE_INFINITY ? 0 : value)),
        },
      ]
    : []),
  ...(uses(problem, 'infinity')
    ? [
        {
          id: 'infinities-dropped',
          title: 'takes infinities as zeros',
          outputs: (context: MutantContext) =>
            taking(context, (value) => (Math.abs(value) === Number.POSITIVE_INFINITY ? 0 : value)),
        },
      ]
    : []),
];

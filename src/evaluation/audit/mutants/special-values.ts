import { type DType, isFloating } from '../../../core/dtype.ts';
import { generatorSetsOf } from '../../../core/plan/generator-sets.ts';
import type { ProblemFile, ReferenceTensors } from '../../../core/problem.ts';
import type { SpecialValue } from '../../../core/vocabulary.ts';
import { smallestNormal } from '../../oracle/ulp.ts';
import type { Mutant, MutantContext, MutantOutputs } from './mutant.ts';

/**
 * The reference on inputs with some special values replaced by others. On a check without such values the kernel is right:
 * if no check has them, none sees the mistake.
 */
function taking(context: MutantContext, change: (value: number, dtype: DType) => number): MutantOutputs {
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
  return changed ? context.compute({ inputs }) : context.right;
}

/** A special value, and what a kernel that does not know it takes for it. */
interface Confusion {
  readonly value: SpecialValue;
  readonly id: string;
  readonly title: string;
  readonly takes: (value: number, dtype: DType) => number;
}

const CONFUSIONS: readonly Confusion[] = [
  {
    value: 'subnormal',
    id: 'subnormals-flushed',
    title: 'takes subnormal inputs as zeros',
    // `-ftz` and careless conversions flush them.
    takes: (value, dtype) => (Math.abs(value) < smallestNormal(dtype) && value !== 0 ? 0 : value),
  },
  {
    value: '-infinity',
    id: 'masks-dropped',
    title: 'takes −∞ as zero',
    takes: (value) => (value === Number.NEGATIVE_INFINITY ? 0 : value),
  },
  {
    value: 'infinity',
    id: 'infinities-dropped',
    title: 'takes infinities as zeros',
    takes: (value) => (Math.abs(value) === Number.POSITIVE_INFINITY ? 0 : value),
  },
  {
    value: 'nan',
    id: 'nans-dropped',
    title: 'takes NaN as zero',
    takes: (value) => (Number.isNaN(value) ? 0 : value),
  },
];

const uses = (problem: ProblemFile, value: SpecialValue): boolean =>
  Object.values(generatorSetsOf(problem)).some((set) =>
    Object.values(set).some((generator) => generator.kind === 'special' && generator.value === value),
  );

/** Kernels that confuse special values of the problem's domain. */
export const specialValueMutants = (problem: ProblemFile): Mutant[] =>
  CONFUSIONS.filter(({ value }) => uses(problem, value)).map(({ id, title, takes }) => ({
    id,
    title,
    mustShow: true,
    outputs: (context) => taking(context, takes),
  }));

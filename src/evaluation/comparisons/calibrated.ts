import { isFloating } from '../../core/dtype.ts';
import { WarpsmithError } from '../../core/errors.ts';
import { multiIndexOf } from '../layout.ts';
import { ulpAt, unitRoundoff } from '../ulp.ts';
import type { ComparisonRule, Expectation, OutputFacts } from './comparison.ts';
import { exact } from './exact.ts';

/**
 * Fewest elements that one group's tolerance is calibrated on. The naive run's maximum over a handful of elements is
 * sometimes zero by luck; over 64 it is below 1.6 of its standard deviations once in 1,700 groups, and the floor covers
 * those. Shorter rows are taken together with their neighbours.
 */
const MINIMUM_GROUP_ELEMENTS = 64;

/**
 * The kernel may be `factor` (2) times as wrong as the same mathematics done naively in the I/O dtype, group by group,
 * and its RMS error over the whole output at most `rmsFactor` (1.5) times the naive one.
 *
 *   |got − oracle| ≤ factor · max over the group |naive − oracle|  +  2 ulp(m),    m = largest |oracle| of the group
 *   RMS(got − oracle) ≤ √( (rmsFactor · RMS(naive − oracle))² + (u · RMS(oracle))² )
 *
 * The first is FlashAttention's own test, max|out − ref| ≤ 2·max|plain − ref| + atol, made per row. Its atol,
 * 2·max|(ref + 0.3 − 0.3) − ref|, is the rounding of two additions at the size of ordinary outputs; with 0.3 replaced
 * by the group's own m it is at most 2 ulp(m), so it scales with the output and no absolute tolerance is left. An
 * honest kernel spends ½ ulp(m) of it on rounding the result and the rest on rounding one intermediate; the naive term
 * adds what the I/O dtype cannot hold.
 * The second catches what is small everywhere, such as accumulating in the I/O dtype (√n times the naive error). Its
 * floor, one unit roundoff u of the output's RMS, is for inputs with repeated values, where an intermediate's rounding
 * is the same for every element and does not average out.
 * Elements whose correctly rounded value is infinite or NaN must be so. Outputs of integer dtype are compared exactly.
 *
 * Source: Dao-AILab/flash-attention, tests/test_flash_attn.py.
 */
export const calibrated: ComparisonRule<'calibrated'> = {
  needs: { naive: true, magnitude: false },
  expect: (comparison, facts) => {
    if (!isFloating(facts.dtype)) return exact.expect({ kind: 'exact' }, facts);
    const { storage, accumulate, factor = 2, group = 'row', rmsFactor = 1.5 } = comparison;
    if (unitRoundoff(storage) <= unitRoundoff(accumulate)) throw notNarrower(storage);
    const groupSize = group === 'all' ? Math.max(1, facts.oracle.length) : groupSizeOf(facts.shape);
    const { want, naiveErrors, naiveRms, wantRms } = survey(facts);
    const largestError = maximumPerGroup(naiveErrors, groupSize);
    const largestValue = maximumPerGroup(want, groupSize);
    return {
      want,
      groupSize,
      tolerances: largestError.map((error, i) => factor * error + 2 * ulpAt(largestValue[i]!, storage)),
      rmsLimit: Math.hypot(rmsFactor * naiveRms, unitRoundoff(storage) * wantRms),
    } satisfies Expectation;
  },
};

interface Survey {
  /** The oracle; infinite or NaN where the rounded result is. */
  readonly want: Float64Array;
  /** |naive − oracle|; 0 where the result itself is not finite. */
  readonly naiveErrors: Float64Array;
  readonly naiveRms: number;
  /** Of the finite results. */
  readonly wantRms: number;
}

/** One pass: outputs of tens of millions of elements are compared many times in an evaluation. */
const survey = (facts: OutputFacts): Survey => {
  const { oracle, rounded } = facts;
  const naive = facts.naive!;
  const count = oracle.length;
  const want = new Float64Array(count);
  const naiveErrors = new Float64Array(count);
  let [errorSquares, wantSquares] = [0, 0];
  for (let i = 0; i < count; i++) {
    const result = rounded[i]!;
    if (!Number.isFinite(result)) {
      want[i] = result;
      continue;
    }
    const value = oracle[i]!;
    const error = Math.abs(naive[i]! - value);
    if (!Number.isFinite(error)) throw uncalibratable(facts, i);
    want[i] = value;
    naiveErrors[i] = error;
    errorSquares += error * error;
    wantSquares += value * value;
  }
  const rms = (squares: number): number => (count === 0 ? 0 : Math.sqrt(squares / count));
  return { want, naiveErrors, naiveRms: rms(errorSquares), wantRms: rms(wantSquares) };
};

/** The naive run rounds results, not sums: it says nothing about errors of the accumulator itself. */
const notNarrower = (storage: string): WarpsmithError =>
  new WarpsmithError({
    code: 'uncalibratable',
    message: 'a calibrated comparison needs a storage dtype narrower than its accumulator',
    path: 'comparison.storage',
    received: storage,
    expected: 'f16 or bf16, with f32 accumulation',
    hint: 'Compare sums in f32 or f64 with `conditioned`, element-wise results with `ulp`.',
  });

const uncalibratable = ({ output, shape, naive, oracle }: OutputFacts, element: number): WarpsmithError =>
  new WarpsmithError({
    code: 'uncalibratable',
    message: `the naive run of the reference overflows, so it cannot set a tolerance for output '${output}'`,
    path: 'comparison',
    received: `${output}[${multiIndexOf(shape, element)}]: naive ${naive![element]}, oracle ${oracle[element]}`,
    expected: 'a finite naive result wherever the oracle is finite',
    hint: 'Give the generator set a smaller magnitude.',
  });

/** Whole rows (last axis), as many as make up the minimum. */
const groupSizeOf = (shape: readonly number[]): number => {
  const rowLength = Math.max(1, shape.at(-1) ?? 1);
  return rowLength * Math.ceil(MINIMUM_GROUP_ELEMENTS / rowLength);
};

/** Largest finite magnitude of each group of consecutive elements; a short last group is widened backwards to full size. */
const maximumPerGroup = (values: Float64Array, groupSize: number): Float64Array => {
  const result = new Float64Array(Math.ceil(values.length / groupSize));
  for (let group = 0; group < result.length; group++) {
    const end = Math.min(values.length, (group + 1) * groupSize);
    let maximum = 0;
    for (let i = Math.max(0, end - groupSize); i < end; i++) {
      const magnitude = Math.abs(values[i]!);
      // Neither NaN nor infinity passes.
      if (magnitude > maximum && magnitude < Number.POSITIVE_INFINITY) maximum = magnitude;
    }
    result[group] = maximum;
  }
  return result;
};

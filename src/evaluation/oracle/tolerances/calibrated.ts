import { type DType, isFloating } from '../../../core/dtype.ts';
import { WarpsmithError } from '../../../core/errors.ts';
import { evaluateExpression } from '../../../core/expressions/evaluate.ts';
import type { Tolerance } from '../../../core/problem.ts';
import { ulpAt, unitRoundoff } from '../ulp.ts';
import { conditionOf } from './condition.ts';
import { arithmeticErrors } from './conditioned.ts';
import { exact } from './exact.ts';
import { groupSizeOf, maximumPerGroup } from './groups.ts';
import { errorsOf, naiveErrorsOf, namesAny } from './naive-errors.ts';
import { type Expectation, type OutputFacts, type ToleranceRule, wantOf } from './tolerance.ts';

type Calibrated = Extract<Tolerance, { kind: 'calibrated' }>;

/** Additions behind one output where problem.json names no `terms`. */
const DEFAULT_TERMS = 256;

/** Allowed errors of the accumulator, as a multiple of the √n prediction. */
const ACCUMULATOR_CONSTANT = 1;

/**
 * Tensor cores of sm_80 and sm_89 cut each product off at 24 bits of the sum so far, eight at a time, and that sum at the 24 of fp32: a product loses half a unit in the mean, and a block half
 * a unit twice as large. So n products of one sign lose at most (½ + ⅛) · n · u of their sum, if that is as large from the first product on, as behind an attention sink; 0.21 to 0.24 · n · u
 * if it grows evenly. On sm_90 half of that. From virtual-gpu/runtime/tensor-model.ts, which has their bits.
 */
const CUT_OFF = { placed: 5 / 8, drawn: 1 / 4 } as const;

/** If only the result may be rounded: allowed RMS error ÷ that of the correctly rounded oracle. */
const ROUNDED_ONCE = 1.1;

/**
 * For narrow storage and wide accumulators: inputs and outputs in fp16 or bf16, everything between in fp32. The allowed
 * error is the sum of three: the error of fp32 arithmetic (by condition, element by element, and what tensor cores cut off), the rounding of the result,
 * and the intermediate roundings that problem.json names:
 *
 *   |got − oracle| ≤ 1½ ulp(m) + ½ ulp(m + 1½ ulp(m)) + factor · max |naive − oracle| + arithmetic
 *                                                                                 m = largest |oracle| of the row
 *   RMS(got − oracle) ≤ √( max(ru · RMS(oracle), ½ ulp(0))² + (rmsFactor · RMS(naive − oracle))² + RMS(arithmetic)² )
 *
 * `naive` is the reference with the named results and the outputs rounded; without names there is no such term.
 * Before a result is called wrong, m and RMS(oracle) are at least what the terms of a weighted sum say, as those of weights · V: {@link TERMS} times, and once, √Σ term².
 * r is 1; where fewer than 10 rows make up the sum of squares, up to 1.31, and up to 2 if terms nearly cancel ({@link fewRows}).
 * Accumulating in the storage dtype errs by √n roundings instead of one, everywhere: the second line finds it. 2 ulp(m) is
 * FlashAttention's 2 · max |(ref + 0.3 − 0.3) − ref| with the row's m in place of 0.3: ½ for rounding the result, the rest
 * for one unnamed intermediate of the same size (softmax weights in the input precision of tensor cores). The result is
 * rounded where it lies: just below a power of two an allowed error leads beyond it, where numbers are twice as far apart. With
 * `"roundings": {}` only the result may be rounded: ½ ulp of the element itself + arithmetic, and 1.1 times the RMS error
 * of the correctly rounded oracle. Elements whose correctly rounded value is infinite or NaN must be so. Outputs of integer
 * dtype are compared exactly.
 *
 * Source: Dao-AILab/flash-attention, tests/test_flash_attn.py.
 */
export const calibrated: ToleranceRule<'calibrated'> = {
  needs: ({ roundings }) => ({ naive: namesAny(roundings), perturbed: true }),
  expect: (comparison, facts) => {
    if (!isFloating(facts.dtype)) return exact.expect({ kind: 'exact' }, facts);
    const { storage, accumulate, roundings, terms = DEFAULT_TERMS } = comparison;
    if (unitRoundoff(storage) <= unitRoundoff(accumulate)) throw notNarrower(storage);
    const arithmetic = arithmeticErrors(facts, {
      constant: ACCUMULATOR_CONSTANT,
      unit: accumulate,
      operations: evaluateExpression(terms, facts.dimensions),
    });
    addCutOff(arithmetic, comparison, facts);
    const isStrict = roundings !== undefined && !namesAny(roundings);
    return isStrict ? roundedOnce(facts, arithmetic) : withSlack(comparison, facts, arithmetic);
  },
};

function addCutOff(errors: Float64Array, { accumulate, products }: Calibrated, facts: OutputFacts): void {
  if (products === undefined) return;
  const share = facts.placed ? CUT_OFF.placed : CUT_OFF.drawn;
  const relative = share * evaluateExpression(products, facts.dimensions) * unitRoundoff(accumulate);
  for (let i = 0; i < errors.length; i++) {
    const size = Math.abs(facts.oracle[i]!);
    if (Number.isFinite(size)) errors[i] = errors[i]! + relative * size;
  }
}

/** Root of the mean square of the finite ones; the others count as 0. */
export function rmsOf(values: Float64Array): number {
  let squares = 0;
  for (let i = 0; i < values.length; i++) {
    const value = values[i]!;
    if (Number.isFinite(value)) squares += value * value;
  }
  return values.length === 0 ? 0 : Math.sqrt(squares / values.length);
}

/** @param arithmetic becomes the tolerances: of large outputs, a copy takes as long as the sums. */
function roundedOnce(facts: OutputFacts, arithmetic: Float64Array): Expectation {
  const ofArithmetic = rmsOf(arithmetic);
  const tolerances = arithmetic;
  for (let i = 0; i < tolerances.length; i++) {
    tolerances[i] = tolerances[i]! + ulpAt(facts.rounded[i]!, facts.dtype) / 2;
  }
  return {
    want: wantOf(facts),
    tolerances,
    groupSize: 1,
    rmsLimit: Math.hypot(ROUNDED_ONCE * rmsOf(errorsOf(facts, facts.rounded)), ofArithmetic),
  };
}

/** @param arithmetic becomes the tolerances. */
function withSlack(comparison: Calibrated, facts: OutputFacts, arithmetic: Float64Array): Expectation {
  const { storage, factor = 2, group = 'row', rmsFactor = 1.5 } = comparison;
  const want = wantOf(facts);
  const naiveErrors = facts.naive && naiveErrorsOf(facts, facts.naive);
  const groupSize = group === 'all' ? Math.max(1, want.length) : groupSizeOf(facts.shape);
  const largestError = naiveErrors && maximumPerGroup(naiveErrors, groupSize);
  const terms = facts.weighted && conditionOf({ ...facts, perturbed: facts.weighted, placed: false });
  const largestValue = maximumPerGroup(want, groupSize);
  const largestTerms = terms && maximumPerGroup(terms, groupSize);
  // Of equal weights, one rounding shows in every whole row, with that of the result.
  const roundings = facts.placed ? MOST_FACTOR : fewRows(want, facts);
  const ofArithmetic = rmsOf(arithmetic);
  const tolerances = arithmetic;
  for (let group = 0; group < largestValue.length; group++) {
    const largest = Math.max(largestValue[group]!, TERMS * (largestTerms?.[group] ?? 0));
    const slack = factor * (largestError?.[group] ?? 0) + slackAt(largest, storage);
    const end = Math.min(tolerances.length, (group + 1) * groupSize);
    for (let i = group * groupSize; i < end; i++) tolerances[i] = tolerances[i]! + slack;
  }
  return {
    want,
    tolerances,
    groupSize: 1,
    rmsLimit: Math.hypot(
      // Below the normal numbers, rounding errs by half of the smallest subnormal, for any result.
      Math.max(
        roundings * unitRoundoff(storage) * Math.max(rmsOf(want), terms ? rmsOf(terms) : 0),
        ulpAt(0, storage) / 2,
      ),
      naiveErrors ? rmsFactor * rmsOf(naiveErrors) : 0,
      ofArithmetic,
    ),
  };
}

/** The largest value of a row is at least this many times √Σ term², unless terms cancel. Roundings of half-precision weights grow with the terms, cancelled or not. */
const TERMS = 2;

/** For one unnamed intermediate as large as the row's largest value, and for the rounding of the result. */
function slackAt(largest: number, storage: DType): number {
  const intermediate = 1.5 * ulpAt(largest, storage);
  return intermediate + ulpAt(largest + intermediate, storage) / 2;
}

/** Standard deviations of a mean by which an honest kernel's may exceed its expectation. */
const DEVIATIONS = 3.5;
/**
 * Of δ², for δ uniform in [−1, 1]. A row that is a single value of the storage dtype times a weight just below 1 becomes the next smaller one
 * everywhere: with the rounding of the result, 4 ÷ (mean of m²) = 12/7 for mantissas m from 1 to 2.
 */
const SQUARE = { mean: 1 / 3, standardDeviation: Math.sqrt(4 / 45), most: 12 / 7 - 1 / 3 };

/** Of the RMS limit, where errors of roundings do not average out. */
const MOST_FACTOR = 2;
/** Of so many rows, they do. */
const ENOUGH_ROWS = 10;

/**
 * Factor on the RMS limit where few rows make up the sum of squares. Of two roundings of relative size up to u, that of a
 * row's weights may err the whole row by the same δ, if the row has one key only; that of the result errs each element by its
 * own. So the mean of δ² is taken over as many values as there are rows: n = (Σ s)² / Σ s² of their sums of squares s. Where the
 * values of two keys nearly cancel, errors of weights stay as large as the terms, which the condition says.
 */
function fewRows(want: Float64Array, facts: OutputFacts): number {
  const rows = effectiveRows(want, facts.shape);
  if (!(rows < ENOUGH_ROWS)) return 1;
  const ofWeights = SQUARE.mean + (DEVIATIONS * SQUARE.standardDeviation) / Math.sqrt(rows);
  const terms = Math.max(1, rmsOf(conditionOf(facts)) / rmsOf(want));
  const square = SQUARE.mean + Math.min(SQUARE.most, ofWeights) * terms * terms;
  return Math.min(MOST_FACTOR, Math.sqrt(Math.max(1, square)));
}

/** NaN where squares overflow or vanish. */
function effectiveRows(want: Float64Array, shape: readonly number[]): number {
  const rowLength = Math.max(1, shape.at(-1) ?? 1);
  let [total, squares] = [0, 0];
  for (let start = 0; start < want.length; start += rowLength) {
    let row = 0;
    for (let i = start; i < Math.min(want.length, start + rowLength); i++) {
      if (Number.isFinite(want[i]!)) row += want[i]! * want[i]!;
    }
    total += row;
    squares += row * row;
  }
  return squares > 0 && Number.isFinite(squares) ? (total * total) / squares : Number.NaN;
}

/** Roundings to the storage dtype say nothing about errors of the accumulator itself. */
const notNarrower = (storage: string): WarpsmithError =>
  new WarpsmithError({
    code: 'uncalibratable',
    message: 'a calibrated comparison needs a storage dtype narrower than its accumulator',
    path: 'comparison.storage',
    received: storage,
    expected: 'f16 or bf16, with f32 accumulation',
    hint: 'Compare results of f32 or f64 arithmetic with `conditioned`, single operations with `ulp`.',
  });

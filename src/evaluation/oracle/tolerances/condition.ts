import { WarpsmithError } from '../../../core/errors.ts';
import { multiIndexOf } from '../../launches/layout.ts';
import { groupSizeOf, maximumPerGroup, medianPerGroup } from './groups.ts';
import type { OutputFacts } from './tolerance.ts';

/**
 * Every element's condition is at least this share of its group's median, because a few samples can all be small by chance.
 * The median, not the mean: a few ill-conditioned elements must not hide errors of their neighbours. But of placed values the
 * largest: beside zeros, a running sum shows what it has left of others.
 */
const LEAST_SHARE = 1 / 2;

/**
 * How strongly each output element reacts to relative errors of the inputs: √Σ (x_k · ∂y/∂x_k)², estimated from runs of the
 * reference on perturbed inputs. For a sum of products it is the root of the sum of the squared terms. If a difference
 * cancels, it stays as large as its terms. Without such runs it is 0, which gives the smallest tolerance.
 *
 * @throws WarpsmithError `uncalibratable` if a perturbed run is not finite where the oracle is.
 */
export function conditionOf(facts: OutputFacts): Float64Array {
  const { oracle, rounded, shape } = facts;
  const runs = facts.perturbed ?? [];
  const conditions = new Float64Array(oracle.length);
  if (runs.length === 0) return conditions;
  // Sums of squares first.
  for (const { relative, values } of runs) {
    for (let i = 0; i < conditions.length; i++) {
      // No condition, rather than the best one: its neighbours' may come of few elements.
      if (!Number.isFinite(rounded[i])) {
        conditions[i] = Number.NaN;
        continue;
      }
      const change = (values[i]! - oracle[i]!) / relative;
      if (!Number.isFinite(change)) throw notFinite(facts, values, i);
      conditions[i] = conditions[i]! + (change * change) / runs.length;
    }
  }
  for (let i = 0; i < conditions.length; i++) conditions[i] = Math.sqrt(conditions[i]!);
  const groupSize = groupSizeOf(shape);
  const usual = (facts.placed ? maximumPerGroup : medianPerGroup)(conditions, groupSize);
  for (const [group, value] of usual.entries()) {
    const [start, end] = [group * groupSize, Math.min(conditions.length, (group + 1) * groupSize)];
    for (let i = start; i < end; i++) {
      const own = conditions[i]!;
      conditions[i] = Number.isNaN(own) ? 0 : Math.max(own, LEAST_SHARE * value);
    }
  }
  return conditions;
}

const notFinite = ({ output, shape, oracle }: OutputFacts, values: Float64Array, element: number): WarpsmithError =>
  new WarpsmithError({
    code: 'uncalibratable',
    message: `inputs changed by a millionth make output '${output}' of the reference infinite or NaN, so no tolerance can be set`,
    path: 'comparison',
    received: `${output}[${multiIndexOf(shape, element)}]: ${values[element]} on changed inputs, ${oracle[element]} on the inputs themselves`,
    expected: 'a finite result wherever the oracle is finite',
    hint: 'Draw inputs that stay away from where the formula is undefined.',
  });

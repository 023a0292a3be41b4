/** How far a prior's mean is to be followed, after the times so far. */
export interface PriorWeight {
  /** Probability that the prior says nothing about this search's times. */
  readonly doubt: number;
  /** Expected factor of the prior's mean, and its variance. */
  readonly factor: number;
  readonly factorVariance: number;
  /** Variance that the prior does not explain, in units of the variance of its own times. */
  readonly unexplained: number;
}

interface Hypothesis {
  /** Factor of the prior's mean. */
  readonly factor: number;
  /** Standard deviation of what remains. */
  readonly remains: number;
  /** Logarithm of its prior probability. */
  readonly logPrior: number;
}

/** Probability, before any time, that a prior is worthless. */
const WORTHLESS = 0.1;
/** Variance of the constant by which the times of the search may differ from the prior's, in units of their variance. */
export const OFFSET_VARIANCE = 1;

const FACTORS = [0.5, 0.7, 1, 1.4] as const;
const REMAINS = [0.1, 0.15, 0.25, 0.4, 0.6, 0.9] as const;
/** Of times that have nothing to do with the prior: their spread may be another. */
const REMAINS_OF_WORTHLESS = [0.5, 0.7, 1, 1.4, 2] as const;

const HYPOTHESES: readonly Hypothesis[] = [
  ...FACTORS.flatMap((factor) =>
    REMAINS.map((remains) => ({
      factor,
      remains,
      logPrior: Math.log((1 - WORTHLESS) / FACTORS.length / REMAINS.length),
    })),
  ),
  ...REMAINS_OF_WORTHLESS.map((remains) => ({
    factor: 0,
    remains,
    logPrior: Math.log(WORTHLESS / REMAINS_OF_WORTHLESS.length),
  })),
];

/**
 * Weighs every hypothesis by how likely it makes the times: they are factor × the prior's mean + a process of which
 * `remains` is the deviation.
 *
 * @param values standardised times, whitened by the process's factor; @param means the prior's, likewise.
 */
export function weighPrior(values: Readonly<ArrayLike<number>>, means: Readonly<ArrayLike<number>>): PriorWeight {
  const count = values.length;
  const [vv, vm, mm] = [dot(values, values), dot(values, means), dot(means, means)];
  const logs = HYPOTHESES.map(({ factor, remains, logPrior }) => {
    const variance = remains ** 2 * (1 + OFFSET_VARIANCE);
    const squares = vv - 2 * factor * vm + factor ** 2 * mm;
    return logPrior - 0.5 * (count * Math.log(variance) + squares / variance);
  });
  const highest = Math.max(...logs);
  const weights = logs.map((log) => Math.exp(log - highest));
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  const expected = (value: (hypothesis: Hypothesis) => number): number =>
    HYPOTHESES.reduce((sum, hypothesis, place) => sum + weights[place]! * value(hypothesis), 0) / total;
  const factor = expected((hypothesis) => hypothesis.factor);
  return {
    doubt: expected((hypothesis) => (hypothesis.factor === 0 ? 1 : 0)),
    factor,
    factorVariance: expected((hypothesis) => (hypothesis.factor - factor) ** 2),
    unexplained: expected(({ remains }) => remains ** 2),
  };
}

function dot(a: Readonly<ArrayLike<number>>, b: Readonly<ArrayLike<number>>): number {
  let sum = 0;
  for (let place = 0; place < a.length; place += 1) sum += a[place]! * b[place]!;
  return sum;
}

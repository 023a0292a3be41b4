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

/** Of a prior that can't be judged. */
export const NO_WEIGHT: PriorWeight = { doubt: 1, factor: 0, factorVariance: 0, unexplained: 1 };

interface Hypothesis {
  /** Factor of the prior's mean. */
  readonly factor: number;
  /** Standard deviation of what remains. */
  readonly remains: number;
  /** Logarithm of its prior probability. */
  readonly logPrior: number;
}

/** Probability, before any time, that a prior is worthless. */
const WORTHLESS = 0.2;

const FACTORS = [0.4, 0.7, 1, 1.4] as const;
const REMAINS = [0.1, 0.15, 0.25, 0.4, 0.6] as const;
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

/** Values by an added configuration, whitened by the process's factor. */
type Whitened = Readonly<ArrayLike<number>>;

/**
 * Weighs every hypothesis by how likely it makes the times: they are a constant, of which nothing is known, + factor × the
 * prior's mean + a process of which `remains` is the deviation.
 *
 * @param values standardised times; @param means the prior's; @param ones a constant.
 */
export function weighPrior(values: Whitened, means: Whitened, ones: Whitened): PriorWeight {
  const freedom = values.length - 1;
  const [vo, mo, oo] = [dot(values, ones), dot(means, ones), dot(ones, ones)];
  const vv = dot(values, values) - vo ** 2 / oo;
  const vm = dot(values, means) - (vo * mo) / oo;
  const mm = dot(means, means) - mo ** 2 / oo;
  const logs = HYPOTHESES.map(({ factor, remains, logPrior }) => {
    const squares = Math.max(vv - 2 * factor * vm + factor ** 2 * mm, 0);
    return logPrior - freedom * Math.log(remains) - squares / (2 * remains ** 2);
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

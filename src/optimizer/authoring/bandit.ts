import { type ArmPrior, type ArmPull, type ArmStanding, MOST_TURN_GAIN, type Spending } from '../../store/events.ts';

/*
 * Who is asked next: the discounted UCB of Kocsis and Szepesvári (2006; Garivier and Moulines, 2011), of gain per cost. What an
 * arm brings runs dry, so old pulls fade. Pulls differ in cost by orders of magnitude, so a pull counts as many plays as it
 * costs. Nothing is drawn: equal pulls give equal choices.
 */

/** Weight of a pull relative to the one after it: the last ten count for two thirds. */
const DISCOUNT = 0.9;
/** The least gain that exploring hopes for: the least change that is kept, in five of the cheapest pulls. */
const LEAST_GAIN = Math.log(1.03) / 5;
/**
 * Turns of earlier runs count as so many before the first: enough to spare a small budget what is dear and brings little, few
 * enough to be outweighed soon.
 */
const MOST_EARLIER = 2;
/** Where nothing is limited, cost is time; the least that counts, in s. */
const LEAST_SECONDS = 0.001;

/** What is left of each budget; `null`: not limited. */
export type Left = Readonly<Record<keyof Spending, number | null>>;

interface Weighed {
  readonly arm: string;
  readonly weight: number;
  readonly gain: number;
  readonly cost: number;
}

/** The arms with the figures of the choice, in the order given. `priors` are of the run's arms. */
export function standingsOf(
  arms: readonly string[],
  pulls: readonly ArmPull[],
  left: Left,
  priors: readonly ArmPrior[] = [],
): ArmStanding[] {
  const known = [...earlierPulls(priors), ...pulls];
  const weighed = known.map(({ arm, gain, used }, index): Weighed => {
    const weight = DISCOUNT ** (known.length - 1 - index);
    return { arm, weight, gain: Math.min(MOST_TURN_GAIN, gain), cost: costOf(used, left) };
  });
  const play = Math.min(...weighed.map(({ cost }) => cost));
  const plays = (of: readonly Weighed[]): number => sum(of, ({ weight, cost }) => (weight * cost) / play);
  const scale = Math.max(LEAST_GAIN / play, ...weighed.map(({ weight, gain, cost }) => (weight * gain) / cost));
  const all = Math.log(Math.max(1, plays(weighed)));
  return arms.map((arm) => {
    const own = weighed.filter((pull) => pull.arm === arm);
    const here = pulls.filter((pull) => pull.arm === arm).length;
    const prior = priors.find((one) => one.arm === arm);
    if (own.length === 0) return { arm, pulls: 0, gain: 0, cost: 0, bonus: 0, value: null };
    const weight = sum(own, (pull) => pull.weight);
    const gain = sum(own, (pull) => pull.weight * pull.gain) / weight;
    const cost = sum(own, (pull) => pull.weight * pull.cost) / weight;
    // Hoeffding's bound.
    const bonus = scale * Math.sqrt(all / (2 * plays(own)));
    const earlier = prior && { earlier: prior.turns };
    return { arm, pulls: here, ...earlier, gain, cost, bonus, value: gain / cost + bonus };
  });
}

/** One of each arm after the other, so that none is older than the rest. */
const earlierPulls = (priors: readonly ArmPrior[]): ArmPull[] =>
  Array.from({ length: MOST_EARLIER }, (_, at) => priors.filter(({ turns }) => turns > at)).flat();

/** The arm to ask: first each of which nothing is known, in order; then the one of most value, the first of equal ones. */
export function bestOf(standings: readonly ArmStanding[]): ArmStanding | undefined {
  const untried = standings.find(({ value }) => value === null);
  if (untried) return untried;
  return standings.reduce<ArmStanding | undefined>(
    (best, one) => (best === undefined || one.value! > best.value! ? one : best),
    undefined,
  );
}

/** Why: `never asked so far`, or the arithmetic of its value. */
export function reasonFor({ value, gain, bonus, cost, pulls, earlier }: ArmStanding): string {
  if (value === null) return 'never asked so far';
  const before = earlier === undefined ? '' : ` and ${earlier} of earlier runs`;
  const share = (100 * cost).toPrecision(3);
  return `${gain.toFixed(4)} ÷ ${share} % + ${bonus.toPrecision(3)} = ${value.toPrecision(3)}, the most; after ${pulls} pull${pulls === 1 ? '' : 's'}${before}`;
}

/** The largest share that a pull takes of what a budget still holds: that budget ends first. A pull takes one evaluation at least. */
function costOf(used: Spending, left: Left): number {
  const shares = (Object.keys(left) as (keyof Spending)[]).flatMap((name) => {
    const rest = left[name];
    const taken = name === 'evaluations' ? Math.max(1, used[name]) : used[name];
    return rest === null ? [] : [taken / Math.max(rest, Number.EPSILON)];
  });
  const share = Math.max(0, ...shares);
  // Budgets that it does not touch say nothing.
  return share > 0 ? share : Math.max(LEAST_SECONDS, used.seconds);
}

const sum = <T>(of: readonly T[], value: (one: T) => number): number =>
  of.reduce((total, one) => total + value(one), 0);

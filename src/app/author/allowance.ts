import { WarpsmithError } from '../../core/errors.ts';

/** What a connection may use. Nothing that an author sends changes it. */
export interface AllowanceLimits {
  readonly maximumEvaluations: number;
  /** Wall time from the beginning of the connection; `null` for no limit. */
  readonly maximumMinutes: number | null;
}

/** What is left, as every answer says it. */
export interface Left {
  readonly evaluations: number;
  readonly minutes: number | null;
}

/** Counts what a connection uses. */
export interface Allowance {
  left(): Left;
  /** @throws WarpsmithError `budget-spent` if so many evaluations are not left, or the time is over. */
  take(evaluations: number): void;
  /** Of what ended without a verdict through no fault of the kernel, and was not used. */
  giveBack(evaluations: number): void;
}

const MS_PER_MINUTE = 60_000;

export function openAllowance(
  { maximumEvaluations, maximumMinutes }: AllowanceLimits,
  now: () => number = () => performance.now(),
): Allowance {
  const startedAt = now();
  let used = 0;
  const left = (): Left => ({
    evaluations: Math.max(0, maximumEvaluations - used),
    minutes: maximumMinutes === null ? null : Math.max(0, maximumMinutes - Math.floor((now() - startedAt) / 6000) / 10),
  });
  return {
    left,
    take(evaluations) {
      if (maximumMinutes !== null && !(now() - startedAt < maximumMinutes * MS_PER_MINUTE)) {
        throw spent(`${maximumMinutes} minutes are over`, 'time left');
      }
      if (!(used + evaluations <= maximumEvaluations)) {
        throw spent(`${used} of ${maximumEvaluations} evaluations used`, `${evaluations} left`);
      }
      used += evaluations;
    },
    giveBack(evaluations) {
      used -= evaluations;
    },
  };
}

const spent = (received: string, expected: string): WarpsmithError =>
  new WarpsmithError({
    code: 'budget-spent',
    message: 'The budget of this connection is spent.',
    received,
    expected,
    hint: 'Report the best attempt of `history`. Only the person who started the server can give more.',
  });

import { AUTHOR_MODES, AUTHOR_STEPS, type AuthorMode, type AuthorSignal, type AuthorStep } from '../../store/events.ts';

/** Where an author is sent: which finding of which parent, and what it is shown. */
export interface Direction {
  /** 0: the finding with the largest estimated gain. */
  readonly findingRank: number;
  /** 0: the fastest. */
  readonly parentRank: number;
  readonly mode: AuthorMode;
  readonly isFresh: boolean;
}

/** How an attempt ended, as far as it tells whether the author gets on. */
export interface Outcome {
  readonly isKept: boolean;
  readonly isNearDuplicate: boolean;
  /** Realised ÷ hoped ratio to the parent; `null` if one is not known. */
  readonly realised: number | null;
}

export interface Redirection {
  readonly signal: AuthorSignal;
  readonly step: AuthorStep;
  readonly reason: string;
}

/** Attempts in a row that show a standstill. */
const IN_A_ROW: Readonly<Record<AuthorSignal, number>> = { 'no-gain': 5, 'near-duplicates': 2, 'wrong-predictions': 3 };
/** A hoped ratio off by more than this factor was wrong. */
const WRONG_BY = 2;

const REASONS: Readonly<Record<AuthorSignal, string>> = {
  'no-gain': 'attempts in a row were refused or no faster',
  'near-duplicates': 'kernels in a row were near-duplicates of earlier ones',
  'wrong-predictions': `hoped ratios in a row were off by more than ${WRONG_BY}×`,
};

/** Notices when an author gets no further, and says what to ask instead. A kept kernel sends it back to the first step. */
export interface Ladder {
  readonly direction: Direction;
  note(outcome: Outcome): Redirection | undefined;
}

const isWrong = ({ realised }: Outcome): boolean =>
  realised !== null && !(realised <= WRONG_BY && realised >= 1 / WRONG_BY);

export function createLadder(mode: AuthorMode): Ladder {
  const first: Direction = { findingRank: 0, parentRank: 0, mode, isFresh: false };
  let direction = first;
  let step = 0;
  const rows: Record<AuthorSignal, number> = { 'no-gain': 0, 'near-duplicates': 0, 'wrong-predictions': 0 };
  const clear = (): void => void Object.assign(rows, { 'no-gain': 0, 'near-duplicates': 0, 'wrong-predictions': 0 });
  return {
    get direction() {
      return direction;
    },
    note(outcome) {
      // A gain that was hoped wrong is a gain, but a row of wrong hopes goes on.
      rows['wrong-predictions'] = isWrong(outcome)
        ? rows['wrong-predictions'] + 1
        : outcome.realised === null
          ? rows['wrong-predictions']
          : 0;
      rows['near-duplicates'] = outcome.isNearDuplicate ? rows['near-duplicates'] + 1 : 0;
      rows['no-gain'] = outcome.isKept ? 0 : rows['no-gain'] + 1;
      if (outcome.isKept) {
        step = 0;
        direction = { ...first, mode: direction.mode };
        return undefined;
      }
      const signal = (Object.keys(rows) as AuthorSignal[]).find((name) => rows[name] >= IN_A_ROW[name]);
      if (!signal) return undefined;
      const reason = `${rows[signal]} ${REASONS[signal]}`;
      const taken = AUTHOR_STEPS[step]!;
      clear();
      step += 1;
      direction = STEPS[taken](direction);
      return { signal, step: taken, reason };
    },
  };
}

const STEPS: Readonly<Record<AuthorStep, (from: Direction) => Direction>> = {
  'other-finding': (from) => ({ ...from, findingRank: from.findingRank + 1 }),
  'other-parent': (from) => ({ ...from, findingRank: 0, parentRank: from.parentRank + 1 }),
  'other-mode': (from) => ({
    ...from,
    mode: AUTHOR_MODES[(AUTHOR_MODES.indexOf(from.mode) + 1) % AUTHOR_MODES.length]!,
  }),
  'fresh-context': (from) => ({ ...from, findingRank: 0, parentRank: 0, isFresh: true }),
  stop: (from) => from,
};

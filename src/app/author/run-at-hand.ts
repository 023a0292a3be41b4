import type { Priors } from '../../store/events.ts';
import type { RunFolder } from '../../store/run-folder.ts';
import type { Session } from '../session.ts';

/** What is there when a run begins. */
export interface RunAtHand {
  readonly session: Session;
  readonly run: RunFolder;
  readonly priors: Priors;
  readonly seed: number;
  /** Takes what is to be closed when the run ends. */
  readonly closing: AsyncDisposableStack;
}

import type { Correctness } from '../../core/evaluation.ts';
import type { OutputVerdict } from '../oracle/compare.ts';

/**
 * Combines all comparisons of a candidate: the largest error, the element nearest to its tolerance, the first wrong
 * element.
 */
export class CorrectnessTally {
  #checksRun = 0;
  #maximumError: number | null = 0;
  #worst: OutputVerdict | undefined;
  #largestRmsRatio = 0;
  #firstWrong: Correctness['firstWrong'];

  /** Counts one run whose every output was compared. */
  add(verdicts: ReadonlyMap<string, OutputVerdict>): void {
    this.#checksRun++;
    for (const verdict of verdicts.values()) {
      const { maxAbsoluteError: error } = verdict;
      const known = this.#maximumError;
      this.#maximumError = known === null || error === null ? null : Math.max(known, error);
      if (!this.#worst || verdict.worstErrorRatio > this.#worst.worstErrorRatio) this.#worst = verdict;
      this.#largestRmsRatio = Math.max(this.#largestRmsRatio, verdict.rmsErrorRatio);
      this.#firstWrong ??= verdict.firstWrong;
    }
  }

  /** `undefined` when nothing was compared. */
  summary(): Correctness | undefined {
    if (!this.#worst) return undefined;
    return {
      maxAbsoluteError: this.#maximumError,
      tolerance: this.#worst.tolerance,
      nearest: this.#worst.nearest,
      checksRun: this.#checksRun,
      worstErrorRatio: this.#worst.worstErrorRatio,
      rmsErrorRatio: this.#largestRmsRatio,
      firstWrong: this.#firstWrong,
    };
  }
}

import { allEnded } from '../../core/all-ended.ts';
import { orDeviceTrouble } from '../launches/device-trouble.ts';
import type { ContenderFailure, KeptOfBlock } from './contender.ts';

/** Of one contender. */
export interface Kept extends KeptOfBlock {
  readonly contender: string;
}

/** Memory of the host that may wait for the end of a measurement. */
const MOST_BYTES = 256 * 1024 ** 2;

/** Each takes a few times its bytes as float64, and there are about as many processes that run a reference. */
const SIDE_BY_SIDE = 8;

/**
 * What blocks kept for the oracle. All blocks of a measurement are compared together once nothing is timed any more, since the reference
 * then runs in several processes; one block alone keeps one or two of them busy.
 */
export class KeptSlots {
  readonly #kept: Kept[] = [];

  add(kept: Kept): void {
    this.#kept.push(kept);
  }

  /** Whether they take so much memory that they should not wait for more. */
  get isFull(): boolean {
    return this.#kept.reduce((sum, { bytes }) => sum + bytes, 0) >= MOST_BYTES;
  }

  /** @returns for each contender that is wrong, its first mistake, in the order in which they were kept. */
  async judge(): Promise<Map<string, ContenderFailure>> {
    const all = this.#kept.splice(0);
    const outcomes = new Map<Kept, { ok: true } | ContenderFailure>();
    const isWrong = ({ contender }: Kept): boolean =>
      [...outcomes].some(([other, { ok }]) => other.contender === contender && !ok);
    const judgeAll = async (kept: readonly Kept[]): Promise<void> => {
      const waiting = [...kept];
      const next = async (): Promise<void> => {
        for (let one = waiting.shift(); one; one = waiting.shift())
          if (!isWrong(one)) outcomes.set(one, await orDeviceTrouble(one.judge()));
      };
      await allEnded(Array.from({ length: SIDE_BY_SIDE }, next));
    };
    // Which tolerances a contender needs shows in its first slot, and holds for its others.
    const firsts = all.filter((one, at) => at === all.findIndex(({ contender }) => contender === one.contender));
    await judgeAll(firsts);
    await judgeAll(all.filter((one) => !firsts.includes(one)));
    const failures = new Map<string, ContenderFailure>();
    for (const one of all) {
      const outcome = outcomes.get(one);
      if (outcome?.ok === false && !failures.has(one.contender)) failures.set(one.contender, outcome);
    }
    return failures;
  }
}

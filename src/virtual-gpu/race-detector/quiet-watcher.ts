import type { RaceDetector } from './race-detector.ts';

/** What watched code reports to: the race detector, or a watcher of one place or one warp. */
export type AccessWatcher = Pick<RaceDetector, Exclude<keyof RaceDetector, 'attach' | 'begin' | 'roomFor'>>;

/** Looks for nothing, and keeps nothing but which CTA runs. */
export abstract class QuietWatcher implements AccessWatcher {
  /** Linear indices of the CTAs that run together; and the one whose warps run. */
  readonly #ctas: number[] = [];
  protected cta = 0;
  readonly uninitialisedRead = undefined;
  readonly olderRead = undefined;
  readonly olderReads = 0;
  readonly crossed = false;

  abstract group(...asked: Parameters<AccessWatcher['group']>): void;
  abstract uniformGroup(...asked: Parameters<AccessWatcher['uniformGroup']>): void;
  abstract request(...asked: Parameters<AccessWatcher['request']>): void;

  beginCta(linear: number, index: number): void {
    this.#ctas[index] = linear;
    this.cta = linear;
  }

  enterCta(index: number): void {
    this.cta = this.#ctas[index]!;
  }

  endCta(): void {}
  endPatience(): void {}
  clusterArrive(): void {}
  clusterComplete(): void {}
  clusterWait(): void {}
  barrier(): void {}
  arrive(): void {}
  fence(): void {}
  proxyFence(): void {}
  released(): void {}
  acquired(): void {}
  remembers(): boolean {
    return false;
  }
  ignores(): boolean {
    return false;
  }
  beforeWrite(): void {}
  landed(): void {}
  landedFromOutside(): void {}
  olderValue(): undefined {
    return undefined;
  }
}

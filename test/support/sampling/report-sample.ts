import type { Reporter, TestModule } from 'vitest/node';
import type { Turn } from './choose-members.ts';
import { SAMPLE_VARIABLE } from './find-turn.ts';

const inWords = (count: number): string => count.toLocaleString('en-US');

/** What a run says of its sample, or nothing where no test belongs to a matrix. */
export function describeSample(seed: Turn['seed'], ran: number, members: number): string | undefined {
  if (members === 0) return undefined;
  if (seed === 'all') return `All ${inWords(members)} members of the matrices ran.`;
  return [
    `A sample of ${inWords(ran)} of ${inWords(members)} members of the matrices ran; the others are skipped.`,
    `\`npm run test:all\` runs all; ${SAMPLE_VARIABLE}=${seed} repeats this sample.`,
  ].join('\n');
}

/** Prints at the end which sample ran. */
export class SampleReporter implements Reporter {
  readonly #seed: Turn['seed'];

  constructor(seed: Turn['seed']) {
    this.#seed = seed;
  }

  onTestRunEnd(modules: readonly TestModule[]): void {
    const members = modules
      .flatMap((module) => [...module.children.allTests()])
      .map((test) => test.meta().isLeftOut)
      .filter((isLeftOut) => isLeftOut !== undefined);
    const text = describeSample(this.#seed, members.filter((isLeftOut) => !isLeftOut).length, members.length);
    if (text) console.log(`\n${text}`);
  }
}

import { readFile } from 'node:fs/promises';
import { markdownTable } from '../../src/reports/print/markdown.ts';
import { geometricMean } from './model-accuracy.ts';
import { ROOT } from './recordings.ts';

/** docs/results/sampling.json, by bench/virtual-gpu/sampling.ts. */
export interface SamplingRecording {
  readonly schemaVersion: 1;
  /** Day of the last change, UTC. */
  date: string;
  kernels: readonly SampledKernel[];
}

/** A sample of a workload's CTAs beside the whole. */
export interface SampledKernel {
  /** Its folder. */
  readonly kernel: string;
  readonly workload: string;
  readonly ctas: number;
  readonly sampledCtas: number;
  /** Predicted from the sample ÷ from the whole. */
  readonly predictedRatio: number;
  /** Largest |sample ÷ whole − 1| of instructions, sectors and wavefronts. */
  readonly largestCounterDeviation: number;
  /** Processor time of the counted launches, in ms. */
  readonly sampleMs: number;
  readonly wholeMs: number;
}

const right = (title: string) => ({ title, align: 'right' as const });
const percent = (share: number): string => `${(share * 100).toFixed(1)} %`;

/** What a sample of the CTAs tells of the whole. */
export async function samplingBlocks(): Promise<Record<string, string>> {
  const text = await readFile(new URL('docs/results/sampling.json', ROOT), 'utf8');
  const { kernels, date } = JSON.parse(text) as SamplingRecording;
  const factors = kernels.map(({ predictedRatio }) => Math.max(predictedRatio, 1 / predictedRatio));
  const table = markdownTable(
    [
      { title: 'kernel' },
      { title: 'workload' },
      right('CTAs run'),
      right('predicted ÷ whole'),
      right('counters off by'),
      right('processor time, ms'),
      right('of the whole'),
    ],
    kernels.map((one) => [
      `\`${one.kernel.replace('problems/', '')}\``,
      one.workload,
      `${one.sampledCtas} of ${one.ctas.toLocaleString('en-US')}`,
      one.predictedRatio.toFixed(3),
      percent(one.largestCounterDeviation),
      Math.round(one.sampleMs).toLocaleString('en-US'),
      Math.round(one.wholeMs).toLocaleString('en-US'),
    ]),
  );
  const summary =
    `Times predicted from a sample are off by ${geometricMean(factors).toFixed(3)}× in the geometric mean from those of the whole, ` +
    `at most ${Math.max(...factors).toFixed(3)}×, ${date}.`;
  return { sampling: `${table}\n\n${summary}` };
}

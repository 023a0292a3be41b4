/**
 * Times the same compiled kernels through this program's worker and through the Python worker, in the same blocks: both
 * must read the same, or times of libraries could not be compared with times of candidates.
 *
 *     node bench/referee/two-processes.ts [--output docs/results/h200-two-processes.json] [--device cuda:0]
 */
import type { TwoProcessEntry, TwoProcessRecording } from '../../scripts/results/referee-recordings.ts';
import type { ParameterValues } from '../../src/core/kernel.ts';
import { BaselineWorker } from '../../src/evaluation/baselines/baseline-worker.ts';
import { measureContenders } from '../../src/evaluation/measure/measure-contenders.ts';
import { createOracle } from '../../src/evaluation/oracle.ts';
import { compareContenders } from '../../src/stats/compare-contenders.ts';
import { type Bench, contenderOf, measuredWith, openBench, openKernel } from '../measuring/open-bench.ts';
import { openRecording } from '../recording-file.ts';
import { refereeOptions } from './referee-options.ts';

const SEED = 1;
/** Enough for an interval narrower than the limit. */
const BLOCKS = 20;
const LIMIT = 0.01;
const OURS = 'warpsmith';
const PYTHON = 'python';

interface Case {
  readonly kernel: string;
  readonly workload: string;
  readonly parameters: ParameterValues;
}

const WARP = { BLOCK_M: 32, BLOCK_N: 128, WARPS: 4, VECTOR_WIDTH: 8, PAD: 8 };
/** Of about 10, 50 and 500 µs on an H200. */
const CASES: readonly Case[] = [
  { kernel: 'problems/attention/04_warp', workload: 'b1h1s128d64', parameters: WARP },
  {
    kernel: 'problems/attention/03_rows',
    workload: 'b1h8s512d64',
    parameters: { BLOCK_M: 32, BLOCK_N: 128, WARPS: 8, PAD: 2 },
  },
  { kernel: 'problems/attention/04_warp', workload: 'b32h8s512d64', parameters: WARP },
];

async function compare(bench: Bench, subject: Case): Promise<TwoProcessEntry> {
  const opened = await openKernel(bench, subject);
  const { problem, workload, module, plan } = opened;
  const { uuid } = bench.device.identity;
  const worker = await BaselineWorker.start({
    problem,
    oracle: createOracle({ deviceReference: bench.deviceReference }),
    seed: SEED,
    ...(uuid !== undefined && { gpu: { uuid } }),
  });
  try {
    const prepared = await worker.kernelContender({ name: PYTHON, code: module.code, plan }, workload);
    if (!prepared.ok) return failed(subject, `${prepared.status}: ${prepared.reason}`);
    const measuring = bench.device.measuring!;
    const {
      measurements,
      blocks,
      failed: left,
    } = await measureContenders({
      contenders: [contenderOf(bench, OURS, opened), prepared.contender],
      cache: workload.cache,
      l2Bytes: measuring.l2Bytes,
      tier: 'accept',
      blocks: BLOCKS,
      seed: SEED,
      state: () => measuring.state(),
    });
    const [first] = left;
    if (first) return failed(subject, `${first.contender}: ${first.status}: ${first.reason}`);
    const comparison = compareContenders(blocks, { candidate: OURS, baseline: PYTHON }, SEED);
    return {
      ...subject,
      comparison,
      withinOnePercent: Math.abs(comparison.ratio - 1) <= LIMIT,
      measurements: Object.fromEntries(
        [...measurements].map(([name, { conditions, summary, eagerNs }]) => [
          name,
          { conditions, summary, ...(eagerNs !== undefined && { eagerNs }) },
        ]),
      ),
      discardedBlockCount: blocks.filter(({ discarded }) => discarded !== undefined).length,
    };
  } finally {
    await worker.close();
    await bench.device.unload(module);
  }
}

const failed = (subject: Case, failure: string): TwoProcessEntry => ({
  ...subject,
  withinOnePercent: false,
  measurements: {},
  discardedBlockCount: 0,
  failure,
});

const { device, output } = refereeOptions({ output: 'docs/results/h200-two-processes.json' });
await using bench = await openBench(device);
const { recording, save } = await openRecording<TwoProcessRecording>(output, () => ({
  schemaVersion: 1,
  ...measuredWith(bench),
  kernels: [],
}));
const isRecorded = ({ kernel, workload }: Case): boolean =>
  recording.kernels.some((entry) => entry.kernel === kernel && entry.workload === workload);

for (const subject of CASES.filter((one) => !isRecorded(one))) {
  const entry = await compare(bench, subject);
  recording.kernels.push(entry);
  await save();
  const { comparison, measurements, failure } = entry;
  const times = Object.entries(measurements).map(([name, { summary }]) => `${name} ${summary.medianNs.toFixed(0)} ns`);
  const ratio = comparison && `${comparison.ratio.toFixed(4)} [${comparison.intervalRatio.join(', ')}]`;
  process.stderr.write(`${subject.kernel} at ${subject.workload}: ${failure ?? `${times.join(', ')}: ${ratio}`}\n`);
}
const within = recording.kernels.filter(({ withinOnePercent }) => withinOnePercent).length;
const ratios = recording.kernels.map(({ comparison, failure }) => comparison?.ratio.toFixed(4) ?? failure);
process.stdout.write(`${within} of ${recording.kernels.length} within 1 %: ${ratios.join(', ')}\n`);

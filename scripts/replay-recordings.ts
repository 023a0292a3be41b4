// Makes docs/results/h200-attention-{ladder,optimize}.json by replaying what was recorded on an H200, with no GPU:
//   node scripts/replay-recordings.ts
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { measureProblem } from '../src/app/measure.ts';
import { optimizeProblem } from '../src/app/optimize.ts';
import type { LadderView } from '../src/reports/documents/ladder.ts';
import { UNLIMITED } from '../src/store/events.ts';
import { readRecording } from '../src/store/recording.ts';
import type { OptimizeRecording } from './results/measuring-recordings.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const recordings = `${root}test/fixtures/recordings`;
/** As it was when the recordings were made. */
const target = `${recordings}/attention`;
const RUNGS = ['01_minimal', '02_tiled', '03_rows', '04_warp'];

const write = (name: string, recording: unknown): Promise<void> =>
  writeFile(`${root}docs/results/${name}.json`, `${JSON.stringify(recording, null, 2)}\n`);

/** What each recording holds: what fits into one sitting; each row comes from one recording. */
const MEASURED: readonly { recording: string; workloads: readonly string[] }[] = [
  {
    recording: 'h200-attention-ladder-small',
    workloads: ['b1h1s32d64', 'b1h1s128d64', 'b1h1s512d64', 'b1h8s512d64', 'b1h8s512d64-causal', 'b32h8s128d64'],
  },
  { recording: 'h200-attention-ladder-middle', workloads: ['b32h8s512d64', 'b16h16s1024d64'] },
  { recording: 'h200-attention-ladder-large', workloads: ['b32h16s512d64', 'b16h16s1024d128', 'b32h16s512d128'] },
  {
    recording: 'h200-attention-ladder-long-d64',
    workloads: ['b4h16s4096d64', 'b4h16s4096d64-causal', 'b1h16s16384d64', 'b1h16s16384d64-causal'],
  },
  { recording: 'h200-attention-ladder-b4h16s4096d128', workloads: ['b4h16s4096d128'] },
  {
    recording: 'h200-attention-ladder-long-d128',
    workloads: ['b4h16s4096d128-causal', 'b1h16s16384d128', 'b1h16s16384d128-causal'],
  },
];

const ladder = async (): Promise<LadderView> => {
  const views: LadderView[] = [];
  for (const { recording, workloads } of MEASURED) {
    views.push(
      await measureProblem({
        target,
        kernels: RUNGS.map((kernel) => `${target}/${kernel}`),
        parameters: {},
        baselines: ['all'],
        workloads,
        tier: 'accept',
        seed: 1,
        device: 'cuda:0',
        replay: `${recordings}/${recording}.jsonl.gz`,
      }),
    );
  }
  const contenders = views.flatMap((view) => view.contenders);
  return {
    ...views[0]!,
    contenders: contenders.filter(({ name }, i) => contenders.findIndex((other) => other.name === name) === i),
    rows: views.flatMap(({ rows }) => rows),
  };
};

const optimised = async (): Promise<OptimizeRecording> => {
  const replay = `${recordings}/h200-attention-optimize.jsonl.gz`;
  const [{ device, environment, compiler, time }] = readRecording(replay).sessions;
  const store = await mkdtemp(join(tmpdir(), 'warpsmith-replay-'));
  try {
    const workload = 'b1h8s512d64';
    const { result } = await optimizeProblem({
      target: `${recordings}/attention-optimize`,
      workloads: [workload],
      parameters: {},
      seed: 1,
      // When it was recorded, the limit of 45 was the search's alone.
      budgets: { ...UNLIMITED, maximumEvaluations: 56, allowance: { confirmation: 1, ablation: 10, advice: 0 } },
      store,
      device: 'cuda:0',
      replay,
    });
    const { start, best, confirmation, evaluationsUsed, stopReason } = result;
    const timed = ({ id, candidate, timing }: NonNullable<typeof start>) => ({
      evaluation: id,
      kernel: candidate.kernel,
      parameters: candidate.parameters,
      medianNs: timing!.medianNs,
      intervalNs: timing!.intervalNs,
    });
    return {
      schemaVersion: 1,
      device: device.name,
      driver: device.driver ?? 'unknown',
      versions: {
        warpsmith: environment.warpsmith ?? 'unknown',
        node: environment.node ?? 'unknown',
        compiler: `${compiler.name} ${compiler.version}`,
      },
      recordedAt: time,
      workload,
      evaluationsUsed,
      stopReason,
      start: timed(start!),
      best: timed(best!.evaluation),
      confirmation: confirmation!,
    };
  } finally {
    await rm(store, { recursive: true });
  }
};

await write('h200-attention-ladder', await ladder());
await write('h200-attention-optimize', await optimised());

// Makes docs/results/h200-attention-ladder.json from recordings of `warpsmith measure`: node scripts/replay-ladders.ts
// One command line measured what fits into one sitting; each row comes from one recording, whole.
import { writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { measureProblem } from '../src/app/measure.ts';
import type { LadderView } from '../src/reports/ladder-view.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const recordings = `${root}test/fixtures/recordings`;
/** As it was when the recordings were made. */
const target = `${recordings}/attention`;
const RUNGS = ['01_minimal', '02_tiled', '03_rows', '04_warp'];

/** What each recording holds. Above some shapes a launch of the first rungs takes seconds: only the last was measured. */
const MEASURED: readonly { recording: string; kernels: readonly string[]; workloads: readonly string[] }[] = [
  {
    recording: 'h200-attention-ladder-small',
    kernels: RUNGS,
    workloads: ['b1h1s32d64', 'b1h1s128d64', 'b1h1s512d64', 'b1h8s512d64', 'b1h8s512d64-causal', 'b32h8s128d64'],
  },
  { recording: 'h200-attention-ladder-middle', kernels: RUNGS, workloads: ['b32h8s512d64', 'b16h16s1024d64'] },
  {
    recording: 'h200-attention-ladder-long',
    kernels: ['04_warp'],
    workloads: ['b4h16s4096d64', 'b4h16s4096d64-causal', 'b1h16s16384d64', 'b4h16s4096d128', 'b4h16s4096d128-causal'],
  },
];

const views: LadderView[] = [];
for (const { recording, kernels, workloads } of MEASURED) {
  views.push(
    await measureProblem({
      target,
      kernels: kernels.map((kernel) => `${target}/${kernel}`),
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
const [first] = views;
const contenders = views.flatMap((view) => view.contenders);
const merged: LadderView = {
  ...first!,
  contenders: contenders.filter(({ name }, i) => contenders.findIndex((other) => other.name === name) === i),
  rows: views.flatMap(({ rows }) => rows),
};
await writeFile(`${root}docs/results/h200-attention-ladder.json`, `${JSON.stringify(merged, null, 2)}\n`);

// Predicts the attention settings that were measured on an H200 (docs/results/attention-notebook-sweep.json) on a virtual one,
// after two checks each, and writes docs/results/attention-sweep-predicted.json:
// node bench/search/predict-sweep.ts [workload …]
import { existsSync, readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import type { PredictedSweep, SweepRow } from '../../scripts/results/priors-recording.ts';
import { packageVersion } from '../../src/app/package-version.ts';
import { openSession } from '../../src/app/session.ts';
import { loadProblemTarget } from '../../src/app/target.ts';
import { chooseWorkload } from '../../src/app/workload.ts';
import { makeCandidate } from '../../src/core/candidate.ts';

const DEVICE = 'virtual:h200';
const ROOT = new URL('../../', import.meta.url);
const OUTPUT = fileURLToPath(new URL('docs/results/attention-sweep-predicted.json', ROOT));
const SWEEP = new URL('docs/results/attention-notebook-sweep.json', ROOT);
/** The sweep's workloads by their names there. */
const WORKLOADS: Readonly<Record<string, string>> = {
  b1h1s128: 'B=1,H=1,S=128,D=64',
  b1h8s512: 'B=1,H=8,S=512,D=64',
};

const { positionals } = parseArgs({ allowPositionals: true });
const { rows } = JSON.parse(readFileSync(SWEEP, 'utf8')) as { rows: SweepRow[] };
const { problem, rungs } = await loadProblemTarget(fileURLToPath(new URL('problems/attention', ROOT)));
await using session = await openSession({ device: DEVICE, threads: 1 });
let predicted = existsSync(OUTPUT) ? (JSON.parse(readFileSync(OUTPUT, 'utf8')) as PredictedSweep).rows : [];
for (const name of positionals.length > 0 ? positionals : Object.keys(WORKLOADS)) {
  const workload = chooseWorkload(problem.file, WORKLOADS[name]);
  for (const [kernel, parameters] of rows.filter(([, , , , workload]) => workload === name)) {
    const setting = JSON.stringify([kernel, parameters, name]);
    if (predicted.some((row) => JSON.stringify(row.slice(0, 3)) === setting)) continue;
    const rung = rungs.find(({ file }) => file.name === kernel)!;
    const candidate = makeCandidate(rung, parameters);
    const time = await session.evaluator.estimate!({ problem, candidate, workload, seed: 1 });
    predicted = [...predicted, [kernel, parameters, name, time.ok ? Number(time.ns.toPrecision(5)) : null]];
    const recording: PredictedSweep = {
      schemaVersion: 1,
      device: DEVICE,
      date: new Date().toISOString().slice(0, 10),
      warpsmith: packageVersion(),
      columns: ['kernel', 'parameters', 'workload', 'predictedNs'],
      rows: predicted,
    };
    await writeFile(OUTPUT, `${JSON.stringify(recording)}\n`);
    process.stdout.write(`${name} ${kernel} ${time.ok ? time.ns : time.reason}\n`);
  }
}

/**
 * Judges the rungs of the bundled problems thoroughly, again and again, with ever new seeds: whatever does not pass is a false alarm.
 *
 *     node bench/referee/honest-rungs.ts [--output docs/results/honest-rungs.json] [--rounds 1] [--device virtual:h200] [PROBLEM…]
 */
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import type { HonestRungsRecording } from '../../scripts/results/referee-recordings.ts';
import { loadProblem } from '../../src/app/loading/load-problem.ts';
import { openSession } from '../../src/app/session.ts';
import { measuredWith } from '../measuring/open-bench.ts';
import { openRecording } from '../recording-file.ts';
import { judgeThoroughly } from './judge-thoroughly.ts';
import { recordedVerdict } from './recorded-verdict.ts';

// What is recorded here is found here.
process.env.WARPSMITH_REPEATS = 'off';

const PROBLEMS = ['attention', 'gemm', 'histogram', 'layernorm', 'reduction', 'scan', 'softmax', 'transpose'];

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    output: { type: 'string', default: 'docs/results/honest-rungs.json' },
    rounds: { type: 'string', default: '1' },
    device: { type: 'string', default: 'virtual:h200' },
  },
});
const { output, rounds, device } = values;

await using session = await openSession({ device });
const { recording, save } = await openRecording<HonestRungsRecording>(output, () => ({
  schemaVersion: 1,
  ...measuredWith(session),
  evaluations: [],
}));
const { evaluations } = recording;
for (let round = 1; round <= Number(rounds); round++)
  for (const name of positionals.length > 0 ? positionals : PROBLEMS) {
    const folder = join(import.meta.dirname, '../../problems', name);
    for (const rung of (await loadProblem(folder)).file.rungs ?? []) {
      const kernel = `${name}/${rung}`;
      if (evaluations.filter((one) => one.kernel === kernel).length >= round) continue;
      const { seed, evaluation } = await judgeThoroughly(session, device, join(folder, rung));
      const totalMs = Math.round(evaluation.elapsedMs.total);
      evaluations.push({ kernel, seed, ...recordedVerdict(evaluation), totalMs });
      await save();
      const { status, reason = '' } = evaluation;
      process.stderr.write(`${kernel}, seed ${seed}: ${status} ${reason} ${totalMs} ms\n`);
    }
  }
const alarms = evaluations.filter(({ status }) => status !== 'passed');
process.stdout.write(`${alarms.length} alarms in ${evaluations.length} evaluations\n`);

/**
 * Kills runs at random moments (SIGKILL) and resumes them until they are finished, then compares each with the same run
 * left alone.
 *
 *     node bench/soak/kill.ts [--count 100] [--seed 1] [--output docs/results/soak.json]
 */
import { parseArgs } from 'node:util';
import { mulberry32 } from '../../src/stats/random.ts';
import { type KilledRun, killRun } from './kill-runs.ts';
import { saveSoak } from './save-soak.ts';
import { SCENARIOS } from './scenarios.ts';

const EVALUATIONS = 40;
const PAUSE_MS = 10;
const KILLS_PER_RUN = 8;

const { values } = parseArgs({
  options: {
    count: { type: 'string', default: '100' },
    seed: { type: 'string', default: '1' },
    output: { type: 'string' },
  },
});
const count = Number(values.count);
const random = mulberry32(Number(values.seed));
const runs: KilledRun[] = [];
const kills = () => runs.reduce((sum, run) => sum + run.kills, 0);
const names = Object.keys(SCENARIOS);
while (kills() < count) {
  const run = await killRun({
    scenario: names[runs.length % names.length]!,
    evaluations: EVALUATIONS,
    pauseMs: PAUSE_MS,
    kills: Math.min(KILLS_PER_RUN, count - kills()),
    random,
  });
  runs.push(run);
  const verdict = run.problems.length === 0 ? 'as if nothing had been' : run.problems.join('; ');
  process.stderr.write(
    `${run.scenario}: ${run.kills} kills, ${run.evaluations} evaluations logged, ${run.begun} begun: ${verdict}\n`,
  );
}
const bad = runs.filter(({ problems }) => problems.length > 0);
const sum = (field: 'kills' | 'evaluations' | 'begun') => runs.reduce((total, run) => total + run[field], 0);
const summary = {
  seed: Number(values.seed),
  kills: sum('kills'),
  runs: runs.length,
  scenarios: names,
  evaluations: sum('evaluations'),
  begun: sum('begun'),
  runsThatDiffer: bad.length,
  problems: bad.flatMap(({ scenario, problems }) => problems.map((problem) => `${scenario}: ${problem}`)),
};
if (values.output !== undefined) saveSoak(values.output, { kill: summary });
process.stdout.write(`${JSON.stringify(summary, undefined, 1)}\n`);
process.exitCode = bad.length === 0 ? 0 : 1;

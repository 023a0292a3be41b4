/**
 * What the checker costs: processor time of a kernel's launches with races looked for, beside the same without, in alternating
 * runs of one process. Prints a line for each kernel.
 *
 *     node bench/virtual-gpu/checker.ts [--runs 7] [--output docs/results/checker.json]
 *       [--workload B=1,H=2,S=256,D=64,causal=0] [kernel folder …]   else every kernel of problems/
 */
import { parseArgs } from 'node:util';
import type { CheckerRecording } from '../../scripts/results/virtual-gpu-speed.ts';
import { measureRungs, medianMs, openIfWanted, rounded } from './measure-rungs.ts';
import { rungFolders } from './rungs.ts';

const { values, positionals } = parseArgs({
  options: { runs: { type: 'string', default: '7' }, workload: { type: 'string' }, output: { type: 'string' } },
  allowPositionals: true,
});
const runs = Number(values.runs);
const LIMIT_MS = 120_000;

const open = await openIfWanted<CheckerRecording>(values.output, { schemaVersion: 1, date: '', runs, kernels: [] });
const folders = positionals.length > 0 ? positionals : rungFolders();
await measureRungs(
  folders.map((folder) => [folder, values.workload]),
  open,
  async ({ rung, launch }) => {
    const { plain, checked } = await medianMs(runs, ['plain', 'checked'], (name) =>
      launch({ name, count: false, findsRaces: name === 'checked', timeoutMs: LIMIT_MS }),
    );
    return {
      ...{ kernel: rung.folder, workload: rung.workload },
      ...{ plainMs: rounded(plain), checkedMs: rounded(checked), ratio: rounded(checked / plain) },
    };
  },
);

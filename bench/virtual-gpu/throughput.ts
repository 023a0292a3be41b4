/**
 * Speed of the virtual GPU on attention's kernels: executing, and executing with counters, in alternating runs of one process.
 * Prints a line for each kernel: FLOP that the problem asks for, per second of processor time.
 *
 *     node bench/virtual-gpu/throughput.ts [--runs 5] [--output docs/results/attention-throughput.json] [kernel folder …]
 */
import { parseArgs } from 'node:util';
import type { AttentionThroughput } from '../../scripts/results/attention-throughput.ts';
import { evaluateExpression } from '../../src/core/expressions/evaluate.ts';
import { measureRungs, medianMs, openIfWanted, rounded } from './measure-rungs.ts';

const { values, positionals } = parseArgs({
  options: { runs: { type: 'string', default: '5' }, output: { type: 'string' } },
  allowPositionals: true,
});
const WORKLOAD = 'B=1,H=1,S=1024,D=64,causal=0';
const RUNGS = [
  ...['01_minimal', '03_rows', '04_warp', '05_mma', '06_ldmatrix', '07_cp_async', '08_key_split', '09_lean'],
  ...['10_wgmma', '11_sums_first'],
].map((rung) => `problems/attention/${rung}`);
const runs = Number(values.runs);

const open = await openIfWanted<AttentionThroughput>(values.output, {
  schemaVersion: 1,
  date: '',
  workload: WORKLOAD,
  runs,
  kernels: [],
});
const folders = positionals.length > 0 ? positionals : RUNGS;
await measureRungs(
  folders.map((folder) => [folder, WORKLOAD]),
  open,
  async ({ rung, device, dimensions, launch }) => {
    const { plain, counted } = await medianMs(runs, ['plain', 'counted'], (name) =>
      launch({ name, count: name === 'counted' }),
    );
    const flop = evaluateExpression(rung.problem.file.flop, dimensions);
    return {
      kernel: rung.folder,
      device: device.identity.id,
      plainMs: rounded(plain),
      countedMs: rounded(counted),
      gigaflopPerProcessorSecond: rounded(flop / plain / 1e6),
    };
  },
);

// Writes a dispatch table of attention kernels for the checks of on_gpu.py: node write-table.ts FOLDER
// Its times are 0: nothing was judged for it. It holds a kernel of every kind: one launch, two with workspaces, tensor maps.
import { join, resolve } from 'node:path';
import { loadKernel } from '../../../src/app/loading/load-kernel.ts';
import { makeCandidate } from '../../../src/core/candidate.ts';
import type { Candidate, ParameterValues } from '../../../src/core/kernel.ts';
import { completeDimensions } from '../../../src/core/plan/dimensions.ts';
import { dispatchTable } from '../../../src/handover/dispatch-table.ts';
import { writeDispatch } from '../../../src/handover/write-dispatch.ts';
import { writeFolder } from '../../../src/store/write-folder.ts';

const attention = new URL('../../../problems/attention/', import.meta.url).pathname;
const folder = resolve(process.argv[2]!);
const { problem } = await loadKernel(join(attention, '01_minimal'));
const candidate = async (rung: string, parameters: ParameterValues = {}): Promise<Candidate> =>
  makeCandidate((await loadKernel(join(attention, rung), { problem })).kernel, parameters);

const [lean, hopper, decode] = await Promise.all([
  candidate('09_lean'),
  candidate('11_sums_first'),
  candidate('12_decode'),
]);
const rows: readonly (readonly [workload: string, candidate: Candidate])[] = [
  ['b1h1s32d64', lean],
  ['b1h1s128d64-causal', lean],
  ['b1h8s512d64', lean],
  ['b16h16s1024d64', hopper],
  ['b4h16s4096d64-causal', hopper],
  ['b16h16s1024d128', hopper],
  ['b4h16s4096d128-causal', hopper],
  ['decode-b1h32-8s8192d128', decode],
  ['decode-b1h8s4096d64', decode],
];
const table = dispatchTable({
  problem: problem.file,
  device: { id: 'cuda:0', name: 'a GPU that judged nothing' },
  fallback: lean,
  winners: rows.map(([workload, chosen]) => {
    const { dimensions } = problem.file.workloads.find(({ name }) => name === workload)!;
    return {
      workload: { name: workload, dimensions: completeDimensions(problem.file.dimensions, dimensions) },
      candidate: chosen,
      timing: { kind: 'predicted', medianNs: 0 },
      seed: 0,
    };
  }),
});
const candidates = new Map([lean, hopper, decode].map((one) => [one.id, one]));
writeFolder(folder, writeDispatch(table, { problem: problem.file, candidates, folder, version: 'test' }), {
  option: 'FOLDER',
  earlier: () => [],
});

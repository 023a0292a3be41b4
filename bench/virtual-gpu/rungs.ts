/** The kernels of problems/, each with a workload that takes the virtual GPU some hundredths of a second. */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { loadKernel } from '../../src/app/loading/load-kernel.ts';
import type { Kernel } from '../../src/core/kernel.ts';
import type { Problem } from '../../src/core/problem.ts';

const PROBLEMS = ['attention', 'gemm', 'histogram', 'layernorm', 'reduction', 'scan', 'softmax', 'transpose'];

const WORKLOADS: Readonly<Record<string, string>> = {
  attention: 'B=1,H=2,S=256,D=64,causal=0',
  gemm: 'M=256,N=256,K=128',
  'gemm-f16': 'M=256,N=256,K=128',
  histogram: 'N=262144,BINS=256,spread=100',
  layernorm: 'R=64,N=2048',
  reduction: 'N=1048576',
  scan: 'N=262144',
  softmax: 'R=64,N=2048',
  transpose: 'M=512,N=1024',
};
/** Kernels for one query, a few queries, heads that share keys, or few keys, take no other, or are made for these. */
const OF_RUNGS: readonly (readonly [rung: RegExp, workload: string])[] = [
  [/attention\/1[2-6]_decode/, 'B=1,H=8,S=1,Skv=2048,D=64,causal=0'],
  [/attention\/2[0-2]_/, 'B=1,H=8,S=4,Skv=2048,D=64,causal=0'],
  [/attention\/24_/, 'B=1,H=8,S=256,Skv=77,D=64,causal=0'],
  [/attention\/26_/, 'B=1,H=8,Hkv=1,S=4,Skv=2048,D=64,causal=0'],
  [/attention\/27_/, 'B=1,H=16,S=128,D=64,causal=1'],
];

/** A kernel that is measured. */
export interface Rung {
  /** Its folder. */
  readonly folder: string;
  readonly workload: string;
  readonly kernel: Kernel;
  readonly problem: Problem;
  /** The device that it is written for. */
  readonly device: 'virtual:l4' | 'virtual:h200';
}

/** Folders of all kernels that warpsmith ships, in the order of their ladders. */
export const rungFolders = (): string[] =>
  PROBLEMS.flatMap((problem) =>
    readdirSync(join('problems', problem))
      .filter((name) => /^\d\d_/.test(name))
      .sort()
      .map((name) => `problems/${problem}/${name}`),
  );

/** @param workload instead of that of the problem. */
export async function loadRung(folder: string, workload?: string): Promise<Rung> {
  const { kernel, problem } = await loadKernel(folder);
  const own = OF_RUNGS.find(([rung]) => rung.test(folder))?.[1] ?? WORKLOADS[problem.file.name];
  const usual = workload ?? own;
  if (usual === undefined)
    throw new Error(`${folder}: give a --workload, there is none for problem ${problem.file.name}`);
  const isForHopper = kernel.file.source.architectures?.every((name) => name.startsWith('sm_9')) ?? false;
  return { folder, workload: usual, kernel, problem, device: isForHopper ? 'virtual:h200' : 'virtual:l4' };
}

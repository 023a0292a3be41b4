import { readFileSync } from 'node:fs';
import type { CompiledCode } from '../../../../src/core/compiled-code.ts';
import type { LaunchPlan, PlannedLaunch } from '../../../../src/core/launch-plan.ts';

/** Text of an excerpt of what ncu printed. */
export const sample = (name: string): string => readFileSync(new URL(`./fixtures/${name}`, import.meta.url), 'utf8');

/** The same table for two launches: every row again for `combine`, with the next number. */
export function forTwoLaunches(table: string): string {
  const rows = table.split('\n').filter((line) => line.startsWith('"0",'));
  const second = rows.map((row) => row.replace('"0"', '"1"').replace(ATTENTION, COMBINE));
  return `${table}${second.join('\n')}\n`;
}

const ATTENTION = '_Z9attentionILi64EEvPK6__halfS2_S2_PS0_iif';
const COMBINE = '_Z7combinePf';

const launch = (functionName: string, x: number, y: number, threads: number): PlannedLaunch => ({
  kind: 'launch',
  functionName,
  grid: [x, y, 1],
  block: [threads, 1, 1],
  dynamicSharedBytes: 0,
  cooperative: false,
  programmaticDependent: false,
  arguments: [
    { kind: 'buffer', buffer: 'Q', offsetBytes: 0 },
    { kind: 'buffer', buffer: 'O', offsetBytes: 0 },
  ],
});

const buffer = { dtype: 'f16', shape: [4096], strides: [1], bytes: 8192, alignmentBytes: 16 } as const;

/** A sequence of the launch that the excerpts are of and of another. */
export const PLAN: LaunchPlan = {
  buffers: [
    { ...buffer, name: 'Q', role: 'in' },
    { ...buffer, name: 'O', role: 'out' },
  ],
  steps: [
    launch('attention<64>', 16, 8, 128),
    { kind: 'memset', buffer: 'O', byteValue: 0 },
    launch('combine', 4, 1, 32),
  ],
};

export const CODE: CompiledCode = {
  kind: 'cubin',
  text: '',
  architecture: 'sm_90a',
  compiler: { name: 'nvcc', version: '13.0' },
  functionSymbols: { 'attention<64>': ATTENTION, combine: COMBINE },
  key: 'k',
  diagnostics: [],
};

import { readFileSync } from 'node:fs';
import type { CompiledCode } from '../../../src/core/compiled-code.ts';
import type { LaunchPlan, PlannedLaunch } from '../../../src/core/launch-plan.ts';

/** Text of a format sample. */
export const sample = (name: string): string => readFileSync(new URL(`./fixtures/${name}`, import.meta.url), 'utf8');

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

/** The sequence that the samples profile. */
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
  functionSymbols: { 'attention<64>': '_Z9attentionILi64EEvPK6__half', combine: '_Z7combinePf' },
  key: 'k',
  diagnostics: [],
};

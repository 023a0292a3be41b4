import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { GatedKernel, GatedWorkload, GateView } from '../../src/reports/documents/gate.ts';
import { sarifOf } from '../../src/reports/sarif.ts';

/** The parts of the standard's schema that a log of warpsmith uses, with their required fields and closed sets of names. */
const schema = z.fromJSONSchema(
  JSON.parse(readFileSync(join(import.meta.dirname, 'fixtures/sarif-2.1.0.schema.json'), 'utf8')),
);

const FINDING = {
  id: 'bank-conflicts',
  title: 'bank conflicts: 4 wavefronts',
  estimatedSpeedup: 1.4,
  arithmetic: '',
  advice: 'Pad the rows.',
  evidence: [
    { counter: 'c', value: 4, threshold: 1, comparison: 'above', where: 'scale (cuda_fp16.h:7)' },
    { counter: 'd', value: 4, threshold: 1, comparison: 'above', where: 'scale (tile #1.cuh:12): 3 of 4' },
  ],
} as const satisfies GatedWorkload['findings'][number];

const row = (more: Partial<GatedWorkload> = {}): GatedWorkload => ({
  ...{ workload: 'n256', dimensions: { N: 256 }, outcome: 'passes', before: { status: 'passed' } },
  ...{ after: { status: 'passed' }, ratio: 1, changes: [], findings: [], findingsBefore: [], places: [] },
  ...more,
});

const kernel = (...workloads: GatedWorkload[]): GatedKernel => ({
  ...{ kernel: 'my kernels/01', change: 'changed', workloads },
  files: ['my kernels/01/kernel.cu', 'my kernels/01/tile #1.cuh'],
});

// biome-ignore lint/suspicious/noExplicitAny: JSON, checked by the schema and by the assertions on it.
type Log = any;

function logOf(...kernels: GatedKernel[]): Log {
  const log = JSON.parse(JSON.stringify(sarifOf({ kernels } as unknown as GateView, '0.1.0')));
  expect(schema.safeParse(log).error?.issues ?? []).toEqual([]);
  return log;
}

const resultsOf = (...workloads: GatedWorkload[]): Log[] => logOf(kernel(...workloads)).runs[0].results;

describe('SARIF of a gate', () => {
  it('of nothing is a run without results', () => {
    expect(logOf().runs[0]).toMatchObject({ results: [], tool: { driver: { name: 'warpsmith', rules: [] } } });
  });

  it('says where a finding is, in a file of the kernel, and whether the base had it', () => {
    const [found] = resultsOf(row({ findings: [FINDING] }));
    expect(found).toMatchObject({ ruleId: 'bank-conflicts', level: 'warning', baselineState: 'new' });
    expect(found.locations[0].physicalLocation).toEqual({
      artifactLocation: { uri: 'my%20kernels/01/tile%20%231.cuh', uriBaseId: '%SRCROOT%' },
      region: { startLine: 12 },
    });
    const [known] = resultsOf(row({ findings: [FINDING], findingsBefore: ['bank-conflicts'] }));
    expect(known).toMatchObject({ level: 'note', baselineState: 'unchanged' });
    const [alone] = resultsOf(row({ findings: [FINDING], before: null }));
    expect(alone.level).toBe('note');
    expect(alone).not.toHaveProperty('baselineState');
  });

  it('has an error for each refusal, at its places or at the kernel’s first file', () => {
    const places = [
      { file: 'kernel.cu', line: 3, column: 5, message: 'no such name' },
      { file: 'kernel.cu', line: 9, message: 'another' },
    ];
    const results = resultsOf(
      row({ outcome: 'wrong', why: 'compile-failed', places }),
      row({ workload: 'n512', outcome: 'slower', why: '5 % slower' }),
      row({ workload: 'n1024', outcome: 'not-judged', why: 'unsupported' }),
    );
    const shown = results.map(({ ruleId, level, message, locations: [{ physicalLocation }] }) => {
      const { startLine, startColumn = 0 } = physicalLocation.region;
      return `${level} ${ruleId} ${startLine}:${startColumn} ${message.text}`;
    });
    expect(shown).toEqual([
      'error gate/wrong 3:5 my kernels/01, n256: no such name',
      'error gate/wrong 9:0 my kernels/01, n256: another',
      'error gate/slower 1:0 my kernels/01, n512: 5 % slower',
    ]);
  });

  it('names each rule once, and each result by its rule', () => {
    const log = logOf(
      kernel(row({ findings: [FINDING], outcome: 'slower' }), row({ workload: 'n512', findings: [FINDING] })),
      { ...kernel(), error: { status: 'invalid', message: 'no such dimension', path: 'steps[0].grid[1]' } },
    );
    const [{ results, tool }] = log.runs;
    const ids = tool.driver.rules.map(({ id }: Log) => id);
    expect(ids).toEqual(['gate/slower', 'bank-conflicts', 'gate/invalid']);
    for (const { ruleId, ruleIndex } of results) expect(ids[ruleIndex]).toBe(ruleId);
  });

  it('would be refused by the schema otherwise', () => {
    const log = logOf(kernel(row({ findings: [FINDING] })));
    const spoilt = (change: (log: Log) => void): boolean => {
      const copy = structuredClone(log);
      change(copy);
      return schema.safeParse(copy).success;
    };
    expect(spoilt(() => {})).toBe(true);
    expect(spoilt(({ runs: [run] }) => delete run.tool)).toBe(false);
    expect(spoilt(({ runs: [run] }) => delete run.results[0].message)).toBe(false);
    expect(spoilt(({ runs: [run] }) => (run.results[0].level = 'bad'))).toBe(false);
    expect(spoilt(({ runs: [run] }) => (run.results[0].file = 'x'))).toBe(false);
    expect(spoilt(({ runs: [run] }) => (run.results[0].locations[0].physicalLocation.region.startLine = 0))).toBe(
      false,
    );
  });
});

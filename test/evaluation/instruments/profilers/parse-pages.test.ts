import { describe, expect, it } from 'vitest';
import { parseCsv, parseNumber } from '../../../../src/evaluation/instruments/profilers/csv.ts';
import {
  findingsFromRules,
  reportedRules,
} from '../../../../src/evaluation/instruments/profilers/findings-from-rules.ts';
import { parseDetailsPage } from '../../../../src/evaluation/instruments/profilers/parse-details-page.ts';
import { parseSourcePage } from '../../../../src/evaluation/instruments/profilers/parse-source-page.ts';
import { forTwoLaunches, sample } from './fixtures.ts';

describe('parseCsv', () => {
  it.each([
    [
      'a,b\nc,d\n',
      [
        ['a', 'b'],
        ['c', 'd'],
      ],
    ],
    [
      '"a,""b""",\r\n"line\nbreak",x',
      [
        ['a,"b"', ''],
        ['line\nbreak', 'x'],
      ],
    ],
    ['a,', [['a', '']]],
    ['', []],
    ['"open', [['']]],
  ])('%j', (text, rows) => expect(parseCsv(text)).toEqual(rows));

  it.each([
    ['1,587,456', 1587456],
    ['26.34', 26.34],
    ['-3e2', -300],
    ['n/a', undefined],
    ['', undefined],
    ['(16, 8, 1)', undefined],
    ['CachePreferNone', undefined],
  ])('reads %j as %j', (text, number) => expect(parseNumber(text)).toBe(number));
});

const OPCODES = 'sass__inst_executed_per_opcode_with_modifier_all';

describe('parseDetailsPage', () => {
  const { launches, rules } = parseDetailsPage(sample('details-page.csv'));
  const [launch] = launches;
  const ruleOf = (id: string) => rules.find((rule) => rule.id === id)!;

  it('finds the metrics that were asked for, by name and with units', () => {
    expect(launches).toHaveLength(1);
    expect(launch!.kernelName).toBe('_Z9attentionILi64EEvPK6__halfS2_S2_PS0_iif');
    expect(launch!.metrics['l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum']).toEqual({
      value: 540672,
      unit: 'sector',
    });
    expect(launch!.metrics['gpu__time_duration.sum']).toEqual({ value: 35392, unit: 'ns' });
    expect(launch!.unavailable).toEqual([]);
  });

  it('finds the sections’ own figures, without words', () => {
    expect(launch!.metrics['Launch Statistics: Registers Per Thread']).toEqual({ value: 96, unit: 'register/thread' });
    expect(launch!.metrics['Occupancy: Achieved Occupancy']).toEqual({ value: 6.25, unit: '%' });
    expect(launch!.metrics).not.toHaveProperty('Launch Statistics: Function Cache Configuration');
  });

  it('reads values by instance', () => {
    const opcodes = launch!.instances[OPCODES]!;
    expect(opcodes.get('FFMA')).toBe(8429568);
    expect(opcodes.get('LDG.E.128.CONSTANT')).toBe(33792);
    expect([...opcodes.values()].reduce((a, b) => a + b)).toBe(14384128);
    expect(launch!.metrics[OPCODES]!.value).toBe(14384128);
  });

  it('says which metrics have no value', () => {
    const text = sample('details-page.csv').replace(
      '"dram__bytes_read.sum","byte","256"',
      '"dram__bytes_read.sum","","n/a"',
    );
    expect(parseDetailsPage(text).launches[0]!.unavailable).toEqual(['dram__bytes_read.sum']);
  });

  it('finds the rules, without complaints about metrics that nobody asked for', () =>
    expect(rules.map(({ id, launchIndex, kind }) => [id, launchIndex, kind])).toEqual([
      ['SOLBottleneck', 0, 'OPT'],
      ['LaunchConfiguration', 0, 'OPT'],
      ['AchievedOccupancy', 0, 'OPT'],
      ['HighPipeUtilization', 0, 'INF'],
      ['MemoryCacheAccessPattern', 0, 'OPT'],
      ['TheoreticalOccupancy', 0, 'OPT'],
      ['UncoalescedSharedAccess', 0, 'OPT'],
    ]));

  it('tells launches apart', () => {
    const page = parseDetailsPage(forTwoLaunches(sample('details-page.csv')));
    expect(page.launches.map(({ kernelName }) => kernelName)).toEqual([launch!.kernelName, '_Z7combinePf']);
    expect(page.rules.filter(({ launchIndex }) => launchIndex === 1)).toHaveLength(rules.length);
  });

  it('keeps the estimate with what it is a share of, and its absence', () => {
    expect(ruleOf('LaunchConfiguration')).toMatchObject({ estimatedSpeedupPercent: 3.03, estimateScope: 'launch' });
    expect(ruleOf('AchievedOccupancy')).toMatchObject({ estimatedSpeedupPercent: 80.01, estimateScope: 'unit' });
    expect(ruleOf('SOLBottleneck')).not.toHaveProperty('estimatedSpeedupPercent');
  });

  it('keeps what the rule says and leaves out where to read on', () => {
    const { message } = ruleOf('LaunchConfiguration');
    expect(message).toMatch(/^The grid for this launch is configured to execute only 128 blocks, .* resources\.$/);
    expect(message).not.toContain('https://');
  });

  it('names a rule in words', () => {
    expect(ruleOf('UncoalescedSharedAccess').title).toBe('uncoalesced shared access');
    expect(ruleOf('SOLBottleneck').title).toBe('what the launch is bound by');
  });

  it('finds nothing in other text', () => expect(parseDetailsPage('==ERROR==')).toEqual({ launches: [], rules: [] }));
});

describe('findingsFromRules', () => {
  const { rules } = parseDetailsPage(sample('details-page.csv'));
  const found = findingsFromRules(rules, () => 'attention<64>');

  it('are the rules that estimate a share of the time, the largest first', () => {
    const speedups = found.map(({ id, estimatedSpeedup }) => [id, Number(estimatedSpeedup.toFixed(3))]);
    expect(speedups).toEqual([
      ['ncu/TheoreticalOccupancy', 2.276],
      ['ncu/MemoryCacheAccessPattern', 1.215],
      ['ncu/LaunchConfiguration', 1.031],
    ]);
  });

  it('say it in the rule’s own words, each with its estimate as evidence', () => {
    expect(found[2]!.title).toBe(
      "attention<64>: The grid for this launch is configured to execute only 128 blocks, which is less than the GPU's " +
        '132 multiprocessors',
    );
    expect(found[2]!.advice).toMatch(/^This can underutilize some multiprocessors\. .* hardware resources\.$/);
    expect(found[2]!.arithmetic).toBe('ncu estimates 3.03 % of the launch’s time: 1 ÷ (1 − 0.0303) = 1.031×');
    for (const { evidence } of found) expect(evidence).toHaveLength(1);
  });

  it('are told once for a function that is launched several times', () => {
    const twice = rules.map((rule) => ({ ...rule, launchIndex: 1, estimatedSpeedupPercent: 5 }));
    const ids = findingsFromRules([...rules, ...twice], () => 'f').map(({ id }) => id);
    expect(ids).toEqual([...new Set(ids)]);
    expect(reportedRules([...rules, ...twice], () => 'f')).toHaveLength(rules.length);
    expect(findingsFromRules([...rules, ...twice], String).length).toBeGreaterThan(found.length);
  });
});

describe('parseSourcePage', () => {
  const lines = parseSourcePage(sample('source-page.csv'));
  const at = (line: number) => lines.find(({ location }) => location.line === line)!;

  it('sums the machine instructions of each source line, each of them once', () => {
    // The LDC.64 of an inlined load are listed under its line 67 and under its call at 89.
    expect(lines.map(({ location, instructions }) => [location.file, location.line, instructions])).toEqual([
      ['kernel.cu', 46, 2 * 4096],
      ['kernel.cu', 67, 2 * 1024 + 9 * 4096 + 2 * 32768],
      ['kernel.cu', 72, 2 * 4096 + 2 * 512],
      ['kernel.cu', 89, 2 * 4096],
    ]);
    expect(at(46).threadInstructions).toBe(32 * at(46).instructions);
  });

  it('tells kinds of access by opcode', () => {
    expect(at(67)).toMatchObject({
      globalLoadRequests: 5120,
      globalLoadSectors: 81920,
      sharedLoadRequests: 65536,
      sharedLoadWavefronts: 262144,
      globalStoreRequests: 0,
    });
    expect(at(72)).toMatchObject({
      globalStoreRequests: 1024,
      globalStoreSectors: 4096,
      sharedStoreRequests: 8192,
      sharedStoreWavefronts: 32768,
      bankConflicts: 0,
    });
  });

  it('finds nothing where there are no lines', () => expect(parseSourcePage('"Kernel Name","k"\n')).toEqual([]));
});

import { describe, expect, it } from 'vitest';
import { parseCsv, parseNumber } from '../../../src/evaluation/profilers/csv.ts';
import { parseDetailsPage } from '../../../src/evaluation/profilers/parse-details-page.ts';
import { parseRawPage } from '../../../src/evaluation/profilers/parse-raw-page.ts';
import { parseSourcePage } from '../../../src/evaluation/profilers/parse-source-page.ts';
import { sample } from './fixtures.ts';

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

describe('parseRawPage', () => {
  const launches = parseRawPage(sample('raw-page.csv'));

  it('finds every launch, with its metrics and their units', () => {
    expect(launches.map(({ kernelName }) => kernelName)).toEqual(['_Z9attentionILi64EEvPK6__half', '_Z7combinePf']);
    expect(launches[0]).toMatchObject({ grid: '(16, 8, 1)', block: '(128, 1, 1)' });
    expect(launches[0]!.metrics['dram__bytes_read.sum']).toEqual({ value: 1587456, unit: 'byte' });
    expect(launches[0]!.metrics['gpu__time_duration.sum']).toEqual({ value: 719392, unit: 'ns' });
  });

  it('keeps words and facts of the device out of the metrics', () => {
    expect(launches[0]!.metrics).not.toHaveProperty('launch__func_cache_config');
    expect(launches[0]!.metrics).not.toHaveProperty('device__attribute_display_name');
  });

  it('reads the instances of a metric', () => {
    const opcodes = launches[0]!.instances.sass__inst_executed_per_opcode_with_modifier_all!;
    expect(opcodes.get('FFMA')).toBe(8000);
    expect(opcodes.get('LDG.E.128.CONSTANT')).toBe(1000);
    expect(launches[0]!.metrics.sass__inst_executed_per_opcode_with_modifier_all).toEqual({
      value: 20000,
      unit: 'inst',
    });
  });

  it('says which metrics have no value', () => {
    expect(launches[0]!.unavailable).toEqual([]);
    expect(launches[1]!.unavailable).toEqual(['dram__bytes_read.sum']);
  });

  it.each(['', 'no table here', '==ERROR== something', '"ID","Kernel Name"\n'])('finds nothing in %j', (text) =>
    expect(parseRawPage(text)).toEqual([]),
  );
});

describe('parseDetailsPage', () => {
  const rules = parseDetailsPage(sample('details-page.csv'));

  it('finds the rules of every launch and leaves the metrics', () => {
    expect(rules.map(({ id, launchIndex, kind }) => [id, launchIndex, kind])).toEqual([
      ['SOLBottleneck', 0, 'OPT'],
      ['CPIStall', 0, 'OPT'],
      ['UncoalescedSharedAccess', 0, 'OPT'],
      ['TheoreticalOccupancy', 0, 'INF'],
      ['LaunchConfiguration', 1, 'OPT'],
    ]);
  });

  it('keeps the estimate with its scope, and its absence', () => {
    expect(rules[1]).toMatchObject({ estimatedSpeedupPercent: 60, speedupScope: 'global' });
    expect(rules[2]).toMatchObject({ estimatedSpeedupPercent: 34.74, speedupScope: 'local' });
    expect(rules[0]).not.toHaveProperty('estimatedSpeedupPercent');
  });

  it('puts the message on one line', () =>
    expect(rules[0]!.message).toBe(
      'This workload exhibits low compute throughput and memory bandwidth utilization, typically a sign of latency ' +
        'issues. Look at "Warp State Statistics".',
    ));

  it('names a rule in words', () => {
    expect(rules[2]!.title).toBe('uncoalesced shared access (SourceCounters)');
    expect(rules[0]!.title).toBe('SOLBottleneck (SpeedOfLight)');
  });

  it('finds nothing in other text', () => expect(parseDetailsPage('==ERROR==')).toEqual([]));
});

describe('parseSourcePage', () => {
  const lines = parseSourcePage(sample('source-page.csv'));

  it('sums the machine instructions of each source line, file by file', () => {
    expect(lines.map(({ location, instructions }) => [location.file, location.line, instructions])).toEqual([
      ['kernel.cu', 41, 1500],
      ['kernel.cu', 57, 2256],
      ['cuda_fp16.hpp', 2012, 500],
    ]);
  });

  it('tells kinds of access by opcode', () => {
    expect(lines[0]).toMatchObject({ globalLoadRequests: 1000, globalLoadSectors: 16000, sharedLoadRequests: 0 });
    expect(lines[1]).toMatchObject({
      sharedLoadRequests: 2000,
      sharedLoadWavefronts: 4300,
      bankConflicts: 300,
      barriers: 256,
      divergentBranches: 3,
      threadInstructions: 70000,
    });
    expect(lines[2]).toMatchObject({ globalStoreRequests: 500, globalStoreSectors: 2000 });
  });

  it('finds nothing where there are no lines', () => expect(parseSourcePage('"Kernel Name","k"\n')).toEqual([]));
});

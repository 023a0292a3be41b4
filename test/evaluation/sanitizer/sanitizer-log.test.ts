import { describe, expect, it } from 'vitest';
import { describeRecord } from '../../../src/evaluation/sanitizer/describe-record.ts';
import { parseSanitizerLog } from '../../../src/evaluation/sanitizer/sanitizer-log.ts';
import { PLAN } from '../profilers/fixtures.ts';
import * as logs from './fixtures.ts';

const OUT = { ...PLAN.buffers[1]!, name: 'O', bytes: 240 };
const plans = [{ ...PLAN, buffers: [PLAN.buffers[0]!, OUT] }];
const described = (log: string): string[] =>
  parseSanitizerLog(log).records.map((record) => describeRecord(record, plans));

describe('parseSanitizerLog', () => {
  it.each([
    ['CLEAN', logs.CLEAN, true, 0, 0],
    ['CLEAN_RACECHECK', logs.CLEAN_RACECHECK, true, 0, 0],
    ['MEMCHECK', logs.MEMCHECK, true, 1026, 2],
    ['OLD_MEMCHECK', logs.OLD_MEMCHECK, true, 1, 1],
    ['RACECHECK', logs.RACECHECK, true, 1, 1],
    ['INITCHECK', logs.INITCHECK, true, 60, 1],
    ['SYNCCHECK', logs.SYNCCHECK, true, 32, 1],
    ['NOT_STARTED', logs.NOT_STARTED, false, 0, 0],
  ] as const)('%s', (_, text, isComplete, errorCount, recordCount) => {
    const log = parseSanitizerLog(text);
    expect(log).toMatchObject({ isComplete, errorCount });
    expect(log.records).toHaveLength(recordCount);
  });

  it('counts warnings about hazards too', () => {
    const text = '========= RACECHECK SUMMARY: 3 hazards displayed (1 error, 2 warnings)\n';
    expect(parseSanitizerLog(text)).toMatchObject({ isComplete: true, errorCount: 3 });
  });

  it('takes what the tool says of itself for no complaint about the kernel', () =>
    expect(parseSanitizerLog(logs.NOT_STARTED).remarks).toEqual([
      'Error: Target application terminated before first instrumented API call',
      'Internal Sanitizer Error: Device not supported. Please refer to the "Supported Devices" section',
    ]));

  it.each(['', 'out: 3\n', '========= COMPUTE-SANITIZER\n', '=========\n=========     at f\n'])(
    'finds no end in %j',
    (text) => expect(parseSanitizerLog(text)).toEqual({ isComplete: false, errorCount: 0, records: [], remarks: [] }),
  );
});

describe('describeRecord', () => {
  it('says what, where, who, and which buffer where the size tells', () =>
    expect(described(logs.MEMCHECK)).toEqual([
      'Invalid __global__ write of size 4 bytes in void attention<(int)64>(const __half *, float *), kernel.cu:53, by ' +
        'thread (60,0,0) of CTA (3,0,0); address 0x7c5838a000f0 is out of bounds, 1 bytes after the nearest allocation ' +
        "at 0x7c5838a00000 of size 240 bytes (as large as 'O')",
      'Invalid __shared__ read of size 2 bytes in attention(float*), by thread (1,0,0) of CTA (0,0,0); address 0x403 is ' +
        'misaligned',
    ]));

  it('reads the older form', () =>
    expect(described(logs.OLD_MEMCHECK)[0]).toMatch(
      /^Invalid __global__ read of size 2 bytes in void add<\(bool\)1, __half>\(T2 \*, int\), kernel\.cu:162, by thread/,
    ));

  it.each([
    [
      logs.RACECHECK,
      'Race reported between Write access in race(float *, const float *), kernel.cu:9 and Read access in ' +
        'race(float *, const float *), kernel.cu:11 [4080 hazards]',
    ],
    [
      logs.INITCHECK,
      'Uninitialized __global__ memory read of size 4 bytes in uninitialised(float *, const float *), kernel.cu:14, by ' +
        'thread (31,0,0) of CTA (1,0,0); address 0x7f3c7ec000fc',
    ],
    [
      logs.SYNCCHECK,
      'Barrier error detected. Divergent thread(s) in block in parted_barrier(float *, const float *), kernel.cu:19, by ' +
        'thread (1,0,0) of CTA (0,0,0)',
    ],
  ])('%#', (log, text) => expect(described(log)).toEqual([text]));
});

import { describe, expect, it } from 'vitest';
import { describeRecord } from '../../../../src/evaluation/instruments/sanitizer/sanitize.ts';
import { parseSanitizerLog } from '../../../../src/evaluation/instruments/sanitizer/sanitizer-log.ts';
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
    ['MISALIGNED', logs.MISALIGNED, true, 12, 1],
    ['OLD_MEMCHECK', logs.OLD_MEMCHECK, true, 1, 1],
    ['RACECHECK', logs.RACECHECK, true, 1, 1],
    ['RACECHECK_WARNING', logs.RACECHECK_WARNING, true, 1, 1],
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
      'Invalid __global__ write of size 4 bytes in out_of_bounds, faulty.cu:3, by thread (60,0,0) of CTA (0,0,0); address ' +
        '0x7f1b54a000f0 is out of bounds, 1 bytes after the nearest allocation at 0x7f1b54a00000 of size 240 bytes ' +
        "(as large as 'O')",
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
      'Race reported between Write access in race, faulty.cu:7 and Read access in race, faulty.cu:8 [240 hazards]',
    ],
    [
      logs.RACECHECK_WARNING,
      'warning: Race reported between Read access in race, faulty.cu:7 and Write access in race, faulty.cu:8 [32 hazards]',
    ],
    [
      logs.MISALIGNED,
      'Invalid __global__ read of size 16 bytes in misaligned, faulty.cu:20, by thread (0,0,0) of CTA (0,0,0); address ' +
        '0x7fb0c0a00204 is misaligned, inside the nearest allocation at 0x7fb0c0a00200 of size 264 bytes',
    ],
    [
      logs.INITCHECK,
      'Uninitialized __global__ memory read of size 4 bytes in uninitialised, faulty.cu:11, by thread (0,0,0) of CTA ' +
        '(0,0,0); address 0x7f329aa00000',
    ],
    [
      logs.SYNCCHECK,
      'Barrier error detected. Divergent thread(s) in warp in parted_barrier, faulty.cu:16, by thread (0,0,0) of CTA (0,0,0)',
    ],
  ])('%#', (log, text) => expect(described(log)).toEqual([text]));
});

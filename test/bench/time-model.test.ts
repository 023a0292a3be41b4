import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { digestOf, openRecording } from '../../bench/recording-file.ts';
import { accuracyOf, predictAll, withinGroups } from '../../bench/time-model/accuracy.ts';
import { compileAhead, openCodeSource } from '../../bench/time-model/compiled-ahead.ts';
import { countSubject } from '../../bench/time-model/count-subject.ts';
import { fitConstants } from '../../bench/time-model/fit-constants.ts';
import { recordTimes } from '../../bench/time-model/record-times.ts';
import { readTimes, type TimedKernel, type TimeRecording } from '../../bench/time-model/recorded-times.ts';
import { corpusSubjects, keyOf, type Subject } from '../../bench/time-model/subjects.ts';
import { openDevice } from '../../src/devices/open-device.ts';
import { DEVICE_SPECS } from '../../src/hardware/device-specs.ts';
import { MACHINE_CODE } from '../../src/hardware/launch-model/constants.ts';
import { createClangToolchain } from '../../src/toolchains/clang.ts';
import { withMeasuring } from '../support/measuring-device.ts';
import { longTestOf } from '../support/sampling/long-tests.ts';

const SEQUENCE_NS = 4200;
const spec = DEVICE_SPECS.get('h200')!;
let folder: string;
let fixture: TimedKernel[];

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'warpsmith-times-'));
  fixture = await readTimes('test/fixtures/h200-attention-times.json');
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const begin = (): TimeRecording => ({
  schemaVersion: 1,
  device: 'a clock that the test sets',
  driver: 'none',
  compiler: 'clang',
  recordedAt: '',
  entries: {},
});

describe('recording times', () => {
  longTestOf(import.meta.filename)(
    'times each subject once, keeps why one failed, and goes on where it stopped',
    async () => {
      const file = join(folder, 'times.json');
      const device = withMeasuring(await openDevice('virtual:h200', { threads: 1 }), { sequenceNs: () => SEQUENCE_NS });
      const ahead = join(folder, 'compiled.json.gz');
      const [first, second] = corpusSubjects().filter(({ kernel }) =>
        /saxpy|transpose|argmax/.test(kernel),
      ) as Subject[];
      const broken: Subject = {
        ...first!,
        kernel: 'corpus/broken',
        compile: () => Promise.reject(new Error('no such file')),
      };
      expect(await compileAhead([first!, second!, broken], device, ahead)).toEqual(
        new Map([[keyOf(broken), 'no such file']]),
      );
      const code = await openCodeSource(device, ahead);
      await expect(
        openCodeSource({ ...device, spec: { ...device.spec, architecture: 'sm_89' } }, ahead),
      ).rejects.toThrow(/has code for sm_90a; this GPU is sm_89/);
      const record = async (subjects: readonly Subject[]): Promise<string[]> => {
        const timed: string[] = [];
        const open = await openRecording<TimeRecording>(file, begin);
        const onRecorded = ({ kernel }: { kernel: string }): unknown => timed.push(kernel);
        await recordTimes({ device, code, subjects, open, hasTime: () => true, onRecorded });
        return timed;
      };
      try {
        expect(await record([first!, broken])).toEqual([first!.kernel, 'corpus/broken']);
        expect(await record([first!, broken, second!])).toEqual([second!.kernel]);
      } finally {
        await device.close();
      }
      const { entries } = JSON.parse(await readFile(file, 'utf8')) as TimeRecording;
      expect(entries[keyOf(first!)]!.measuredNs).toBeCloseTo(SEQUENCE_NS, 6);
      expect(Object.values(entries[keyOf(first!)]!.registers)).toEqual([expect.any(Number)]);
      expect(entries[keyOf(broken)]).toMatchObject({ failure: 'no such file' });
      // Without counters there is nothing to predict.
      expect(await readTimes(file)).toEqual([]);
      const counted = { ...entries[keyOf(first!)]!, counters: fixture[0]!.counters };
      await writeFile(file, JSON.stringify({ ...begin(), entries: { [keyOf(first!)]: counted } }));
      expect(await readTimes(file)).toHaveLength(1);
    },
  );
});

describe('counting', () => {
  it('counts the code that was timed, and no other', async () => {
    const device = await openDevice('virtual:h200', { threads: 1 });
    const toolchain = await createClangToolchain();
    const [subject] = corpusSubjects().filter(({ kernel }) => /transpose/.test(kernel)) as [Subject];
    try {
      const { text } = await subject.compile(toolchain, device.spec.architecture);
      const { counters, memsetBytes } = await countSubject(device, toolchain, subject, digestOf(text));
      expect(memsetBytes).toEqual([]);
      expect(counters[0]!.globalStoreRequests).toBeGreaterThan(0);
      await expect(countSubject(device, toolchain, subject, digestOf('another'))).rejects.toThrow(
        'its PTX has changed',
      );
    } finally {
      await device.close();
    }
  });
});

describe('fitting', () => {
  it('finds the constants by which times were made', () => {
    const true_ = { ...MACHINE_CODE, independentArithmetic: 3, globalBytesInFlight: 12 };
    const made = predictAll(fixture, spec, true_).map((one) => ({ ...one, measuredNs: one.predictedNs }));
    const before = accuracyOf(predictAll(made, spec, MACHINE_CODE)).error;
    const after = accuracyOf(predictAll(made, spec, fitConstants(made, spec, MACHINE_CODE))).error;
    expect(before).toBeGreaterThan(1.05);
    expect(after - 1).toBeLessThan((before - 1) / 4);
  });

  it('ranks within one workload only, and says what choosing by prediction costs', () => {
    const [one] = predictAll(fixture.slice(0, 1), spec, MACHINE_CODE);
    const at = (workload: string, measuredNs: number, predictedNs: number) => ({
      ...one!,
      workload,
      measuredNs,
      predictedNs,
    });
    const [group, ...others] = withinGroups(
      [at('a', 100, 1), at('a', 200, 2), at('a', 300, 3), at('b', 10, 2000), at('b', 15, 1000), at('b', 30, 3000)],
      ({ problem }) => problem,
    );
    expect(others).toEqual([]);
    expect(group!.count).toBe(6);
    expect(group!.tau).toBeCloseTo((1 + 1 / 3) / 2, 12);
    expect(group!.regret).toBeCloseTo(Math.sqrt(1.5), 12);
  });
});

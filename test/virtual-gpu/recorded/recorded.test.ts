import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Device } from '../../../src/core/device.ts';
import { openDevice } from '../../../src/devices/open-device.ts';
import { sampled } from '../../support/sampling/matrix.ts';
import { RECORDED_CASES } from './all-cases.ts';
import { formDisagreements } from './compare-forms.ts';
import { FORM_CASES } from './form-cases.ts';
import { CaseRunner, keyOf, type RecordedCase } from './recorded-case.ts';
import { differences, type RecordedBits, readRecording, recordedBits, shownParts } from './recording.ts';

const TIMEOUT_MS = 20_000;

let device: Device;
let runner: CaseRunner;
beforeAll(async () => {
  device = await openDevice('virtual:h200', { threads: 1 });
  runner = new CaseRunner(device);
});
afterAll(() => device.close());

/** What `out` holds. @throws Error with the device's message. */
async function outOf(test: RecordedCase): Promise<Uint8Array> {
  const outcome = await runner.run(test, TIMEOUT_MS);
  if (!outcome.ok) throw new Error(`${outcome.status}: ${outcome.message}`);
  return outcome.out;
}

const named = <T extends RecordedCase>(cases: readonly T[]) => cases.map((test) => [test.name, test] as const);
const familyOf = ([, { family }]: readonly [string, RecordedCase]): string => family;
const modelled = RECORDED_CASES.filter(({ refusal, mistake }) => refusal === undefined && mistake === undefined);
const mistakes = RECORDED_CASES.filter(({ mistake }) => mistake !== undefined);
const waiting = RECORDED_CASES.filter(({ waitsFor }) => waitsFor !== undefined);
const compared = modelled.filter(({ waitsFor }) => waitsFor === undefined);
const ofForms: ReadonlySet<RecordedCase> = new Set(FORM_CASES);

it('no two cases have one name', () => {
  expect(new Set(RECORDED_CASES.map(({ name }) => name)).size).toBe(RECORDED_CASES.length);
});

describe('what is recorded, but not yet modelled', () => {
  sampled('recorded, not yet modelled', named(RECORDED_CASES.filter(({ refusal }) => refusal)), {
    oneIn: 6,
    kindOf: familyOf,
  })('is refused by its name: %s', async (_, test) => {
    const outcome = await runner.run(test, TIMEOUT_MS);
    expect(outcome.ok ? 'runs: its refusal can go' : `${outcome.status}: ${outcome.message}`).toMatch(test.refusal!);
  });
});

it.each(named(mistakes))('a mistake that stops a GPU is unsafe: %s', async (_, test) => {
  const outcome = await runner.run(test, TIMEOUT_MS);
  expect(outcome.ok ? 'runs' : `${outcome.status}: ${outcome.message}`).toMatch(test.mistake!);
});

describe('a recording', () => {
  const test = modelled.find(({ family }) => family === 'wgmma')!;

  it('made on a device replays there, and tells the first word that differs', async () => {
    const out = await outOf(test);
    const bits = recordedBits(test, { ok: true, out }) as Extract<RecordedBits, { sums: string }>;
    expect(differences(test, bits, await outOf(test))).toEqual([]);
    const second = test.parts[0]!.bytes;
    out[second + 12]! ^= 1;
    const [difference, ...others] = differences(test, bits, out);
    expect(difference).toMatch(
      /^wide: word 3 is [0-9a-f]{8}, recorded is [0-9a-f]{8}; 1 of 512 recorded words differ$/,
    );
    expect(others).toEqual([]);
  });

  it('is of the case as it is: its key changes with code and inputs', () => {
    const key = keyOf(test);
    expect(keyOf({ ...test, ptx: `${test.ptx} ` })).not.toBe(key);
    expect(keyOf({ ...test, buffers: () => ({ ...test.buffers(), in: new Uint8Array(16) }) })).not.toBe(key);
    expect(keyOf({ ...test })).toBe(key);
  });

  it('of a form that computes something else is not the interpreter’s', async () => {
    const form = FORM_CASES.find(({ name }) => name.endsWith(': sad'))!;
    const bits = recordedBits(form, { ok: true, out: await outOf(form) }) as Extract<RecordedBits, { sums: string }>;
    const wrong = await outOf({ ...form, ptx: form.ptx.replace('sad.s32', 'min.s32 %full0, %s0, %s1; //') });
    expect(formDisagreements(form, shownParts(form, bits.shown), wrong)).toEqual([
      expect.stringMatching(/^sad\.s32 .* full, thread \d+, result 0 of .* here, .* on the GPU/),
    ]);
  });
});

const recording = readRecording();

describe.skipIf(recording === undefined)(
  recording
    ? `what ${recording.device} gave (driver ${recording.driver})`
    : 'what a GPU gave: no recording yet (bench/virtual-gpu/record-instructions.ts makes it)',
  () => {
    const bitsOf = (test: RecordedCase) => {
      const bits = recording!.cases[test.name];
      if (bits === undefined || bits.key !== keyOf(test))
        throw new Error(`the recording has no ${test.name} as it is now: record it anew`);
      if ('status' in bits) throw new Error(`the GPU gave nothing for it: ${bits.status}: ${bits.message}`);
      return bits;
    };

    /** A mistake has a reason instead of bits. */
    const isRecorded = (test: RecordedCase): boolean => {
      const bits = recording!.cases[test.name];
      return bits?.key === keyOf(test) && 'status' in bits === (test.mistake !== undefined);
    };

    it('is recorded for every case as it is now, but for those that say why not', () => {
      const missing = RECORDED_CASES.filter((test) => !isRecorded(test) && test.waitsFor === undefined);
      expect(missing.map(({ name }) => name)).toEqual([]);
    });

    it('is not recorded for those that say why not: if it is, they no longer wait', () => {
      expect(waiting.filter(isRecorded).map(({ name }) => name)).toEqual([]);
    });

    it.for(named(waiting))('is not recorded yet: %s', ([, { waitsFor }], { skip }) => skip(waitsFor));

    const known = mistakes.filter(({ waitsFor }) => waitsFor === undefined);
    it.each(named(known))('is an illegal instruction for %s', (_, test) => {
      const bits = recording!.cases[test.name]!;
      expect('status' in bits && `${bits.status}: ${bits.message}`).toMatch(
        /^crashed: .*CUDA_ERROR_ILLEGAL_INSTRUCTION/,
      );
    });

    sampled('recorded cases', named(compared.filter((test) => !ofForms.has(test))), { oneIn: 10, kindOf: familyOf })(
      'virtual:h200 gives the same bits: %s',
      async (_, test) => {
        expect(differences(test, bitsOf(test), await outOf(test))).toEqual([]);
      },
    );

    sampled('recorded forms', named(FORM_CASES), { oneIn: 10 })(
      'virtual:h200 gives the same results: %s',
      async (_, test) => {
        expect(formDisagreements(test, shownParts(test, bitsOf(test).shown), await outOf(test))).toEqual([]);
      },
    );
  },
);

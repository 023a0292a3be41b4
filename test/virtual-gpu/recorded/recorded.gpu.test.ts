import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Device } from '../../../src/core/device.ts';
import { listDevices, openDevice } from '../../../src/devices/open-device.ts';
import { RECORDED_CASES } from './all-cases.ts';
import { CaseRunner } from './recorded-case.ts';
import { differences, readRecording } from './recording.ts';

const GPU = 'cuda:0';
const TIMEOUT_MS = 3000;
const hasGpu = listDevices().some(({ id }) => id === GPU);
const recording = readRecording();

describe.skipIf(!hasGpu || !recording)(`instructions on ${GPU} (skipped without an NVIDIA GPU or a recording)`, () => {
  let device: Device;
  let runner: CaseRunner;
  beforeAll(async () => {
    device = await openDevice(GPU);
    runner = new CaseRunner(device);
  });
  afterAll(() => device?.close());

  it.for(RECORDED_CASES.map((test) => [test.name, test] as const))(
    'give what was recorded: %s',
    async ([name, test], { skip }) => {
      if (device.identity.name !== recording!.device)
        skip(`recorded on ${recording!.device}; ${device.identity.name} may add and approximate otherwise`);
      if (test.waitsFor) skip(test.waitsFor);
      const bits = recording!.cases[name];
      const outcome = await runner.run(test, TIMEOUT_MS);
      if (test.mistake) {
        expect(outcome.ok ? 'runs' : outcome.status).toBe('crashed');
        return;
      }
      if (bits === undefined || 'status' in bits) throw new Error(`nothing is recorded of it: ${JSON.stringify(bits)}`);
      if (!outcome.ok) throw new Error(`${outcome.status}: ${outcome.message}`);
      expect(differences(test, bits, outcome.out)).toEqual([]);
    },
  );
});

/**
 * Records the bits that a device gives for every case of test/virtual-gpu/recorded, which virtual:h200 must give, too.
 * A case that fails is recorded with its reason. Cases that OUTPUT has already are left out.
 *
 *     node bench/virtual-gpu/record-instructions.ts [--device cuda:0] [--output docs/results/h200-instructions.json]
 *       [--only TEXT,TEXT]   cases whose names contain one of the texts
 */
import { parseArgs } from 'node:util';
import { packageVersion } from '../../src/app/package-version.ts';
import { openDevice } from '../../src/devices/open-device.ts';
import { RECORDED_CASES } from '../../test/virtual-gpu/recorded/all-cases.ts';
import { CaseRunner, keyOf, type RecordedCase } from '../../test/virtual-gpu/recorded/recorded-case.ts';
import {
  type InstructionRecording,
  type RecordedBits,
  recordedBits,
} from '../../test/virtual-gpu/recorded/recording.ts';
import { openRecording } from '../recording-file.ts';

/** A kernel of a case takes microseconds on a GPU; what takes as long as this hangs. */
const TIMEOUT_MS = 3000;
const CASES_BETWEEN_SAVES = 20;

const { values: options } = parseArgs({
  options: {
    device: { type: 'string', default: 'cuda:0' },
    output: { type: 'string', default: 'docs/results/h200-instructions.json' },
    only: { type: 'string', default: '' },
  },
});

let device = await openDevice(options.device);
let runner = new CaseRunner(device);

/** A device that throws is broken: the next case gets another one. */
async function bitsOf(test: RecordedCase): Promise<RecordedBits> {
  try {
    return recordedBits(test, await runner.run(test, TIMEOUT_MS));
  } catch (error) {
    await device.close().catch(() => undefined);
    device = await openDevice(options.device);
    runner = new CaseRunner(device);
    return recordedBits(test, { ok: false, status: 'device-failed', message: String(error) });
  }
}

const { recording, save } = await openRecording<InstructionRecording>(options.output, () => ({
  schemaVersion: 1,
  device: device.identity.name,
  driver: device.identity.driver ?? 'none',
  versions: { warpsmith: packageVersion(), node: process.versions.node },
  recordedAt: new Date().toISOString(),
  cases: {},
}));
if (recording.device !== device.identity.name)
  throw new Error(`${options.output} is of ${recording.device}, not of ${device.identity.name}: give another --output`);
const texts = options.only.split(',').filter(Boolean);
const isAsked = ({ name }: RecordedCase): boolean => texts.length === 0 || texts.some((text) => name.includes(text));
const isDone = (test: RecordedCase): boolean => recording.cases[test.name]?.key === keyOf(test);

const started = performance.now();
let [recorded, failed] = [0, 0];
for (const test of RECORDED_CASES.filter((asked) => isAsked(asked) && !isDone(asked))) {
  const bits = await bitsOf(test);
  recording.cases[test.name] = bits;
  recorded += 1;
  if ('status' in bits) {
    failed += 1;
    process.stderr.write(`${test.name}: ${bits.status}: ${bits.message}\n`);
  }
  if (recorded % CASES_BETWEEN_SAVES === 0) await save();
}
await save();
await device.close();
const seconds = ((performance.now() - started) / 1000).toFixed(1);
process.stdout.write(`${recorded} cases recorded in ${seconds} s, ${failed} of them failed\n`);

/**
 * Records how long settings of every rung and the kernels of test/corpus take on a GPU, with the registers that the driver
 * gives them: what the time model is fitted to and judged by. The code is clang's PTX, which a virtual GPU counts as it is.
 * What the recording holds already is left out, so that limited time on a machine can be used in parts.
 *
 *     node bench/time-model/record.ts [--device cuda:0] [--output docs/results/h200-times.json] [--minutes 9]
 *       [--per-problem 32] [--compiled FILE.json.gz]
 *
 * Where there is no clang, compile.ts compiles on another machine. Then, on any machine: count.ts, and fit.ts.
 */
import { parseArgs } from 'node:util';
import { openDevice } from '../../src/devices/open-device.ts';
import { openRecording } from '../recording-file.ts';
import { openCodeSource } from './compiled-ahead.ts';
import { recordTimes } from './record-times.ts';
import type { TimeRecording } from './recorded-times.ts';
import { allSubjects } from './subjects.ts';

const { values: options } = parseArgs({
  options: {
    device: { type: 'string', default: 'cuda:0' },
    output: { type: 'string', default: 'docs/results/h200-times.json' },
    minutes: { type: 'string', default: '9' },
    'per-problem': { type: 'string', default: '32' },
    compiled: { type: 'string' },
  },
});

const endMs = performance.now() + Number(options.minutes) * 60_000;
const device = await openDevice(options.device);
try {
  const code = await openCodeSource(device, options.compiled);
  const open = await openRecording<TimeRecording>(options.output, () => ({
    schemaVersion: 1,
    device: device.identity.name,
    driver: device.identity.driver ?? 'none',
    compiler: code.compiler,
    recordedAt: new Date().toISOString(),
    entries: {},
  }));
  await recordTimes({
    device,
    code,
    subjects: await allSubjects(Number(options['per-problem'])),
    open,
    hasTime: () => performance.now() < endMs,
    onRecorded({ kernel, measuredNs, failure }, done, count) {
      const result = measuredNs === undefined ? failure : `${(measuredNs / 1000).toFixed(2)} µs`;
      process.stdout.write(`${done} of ${count}  ${kernel}  ${result}\n`);
    },
  });
} finally {
  await device.close();
}

/**
 * Counts, on a virtual GPU, the kernels whose times bench/time-model/record.ts recorded, and writes the counters beside the
 * times. Only the PTX that was timed is counted: what has changed since is left out, with a message, and keeps what was counted.
 *
 *     node bench/time-model/count.ts [--file docs/results/h200-times.json] [--minutes 60] [--again]
 *
 * --again counts what has counters, too: after a change of what is counted.
 */
import { parseArgs } from 'node:util';
import { openDevice } from '../../src/devices/open-device.ts';
import { createClangToolchain } from '../../src/toolchains/clang.ts';
import { openRecording } from '../recording-file.ts';
import { countSubject } from './count-subject.ts';
import type { TimeRecording } from './recorded-times.ts';
import { allSubjects, keyOf } from './subjects.ts';

const { values: options } = parseArgs({
  options: {
    file: { type: 'string', default: 'docs/results/h200-times.json' },
    minutes: { type: 'string', default: '60' },
    'per-problem': { type: 'string', default: '32' },
    again: { type: 'boolean', default: false },
  },
});

const { recording, save } = await openRecording<TimeRecording>(options.file, () => {
  throw new Error(`there is no ${options.file}: record times on a GPU first, with bench/time-model/record.ts`);
});
const endMs = performance.now() + Number(options.minutes) * 60_000;
const device = await openDevice('virtual:h200');
try {
  const toolchain = await createClangToolchain();
  for (const subject of await allSubjects(Number(options['per-problem']))) {
    const entry = recording.entries[keyOf(subject)];
    if (performance.now() > endMs || entry?.measuredNs === undefined) continue;
    if (entry.counters && !options.again) continue;
    try {
      const { counters, memsetBytes } = await countSubject(device, toolchain, subject, entry.ptx);
      entry.counters = counters.map((launch) => ({ ...launch, lines: [] }));
      if (memsetBytes.length > 0) entry.memsetBytes = memsetBytes;
      await save();
    } catch (error) {
      process.stderr.write(`${entry.kernel}: ${error instanceof Error ? error.message : String(error)}\n`);
    }
  }
} finally {
  await device.close();
}

/**
 * Counts on a virtual GPU what bench/counters/record.ts had ncu count, and prints how often both agree: by launch and by source
 * line. Writes the virtual counters beside ncu's.
 *
 *     node bench/counters/compare.ts [--file docs/results/h200-counters.json] [--minutes 60]
 */
import { parseArgs } from 'node:util';
import { openDevice } from '../../src/devices/open-device.ts';
import { createClangToolchain } from '../../src/toolchains/clang.ts';
import { openRecording } from '../recording-file.ts';
import { countSubject } from '../time-model/count-subject.ts';
import { allSubjects, keyOf } from '../time-model/subjects.ts';
import {
  agreementBySite,
  agreementOf,
  type CounterAgreement,
  type CounterRecording,
  comparedPart,
} from './counter-recording.ts';

const { values: options } = parseArgs({
  options: {
    file: { type: 'string', default: 'docs/results/h200-counters.json' },
    minutes: { type: 'string', default: '60' },
    'per-problem': { type: 'string', default: '4' },
  },
});

const { recording, save } = await openRecording<CounterRecording>(options.file, () => {
  throw new Error(`there is no ${options.file}: record counters on a GPU first, with bench/counters/record.ts`);
});
const endMs = performance.now() + Number(options.minutes) * 60_000;
const device = await openDevice('virtual:h200');
try {
  const toolchain = await createClangToolchain();
  for (const subject of await allSubjects(Number(options['per-problem']))) {
    const entry = recording.entries[keyOf(subject)];
    if (performance.now() > endMs || !entry?.ncu || entry.virtual) continue;
    try {
      entry.virtual = (await countSubject(device, toolchain, subject, entry.ptx)).counters.map(comparedPart);
      await save();
    } catch (error) {
      process.stderr.write(`${entry.kernel}: ${error instanceof Error ? error.message : String(error)}\n`);
    }
  }
} finally {
  await device.close();
}

function print(title: string, agreements: readonly CounterAgreement[]): void {
  process.stdout.write(`${title}\n`);
  for (const { counter, count, equal, ratio } of agreements)
    process.stdout.write(
      `  ${counter.padEnd(26)} ${String(equal).padStart(5)} of ${String(count).padStart(5)} equal, ` +
        `virtual ÷ ncu ${ratio.toFixed(3)}\n`,
    );
}

const compared = Object.values(recording.entries).filter(({ virtual }) => virtual !== undefined);
process.stdout.write(`${compared.length} kernels, ${recording.device}\n`);
print('By launch:', agreementOf(compared));
print('By source line:', agreementBySite(compared));

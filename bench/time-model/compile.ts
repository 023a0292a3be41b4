/**
 * Compiles what record.ts times, and what bench/counters/record.ts counts, for a machine with a GPU and no clang.
 *
 *     node bench/time-model/compile.ts --output FILE.json.gz [--device h200] [--per-problem 32]
 */
import { parseArgs } from 'node:util';
import { openDevice } from '../../src/devices/open-device.ts';
import { compileAhead } from './compiled-ahead.ts';
import { allSubjects } from './subjects.ts';

const { values: options } = parseArgs({
  options: {
    device: { type: 'string', default: 'h200' },
    output: { type: 'string' },
    'per-problem': { type: 'string', default: '32' },
  },
});
if (options.output === undefined) throw new Error('--output names the file to write, such as compiled.json.gz');

const device = await openDevice(`virtual:${options.device}`);
try {
  const subjects = await allSubjects(Number(options['per-problem']));
  const failed = await compileAhead(subjects, device, options.output);
  for (const [key, failure] of failed) process.stdout.write(`${key}: ${failure.split('\n')[0]}\n`);
  process.stdout.write(`${subjects.length - failed.size} of ${subjects.length} compiled\n`);
} finally {
  await device.close();
}

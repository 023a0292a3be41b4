/**
 * How far predictions are from recorded times, and what the model's constants would be if they were set anew: on half of the
 * kernels, by a hash of their names, without one whole problem. Writes nothing: the constants lie in
 * src/hardware/launch-model/constants.ts, and whoever changes them says why in docs/decisions/time-model.md.
 *
 *     node bench/time-model/fit.ts [--device h200] [--hold-out scan] [file …]
 */
import { existsSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { DEVICE_SPECS } from '../../src/hardware/device-specs.ts';
import { MACHINE_CODE } from '../../src/hardware/launch-model/constants.ts';
import { halfOf } from '../kernels-and-settings.ts';
import { accuracyOf, type Prediction, predictAll, withinGroups } from './accuracy.ts';
import { CONSTANTS, fitConstants } from './fit-constants.ts';
import { readTimes, type TimedKernel } from './recorded-times.ts';

const RECORDING = 'docs/results/h200-times.json';
const FIXTURES = ['attention', 'small-kernel', 'tensor-core'].map((name) => `test/fixtures/h200-${name}-times.json`);

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: { device: { type: 'string', default: 'h200' }, 'hold-out': { type: 'string', default: 'scan' } },
});

const spec = DEVICE_SPECS.get(options.device);
if (!spec) throw new Error(`no device ${options.device}; there are ${[...DEVICE_SPECS.keys()].join(', ')}`);
const files = positionals.length > 0 ? positionals : [...FIXTURES, RECORDING].filter((file) => existsSync(file));
const times = (await Promise.all(files.map(readTimes))).flat();
if (times.length === 0) throw new Error(`no times with counters in ${files.join(', ')}`);

const heldOutProblem = options['hold-out'];
const isFitted = ({ kernel, problem }: TimedKernel): boolean => problem !== heldOutProblem && halfOf(kernel) === 'fit';
const fitted = times.filter(isFitted);
if (fitted.length === 0) throw new Error('none of the times is in the set on which constants are set');
const sets: readonly [string, readonly TimedKernel[]][] = [
  ['fit', fitted],
  ['held-out', times.filter((time) => !isFitted(time) && time.problem !== heldOutProblem)],
  [heldOutProblem, times.filter(({ problem }) => problem === heldOutProblem)],
];

const write = (line: string): boolean => process.stdout.write(`${line}\n`);
const percent = (ratio: number): string => `${(100 * ratio).toFixed(0)} %`;

function report(title: string, predictions: readonly Prediction[]): void {
  if (predictions.length === 0) return;
  const { count, error, worst, within, tau } = accuracyOf(predictions);
  const order = Number.isNaN(tau) ? '–' : tau.toFixed(2);
  write(
    `  ${title.padEnd(12)} ${String(count).padStart(4)}  ${error.toFixed(3)}×  worst ${worst.toFixed(2)}×` +
      `  within ${percent(within)}  τ ${order}`,
  );
}

/** Order within a problem and within a rung, and what choosing by prediction costs. */
function reportGroups(predictions: readonly Prediction[]): void {
  for (const { group, count, tau, regret } of withinGroups(predictions, ({ problem }) => problem))
    write(
      `  ${group.padEnd(24)} ${String(count).padStart(4)}  τ ${tau.toFixed(2)}  predicted best ${regret.toFixed(2)}× the best`,
    );
  for (const { group, count, tau } of withinGroups(predictions, ({ kernel }) => kernel))
    write(`    ${group.padEnd(28)} ${String(count).padStart(4)}  τ ${tau.toFixed(2)}`);
}

write(`${times.length} times of ${files.join(', ')}; ${options.device}`);
write('With the constants as they are:');
for (const [title, set] of sets) report(title, predictAll(set, spec, MACHINE_CODE));
reportGroups(predictAll(times, spec, MACHINE_CODE));

const constants = fitConstants(fitted, spec, MACHINE_CODE);
write('Set anew on the first set:');
for (const { name, read } of CONSTANTS) write(`  ${name.padEnd(24)} ${read(constants).toFixed(2)}`);
for (const [title, set] of sets) report(title, predictAll(set, spec, constants));

/**
 * Optimises a cheap problem for many evaluations and says whether memory stays flat, and whether processes, temporary
 * files or open files are left behind. Garbage is collected before memory is looked at, and V8's room for young objects is
 * given a fixed size: else it lets garbage lie for as long as there is room, enlarges that in steps, and what is seen is
 * its patience.
 *
 *     node --expose-gc --max-semi-space-size=8 bench/soak/memory.ts [--evaluations 500] [--output docs/results/soak.json]
 */
import { parseArgs } from 'node:util';
import { saveSoak } from './save-soak.ts';
import { slope, soak } from './soak-run.ts';

/** Memory is flat when the second half of the run adds less than this to it. */
const FLAT_RATIO = 0.05;
const WARM_UP_EVALUATIONS = 3;
const MIB = 2 ** 20;

if (!globalThis.gc) throw new Error('start it as node --expose-gc --max-semi-space-size=8 bench/soak/memory.ts');
const { values } = parseArgs({
  options: { evaluations: { type: 'string', default: '500' }, output: { type: 'string' } },
});
// What the first evaluations load stays: modules, the compiler's service, thread pools.
await soak(WARM_UP_EVALUATIONS, () => {}, false);
const result = await soak(Number(values.evaluations), (count) => {
  if (count % 50 === 0)
    process.stderr.write(`${count} evaluations, ${(process.memoryUsage.rss() / MIB).toFixed(0)} MiB\n`);
});
const { evaluations, statuses, rssBytes, childProcesses, temporaryFiles, openFiles } = result;
const secondHalf = rssBytes.slice(Math.floor(evaluations / 2));
const meanBytes = secondHalf.reduce((sum, bytes) => sum + bytes, 0) / secondHalf.length;
const slopeBytes = slope(secondHalf);
const mebibytes = (bytes: number) => Number((bytes / MIB).toFixed(2));
const summary = {
  evaluations,
  statuses,
  /** After every 25th evaluation, garbage collected. */
  rssMebibytes: rssBytes.filter((_bytes, index) => (index + 1) % 25 === 0).map(mebibytes),
  secondHalf: {
    meanMebibytes: mebibytes(meanBytes),
    slopeKibibytesPerEvaluation: Number((slopeBytes / 1024).toFixed(3)),
    growthRatio: Number(((slopeBytes * secondHalf.length) / meanBytes).toFixed(4)),
  },
  childProcesses: childProcesses.length,
  temporaryFiles: temporaryFiles.length,
  openFiles,
};
const isFlat = slopeBytes * secondHalf.length <= FLAT_RATIO * meanBytes;
const isClean = childProcesses.length === 0 && temporaryFiles.length === 0 && openFiles[0] === openFiles[1];
if (values.output !== undefined) saveSoak(values.output, { memory: { ...summary, isFlat, isClean } });
process.stdout.write(`${JSON.stringify({ ...summary, isFlat, isClean }, undefined, 1)}\n`);
process.exitCode = isFlat && isClean ? 0 : 1;

/**
 * Whether attention as honest kernels compute it is ever refused: in fp32, and with a softmax's weights in fp16, on the inputs of every secret set, with ever new seeds. No device
 * takes part, so that tens of thousands of checks can be made.
 *
 *     node bench/referee/honest-attention.ts [--output docs/results/honest-attention.json] [--seeds 100]
 */
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import type { HonestAttentionRecording } from '../../scripts/results/referee-recordings.ts';
import { loadProblem } from '../../src/app/loading/load-problem.ts';
import { completeDimensions } from '../../src/core/plan/dimensions.ts';
import { secretSetsOf, variantSetsOf } from '../../src/evaluation/oracle/secret/sets-of-problem.ts';
import { HONEST_ARITHMETIC, judgeHonestly } from '../../test/support/judge-honestly.ts';
import { openRecording } from '../recording-file.ts';

/** Few keys and several tiles of them, short and long sums of products. */
const SHAPES = [
  { B: 3, H: 2, S: 9, D: 32, causal: 1 },
  { B: 1, H: 4, S: 48, D: 64, causal: 0 },
  { B: 1, H: 1, S: 130, D: 64, causal: 0 },
  { B: 1, H: 1, S: 145, D: 128, causal: 1 },
  { B: 1, H: 1, S: 33, D: 256, causal: 0 },
] as const;

const { values } = parseArgs({
  options: {
    output: { type: 'string', default: 'docs/results/honest-attention.json' },
    seeds: { type: 'string', default: '100' },
  },
});
const problem = await loadProblem(join(import.meta.dirname, '../../problems/attention'));
const sets = [...secretSetsOf(problem.file), ...variantSetsOf(problem.file)];
const { recording, save } = await openRecording<HonestAttentionRecording>(values.output, () => ({
  ...{ schemaVersion: 1, shapes: SHAPES, seeds: 0, checks: 0 },
  ...{ atFirst: [], inTheEnd: [] },
}));

async function judgeAll(seed: number): Promise<void> {
  for (const shape of SHAPES)
    for (const generatorSet of sets)
      for (const arithmetic of Object.keys(HONEST_ARITHMETIC) as (keyof typeof HONEST_ARITHMETIC)[]) {
        const dimensions = completeDimensions(problem.file.dimensions, shape);
        const judged = await judgeHonestly(problem, { seed, dimensions, generatorSet }, arithmetic);
        const named = { seed, shape, generatorSet, arithmetic };
        recording.checks += 1;
        if (!judged.passes) recording.atFirst.push(named);
        if (!judged.passesInTheEnd) recording.inTheEnd.push(named);
      }
}

while (recording.seeds < Number(values.seeds)) {
  await judgeAll(recording.seeds + 1);
  recording.seeds += 1;
  await save();
}
const { checks, atFirst, inTheEnd } = recording;
process.stdout.write(`${checks} checks: ${atFirst.length} refused at first, ${inTheEnd.length} in the end\n`);
process.exit(0);

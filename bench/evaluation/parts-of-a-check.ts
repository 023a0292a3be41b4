/**
 * What judging a large shape asks of the host, part by part: drawing inputs, what the reference on a GPU is given, tolerances, and comparing an output with
 * what is expected. No GPU is used: in place of what the reference gives are numbers of the same size, so times are right and results mean nothing.
 *
 *     node bench/evaluation/parts-of-a-check.ts b4h16s4096d64 [rounds]
 *
 * Prints the least seconds of processor time (all threads) of each part over the rounds (3), and a digest of all results, which is the same as long as a change makes only times differ. For a
 * ratio, run it in turns with a checkout of what was before.
 */
import { createHash } from 'node:crypto';
import { loadProblemTarget } from '../../src/app/target.ts';
import { chooseWorkload } from '../../src/app/workload.ts';
import { expandBuffers } from '../../src/core/plan/expand-buffers.ts';
import { decode, encode } from '../../src/core/rounding.ts';
import { elementCountOf } from '../../src/evaluation/launches/layout.ts';
import { DECLARED } from '../../src/evaluation/oracle/check.ts';
import { compareOutput } from '../../src/evaluation/oracle/compare.ts';
import { drawInputs } from '../../src/evaluation/oracle/draw-inputs.ts';
import { expectationsFrom } from '../../src/evaluation/oracle/expectations.ts';
import { perturbedBytes } from '../../src/evaluation/oracle/perturbed-bytes.ts';
import { devicePerturbation } from '../../src/evaluation/oracle/perturbed-inputs.ts';
import { outputsOf } from '../../src/evaluation/oracle/reference-runs.ts';
import { createStream } from '../../src/stats/random.ts';

const SEED = 5;

const { problem } = await loadProblemTarget('problems/attention');
const { name, dimensions } = chooseWorkload(problem.file, process.argv[2]);
const rounds = Number(process.argv[3] ?? 3);
const buffers = expandBuffers(problem.file, dimensions);
const output = outputsOf(buffers).find((buffer) => buffer.name === 'O')!;
const relative = devicePerturbation(buffers);

const least = new Map<string, number>();
function timed<T>(part: string, work: () => T): T {
  const before = process.cpuUsage();
  const result = work();
  const { user, system } = process.cpuUsage(before);
  const seconds = (user + system) / 1e6;
  least.set(part, Math.min(seconds, least.get(part) ?? Number.POSITIVE_INFINITY));
  return result;
}

/** As large as outputs of attention are, and off by so much of themselves. */
function likeOutputs(label: string, wanted?: Float64Array, error = 0): Float64Array {
  const values = new Float64Array(elementCountOf(output));
  createStream(SEED, label).fillNormal(values, 0, 1);
  for (let i = 0; i < values.length; i++)
    values[i] = wanted ? wanted[i]! * (1 + error * values[i]!) : 0.02 * values[i]!;
  return values;
}

const oracle = likeOutputs('oracle');
const result = likeOutputs('result', oracle, 2 ** -13);
const changed = [0, 1].map((run) => likeOutputs(`changed ${run}`, oracle, relative));
const bytes = encode(result, output.dtype);
const digest = createHash('sha256');

for (let round = 0; round < rounds; round++) {
  const isLast = round === rounds - 1;
  const inputs = timed('draw inputs', () =>
    drawInputs({ problem, dimensions, seed: SEED, generatorSet: DECLARED, buffers }),
  );
  const perturbed = timed('perturb them for one run', () => perturbedBytes(buffers, { inputs: inputs.bytes }, 0));
  const runs = { oracle: { O: oracle } };
  const few = timed('least tolerances', () => expectationsFrom(problem, buffers, dimensions, runs).get('O')!);
  const all = timed('tolerances', () => {
    const ofChanged = changed.map((O) => ({ relative, outputs: { O } }));
    return expectationsFrom(problem, buffers, dimensions, { ...runs, perturbed: ofChanged }).get('O')!;
  });
  const got = timed('decode an output', () => decode(bytes, output.dtype));
  const verdicts = [few, all].map((expectation) => timed('compare it', () => compareOutput(output, expectation, got)));
  if (!isLast) continue;
  for (const one of [...inputs.bytes.values(), ...perturbed.values()]) digest.update(one);
  for (const { want, tolerances, rmsLimit } of [few, all])
    digest.update(want).update(tolerances).update(String(rmsLimit));
  digest.update(JSON.stringify(verdicts));
}
const parts = [...least].map(([part, seconds]) => `${part} ${seconds.toFixed(2)}`).join(' · ');
process.stdout.write(`${name}, s: ${parts}\n${digest.digest('hex').slice(0, 16)}\n`);
process.exit(0);

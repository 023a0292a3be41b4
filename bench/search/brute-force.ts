// Evaluates every setting of every rung of the shipped problems once and records it all, so that searches replay in
// seconds: node bench/search/brute-force.ts [--jobs <count>] [--device virtual:h200] [problem …]
//
// Goes on where it was cut off, and evaluates only what is new or has changed since.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { copyFile, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { availableParallelism, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { openSession } from '../../src/app/session.ts';
import type { Evaluation } from '../../src/core/evaluation.ts';
import { toPortable } from '../../src/evaluation/recording/portable-evaluation.ts';
import { describeRequest, requestKey } from '../../src/evaluation/recording/request-description.ts';
import { openRecording, type RecordedEvaluation, readRecording } from '../../src/store/recording.ts';
import {
  DEVICE,
  loadProblemSpace,
  type ProblemSpace,
  problemNames,
  recordingPath,
  requestFor,
} from './problem-space.ts';

// What is recorded here is found here.
process.env.WARPSMITH_REPEATS = 'off';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    jobs: { type: 'string', default: String(availableParallelism()) },
    device: { type: 'string', default: DEVICE },
    // Of a child: evaluates every nth missing candidate into a file of its own.
    shard: { type: 'string' },
    output: { type: 'string' },
  },
});

/** Wall time must not decide what is recorded, however busy the machine is. */
const RUN_TIMEOUT_SECONDS = 900;

/** Searches look at findings and times; counters of every line would be most of the file. */
const trim = (evaluation: Evaluation): Evaluation =>
  evaluation.counters ? { ...evaluation, counters: { ...evaluation.counters, launches: [] } } : evaluation;

/** Recorded evaluations of this file that still answer a request of the space, by the request's key. */
function recorded(path: string, space: ProblemSpace): Map<string, RecordedEvaluation> {
  if (!existsSync(path)) return new Map();
  const wanted = new Set(keysOf(space));
  return new Map(
    readRecording(path).evaluations.flatMap((entry): [string, RecordedEvaluation][] => {
      const key = requestKey(entry.request);
      return wanted.has(key) && entry.evaluation.status !== 'device-failed' ? [[key, entry]] : [];
    }),
  );
}

const keyOf = (space: ProblemSpace, candidate: ProblemSpace['candidates'][number]): string =>
  requestKey(describeRequest(requestFor(space, candidate)));
const keysOf = (space: ProblemSpace): string[] => space.candidates.map((candidate) => keyOf(space, candidate));

/** A child's part of the work. */
async function evaluateShard(name: string, [shard, shards]: readonly [number, number], output: string): Promise<void> {
  const space = await loadProblemSpace(name);
  const known = recorded(recordingPath(name, values.device), space);
  const missing = space.candidates.filter((candidate) => !known.has(keyOf(space, candidate)));
  await using session = await openSession({
    device: values.device,
    threads: 1,
    runTimeoutSeconds: RUN_TIMEOUT_SECONDS,
  });
  const { device, toolchain, environment } = session;
  const { name: compiler, version } = toolchain.identity;
  const writer = openRecording(output, {
    device: device.identity,
    spec: device.spec,
    compiler: { name: compiler, version },
    environment,
  });
  for (const [index, candidate] of missing.entries()) {
    if (index % shards !== shard) continue;
    const request = requestFor(space, candidate);
    const evaluation = trim(await session.evaluator.evaluate(request));
    writer.append({
      kind: 'evaluation',
      request: describeRequest(request),
      evaluation: toPortable(evaluation, request),
    });
    process.stderr.write(
      `${name} ${index + 1} of ${missing.length}: ${candidate.kernel.file.name} ${evaluation.status}\n`,
    );
  }
  writer.close();
}

/** Runs the shards in processes of their own and puts the recording together, in the space's order. */
async function bruteForce(name: string, jobs: number): Promise<void> {
  const space = await loadProblemSpace(name);
  const path = recordingPath(name, values.device);
  const known = recorded(path, space);
  const missing = space.candidates.length - known.size;
  process.stderr.write(
    `${name} ${space.workload.name}: ${missing} of ${space.candidates.length} settings are missing\n`,
  );
  if (missing === 0) return;
  const folder = await mkdtemp(join(tmpdir(), 'warpsmith-brute-force-'));
  try {
    const shards = Math.min(jobs, missing);
    const outputs = Array.from({ length: shards }, (_, shard) => join(folder, `${shard}.jsonl.gz`));
    const codes = await Promise.all(outputs.map((output, shard) => runShard(name, `${shard}/${shards}`, output)));
    const parts = outputs.filter((output) => existsSync(output));
    for (const part of parts) for (const [key, entry] of recorded(part, space)) known.set(key, entry);
    const [session] = readRecording(parts[0] ?? path).sessions;
    const whole = join(folder, 'whole.jsonl.gz');
    const writer = openRecording(whole, session);
    for (const key of keysOf(space)) {
      const entry = known.get(key);
      if (entry) writer.append(entry);
    }
    writer.close();
    await mkdir(dirname(path), { recursive: true });
    await copyFile(whole, path);
    if (codes.some((code) => code !== 0)) process.exitCode = 1;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

const runShard = (name: string, shard: string, output: string): Promise<number> =>
  new Promise((resolve, reject) => {
    const script = fileURLToPath(import.meta.url);
    const child = spawn(
      process.execPath,
      [script, '--shard', shard, '--output', output, '--device', values.device, name],
      { stdio: 'inherit' },
    );
    child.on('error', reject);
    child.on('close', (code) => resolve(code ?? 1));
  });

if (values.shard !== undefined) {
  const [shard, shards] = values.shard.split('/').map(Number) as [number, number];
  await evaluateShard(positionals[0]!, [shard, shards], values.output!);
} else {
  // Ctrl-C ends the children; what they have done is kept.
  process.on('SIGINT', () => {
    process.exitCode = 130;
  });
  for (const name of positionals.length > 0 ? positionals : problemNames()) {
    if (process.exitCode === 130) break;
    await bruteForce(name, Number(values.jobs));
  }
}

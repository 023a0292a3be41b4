// Optimises every shipped problem from its start, unattended, and records how each run ended:
//   node scripts/record-problems.ts --device virtual:h200 --output docs/results/problems-virtual-h200.json [problem[:dtype] …]
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import type { ProblemFile } from '../src/core/problem.ts';
import type { RunView } from '../src/reports/run-view.ts';
import type { OptimisedProblem, OptimisedProblems } from './results/optimised-problems.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    device: { type: 'string', default: 'virtual:h200' },
    evaluations: { type: 'string', default: '60' },
    output: { type: 'string' },
  },
});

type Printed = RunView & { reportPath: string; error?: { message: string } };

/** `gemm`, or `gemm:f16` for a dtype that is not its first. */
async function optimize(problem: string, store: string): Promise<Printed> {
  const [name, dtype] = problem.split(':');
  const target = `problems/${name}`;
  const limits = [
    ...(dtype ? ['--dtype', dtype] : []),
    '--max-evaluations',
    values.evaluations,
    '--device',
    values.device,
    '--store',
    store,
  ];
  const child = spawn(process.execPath, ['bin/warpsmith.mjs', 'optimize', target, ...limits, '--json'], {
    cwd: root,
    // What is recorded here is found here.
    env: { ...process.env, WARPSMITH_REPEATS: 'off', WARPSMITH_JOURNAL: 'off' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const chunks: Buffer[] = [];
  child.stdout.on('data', (chunk: Buffer) => chunks.push(chunk));
  await new Promise((resolve) => child.once('close', resolve));
  const printed = JSON.parse(Buffer.concat(chunks).toString('utf8')) as Printed;
  if (printed.error) throw new Error(`${problem}: ${printed.error.message}`);
  return printed;
}

async function record(problem: string): Promise<{ entry: OptimisedProblem; view: Printed }> {
  const store = await mkdtemp(join(tmpdir(), 'warpsmith-problems-'));
  try {
    const file = JSON.parse(
      await readFile(join(root, 'problems', problem.split(':')[0]!, 'problem.json'), 'utf8'),
    ) as ProblemFile;
    const began = performance.now();
    const view = await optimize(problem, store);
    const { start, best, speedup, stop, evaluationsUsed, evaluationsAfterSearch, workload, confirmations } = view;
    const confirmation = confirmations.at(-1);
    return {
      view,
      entry: {
        problem: problem.replace(':', '-'),
        workload: workload.name,
        rungs: file.rungs,
        start: start && { kernel: start.candidate.kernel, kind: start.kind, medianNs: start.medianNs },
        best: best && {
          kernel: best.candidate.kernel,
          parameters: best.candidate.parameters,
          kind: best.kind,
          medianNs: best.medianNs,
        },
        speedup,
        intervalRatio: confirmation?.intervalRatio ?? null,
        confirmation: confirmation?.outcome ?? null,
        stopReason: stop?.reason ?? null,
        evaluationsUsed,
        evaluationsAfterSearch,
        wroteReport: existsSync(view.reportPath) && existsSync(view.reportPath.replace(/\.md$/, '.html')),
        seconds: Math.round((performance.now() - began) / 1000),
      },
    };
  } finally {
    await rm(store, { recursive: true, force: true });
  }
}

const problems = positionals.length > 0 ? positionals : (await readdir(join(root, 'problems'))).sort();
const entries: OptimisedProblem[] = [];
let last: Printed | undefined;
for (const problem of problems) {
  process.stderr.write(`${problem} on ${values.device}\n`);
  const { entry, view } = await record(problem);
  last = view;
  entries.push(entry);
  const recording: OptimisedProblems = {
    schemaVersion: 1,
    device: view.device,
    date: view.startedAt.slice(0, 10),
    versions: view.environment,
    evaluations: Number(values.evaluations),
    problems: entries,
  };
  const text = `${JSON.stringify(recording, null, 2)}\n`;
  // Written after each: what has been recorded is not lost with what comes next.
  if (values.output) await writeFile(values.output, text);
  else if (problem === problems.at(-1)) process.stdout.write(text);
}
if (!last) process.exitCode = 1;

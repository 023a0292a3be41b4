/**
 * Registers per thread that warpsmith estimates from PTX, beside what ptxas allocates for the same PTX: settings of every rung
 * of every problem, and the kernels of test/corpus, compiled by clang. Needs ptxas. What ptxas says of a PTX text is kept in
 * the recording, so that a changed estimate is compared again in a minute.
 *
 *     node bench/virtual-gpu/registers.ts [--output docs/results/registers.json] [--settings 3] [--only TEXT]
 *       [--keep FOLDER]   also writes every PTX text there
 */
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs, promisify } from 'node:util';
import type { Allocation, RegisterRecording, RegisterRow } from '../../scripts/results/registers.ts';
import type { CompiledCode } from '../../src/core/compiled-code.ts';
import { expandPlan } from '../../src/core/plan/expand-plan.ts';
import { DEVICE_SPECS } from '../../src/hardware/device-specs.ts';
import { buildControlFlowGraph } from '../../src/ptx/control-flow.ts';
import { inlineCalls } from '../../src/ptx/inline-calls.ts';
import { parsePtx } from '../../src/ptx/parse.ts';
import { spilledRegisters } from '../../src/ptx/registers.ts';
import { createClangToolchain } from '../../src/toolchains/clang.ts';
import { functionResources } from '../../src/virtual-gpu/analyse-function.ts';
import { compileCuda } from '../../test/support/launch/compile-cuda.ts';
import { corpusKernels, halfOf, rungSettings } from '../kernels-and-settings.ts';
import { digestOf, openRecording } from '../recording-file.ts';

const { values: options } = parseArgs({
  options: {
    output: { type: 'string', default: 'docs/results/registers.json' },
    settings: { type: 'string', default: '3' },
    only: { type: 'string', default: '' },
    keep: { type: 'string' },
  },
});

const run = promisify(execFile);
const MOST_OUTPUT = { maxBuffer: 256 * 1024 ** 2 };
/** The settings of a rung take turns, so that all architectures are compared at a third of the cost. */
const ARCHITECTURES = ['sm_80', 'sm_89', 'sm_90a'] as const;
const SM_COUNT = DEVICE_SPECS.get('h200')!.smCount.value;

/** A compiled text with the launches of its functions. */
interface Compiled {
  readonly kernel: string;
  readonly parameters: Readonly<Record<string, number>>;
  readonly code: CompiledCode;
  readonly launches: readonly Launch[];
}

interface Launch {
  readonly functionName: string;
  readonly threadsPerCta: number;
  readonly dynamicSharedBytes: number;
}

const threadsOf = (block: number | readonly number[]): number => [block].flat().reduce((a, b) => a * b, 1);

const toolchain = await createClangToolchain();

async function* compiledKernels(): AsyncGenerator<Compiled> {
  for (const [index, { kernel, problem, candidate, workload }] of (
    await rungSettings(Number(options.settings))
  ).entries()) {
    if (!kernel.includes(options.only)) continue;
    const architectures = candidate.kernel.file.source.architectures ?? ARCHITECTURES;
    const architecture = architectures[index % architectures.length]!;
    const compiled = await toolchain.compile({ candidate, architecture });
    if (!compiled.ok) throw new Error(`${kernel} on ${architecture}: ${compiled.message}`);
    const { parameters } = candidate;
    const device = { smCount: SM_COUNT };
    const { dimensions } = workload;
    const plan = expandPlan({ problem: problem.file, kernel: candidate.kernel.file, parameters, dimensions, device });
    const launches = plan.steps.flatMap((step) =>
      step.kind === 'launch' ? [{ ...step, threadsPerCta: threadsOf(step.block) }] : [],
    );
    yield { kernel, parameters, code: compiled.code, launches };
  }
  for (const [index, { kernel, entry, source }] of corpusKernels().entries()) {
    if (!kernel.includes(options.only)) continue;
    const architecture = ARCHITECTURES[index % ARCHITECTURES.length]!;
    const code = await compileCuda(toolchain, source, [entry.kernel], entry.file, architecture);
    const { sharedBytes: dynamicSharedBytes = 0 } = entry;
    const launch = { functionName: entry.kernel, threadsPerCta: threadsOf(entry.block), dynamicSharedBytes };
    yield { kernel, parameters: {}, code, launches: [launch] };
  }
}

/** Of the ISA that ptxas 13 takes. clang names the oldest that its own instructions need; inline assembly may need a later one. */
const ISA_VERSION = '.version 8.8';

/** What `ptxas -v` says of each function of a text. */
async function allocationsIn(ptx: string, architecture: string, folder: string): Promise<Record<string, Allocation>> {
  const file = join(folder, 'module.ptx');
  await writeFile(file, ptx.replace(/^\.version [\d.]+/m, ISA_VERSION));
  const args = ['-v', `-arch=${architecture}`, file, '-o', join(folder, 'cubin')];
  const { stderr } = await run('ptxas', args, MOST_OUTPUT);
  const told = stderr.matchAll(
    /Function properties for (\S+)\s+(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads\s+ptxas info\s*: Used (\d+) registers/g,
  );
  return Object.fromEntries(
    [...told].map(([, name, stack, stores, loads, registers]) => [
      name!,
      {
        registers: Number(registers),
        stackBytes: Number(stack),
        spillStoreBytes: Number(stores),
        spillLoadBytes: Number(loads),
      },
    ]),
  );
}

const { stdout } = await run('ptxas', ['--version']);
const ptxas = /V[\d.]+/.exec(stdout)?.[0].slice(1) ?? 'unknown';
const { recording, save } = await openRecording<RegisterRecording>(options.output, () => ({
  schemaVersion: 1,
  date: '',
  ptxas,
  clang: '',
  rows: [],
}));
if (recording.ptxas !== ptxas) throw new Error(`${options.output} is of ptxas ${recording.ptxas}, not of ${ptxas}`);
const known = new Map(recording.rows.map((row) => [`${row.function} ${row.ptx}`, row.allocated]));
const folder = await mkdtemp(join(tmpdir(), 'warpsmith-registers-'));

async function rowsOf({ kernel, parameters, code, launches }: Compiled): Promise<RegisterRow[]> {
  const ptx = digestOf(code.text);
  const { architecture } = code;
  if (options.keep) await writeFile(join(options.keep, `${ptx}.ptx`), code.text);
  const symbols = new Map(launches.map((launch) => [code.functionSymbols[launch.functionName]!, launch]));
  const earlier = (symbol: string): Allocation | undefined => known.get(`${symbol} ${ptx}`);
  const fresh = [...symbols.keys()].every(earlier) ? {} : await allocationsIn(code.text, architecture, folder);
  const module = parsePtx(code.text);
  return [...symbols].map(([symbol, launch]) => {
    const { registersPerThread, staticSharedBytes } = functionResources(module, symbol);
    const fn = inlineCalls(module, symbol);
    const allocated = earlier(symbol) ?? fresh[symbol];
    if (!allocated) throw new Error(`ptxas says nothing of ${symbol}`);
    return {
      kernel,
      half: halfOf(kernel),
      function: symbol,
      parameters,
      architecture,
      ptx,
      threadsPerCta: launch.threadsPerCta,
      sharedBytes: staticSharedBytes + launch.dynamicSharedBytes,
      estimated: registersPerThread,
      spilled: spilledRegisters(fn, buildControlFlowGraph(fn)),
      allocated,
    };
  });
}

try {
  if (options.keep) await mkdir(options.keep, { recursive: true });
  const rows: RegisterRow[] = [];
  for await (const compiled of compiledKernels()) {
    const made = await rowsOf(compiled);
    rows.push(...made);
    for (const row of made)
      process.stderr.write(
        `${row.kernel} ${row.function.slice(0, 30)}: ${row.estimated}, ptxas ${row.allocated.registers}\n`,
      );
    recording.rows = [...rows, ...recording.rows.filter(({ kernel }) => !rows.some((row) => row.kernel === kernel))];
    await save();
  }
  recording.clang = toolchain.identity.version;
  recording.date = new Date().toISOString().slice(0, 10);
  if (options.only === '') recording.rows = rows;
  await save();
} finally {
  await rm(folder, { recursive: true, force: true });
}

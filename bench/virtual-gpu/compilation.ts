/**
 * How long kernels take to become machine code: every kernel of problems/ by the function with the most instructions, and one
 * unrolled block of growing length. Processor time from parsed PTX to WebAssembly, and V8's from there, all of it by its optimising
 * compiler, which a run hands over to step by step. Prints a line for each.
 *
 *     node bench/virtual-gpu/compilation.ts [--output docs/results/compilation.json | kernel folder …]
 */
import { writeFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { setFlagsFromString } from 'node:v8';
import { makeCandidate } from '../../src/core/candidate.ts';
import type { PtxModule } from '../../src/ptx/ast.ts';
import { parsePtx } from '../../src/ptx/parse.ts';
import { createClangToolchain } from '../../src/toolchains/clang.ts';
import { compileKernel } from '../../src/virtual-gpu/compile-kernel.ts';
import { loadRung, rungFolders } from './rungs.ts';

// All functions at once, and none by the quick compiler, else V8 would compile them when they are first called.
setFlagsFromString('--no-wasm-lazy-compilation');
setFlagsFromString('--no-liftoff');
// A run copies functions only into those that turn out to call them often; without counts V8 copies nearly all.
setFlagsFromString('--no-wasm-inlining');

const { values, positionals } = parseArgs({ options: { output: { type: 'string' } }, allowPositionals: true });
if (values.output !== undefined && positionals.length > 0)
  throw new Error('a recording holds every kernel: name no folder with --output');
const KINDS = ['plain', 'counted', 'watched'] as const;
const BLOCK_LENGTHS = [1000, 2000, 4000, 8000, 16_000];
const GLOBALS_START = 1 << 20;

const processorMs = (): number => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
};

function took<T>(work: () => T): [T, number] {
  const before = processorMs();
  const result = work();
  return [result, Math.round(processorMs() - before)];
}

/** Milliseconds from PTX to WebAssembly, and to machine code. */
function compile(module: PtxModule, functionName: string, kind: (typeof KINDS)[number]) {
  const globals = new Map(
    module.variables.filter(({ space }) => space === 'global').map(({ name }, i) => [name, GLOBALS_START * (i + 1)]),
  );
  const [counting, watching] = [kind === 'counted', kind === 'watched'];
  const [image, toWasmMs] = took(() =>
    compileKernel({ module, functionName, globals, counting, watching, fusedMultiplyAdd: true }),
  );
  const [, toMachineCodeMs] = took(() => new WebAssembly.Module(image.wasm));
  return { toWasmMs, toMachineCodeMs, kilobytes: Math.round(image.wasm.length / 1024) };
}

function measure(name: string, text: string) {
  const module = parsePtx(text);
  const entries = module.functions.filter(({ kind }) => kind === 'entry');
  const longest = entries.reduce((a, b) => (b.body.length > a.body.length ? b : a));
  const kinds = Object.fromEntries(KINDS.map((kind) => [kind, compile(module, longest.name, kind)]));
  return { name, instructions: longest.body.filter(({ kind }) => kind === 'instruction').length, ...kinds };
}

/** One block: sums of products of 32 registers, so that all of them are needed all the time. */
function unrolled(length: number): string {
  const register = (i: number): string => `%f${i % 32}`;
  const sums = Array.from(
    { length },
    (_, i) => `fma.rn.f32 ${register(i)}, ${register(i + 7)}, ${register(i + 13)}, ${register(i)};`,
  );
  const loads = Array.from({ length: 32 }, (_, i) => `ld.global.f32 ${register(i)}, [%rd2+${i * 128}];`);
  const stores = loads.map((load) => load.replace(/ld\.global\.f32 (%f\d+), (.*);/, 'st.global.f32 $2, $1;'));
  return [
    '.version 8.0',
    '.target sm_89',
    '.address_size 64',
    '.visible .entry unrolled(.param .u64 p)',
    '{ .reg .f32 %f<32>; .reg .b64 %rd<4>; .reg .b32 %r<2>;',
    'ld.param.u64 %rd1, [p]; mov.u32 %r1, %tid.x; mul.wide.u32 %rd3, %r1, 4; add.s64 %rd2, %rd1, %rd3;',
    ...[...loads, ...sums, ...stores],
    'ret; }',
  ].join('\n');
}

const kernels: object[] = [];
const add = (taken: object): void => {
  kernels.push(taken);
  process.stdout.write(`${JSON.stringify(taken)}\n`);
};
const toolchain = await createClangToolchain();
measure('warm-up', unrolled(BLOCK_LENGTHS[0]!));
for (const folder of positionals.length > 0 ? positionals : rungFolders()) {
  const { kernel, device } = await loadRung(folder);
  const architecture = device === 'virtual:l4' ? 'sm_89' : 'sm_90a';
  const compiled = await toolchain.compile({ candidate: makeCandidate(kernel, {}), architecture });
  if (!compiled.ok) throw new Error(`${folder}: ${compiled.message}`);
  add(measure(folder, compiled.code.text));
}
for (const length of BLOCK_LENGTHS) add(measure(`a block of ${length}`, unrolled(length)));
if (values.output !== undefined) {
  const recording = { schemaVersion: 1, date: new Date().toISOString().slice(0, 10), kernels };
  await writeFile(values.output, `${JSON.stringify(recording, undefined, 1)}\n`);
}

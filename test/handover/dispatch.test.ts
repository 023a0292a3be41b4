import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { loadKernel } from '../../src/app/loading/load-kernel.ts';
import { makeCandidate } from '../../src/core/candidate.ts';
import type { Candidate } from '../../src/core/kernel.ts';
import { completeDimensions } from '../../src/core/plan/dimensions.ts';
import type { Dimensions, ProblemFile } from '../../src/core/problem.ts';
import { dispatchHeader } from '../../src/handover/dispatch-header.ts';
import { dispatchTable } from '../../src/handover/dispatch-table.ts';
import { writeDispatch } from '../../src/handover/write-dispatch.ts';
import { longTestOf, nvccBuild } from '../support/sampling/long-tests.ts';
import { chooseEntry } from './support/choose-entry.ts';
import { hostCompiler, inFolder, nvcc, runHostProgram, runTool, STUB_DEFINITIONS } from './support/host-compiler.ts';
import { randomDimensions } from './support/random-dimensions.ts';

const attention = new URL('../../problems/attention/', import.meta.url).pathname;

const load = async (rung: string, parameters: Record<string, number> = {}): Promise<Candidate> =>
  makeCandidate((await loadKernel(join(attention, rung))).kernel, parameters);

/** What the entries take, and what only their fallback or none does. */
const randomCalls = (problem: ProblemFile, count: number): Dimensions[] =>
  randomDimensions(problem, 11, count).map((call) => ({
    ...call,
    Hkv: call.H!,
    Skv: call.S!,
    bottomRight: 0,
    bshd: 0,
    lse: 0,
  }));

/** @param isOfSettings whether all entries, and the fallback, are settings of one kernel. */
const setUp = async ({ isOfSettings = false } = {}) => {
  const { problem } = await loadKernel(join(attention, '01_minimal'));
  const [start, small, wide, narrow] = await Promise.all([
    load('01_minimal'),
    load('03_rows'),
    load('04_warp'),
    // A second setting of one kernel: its names are those of the first, and must not clash with them.
    load('04_warp', { BLOCK_M: 16, WARPS: 2 }),
  ]);
  const dimensions = (B: number, H: number, S: number, D: number, causal: number): Dimensions =>
    completeDimensions(problem.file.dimensions, { B, H, S, D, causal });
  const winner = (name: string, at: Dimensions, candidate: Candidate, medianNs: number) => ({
    workload: { name, dimensions: at },
    candidate,
    timing: { kind: 'predicted' as const, medianNs },
    seed: medianNs + 1,
  });
  const table = dispatchTable({
    problem: problem.file,
    device: { id: 'virtual:l4', name: 'NVIDIA L4 (virtual)' },
    winners: [
      ...(isOfSettings ? [] : [winner('small', dimensions(1, 1, 32, 64, 0), small, 4_000)]),
      winner('long', dimensions(1, 4, 2048, 64, 0), wide, 300_000),
      winner('causal', dimensions(1, 8, 512, 64, 1), narrow, 30_000),
    ],
    fallback: isOfSettings ? narrow : start,
  });
  const candidates = new Map([start, small, wide, narrow].map((candidate) => [candidate.id, candidate]));
  const files = writeDispatch(table, { problem: problem.file, candidates, folder: '/tmp/nowhere', version: 'test' });
  return { problem: problem.file, table, candidates, files, dimensions };
};

describe('a dispatch table', () => {
  it('sends a call to the nearest entry with the same values, or to the fallback', async () => {
    const { problem, table, candidates, dimensions } = await setUp();
    const chosen = (at: Dimensions): string | undefined => chooseEntry(table, { problem, candidates }, at)?.workload;
    expect(chosen(dimensions(1, 1, 32, 64, 0))).toBe('small');
    expect(chosen(dimensions(1, 8, 2048, 64, 0))).toBe('long');
    expect(chosen(dimensions(1, 1, 48, 64, 0))).toBe('small');
    expect(chosen(dimensions(4, 8, 4096, 64, 0))).toBe('long');
    expect(chosen(dimensions(1, 1, 32, 64, 1))).toBe('causal');
    // D is one of a few values, and no winner is for 128.
    expect(chosen(dimensions(1, 1, 32, 128, 0))).toBeUndefined();
    // 04_warp takes B * H up to 65535 only.
    expect(chosen(dimensions(1024, 64, 4096, 64, 1))).toBeUndefined();
    // As far from one as from the other (H is 1 or 4, S is 32 or 2048): the first.
    expect(chosen(dimensions(1, 2, 256, 64, 0))).toBe('small');
    expect(chosen(dimensions(1, 2, 257, 64, 0))).toBe('long');
  });

  it('is written as JSON, a header, and a folder for each candidate', async () => {
    const { table, files } = await setUp();
    expect(JSON.parse(files['dispatch.json']!)).toEqual(table);
    expect(table.entries.map(({ seed }) => seed)).toEqual([4_001, 300_001, 30_001]);
    expect(files['README.md']).toContain('predicted 4 µs | 4001 |');
    const folders = new Set(Object.keys(files).flatMap((name) => (name.includes('/') ? [name.split('/')[0]] : [])));
    expect(folders.size).toBe(4);
    for (const { folder, workload, candidate } of table.entries) {
      expect(files['dispatch.hpp']).toContain(`#include "${folder}/${folder}_launch.hpp"`);
      expect(files['dispatch.hpp']).toMatch(new RegExp(`// {3}${workload} +${candidate.kernel} \\(${candidate.id}\\)`));
      expect(Object.keys(files)).toContain(`${folder}/kernel.cu`);
      expect(files['README.md']).toContain(`${folder}/${folder}_launch.cu`);
    }
  });

  it('keeps names inside its comments', async () => {
    const { problem, table } = await setUp();
    const [entry] = table.entries;
    const named = {
      ...entry!,
      workload: 'a\n#error \u001b[2J',
      candidate: { ...entry!.candidate, kernel: 'b\n#error' },
    };
    const lines = dispatchHeader({ ...table, entries: [named] }, problem).split('\n');
    expect(lines.filter((line) => line.startsWith('#error'))).toEqual([]);
    expect(lines.find((line) => line.startsWith('//   a'))).toContain('a #error \\u001b[2J  b #error (');
  });
});

describe.skipIf(!hostCompiler)('dispatch.hpp (needs g++)', () => {
  longTestOf(import.meta.filename)('chooses as the table does, and launches what it chose', async () => {
    const { problem, table, candidates, files, dimensions } = await setUp();
    const calls = [dimensions(1, 1, 32, 64, 0), dimensions(1, 1, 32, 128, 0), ...randomCalls(problem, 200)];
    const names = Object.keys(problem.dimensions);
    const folders = [...new Set([...table.entries.map(({ folder }) => folder), table.fallback.folder])];
    const main = [
      '#include "dispatch.hpp"',
      STUB_DEFINITIONS,
      ...folders.map((folder) => `const void* ${folder}::function(int) { return nullptr; }`),
      ...folders.map(
        (folder) =>
          `cudaError_t ${folder}::detail::write_pointers(void**, const void* const*, int, cudaStream_t) { return cudaSuccess; }`,
      ),
      'int main() {',
      `  static const long long rows[][${names.length}] = {${calls
        .map((call) => `{${names.map((name) => call[name]).join(', ')}}`)
        .join(', ')}};`,
      '  for (const auto& row : rows) {',
      '    attention_dispatch::Dimensions dimensions;',
      ...names.map((name, index) => `    dimensions.${name} = row[${index}];`),
      '    std::printf("chosen %s\\n", attention_dispatch::chosen_workload(dimensions));',
      '  }',
      '  attention_dispatch::Dimensions dimensions;',
      '  dimensions.S = dimensions.Skv = 2048; dimensions.D = 64; dimensions.H = dimensions.Hkv = 8;',
      '  attention_dispatch::Sizes sizes;',
      '  std::string why;',
      '  if (attention_dispatch::sizes(dimensions, &sizes, &why) != cudaSuccess) return 1;',
      '  std::printf("O %zu\\n", sizes.O);',
      '  attention_dispatch::Buffers buffers;',
      '  buffers.Q = buffers.K = buffers.V = buffers.O = reinterpret_cast<void*>(4096);',
      '  if (attention_dispatch::prepare(dimensions, nullptr, nullptr, &why) != cudaSuccess) return 2;',
      '  if (attention_dispatch::launch(dimensions, buffers, nullptr, 0, nullptr, &why) != cudaSuccess) return 3;',
      '  dimensions.D = 65;',
      '  if (attention_dispatch::launch(dimensions, buffers, nullptr, 0, nullptr, &why) == cudaSuccess) return 4;',
      '  std::printf("%s\\n", why.c_str());',
      '}',
      '',
    ].join('\n');
    const lines = runHostProgram({ ...files, 'main.cpp': main })
      .trim()
      .split('\n');
    const expected = calls.map(
      (call) => `chosen ${chooseEntry(table, { problem, candidates }, call)?.workload ?? 'fallback'}`,
    );
    expect(lines.slice(0, calls.length)).toEqual(expected);
    expect(new Set(expected).size).toBe(4);
    expect(lines.slice(calls.length)).toEqual([
      `O ${2 * 8 * 2048 * 64}`,
      'launch 64 x 8 x 1, 0 attributes',
      'D is 65; expected one of 32, 64, 96, 128, 256',
    ]);
  });
});

describe.skipIf(!nvcc)('a dispatch table is linked into one program (needs nvcc)', () => {
  nvccBuild('dispatch table')('with two settings of one kernel', async () => {
    // nvcc takes seconds for each kernel; headers of unlike kernels are built by g++ above.
    const { files, table } = await setUp({ isOfSettings: true });
    const main =
      '#include "dispatch.hpp"\n#include <cstdio>\nint main() {\n  attention_dispatch::Dimensions d;\n  d.S = d.Skv = 512; d.D = 64; d.H = d.Hkv = 8;\n' +
      '  std::printf("%s\\n", attention_dispatch::chosen_workload(d));\n  attention_dispatch::Buffers b;\n' +
      '  return attention_dispatch::launch(d, b, nullptr, 0, nullptr) == cudaSuccess ? 1 : 0;\n}\n';
    const folders = [...new Set([...table.entries.map(({ folder }) => folder), table.fallback.folder])];
    expect(folders).toHaveLength(2);
    inFolder({ ...files, 'main.cu': main }, (folder) => {
      const units = folders.map((name) => `${name}/${name}_launch.cu`);
      const built = runTool(
        nvcc!,
        ['-arch=sm_89', '-std=c++17', '-Xcompiler=-Wall', ...units, 'main.cu', '-o', 'main'],
        folder,
      );
      expect(built).toEqual({ code: 0, stdout: '', stderr: '' });
      expect(runTool(join(folder, 'main'), [], folder).stdout).toBe('long\n');
    });
  });
});

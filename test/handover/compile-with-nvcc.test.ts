import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { loadKernel } from '../../src/app/loading/load-kernel.ts';
import { makeCandidate } from '../../src/core/candidate.ts';
import { workloadOf } from '../../src/core/plan/resolve-workload.ts';
import { exportKernel } from '../../src/handover/export-kernel.ts';
import { launchHeader } from '../../src/handover/launch-header/launch-header.ts';
import { nvccFlags } from '../../src/handover/readme.ts';
import { nvccBuild } from '../support/sampling/long-tests.ts';
import { hardCandidate, hardProblem } from './support/everything.ts';
import { inFolder, nvcc, runTool } from './support/host-compiler.ts';

const problemsFolder = new URL('../../problems/', import.meta.url).pathname;
const isFile = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isFile() ?? false;
const problems = readdirSync(problemsFolder).filter((name) => isFile(join(problemsFolder, name, 'problem.json')));
const ARCHITECTURES = ['sm_89', 'sm_90a'];

const generateFor = (architecture: string): string =>
  `-gencode=arch=${architecture.replace('sm', 'compute')},code=${architecture}`;

const exported = async (folder: string) => {
  const { kernel, problem } = await loadKernel(folder);
  const candidate = makeCandidate(kernel, {});
  return {
    candidate,
    ...exportKernel({
      problem,
      problemFiles: {},
      candidate,
      start: candidate,
      workload: workloadOf(problem.file, problem.file.workloads[0]!.dimensions),
      architecture: 'sm_89',
      evidence: null,
      sentences: ['Compiled only.'],
      version: 'test',
      folder: '/tmp/nowhere',
    }),
  };
};

/** Compiles an export's own unit and its example as README.md says, for those of two architectures that the kernel is for. */
const compile = async (folder: string): Promise<string> => {
  const { candidate, name, files } = await exported(folder);
  return inFolder(files, (place) => {
    const units = [`${name}_launch.cu`, 'example.cu'];
    const only = candidate.kernel.file.source.architectures ?? ARCHITECTURES;
    const flags = [
      ...ARCHITECTURES.filter((name) => only.includes(name)).map(generateFor),
      ...nvccFlags(candidate),
      '-Xcompiler=-Wall',
    ];
    const { stdout, stderr, code } = runTool(nvcc!, [...flags, ...units, '-o', 'example'], place);
    return code === 0 ? stdout + stderr : `exit code ${code}: ${stdout}${stderr}`;
  });
};

/** Every rung of every problem takes minutes: the last one of attention unless asked for all. */
const EVERY_RUNG = process.env.WARPSMITH_TEST_EVERY_RUNG !== undefined;

const rungsOf = (problem: string): string[] => {
  const rungs = readdirSync(join(problemsFolder, problem))
    .filter((name) => /^\d\d_/.test(name))
    .sort();
  if (EVERY_RUNG) return rungs;
  return problem === 'attention' ? rungs.slice(-1) : [];
};

describe.skipIf(!nvcc)('exports compile for sm_89 and sm_90a (needs nvcc)', () => {
  const rungs = problems.flatMap((problem) => rungsOf(problem).map((rung) => `${problem}/${rung}`));

  nvccBuild('export')('every one, without a warning', { timeout: 180_000 * rungs.length }, async () => {
    for (const rung of rungs) expect(await compile(join(problemsFolder, rung)), rung).toBe('');
  });

  nvccBuild('hard header')(
    'tensor maps, clusters, cooperative and dependent launches, against the real runtime',
    () => {
      const header = launchHeader({ problem: hardProblem, candidate: hardCandidate(), name: 'hard', provenance: [] });
      const main =
        '#include "hard_launch.hpp"\ncudaError_t call(const hard::Dimensions& d, const hard::Buffers& b) {\n' +
        '  std::string why;\n  hard::prepare(d, nullptr, nullptr, &why);\n  return hard::launch(d, b, nullptr, 0, nullptr, &why);\n}\n';
      const said = inFolder({ 'hard_launch.hpp': header, 'main.cu': main }, (folder) =>
        runTool(nvcc!, ['-std=c++14', '-Xcompiler=-Wall,-Wextra', '-c', 'main.cu', '-o', 'main.o'], folder),
      );
      expect(said).toEqual({ code: 0, stdout: '', stderr: '' });
    },
  );
});

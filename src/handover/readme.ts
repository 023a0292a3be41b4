import type { Candidate } from '../core/kernel.ts';
import { arithmeticArguments } from '../toolchains/nvrtc/nvrtc-arguments.ts';
import { parseFlags } from '../toolchains/user-flags.ts';
import type { Reproduction } from './reproduction.ts';

/** The flags nvcc needs beside an architecture to compile the kernel as it was judged. */
export const nvccFlags = (candidate: Candidate): string[] => {
  const { source } = candidate.kernel.file;
  const parsed = parseFlags(source.flags ?? [], Object.keys(candidate.parameters));
  if (!parsed.ok) return [];
  const { settings } = parsed;
  return [
    `-std=${settings.languageStandard.replace('gnu', 'c')}`,
    ...['-O3', '--expt-relaxed-constexpr', '--extended-lambda'],
    ...(source.flags?.length ? arithmeticArguments(settings) : []),
    ...(settings.optimisationLevel === '3' ? [] : [`--ptxas-options=-O${settings.optimisationLevel}`]),
    ...(settings.maximumRegisters === undefined ? [] : [`--maxrregcount=${settings.maximumRegisters}`]),
    ...settings.macros,
  ];
};

/** README.md of an export. `evidence` are sentences about the result, each with its kind. */
export const exportReadme = (request: {
  readonly name: string;
  readonly candidate: Candidate;
  readonly evidence: readonly string[];
  readonly architecture: string;
  readonly reproduction: Omit<Reproduction, 'files'>;
  readonly patchedKernel: string | undefined;
}): string => {
  const { name, candidate, evidence, architecture, reproduction, patchedKernel } = request;
  const { file, parameters } = { ...candidate.kernel, parameters: candidate.parameters };
  const values = Object.entries(parameters).map(([parameter, value]) => `${parameter}=${value}`);
  const flags = [`-arch=${architecture}`, ...nvccFlags(candidate)].join(' ');
  return [
    `# ${name}`,
    '',
    `${file.name}: ${file.description}`,
    '',
    `Candidate ${candidate.id}${values.length === 0 ? '' : `, with ${values.join(', ')}`}. Written by warpsmith ${reproduction.warpsmith}.`,
    '',
    '## What is known of it',
    '',
    ...evidence.map((line) => `- ${line}`),
    '',
    '## Files',
    '',
    '| File | What it is |',
    '|---|---|',
    `| ${file.source.files.join(', ')} | The kernel, its parameters baked in |`,
    `| ${name}_launch.hpp | Sizes, grid, block, shared memory, workspaces and the launch: C++11 over the CUDA runtime API |`,
    `| ${name}_launch.cu | Binds the two; compile it with nvcc |`,
    '| example.cu | Allocates, launches once, looks whether the outputs are numbers |',
    ...(patchedKernel === undefined
      ? []
      : [
          `| change.patch | Makes ${patchedKernel} this kernel: \`patch -p1 < change.patch\` in its folder, or \`git apply\` |`,
        ]),
    '| kernel.json | The same for warpsmith, which judges this folder as it does any kernel |',
    '| reproduce.json | Hashes, versions, seeds, device and workloads, and the command that judges it again |',
    '',
    '## Use',
    '',
    '```sh',
    `nvcc ${flags} ${name}_launch.cu example.cu -o example`,
    './example',
    '```',
    '',
    `\`${name}_launch.hpp\` may be included anywhere, by a host compiler too; only \`${name}_launch.cu\` needs nvcc. Everything`,
    `it defines lies in the namespace \`${name}\`, so several exports can be linked into one program.`,
    '',
    '```cpp',
    `${name}::Sizes sizes;`,
    `${name}::sizes(dimensions, &sizes, &why);                     // bytes of each buffer and of the workspace`,
    `${name}::prepare(dimensions, workspace, stream, &why);        // once for each workspace`,
    `${name}::launch(dimensions, buffers, workspace, sizes.workspace_bytes, stream, &why);`,
    '```',
    '',
    'Each returns a `cudaError_t`. `cudaErrorInvalidValue` means that the kernel does not take the call; `why` says which limit',
    'it breaks. Nothing is launched then.',
    '',
    '## Judge it again',
    '',
    '```sh',
    reproduction.command,
    '```',
    '',
  ].join('\n');
};

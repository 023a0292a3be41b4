import type { Candidate } from '../core/kernel.ts';
import { arithmeticArguments } from '../toolchains/nvrtc/nvrtc-arguments.ts';
import { parseFlags } from '../toolchains/user-flags.ts';
import { fillTemplate } from './fill-template.ts';
import type { Reproduction } from './reproduction.ts';

/** The flags nvcc needs beside an architecture to compile the kernel as it was judged. */
export function nvccFlags(candidate: Candidate): string[] {
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
}

/** README.md of an export. `evidence` are sentences about the result, each with its kind. */
export function exportReadme(request: {
  readonly name: string;
  readonly candidate: Candidate;
  readonly evidence: readonly string[];
  readonly architecture: string;
  readonly reproduction: Omit<Reproduction, 'files'>;
  readonly patchedKernel: string | undefined;
}): string {
  const { name, candidate, evidence, architecture, reproduction, patchedKernel } = request;
  const { file } = candidate.kernel;
  const values = Object.entries(candidate.parameters).map(([parameter, value]) => `${parameter}=${value}`);
  return fillTemplate('export.md', {
    name,
    kernel: file.name,
    description: file.description,
    candidate: candidate.id,
    parameters: values.length === 0 ? '' : `, with ${values.join(', ')}`,
    version: reproduction.warpsmith,
    evidence,
    sources: file.source.files.join(', '),
    isPatch: patchedKernel !== undefined,
    patchedKernel: patchedKernel ?? '',
    flags: [`-arch=${architecture}`, ...nvccFlags(candidate)].join(' '),
    command: reproduction.command,
  });
}

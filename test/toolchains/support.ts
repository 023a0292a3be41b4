import { makeCandidate } from '../../src/core/candidate.ts';
import type { CompiledCode, CompileOutcome } from '../../src/core/compiled-code.ts';
import type { Candidate, KernelFile, ParameterValues } from '../../src/core/kernel.ts';
import type { Toolchain } from '../../src/toolchains/toolchain.ts';

export interface KernelDescription {
  /** Text of kernel.cu, or every file by name. */
  source: string | Record<string, string>;
  functions?: string[];
  kind?: 'cuda' | 'ptx' | 'cubin';
  flags?: string[];
  includes?: string[];
  architectures?: string[];
  parameters?: Record<string, number>;
}

/** A candidate made in memory, with what a compile looks at and nothing else. */
export function candidateOf(description: KernelDescription): Candidate {
  const { source, functions = ['run'], kind = 'cuda', flags, includes, architectures, parameters = {} } = description;
  const sources = typeof source === 'string' ? { 'kernel.cu': source } : source;
  const declarations = Object.fromEntries(
    Object.entries(parameters).map(([name, value]) => [name, { values: [value], default: value }]),
  );
  const file: KernelFile = {
    schemaVersion: 1,
    name: 'test',
    description: '',
    problem: '../problem.json',
    source: {
      kind,
      files: Object.keys(sources).filter((name) => !(includes ?? []).includes(name)),
      ...(flags && { flags }),
      ...(includes && { includes }),
      ...(architectures && { architectures }),
    },
    parameters: declarations,
    steps: functions.map((name) => ({ function: name, grid: [1], block: [32], arguments: [] })),
  };
  return makeCandidate({ folder: '/kernel', file, sources }, parameters as ParameterValues);
}

export type Failure = Extract<CompileOutcome, { ok: false }>;

export async function compileFails(
  toolchain: Toolchain,
  description: KernelDescription,
  architecture = 'sm_89',
): Promise<Failure> {
  const outcome = await toolchain.compile({ candidate: candidateOf(description), architecture });
  if (outcome.ok) throw new Error('This kernel should not have compiled.');
  return outcome;
}

export async function compiles(
  toolchain: Toolchain,
  description: KernelDescription,
  architecture = 'sm_89',
): Promise<CompiledCode> {
  const outcome = await toolchain.compile({ candidate: candidateOf(description), architecture });
  if (outcome.ok) return outcome.code;
  const places = outcome.diagnostics.map(({ message, location }) => `${location?.file}:${location?.line}: ${message}`);
  throw new Error(`${outcome.status}: ${outcome.message}\n${places.join('\n')}`);
}

/** The PTX of one compiled function, from its `.entry` to the closing brace. */
export function entryOf(code: CompiledCode, name: string): string {
  const symbol = code.functionSymbols[name];
  const start = code.text.search(new RegExp(`\\.entry ${symbol?.replaceAll('$', '\\$')}\\([^;]*?\\{`));
  if (start < 0) throw new Error(`There is no entry for ${name}.`);
  return code.text.slice(start, code.text.indexOf('\n}', start));
}

import type { Candidate } from '../core/kernel.ts';
import { sortedEntries } from '../core/values.ts';
import { sha256 } from '../process/sha256.ts';

/** Bump when the way code is generated changes without any input changing. */
const RECIPE_VERSION = 1;

export interface KeyInputs {
  candidate: Candidate;
  architecture: string;
  functions: readonly string[];
  /** Both stages' command lines, apart from paths of temporary folders. */
  commandLines: readonly (readonly string[])[];
  headerDigest: string;
  compilerFingerprint: string;
  /** The driver that loads or compiles the result; absent if none does. */
  driverVersion?: string;
}

/** SHA-256 of everything that determines the compiled text. */
export function compileKey(inputs: KeyInputs): string {
  const { candidate, architecture, functions, commandLines, headerDigest, compilerFingerprint, driverVersion } = inputs;
  const { source } = candidate.kernel.file;
  const everything = {
    recipe: RECIPE_VERSION,
    source: { kind: source.kind, files: source.files, includes: source.includes ?? [], flags: source.flags ?? [] },
    sources: sortedEntries(candidate.kernel.sources),
    parameters: sortedEntries(candidate.parameters),
    functions,
    architecture,
    commandLines,
    headerDigest,
    compilerFingerprint,
    driverVersion,
  };
  return sha256(JSON.stringify(everything));
}

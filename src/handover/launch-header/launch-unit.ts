import type { Candidate } from '../../core/kernel.ts';
import { compiledFiles } from '../../toolchains/function-symbols.ts';
import { fillTemplate } from '../fill-template.ts';
import { launchedFunctions } from './steps.ts';

const SYSTEM_INCLUDE = /^[ \t]*#[ \t]*include[ \t]*<([^>\n]+)>/gm;
const PLAIN_NAME = /^(?:::)?([A-Za-z_]\w*)$/;

/**
 * The unit that binds the launch header to kernel.cu. The kernel lies in the header's namespace, so that two exports can
 * be linked into one program: what it includes stands before it, and names of C linkage, which know no namespaces, get
 * the namespace as a prefix. Pointers are stored by a launch, not a copy: what is captured into a graph keeps the
 * addresses in the launch's own arguments.
 */
export function launchUnit(candidate: Candidate, name: string): string {
  const { file, sources } = candidate.kernel;
  const includes = new Set(
    Object.values(sources).flatMap((text) => [...text.matchAll(SYSTEM_INCLUDE)].map(([, header]) => header!)),
  );
  const functions = launchedFunctions(file);
  return fillTemplate('launch.cu', {
    name,
    includes: [...includes].map((header) => ({ header })),
    plainNames: functions.flatMap((text) => PLAIN_NAME.exec(text)?.[1] ?? []).map((plain) => ({ plain })),
    sources: compiledFiles(file),
    functions: functions.map((text) => text.replace(/^::/, '')),
    usesPointers: JSON.stringify(file.steps).includes('"pointers"'),
  });
}

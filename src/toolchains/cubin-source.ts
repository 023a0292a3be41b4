import type { CompileOutcome } from '../core/compiled-code.ts';
import type { Candidate } from '../core/kernel.ts';
import { readCubin } from './cubin.ts';
import { precompiled } from './precompiled.ts';

/** A kernel that is machine code already: checked for its architecture and its functions, and taken as it is. */
export function passThroughCubin(
  candidate: Candidate,
  architecture: string,
  functions: readonly string[],
): CompileOutcome {
  const { file, sources } = candidate.kernel;
  if (file.source.files.length !== 1) {
    return refuse('invalid', `A cubin kernel is one file; source.files lists ${file.source.files.length}.`);
  }
  const name = file.source.files[0]!;
  const text = sources[name] ?? '';
  const cubin = readCubin(Buffer.from(text, 'base64'));
  if (cubin === undefined) return refuse('invalid', `${name} is not a cubin (an ELF file for NVIDIA GPUs).`);
  const made = `sm_${cubin.computeCapability}`;
  if (cubin.computeCapability !== Number(/\d+/.exec(architecture)?.[0])) {
    return refuse('unsupported', `${name} is machine code for ${made}; the device is ${architecture}.`);
  }
  const missing = functions.find((wanted) => !cubin.functions.includes(wanted));
  if (missing !== undefined) {
    return refuse('invalid', `${name} has no kernel \`${missing}\`; it has ${cubin.functions.join(', ') || 'none'}.`);
  }
  return precompiled('cubin', text, architecture, functions);
}

function refuse(status: 'invalid' | 'unsupported', message: string): CompileOutcome {
  return { ok: false, status, message, diagnostics: [], elapsedMs: 0 };
}

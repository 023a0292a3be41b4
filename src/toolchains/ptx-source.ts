import type { CompileOutcome } from '../core/compiled-code.ts';
import type { Candidate } from '../core/kernel.ts';
import { PtxSyntaxError } from '../ptx/errors.ts';
import { lexPtx } from '../ptx/lexer.ts';
import { precompiled } from './precompiled.ts';

/** A kernel written in PTX needs no compiler: its text stays unchanged, and its entries are its functions. */
export function passThroughPtx(
  candidate: Candidate,
  architecture: string,
  functions: readonly string[],
): CompileOutcome {
  const { file, sources } = candidate.kernel;
  if (file.source.files.length !== 1) {
    return refuse(`A PTX kernel is one file; source.files lists ${file.source.files.length}.`);
  }
  const name = file.source.files[0]!;
  const text = sources[name] ?? '';
  const entries = entryNames(text);
  if (entries instanceof PtxSyntaxError) return refuse(`${name} can't be read: ${entries.message}`);
  const missing = functions.find((wanted) => !entries.includes(wanted));
  if (missing !== undefined) {
    return refuse(`${name} has no entry \`${missing}\`; it has ${entries.join(', ') || 'none'}.`);
  }
  return precompiled('ptx', text, architecture, functions);
}

function entryNames(ptx: string): string[] | PtxSyntaxError {
  try {
    const { tokens } = lexPtx(ptx);
    return tokens.flatMap(({ kind, text }, i) =>
      kind === 'directive' && text === '.entry' ? [tokens[i + 1]!.text] : [],
    );
  } catch (error) {
    if (error instanceof PtxSyntaxError) return error;
    throw error;
  }
}

function refuse(message: string): CompileOutcome {
  return { ok: false, status: 'invalid', message, diagnostics: [], elapsedMs: 0 };
}

import { createHash } from 'node:crypto';
import type { CompileOutcome } from '../core/compiled-code.ts';
import { screenModule } from './module-policy.ts';

/** The compiled code of a kernel that comes as PTX or cubin: its function names are its symbols. */
export function precompiled(
  kind: 'ptx' | 'cubin',
  text: string,
  architecture: string,
  functions: readonly string[],
): CompileOutcome {
  const key = createHash('sha256')
    .update(JSON.stringify([kind, architecture, functions, text]))
    .digest('hex');
  const functionSymbols = Object.fromEntries(functions.map((name) => [name, name]));
  const compiler = { name: 'none', version: kind === 'ptx' ? 'PTX source' : 'cubin source' };
  const code = { kind, text, architecture, compiler, functionSymbols, key, diagnostics: [] };
  return screenModule({ ok: true, code, cached: false, elapsedMs: 0 });
}

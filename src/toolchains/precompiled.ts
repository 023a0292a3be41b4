import type { CompileOutcome } from '../core/compiled-code.ts';
import type { Candidate } from '../core/kernel.ts';
import { sha256 } from '../process/sha256.ts';
import { PtxSyntaxError } from '../ptx/errors.ts';
import { lexPtx } from '../ptx/lexer.ts';
import { readCubin } from './cubin.ts';
import { screenModule } from './module-policy.ts';
import { refuse } from './outcomes.ts';

type PrecompiledKind = 'ptx' | 'cubin';

/** Why a file can't be used. */
interface Refusal {
  readonly status: 'invalid' | 'unsupported';
  readonly message: string;
}

/** How a kernel that needs no compiler is read: its functions, or why it is refused. */
interface Reader {
  readonly name: string;
  /** What its functions are called in messages. */
  readonly noun: string;
  functionsIn(name: string, text: string, architecture: string): readonly string[] | Refusal;
}

const READERS: Readonly<Record<PrecompiledKind, Reader>> = {
  ptx: { name: 'PTX', noun: 'entry', functionsIn: entriesOf },
  cubin: { name: 'cubin', noun: 'kernel', functionsIn: functionsOfCubin },
};

/** A kernel that comes as PTX or cubin. Its functions are checked; the code stays unchanged, and its names are its symbols. */
export function passThrough(
  kind: PrecompiledKind,
  { kernel: { file, sources } }: Candidate,
  architecture: string,
  functions: readonly string[],
): CompileOutcome {
  const { name: kindName, noun, functionsIn } = READERS[kind];
  const { files } = file.source;
  if (files.length !== 1)
    return refuse('invalid', `A ${kindName} kernel is one file; source.files lists ${files.length}.`);
  const name = files[0]!;
  const text = sources[name] ?? '';
  const found = functionsIn(name, text, architecture);
  if ('message' in found) return refuse(found.status, found.message);
  const missing = functions.find((wanted) => !found.includes(wanted));
  if (missing !== undefined)
    return refuse('invalid', `${name} has no ${noun} \`${missing}\`; it has ${found.join(', ') || 'none'}.`);
  const key = sha256(JSON.stringify([kind, architecture, functions, text]));
  const functionSymbols = Object.fromEntries(functions.map((one) => [one, one]));
  const compiler = { name: 'none', version: `${kindName} source` };
  const code = { kind, text, architecture, compiler, functionSymbols, key, diagnostics: [] };
  return screenModule({ ok: true, code, cached: false, elapsedMs: 0 });
}

function entriesOf(name: string, ptx: string): string[] | Refusal {
  try {
    const { tokens } = lexPtx(ptx);
    return tokens.flatMap(({ kind, text }, i) =>
      kind === 'directive' && text === '.entry' ? [tokens[i + 1]!.text] : [],
    );
  } catch (error) {
    if (error instanceof PtxSyntaxError)
      return { status: 'invalid', message: `${name} can't be read: ${error.message}` };
    throw error;
  }
}

function functionsOfCubin(name: string, text: string, architecture: string): readonly string[] | Refusal {
  const cubin = readCubin(Buffer.from(text, 'base64'));
  if (cubin === undefined) {
    return { status: 'invalid', message: `${name} is not a cubin (an ELF file for NVIDIA GPUs).` };
  }
  if (cubin.computeCapability === Number(/\d+/.exec(architecture)?.[0])) return cubin.functions;
  const made = `sm_${cubin.computeCapability}`;
  return { status: 'unsupported', message: `${name} is machine code for ${made}; the device is ${architecture}.` };
}

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type CompiledCode, ptxOf } from '../core/compiled-code.ts';
import { runProcess } from '../process/run-process.ts';
import { withTemporaryFolder } from '../process/temporary-folder.ts';
import { type CudaSearch, type CudaTool, findCudaTool } from './cuda-toolkit.ts';

/** What a GPU is really given, as text. */
export interface Disassembly {
  /** What the machine code was made from. */
  ptx?: string;
  /** Machine instructions by name. */
  sass?: string;
  /** Why one of them is missing. */
  notes: string[];
}

/** Tools that print machine code, the more detailed first, and their arguments before the cubin's path. */
const DISASSEMBLERS: readonly (readonly [CudaTool, readonly string[]])[] = [
  ['nvdisasm', ['--print-line-info']],
  ['cuobjdump', ['--dump-sass']],
];

export const WITHOUT_PTX = 'PTX: this machine code came without the PTX it was made from.';

const TIMEOUT_MS = 60_000;
const MAXIMUM_OUTPUT_BYTES = 64 << 20;

/**
 * PTX and machine code of compiled code, as far as the tools of this machine allow: nvdisasm or cuobjdump print the
 * machine code, and for code that is PTX ptxas assembles it first. Never fails; `notes` say what is missing.
 */
export async function disassemble(
  code: CompiledCode,
  search: CudaSearch = {},
  signal?: AbortSignal,
): Promise<Disassembly> {
  const notes: string[] = [];
  const ptx = ptxOf(code);
  if (ptx === undefined) notes.push(WITHOUT_PTX);
  const sass = await withTemporaryFolder(async (folder) => {
    const where = { folder, search, signal };
    const cubin = await cubinOf(code, where);
    return 'note' in cubin ? cubin : printCubin(cubin.path, where);
  });
  if ('note' in sass) notes.push(`SASS: ${sass.note}`);
  return { ptx, sass: 'text' in sass ? sass.text : undefined, notes };
}

type Note = { note: string };

interface Where {
  readonly folder: string;
  readonly search: CudaSearch;
  /** Ends the tool. */
  readonly signal: AbortSignal | undefined;
}

async function cubinOf(code: CompiledCode, where: Where): Promise<{ path: string } | Note> {
  const { folder, search } = where;
  const path = join(folder, 'code.cubin');
  if (code.kind === 'cubin') {
    await writeFile(path, Buffer.from(code.text, 'base64'));
    return { path };
  }
  const ptxas = findCudaTool('ptxas', search);
  if (ptxas === undefined) return { note: 'ptxas of the CUDA toolkit is needed to assemble PTX, and was not found.' };
  await writeFile(join(folder, 'code.ptx'), code.text);
  const args = [`--gpu-name=${code.architecture}`, '--generate-line-info', '-o', path, 'code.ptx'];
  const failure = failureOf(await run(ptxas, args, where), 'ptxas');
  return failure === undefined ? { path } : { note: `${failure} The driver's own assembler may differ.` };
}

async function printCubin(path: string, where: Where): Promise<{ text: string } | Note> {
  const { folder, search } = where;
  for (const [tool, args] of DISASSEMBLERS) {
    const command = findCudaTool(tool, search);
    if (command === undefined) continue;
    const outcome = await run(command, [...args, path], where);
    const failure = failureOf(outcome, tool);
    return failure === undefined ? { text: outcome.stdout.replaceAll(folder, '') } : { note: failure };
  }
  return { note: 'nvdisasm or cuobjdump of the CUDA toolkit is needed to print machine code; neither was found.' };
}

const run = (command: string, args: readonly string[], { folder, signal }: Where) =>
  runProcess({ command, args, cwd: folder, signal, timeoutMs: TIMEOUT_MS, maximumOutputBytes: MAXIMUM_OUTPUT_BYTES });

function failureOf(outcome: Awaited<ReturnType<typeof run>>, tool: string): string | undefined {
  if (outcome.end === 'exited' && outcome.exitCode === 0) return undefined;
  const reason = (outcome.stderr || outcome.stdout).trim().split('\n')[0] || outcome.end;
  return `${tool} failed: ${reason}.`;
}

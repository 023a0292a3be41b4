import { readFileSync } from 'node:fs';
import { join } from 'node:path';

// biome-ignore lint/suspicious/noExplicitAny: files that the schemas check.
type Json = any;
const read = (...path: string[]): Json => JSON.parse(readFileSync(join(...path), 'utf8')) as Json;

interface Buffer {
  access: string;
  dtype: string;
  shape: (string | number)[];
}

interface Step {
  function?: string;
  memset?: { buffer: string };
  grid: (string | number)[];
  block: (string | number)[];
  sharedBytes?: string | number;
  arguments: { buffer?: string; scalar?: string | number }[];
}

/** What a problem folder that init wrote says, in lines short enough to compare by eye. */
export function summaryOf(folder: string): { buffers: string; steps: string[]; reference: string } {
  const problem = read(folder, 'problem.json');
  const all = Object.entries({ ...problem.inputs, ...problem.outputs }) as [string, Buffer][];
  const buffers = all.map(([name, { access, dtype, shape }]) => `${access} ${dtype} ${name}[${shape.join(', ')}]`);
  const rungs = problem.rungs as string[];
  const steps = rungs.flatMap((rung) => {
    const kernel = read(folder, rung, 'kernel.json');
    const entries = Object.entries((kernel.workspaces ?? {}) as Record<string, { bytes: string }>);
    const workspaces = entries.map(([name, { bytes }]) => `workspace ${name}: ${bytes}`);
    const limits = ((kernel.limits ?? []) as string[]).map((limit) => `needs ${limit}`);
    return [...workspaces, ...limits, ...(kernel.steps as Step[]).map(stepText)];
  });
  const reference = readFileSync(join(folder, 'reference.ts'), 'utf8');
  return { buffers: buffers.join(', '), steps, reference: /Translated from (\w+)/.exec(reference)?.[1] ?? 'stub' };
}

function stepText({ function: name, memset, grid, block, sharedBytes, arguments: args }: Step): string {
  if (memset) return `zero ${memset.buffer}`;
  const shared = sharedBytes === undefined ? '' : `, ${sharedBytes} B`;
  const passed = args.map(({ buffer, scalar }) => buffer ?? scalar).join(', ');
  return `${name} (${grid.join(', ')}) x (${block.join(', ')})${shared}: ${passed}`;
}

import { readFile } from 'node:fs/promises';
import { formatCount } from '../../src/reports/format.ts';
import { markdownTable } from '../../src/reports/print/markdown.ts';
import { ROOT } from './recordings.ts';

/** What a compiler made of a kernel. */
interface Compiled {
  readonly instructions: number;
  readonly stackBytes: number;
}

/** docs/results/unrolling.json, by bench/virtual-gpu/unrolling.ts. */
interface UnrollingRecording {
  readonly schemaVersion: 1;
  /** Day of the recording, UTC. */
  readonly date: string;
  readonly architecture: string;
  readonly nvcc: string;
  readonly clang: string;
  /** `clang` by the limit up to which it unrolls. */
  readonly kernels: readonly { kernel: string; nvcc: Compiled; clang: Readonly<Record<string, Compiled>> }[];
}

const cellOf = ({ instructions, stackBytes }: Compiled): string =>
  stackBytes === 0 ? String(instructions) : `${instructions}, ${formatCount(stackBytes, 'byte')} of stack`;

/** Instructions of kernels with register arrays, by nvcc and by clang with several limits. */
export async function unrollingBlocks(): Promise<Record<string, string>> {
  const text = await readFile(new URL('docs/results/unrolling.json', ROOT), 'utf8');
  const { kernels, architecture, nvcc, clang, date } = JSON.parse(text) as UnrollingRecording;
  const limits = Object.keys(kernels[0]!.clang);
  const columns = [
    { title: 'kernel' },
    { title: 'nvcc', align: 'right' as const },
    ...limits.map((limit) => ({ title: `clang, ${limit}`, align: 'right' as const })),
  ];
  const cells = kernels.map((one) => [
    `\`${one.kernel}\``,
    cellOf(one.nvcc),
    ...limits.map((limit) => cellOf(one.clang[limit]!)),
  ]);
  return {
    unrolling: `${markdownTable(columns, cells)}\n\nFor ${architecture}, nvcc ${nvcc}, clang ${clang}, ${date}.`,
  };
}

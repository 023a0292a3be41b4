import { readFile } from 'node:fs/promises';
import { DEVICE_SPECS } from '../../src/hardware/device-specs.ts';
import { occupancy } from '../../src/hardware/occupancy.ts';
import { formatPercent } from '../../src/reports/format.ts';
import { markdownTable } from '../../src/reports/print/markdown.ts';
import { ROOT } from './recordings.ts';

/** Whole kernels are kept out of a fit, with all their settings, so that no twin of a kernel is on both sides. */
export type Half = 'fit' | 'held-out';

/** What `ptxas -v` says of one function. */
export interface Allocation {
  readonly registers: number;
  readonly stackBytes: number;
  readonly spillStoreBytes: number;
  readonly spillLoadBytes: number;
}

export interface RegisterRow {
  readonly kernel: string;
  readonly half: Half;
  /** Symbol of the function. */
  readonly function: string;
  readonly parameters: Readonly<Record<string, number>>;
  readonly architecture: string;
  /** Digest of the PTX text. */
  readonly ptx: string;
  readonly threadsPerCta: number;
  /** Static and dynamic. */
  readonly sharedBytes: number;
  readonly estimated: number;
  /** 32-bit registers for which the bounds are estimated to leave no room. */
  readonly spilled: number;
  readonly allocated: Allocation;
}

/** docs/results/registers.json, by bench/virtual-gpu/registers.ts. */
export interface RegisterRecording {
  readonly schemaVersion: 1;
  /** Day of the recording, UTC. */
  date: string;
  readonly ptxas: string;
  clang: string;
  rows: RegisterRow[];
}

/** How near the estimates of some functions are. Shares are 0…1. */
export interface RegisterAccuracy {
  readonly functions: number;
  /** Mean of |estimated ÷ allocated − 1|. */
  readonly meanError: number;
  /** Functions whose CTAs per SM come out as with the allocated registers. */
  readonly sameOccupancy: number;
}

/** A device of each architecture. */
const DEVICES: Readonly<Record<string, string>> = { sm_80: 'a100', sm_89: 'l4', sm_90: 'h200', sm_90a: 'h200' };

function ctasPerSm({ architecture, threadsPerCta, sharedBytes }: RegisterRow, registersPerThread: number): number {
  const resources = {
    registersPerThread,
    registersSource: 'estimated' as const,
    staticSharedBytes: 0,
    dynamicSharedBytes: sharedBytes,
    localBytesPerThread: 0,
  };
  return occupancy(resources, threadsPerCta, DEVICE_SPECS.get(DEVICES[architecture]!)!).ctasPerSm;
}

const share = (rows: readonly RegisterRow[], of: (row: RegisterRow) => number): number =>
  rows.reduce((sum, row) => sum + of(row), 0) / Math.max(1, rows.length);

export const registerAccuracy = (rows: readonly RegisterRow[]): RegisterAccuracy => ({
  functions: rows.length,
  meanError: share(rows, ({ estimated, allocated }) => Math.abs(estimated / allocated.registers - 1)),
  sameOccupancy: share(rows, (row) =>
    ctasPerSm(row, row.estimated) === ctasPerSm(row, row.allocated.registers) ? 1 : 0,
  ),
});

/** Below this, registers limit the occupancy of none of these devices' kernels. */
const FREE_REGISTERS = 32;

const GROUPS: readonly { title: string; takes(row: RegisterRow): boolean }[] = [
  { title: `more than ${FREE_REGISTERS} registers`, takes: (row) => row.allocated.registers > FREE_REGISTERS },
  { title: `at most ${FREE_REGISTERS}`, takes: (row) => row.allocated.registers <= FREE_REGISTERS },
  { title: 'all', takes: () => true },
];

const HALVES: readonly Half[] = ['fit', 'held-out'];

export const readRegisters = async (): Promise<RegisterRecording> =>
  JSON.parse(await readFile(new URL('docs/results/registers.json', ROOT), 'utf8')) as RegisterRecording;

export async function registerBlocks(): Promise<Record<string, string>> {
  const { rows, ptxas, clang, date } = await readRegisters();
  const columns = [
    { title: 'functions' },
    { title: 'kernels' },
    { title: 'number', align: 'right' as const },
    { title: 'mean error', align: 'right' as const },
    { title: 'CTAs per SM right', align: 'right' as const },
  ];
  const cells = HALVES.flatMap((half) =>
    GROUPS.map(({ title, takes }) => {
      const { functions, meanError, sameOccupancy } = registerAccuracy(
        rows.filter((row) => row.half === half && takes(row)),
      );
      return [title, half, String(functions), formatPercent(meanError), formatPercent(sameOccupancy)];
    }),
  );
  const spilling = rows.filter(({ allocated }) => allocated.spillStoreBytes > 0);
  const expected = rows.filter(({ spilled }) => spilled > 0);
  const found = spilling.filter(({ spilled }) => spilled > 0);
  const spills =
    `ptxas spills registers of ${spilling.length} functions. Spills were expected of ${found.length} of them, and of ` +
    `${expected.length - found.length} others.`;
  const footer = `The same PTX, by clang ${clang}, for sm_80, sm_89 and sm_90a; ptxas ${ptxas}, ${date}.`;
  return { 'register-accuracy': `${markdownTable(columns, cells)}\n\n${spills} ${footer}` };
}

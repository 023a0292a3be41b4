import { basename } from 'node:path';
import type { LineCounters } from '../../../core/counters.ts';
import { lineCountersAt } from '../../../core/empty-line-counters.ts';
import { parseCsv, parseNumber } from './csv.ts';
import { sassClass } from './sass-classes.ts';

/**
 * Counters by source line of one launch, from `ncu --import … --csv --page source --print-source cuda,sass`. The page has a
 * table for each file. A row with a line number is a source line; the rows after it without one are its machine
 * instructions. Sums are taken over the instructions. ncu also lists an inlined instruction under the lines of its calls;
 * here it counts only for the first line that lists it, so that lines add up to the launch.
 */
export function parseSourcePage(text: string): LineCounters[] {
  const lines = new Map<string, LineCounters>();
  const counted = new Set<string>();
  let [file, header, line]: [string, string[] | undefined, number | undefined] = ['', undefined, undefined];
  for (const row of parseCsv(text)) {
    if (row[0] === 'File Path') {
      file = basename(row[1] ?? '');
      [header, line] = [undefined, undefined];
    } else if (row[0] === 'Line No' || row[0] === '# Line') {
      header = row;
    } else if (header && /^\d+$/.test(row[0] ?? '')) {
      line = Number(row[0]);
    } else if (header && line !== undefined) {
      const address = cellOf(header, row, 'Address');
      if (!/^(0x)?[0-9a-f]+$/i.test(address) || counted.has(address)) continue;
      counted.add(address);
      addInstruction(lineCountersAt(lines, { file, line }), header, row);
    }
  }
  return [...lines.values()].filter(({ instructions }) => instructions > 0);
}

function cellOf(header: readonly string[], row: readonly string[], ...names: string[]): string {
  for (const name of names) {
    const value = row[header.indexOf(name)] ?? row[header.indexOf(`# ${name}`)];
    if (value !== undefined) return value.trim();
  }
  return '';
}

function addInstruction(line: LineCounters, header: readonly string[], row: readonly string[]): void {
  const number = (...names: string[]): number => parseNumber(cellOf(header, row, ...names)) ?? 0;
  const opcode = opcodeOf(row[header.lastIndexOf('Source')] ?? '');
  const executed = number('Instructions Executed');
  const sectors = number('L2 Theoretical Sectors Global');
  const wavefronts = number('L1 Wavefronts Shared');
  line.instructions += executed;
  line.threadInstructions += number('Thread Instructions Executed');
  line.divergentBranches += number('Divergent Branches');
  line.bankConflicts += number('L1 Wavefronts Shared Excessive');
  switch (sassClass(opcode)) {
    case 'global-load':
      line.globalLoadRequests += executed;
      line.globalLoadSectors += sectors;
      break;
    case 'global-store':
      line.globalStoreRequests += executed;
      line.globalStoreSectors += sectors;
      break;
    case 'shared-load':
      line.sharedLoadRequests += executed;
      line.sharedLoadWavefronts += wavefronts;
      break;
    case 'shared-store':
      line.sharedStoreRequests += executed;
      line.sharedStoreWavefronts += wavefronts;
      break;
    case 'atomic':
      line.atomics += executed;
      break;
    case 'barrier':
      if (opcode.startsWith('BAR')) line.barriers += executed;
      break;
  }
}

/** `@!P0 LDG.E.128 R4, desc[UR4][R2.64] ;` → `LDG.E.128`. */
const opcodeOf = (sass: string): string => /^(?:@!?U?P\w+\s+)?(\S+)/.exec(sass.trim())?.[1] ?? '';

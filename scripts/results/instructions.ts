import { readFile } from 'node:fs/promises';
import type { InstructionRecording } from '../../test/virtual-gpu/recorded/recording.ts';
import { recordedWith } from './recording-block.ts';
import { ROOT } from './recordings.ts';

/** docs/results/h200-instructions.json, by bench/virtual-gpu/record-instructions.ts. */
export async function instructionBlocks(): Promise<Record<string, string>> {
  const text = await readFile(new URL('docs/results/h200-instructions.json', ROOT), 'utf8');
  const recording = JSON.parse(text) as InstructionRecording;
  const all = Object.values(recording.cases);
  const given = all.filter((bits) => !('status' in bits));
  const stopped = given.length === all.length ? '' : `, and ${all.length - given.length} that stopped the GPU`;
  return {
    'h200-instructions': `${given.length} tables of operands${stopped}, on one ${recordedWith(recording)}.`,
  };
}

import { readFile } from 'node:fs/promises';
import { readInterleavedMaps } from '../../test/virtual-gpu/recorded/interleaved-maps.ts';
import type { InstructionRecording } from '../../test/virtual-gpu/recorded/recording.ts';
import { recordedWith } from './recording-block.ts';
import { ROOT } from './recordings.ts';

/** docs/results/h200-interleaved-maps.json, by bench/virtual-gpu/interleaved_maps.cu. */
function interleavedBlock(): string {
  const { copies, sweeps, device, driver, recordedAt } = readInterleavedMaps();
  const refused = copies.filter(({ isRefused }) => isRefused).length;
  const boxes = copies.flatMap((map) => map.boxes);
  const stopped = boxes.filter(({ stops }) => stops).length;
  const swept = sweeps.reduce((sum, { taken }) => sum + taken.length, 0);
  return `${boxes.length} boxes of ${copies.length - refused} maps, ${stopped} of which stopped the GPU; ${refused} maps that the driver refused; ${swept} sweeps over the values of a field. On one ${device}, driver ${driver}, ${recordedAt}.`;
}

/** docs/results/h200-instructions.json, by bench/virtual-gpu/record-instructions.ts. */
export async function instructionBlocks(): Promise<Record<string, string>> {
  const text = await readFile(new URL('docs/results/h200-instructions.json', ROOT), 'utf8');
  const recording = JSON.parse(text) as InstructionRecording;
  const all = Object.values(recording.cases);
  const given = all.filter((bits) => !('status' in bits));
  const stopped = given.length === all.length ? '' : `, and ${all.length - given.length} that stopped the GPU`;
  return {
    'h200-interleaved-maps': interleavedBlock(),
    'h200-instructions': `${given.length} tables of operands${stopped}, on one ${recordedWith(recording)}.`,
  };
}

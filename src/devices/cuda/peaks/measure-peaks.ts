import { measureCopyPeak } from './copy-peak.ts';
import { measureMatrixPeak, openCublas } from './matrix-peak.ts';
import type { PeakMachine } from './peak-machine.ts';

/** What the worker measures; the parent adds what it knows of the board. Plain JSON. */
export interface PeakFigures {
  copyBytesPerSecond: number;
  copyMethod: string;
  matrixFlopPerSecond?: number;
  matrixMethod: string;
}

/**
 * Copy and matrix-product peaks of the machine; takes about a second.
 * @param libraryFolders where cuBLAS may lie beside the loader's own places.
 */
export function measurePeaks(
  machine: PeakMachine,
  libraryFolders: readonly string[],
  openLibrary: typeof openCublas = openCublas,
): PeakFigures {
  const copy = measureCopyPeak(machine);
  const matrix = measureMatrixPeak(machine, libraryFolders, openLibrary);
  return {
    copyBytesPerSecond: copy.bytesPerSecond,
    copyMethod: copy.method,
    ...(matrix.flopPerSecond !== undefined && { matrixFlopPerSecond: matrix.flopPerSecond }),
    matrixMethod: matrix.method,
  };
}

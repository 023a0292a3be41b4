import type { MeasuredPeaks } from '../../../core/measured-peaks.ts';
import { measureCopyPeak } from './copy-peak.ts';
import { measureMatrixPeak, openCublas } from './matrix-peak.ts';
import type { PeakMachine } from './peak-machine.ts';

/** The worker's measurements, as plain JSON. The parent adds data of the board. */
export type PeakFigures = Omit<MeasuredPeaks, 'datasheet' | 'measuredAt' | 'uuid' | 'driver'>;

/**
 * Copy and matrix-product peaks of the machine; takes about a second.
 * @param libraryFolders further folders to search for cuBLAS, besides the loader's own.
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
    matrixFlopPerSecond: matrix.flopPerSecond,
    matrixMethod: matrix.method,
  };
}

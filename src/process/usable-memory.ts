import { totalmem } from 'node:os';

/** The machine's memory, or the container's (whose limit is 0 or beyond the machine's if there is none). */
export const usableMemoryBytes = (
  machineBytes: number = totalmem(),
  containerBytes: number = process.constrainedMemory(),
): number => (containerBytes > 0 ? Math.min(machineBytes, containerBytes) : machineBytes);

import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs';

/** Far above any log, recording or object of a run. A larger file would fill the memory. */
export const MAXIMUM_FILE_BYTES = 512 * 1024 ** 2;

/**
 * The bytes of a regular file of at most `maximumBytes`. Does not wait for devices or pipes.
 *
 * @throws Error with `code`: the system's, `ENOTFILE` or `ETOOLARGE`.
 */
export function readRegularFile(path: string, maximumBytes: number = MAXIMUM_FILE_BYTES): Buffer {
  const descriptor = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const found = fstatSync(descriptor);
    if (found.isDirectory()) throw refused('EISDIR', `${path} is a folder`);
    if (!found.isFile()) throw refused('ENOTFILE', `${path} is not a regular file`);
    if (found.size > maximumBytes) throw refused('ETOOLARGE', `${path} has ${found.size} bytes`);
    return readFileSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

const refused = (code: string, message: string): Error => Object.assign(new Error(message), { code });

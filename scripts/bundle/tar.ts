/** A file of an archive. Folders come by themselves. */
export interface TarEntry {
  /** With `/`, relative. */
  readonly path: string;
  readonly bytes: Uint8Array;
  readonly executable?: boolean;
}

const BLOCK_BYTES = 512;

/** 1980-01-01, the earliest time that every archive format can say: the same files give the same archive. */
const FIXED_TIME_SECONDS = 315_532_800;

const FILE = '0';
const FOLDER = '5';

/** Longest `name` and `prefix` of a ustar header, in bytes. */
const NAME_BYTES = 100;
const PREFIX_BYTES = 155;

/**
 * A tar archive (POSIX ustar) of the entries, sorted by path, owned by root, all of one fixed time.
 * Source: https://pubs.opengroup.org/onlinepubs/9799919799/utilities/pax.html, "ustar Interchange Format".
 */
export const createTar = (entries: readonly TarEntry[]): Buffer => {
  const chunks: Uint8Array[] = [];
  for (const folder of foldersOf(entries))
    chunks.push(header({ path: `${folder}/`, size: 0, mode: 0o755, type: FOLDER }));
  for (const { path, bytes, executable } of entries.toSorted((a, b) => compare(a.path, b.path))) {
    chunks.push(header({ path, size: bytes.length, mode: executable ? 0o755 : 0o644, type: FILE }), bytes);
    chunks.push(new Uint8Array(-bytes.length & (BLOCK_BYTES - 1)));
  }
  // Two empty blocks end an archive.
  chunks.push(new Uint8Array(2 * BLOCK_BYTES));
  return Buffer.concat(chunks);
};

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

const foldersOf = (entries: readonly TarEntry[]): string[] => {
  const folders = new Set<string>();
  for (const { path } of entries) {
    const parts = path.split('/');
    for (let depth = 1; depth < parts.length; depth++) folders.add(parts.slice(0, depth).join('/'));
  }
  return [...folders].sort(compare);
};

const header = (entry: { path: string; size: number; mode: number; type: string }): Buffer => {
  const block = Buffer.alloc(BLOCK_BYTES);
  const { name, prefix } = splitPath(entry.path);
  const octal = (value: number, at: number, bytes: number) =>
    block.write(`${value.toString(8).padStart(bytes - 1, '0')}\0`, at, 'ascii');
  block.write(name, 0);
  octal(entry.mode, 100, 8);
  octal(0, 108, 8);
  octal(0, 116, 8);
  octal(entry.size, 124, 12);
  octal(FIXED_TIME_SECONDS, 136, 12);
  block.write(' '.repeat(8), 148, 'ascii');
  block.write(entry.type, 156, 'ascii');
  block.write('ustar\0', 257, 'ascii');
  block.write('00', 263, 'ascii');
  block.write('root', 265, 'ascii');
  block.write('root', 297, 'ascii');
  block.write(prefix, 345);
  // The checksum counts its own field as blanks.
  const checksum = block.reduce((sum, byte) => sum + byte, 0);
  block.write(`${checksum.toString(8).padStart(6, '0')}\0 `, 148, 'ascii');
  return block;
};

/** Long paths are split at a slash, the first part going to `prefix`. */
const splitPath = (path: string): { name: string; prefix: string } => {
  if (Buffer.byteLength(path) <= NAME_BYTES) return { name: path, prefix: '' };
  for (let slash = path.indexOf('/'); slash > 0; slash = path.indexOf('/', slash + 1)) {
    const [prefix, name] = [path.slice(0, slash), path.slice(slash + 1)];
    if (Buffer.byteLength(name) <= NAME_BYTES && Buffer.byteLength(prefix) <= PREFIX_BYTES) return { name, prefix };
  }
  throw new Error(`${path} is too long for a tar archive`);
};

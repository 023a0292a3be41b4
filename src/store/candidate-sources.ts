import type { Candidate, KernelFile } from '../core/kernel.ts';
import { bindKernelFile, parseKernelFile } from '../core/schemas/parse-files.ts';
import type { ContentStore } from './content-store.ts';

/** A run keeps a candidate's kernel.json under this name beside its sources. No source file can have it. */
const KERNEL_JSON = 'kernel.json';

/** Stores all files of a candidate; file name → SHA-256. Parameter values are not stored here. */
export const storeCandidateSources = (
  objects: Pick<ContentStore, 'put'>,
  { kernel }: Candidate,
): Readonly<Record<string, string>> => ({
  ...Object.fromEntries(Object.entries(kernel.sources).map(([name, text]) => [name, objects.put(text)])),
  [KERNEL_JSON]: objects.put(`${JSON.stringify(kernel.file, null, 2)}\n`),
});

/** What a run kept of a candidate. */
export interface StoredSources {
  readonly sources: Readonly<Record<string, string>>;
  /** Absent in runs of older versions. */
  readonly file?: KernelFile;
}

/**
 * Reads the files that {@link storeCandidateSources} stored.
 *
 * @throws WarpsmithError for a kernel.json that can't be read; as `ContentStore.get`.
 */
export function readCandidateSources(
  objects: Pick<ContentStore, 'get'>,
  hashes: Readonly<Record<string, string>>,
): StoredSources {
  const textOf = (hash: string): string => new TextDecoder().decode(objects.get(hash));
  const { [KERNEL_JSON]: file, ...sources } = hashes;
  const name = `${KERNEL_JSON} of the run`;
  return {
    sources: Object.fromEntries(Object.entries(sources).map(([name, hash]) => [name, textOf(hash)])),
    file: file === undefined ? undefined : bindKernelFile(parseKernelFile(textOf(file), name), undefined, name),
  };
}

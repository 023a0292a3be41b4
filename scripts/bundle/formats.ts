import { spawnSync } from 'node:child_process';
import { constants, gzipSync } from 'node:zlib';

/** `with-clang` also brings a compiler for machines that have a driver but no CUDA toolkit. */
export type BundleKind = 'plain' | 'with-clang';

export const MAXIMUM_MEGABYTES: Readonly<Record<BundleKind, number>> = { plain: 50, 'with-clang': 80 };

const SUFFIX: Readonly<Record<BundleKind, string>> = { plain: '.tar.gz', 'with-clang': '-clang.tar.xz' };

export const archiveName = (kind: BundleKind, version: string): string =>
  `warpsmith-${version}-linux-x64${SUFFIX[kind]}`;

/** gzip, which every Linux can unpack. Two programs as large as Node and clang fit the limit with xz only. */
export const compress = (kind: BundleKind, tar: Buffer): Buffer =>
  kind === 'plain' ? gzipSync(tar, { level: constants.Z_BEST_COMPRESSION, memLevel: 9 }) : xz(tar);

/** One thread's output, which is the same whatever the number of threads. */
const XZ_OPTIONS = ['-7', '--threads=1', '--stdout'];

const xz = (tar: Buffer): Buffer => {
  const { status, stdout, stderr, error } = spawnSync('xz', XZ_OPTIONS, { input: tar, maxBuffer: 2 ** 30 });
  if (error) throw new Error(`xz, which packs the bundle with clang, does not run: ${error.message}`);
  if (status !== 0) throw new Error(`xz failed: ${stderr.toString()}`);
  return stdout;
};

// Makes one archive that runs on a bare Linux x64 machine, with its own Node: npm run bundle
//   --output <file>   dist-bundle/warpsmith-<version>-linux-x64.tar.gz by default
//   --with-clang      with the compiler from npm, for machines that have a driver but no CUDA toolkit
//   --unchecked       compile without checking types, for a working tree in the middle of a change
// Compressed by gzip, which every Linux can unpack. The same checkout gives the same bytes.
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { constants, gzipSync } from 'node:zlib';
import { compile, compiledReferences, ROOT, writeWhole } from './build/compile.ts';
import { bundleEntries } from './bundle/contents.ts';
import { createTar } from './bundle/tar.ts';

const MEGABYTE = 1e6;
const MAXIMUM_MEGABYTES = { plain: 50, withClang: 80 };

const { values: options } = parseArgs({
  options: {
    output: { type: 'string' },
    'with-clang': { type: 'boolean', default: false },
    unchecked: { type: 'boolean', default: false },
  },
});

const bundleName = async (withClang: boolean): Promise<string> => {
  const { version } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8')) as { version: string };
  return `warpsmith-${version}-linux-x64${withClang ? '-clang' : ''}`;
};

const bundle = async (build: string): Promise<void> => {
  const withClang = options['with-clang'];
  if (!(await compile({ output: build, unchecked: options.unchecked }))) {
    process.exitCode = 1;
    return;
  }
  const references = await compiledReferences(build);
  const name = await bundleName(withClang);
  const entries = await bundleEntries({ build, references, withClang });
  const tar = createTar(entries.map((entry) => ({ ...entry, path: `${name}/${entry.path}` })));
  const archive = gzipSync(tar, { level: constants.Z_BEST_COMPRESSION, memLevel: 9 });
  const limit = MAXIMUM_MEGABYTES[withClang ? 'withClang' : 'plain'];
  const size = archive.length / MEGABYTE;
  if (!(size <= limit)) throw new Error(`the bundle has ${size.toFixed(1)} MB; it may have ${limit} MB`);
  const file = resolve(options.output ?? join(ROOT, 'dist-bundle', `${name}.tar.gz`));
  await writeWhole(file, archive);
  process.stdout.write(
    `${file}\n${size.toFixed(1)} MB, ${entries.length} files. To use it: tar -xzf, then ${name}/warpsmith doctor\n`,
  );
};

const build = await mkdtemp(join(tmpdir(), 'warpsmith-bundle-'));
try {
  await bundle(build);
} finally {
  await rm(build, { recursive: true, force: true });
}

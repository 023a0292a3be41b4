// Makes one archive that runs on a bare Linux x64 machine, with its own Node: npm run bundle
//   --output <file>   dist-bundle/warpsmith-<version>-linux-x64.tar.gz by default
//   --with-clang      with the compiler from npm, for machines that have a driver but no CUDA toolkit: a .tar.xz
//   --unchecked       compile without checking types, for a working tree in the middle of a change
// The same checkout gives the same bytes.
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { compile, compiledReferences, ROOT, writeWhole } from './build/compile.ts';
import { buildPage } from './build-page.ts';
import { bundleEntries } from './bundle/contents.ts';
import { archiveName, type BundleKind, compress, MAXIMUM_MEGABYTES } from './bundle/formats.ts';
import { createTar } from './bundle/tar.ts';

const MEGABYTE = 1e6;

const { values: options } = parseArgs({
  options: {
    output: { type: 'string' },
    'with-clang': { type: 'boolean', default: false },
    unchecked: { type: 'boolean', default: false },
  },
});

const kind: BundleKind = options['with-clang'] ? 'with-clang' : 'plain';

const bundle = async (build: string): Promise<void> => {
  if (!(await compile({ output: build, unchecked: options.unchecked }))) {
    process.exitCode = 1;
    return;
  }
  await buildPage(build);
  const { version } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8')) as { version: string };
  const folder = `warpsmith-${version}-linux-x64`;
  const references = await compiledReferences(build);
  const entries = await bundleEntries({ build, references, withClang: kind === 'with-clang' });
  const archive = compress(kind, createTar(entries.map((entry) => ({ ...entry, path: `${folder}/${entry.path}` }))));
  const megabytes = archive.length / MEGABYTE;
  if (!(megabytes <= MAXIMUM_MEGABYTES[kind])) {
    throw new Error(`the bundle has ${megabytes.toFixed(1)} MB; it may have ${MAXIMUM_MEGABYTES[kind]} MB`);
  }
  const file = resolve(options.output ?? join(ROOT, 'dist-bundle', archiveName(kind, version)));
  await writeWhole(file, archive);
  const use = `tar -xf ${basename(file)} && ${folder}/warpsmith doctor`;
  process.stdout.write(`${file}\n${megabytes.toFixed(1)} MB, ${entries.length} files. To use it: ${use}\n`);
};

const build = await mkdtemp(join(tmpdir(), 'warpsmith-bundle-'));
try {
  await bundle(build);
} finally {
  await rm(build, { recursive: true, force: true });
}

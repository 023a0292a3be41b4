import { copyFile, mkdir, readdir, readFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { type Plugin, rolldown } from 'rolldown';
import { ROOT } from './compile.ts';

const SOURCES = join(ROOT, 'src');

/** As it stands in a source: what a process or a thread starts with. */
const ENTRY = /\bentryFile\(new URL\('(?<path>[^']+)\.ts', import\.meta\.url\)\)/g;

/** Packages that nearly every command loads, in hundreds of files. */
const PACKAGES = ['commander', 'zod'];

/** What processes and threads start with, from src/ and without suffix. */
const findEntries = async (): Promise<string[]> => {
  const entries = ['cli/main'];
  for (const file of await filesOf(SOURCES)) {
    if (!file.endsWith('.ts')) continue;
    for (const { groups } of (await readFile(file, 'utf8')).matchAll(ENTRY))
      entries.push(relative(SOURCES, join(dirname(file), groups!.path!)));
  }
  return entries;
};

const filesOf = async (folder: string): Promise<string[]> =>
  (await readdir(folder, { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile() && !entry.name.startsWith('.'))
    .map(({ parentPath, name }) => join(parentPath, name));

/** A module finds its files from where it would lie if each module were a file of its own. */
const KEEPS_PLACES: Plugin = {
  name: 'keeps-places',
  transform(code, id) {
    if (!id.startsWith(SOURCES) || !code.includes('import.meta.url')) return null;
    const place = relative(ROOT, id).replace(/\.ts$/, '.js');
    return { code: code.replaceAll('import.meta.url', `__place(${JSON.stringify(place)})`), map: null };
  },
  renderChunk: (code, { fileName }) =>
    code.replace(/\b__place\("([^"]+)"\)/g, (_, place: string) => {
      const path = relative(dirname(fileName), place);
      return `new URL(${JSON.stringify(path.startsWith('.') ? path : `./${path}`)}, import.meta.url).href`;
    }),
};

/** Bundles src/ to `output`/src: what processes and threads start with lies where its source does, and beside it what it reads. */
export const bundleSources = async (output: string): Promise<void> => {
  const bundle = await rolldown({
    cwd: ROOT,
    platform: 'node',
    tsconfig: join(ROOT, 'tsconfig.json'),
    input: Object.fromEntries((await findEntries()).map((path) => [`src/${path}`, join(SOURCES, `${path}.ts`)])),
    external: (id) => /^[^./\0]/.test(id) && !PACKAGES.includes(id.split('/')[0]!),
    plugins: [KEEPS_PLACES],
  });
  try {
    const names = { entryFileNames: '[name].js', chunkFileNames: 'src/chunks/[name]-[hash].js' };
    await bundle.write({ dir: output, format: 'esm', ...names });
  } finally {
    await bundle.close();
  }
  for (const file of await filesOf(SOURCES)) {
    if (file.endsWith('.ts')) continue;
    const target = join(output, relative(ROOT, file));
    await mkdir(dirname(target), { recursive: true });
    await copyFile(file, target);
  }
};

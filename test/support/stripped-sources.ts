import { createHash } from 'node:crypto';
import { existsSync, globSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Plugin, TestUserConfig } from 'vitest/config';

/** Where the stripped modules lie, from the repository's root. The place stays the same: Vitest keeps transformed tests, which name it. */
const STRIPPED = '.vitest/sources/';

/** Specifiers of our own modules: `from './x.ts'`, `import './x.ts'` and `import('./x.ts')`. */
const OWN_MODULE = /(?<=\b(?:from|import)\s*\(?\s*)(?<quote>['"])(?<path>\.[^'"\n]*)\.ts\k<quote>/g;

const asModule = (source: string): string => source.replace(/\.ts$/, '.mjs');

/** Node warns once that its stripping is an experiment: it would say so in every run. */
function withoutWarning<T>(body: () => T): T {
  const { emitWarning } = process;
  process.emitWarning = () => {};
  try {
    return body();
  } finally {
    process.emitWarning = emitWarning;
  }
}

/** A source without its types, each line and column where it was. It finds what lies beside it from where the source lies. */
function stripped(file: string, text: string): string {
  if (/\bimport\.meta\.(?!url\b)/.test(text))
    throw new Error(`${file} asks import.meta for more than its url, which would not be the source's in tests.`);
  return withoutWarning(() => stripTypeScriptTypes(text, { mode: 'strip' }))
    .replaceAll(OWN_MODULE, '$<quote>$<path>.mjs$<quote>')
    .replaceAll('import.meta.url', JSON.stringify(pathToFileURL(file).href));
}

/**
 * Brings `root`/.vitest/sources up to the state of `root`/src: each module of it without its types. Those whose sources are as they were
 * stay.
 */
export function stripSources(root: string): void {
  const folder = join(root, STRIPPED);
  // What else the text follows from.
  const own = createHash('sha256')
    .update(readFileSync(import.meta.filename))
    .update(process.version)
    .update(root)
    .digest();
  const modules = new Set<string>();
  for (const path of globSync('src/**/*.ts', { cwd: root })) {
    const source = join(root, path);
    const target = join(folder, asModule(path));
    modules.add(target);
    const text = readFileSync(source, 'utf8');
    const mark = `\n// ${createHash('sha256').update(own).update(text).digest('hex')}\n`;
    if (existsSync(target) && readFileSync(target, 'utf8').endsWith(mark)) continue;
    mkdirSync(dirname(target), { recursive: true });
    // Another run may read it now, or write the same.
    const unfinished = `${target}.${process.pid}`;
    writeFileSync(unfinished, stripped(source, text) + mark);
    renameSync(unfinished, target);
  }
  for (const path of globSync('**/*.mjs', { cwd: folder })) {
    const module = join(folder, path);
    if (!modules.has(module)) rmSync(module, { force: true });
  }
}

/**
 * Node loads the modules of src/ in tests, from files without types, instead of Vitest: it compiles each once for all processes of a run,
 * and calls from one module to another are direct. While vitest watches, and with WARPSMITH_BUILD set to nothing, Vitest loads the sources.
 */
export function strippedSources(root: string): Plugin {
  const sources = join(root, 'src/');
  let isOn = false;
  return {
    name: 'stripped-sources',
    enforce: 'pre',
    configureVitest({ vitest, defineCacheKeyGenerator }) {
      const first = !isOn;
      isOn = !vitest.config.watch && process.env.WARPSMITH_BUILD !== '';
      if (isOn && first) stripSources(root);
      defineCacheKeyGenerator(() => (isOn ? STRIPPED : sources));
    },
    async resolveId(id, importer, options) {
      if (!isOn || !id.endsWith('.ts')) return null;
      const found = await this.resolve(id, importer, { ...options, skipSelf: true });
      if (!found?.id.startsWith(sources)) return null;
      return join(root, STRIPPED, 'src', asModule(found.id.slice(sources.length)));
    },
  };
}

/** Node loads them, and a failure names the source. */
export const STRIPPED_SOURCES: TestUserConfig = {
  server: { deps: { external: [/\/\.vitest\/sources\//] } },
  onStackTrace(_error, frame) {
    const [place, path] = frame.file.split(STRIPPED);
    if (path !== undefined) frame.file = `${place}${path.replace(/\.mjs$/, '.ts')}`;
  },
};

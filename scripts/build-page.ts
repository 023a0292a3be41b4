// Builds the page of `warpsmith ui`: npm run build:page
//   dist/page/index.html   and style.css: web/'s, with the colours and charts of reports
//   dist/page/*.js         web/main.tsx and what it loads when it is needed, minified, for browsers
import { readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { rolldown } from 'rolldown';
import { CHART_STYLE, THEME_STYLE } from '../src/reports/charts/chart-style.ts';
import { ROOT, writeWhole } from './build/compile.ts';

const WEB = join(ROOT, 'web');

/** The page's files by their names. */
export const bundlePage = async (): Promise<ReadonlyMap<string, string>> => {
  const bundle = await rolldown({
    input: { main: join(WEB, 'main.tsx') },
    platform: 'browser',
    tsconfig: join(WEB, 'tsconfig.json'),
  });
  try {
    const { output } = await bundle.generate({ format: 'esm', minify: true, entryFileNames: '[name].js' });
    const chunks = output.flatMap((file) => (file.type === 'chunk' ? [[file.fileName, file.code] as const] : []));
    const style = [THEME_STYLE, CHART_STYLE, await readFile(join(WEB, 'style.css'), 'utf8')].join('\n');
    return new Map([...chunks, ['style.css', style], ['index.html', await readFile(join(WEB, 'index.html'), 'utf8')]]);
  } finally {
    await bundle.close();
  }
};

/** Files of an earlier build that this one has not. */
const removeOthers = async (folder: string, names: ReadonlySet<string>): Promise<void> => {
  for (const name of await readdir(folder)) if (!names.has(name)) await rm(join(folder, name), { force: true });
};

/** Writes the page below `output`. */
export const buildPage = async (output: string): Promise<void> => {
  const folder = join(output, 'page');
  const files = await bundlePage();
  for (const [name, text] of files) await writeWhole(join(folder, name), text);
  await removeOthers(folder, new Set(files.keys()));
};

if (import.meta.main) await buildPage(join(ROOT, 'dist'));

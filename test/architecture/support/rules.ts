import { codeLines, type SourceModule } from './source-modules.ts';

/** Each line may import from the lines above it, never from a sibling on its own line. */
export const LAYERS: readonly (readonly string[])[] = [
  ['core'],
  ['hardware', 'stats', 'ptx', 'cuda-source'],
  ['search', 'diagnosis', 'virtual-gpu'],
  ['process', 'ffi', 'models', 'queue'],
  ['store'],
  ['toolchains'],
  ['devices'],
  ['evaluation'],
  ['optimizer', 'reports', 'handover'],
  ['app'],
  ['mcp', 'server'],
  ['cli'],
];

/** Rooms of evaluation/, in lines as layers are. What lies beside the rooms puts them together; no room imports it. */
export const ROOMS: readonly (readonly string[])[] = [
  ['launches'],
  ['oracle'],
  ['audit', 'measure'],
  ['verify', 'instruments'],
  ['recording'],
  ['pool'],
];

/** Folders without any Node import, and the packages each may use. */
const PURE: ReadonlyMap<string, readonly string[]> = new Map([
  ['core', ['zod', '@noble/hashes']],
  ...LAYERS.slice(1, 3)
    .flat()
    .map((folder): [string, readonly string[]] => [folder, ['@noble/hashes']]),
]);

/** The entry of the browser bundle. */
const PAGE = 'src/browser.ts';

/** The folder below src/, or undefined for src/index.ts and the browser's entry, which stand above all. */
const folderOf = (file: string): string | undefined => /^src\/([^/]+)\//.exec(file)?.[1];
const levelOf = (folder: string): number => LAYERS.findIndex((layer) => layer.includes(folder));

const packageOf = (specifier: string): string =>
  specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/');

/** A violated rule, one line a reader can act on. */
export type Violation = string;
export type Rule = (module: SourceModule) => Violation[];

export const knownFolders: Rule = ({ file }) => {
  const folder = folderOf(file);
  if (folder === undefined) return file === 'src/index.ts' || file === PAGE ? [] : [`${file} lies outside every layer`];
  return levelOf(folder) < 0 ? [`${file}: ${folder}/ is not in the list of layers`] : [];
};

export const importDirection: Rule = ({ file, imports }) => {
  const from = folderOf(file);
  if (from === undefined) return [];
  return imports.flatMap((item) => {
    if (item.specifier === '') return [];
    if (item.file === undefined) return [];
    if (!item.file.startsWith('src/')) return [`${file} imports ${item.specifier}, outside src/`];
    const to = folderOf(item.file);
    if (to === from) return [];
    if (to !== undefined && levelOf(to) < levelOf(from)) return [];
    return [`${file} imports ${item.specifier}: ${from}/ is not above ${to ?? 'src/index.ts'}`];
  });
};

const roomOf = (file: string): string | undefined => /^src\/evaluation\/([^/]+)\//.exec(file)?.[1];
const roomLevelOf = (room: string | undefined): number =>
  room === undefined ? ROOMS.length : ROOMS.findIndex((line) => line.includes(room));

export const roomDirection: Rule = ({ file, imports }) => {
  const from = roomOf(file);
  if (from === undefined) return [];
  if (roomLevelOf(from) < 0) return [`${file}: ${from}/ is not in the list of rooms`];
  return imports.flatMap((item) => {
    if (!item.file?.startsWith('src/evaluation/')) return [];
    const to = roomOf(item.file);
    if (to === from || roomLevelOf(to) < roomLevelOf(from)) return [];
    return [`${file} imports ${item.specifier}: ${from}/ is not above ${to ?? 'what puts the rooms together'}`];
  });
};

export const extensions: Rule = ({ file, imports }) =>
  imports
    .filter((item) => item.file !== undefined && !item.specifier.endsWith('.ts'))
    .map((item) => `${file} imports ${item.specifier} without .ts`);

export const purity: Rule = ({ file, imports }) => {
  if (file === PAGE) return pageImports(imports);
  const packages = PURE.get(folderOf(file) ?? '');
  if (!packages) return [];
  return imports
    .filter((item) => item.file === undefined && !packages.includes(packageOf(item.specifier)))
    .map((item) => `${file} imports ${item.specifier || 'a computed module'}; it must run in a browser`);
};

/** What a page gets is the pure layers and nothing else. */
const pageImports = (imports: SourceModule['imports']): Violation[] =>
  imports
    .filter((item) => !PURE.has(folderOf(item.file ?? '') ?? ''))
    .map((item) => `${PAGE} imports ${item.specifier || 'a computed module'}; only pure layers run in a page`);

/** Rule: only these folders may import this. */
const onlyIn =
  (folders: readonly string[], what: string, matches: (specifier: string, names: readonly string[]) => boolean): Rule =>
  ({ file, imports }) => {
    if (folders.includes(folderOf(file) ?? '')) return [];
    return imports
      .filter((item) => !item.typeOnly && matches(item.specifier, item.names))
      .map((item) => `${file} imports ${item.specifier}: only ${folders.join('/, ')}/ ${what}`);
  };

export const spawning = onlyIn(['process'], 'may spawn', (specifier) =>
  /^(node:)?(child_process|cluster)$/.test(specifier),
);

export const workers = onlyIn(['process', 'devices', 'toolchains'], 'may start workers', (specifier) =>
  /^(node:)?worker_threads$/.test(specifier),
);

export const queueing = onlyIn(['queue'], 'may talk to a queue', (specifier) => /^(bullmq|ioredis)$/.test(specifier));

/** Functions of node:fs that only read. */
const READING = new Set([
  'access',
  'constants',
  'createReadStream',
  'existsSync',
  'glob',
  'globSync',
  'lstat',
  'lstatSync',
  'opendir',
  'readFile',
  'readFileSync',
  'readdir',
  'readdirSync',
  'readlink',
  'realpath',
  'realpathSync',
  'stat',
  'statSync',
  'watch',
]);

/** process/ has its temporary files and toolchains/ their cache of compiled code; results are store/'s. */
export const writing = onlyIn(
  ['store', 'process', 'toolchains'],
  'may write files',
  (specifier, names) => /^(node:)?fs(\/promises)?$/.test(specifier) && !names.every((name) => READING.has(name)),
);

const PRINTING = /\bconsole\s*\.|\bprocess\s*\.\s*(stdout|stderr|exit|exitCode|abort)\b/;
export const printing: Rule = ({ file, text }) => {
  if (folderOf(file) === 'cli') return [];
  return codeLines(text)
    .filter(({ code }) => PRINTING.test(code))
    .map(({ line, code }) => `${file}:${line}: only cli/ prints or exits: ${code.trim()}`);
};

/** `eval` and its kind have no place in a tool that reads other people's files. */
export const evaluating: Rule = ({ file, text }) =>
  codeLines(text)
    .filter(({ code }) => /(?<![.\w])eval\(|\bnew Function\(|['"]node:vm['"]/.test(code))
    .map(({ line, code }) => `${file}:${line}: runs text as code: ${code.trim()}`);

/**
 * Functions of several statements are declarations, wherever they are; arrows are for one expression, for callbacks, and for
 * what a type describes.
 */
export const declarations: Rule = ({ file, text }) => {
  const lines = text.split('\n');
  return lines.flatMap((line, start) => {
    const name = /^(?:export )?const (\w+) = (?:async )?[<(]/.exec(line)?.[1];
    if (name === undefined) return [];
    // The parameters may take several lines, the last of which begins with the parenthesis; the body ends at the margin.
    const opening = lines.findIndex((other, i) => i >= start && (i === start ? / => \{$/ : /^\S/).test(other));
    const head = lines.slice(start, opening + 1).join(' ');
    const closing = lines.slice(opening + 1).find((other) => /^\S/.test(other));
    const isOwn = opening === start || lines[opening]?.startsWith(')');
    const isBlock = isOwn && head.endsWith(' => {') && closing === '};' && !/\) => \(/.test(head);
    return isBlock ? [`${file}:${start + 1}: ${name} has statements: write \`function ${name}\``] : [];
  });
};

/** Cycles of imports, those of types included, each once, as `a → b → a`. */
export const importCycles = (modules: readonly SourceModule[]): string[] => {
  const edges = new Map(
    modules.map(({ file, imports }) => [file, imports.flatMap((item) => (item.file === undefined ? [] : [item.file]))]),
  );
  const cycles = new Set<string>();
  const done = new Set<string>();
  const visit = (file: string, trail: readonly string[]): void => {
    const start = trail.indexOf(file);
    if (start >= 0) {
      cycles.add(normalised(trail.slice(start)));
      return;
    }
    if (done.has(file)) return;
    for (const next of edges.get(file) ?? []) visit(next, [...trail, file]);
    done.add(file);
  };
  for (const file of edges.keys()) visit(file, []);
  return [...cycles];
};

/** The same cycle however it was entered. */
const normalised = (cycle: readonly string[]): string => {
  const first = cycle.indexOf(cycle.toSorted()[0]!);
  const rotated = [...cycle.slice(first), ...cycle.slice(0, first)];
  return [...rotated, rotated[0]].join(' → ');
};

import type { Item } from './items.ts';
import { macrosOf } from './macros.ts';
import { type CudaSource, isHostFunction, isKernel, readCudaSource } from './source.ts';
import { type Token, tokenize } from './tokens.ts';

/** Device code without host code. */
export interface DeviceCode {
  readonly text: string;
  /** Names of what was cut: host functions, variables, includes. */
  readonly removed: readonly string[];
  /** Names of the libraries that the device code calls, such as `thrust`. */
  readonly libraries: readonly string[];
  /** Namespace-scope variables that are kept, by name. */
  readonly variables: readonly Item[];
}

/** Namespaces of libraries that are no device headers of CUDA. */
const LIBRARIES: Readonly<Record<string, string>> = {
  thrust: 'thrust',
  cub: 'cub',
  cutlass: 'CUTLASS',
  cute: 'CUTLASS',
  cuda: 'libcu++',
};

/** Headers for the host alone; device code needs them only for printf and assert. */
const HOST_HEADERS = /^(?:c?(?:stdio|stdlib|string|assert)(?:\.h)?)$/;

/**
 * Keeps what the kernels need, by name, and cuts everything else: `main` and other host functions, launches with them, host
 * variables and includes. The order and the text of what stays are unchanged.
 *
 * @param kernels the functions to keep.
 * @param hasHeader whether device code can include a header.
 */
export function cutHostCode(
  source: CudaSource,
  kernels: readonly Item[],
  hasHeader: (name: string) => boolean,
): DeviceCode {
  const kept = reachable(source.items, kernels, hasHeader);
  keepFrames(source.items, kept);
  const removed = source.items.filter((item) => !kept.has(item)).map(describe);
  return {
    text: tidy(withoutRemoved(source, kept)),
    removed: [...new Set(removed)].filter((text) => text !== ''),
    libraries: [...new Set([...kept].flatMap(librariesIn))],
    variables: [...kept].filter(({ kind }) => kind === 'variable'),
  };
}

/** Sources with blanks in place of host code. */
export interface BlankedSources {
  readonly sources: Readonly<Record<string, string>>;
  /** As in {@link DeviceCode}. */
  readonly removed: readonly string[];
}

/**
 * The same cut over all files of a kernel, with blanks in place of what goes, so that every line keeps its number. Undefined where
 * there is no host code, or where a function is not found among the sources (a macro may define it).
 *
 * @param functions what is launched, as kernel.json names it.
 * @param hasHeader whether device code can include a header that is not among the sources.
 */
export function blankHostCode(
  sources: Readonly<Record<string, string>>,
  functions: readonly string[],
  hasHeader: (name: string) => boolean,
): BlankedSources | undefined {
  const files = readable(sources);
  if (files === undefined) return undefined;
  const items = files.flatMap((file) => file.items);
  const kernels = kernelsNamed(items, functions);
  if (new Set(kernels.map(({ name }) => name)).size < baseNames(functions).size) return undefined;
  const hasFile = (name: string) => Object.keys(sources).some((file) => `/${file}`.endsWith(`/${name}`));
  const isThere = (name: string) => hasFile(name) || hasHeader(name);
  const kept = reachable(items, [...kernels, ...items.filter(isStandardNamespace)], isThere);
  for (const { items: own } of files) keepFrames(own, kept);
  const gone = items.filter((item) => !kept.has(item));
  if (!gone.some((item) => isHostDefinition(item) || isHostLibrary(item, hasHeader))) return undefined;
  return {
    sources: Object.fromEntries(files.map(({ file, text, items: own }) => [file, blanked(text, own, kept)])),
    removed: [...new Set(gone.map(describe))].filter((text) => text !== ''),
  };
}

/**
 * `__constant__` variables without an initialiser that launched functions reach, with file and line. Only host code could fill them.
 * None where the sources can't be read.
 */
export function findUnfilledConstants(
  sources: Readonly<Record<string, string>>,
  functions: readonly string[],
): { name: string; file: string; line: number }[] {
  if (!Object.values(sources).some((text) => text.includes('__constant__'))) return [];
  const files = readable(sources) ?? [];
  const items = files.flatMap((file) => file.items);
  const kept = reachable(items, kernelsNamed(items, functions), () => true);
  return files.flatMap(({ file, text, items: own }) =>
    own
      .filter((item) => item.kind === 'variable' && item.words.has('__constant__') && !item.words.has('extern'))
      .filter((item) => kept.has(item) && !item.tokens.some(({ text: token }) => token === '=' || token === '{'))
      .map(({ name, start }) => ({ name, file, line: text.slice(0, start).split('\n').length })),
  );
}

/** Kernels of these names, as kernel.json gives them. */
function kernelsNamed(items: readonly Item[], functions: readonly string[]): Item[] {
  const names = baseNames(functions);
  return items.filter((item) => isKernel(item) && names.has(item.name));
}

/** `n::attention<64>` → `attention`. */
const baseNames = (functions: readonly string[]): Set<string> =>
  new Set(functions.map((name) => /(\w+)\s*(?:<.*)?$/.exec(name)?.[1] ?? name));

/** Undefined if one of the files is no text that can be read. */
function readable(sources: Readonly<Record<string, string>>): CudaSource[] | undefined {
  try {
    const files = Object.entries(sources);
    const macros = new Map(files.flatMap(([file, text]) => [...macrosOf(tokenize(text, file), file)]));
    return files.map(([file, text]) => readCudaSource(text, file, undefined, macros));
  } catch {
    return undefined;
  }
}

const isStandardNamespace = ({ kind, name, tokens }: Item): boolean =>
  kind === 'type' && name === '' && tokens.map(({ text }) => text).join(' ') === 'using namespace std ;';

const isHostDefinition = (item: Item): boolean =>
  item.kind === 'function' && isHostFunction(item) && item.function?.body !== undefined && !isForDevice(item);

/** `<iostream>`: a header of C++ that device code can't include. */
function isHostLibrary(item: Item, hasHeader: (name: string) => boolean): boolean {
  const name = includedName(item);
  return name !== undefined && /^\w+$/.test(name) && !hasHeader(name);
}

function blanked(text: string, items: readonly Item[], kept: ReadonlySet<Item>): string {
  const parts: string[] = [];
  let at = 0;
  for (const item of items) {
    if (kept.has(item)) continue;
    parts.push(text.slice(at, item.start), text.slice(item.start, item.end).replaceAll(/[^\r\n]/g, ' '));
    at = item.end;
  }
  return [...parts, text.slice(at)].join('');
}

/** Without these items, and without the comments that belong to them. */
export const withoutItems = (source: CudaSource, removed: ReadonlySet<Item>): string =>
  tidy(withoutRemoved(source, new Set(source.items.filter((item) => !removed.has(item)))));

const librariesIn = ({ tokens }: Item): string[] =>
  tokens.flatMap(({ kind, text }, i) => {
    if (kind !== 'name') return [];
    if (/^curand(?!\w*_t$)/.test(text)) return ['cuRAND'];
    const isNamespace = tokens[i + 1]?.text === '::' && tokens[i - 1]?.text !== '::';
    return isNamespace && Object.hasOwn(LIBRARIES, text) ? [LIBRARIES[text]!] : [];
  });

function describe(item: Item): string {
  if (item.kind === 'function') return `${item.name}()`;
  if (item.kind === 'directive' && item.name === 'include') return item.tokens[0]!.text;
  return item.kind === 'variable' ? item.name : '';
}

/** Device code may use it if it is reached by name. */
function isForDevice(item: Item): boolean {
  if (item.kind === 'function') return !isHostFunction(item) || item.words.has('constexpr');
  if (item.kind === 'call') return WORDS_OF_CALLS.some((word) => item.words.has(word));
  if (item.kind !== 'variable') return true;
  return ['const', ...DEVICE_WORDS].some((word) => item.words.has(word));
}

/** What a variable's declaration says if device code can use it, beside `const`. */
const DEVICE_WORDS: readonly string[] = ['constexpr', '__constant__', '__device__', '__shared__', '__managed__'];
/** The same of what a macro's call declares: functions and types, too. */
const WORDS_OF_CALLS: readonly string[] = [
  ...[...DEVICE_WORDS, '__global__'],
  ...['struct', 'class', 'union', 'enum', 'using', 'typedef'],
];

const CONDITIONAL = /^(?:if|ifdef|ifndef|elif|elifdef|elifndef|else|endif)$/;

function reachable(items: readonly Item[], kernels: readonly Item[], hasHeader: (name: string) => boolean): Set<Item> {
  const byName = new Map<string, Item[]>();
  for (const item of items) {
    if (!isForDevice(item)) continue;
    for (const name of definedNames(item)) byName.set(name, [...(byName.get(name) ?? []), item]);
  }
  const kept = new Set<Item>();
  const wanted = new Set<string>();
  const pending: Item[] = [...kernels, ...items.filter(isAlwaysKept)];
  const names = new Set(kernels.map(({ name }) => name));
  for (;;) {
    const item = pending.pop() ?? conditionalsAround(items, kept)[0];
    if (item === undefined) break;
    // Another kernel of the same name as a chosen one is an overload or a declaration.
    if (kept.has(item) || (isKernel(item) && !names.has(item.name))) continue;
    kept.add(item);
    for (const name of identifiers(item.tokens)) {
      if (wanted.has(name)) continue;
      wanted.add(name);
      pending.push(...(byName.get(name) ?? []));
    }
  }
  for (const item of items) {
    if (item.kind === 'directive' && item.name === 'include' && isWantedHeader(item, wanted, hasHeader)) kept.add(item);
  }
  return kept;
}

/** `using namespace cooperative_groups`, and pragmas outside of functions that steer the compiler. */
const isAlwaysKept = ({ kind, name, tokens }: Item): boolean =>
  kind === 'type' && name === '' && tokens[0]!.text === 'using' && tokens.every(({ text }) => text !== 'std');

const includedName = ({ tokens }: Item): string | undefined =>
  /^#\s*include\s*[<"]([^>"]+)[>"]/.exec(tokens[0]!.text)?.[1];

function isWantedHeader(item: Item, wanted: ReadonlySet<string>, hasHeader: (name: string) => boolean): boolean {
  const name = includedName(item);
  if (name === undefined || !hasHeader(name)) return false;
  return !HOST_HEADERS.test(name) || wanted.has('printf') || wanted.has('assert');
}

function definedNames(item: Item): readonly string[] {
  if (item.kind !== 'directive') return item.name === '' ? item.otherNames : [item.name, ...item.otherNames];
  const macro = /^#\s*(?:define|undef)\s+([A-Za-z_]\w*)/.exec(item.tokens[0]!.text)?.[1];
  return macro === undefined ? [] : [macro];
}

const identifiers = (tokens: readonly Token[]): string[] =>
  tokens.flatMap((token) => {
    if (token.kind === 'name') return [token.text];
    return token.kind === 'directive' ? identifiers(tokenize(token.text.replace(/^#/, ''), '')) : [];
  });

/** The conditions around what is kept: the macros that they test must be there, too. */
function conditionalsAround(items: readonly Item[], kept: ReadonlySet<Item>): Item[] {
  return conditionalGroups(items)
    .filter((group) => group.inside.some((item) => kept.has(item)))
    .flatMap(({ directives }) => directives)
    .filter((item) => !kept.has(item));
}

interface ConditionalGroup {
  /** `#if`, `#else`, `#endif`. */
  readonly directives: Item[];
  readonly inside: Item[];
}

function conditionalGroups(items: readonly Item[]): ConditionalGroup[] {
  const groups: ConditionalGroup[] = [];
  const open: ConditionalGroup[] = [];
  for (const item of items) {
    if (item.kind === 'directive' && CONDITIONAL.test(item.name)) {
      if (item.name.startsWith('if')) {
        const group = { directives: [item], inside: [] };
        groups.push(group);
        open.push(group);
      } else {
        open.at(-1)?.directives.push(item);
        if (item.name === 'endif') open.pop();
      }
    } else for (const group of open) group.inside.push(item);
  }
  return groups;
}

/** Namespaces and `extern "C"` blocks stay around what is kept. */
function keepFrames(items: readonly Item[], kept: Set<Item>): void {
  items.forEach((item, index) => {
    if (item.kind !== 'close' || item.opened === undefined) return;
    const inside = items.slice(item.opened + 1, index);
    if (!inside.some((one) => kept.has(one) && one.kind !== 'directive')) return;
    kept.add(item);
    kept.add(items[item.opened]!);
  });
}

function withoutRemoved({ text, items }: CudaSource, kept: ReadonlySet<Item>): string {
  const parts: string[] = [];
  let at = 0;
  let previousEnd = 0;
  for (const item of items) {
    const from = attachedFrom(text, previousEnd, item.start);
    if (kept.has(item)) {
      parts.push(text.slice(at, item.end));
      at = item.end;
    } else {
      parts.push(text.slice(at, Math.max(at, from)));
      const end = behindLine(text, item.end);
      const isWholeLine = from === 0 || text[from - 1] === '\n';
      at = isWholeLine && text[end] === '\n' ? end + 1 : end;
    }
    previousEnd = item.end;
  }
  parts.push(text.slice(at));
  return parts.join('');
}

const COMMENTS = /\/\/[^\n]*|\/\*[\s\S]*?\*\//g;

/**
 * Where the comment that belongs to the item begins: behind the last blank line before it. The comment at the head of the
 * file belongs to the file.
 */
function attachedFrom(text: string, from: number, start: number): number {
  // Line breaks within comments are none.
  const gap = text.slice(from, start).replaceAll(COMMENTS, (comment) => comment.replaceAll(/\s/g, '.'));
  if (from === 0 && gap.trim() !== '') return start;
  const lineEnd = gap.indexOf('\n');
  if (lineEnd < 0) return start;
  const blank = [...gap.matchAll(/\n[ \t]*\r?\n/g)].at(-1);
  return from + (blank ? blank.index + blank[0].length : lineEnd + 1);
}

/** Behind a comment on the item's last line, if only that follows. */
function behindLine(text: string, end: number): number {
  const rest = /^[ \t]*(?:;[ \t]*)?(?:\/\/[^\n]*|\/\*[^\n]*?\*\/[ \t]*)?(?=\r?\n|$)/.exec(text.slice(end));
  return rest ? end + rest[0].length : end;
}

const tidy = (text: string): string =>
  `${text
    .replaceAll(/[ \t]+$/gm, '')
    .replaceAll(/\n{3,}/g, '\n\n')
    .trim()}\n`;

import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { init, parse } from 'es-module-lexer';

await init;

export const ROOT = fileURLToPath(new URL('../../../', import.meta.url));

export interface SourceImport {
  /** As written. */
  readonly specifier: string;
  /** Repository-relative path for a relative import, else undefined. */
  readonly file?: string;
  /** Names between the braces; `*` for anything else. */
  readonly names: readonly string[];
  readonly typeOnly: boolean;
}

export interface SourceModule {
  /** Repository-relative path with forward slashes, e.g. `src/core/dtype.ts`. */
  readonly file: string;
  readonly text: string;
  readonly imports: readonly SourceImport[];
}

/** Every TypeScript file under a folder of the repository, with its imports, type imports included. */
export const readModules = (folder: string): SourceModule[] =>
  readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts') && !entry.name.endsWith('.d.ts'))
    .map((entry) => relative(ROOT, join(entry.parentPath, entry.name)).replaceAll('\\', '/'))
    .toSorted()
    .map((file) => moduleOf(file, readFileSync(join(ROOT, file), 'utf8')));

/**
 * A module with its imports: `import`, `import type`, `export … from`, `import('…')` of values and of types, and worker
 * scripts named by `new URL('…', import.meta.url)`.
 */
export const moduleOf = (file: string, text: string): SourceModule => {
  const [lexed] = parse(text, file);
  const found = lexed.flatMap((item) => {
    if (item.type === 'import-meta') return [];
    // A computed import can go anywhere: the empty specifier makes every rule that asks refuse it.
    const specifier = item.specifier ?? '';
    const names = importedNames(text.slice(item.importStart, item.importEnd));
    const typeOnly = item.type === 'dynamic' ? item.probablyTypeOnly : item.typeOnly;
    return [{ specifier, names, typeOnly }];
  });
  for (const [, argument] of text.matchAll(/\bnew URL\(([^;]*?),\s*import\.meta\.url\s*\)/g)) {
    for (const [, specifier] of argument!.matchAll(/'(\.[^']+\.ts)'/g)) {
      found.push({ specifier: specifier!, names: ['*'], typeOnly: false });
    }
  }
  const imports = found.map((item) => ({
    ...item,
    ...(item.specifier.startsWith('.') && { file: join(dirname(file), item.specifier).replaceAll('\\', '/') }),
  }));
  return { file, text, imports };
};

const importedNames = (statement: string): string[] => {
  const braces = /\{([^}]*)\}/.exec(statement);
  if (!braces) return ['*'];
  const names = braces[1]!.split(',').map(
    (name) =>
      name
        .trim()
        .replace(/^type\s+/, '')
        .split(/\s+as\s+/)[0]!,
  );
  return names.filter((name) => name !== '');
};

/** Lines of code with their numbers, comments left out. */
export const codeLines = (text: string): { line: number; code: string }[] =>
  text
    .split('\n')
    .map((code, index) => ({ line: index + 1, code: code.replace(/\s\/\/ .*$/, '') }))
    .filter(({ code }) => !/^\s*(\/\/|\/\*|\*)/.test(code));

import { registerHooks } from 'node:module';

/** Globals that need no import and give access to something outside the process. */
const LEADING_OUT = ['process', 'fetch', 'WebSocket', 'EventSource', 'navigator', 'BroadcastChannel'] as const;

/** The format in which Node must read a file, in any package. CommonJS would provide `require` and `module`. */
const FORMATS: Readonly<Record<string, string>> = {
  ts: 'module-typescript',
  mts: 'module-typescript',
  js: 'module',
  mjs: 'module',
  json: 'json',
};

/**
 * Confines a module to computing: it may import files beside it, but no module of Node and no package, and it has no
 * `process` and no `fetch`.
 *
 * @param texts JavaScript that stands in for what lies at these URLs.
 */
export function confine(url: string, texts: ReadonlyMap<string, string>): void {
  const folder = new URL('.', url).href;
  registerHooks({
    resolve(specifier, context, next) {
      if (!liesBeside(asUrl(specifier, context.parentURL), folder)) throw refused(specifier);
      const resolved = next(specifier, context);
      // Where a symbolic link leads.
      if (!liesBeside(resolved.url, folder)) throw refused(specifier);
      return resolved;
    },
    load(from, context, next) {
      const format = FORMATS[/\.(\w+)(?:\?.*)?$/.exec(from)?.[1] ?? ''];
      if (format === undefined) throw refused(from);
      const source = texts.get(from);
      if (source !== undefined) return { format: 'module', source, shortCircuit: true };
      return next(from, { ...context, format });
    },
  });
  for (const name of LEADING_OUT) Reflect.deleteProperty(globalThis, name);
  // A setter here would receive the handles that Node's streams assign to plain objects.
  Object.preventExtensions(Object.prototype);
}

/** A relative specifier as a URL. Any other specifier (a package, a module of Node, another scheme) stays as it is, so it lies in no folder. */
const asUrl = (specifier: string, parent: string | undefined): string =>
  /^(?:file:|[./])/.test(specifier) ? new URL(specifier, parent).href : specifier;

const liesBeside = (url: string, folder: string): boolean =>
  url.startsWith(folder) && !url.slice(folder.length).replace(/\?.*$/, '').includes('/');

/** In the message of every import that is refused. */
export const REFUSED = 'is refused: a reference may import only files of its own folder';

const refused = (specifier: string): Error => new Error(`import of '${specifier}' ${REFUSED}`);

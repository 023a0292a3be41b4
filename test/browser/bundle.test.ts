import { init, parse } from 'es-module-lexer';
import { beforeAll, describe, expect, it } from 'vitest';
import { bundleForBrowser } from '../../scripts/build-browser.ts';

describe('the bundle for pages', () => {
  let code: string;
  beforeAll(async () => {
    code = await bundleForBrowser();
  });

  /** What matches, short enough to read. */
  const found = (pattern: RegExp): string[] => [...code.matchAll(new RegExp(pattern, 'g'))].map(([text]) => text);

  it('imports nothing, of Node or otherwise', async () => {
    await init;
    const [imports] = parse(code);
    expect(imports.map(({ specifier }) => specifier)).toEqual([]);
    expect(found(/['"`]node:\w+|\brequire\s*\(/)).toEqual([]);
  });

  it('runs no text as code, which a page’s Content-Security-Policy would forbid', () => {
    expect(found(/\beval\s*\(|new Function\b/)).toEqual([]);
  });

  it('stays below half a megabyte', () => {
    expect(code.length).toBeGreaterThan(50_000);
    expect(code.length).toBeLessThan(500_000);
  });
});

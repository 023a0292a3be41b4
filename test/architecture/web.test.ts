import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { moduleOf, ROOT, type SourceModule } from './support/source-modules.ts';

/** The types that both sides share. */
const WIRE = 'src/server/wire.ts';
/** What runs anywhere: no Node, and nothing that loads any. */
const ANYWHERE = ['src/reports/format.ts', 'src/reports/charts/scale.ts'];

/** Modules of the page, of which the lexer reads the import statements alone: it knows no JSX. */
const readPageModules = (): SourceModule[] =>
  readdirSync(join(ROOT, 'web'), { recursive: true, encoding: 'utf8' })
    .filter((file) => /\.tsx?$/.test(file))
    .map((file) => {
      const text = readFileSync(join(ROOT, 'web', file), 'utf8');
      return moduleOf(`web/${file}`, (text.match(/^import[^;]*;/gm) ?? []).join('\n'));
    });

/** What a module of the page imports of the program and should not. */
const strayImports = ({ file, imports }: SourceModule): string[] =>
  imports
    .filter((item) => item.file?.startsWith('src/') || item.specifier.startsWith('node:'))
    .filter((item) => !ANYWHERE.includes(item.file ?? '') && !(item.file === WIRE && item.typeOnly))
    .map(({ specifier }) => `${file} imports ${specifier}`);

describe('the page', () => {
  const modules = readPageModules();

  it('imports of the program the types of the wire, and formats and scales', () => {
    expect(modules.length).toBeGreaterThan(15);
    expect(modules.flatMap(strayImports)).toEqual([]);
  });

  it.each([
    [`import { servePage } from '../src/server/page-server.ts';`, true],
    [`import { Look } from '../src/server/wire.ts';`, true],
    [`import type { Look } from '../src/server/wire.ts';`, false],
    [`import { formatNs } from '../src/reports/format.ts';`, false],
    [`import { readFileSync } from 'node:fs';`, true],
  ])('%s is refused: %s', (text, refused) => {
    expect(strayImports(moduleOf('web/a.ts', text)).length > 0).toBe(refused);
  });
});

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { LAYERS } from './support/rules.ts';
import { ROOT } from './support/source-modules.ts';

const read = (file: string): { compilerOptions: Record<string, unknown>; include: string[] } =>
  JSON.parse(readFileSync(join(ROOT, file), 'utf8'));

it('tsconfig.pure.json covers the first three lines of layers and the browser’s entry, without Node types', () => {
  const { compilerOptions, include } = read('tsconfig.pure.json');
  expect(include.toSorted()).toEqual(
    LAYERS.slice(0, 3)
      .flat()
      .map((folder) => `src/${folder}`)
      .concat('src/browser.ts')
      .toSorted(),
  );
  expect(compilerOptions.types).toEqual([]);
});

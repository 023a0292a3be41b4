import { readdirSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';

const RESULTS = 'docs/results';
/** The beginning of a string that is a path from the root of a file system. */
const ABSOLUTE = /"(?:file:\/\/)?\/[\w.-]+\/[^"\n]*"/g;

it('name no folder of the machine that made them', () => {
  const found = readdirSync(RESULTS)
    .filter((name) => name.endsWith('.json'))
    .flatMap((name) =>
      (readFileSync(`${RESULTS}/${name}`, 'utf8').match(ABSOLUTE) ?? []).map((path) => `${name}: ${path}`),
    );
  expect(found).toEqual([]);
});

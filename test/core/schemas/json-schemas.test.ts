import { readdir, readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { jsonSchemas } from '../../../src/core/schemas/json-schemas.ts';

const folder = new URL('../../../schemas/', import.meta.url);
const schemas = jsonSchemas();

it('schemas/ holds exactly the generated schemas', async () => {
  expect((await readdir(folder)).toSorted()).toEqual(Object.keys(schemas).toSorted());
});

describe.each(Object.entries(schemas))('schemas/%s', (name, schema) => {
  it('is up to date (npm run schemas)', async () => {
    const written: unknown = JSON.parse(await readFile(new URL(name, folder), 'utf8'));
    expect(written).toEqual(JSON.parse(JSON.stringify(schema)));
  });

  it('refers only to definitions it has', () => {
    const references = [...JSON.stringify(schema).matchAll(/"\$ref":"([^"]*)"/g)].map(([, reference]) => reference!);
    const { $defs = {} } = schema as { $defs?: object };
    expect(references.length).toBeGreaterThan(0);
    for (const reference of references) expect(Object.keys($defs)).toContain(reference.replace('#/$defs/', ''));
  });
});

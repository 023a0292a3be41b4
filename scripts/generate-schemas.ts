// Writes schemas/*.schema.json from the zod schemas: npm run schemas
import { writeFile } from 'node:fs/promises';
import { jsonSchemas } from '../src/core/schemas/json-schemas.ts';

for (const [name, schema] of Object.entries(jsonSchemas())) {
  await writeFile(new URL(`../schemas/${name}`, import.meta.url), `${JSON.stringify(schema, undefined, 2)}\n`);
}

import { afterAll } from 'vitest';

/** What test files that share a process find is what the first one found: environment and working folder. */
const environment = { ...process.env };
const folder = process.cwd();

afterAll(() => {
  process.chdir(folder);
  for (const name of Object.keys(process.env)) if (!(name in environment)) delete process.env[name];
  Object.assign(process.env, environment);
});

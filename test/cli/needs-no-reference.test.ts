import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { runCli, runJson, scaleCopy, temporaryFolder } from './run-cli.ts';

const ON_L4 = ['--device', 'virtual:l4', '--threads', '1'];
const { problem, kernel } = scaleCopy();
const other = join(problem, '02_coalesced');
const place = temporaryFolder();
const store = ['--store', join(place, 'store')];
const recording = join(place, 'run.jsonl.gz');
const search = ['--max-evaluations', '3', '--no-ablation', '--seed', '1'];

beforeAll(async () => {
  const outcome = await runCli(['optimize', problem, ...ON_L4, ...store, ...search, '--record', recording]);
  expect(outcome).toMatchObject({ code: 0 });
});

/** A reference that was right once, and now can't even be imported. */
const breakReference = (): void => {
  writeFileSync(join(problem, 'reference.ts'), "throw new Error('imported');\nexport const reference = () => ({});\n");
};

describe('with a reference that throws when it is imported', () => {
  beforeAll(breakReference);

  test.each<[string, string[]]>([
    ['check', ['check', problem]],
    ['check', ['check', kernel]],
    ['devices', ['devices']],
    ['doctor', ['doctor']],
    ['report', ['report', ...store]],
    ['show', ['show', ...store]],
    ['show', ['show', 'latest/e1', ...store]],
    ['runs', ['runs', ...store]],
    ['patterns', ['patterns', ...store, '--evidence']],
    ['export', ['export', ...store, '-o', join(place, 'out')]],
    ['export', ['export', kernel, '-o', join(place, 'kernel')]],
    ['inspect', ['inspect', 'latest', ...store, ...ON_L4]],
    ['resume', ['resume', ...store]],
  ])('%s starts none', async (_, args) => {
    expect(await runCli(args)).toMatchObject({ code: 0, stderr: expect.not.stringContaining('imported') });
  });

  test.each<[string, string[]]>([
    ['evaluate', ['evaluate', kernel, ...ON_L4]],
    ['diagnose', ['diagnose', kernel, ...ON_L4]],
    ['inspect', ['inspect', kernel, ...ON_L4]],
    ['audit', ['audit', problem]],
    ['optimize', ['optimize', problem, ...ON_L4, ...search, '--store', join(place, 'other')]],
    ['compare', ['compare', kernel, other, ...ON_L4]],
  ])('%s can’t do without: it says where the mistake is', async (_, args) => {
    const { code, json } = await runJson(args);
    expect({ code, error: json.error }).toMatchObject({
      code: 2,
      error: {
        code: 'reference-failed',
        message: expect.stringContaining('imported'),
        file: join(problem, 'reference.ts'),
      },
    });
  });
});

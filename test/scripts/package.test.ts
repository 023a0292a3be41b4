import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DockerfileParser, type From } from 'dockerfile-ast';
import { beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { DEVELOPERS_FILE, PACKAGE_BUDGET } from '../../scripts/build/package-budget.ts';
import { repository as ROOT } from '../cli/run-cli.ts';

const read = (file: string): string => readFileSync(join(ROOT, file), 'utf8');

interface Packed {
  readonly size: number;
  readonly unpackedSize: number;
  readonly files: readonly { readonly path: string; readonly size: number }[];
}

describe('the package', () => {
  let packed: Packed;
  beforeAll(() => {
    // As it is: npm run test:package also builds it, and uses it.
    const { stdout, stderr } = spawnSync('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], {
      cwd: ROOT,
      encoding: 'utf8',
    });
    expect(stdout, stderr).not.toBe('');
    const told = JSON.parse(stdout) as Packed[] | Record<string, Packed>;
    packed = Object.values(told)[0]!;
  });

  it('holds nothing that only developers need', () => {
    expect(packed.files.length).toBeGreaterThan(300);
    expect(packed.files.map(({ path }) => path).filter((path) => DEVELOPERS_FILE.test(path))).toEqual([]);
    for (const path of ['test/a.ts', 'dist/src/a.js.map', 'examples/.warpsmith/runs', 'python/__pycache__/a.pyc'])
      expect(DEVELOPERS_FILE.test(path), path).toBe(true);
  });

  it('holds what commands copy and read', () => {
    const paths = new Set(packed.files.map(({ path }) => path));
    for (const path of [
      'bin/warpsmith.mjs',
      'bin/start.mjs',
      'course/12_attention/page.md',
      'course/12_attention/reference.ts',
      'examples/row-sum/problem.json',
      'LICENSE',
      'schemas/lesson.schema.json',
    ])
      expect(paths.has(path), path).toBe(true);
  });

  it('stays within its budget', () => {
    expect(packed.size).toBeLessThan(PACKAGE_BUDGET.packed);
    expect(packed.unpackedSize).toBeLessThan(PACKAGE_BUDGET.unpacked);
  });

  it('installs on Linux and macOS, on x64 and arm64, and runs no script of its dependencies', () => {
    const manifest = JSON.parse(read('package.json'));
    expect([manifest.os, manifest.cpu]).toEqual([
      ['linux', 'darwin'],
      ['x64', 'arm64'],
    ]);
    const { packages } = JSON.parse(read('package-lock.json')) as { packages: Record<string, object> };
    const scripted = Object.entries(packages).filter(([, one]) => 'hasInstallScript' in one);
    const refused = Object.keys(manifest.allowScripts).filter((name) => manifest.allowScripts[name] === false);
    expect(scripted.map(([name]) => name.replace('node_modules/', '')).sort()).toEqual(refused.sort());
  });
});

describe('publish.yml', () => {
  const text = read('.github/workflows/publish.yml');
  const workflow = parse(text) as {
    permissions: object;
    jobs: Record<string, { permissions: object; steps: { run?: string; uses?: string }[] }>;
  };
  const { publish } = workflow.jobs;

  it('publishes with provenance, by the identity of the workflow and no secret', () => {
    expect(workflow.permissions).toEqual({ contents: 'read' });
    expect(publish!.permissions).toEqual({ contents: 'read', 'id-token': 'write' });
    expect(publish!.steps.at(-1)!.run).toMatch(/\bpublish --provenance\b/);
    expect(text).not.toMatch(/secrets\.|_TOKEN|password/i);
  });

  it('tests what it publishes first, by scripts that there are', () => {
    const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };
    const called = publish!.steps.flatMap(({ run }) => [...(run ?? '').matchAll(/^npm (?:run )?([\w:]+)$/gm)]);
    const names = called.map(([, name]) => name!);
    expect(names).toEqual(['lint', 'types', 'test', 'test:package']);
    expect(names.filter((name) => !(name in scripts))).toEqual([]);
  });
});

describe('the Dockerfile', () => {
  const dockerfile = DockerfileParser.parse(read('Dockerfile'));
  const instructions = dockerfile.getInstructions();
  const ofKind = (keyword: string) => instructions.filter((one) => one.getKeyword() === keyword);

  it('starts from slim images of the Node that package.json asks for', () => {
    const images = ofKind('FROM').map((from) => (from as From).getImage());
    expect(images).toEqual(['node:24-slim', 'node:24-slim']);
    expect(JSON.parse(read('package.json')).engines.node).toBe('>=24');
  });

  it('runs the command as a user who is not root', () => {
    const keywords = instructions.map((one) => one.getKeyword());
    const last = keywords.lastIndexOf('USER');
    expect(instructions[last]!.getArgumentsContent()).toBe('node');
    expect(last).toBeGreaterThan(keywords.lastIndexOf('RUN'));
    expect(last).toBeLessThan(keywords.indexOf('ENTRYPOINT'));
  });

  it('takes the words of `docker run` as a command line of warpsmith, through no shell', () => {
    expect(JSON.parse(ofKind('ENTRYPOINT')[0]!.getArgumentsContent()!)).toEqual(['warpsmith']);
    expect(JSON.parse(ofKind('CMD')[0]!.getArgumentsContent()!)).toEqual(['doctor']);
  });

  it('runs no install script, fetches nothing but packages, and copies no build of this machine', () => {
    const runs = ofKind('RUN').map((run) => run.getArgumentsContent()!);
    for (const command of runs.join(' && ').split(' && '))
      expect(command, command).toMatch(
        /^npm (?:(?:ci|install) .*--ignore-scripts|pack |cache clean)|^(?:rm \/tmp|mkdir|chown)\b/,
      );
    expect(ofKind('ADD')).toEqual([]);
    const ignored = read('.dockerignore').split('\n');
    expect(ignored).toEqual(expect.arrayContaining(['node_modules', 'dist', '.git']));
    expect(existsSync(join(ROOT, 'package-lock.json'))).toBe(true);
  });
});

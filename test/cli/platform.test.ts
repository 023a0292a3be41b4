import { afterEach, describe, expect, it } from 'vitest';
import { runCli, runJson, SCALE } from './run-cli.ts';

const [platform, arch] = [process.platform, process.arch];
const pretend = (name: string, processor: string) => {
  Object.defineProperty(process, 'platform', { value: name });
  Object.defineProperty(process, 'arch', { value: processor });
};
afterEach(() => pretend(platform, arch));

describe('on macOS', () => {
  it('one note says before judging what is needed there; stdout stays clean', async () => {
    pretend('darwin', 'arm64');
    const { stderr, stdout } = await runCli(['evaluate', 'nowhere', '--device', 'virtual:l4']);
    expect(stderr.match(/warpsmith is tried on Linux x64; this is macOS on arm64\./g)).toHaveLength(1);
    expect(stdout).toBe('');
  });

  it('no note disturbs commands that judge nothing', async () => {
    pretend('darwin', 'arm64');
    expect((await runCli(['check', SCALE])).stderr).toBe('');
    expect((await runCli(['learn'])).stderr).toBe('');
  });

  it('doctor says what works and what is needed, and does not fail for it', async () => {
    pretend('darwin', 'arm64');
    const { json } = await runJson(['doctor']);
    const check = json.checks.find(({ id }: { id: string }) => id === 'platform');
    expect(check).toMatchObject({ verdict: 'absent', detail: expect.stringContaining('check, learn, log') });
    expect(check.hint).toContain('NVPTX');
  });
});

import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { afterAll, describe, expect, it } from 'vitest';
import { initAgent } from '../../src/app/init-agent.ts';
import { ENVIRONMENT } from './client.ts';

const root = mkdtempSync(join(tmpdir(), 'warpsmith-plugin-'));
afterAll(() => rmSync(root, { recursive: true, force: true }));

/* The rules that agents' documents state: names, places, and that everything named is there. No agent has loaded it here. */
describe('the plug-in that init --agent writes', async () => {
  const agent = join(root, 'work');
  const store = join(root, 'store');
  const { files } = await initAgent({ target: 'layernorm', agent, device: 'virtual:l4', store });
  const folder = join(agent, 'plugin');
  const manifestOf = (of: string) =>
    JSON.parse(readFileSync(join(folder, of, 'plugin.json'), 'utf8')) as Record<string, string>;

  it.each(['.claude-plugin', '.codex-plugin'])('has a manifest in %s, and nothing else there', (place) => {
    expect(readdirSync(join(folder, place))).toEqual(['plugin.json']);
    const { name, version, description, ...parts } = manifestOf(place);
    expect(name).toMatch(/^[a-z][a-z0-9]*(?:-[a-z0-9]+)*$/);
    expect(version).toMatch(/^\d+\.\d+\.\d+/);
    expect(description).toContain('layernorm');
    for (const path of Object.values(parts)) {
      expect(path).toMatch(/^\.\//);
      expect(existsSync(join(folder, path)), path).toBe(true);
    }
  });

  it('has skills that are named as their folders, and short', () => {
    const skills = files.filter((file) => file.endsWith('SKILL.md'));
    expect(skills.length).toBe(3);
    for (const file of skills) {
      const text = readFileSync(join(agent, file), 'utf8');
      const head = /^---\nname: (.+)\ndescription: (.+)\n---\n\n# /.exec(text);
      expect(head, file).not.toBeNull();
      expect(head![1]).toBe(basename(dirname(file)));
      expect(head![2]!.length).toBeLessThanOrEqual(1024);
      expect(text.split('\n').length).toBeLessThan(500);
    }
  });

  it('starts the server from its own .mcp.json, from any folder', async () => {
    const { mcpServers } = JSON.parse(readFileSync(join(folder, '.mcp.json'), 'utf8')) as {
      mcpServers: Record<string, { command: string; args: string[] }>;
    };
    expect(Object.keys(mcpServers)).toEqual(['warpsmith']);
    const transport = new StdioClientTransport({
      ...{ ...mcpServers.warpsmith!, env: ENVIRONMENT, stderr: 'ignore', cwd: tmpdir() },
    });
    const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode: 'auto' } });
    await client.connect(transport);
    try {
      const { tools } = await client.listTools();
      expect(tools.map(({ name }) => name)).toContain('submit');
    } finally {
      await client.close();
    }
  });

  it('is replaced by a later call, and nobody else’s folder is', async () => {
    expect((await initAgent({ target: 'softmax', agent, device: 'virtual:l4', store })).files).toEqual(files);
    expect(manifestOf('.claude-plugin').description).toContain('softmax');
    rmSync(join(agent, 'AGENTS.md'));
    await expect(initAgent({ target: 'softmax', agent, store })).rejects.toMatchObject({
      details: { code: 'folder-not-empty' },
    });
  });
});

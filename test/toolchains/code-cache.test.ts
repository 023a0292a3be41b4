import { expect, test } from 'vitest';
import type { CompiledCode } from '../../src/core/compiled-code.ts';
import { withTemporaryFolder } from '../../src/process/temporary-folder.ts';
import { openCodeCache } from '../../src/toolchains/code-cache.ts';

const code = (key: string) => ({ key, kind: 'ptx', text: `// ${key}` }) as unknown as CompiledCode;
const keys = Array.from({ length: 100 }, (_value, index) => `k${index}`);

test('what was not asked for lately is forgotten: a long run does not keep all that it compiled', async () => {
  const cache = openCodeCache();
  for (const key of keys) {
    await cache.put(code(key));
    expect(await cache.get('k0')).toEqual(code('k0'));
  }
  expect(await cache.get('k1')).toBeUndefined();
  expect(await cache.get('k99')).toEqual(code('k99'));
});

test('a folder forgets nothing', () =>
  withTemporaryFolder(async (folder) => {
    const cache = openCodeCache(folder);
    for (const key of keys) await cache.put(code(key));
    for (const key of keys) expect(await cache.get(key)).toEqual(code(key));
  }));

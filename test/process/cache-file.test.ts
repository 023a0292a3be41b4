import { mkdir, mkdtemp, readdir, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import {
  openSealedText,
  pruneCacheFolder,
  readCacheFile,
  sealText,
  userCacheFolder,
  writeCacheFile,
} from '../../src/process/cache-file.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'warpsmith-cache-file-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

it('is read as it was written, folders and all, the later one over the earlier', async () => {
  const path = join(folder, 'a', 'b', 'file');
  expect(await readCacheFile(path)).toBeUndefined();
  await writeCacheFile(path, 'one');
  await writeCacheFile(path, 'two');
  expect(await readCacheFile(path)).toBe('two');
  expect(await readdir(join(folder, 'a', 'b'))).toEqual(['file']);
});

it('is all there or not at all, with many writers at once', async () => {
  const path = join(folder, 'file');
  const texts = Array.from({ length: 20 }, (_, i) => `${i}`.repeat(10_000));
  await Promise.all(texts.map((text) => writeCacheFile(path, text)));
  expect(texts).toContain(await readCacheFile(path));
  expect(await readdir(folder)).toEqual(['file']);
});

it('that cannot be written leaves nothing behind', async () => {
  await writeFile(join(folder, 'file'), 'kept');
  await writeCacheFile(join(folder, 'file', 'below'), 'text');
  // A folder stands in its place: the last step fails.
  await mkdir(join(folder, 'taken', 'inner'), { recursive: true });
  await writeCacheFile(join(folder, 'taken'), 'text');
  expect((await readdir(folder)).sort()).toEqual(['file', 'taken']);
  expect(await readCacheFile(join(folder, 'file'))).toBe('kept');
});

it('lies where the user or the XDG specification says', () => {
  expect(userCacheFolder('peaks', { WARPSMITH_CACHE: '/mine', XDG_CACHE_HOME: '/caches' })).toBe('/mine/peaks');
  expect(userCacheFolder('peaks', { WARPSMITH_CACHE: 'off', XDG_CACHE_HOME: '/caches' })).toBeUndefined();
  expect(userCacheFolder('peaks', { XDG_CACHE_HOME: '/caches' })).toBe('/caches/warpsmith/peaks');
  expect(userCacheFolder('peaks', { XDG_CACHE_HOME: 'relative' })).toMatch(/\.cache\/warpsmith\/peaks$/);
  expect(userCacheFolder('peaks', {})).toMatch(/^\/.*\.cache\/warpsmith\/peaks$/);
});

it('goes first when it was used longest ago, as far as the rest fits', async () => {
  for (const [name, day] of [
    ['new', 3],
    ['old', 1],
    ['middle', 2],
  ] as const) {
    const path = join(folder, 'below', name);
    await writeCacheFile(path, 'ten bytes.');
    await utimes(path, day, day);
  }
  expect(pruneCacheFolder(folder, 30)).toBe(30);
  expect(pruneCacheFolder(folder, 29)).toBe(20);
  expect((await readdir(join(folder, 'below'))).sort()).toEqual(['middle', 'new']);
  expect(pruneCacheFolder(join(folder, 'is not there'), 0)).toBe(0);
});

it('is not pruned, and nothing thrown, where its folder can not be listed', async () => {
  await writeFile(join(folder, 'file'), 'text');
  expect(pruneCacheFolder(join(folder, 'file'), 0)).toBe(0);
  expect(await readCacheFile(join(folder, 'file'))).toBe('text');
});

it('gives a sealed text back whole, and nothing of a damaged one', () => {
  const sealed = sealText('two\nlines');
  expect(openSealedText(sealed)).toBe('two\nlines');
  for (const damaged of ['', '\n', sealed.slice(0, -1), sealed.replace('two', 'tow'), sealed.slice(1)])
    expect(openSealedText(damaged)).toBeUndefined();
});

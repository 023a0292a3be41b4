import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { anchorsOf, linksOf, ROOT, readPages } from './support/pages.ts';

const pages = readPages();

/** Why a link leads nowhere, if it does. */
const brokenness = (from: string, link: string): string | undefined => {
  if (/^https:\/\//.test(link)) return undefined;
  if (/^[a-z]+:/.test(link)) return `${link}: only https and relative links`;
  const [path = '', anchor] = link.split('#');
  const target = path === '' ? join(ROOT, from) : join(ROOT, dirname(from), path);
  if (!existsSync(target)) return `${link}: no such file`;
  if (anchor === undefined) return undefined;
  return anchorsOf(readFileSync(target, 'utf8')).includes(anchor) ? undefined : `${link}: no such heading`;
};

describe('the documentation', () => {
  it.each(pages)('$file: every link leads somewhere', ({ file, text }) => {
    expect(linksOf(text).flatMap((link) => brokenness(file, link) ?? [])).toEqual([]);
  });

  it('has every page linked from another one', () => {
    const linked = new Set(
      pages.flatMap(({ file, text }) => linksOf(text).map((link) => join(dirname(file), link.split('#')[0]!))),
    );
    const orphans = pages.filter(({ file }) => file.startsWith('docs/') && !linked.has(file));
    expect(orphans.map(({ file }) => file)).toEqual([]);
  });

  it('names no folder of a machine', () => {
    const named = pages.filter(({ text }) => /(?:^|[\s`("])\/(?:home|root|work|tmp|Users)\//m.test(text));
    expect(named.map(({ file }) => file)).toEqual([]);
  });
});

describe('a link', () => {
  it.each([
    ['README.md', 'nowhere.md'],
    ['README.md', 'docs/glossary.md#nothing-of-that-name'],
    ['docs/architecture.md', 'docs/glossary.md'],
    ['README.md', 'file:///etc/hosts'],
  ])('of %s to %s is broken', (from, link) => {
    expect(brokenness(from, link)).toBeDefined();
  });
});

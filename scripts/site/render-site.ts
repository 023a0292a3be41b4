import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join, posix } from 'node:path';
import { fileURLToPath } from 'node:url';
import { escapeMarkup } from '../../src/reports/markup.ts';
import { ROOT } from '../build/compile.ts';
import { findPages, type PageGroup, type SourcePage } from './find-pages.ts';
import { layout, relativeTo, siteFileOf } from './layout.ts';
import { renderMarkdown } from './render-markdown.ts';
import { type SearchedSection, searchScript } from './search.ts';

/** What a browser shows as it is. */
const COPIED = /\.(?:json|svg|png)$/;

/** Files of the site by their path in it. */
export type Site = Map<string, string | Uint8Array>;

/** Files of the repository, beside pages, that pages lead to. */
type Linked = Set<string>;

/** What a link in a page leads to, in the site. Notes files that must be there. */
function linker(page: SourcePage, pages: ReadonlySet<string>, linked: Linked): (target: string) => string {
  const at = siteFileOf(page.file);
  return (target) => {
    if (/^[a-z]+:/.test(target) || target.startsWith('#')) return target;
    const [path = '', anchor] = target.split('#');
    const file = posix.normalize(posix.join(posix.dirname(page.file), decodeURI(path)));
    const suffix = anchor === undefined ? '' : `#${anchor}`;
    if (pages.has(file)) return `${relativeTo(at, siteFileOf(file))}${suffix}`;
    if (!existsSync(join(ROOT, file))) throw new Error(`${page.file} links to ${target}, which is not there`);
    linked.add(file);
    return relativeTo(at, sourceFileOf(file));
  };
}

const sourceFileOf = (file: string): string => (COPIED.test(file) ? file : `${file}.html`);

/** A source file as a page. */
function sourcePage(file: string, text: string, groups: readonly PageGroup[]): string {
  const body = `<h1>${escapeMarkup(file)}</h1>\n<pre><code>${escapeMarkup(text)}</code></pre>`;
  return layout({ at: `${file}.html`, title: file, body, groups });
}

const assetsFolder = new URL('assets/', import.meta.url);

async function addAssets(site: Site, sections: readonly SearchedSection[]): Promise<void> {
  for (const name of ['site.css', 'site.js'])
    site.set(`assets/${name}`, await readFile(new URL(name, assetsFolder), 'utf8'));
  const library = fileURLToPath(import.meta.resolve('minisearch')).replace(/dist\/.*$/, 'dist/umd/index.js');
  site.set('assets/minisearch.js', (await readFile(library, 'utf8')).replace(/^\/\/# sourceMappingURL=.*$/m, ''));
  site.set('assets/search-index.js', searchScript(sections));
}

/**
 * The documentation as a site that works from a folder on disk, with no server and no network.
 *
 * @throws Error for a link to a file that is not there.
 */
export async function renderSite(): Promise<Site> {
  const groups = await findPages();
  const pages = groups.flatMap((group) => group.pages);
  const known = new Set(pages.map(({ file }) => file));
  const [site, linked, searched]: [Site, Linked, SearchedSection[]] = [new Map(), new Set(), []];
  for (const page of pages) {
    const at = siteFileOf(page.file);
    const { html, sections } = renderMarkdown(page.text, linker(page, known, linked));
    site.set(at, layout({ at, title: page.title, body: html, groups }));
    for (const { anchor, title, text } of sections)
      searched.push({ id: `${at}#${anchor}`, page: page.title, title, text });
  }
  for (const file of [...linked].sort()) {
    const bytes = await readFile(join(ROOT, file));
    site.set(sourceFileOf(file), COPIED.test(file) ? bytes : sourcePage(file, bytes.toString('utf8'), groups));
  }
  await addAssets(site, searched);
  return site;
}

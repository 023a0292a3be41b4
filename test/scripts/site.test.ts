import { posix } from 'node:path';
import { runInNewContext } from 'node:vm';
import MiniSearch, { type Options } from 'minisearch';
import { beforeAll, describe, expect, it } from 'vitest';
import { renderMarkdown } from '../../scripts/site/render-markdown.ts';
import { renderSite, type Site } from '../../scripts/site/render-site.ts';

let site: Site;
beforeAll(async () => {
  site = await renderSite();
});

const htmlPages = (): [string, string][] =>
  [...site].flatMap(([file, contents]) => (file.endsWith('.html') ? [[file, String(contents)]] : []));

const attribute = (name: string, html: string): string[] =>
  [...html.matchAll(new RegExp(`<[^>]*\\s${name}="([^"]*)"`, 'g'))].map((match) => match[1]!);

/** Why a link leads nowhere in the site, if it does. */
function brokenness(from: string, link: string, anchors: ReadonlyMap<string, ReadonlySet<string>>): string | undefined {
  if (/^https:/.test(link)) return undefined;
  if (/^[a-z]+:|^\//.test(link)) return `${from}: ${link} is not relative`;
  const [path = '', anchor] = link.split('#');
  const target = path === '' ? from : posix.normalize(posix.join(posix.dirname(from), path));
  if (!site.has(target)) return `${from}: ${link} is no file of the site`;
  return anchor === undefined || anchors.get(target)?.has(decodeURI(anchor)) ? undefined : `${from}: no ${link}`;
}

describe('the site', () => {
  it('has every link lead to a file and a heading of its own, or to the web', () => {
    const anchors = new Map(htmlPages().map(([file, html]) => [file, new Set(attribute('id', html))]));
    const links = htmlPages().flatMap(([file, html]) =>
      ['href', 'src'].flatMap((name) => attribute(name, html).map((link) => [file, link] as const)),
    );
    expect(links.length).toBeGreaterThan(5000);
    expect(links.flatMap(([file, link]) => brokenness(file, link, anchors) ?? [])).toEqual([]);
    expect(brokenness('index.html', 'docs/nowhere.html', anchors)).toBeDefined();
    expect(brokenness('index.html', '#nowhere', anchors)).toBeDefined();
  });

  it('loads nothing from elsewhere: no script, style, font or picture', () => {
    for (const [file, html] of htmlPages()) {
      const loaded = [...attribute('src', html), ...html.matchAll(/<link[^>]* href="([^"]*)"/g)].map(String);
      expect(
        loaded.filter((url) => /https?:|^\/\//.test(url)),
        file,
      ).toEqual([]);
    }
    const assets = ['assets/site.css', 'assets/site.js'].map((name) => String(site.get(name)));
    expect(assets.filter((text) => /https?:|@import|fetch\(/.test(text))).toEqual([]);
  });

  it('finds by words, by their beginnings, and with a slip', () => {
    const page = { window: {} as { SEARCH_INDEX: string; SEARCH_OPTIONS: Options } };
    runInNewContext(String(site.get('assets/search-index.js')), page);
    const index = MiniSearch.loadJSON(page.window.SEARCH_INDEX, page.window.SEARCH_OPTIONS);
    const pagesOf = (query: string): string[] =>
      index.search(query, { prefix: true, fuzzy: 0.15, combineWith: 'AND' }).map(({ id }) => String(id));
    expect(pagesOf('bank conflicts')).toContain('docs/reference/findings.html#bank-conflicts');
    expect(pagesOf('compl zsh').length).toBeGreaterThan(0);
    expect(pagesOf('coalesing').length).toBeGreaterThan(0);
    for (const id of pagesOf('tolerance')) expect(site.has(id.split('#')[0]!), id).toBe(true);
  });

  it('searches in the browser with the index and its options', () =>
    expect(String(site.get('assets/site.js'))).toContain('loadJSON(window.SEARCH_INDEX, window.SEARCH_OPTIONS)'));

  it('shows the pages of the course, and the documentation of the repository', () => {
    expect(site.has('course/03_bank_conflicts/page.html')).toBe(true);
    expect(String(site.get('index.html'))).toContain('<h1 id="warpsmith">warpsmith</h1>');
  });
});

describe('a page', () => {
  it('numbers headings of one name, and lets no text through as HTML', () => {
    const { html, sections } = renderMarkdown('# A `b`\n\ntext\n\n## A b\n\n<script>x</script>\n', (link) => link);
    expect(sections.map(({ anchor }) => anchor)).toEqual(['a-b', 'a-b-1']);
    expect(html).toContain('&lt;script&gt;');
  });
});

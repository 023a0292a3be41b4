import MarkdownIt, { type Token } from 'markdown-it';
import { slugOf } from './slug.ts';

/** A part of a page below one heading, for the search. */
export interface PageSection {
  /** Empty for what comes before the first heading. */
  readonly anchor: string;
  readonly title: string;
  readonly text: string;
}

export interface RenderedPage {
  readonly html: string;
  readonly sections: readonly PageSection[];
}

/** Text and code of inline tokens, without marks. */
const plainOf = (token: Token): string =>
  (token.children ?? [])
    .map(({ type, content }) => (type === 'softbreak' ? ' ' : type === 'html_inline' ? '' : content))
    .join('');

/** Numbers anchors that repeat, as GitHub does. */
function anchorer(): (heading: string) => string {
  const seen = new Map<string, number>();
  return (heading) => {
    const slug = slugOf(heading);
    const count = seen.get(slug) ?? 0;
    seen.set(slug, count + 1);
    return count === 0 ? slug : `${slug}-${count}`;
  };
}

/** Gives headings their anchors, and splits the text at them. */
function sectionsOf(tokens: readonly Token[]): PageSection[] {
  const anchorOf = anchorer();
  const sections: { anchor: string; title: string; text: string }[] = [];
  for (const [index, token] of tokens.entries()) {
    if (token.type === 'heading_open') {
      const title = plainOf(tokens[index + 1]!);
      const anchor = anchorOf(title);
      token.attrSet('id', anchor);
      sections.push({ anchor, title, text: '' });
    } else if (token.type === 'inline' && tokens[index - 1]?.type !== 'heading_open') {
      const section = sections.at(-1);
      if (section) section.text += `${plainOf(token)} `;
    } else if (token.type === 'fence' || token.type === 'code_block') {
      const section = sections.at(-1);
      if (section) section.text += `${token.content} `;
    }
  }
  return sections;
}

/** Replaces the targets of links and images. */
function relink(tokens: readonly Token[], linkOf: (target: string) => string): void {
  for (const token of tokens) {
    for (const name of ['href', 'src']) {
      const target = token.attrGet(name);
      if (target !== null) token.attrSet(name, linkOf(String(target)));
    }
    if (token.children) relink(token.children, linkOf);
  }
}

/** Comments mark generated parts; nobody reads them. */
const withoutComments = (text: string): string => text.replaceAll(/<!--[\s\S]*?-->\n?/g, '');

/** @param linkOf what a link leads to in the site, given its target in the file. */
export function renderMarkdown(text: string, linkOf: (target: string) => string): RenderedPage {
  const markdown = new MarkdownIt({ html: false });
  markdown.renderer.rules.table_open = () => '<div class="table"><table>';
  markdown.renderer.rules.table_close = () => '</table></div>';
  const environment = {};
  const tokens = markdown.parse(withoutComments(text), environment);
  const sections = sectionsOf(tokens);
  relink(tokens, linkOf);
  return { html: markdown.renderer.render(tokens, markdown.options, environment), sections };
}

import { plainText } from './plain-text.ts';

/** A piece of HTML or SVG that is safe to insert: made by {@link markup}, never from text of elsewhere. */
export interface Markup {
  readonly markup: string;
}

type Insertable = Markup | string | number | readonly Insertable[] | null | undefined | false;

const REPLACEMENTS: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** Text as HTML or SVG shows it, in elements and in quoted attributes alike; without control characters. */
export const escapeMarkup = (text: string): string =>
  plainText(text).replaceAll(/[&<>"']/g, (found) => REPLACEMENTS[found]!);

function insert(value: Insertable): string {
  if (value === null || value === undefined || value === false) return '';
  if (typeof value === 'number') return String(value);
  if (typeof value === 'string') return escapeMarkup(value);
  return 'markup' in value ? value.markup : value.map(insert).join('');
}

/** Template tag: everything put in is escaped, except other markup; lists are joined, `false` and `null` left out. */
export const markup = (strings: TemplateStringsArray, ...values: readonly Insertable[]): Markup => ({
  markup: strings.map((text, index) => text + insert(values[index])).join(''),
});

import { styleText } from 'node:util';
import { plainText } from '../reports/plain-text.ts';

/** What `styleText` writes for the styles that are used: none hides text or moves the cursor. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what it is about.
const STYLE = /(\u001b\[(?:[12]|22|3[1236]|39)m)/;

/** What stays at the bottom of a terminal, below whatever is written to it. */
export interface Overlay {
  /** Codes that take it off the screen; empty where it is not on it. */
  erase(): string;
  /** Text and codes that put it there, the text cleaned. */
  draw(clean: (text: string) => string): string;
}

interface Plain {
  readonly raw: NodeJS.WriteStream;
  readonly clean: (text: string) => string;
  overlay: Overlay | undefined;
}

const PLAIN = new WeakMap<NodeJS.WriteStream, Plain>();

/**
 * The stream, with every control character of names, sources, logs and compilers' words shown as its code. Our own stay:
 * colours, where there are any, and those of an {@link Overlay}.
 */
export function plainStream(raw: NodeJS.WriteStream): NodeJS.WriteStream {
  const plain: Plain = { raw, clean: cleanerFor(raw), overlay: undefined };
  const write = (text: unknown, ...others: never[]): boolean => {
    if (typeof text !== 'string') return raw.write(text as Uint8Array, ...others);
    const { overlay, clean } = plain;
    if (!overlay) return raw.write(clean(text), ...others);
    return raw.write(overlay.erase() + clean(text) + (text.endsWith('\n') ? overlay.draw(clean) : ''), ...others);
  };
  const made = Object.create(raw, { write: { value: write } }) as NodeJS.WriteStream;
  PLAIN.set(made, plain);
  return made;
}

function cleanerFor(stream: NodeJS.WriteStream): (text: string) => string {
  if (styleText('red', ' ', { stream }) === ' ') return plainText;
  // The odd ones are what the pattern captured.
  return (text) =>
    text
      .split(STYLE)
      .map((part, index) => (index % 2 === 1 ? part : plainText(part)))
      .join('');
}

/** Puts something at the bottom of the terminal, draws it anew where it is there already, or takes it away. */
export function setOverlay(stream: NodeJS.WriteStream, overlay: Overlay | undefined): void {
  const plain = PLAIN.get(stream);
  if (!plain) throw new Error('only a plain stream has an overlay');
  if (overlay) plain.raw.write(overlay.draw(plain.clean));
  else if (plain.overlay) plain.raw.write(plain.overlay.erase());
  plain.overlay = overlay;
}

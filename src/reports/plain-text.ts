/**
 * C0 and C1 control characters but for tab and line feed, and the marks that reorder text: with them a file could
 * redraw a terminal, or show code that is not there.
 */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what it is about.
const CONTROL = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

/** The text with every control character as its code: `\x1b`, `\u202e`. A carriage return before a line feed goes. */
export const plainText = (text: string): string =>
  text.replaceAll('\r\n', '\n').replaceAll(CONTROL, (character) => {
    const code = character.charCodeAt(0).toString(16);
    return code.length > 2 ? `\\u${code.padStart(4, '0')}` : `\\x${code.padStart(2, '0')}`;
  });

/** JSON for people and programs: two spaces, every control character as an escape. */
export const jsonText = (value: unknown): string =>
  JSON.stringify(value, null, 2).replaceAll(
    CONTROL,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );

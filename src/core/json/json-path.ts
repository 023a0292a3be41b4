/**
 * Control characters, line separators, and marks that change the text direction: characters that a terminal or a compiler
 * interprets.
 */
export const CONTROL_CHARACTERS = '\\u0000-\\u001f\\u007f-\\u009f\\u200e\\u200f\\u2028-\\u202e\\u2066-\\u2069';
const CONTROLS = new RegExp(`[${CONTROL_CHARACTERS}]`, 'g');

/** Text with its control characters written as JSON escapes, e.g. `\\u001b`. */
export const escapeControls = (text: string): string =>
  text.replaceAll(CONTROLS, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`);

/** `['steps', 0, 'grid']` → `steps[0].grid`; the document itself is the empty string. */
export const formatJsonPath = (path: readonly PropertyKey[]): string =>
  path
    .map((step, index) => {
      if (typeof step === 'number') return `[${step}]`;
      const key = String(step);
      if (!/^[A-Za-z_$][\w$]*$/.test(key)) return `[${escapeControls(JSON.stringify(key))}]`;
      return index === 0 ? key : `.${key}`;
    })
    .join('');

/** The value at a path, `undefined` when there is none. */
export const valueAtJsonPath = (root: unknown, path: readonly PropertyKey[]): unknown =>
  path.reduce<unknown>(
    (value, step) =>
      typeof value === 'object' && value !== null && Object.hasOwn(value, step)
        ? (value as Record<PropertyKey, unknown>)[step]
        : undefined,
    root,
  );

/** A value as JSON, cut to one short line. */
export function formatJsonValue(value: unknown): string {
  if (value === undefined) return 'nothing';
  const text = escapeControls(JSON.stringify(value));
  return text.length > 80 ? `${text.slice(0, 79)}…` : text;
}

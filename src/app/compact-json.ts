const WIDTH = 100;

/** JSON as people write it: what fits on a line stays on one. */
export function compactJson(value: unknown, indent = '', room = WIDTH): string {
  const flat = flatJson(value);
  if (flat.length <= room - indent.length || typeof value !== 'object' || value === null) return flat;
  const inner = `${indent}  `;
  const isList = Array.isArray(value);
  const lines = isList
    ? value.map((one) => compactJson(one, inner))
    : entriesOf(value).map(
        ([key, one]) => `${JSON.stringify(key)}: ${compactJson(one, inner, WIDTH - key.length - 4)}`,
      );
  const [open, close] = isList ? '[]' : '{}';
  return `${open}\n${lines.map((line) => inner + line).join(',\n')}\n${indent}${close}`;
}

const entriesOf = (value: object): [string, unknown][] => Object.entries(value).filter(([, one]) => one !== undefined);

function flatJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(flatJson).join(', ')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const parts = entriesOf(value).map(([key, one]) => `${JSON.stringify(key)}: ${flatJson(one)}`);
  return parts.length === 0 ? '{}' : `{ ${parts.join(', ')} }`;
}

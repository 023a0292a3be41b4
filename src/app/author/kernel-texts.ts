import type { Kernel, KernelFile } from '../../core/kernel.ts';
import { nonEmpty } from '../../core/values.ts';
import { KERNEL_FILE } from '../loading/read-kernel.ts';

/** A kernel's files as authors see and edit them: kernel.json without the fields that are not theirs. */
export function kernelTexts({ file, sources }: Kernel): Readonly<Record<string, string>> {
  const { $schema: _schema, problem: _problem, dtype: _dtype, ...own } = file;
  return { [KERNEL_FILE]: `${compactJson(withoutDType(own))}\n`, ...sources };
}

/** The macro that stands for the dtype is set again when the file is read. */
function withoutDType<F extends Pick<KernelFile, 'source'>>(file: F): F {
  const { flags, ...source } = file.source;
  const own = flags?.filter((flag) => !flag.startsWith('-DDTYPE='));
  return { ...file, source: { ...source, flags: own && nonEmpty(own) } };
}

const WIDTH = 100;

/** JSON in which what fits on a line stands on one: shorter to read, and to quote. */
function compactJson(value: unknown, indent = ''): string {
  const line = lineOf(value);
  if (indent.length + line.length <= WIDTH || typeof value !== 'object' || value === null) return line;
  const inner = `${indent}  `;
  if (Array.isArray(value)) {
    return `[\n${value.map((item) => inner + compactJson(item, inner)).join(',\n')}\n${indent}]`;
  }
  const entries = entriesOf(value).map(([key, item]) => `${inner}${JSON.stringify(key)}: ${compactJson(item, inner)}`);
  return `{\n${entries.join(',\n')}\n${indent}}`;
}

function lineOf(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(lineOf).join(', ')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  return `{ ${entriesOf(value)
    .map(([key, item]) => `${JSON.stringify(key)}: ${lineOf(item)}`)
    .join(', ')} }`;
}

const entriesOf = (value: object): [string, unknown][] =>
  Object.entries(value).filter(([, item]) => item !== undefined);
